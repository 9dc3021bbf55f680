/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/triangle_attention_fill.h"

#include <math.h>

#include "cases/fold.h"
#include "cases/fill.h"

/* Uses of the choice stream (gg_choose); fold.c has those from 0x100. */
enum { LENGTH_KIND = 1, LENGTH, ROW_DENSITY, KEY_VALID, TILE_KEEP, POISON, LEVEL };
enum { SHIFT = 0x20, VALUE, UPSTREAM, UPSTREAM_SIZE, FACTOR, PAIR_BIAS };

/* Extents of a problem by letter: shapes below are written with them. */
typedef struct extents {
    int64_t B, R, H, N, D;
} extents;

static extents extents_of(const gg_problem *p)
{
    return (extents){p->extent[GG_TA_B], p->extent[GG_TA_R], p->extent[GG_TA_H],
                     p->extent[GG_TA_N], p->extent[GG_TA_D]};
}

static gg_status normal(gg_tensor *out, int input, uint64_t seed)
{
    return gg_fill_normal(out, seed, input, 1.0, 0.0);
}

/* Valid prefix of row `row` in [0, B R): one in eight is 0, one in eight is N. */
static int64_t length_of(uint64_t seed, int64_t row, int64_t N)
{
    int kind = gg_choose(seed, LENGTH_KIND, row, 8);
    if (kind == 0) return 0;
    if (kind == 1) return N;
    return 1 + (int64_t)gg_choose(seed, LENGTH, row, 1 << 16) * N / (1 << 16);
}

gg_status gg_ta_fill_lengths(const gg_problem *p, int input, uint64_t seed,
                             gg_tensor *out)
{
    const extents e = extents_of(p);
    for (int64_t row = 0; row < e.B * e.R; row++) {
        int64_t length = length_of(seed, row, e.N);
        if (input == GG_TA_KEY_LENGTHS)
            gg_fill_set(out, row, (double)length);
        else
            for (int64_t j = 0; j < e.N; j++)
                gg_fill_set(out, row * e.N + j, j < length);
    }
    return GG_OK;
}

/* One row in eight is dead; the others keep 1/4, 1/2, 3/4 or all of their keys. */
static bool key_valid(uint64_t seed, int64_t row, int64_t j, int64_t N)
{
    if (gg_choose(seed, LENGTH_KIND, row, 8) == 0) return false;
    int density = 1 + gg_choose(seed, ROW_DENSITY, row, 4);
    return gg_choose(seed, KEY_VALID, row * N + j, 4) < density;
}

gg_status gg_ta_fill_mask(const gg_problem *p, int input, uint64_t seed, gg_tensor *out)
{
    const extents e = extents_of(p);
    (void)input;
    for (int64_t row = 0; row < e.B * e.R; row++)
        for (int64_t j = 0; j < e.N; j++)
            gg_fill_set(out, row * e.N + j, key_valid(seed, row, j, e.N));
    return GG_OK;
}

/* A tile of 16, 32, 64 or 128 keys by seed, cut so that one key at least stays valid.
 */
static int64_t tile_of(uint64_t seed, int64_t N)
{
    int64_t tile = INT64_C(16) << (seed % 4);
    return tile < N ? tile : N - 1;
}

/* One row in four keeps all its keys, as a control within the same call. */
static bool row_whole(uint64_t seed, int64_t row)
{
    return gg_choose(seed, TILE_KEEP, row, 4) == 0;
}

gg_status gg_ta_fill_first_tile(const gg_problem *p, int input, uint64_t seed,
                                gg_tensor *out)
{
    const extents e = extents_of(p);
    (void)input;
    for (int64_t row = 0; row < e.B * e.R; row++)
        for (int64_t j = 0; j < e.N; j++)
            gg_fill_set(out, row * e.N + j,
                        j >= tile_of(seed, e.N) || row_whole(seed, row));
    return GG_OK;
}

