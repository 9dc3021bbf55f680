/* SPDX-License-Identifier: Apache-2.0
 * What `twopass` and `split` take off each score and each dP of a query, as BF16 numbers that
 * the tensor cores add: one function for host and device (README.md, "Backward"). */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_ROW_H
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_ROW_H

#include "kernels/arithmetic/log2.h"

enum {
    GG_TA_SHIFT_PIECES = 5, /* of -log-sum-exp in units of scores: 40 bits */
    GG_TA_DELTA_PIECES = 3, /* of -delta: all 24 bits */
    GG_TA_ROW_PIECES = 8    /* both, in this order: 16 bytes a query */
};

/* A BF16 number as the FP32 whose upper half it is. */
static GG_BOTH_SIDES float gg_ta_from_upper(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

/* x as the sum of `count` BF16 numbers, each the upper half of what is left: exact with three
 * unless the last lies below 2^-133. NaN and infinity are the first one alone, in BF16. */
static GG_BOTH_SIDES void gg_ta_cut(float x, int count, uint16_t *piece)
{
    int finite = x - x == 0;
    for (int i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        if (i == 0) bits = x == x ? bits : 0x7fff0000u;
        else bits = finite ? bits : 0;
        piece[i] = (uint16_t)(bits >> 16);
        x -= gg_ta_from_upper(piece[i]); /* exact */
    }
}

#define GG_TA_NOTHING_BEYOND 0x8000u

/* The distance of the FP32 bits of an output from those of its BF16 form o, which is at most 2^15
 * either way, and 2^15. */
static GG_BOTH_SIDES uint32_t gg_ta_distance(float o32, uint16_t o)
{
    uint32_t bits;
    memcpy(&bits, &o32, sizeof bits);
    return bits - ((uint32_t)o << 16) + GG_TA_NOTHING_BEYOND;
}

/* What an output has beyond its BF16 form, in 16 bits: that distance. One too large for them, of a
 * tie that went down, is a unit of the last place off. */
static GG_BOTH_SIDES uint16_t gg_ta_beyond(float o32, uint16_t o)
{
    uint32_t distance = gg_ta_distance(o32, o);
    return (uint16_t)(distance < 0xffffu ? distance : 0xffffu);
}

/* The same rounded to its upper eight bits, which hold an output to 2^-16 of it, or 2^-15 next to
 * a tie that goes down; and whole where BF16 does. */
static GG_BOTH_SIDES uint8_t gg_ta_beyond_byte(float o32, uint16_t o)
{
    uint32_t distance = (gg_ta_distance(o32, o) + 128) >> 8;
    return (uint8_t)(distance < 0xffu ? distance : 0xffu);
}

/* beyond: as gg_ta_beyond() has it; of a byte, 256 times that. */
static GG_BOTH_SIDES float gg_ta_whole(uint16_t o, uint16_t beyond)
{
    uint32_t bits = ((uint32_t)o << 16 | beyond) - GG_TA_NOTHING_BEYOND;
    float y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

/* sum = a + b, rounded, and what that lost, exactly (Knuth). */
static GG_BOTH_SIDES float gg_ta_lost(float a, float b, float sum)
{
    float part = sum - a;
    return (a - (sum - part)) + (b - part);
}

/* What a step that rounds toward zero takes off its result on average, as a fraction of it: half a
 * unit of the last place, 2^-24 / m, over significands m in [1, 2) with equally likely logarithms,
 * is 2^-24 / (2 ln 2). */
#define GG_TA_TAKEN_OFF (0.72 * 0x1p-24)

/* delta of `split` from `count` sums of dout y over eight d each, so that rounding toward zero
 * leaves no mean. The chain of dP starts from -delta; after each 16 of the d it has come to
 * minus dout y over the others, and loses 0.4 of that fraction, because sums of products of
 * BF16 numbers often fit into 24 bits (twopass_row_test.c). And o32 loses more than the row sum.
 * Both where there are many keys (inv is near 0); where there is one, all is exact. And so it
 * is where binary32 holds delta whole: a row of short numbers, in which nothing was rounded. */
static GG_BOTH_SIDES float gg_ta_wide_delta(const double *chain, int count, float inv)
{
    double sum = chain[0], rest = 0;
    for (int x = 1; x < count; x++) {
        sum += chain[x];
        rest += 0.4 * (double)(x / 2) * chain[x];
    }
    float nearest = (float)sum;
    if ((double)nearest == sum) return nearest;
    return (float)(sum + GG_TA_TAKEN_OFF * ((rest + sum) * (1 - (double)inv)));
}

/* -(m - log2(inv) / c1) and -delta of a query with the maximum m (in units of scores) and the
 * inverse row sum inv, 0 without a valid key. rc1, rc1_low: 1 / c1 and what its rounding
 * lost. */
static GG_BOTH_SIDES void gg_ta_row(float m, float inv, float delta, float rc1, float rc1_low,
                                    uint16_t *piece)
{
    gg_log2_parts log = gg_log2(inv);
    float whole = log.whole * rc1;
    float low = fmaf(log.whole, rc1, -whole) + fmaf(log.whole, rc1_low, log.fraction * rc1);
    float sum = whole - m, rest = gg_ta_lost(-m, whole, sum) + low;
    float high = sum + rest;
    gg_ta_cut(inv == 0 ? 0 : high, 3, piece);
    low = gg_ta_lost(sum, rest, high);
    gg_ta_cut(inv == 0 || !(low - low == 0) ? 0 : low, 2, piece + 3);
    gg_ta_cut(-delta, GG_TA_DELTA_PIECES, piece + GG_TA_SHIFT_PIECES);
}

/* What exponents are shifted by where they are not told in pieces: the first three, whose sum is
 * exact, in units of log 2. */
static GG_BOTH_SIDES float gg_ta_shift(const uint16_t *piece, float c1)
{
    float sum = gg_ta_from_upper(piece[0]) + gg_ta_from_upper(piece[1]);
    return (sum + gg_ta_from_upper(piece[2])) * c1;
}

#endif
