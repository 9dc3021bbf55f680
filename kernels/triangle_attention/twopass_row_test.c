/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/triangle_attention/twopass_row.h"

#include <criterion/criterion.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/arithmetic/tensor_core.h"

/* What a tensor-core step makes of `count` pieces and ones. */
static float step_of(const uint16_t *piece, int count)
{
    uint16_t a[GG_TC_TERMS] = {0}, one[GG_TC_TERMS];
    for (int i = 0; i < GG_TC_TERMS; i++) {
        if (i < count) a[i] = piece[i];
        one[i] = 0x3f80;
    }
    return gg_float_from_bits(gg_tc_chain(0, a, one, GG_TC_TERMS));
}

static uint32_t next_bits(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 32);
}

Test(twopass_row, three_pieces_hold_a_number_whole)
{
    uint64_t state = 1;
    int lost = 0;
    for (int i = 0; i < 1000000; i++) {
        float x = gg_float_from_bits(next_bits(&state));
        uint16_t piece[3];
        if (!(x - x == 0) || fabsf(x) < 0x1p-109f) continue;
        gg_ta_cut(x, 3, piece);
        cr_assert_eq(gg_float_bits(step_of(piece, 3)), gg_float_bits(x), "%a", (double)x);
        lost += step_of(piece, 2) != x;
    }
    cr_assert(lost > 100000, "two would do");
}

Test(twopass_row, small_numbers_lose_what_lies_below_bf16)
{
    uint16_t piece[3];
    gg_ta_cut(0x1.fffffep-112f, 3, piece);
    cr_assert(fabsf(step_of(piece, 3) - 0x1.fffffep-112f) < 0x1p-133f);
    gg_ta_cut(0x1p-149f, 3, piece);
    cr_assert_eq(step_of(piece, 3), 0);
}

Test(twopass_row, infinity_and_nan_stay_themselves)
{
    uint16_t piece[3];
    gg_ta_cut(INFINITY, 3, piece);
    cr_assert_eq(step_of(piece, 3), INFINITY);
    gg_ta_cut(-INFINITY, 3, piece);
    cr_assert_eq(step_of(piece, 3), -INFINITY);
    for (uint32_t bits = 0x7f800001u; bits < 0x7f810002u; bits += 0x8000u) {
        gg_ta_cut(gg_float_from_bits(bits), 3, piece);
        cr_assert(isnan(step_of(piece, 3)), "0x%08x", bits);
    }
}

/* The log-sum-exp to 2^-38 of m and to what log2 costs: 9.3e-8 ln 2 sqrt(D), and two FP32
 * roundings of at most half of ln 2 sqrt(D). */
Test(twopass_row, the_shift_is_the_log_sum_exp)
{
    uint64_t state = 2;
    double worst = 0, of_three = 0;
    for (int i = 0; i < 200000; i++) {
        double root = sqrt(8 * (1 + i % 4));
        float c1 = (float)(0x1.71547652b82fep+0 / root), rc1 = (float)(1 / (double)c1);
        float rc1_low = (float)(1 / (double)c1 - (double)rc1);
        float m = ldexpf((float)(int32_t)next_bits(&state), -31 + i % 12);
        float inv = ldexpf(1 + (float)(next_bits(&state) >> 9) * 0x1p-23f, -(i % 13));
        uint16_t piece[GG_TA_ROW_PIECES];
        gg_ta_row(m, inv, 0, rc1, rc1_low, piece);
        double shift = 0, three = 0;
        for (int x = 0; x < GG_TA_SHIFT_PIECES; x++) {
            shift += (double)gg_ta_from_upper(piece[x]);
            if (x < 3) three = shift;
        }
        double truth = log2((double)inv) / (double)c1 - (double)m;
        double unit = 1.1e-7 * root + ldexp(fmax(fabs((double)m), 1), -38);
        worst = fmax(worst, fabs(shift - truth) / unit);
        of_three = fmax(of_three, fabs(three - truth) / unit);
    }
    cr_assert(worst <= 1, "%g", worst);
    cr_assert(of_three > 4, "three pieces would do: %g", of_three);
}

Test(twopass_row, a_row_without_a_key_takes_nothing_off)
{
    uint16_t piece[GG_TA_ROW_PIECES];
    gg_ta_row(0, 0, 1.5f, 4, 0, piece);
    for (int x = 0; x < GG_TA_SHIFT_PIECES; x++) cr_assert_eq(piece[x], 0);
    cr_assert_eq(step_of(piece + GG_TA_SHIFT_PIECES, GG_TA_DELTA_PIECES), -1.5f);
}
