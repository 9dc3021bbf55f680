/* SPDX-License-Identifier: Apache-2.0
 * The fields of the records as data, so that the writer, the reader and the comparison
 * of two journals follow one list and cannot drift apart. A new field is a line in
 * fields.c and in the schema. */
#ifndef REPORTS_FIELDS_H
#define REPORTS_FIELDS_H

#include <stddef.h>

#include "reports/json_in.h"
#include "reports/json_out.h"
#include "reports/record.h"

typedef enum gg_field_kind {
    GG_FIELD_TEXT,    /* char[size] */
    GG_FIELD_INT,     /* int */
    GG_FIELD_COUNT,   /* int64_t below 2^53, a JSON number */
    GG_FIELD_WIDE,    /* int64_t, decimal text */
    GG_FIELD_SEED,    /* uint64_t, decimal text */
    GG_FIELD_DIGEST,  /* uint64_t, "xxh:..." */
    GG_FIELD_EXACT,   /* double, hexadecimal text with a decimal beside it */
    GG_FIELD_BITS,    /* uint32_t, "0x0000abcd" */
    GG_FIELD_VERDICT,
    GG_FIELD_DTYPE
} gg_field_kind;

typedef struct gg_field {
    const char *key; /* NULL ends a list */
    gg_field_kind kind;
    size_t offset, size;
    bool optional; /* came later: absent when empty or 0, and absent reads as that */
} gg_field;

extern const gg_field gg_run_fields[], gg_place_fields[], gg_limit_fields[],
    gg_case_fields[], gg_output_fields[], gg_check_fields[], gg_level_fields[],
    gg_level_time_fields[], gg_level_difference_fields[], gg_map_fields[],
    gg_device_fields[];

/* 2^53: above it a JSON number is no longer exact in every reader. */
#define GG_COUNT_MAX (INT64_C(1) << 53)

void gg_fields_write(gg_json_out *out, const gg_field *fields, const void *record);
/* Reads all fields; the object may have the keys of `others` (see gg_in_keys) too. */
gg_status gg_fields_read(gg_json_in *in, const cJSON *object, const gg_field *fields,
                         const char *const *others, void *record);
/* The first field of `a` whose text differs in `b`, NULL when none; NaN equals NaN. The
 * two texts go to `was` and `is`. */
const char *gg_fields_differ(const gg_field *fields, const void *a, const void *b,
                             char was[256], char is[256]);
/* The first field that cannot be written without loss, NULL when there is none. */
const char *gg_fields_unfit(const gg_field *fields, const void *record);

#endif