gg_status gg_ta_fill_last_tile(const gg_problem *p, int input, uint64_t seed,
                               gg_tensor *out)
{
    const extents e = extents_of(p);
    (void)input;
    for (int64_t row = 0; row < e.B * e.R; row++)
        for (int64_t j = 0; j < e.N; j++)
            gg_fill_set(out, row * e.N + j,
                        j < e.N - tile_of(seed, e.N) || row_whole(seed, row));
    return GG_OK;
}

/* Every row dead when seed % 4 == 3, else the odd ones. */
gg_status gg_ta_fill_dead_rows(const gg_problem *p, int input, uint64_t seed,
                               gg_tensor *out)
{
    const extents e = extents_of(p);
    (void)input;
    for (int64_t row = 0; row < e.B * e.R; row++)
        for (int64_t j = 0; j < e.N; j++)
            gg_fill_set(out, row * e.N + j, seed % 4 != 3 && row % 2 == 0);
    return GG_OK;
}

/* NaN, +infinity or -infinity. */
static double poison(uint64_t seed, int64_t index)
{
    int kind = gg_choose(seed, POISON, index, 3);
    return kind == 0 ? (double)NAN : kind == 1 ? INFINITY : -INFINITY;
}

typedef bool key_rule(uint64_t seed, int64_t row, int64_t j, int64_t N);

/* Random holes, and the last key invalid everywhere so that a bias column is free too.
 */
static bool nan_mask_valid(uint64_t seed, int64_t row, int64_t j, int64_t N)
{
    return j != N - 1 && key_valid(seed, row, j, N);
}

static bool nan_prefix_valid(uint64_t seed, int64_t row, int64_t j, int64_t N)
{
    int64_t length = length_of(seed, row, N);
    return j < (length < N ? length : N - 1);
}

static void poison_keys(gg_tensor *out, uint64_t seed, extents e, key_rule *valid)
{
    for (int64_t row = 0; row < e.B * e.R; row++)
        for (int64_t j = 0; j < e.N; j++) {
            if (valid(seed, row, j, e.N)) continue;
            for (int64_t h = 0; h < e.H; h++)
                for (int64_t d = 0; d < e.D; d++) {
                    int64_t at = ((row * e.H + h) * e.N + j) * e.D +
                                 d; /* [B,R,H,N,D] */
                    gg_fill_set(out, at, poison(seed, at));
                }
        }
}

/* Poisons the columns of bias [B,H,N,N] that no row of the batch sees. */
static void poison_bias(gg_tensor *out, uint64_t seed, extents e, key_rule *valid)
{
    for (int64_t b = 0; b < e.B; b++)
        for (int64_t j = 0; j < e.N; j++) {
            bool seen = false;
            for (int64_t r = 0; r < e.R; r++) seen |= valid(seed, b * e.R + r, j, e.N);
            if (seen) continue;
            for (int64_t hi = 0; hi < e.H * e.N; hi++) {
                int64_t at = (b * e.H * e.N + hi) * e.N + j;
                gg_fill_set(out, at, poison(seed, at));
            }
        }
}

static gg_status fill_nan(const gg_problem *p, int input, uint64_t seed, gg_tensor *out,
                          key_rule *valid)
{
    const extents e = extents_of(p);
    if (input == GG_TA_MASK || input == GG_TA_KEY_LENGTHS) {
        for (int64_t row = 0; row < e.B * e.R; row++) {
            int64_t length = 0;
            for (int64_t j = 0; j < e.N; j++) {
                bool is_valid = valid(seed, row, j, e.N);
                length += is_valid;
                if (input == GG_TA_MASK) gg_fill_set(out, row * e.N + j, is_valid);
            }
            if (input == GG_TA_KEY_LENGTHS) gg_fill_set(out, row, (double)length);
        }
        return GG_OK;
    }
    GG_TRY(normal(out, input, seed));
    if (input == GG_TA_K || input == GG_TA_V) poison_keys(out, seed, e, valid);
    if (input == GG_TA_BIAS) poison_bias(out, seed, e, valid);
    return GG_OK;
}

