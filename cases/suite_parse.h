/* SPDX-License-Identifier: Apache-2.0
 * From the text of a suite to its cases; no files. The format is in README.md. */
#ifndef CASES_SUITE_PARSE_H
#define CASES_SUITE_PARSE_H

#include <cjson/cJSON.h>

#include "cases/suite.h"

enum {
    GG_SUITE_MAX_BYTES = 1 << 20,
    GG_SUITE_MAX_CASES = 100000,
    GG_SUITE_MAX_DEPTH = 16, /* of brackets; the format needs 5 */
    GG_SUITE_MAX_SEEDS = GG_SUITE_MAX_CASES
};

/* text: `bytes` bytes and a NUL after them. On failure `suite` is empty, and the
 * message starts with `file` and the place in it. */
gg_status gg_suite_parse(const char *file, const char *text, size_t bytes,
                         gg_suite *suite);

/* One member of "cases", checked: the product of everything it lists. */
typedef struct gg_suite_group {
    const cJSON *extent[GG_MAX_SYMBOLS]; /* a number or an array of numbers */
    int tied[GG_MAX_SYMBOLS];            /* the symbol it follows, -1 for none */
    const cJSON *families;               /* array of strings */
    uint64_t first_seed;
    int64_t seeds;
    int64_t cases; /* families x extents x seeds, at most GG_SUITE_MAX_CASES */
    gg_dtype input_dtype[GG_MAX_INPUTS];
    gg_dtype output_dtype[GG_MAX_OUTPUTS];
} gg_suite_group;

/* Where a suite file is being read, for messages. */
typedef struct gg_suite_reader {
    const char *file;
    const gg_operator *op;
    bool shown[GG_MAX_SYMBOLS]; /* "id": the extents that ids name */
    bool shown_given;           /* else: all that follow no other */
} gg_suite_reader;

/* Fails with "file: place: text". */
gg_status gg_suite_refuse(const gg_suite_reader *reader, const char *place,
                          const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Number of symbols, and the index of one (-1 when unknown). */
int gg_suite_symbols(const gg_operator *op);
int gg_suite_symbol(const gg_operator *op, const char *name);

/* cases[index] of the file: checks it all but for the products of extents. */
gg_status gg_suite_read_group(const gg_suite_reader *reader, const cJSON *json,
                              int index, gg_suite_group *group);

/* Appends the group's cases to suite->cases, which has room. */
gg_status gg_suite_expand(const gg_suite_reader *reader, const gg_suite_group *group,
                          int index, gg_suite *suite);

#endif
