/* SPDX-License-Identifier: Apache-2.0
 * Numbers as text that comes back with the same bits, on every machine and in every
 * locale: printf's %a leaves its digits to the library and JSON numbers are decimal. */
#ifndef REPORTS_EXACT_H
#define REPORTS_EXACT_H

#include <stdbool.h>
#include <stdint.h>

enum { GG_EXACT_SIZE = 32, GG_DIGEST_SIZE = 24 };

/* "0x1.8p-3", "-0x0p+0", "0x0.0000000000001p-1022", "nan" (every NaN), "inf", "-inf".
 */
void gg_exact_format(double value, char text[GG_EXACT_SIZE]);
/* Accepts exactly what gg_exact_format writes, so one value has one text. */
bool gg_exact_parse(const char *text, double *value);

/* Six digits for eyes, a valid JSON number; "null" when not finite. */
void gg_decimal_format(double value, char text[GG_EXACT_SIZE]);
/* The same with 15 digits. */
void gg_precise_format(double value, char text[GG_EXACT_SIZE]);

/* "xxh:" and 16 lower-case hexadecimal digits. */
void gg_digest_format(uint64_t digest, char text[GG_DIGEST_SIZE]);
bool gg_digest_parse(const char *text, uint64_t *digest);

/* Decimal without sign, leading zeros or blanks; the signed form with '-'. */
bool gg_u64_parse(const char *text, uint64_t *value);
bool gg_i64_parse(const char *text, int64_t *value);

#endif
