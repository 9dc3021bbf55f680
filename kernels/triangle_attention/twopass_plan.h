/* SPDX-License-Identifier: Apache-2.0
 * How `twopass` and `split` cut a problem: what README.md fixes as a function of the shape
 * alone. Shared by the CUDA kernels and their host twins. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_PLAN_H
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_PLAN_H

#include <math.h>
#include <string.h>

#include "kernels/triangle_attention/call.h"

enum {
    GG_TA_TWOPASS_NARROW = 32,     /* D up to here have a choice of halves */
    GG_TA_TWOPASS_MAX_KEYS = 3072, /* largest N: eight ranges, a cluster of CTAs */
    GG_TA_TWOPASS_RANGES = 8,    /* the most ranges: CTAs of a cluster, as any device has */
    GG_TA_TWOPASS_CHUNKS = 16,   /* the most row chunks of a dbias element */
    GG_TA_TWOPASS_CTAS = 132     /* CTAs that the choice of chunks takes to run at a time */
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
 * output has beyond BF16 (gg_ta_beyond()). */
typedef struct gg_ta_twopass_saved {
    float *m, *inv;   /* [B,R,H,N] */
    uint16_t *beyond; /* [B,R,H,N,D] or NULL */
    size_t bytes;
} gg_ta_twopass_saved;

static inline gg_ta_twopass_saved gg_ta_twopass_save(const gg_call *call)
{
    const int64_t *extent = call->inputs[0]->shape;
    size_t rows = 1;
    for (int i = 0; i < 4; i++) rows *= (size_t)extent[i];
    size_t head = (rows * 4 + 255) / 256 * 256;
    size_t tail = (rows * (size_t)extent[4] * 2 + 255) / 256 * 256;
    char *saved = (char *)call->saved;
    gg_ta_twopass_saved y = {NULL, NULL, NULL, 2 * head};
    int more = (call->features & 1) != 0;
    if (saved) {
        y.m = (float *)(void *)saved;
        y.inv = (float *)(void *)(saved + head);
        if (more) y.beyond = (uint16_t *)(void *)(saved + 2 * head);
    }
    if (more) y.bytes += tail;
    return y;
}

/* A query's bias is lowered by its largest one where that is beyond BIAS_LARGE, by at most
 * BIAS_LOWERED: what a logit loses in FP32 follows its size. */
#define GG_TA_TWOPASS_BIAS_LARGE 512.0f
#define GG_TA_TWOPASS_BIAS_LOWERED 65536.0f

/* By how much, of the largest finite bias among keys that any row has; -infinity: none. */
#ifdef __CUDACC__
__host__ __device__
#endif
static inline float gg_ta_twopass_lowered(float top)
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

#ifdef __CUDACC__
__host__ __device__
#endif
static inline int gg_ta_twopass_fits(float l)
{
    return l <= GG_TA_TWOPASS_MOST;
}

/* With pairs, by how much: by no more than that, and by no more than makes the weight
 * an eighth to a quarter of the row sum l (octaves, the exponent of l less 2, in units of T): so a
 * weight that is much of its row ends up as 1, or near, which a pair holds. rc1: 1 / c1. */
#ifdef __CUDACC__
__host__ __device__
#endif
static inline int gg_ta_twopass_octaves(float l)
{
    uint32_t bits;
    memcpy(&bits, &l, sizeof bits);
    int octaves = (int)(bits >> 23 & 255u) - 127 - 2;
    return octaves > 0 ? octaves : 0;
}

#ifdef __CUDACC__
__host__ __device__
#endif
static inline float gg_ta_twopass_limit(int octaves, float growth, float rc1)
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

/* Rows of each of `chunks` long chunks before a short one that ends with them. A chunk is `work`
 * clusters, `slots` run at a time, each pays four rows' time to start. The last wave of the
 * long ones leaves places; in each of them so many short ones follow one another. The fewest rows
 * with which these are over in time; 0: no place, or no row is left. */
static inline int64_t gg_ta_twopass_long_rows(int R, int chunks, int64_t work, int64_t slots)
{
    int64_t places = (slots - chunks * work % slots) % slots;
    if (chunks < 1 || places == 0) return 0;
    int64_t turns = gg_ta_twopass_over(work, places);
    int64_t rows = gg_ta_twopass_over(turns * (R + INT64_C(4)) - 4, chunks * turns + 1);
    return chunks * rows < R ? rows : 0;
}

/* Rows of a chunk but the last, which has what is left: of equal chunks, and of long ones with a
 * short one behind, 1 to 16 in all, those that cost least. The cost is the time until the last
 * wave ends, and what writing and reading a slab takes: two rows' time of the chunk's clusters. */
static inline int gg_ta_twopass_chunk_rows(int B, int R, int H, int N, int D)
{
    int64_t work = (int64_t)B * H * ((N + GG_TA_TILE - 1) / GG_TA_TILE);
    int64_t slots = GG_TA_TWOPASS_CTAS / gg_ta_twopass_ranges(N, D), least = INT64_MAX;
    int best = R;
    for (int chunks = 1; chunks <= GG_TA_TWOPASS_CHUNKS; chunks++)
        for (int equal = 0; equal < 2; equal++) {
            int64_t rows = equal ? gg_ta_twopass_over(R, chunks)
                                 : gg_ta_twopass_long_rows(R, chunks - 1, work, slots);
            if (rows == 0) continue;
            int64_t used = gg_ta_twopass_over(R, rows);
            int64_t waves = gg_ta_twopass_over((equal ? used : used - 1) * work, slots);
            int64_t cost = slots * waves * (rows + 4) + 2 * work * used;
            if (cost < least) {
                least = cost;
                best = (int)rows;
            }
        }
    return best;
}

static inline int gg_ta_twopass_chunk_count(int B, int R, int H, int N, int D)
{
    int rows = gg_ta_twopass_chunk_rows(B, R, H, N, D);
    return (int)gg_ta_twopass_over(R, rows);
}

#endif
