/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/exact.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FRACTION_BITS 52
#define FRACTION_MASK ((UINT64_C(1) << FRACTION_BITS) - 1)

void gg_exact_format(double value, char text[GG_EXACT_SIZE])
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const char *sign = bits >> 63 ? "-" : "";
    int exponent = (int)(bits >> FRACTION_BITS & 0x7ff);
    uint64_t fraction = bits & FRACTION_MASK;
    if (exponent == 0x7ff) {
        if (fraction) snprintf(text, GG_EXACT_SIZE, "nan");
        else snprintf(text, GG_EXACT_SIZE, "%sinf", sign);
        return;
    }
    int lead = exponent != 0;
    int power = exponent ? exponent - 1023 : fraction ? -1022 : 0;
    char digits[14];
    snprintf(digits, sizeof digits, "%013" PRIx64, fraction);
    int kept = 13;
    while (kept > 0 && digits[kept - 1] == '0') kept--;
    snprintf(text, GG_EXACT_SIZE, "%s0x%d%s%.*sp%+d", sign, lead, kept ? "." : "", kept,
             digits, power);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

/* The bits that `text` asks for, when it has the form; the caller proves it canonical.
 */
static bool finite_bits(const char *text, uint64_t *bits)
{
    uint64_t sign = 0, fraction = 0;
    if (*text == '-') sign = UINT64_C(1) << 63, text++;
    if (text[0] != '0' || text[1] != 'x' || (text[2] != '0' && text[2] != '1'))
        return false;
    int lead = text[2] - '0', digits = 0, power = 0;
    text += 3;
    if (*text == '.')
        for (text++; hex_digit(*text) >= 0; text++) {
            if (++digits > 13) return false;
            fraction = fraction << 4 | (uint64_t)hex_digit(*text);
        }
    fraction <<= 4 * (13 - digits);
    if (text[0] != 'p' || (text[1] != '-' && text[1] != '+')) return false;
    bool negative = text[1] == '-';
    text += 2;
    int places = 0;
    for (; *text >= '0' && *text <= '9' && places < 5; text++, places++)
        power = power * 10 + (*text - '0');
    if (*text || !places) return false;
    if (negative) power = -power;
    if (lead && (power < -1022 || power > 1023)) return false;
    uint64_t biased = lead ? (uint64_t)(power + 1023) : 0;
    *bits = sign | biased << FRACTION_BITS | fraction;
    return true;
}

bool gg_exact_parse(const char *text, double *value)
{
    if (strcmp(text, "nan") == 0) return *value = (double)NAN, true;
    if (strcmp(text, "inf") == 0) return *value = (double)INFINITY, true;
    if (strcmp(text, "-inf") == 0) return *value = -(double)INFINITY, true;
    uint64_t bits;
    if (!finite_bits(text, &bits)) return false;
    double result;
    memcpy(&result, &bits, sizeof result);
    char again[GG_EXACT_SIZE];
    gg_exact_format(result, again);
    if (strcmp(text, again) != 0) return false;
    *value = result;
    return true;
}

static void format_decimal(double value, int digits, char text[GG_EXACT_SIZE])
{
    if (!isfinite(value)) {
        snprintf(text, GG_EXACT_SIZE, "null");
        return;
    }
    snprintf(text, GG_EXACT_SIZE, "%.*g", digits, value);
    for (char *c = text; *c; c++)
        if (*c == ',') *c = '.'; /* a locale of the caller must not break the JSON */
}

void gg_decimal_format(double value, char text[GG_EXACT_SIZE])
{
    format_decimal(value, 6, text);
}

void gg_precise_format(double value, char text[GG_EXACT_SIZE])
{
    format_decimal(value, 15, text);
}

void gg_digest_format(uint64_t digest, char text[GG_DIGEST_SIZE])
{
    snprintf(text, GG_DIGEST_SIZE, "xxh:%016" PRIx64, digest);
}

bool gg_digest_parse(const char *text, uint64_t *digest)
{
    if (strncmp(text, "xxh:", 4) != 0 || strlen(text) != 20) return false;
    uint64_t result = 0;
    for (text += 4; *text; text++) {
        if (hex_digit(*text) < 0) return false;
        result = result << 4 | (uint64_t)hex_digit(*text);
    }
    *digest = result;
    return true;
}

bool gg_u64_parse(const char *text, uint64_t *value)
{
    if (!*text || (text[0] == '0' && text[1])) return false;
    uint64_t result = 0;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (result > (UINT64_MAX - digit) / 10) return false;
        result = result * 10 + digit;
    }
    *value = result;
    return true;
}

bool gg_i64_parse(const char *text, int64_t *value)
{
    bool negative = *text == '-';
    uint64_t size;
    if (!gg_u64_parse(text + negative, &size) || (negative && size == 0)) return false;
    if (size > (uint64_t)INT64_MAX + (negative ? 1u : 0u)) return false;
    if (negative) *value = size > (uint64_t)INT64_MAX ? INT64_MIN : -(int64_t)size;
    else *value = (int64_t)size;
    return true;
}
