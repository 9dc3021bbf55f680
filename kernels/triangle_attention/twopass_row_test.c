/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/triangle_attention/twopass_row.h"

#include <criterion/criterion.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/arithmetic/tensor_core.h"
#include "kernels/triangle_attention/twopass_plan.h"

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

/* Whatever o32 is, but for a tie that went down, which may be a unit of the last place less. */
Test(twopass_row, an_output_is_held_whole)
{
    uint64_t state = 7;
    int ties = 0;
    for (int i = 0; i < 1000000; i++) {
        uint32_t bits = next_bits(&state);
        if (i % 4 == 0) bits = (bits & 0xffff0000u) | 0x8000u;
        float x = gg_float_from_bits(bits);
        uint16_t o = gg_bf16_from_float(x);
        float y = gg_ta_whole(o, gg_ta_beyond(x, o));
        if (x != x) {
            cr_assert(isnan(y), "0x%08x", bits);
            continue;
        }
        int tie_down = (bits & 0x1ffffu) == 0x8000u;
        ties += tie_down;
        cr_assert_eq(gg_float_bits(y), bits - (uint32_t)tie_down, "0x%08x", bits);
        cr_assert_eq(gg_float_bits(gg_ta_whole(o, GG_TA_NOTHING_BEYOND)), (uint32_t)o << 16);
    }
    cr_assert(ties > 10000);
}

/* To half of the lowest of its eight bits, 2^7 of FP32's; to all of it close to a tie that goes
 * down. */
Test(twopass_row, a_byte_holds_an_output_to_16_bits)
{
    uint64_t state = 9;
    uint32_t most = 0, most_close = 0;
    for (int i = 0; i < 1000000; i++) {
        uint32_t bits = next_bits(&state);
        if (i % 4 == 0) bits = (bits & 0xffff0000u) | (0x8000u - (bits & 0x80u));
        float x = gg_float_from_bits(bits);
        uint16_t o = gg_bf16_from_float(x);
        float y = gg_ta_whole(o, (uint16_t)(gg_ta_beyond_byte(x, o) << 8));
        if (x != x) {
            cr_assert(isnan(y), "0x%08x", bits);
            continue;
        }
        uint32_t off = gg_float_bits(y) > bits ? gg_float_bits(y) - bits : bits - gg_float_bits(y);
        int close = ((uint32_t)o << 16) < bits && (bits & 0xffffu) >= 0x7f80u;
        if (close) most_close = off > most_close ? off : most_close;
        else most = off > most ? off : most;
        cr_assert((bits & 0xffffu) != 0 || off == 0, "0x%08x", bits);
    }
    cr_assert(most == 0x80 && most_close == 0x100, "0x%x, 0x%x", most, most_close);
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

Test(twopass_row, one_key_leaves_delta_as_it_is)
{
    uint64_t state = 3;
    int allowed = 0;
    for (int i = 0; i < 100000; i++) {
        double chain[8], sum = 0;
        for (int x = 0; x < 8; x++) {
            chain[x] = ldexp((int32_t)next_bits(&state), -28);
            sum += chain[x];
        }
        cr_assert_eq(gg_ta_wide_delta(chain, 8, 1), (float)sum);
        allowed += gg_ta_wide_delta(chain, 8, 0) != (float)sum;
    }
    cr_assert(allowed > 10000, "many keys do not: %d", allowed);
}

Test(twopass_row, a_delta_that_needs_no_rounding_is_kept)
{
    uint64_t state = 5;
    for (int i = 0; i < 100000; i++) {
        double chain[8], sum = 0;
        for (int x = 0; x < 8; x++) {
            chain[x] = ldexp((double)(next_bits(&state) >> 11), -19);
            sum += chain[x];
        }
        cr_assert_eq((double)gg_ta_wide_delta(chain, 8, 0.125f), sum);
    }
}

static double uniform(uint64_t *state)
{
    return next_bits(state) * 0x1p-32;
}

/* About normal, with mean 1/2. */
static float around_half(uint64_t *state)
{
    double x = -2;
    for (int i = 0; i < 4; i++) x += uniform(state);
    return (float)(x * sqrt(3) + 0.5);
}

/* Mean error of the chain of dP, in units of 2^-20, where dout and v have a mean, so that delta is
 * about 16: with delta as it is, and with what it allows for. */
static void mean_errors(double *plain, double *allowing)
{
    enum { D = 64, COUNT = 40000 };
    uint64_t state = 4;
    *plain = *allowing = 0;
    for (int i = 0; i < COUNT; i++) {
        uint16_t dout[D], v[D];
        double chain[D / 8] = {0}, truth = 0, delta = 0;
        for (int d = 0; d < D; d++) {
            dout[d] = gg_bf16_from_float(around_half(&state));
            v[d] = gg_bf16_from_float(around_half(&state));
            double g = (double)gg_bf16_to_float(dout[d]);
            truth += g * (double)gg_bf16_to_float(v[d]);
            chain[d / 8] += g * (double)(float)(0.4 + 0.2 * uniform(&state)); /* o, a mean of v */
        }
        for (int x = 0; x < D / 8; x++) delta += chain[x];
        float wide = gg_ta_wide_delta(chain, D / 8, 0);
        delta += GG_TA_TAKEN_OFF * delta; /* what o32 lacks, which is not the chain's to lose */
        uint32_t start = gg_float_bits(-(float)delta), other = gg_float_bits(-wide);
        double dp = (double)gg_float_from_bits(gg_tc_chain(start, dout, v, D));
        double dp_allowing = (double)gg_float_from_bits(gg_tc_chain(other, dout, v, D));
        *plain += (dp - (truth - delta)) / COUNT * 0x1p20;
        *allowing += (dp_allowing - (truth - delta)) / COUNT * 0x1p20;
    }
}

Test(twopass_row, delta_allows_for_the_mean_of_truncation)
{
    double plain, allowing;
    mean_errors(&plain, &allowing);
    cr_assert(plain > 0.25, "rounding toward zero has a mean: %g", plain);
    cr_assert(fabs(allowing) < 0.3 * plain, "%g of %g", allowing, plain);
}

static float limit_of(float l, float growth, float rc1)
{
    return gg_ta_twopass_limit(gg_ta_twopass_octaves(l), growth, rc1);
}

Test(twopass_row, a_maximum_moves_for_a_weight_that_counts)
{
    const float growth = 31, octave = 4; /* of log 2, in units of scores */
    const float inside[][2] = {{0, 0}, {1, 0}, {7.99f, 0}, {8, 4}, {15.9f, 4}, {16, 8}, {512, 28}};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        cr_assert_eq(limit_of(inside[i][0], growth, octave), inside[i][1], "%g",
                     (double)inside[i][0]);
    const float beyond[] = {1024, 1e30f, INFINITY, NAN, -NAN};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++)
        cr_assert_eq(limit_of(beyond[i], growth, octave), growth);
}
