/* SPDX-License-Identifier: Apache-2.0
 * Text of a record inside XML and HTML. Whatever a record holds stays text: a case id
 * cannot open a tag, end an attribute or break the document. */
#ifndef REPORTS_MARKUP_H
#define REPORTS_MARKUP_H

#include <stdio.h>

/* Escapes & < > " '; a byte that is not UTF-8, and what XML 1.0 forbids (controls,
 * U+FFFE, U+FFFF), becomes '?'. For element content and quoted attributes. */
void gg_markup(FILE *out, const char *text);
void gg_markup_part(FILE *out, const char *text, size_t length);
/* Formats up to 1,000 bytes, then as gg_markup. */
void gg_markup_format(FILE *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
