/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>

#include "reference/tensor.h"

TestSuite(tensor, .timeout = 30);

/* BF16 n places above zero as a real number; 0x7f80 stands for 2^128, the value that
 * rounding to nearest has there before overflow is taken into account. */
static double magnitude(uint32_t n)
{
    return n == 0x7f80 ? 0x1p128 : gg_bf16_value((uint16_t)n);
}

/* By definition: of the two neighbours the nearer, of two equally near the even one. */
static uint16_t nearest(double value)
{
    if (isnan(value)) return 0x7fff;
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double x = fabs(value);
    if (x >= 0x1p128) return (uint16_t)(sign | 0x7f80);
    uint32_t low = 0, high = 0x7f80; /* magnitude(low) <= x < magnitude(high) */
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (magnitude(middle) <= x) low = middle;
        else high = middle;
    }
    double half = (magnitude(low) + magnitude(high)) / 2.0; /* exact: 9 bits */
    bool up = x > half || (x == half && (low & 1));
    return (uint16_t)(sign | (up ? high : low));
}

static void assert_nearest(double value)
{
    cr_assert_eq(gg_bf16_round(value), nearest(value), "%a: %04x, expected %04x", value,
                 gg_bf16_round(value), nearest(value));
    cr_assert_eq(gg_bf16_round(-value), nearest(-value), "%a", -value);
}

Test(tensor, every_bf16_survives_a_round_trip)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        bool nan = (bits & 0x7f80) == 0x7f80 && (bits & 0x7f);
        uint16_t back = gg_bf16_round(gg_bf16_value((uint16_t)bits));
        cr_assert_eq(back, nan ? 0x7fff : bits, "%04x became %04x", bits, back);
    }
}

Test(tensor, halfway_cases_go_to_even)
{
    for (uint32_t n = 0; n < 0x7f80; n++) {
        double half = (magnitude(n) + magnitude(n + 1)) / 2.0;
        assert_nearest(half);
        assert_nearest(nextafter(half, 0.0));
        assert_nearest(nextafter(half, INFINITY));
    }
}

Test(tensor, random_doubles_of_every_exponent)
{
    uint64_t state = 1;
    for (int i = 0; i < 300000; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        uint64_t bits = state ^ (state >> 29);
        double any, near;
        memcpy(&any, &bits, sizeof any);
        assert_nearest(any);
        /* exponents of BF16 and just outside: 2^-140 to 2^130 */
        uint64_t exponent = 1023 - 140 + (bits >> 52) % 271;
        bits = (bits & 0x800fffffffffffffull) | exponent << 52;
        memcpy(&near, &bits, sizeof near);
        assert_nearest(near);
    }
}

Test(tensor, special_values)
{
    cr_assert_eq(gg_bf16_round(NAN), 0x7fff);
    cr_assert_eq(gg_bf16_round(INFINITY), 0x7f80);
    cr_assert_eq(gg_bf16_round(-INFINITY), 0xff80);
    cr_assert_eq(gg_bf16_round(-0.0), 0x8000);
    cr_assert_eq(gg_bf16_round(0x1.fep127), 0x7f7f);
    cr_assert_eq(gg_bf16_round(0x1.fefffp127), 0x7f7f);
    cr_assert_eq(gg_bf16_round(0x1.ffp127), 0x7f80);
    cr_assert_eq(gg_bf16_round(0x1p-134), 0);
    cr_assert_eq(gg_bf16_round(0x1.0000000000001p-134), 1);
    /* through binary32 this would round twice, to 1 and then down to even */
    cr_assert_eq(gg_bf16_round(1.0 + 0x1p-8 + 0x1p-40), 0x3f81);
}

Test(tensor, names_and_sizes)
{
    static const size_t bytes[] = {2, 4, 8, 4, 1};
    for (int t = 0; t < GG_DTYPES; t++) {
        cr_assert_eq(gg_dtype_bytes((gg_dtype)t), bytes[t]);
        cr_assert_eq(gg_dtype_parse(gg_dtype_name((gg_dtype)t)), (gg_dtype)t);
    }
    cr_assert_eq(gg_dtype_parse("fp16"), GG_DTYPES);
    cr_assert_eq(gg_dtype_parse(""), GG_DTYPES);
    gg_tensor t = {.dtype = GG_F64, .ndim = 3, .shape = {2, 3, 5}};
    cr_assert_eq(gg_tensor_count(&t), 30);
    cr_assert_eq(gg_tensor_bytes(&t), 240);
    t.shape[1] = 0;
    cr_assert_eq(gg_tensor_bytes(&t), 0);
}

Test(tensor, messages_stay_on_one_line)
{
    cr_assert_eq(gg_fail(GG_IO, "file %s is gone", "a\nb\tc"), GG_IO);
    cr_assert_eq(strcmp(gg_message(), "file a?b?c is gone"), 0);
}
