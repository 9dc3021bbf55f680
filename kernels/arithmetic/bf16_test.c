/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/arithmetic/bf16.h"

#include <criterion/criterion.h>
#include <math.h>

TestSuite(bf16, .timeout = 60);

static uint16_t rounded(uint32_t bits)
{
    return gg_bf16_from_float(gg_float_from_bits(bits));
}

Test(bf16, ties_go_to_even)
{
    cr_assert_eq(rounded(0x3f808000u), 0x3f80);
    cr_assert_eq(rounded(0x3f818000u), 0x3f82);
    cr_assert_eq(rounded(0x3f808001u), 0x3f81);
    cr_assert_eq(rounded(0x3f807fffu), 0x3f80);
}

Test(bf16, ends_of_the_range)
{
    cr_assert_eq(rounded(0x7f7fffffu), 0x7f80, "the largest float rounds to infinity");
    cr_assert_eq(rounded(0x7f7f7fffu), 0x7f7f);
    cr_assert_eq(rounded(0xff800000u), 0xff80);
    cr_assert_eq(rounded(0x00000001u), 0x0000);
    cr_assert_eq(rounded(0x80008001u), 0x8001, "subnormals are kept");
    cr_assert_eq(rounded(0x80000000u), 0x8000);
}

Test(bf16, every_nan_becomes_one)
{
    cr_assert_eq(rounded(0x7f800001u), 0x7fff);
    cr_assert_eq(rounded(0xffffffffu), 0x7fff);
    cr_assert_eq(gg_float_bits(gg_float_canonical(gg_float_from_bits(0xffc12345u))),
                 0x7fffffffu);
    cr_assert_eq(gg_float_bits(gg_float_canonical(-0.0f)), 0x80000000u);
}

Test(bf16, every_value_survives_the_way_through_float)
{
    for (uint32_t bits = 0; bits < 0x10000u; bits++) {
        int nan = (bits & 0x7fffu) > 0x7f80u;
        uint16_t back = gg_bf16_from_float(gg_bf16_to_float((uint16_t)bits));
        cr_assert_eq(back, nan ? 0x7fff : bits);
    }
}
