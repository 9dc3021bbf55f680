/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/arithmetic/ex2.h"

#include <criterion/criterion.h>
#include <math.h>

#include "kernels/arithmetic/bf16.h"

TestSuite(ex2, .timeout = 60);

static uint32_t bits_of(uint32_t x)
{
    return gg_float_bits(gg_ex2(gg_float_from_bits(x)));
}

Test(ex2, powers_of_two_are_exact)
{
    for (int n = -126; n < 128; n++) cr_assert_eq(gg_ex2((float)n), ldexpf(1, n));
}

Test(ex2, special_inputs)
{
    cr_assert_eq(bits_of(0x00000000u), 0x3f800000u);
    cr_assert_eq(bits_of(0x80000000u), 0x3f800000u);
    cr_assert_eq(bits_of(0x007fffffu), 0x3f800000u, "a subnormal counts as zero");
    cr_assert_eq(bits_of(0x7f800000u), 0x7f800000u);
    cr_assert_eq(bits_of(0xff800000u), 0x00000000u);
    cr_assert_eq(bits_of(0x43000000u), 0x7f800000u, "2^128 overflows");
    cr_assert_eq(bits_of(0xc2fc0001u), 0x00000000u, "below 2^-126 there is only zero");
    cr_assert_eq(bits_of(0xc2fc0000u), 0x00800000u);
    cr_assert_eq(bits_of(0x7f800001u), 0x7fffffffu);
    cr_assert_eq(bits_of(0xffc00000u), 0x7fffffffu);
}

static double ulps(uint32_t bits)
{
    float x = gg_float_from_bits(bits);
    double exact = exp2((double)x);
    return fabs((double)gg_ex2(x) - exact) / ldexp(1, ilogb(exact) - 23);
}

Test(ex2, largest_error_is_where_the_card_has_it)
{
    cr_assert_float_eq(ulps(0xc1014020u), 2.055, 0.0005);
    for (uint32_t x = 0xbf800000u; x < 0xc2fc0000u; x += 1013)
        cr_assert(ulps(x) <= 2.0551, "%08x", x);
}

Test(ex2, monotone_in_the_fraction)
{
    float last = 1;
    for (uint32_t f = 0; f < 1u << 23; f++) {
        float y = gg_ex2((float)f * 0x1p-23f);
        cr_assert(y >= last, "%u", f);
        last = y;
    }
}

/* The hash was taken from a form confirmed against a card for every input. */
Test(ex2, every_1009th_input_has_the_bits_of_the_card)
{
    uint64_t hash = 0;
    for (uint64_t x = 0; x < UINT64_C(1) << 32; x += 1009)
        hash = (hash ^ bits_of((uint32_t)x)) * UINT64_C(0x9e3779b97f4a7c15);
    cr_assert_eq(hash, UINT64_C(0x59ce2f28c00a8d16));
}
