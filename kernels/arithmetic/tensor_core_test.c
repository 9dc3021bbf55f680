/* SPDX-License-Identifier: Apache-2.0
 * Each rule of the step in tensor_core.h, by a case that another rule gets wrong. */
#include "kernels/arithmetic/tensor_core.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "kernels/arithmetic/bf16.h"

TestSuite(tensor_core, .timeout = 60);

enum { ONE = 0x3f80, INFINITE = 0x7f80, QUIET = 0x7fc0, MINUS = 0x8000 };

typedef struct step {
    uint16_t a[GG_TC_TERMS], b[GG_TC_TERMS];
    int count;
} step;

/* Adds the product x * y, both exact in BF16. */
static void add(step *s, double x, double y)
{
    s->a[s->count] = gg_bf16_from_float((float)x);
    s->b[s->count] = gg_bf16_from_float((float)y);
    cr_assert_eq((double)gg_bf16_to_float(s->a[s->count]), x);
    cr_assert_eq((double)gg_bf16_to_float(s->b[s->count]), y);
    s->count++;
}

static void add_bits(step *s, uint16_t a, uint16_t b)
{
    s->a[s->count] = a;
    s->b[s->count++] = b;
}

static uint32_t result(const step *s, float c)
{
    return gg_tc_step(s->a, s->b, gg_float_bits(c));
}

static void assert_value(const step *s, float c, double expected)
{
    float value = gg_float_from_bits(result(s, c));
    cr_assert_eq((double)value, expected, "%a, not %a", (double)value, expected);
}

Test(tensor_core, result_is_cut_toward_zero)
{
    step s = {.count = 0};
    add(&s, 1, 0x1p-24); /* 1 + 2^-24 + 2^-25: nearest is 1 + 2^-23 */
    add(&s, 1, 0x1p-25);
    assert_value(&s, 1, 1);
    step minus = {.count = 0};
    add(&minus, -1, 0x1p-24);
    add(&minus, -1, 0x1p-25);
    assert_value(&minus, -1, -1);
}

Test(tensor_core, terms_keep_25_fraction_bits)
{
    step kept = {.count = 0}, lost = {.count = 0};
    for (int i = 0; i < 4; i++) add(&kept, 1, 0x1p-25); /* 4 * 2^-25 = 2^-23 */
    assert_value(&kept, 1, 1 + 0x1p-23);
    for (int i = 0; i < 16; i++) add(&lost, 1, 0x1p-26); /* each is cut to 0 */
    assert_value(&lost, 1, 1);
}

Test(tensor_core, negative_terms_are_cut_toward_zero_too)
{
    step s = {.count = 0};
    for (int i = 0; i < 16; i++) add(&s, -1, 0x1p-26);
    assert_value(&s, 1, 1); /* a floor would give 1 - 2^-21 or so */
}

Test(tensor_core, sixteen_products_and_c_are_one_sum)
{
    step s = {.count = 0};
    add(&s, 0x1p60, 0x1p60);
    for (int i = 0; i < 14; i++) add(&s, 0x1p10, 1);
    add(&s, -0x1p60, 0x1p60);
    assert_value(&s, 0x1p10f, 0); /* cut off beside 2^120, wherever it stands */
}

Test(tensor_core, product_exponents_are_not_renormalised)
{
    /* 1.5 * 1.5 = 2.25 counts with exponent 0, so 2^-25 is still kept beside it */
    step s = {.count = 0};
    add(&s, 1.5, 1.5);
    add(&s, -1.5, 1.5);
    add(&s, 1, 0x1p-25);
    assert_value(&s, 0, 0x1p-25);
}

Test(tensor_core, zeros_do_not_align)
{
    step s = {.count = 0};
    add(&s, 0x1p100, 0);
    add(&s, 0, -0x1p120);
    add(&s, 0x1p-60, 0x1p-60);
    assert_value(&s, 0, 0x1p-120);
    assert_value(&s, -0.0f, 0x1p-120);
}

Test(tensor_core, nothing_below_2_to_the_minus_158)
{
    step kept = {.count = 0}, lost = {.count = 0};
    /* units of 2^-158: 2^9 of them are the smallest float 2^-149 */
    for (int i = 0; i < 16; i++) add(&kept, 0x1p-70, 0x1p-83); /* 16 * 2^-153 */
    assert_value(&kept, 0, 0x1p-149);
    for (int i = 0; i < 16; i++) add(&lost, 0x1p-70, 0x1.8p-84); /* 16 * 1.5 * 2^-154 */
    assert_value(&lost, 0, 0);
    step below = {.count = 0}; /* one unit below 2^-149 */
    add(&below, 0x1p-70, 0x1p-79);
    add(&below, 0x1p-70, -0x1p-88);
    assert_value(&below, 0, 0);
    step cut = {.count = 0}; /* half a unit below counts as nothing */
    add(&cut, 0x1p-70, 0x1p-79);
    add(&cut, 0x1p-70, -0x1p-89);
    assert_value(&cut, 0, 0x1p-149);
}

