/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/exact.h"

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

Test(exact, known_texts)
{
    const struct {
        double value;
        const char *text;
    } known[] = {
        {0.1875, "0x1.8p-3"}, {0.0, "0x0p+0"}, {-0.0, "-0x0p+0"}, {1.0, "0x1p+0"},
        {5e-324, "0x0.0000000000001p-1022"}, {-DBL_MIN, "-0x1p-1022"},
        {DBL_MAX, "0x1.fffffffffffffp+1023"}, {0.1, "0x1.999999999999ap-4"},
        {(double)INFINITY, "inf"}, {-(double)INFINITY, "-inf"}, {(double)NAN, "nan"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char text[GG_EXACT_SIZE];
        gg_exact_format(known[i].value, text);
        cr_assert_str_eq(text, known[i].text);
    }
}

/* Any 64 bits come back, checked against the C library's own hexadecimal reader too. */
Test(exact, every_pattern_comes_back)
{
    uint64_t state = 1;
    for (int i = 0; i < 400000; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t bits = state ^ state >> 29;
        if (i % 4 == 0) bits &= UINT64_C(0x800fffffffffffff); /* subnormal */
        double value, back = 0;
        memcpy(&value, &bits, sizeof value);
        char text[GG_EXACT_SIZE];
        gg_exact_format(value, text);
        cr_assert(gg_exact_parse(text, &back), "%s", text);
        if (isnan(value)) {
            cr_assert(isnan(back));
            continue;
        }
        cr_assert_eq(bits_of(back), bits, "%s", text);
        cr_assert_eq(bits_of(strtod(text, NULL)), bits, "%s", text);
    }
}

Test(exact, one_value_has_one_text)
{
    const char *const refused[] = {"",          "0",
                                   "0x",        "0x1",
                                   "0x1p",      "0x1p0",
                                   "0x1.0p+0",  "0x1.80p-3",
                                   "0x2p+0",    "0X1p+0",
                                   "0x1.8P-3",  "0x1.8p-03",
                                   "0x1p+1024", "0x1p-1023",
                                   "0x0p+1",    "0x0.8p-3",
                                   "+0x1p+0",   " 0x1p+0",
                                   "0x1p+0 ",   "0x1.fffffffffffff8p+0",
                                   "NaN",       "-nan",
                                   "infinity",  "1e3",
                                   "0x1.8p-3x", "0x1p+99999999999",
                                   "0x1.A p+0"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        double value = 7;
        cr_assert_not(gg_exact_parse(refused[i], &value), "%s", refused[i]);
        cr_assert_eq(value, 7);
    }
}

Test(exact, decimals_are_json)
{
    char text[GG_EXACT_SIZE];
    gg_decimal_format((double)NAN, text);
    cr_assert_str_eq(text, "null");
    gg_decimal_format(-(double)INFINITY, text);
    cr_assert_str_eq(text, "null");
    gg_decimal_format(0.1, text);
    cr_assert_str_eq(text, "0.1");
    gg_decimal_format(5e-324, text);
    cr_assert_str_eq(text, "4.94066e-324");
}

Test(exact, whole_numbers_of_64_bits)
{
    uint64_t u = 0;
    int64_t i = 0;
    cr_assert(gg_u64_parse("18446744073709551615", &u) && u == UINT64_MAX);
    cr_assert(gg_i64_parse("-9223372036854775808", &i) && i == INT64_MIN);
    cr_assert(gg_i64_parse("9223372036854775807", &i) && i == INT64_MAX);
    cr_assert_not(gg_u64_parse("18446744073709551616", &u));
    cr_assert_not(gg_u64_parse("01", &u));
    cr_assert_not(gg_u64_parse("-1", &u));
    cr_assert_not(gg_u64_parse("1 ", &u));
    cr_assert_not(gg_i64_parse("9223372036854775808", &i));
    cr_assert_not(gg_i64_parse("-0", &i));
    cr_assert(gg_digest_parse("xxh:00000000000000ff", &u) && u == 255);
    cr_assert_not(gg_digest_parse("xxh:00000000000000FF", &u));
    cr_assert_not(gg_digest_parse("xxh:ff", &u));
}
