/* SPDX-License-Identifier: Apache-2.0
 * How `twopass` and `split` cut a problem: what README.md fixes as a function of the shape
 * alone. Shared by the CUDA kernels and their host twins. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_PLAN_H
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_PLAN_H

#include <math.h>
#include <string.h>

#include "kernels/arithmetic/both_sides.h"
#include "kernels/triangle_attention/call.h"

enum {
    GG_TA_TWOPASS_NARROW = 32,     /* D up to here have a choice of halves */
    GG_TA_TWOPASS_MAX_KEYS = 3072, /* largest N: eight ranges, a cluster of CTAs */
    GG_TA_TWOPASS_RANGES = 8     /* the most ranges: CTAs of a cluster, as any device has */
};

/* Bits of gg_call.features of `split`, beside bit 0, compensation. */
enum { GG_TA_SPLIT_FORWARD = 2, GG_TA_SPLIT_BACKWARD = 4 };

#define GG_TA_WHOLE_OUTPUT \
    {"compensation", "delta uses o before its rounding, whose lower half forward saves", 1}

/* gg_kernel.features. */
static const gg_feature gg_ta_twopass_features[] = {GG_TA_WHOLE_OUTPUT, {NULL, NULL, 0}};
static const gg_feature gg_ta_split_features[] = {
    GG_TA_WHOLE_OUTPUT,
    {"pairs_forward", "P enters the product with v as a BF16 pair", 1},
    {"pairs_backward", "P and dS enter the products of backward as BF16 pairs", 1},
    {NULL, NULL, 0},
};

/* What forward keeps for backward of its results, each part at a multiple of 256 bytes (on the
 * card behind what lay_out_kept() in twopass_call.cu has): m and inv; with compensation what the
 * output has beyond BF16, with pairs in the forward in 16 bits, else in eight (twopass_row.h). */
typedef struct gg_ta_twopass_saved {
    float *m, *inv;       /* [B,R,H,N] */
    uint16_t *beyond;     /* [B,R,H,N,D] or NULL */
    uint8_t *beyond_byte; /* likewise; at most one of the two is there */
    size_t bytes;
} gg_ta_twopass_saved;

static inline gg_ta_twopass_saved gg_ta_twopass_save(const gg_call *call)
{
    const int64_t *extent = call->inputs[0]->shape;
    size_t rows = 1;
    for (int i = 0; i < 4; i++) rows *= (size_t)extent[i];
    size_t head = (rows * 4 + 255) / 256 * 256;
    size_t width = call->features & GG_TA_SPLIT_FORWARD ? 2 : 1;
    size_t tail = (rows * (size_t)extent[4] * width + 255) / 256 * 256;
    char *saved = (char *)call->saved;
    gg_ta_twopass_saved y = {NULL, NULL, NULL, NULL, 2 * head};
    int more = (call->features & 1) != 0;
    if (saved) {
        y.m = (float *)(void *)saved;
        y.inv = (float *)(void *)(saved + head);
        if (more && width == 2) y.beyond = (uint16_t *)(void *)(saved + 2 * head);
        if (more && width == 1) y.beyond_byte = (uint8_t *)saved + 2 * head;
    }
    if (more) y.bytes += tail;
    return y;
}

/* A query's bias is lowered by its largest one where that is beyond BIAS_LARGE, by at most
 * BIAS_LOWERED: what a logit loses in FP32 follows its size. */
#define GG_TA_TWOPASS_BIAS_LARGE 512.0f
#define GG_TA_TWOPASS_BIAS_LOWERED 65536.0f

/* By how much, of the largest finite bias among keys that any row has; -infinity: none. */
static GG_BOTH_SIDES float gg_ta_twopass_lowered(float top)
{
    if (top > GG_TA_TWOPASS_BIAS_LOWERED) return GG_TA_TWOPASS_BIAS_LOWERED;
    if (top == -INFINITY || (top <= GG_TA_TWOPASS_BIAS_LARGE && top >= -GG_TA_TWOPASS_BIAS_LARGE))
        return 0;
    return top < -GG_TA_TWOPASS_BIAS_LOWERED ? -GG_TA_TWOPASS_BIAS_LOWERED : top;
}

/* A running maximum starts here: below every T that counts, and finite times c1. */
#define GG_TA_TWOPASS_BOTTOM (-1e38f)
/* It moves only when a tile exceeds it by more than this times sqrt(D): 8 in units of log 2. */
#define GG_TA_TWOPASS_GROWTH 5.5f

/* Without pairs a row is first taken with the maximum of one tile, and left so if its sum is no
 * larger than this: what N keys of e^5.5 each come to. */
#define GG_TA_TWOPASS_MOST 0x1p20f

static GG_BOTH_SIDES int gg_ta_twopass_fits(float l)
{
    return l <= GG_TA_TWOPASS_MOST;
}

/* With pairs, by how much: by no more than that, and by no more than makes the weight
 * an eighth to a quarter of the row sum l (octaves, the exponent of l less 2, in units of T): so a
 * weight that is much of its row ends up as 1, or near, which a pair holds. rc1: 1 / c1. */
static GG_BOTH_SIDES int gg_ta_twopass_octaves(float l)
{
    uint32_t bits;
    memcpy(&bits, &l, sizeof bits);
    int octaves = (int)(bits >> 23 & 255u) - 127 - 2;
    return octaves > 0 ? octaves : 0;
}

static GG_BOTH_SIDES float gg_ta_twopass_limit(int octaves, float growth, float rc1)
{
    float y = (float)octaves * rc1;
    return y < growth ? y : growth;
}

/* Keys of one dq chain: half of what a CTA holds. Of 192, 160 and 128, as far as eight ranges
 * hold N, the one that pads N least; the largest of equals, because it makes the fewest chains.
 * For D > 32 only 192. */
static inline int gg_ta_twopass_half(int N, int D)
{
    static const int halves[3] = {192, 160, 128};
    int64_t least = INT64_MAX;
    int best = halves[0];
    for (int i = 0; i < (D > GG_TA_TWOPASS_NARROW ? 1 : 3); i++) {
        int64_t range = 2 * halves[i], padded = (N + range - 1) / range * range;
        if (padded < least && padded <= GG_TA_TWOPASS_RANGES * range) {
            least = padded;
            best = halves[i];
        }
    }
    return best;
}

/* Key ranges of two halves: parts of dq. Steps of 32 keys are dealt out in turn: step s
 * belongs to range s / 2 % ranges, and there to half s % 2. */
static inline int gg_ta_twopass_ranges(int N, int D)
{
    int range = 2 * gg_ta_twopass_half(N, D);
    return (N + range - 1) / range;
}

static inline int64_t gg_ta_twopass_over(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

#endif