Test(tensor_core, subnormals_are_kept)
{
    step s = {.count = 0};
    add(&s, 0x1p-133, 1); /* smallest BF16 */
    assert_value(&s, 0, 0x1p-133);
    assert_value(&s, 0x1p-149f, 0x1p-133 + 0x1p-149);
    /* a subnormal operand counts with exponent -126: 2^-133 * 2^60 has exponent -66,
     * and cuts 2^-92 although its own value is 2^-73 */
    step wide = {.count = 0};
    add(&wide, 0x1p-133, 0x1p60);
    for (int i = 0; i < 15; i++) add(&wide, 1, 0x1p-92);
    assert_value(&wide, 0, 0x1p-73);
}

Test(tensor_core, zero_is_always_positive)
{
    step s = {.count = 0};
    cr_assert_eq(result(&s, -0.0f), 0u);
    for (int i = 0; i < 16; i++) add_bits(&s, MINUS, ONE);
    cr_assert_eq(result(&s, -0.0f), 0u);
    step tiny = {.count = 0};
    add(&tiny, -0x1p-70, 0x1p-85); /* -2^-155, rounded to zero */
    cr_assert_eq(result(&tiny, 0), 0u);
}

Test(tensor_core, empty_step_returns_c)
{
    const step s = {.count = 0};
    const uint32_t same[] = {0x00000001u, 0x807fffffu, 0x3f800001u, 0xff7fffffu,
                             0x7f800000u};
    for (int i = 0; i < 5; i++) cr_assert_eq(gg_tc_step(s.a, s.b, same[i]), same[i]);
    cr_assert_eq(gg_tc_step(s.a, s.b, 0xff800001u), 0x7fffffffu);
}

Test(tensor_core, only_the_result_overflows)
{
    step s = {.count = 0};
    add(&s, 0x1p100, 0x1p100);
    cr_assert_eq(result(&s, 0), 0x7f800000u);
    add(&s, -0x1p100, 0x1p100);
    assert_value(&s, 0, 0);
    step minus = {.count = 0};
    add(&minus, -0x1p64, 0x1p64);
    cr_assert_eq(result(&minus, 0), 0xff800000u);
    step largest = {.count = 0}; /* 2^128 - 2^103 is cut to the largest float */
    add(&largest, 0x1p64, 0x1p63);
    add(&largest, 0x1.fep63, 0x1p63);
    add(&largest, 0x1p60, 0x1p59);
    add(&largest, -0x1p53, 0x1p50);
    cr_assert_eq(result(&largest, 0), 0x7f7fffffu);
}

Test(tensor_core, infinities_and_nan)
{
    step s = {.count = 0};
    add_bits(&s, INFINITE, ONE | MINUS);
    cr_assert_eq(result(&s, 1), 0xff800000u);
    cr_assert_eq(result(&s, INFINITY), 0x7fffffffu);
    cr_assert_eq(result(&s, -INFINITY), 0xff800000u);
    add_bits(&s, INFINITE, ONE);
    cr_assert_eq(result(&s, 0), 0x7fffffffu);
    step times_zero = {.count = 0};
    add_bits(&times_zero, MINUS, INFINITE);
    cr_assert_eq(result(&times_zero, 0), 0x7fffffffu);
    step nan = {.count = 0};
    add_bits(&nan, QUIET | MINUS, 0);
    cr_assert_eq(result(&nan, 0), 0x7fffffffu);
}

Test(tensor_core, chain_pads_its_tail)
{
    uint16_t a[20], b[20];
    for (int k = 0; k < 20; k++) a[k] = b[k] = gg_bf16_from_float((float)(k + 1));
    step tail = {.count = 0};
    for (int k = 17; k <= 20; k++) add(&tail, k, k);
    uint32_t first = gg_tc_step(a, b, gg_float_bits(0.5f));
    cr_assert_eq(gg_tc_chain(gg_float_bits(0.5f), a, b, 20),
                 gg_tc_step(tail.a, tail.b, first));
}
