/* SPDX-License-Identifier: Apache-2.0
 * Writes JSON as it goes, keys in the order of the calls, to a file, a hash or both: a
 * report of any length needs no tree. Every output is valid JSON whatever the record
 * holds: a byte that is not UTF-8 becomes '?', one for one, so a field never outgrows
 * its array when it is read again. */
#ifndef REPORTS_JSON_OUT_H
#define REPORTS_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <xxhash.h>

enum { GG_JSON_DEPTH = 16 };

typedef struct gg_json_out {
    FILE *file;          /* NULL: no file. Faults are for ferror(), at the end */
    XXH3_state_t *hash;  /* NULL: no hash */
    bool packed; /* only objects and lists start a line; may change on the way */
    int depth;
    int line_depth;      /* from this depth on everything stays on one line */
    bool filled[GG_JSON_DEPTH + 1]; /* by depth: a member was written */
    char bracket[GG_JSON_DEPTH + 1];
} gg_json_out;

/* `key` is NULL in an array and for the document itself. */
void gg_out_open(gg_json_out *out, const char *key, char bracket);
/* The same, with all that is inside on one line. */
void gg_out_open_line(gg_json_out *out, const char *key, char bracket);
void gg_out_close(gg_json_out *out);

/* At most `size` bytes of `text`, less when it ends before. */
void gg_out_text(gg_json_out *out, const char *key, const char *text, size_t size);
void gg_out_name(gg_json_out *out, const char *key, const char *text);
void gg_out_integer(gg_json_out *out, const char *key, int64_t value);
void gg_out_bool(gg_json_out *out, const char *key, bool value);
/* `key`: the exact text, and `key`_decimal beside it. */
void gg_out_exact(gg_json_out *out, const char *key, double value);
void gg_out_decimal(gg_json_out *out, const char *key, double value);
/* With 15 digits: read back, it is printed in fewer as `value` is. */
void gg_out_precise(gg_json_out *out, const char *key, double value);
void gg_out_digest(gg_json_out *out, const char *key, uint64_t value);

/* Length of the valid UTF-8 character at `text`, 0 when there is none in `size` bytes.
 */
size_t gg_utf8_length(const char *text, size_t size);

#endif