gg_status gg_ta_fill_nan(const gg_problem *p, int input, uint64_t seed, gg_tensor *out)
{
    return fill_nan(p, input, seed, out, nan_mask_valid);
}

gg_status gg_ta_fill_nan_lengths(const gg_problem *p, int input, uint64_t seed,
                                 gg_tensor *out)
{
    return fill_nan(p, input, seed, out, nan_prefix_valid);
}

/* Magnitudes at which finite sentinels and exp(-log-sum-exp) of public kernels broke:
 * exp overflows binary32 beyond 88.7, and one kernel had -5e4 for minus infinity. */
static const double LEVELS[4] = {120, 200, 2e4, 6e4};

gg_status gg_ta_fill_low(const gg_problem *p, int input, uint64_t seed, gg_tensor *out)
{
    (void)p;
    return gg_fill_normal(out, seed, input, 1.0, -LEVELS[seed % 4]);
}

gg_status gg_ta_fill_high(const gg_problem *p, int input, uint64_t seed, gg_tensor *out)
{
    (void)p;
    return gg_fill_normal(out, seed, input, 1.0, LEVELS[seed % 4]);
}

gg_status gg_ta_fill_mixed(const gg_problem *p, int input, uint64_t seed,
                           gg_tensor *out)
{
    static const double mixed[7] = {-6e4, -2e4, -200, 0, 200, 2e4, 6e4};
    (void)p;
    for (int64_t at = 0; at < gg_tensor_count(out); at++)
        gg_fill_set(out, at,
                    mixed[gg_choose(seed, LEVEL, at, 7)] +
                        gg_draw_normal(seed, input, (uint64_t)at));
    return GG_OK;
}

gg_status gg_ta_fill_first_tile_low(const gg_problem *p, int input, uint64_t seed,
                                    gg_tensor *out)
{
    return input == GG_TA_MASK ? gg_ta_fill_first_tile(p, input, seed, out)
                               : gg_ta_fill_low(p, input, seed, out);
}

/* A normal cut to [-3, 3] on a grid of 1/8; with a shift of at most 12 on the same grid
 * both are bf16 numbers of 7 bits, so the shift is exact. */
static double grid_bias(uint64_t seed, int input, int64_t at)
{
    double z = rint(8 * gg_draw_normal(seed, input, (uint64_t)at)) / 8;
    return z < -3 ? -3 : z > 3 ? 3 : z;
}

gg_status gg_ta_fill_unshifted(const gg_problem *p, int input, uint64_t seed,
                               gg_tensor *out)
{
    (void)p;
    for (int64_t at = 0; at < gg_tensor_count(out); at++)
        gg_fill_set(out, at, grid_bias(seed, input, at));
    return GG_OK;
}

gg_status gg_ta_fill_shifted(const gg_problem *p, int input, uint64_t seed,
                             gg_tensor *out)
{
    const extents e = extents_of(p);
    for (int64_t at = 0; at < gg_tensor_count(out); at++) {
        double shift = 3.0 * (gg_choose(seed, SHIFT, at / e.N, 9) - 4); /* one a row */
        gg_fill_set(out, at, grid_bias(seed, input, at) + shift);
    }
    return GG_OK;
}

gg_status gg_ta_fill_chain(const gg_problem *p, int input, uint64_t seed,
                           gg_tensor *out)
{
    (void)p;
    return gg_fold_bias(out, seed, input);
}

/* Odd keys score b + sc q k, even ones 0. Only d = 0 of q and k is not 0. */
gg_status gg_ta_fill_two_keys(const gg_problem *p, int input, uint64_t seed,
                              gg_tensor *out)
{
    const extents e = extents_of(p);
    for (int64_t at = 0; at < gg_tensor_count(out); at++) {
        double value = 0;
        bool first = at % e.D == 0;
        if (input == GG_TA_Q && first) value = gg_choose(seed, FACTOR, at, 4) - 1;
        if (input == GG_TA_K && first) value = (double)(at / e.D % e.N % 2) * 2;
        if (input == GG_TA_V) value = gg_choose(seed, VALUE, at, 5) - 2;
        if (input == GG_TA_DOUT) value = gg_choose(seed, UPSTREAM, at, 3) - 1;
        if (input == GG_TA_BIAS && at % e.N % 2 == 1) /* one of its own for each row */
            value = (gg_choose(seed, PAIR_BIAS, at / e.N, 17) - 8) * 0.25;
        gg_fill_set(out, at, value);
    }
    return GG_OK;
}

