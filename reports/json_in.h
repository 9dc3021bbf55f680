/* SPDX-License-Identifier: Apache-2.0
 * Reads a parsed JSON value whose origin is not trusted. Each fault is GG_BAD_INPUT
 * with the file, the path of the value and what was expected there. */
#ifndef REPORTS_JSON_IN_H
#define REPORTS_JSON_IN_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "reference/status.h"

typedef struct gg_json_in {
    const char *file;
    char path[256]; /* "results.tests[3].extra" */
} gg_json_in;

/* Makes the path longer by a key, or by [index] when key is NULL; leave() undoes it. */
size_t gg_in_enter(gg_json_in *in, const char *key, int index);
void gg_in_leave(gg_json_in *in, size_t mark);

/* "FILE: PATH.KEY: expected EXPECTED, found FOUND". */
gg_status gg_in_fault(gg_json_in *in, const char *key, const cJSON *found,
                      const char *expected);
/* "FILE: PATH: TEXT", for values that have the form and still cannot be true. */
gg_status gg_in_refuse(gg_json_in *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* An object with all of `keys` (ended by NULL) and no other, each once. A key that
 * starts with '?' may be missing. */
gg_status gg_in_keys(gg_json_in *in, const cJSON *object, const char *const *keys);

const cJSON *gg_in_get(const cJSON *object, const char *key);
gg_status gg_in_text(gg_json_in *in, const cJSON *object, const char *key, char *text,
                     size_t size);
/* The text must be `wanted`. */
gg_status gg_in_constant(gg_json_in *in, const cJSON *object, const char *key,
                         const char *wanted);
gg_status gg_in_integer(gg_json_in *in, const cJSON *object, const char *key,
                        int64_t low, int64_t high, int64_t *value);
/* The value of an integer that stands anywhere, an array included. */
bool gg_in_whole(const cJSON *item, int64_t low, int64_t high, int64_t *value);
gg_status gg_in_exact(gg_json_in *in, const cJSON *object, const char *key,
                      double *value);
gg_status gg_in_digest(gg_json_in *in, const cJSON *object, const char *key,
                       uint64_t *value);
/* An array of `low` to `high` values, counted. */
gg_status gg_in_array(gg_json_in *in, const cJSON *object, const char *key, int low,
                      int high, int *count);

#endif
