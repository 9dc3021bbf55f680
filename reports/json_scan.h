/* SPDX-License-Identifier: Apache-2.0
 * A strict reader of JSON text (RFC 8259) that comes before cJSON, which accepts
 * invalid UTF-8, raw control characters and NUL inside a text, and needs memory for the
 * whole tree. Here a report passes through in one go, plain or gzip: each element of
 * results.tests is handed out as text of its own, all the rest is returned as a small
 * document in which that list is empty. */
#ifndef REPORTS_JSON_SCAN_H
#define REPORTS_JSON_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "reference/status.h"

/* Bounds against hostile files; a real test is about 12 KB long and a real document is
 * nested 9 deep. Sizes are of the text after decompression. */
#define GG_SCAN_MAX_BYTES (INT64_C(2) << 30)
#define GG_SCAN_MAX_REST ((size_t)64 << 20)
#define GG_SCAN_MAX_TEST ((size_t)1 << 20)
enum { GG_SCAN_MAX_NESTING = 24, GG_SCAN_MAX_KEY = 64, GG_SCAN_MAX_NUMBER = 40 };

typedef gg_status (*gg_scan_test)(void *context, int index, const char *text,
                                  size_t length);

/* On success *rest is NUL-terminated and for the caller to free. */
gg_status gg_scan_file(const char *path, gg_scan_test on_test, void *context,
                       char **rest, size_t *rest_length);
/* GG_OK when the text is one JSON value that gg_scan_file would accept. `name` and
 * `line` say where it is from. */
gg_status gg_scan_text(const char *name, int64_t line, const char *text, size_t length);

#endif