/* One of q and k (by seed % 2) is 0, so every score is 0; the other holds -1, 0, 1, 2.
 */
static double uniform_factor(int input, uint64_t seed, int64_t at)
{
    bool zero = input == (seed % 2 == 0 ? GG_TA_Q : GG_TA_K);
    return zero ? 0 : gg_choose(seed, FACTOR, at, 4) - 1;
}

gg_status gg_ta_fill_counting(const gg_problem *p, int input, uint64_t seed,
                              gg_tensor *out)
{
    static const double sizes[4] = {-2, -1, 1, 2};
    const extents e = extents_of(p);
    for (int64_t at = 0; at < gg_tensor_count(out); at++) {
        int64_t row = at / e.D; /* of [B,R,H,N] */
        double value = 0;
        if (input == GG_TA_Q || input == GG_TA_K)
            value = uniform_factor(input, seed, at);
        if (input == GG_TA_V) value = gg_choose(seed, VALUE, at, 2);
        if (input == GG_TA_DOUT &&
            at % e.D == gg_choose(seed, UPSTREAM, row, 1 << 16) % e.D)
            value = sizes[gg_choose(seed, UPSTREAM_SIZE, row, 4)];
        gg_fill_set(out, at, value);
    }
    return GG_OK;
}

/* dout is 1 in a single element; v has a single 1 a key, at a place of its own. */
gg_status gg_ta_fill_one_hot(const gg_problem *p, int input, uint64_t seed,
                             gg_tensor *out)
{
    const extents e = extents_of(p);
    int64_t count = gg_tensor_count(out);
    int64_t hot = (int64_t)(seed * UINT64_C(0x9E3779B97F4A7C15) >> 24) % count;
    for (int64_t at = 0; at < count; at++) {
        int64_t rh = at / (e.D * e.N), j = at / e.D % e.N, d = at % e.D;
        double value = 0;
        if (input == GG_TA_Q || input == GG_TA_K)
            value = uniform_factor(input, seed, at);
        if (input == GG_TA_V) value = (5 * j + 3 * rh) % e.D == d;
        if (input == GG_TA_DOUT) value = at == hot;
        gg_fill_set(out, at, value);
    }
    return GG_OK;
}

/* Query i takes key i alone: the bias is 0 there and so low elsewhere that its exponential
 * is 0. So o is v, and dv is dout. Of the slices (b, r, h) the even ones hold every finite
 * BF16 number in v and nothing in dout, the odd ones the other way round: no product of two
 * of them is formed, which could overflow. 64 slices of 2048 hold all 65,536 patterns;
 * those of infinities and NaN are left out by clearing a bit of the exponent. */
gg_status gg_ta_fill_numbers(const gg_problem *p, int input, uint64_t seed, gg_tensor *out)
{
    const extents e = extents_of(p);
    int64_t slice = e.N * e.D, odd = input == GG_TA_DOUT;
    for (int64_t at = 0; at < gg_tensor_count(out); at++) {
        double value = 0;
        if (input == GG_TA_BIAS) {
            value = at % e.N == at / e.N % e.N ? 0 : -6e4;
        } else if (at / slice % 2 == odd) {
            uint64_t number = (uint64_t)(at / slice / 2 * slice + at % slice) + seed * 4099;
            uint16_t bits = (uint16_t)number;
            value = gg_bf16_value((bits & 0x7f80) == 0x7f80 ? bits ^ 0x4000 : bits);
        }
        gg_fill_set(out, at, value);
    }
    return GG_OK;
}
