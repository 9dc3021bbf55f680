/* SPDX-License-Identifier: Apache-2.0
 * Forward of the twins of `twopass` and `split`: tiles of 64 keys, with a maximum that stays
 * what it is in the first one, or moves only when it must. */
#include <math.h>
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/arithmetic/ex2.h"
#include "kernels/arithmetic/tensor_core.h"
#include "kernels/triangle_attention/twopass_row.h"
#include "kernels/triangle_attention/twopass_twin.h"

enum { STEPS = GG_TA_TILE / GG_TC_TERMS }; /* of a tile */

/* Where it stands with the queries of one tile. O is in acc. l: with pairs of each step of a
 * tile, else l[.][0] alone. */
typedef struct online {
    float m[GG_TA_TILE], l[GG_TA_TILE][STEPS];
    int moves; /* does m, or does it stay that of a row's first tile? */
    int opens; /* this is the first tile */
} online;

static float row_sum(const online *state, size_t i)
{
    const float *l = state->l[i];
    return (l[0] + l[1]) + (l[2] + l[3]);
}

/* max.f32 over a row: NaN loses against a number. */
static float largest(const float *t, size_t n)
{
    float top = -INFINITY;
    for (size_t j = 0; j < n; j++) top = t[j] > top ? t[j] : top;
    return top;
}

static void raise_maximum(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, online *state,
                          size_t i, float top)
{
    const gg_ta_call *c = &twin->call;
    float m = state->m[i], growth = GG_TA_TWOPASS_GROWTH * c->root;
    float by = growth;
    if (twin->pairs)
        by = gg_ta_twopass_limit(gg_ta_twopass_octaves(row_sum(state, i)), growth, c->rc1);
    if (!(top > m + by)) return;
    float f = gg_ex2(fmaf(m, c->c1, -(top * c->c1)));
    state->m[i] = top;
    for (int x = 0; x < STEPS; x++) state->l[i][x] *= f;
    for (size_t d = 0; d < s->Dp; d++) s->acc[i * s->Dp + d] *= f;
}

/* One query, one key tile: scores in row i of s->s to weights in row i of s->p. */
static void add_tile(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, online *state,
                     size_t i, size_t first, size_t width)
{
    float *t = s->s + i * GG_TA_TILE;
    gg_ta_pair_mask(t, s->valid + first, width);
    float top = largest(t, width);
    if (state->moves) raise_maximum(twin, s, state, i, top);
    else if (state->opens && top > state->m[i]) state->m[i] = top;
    gg_ta_pair_weights(twin, s, t, -(state->m[i] * twin->call.c1), width);
    gg_ta_pair_round(twin, s, &s->p, &s->p_low, i, t, width);
}

static void finish(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, const online *state,
                   size_t i, size_t row)
{
    const gg_ta_call *c = &twin->call;
    const gg_ta_twopass_saved *saved = &twin->saved;
    size_t D = (size_t)c->D;
    float l = row_sum(state, i), inv = l == 0 ? 0 : 1 / l;
    saved->m[row] = l == 0 ? 0 : state->m[i];
    saved->inv[row] = gg_float_canonical(inv);
    for (size_t d = 0; d < D; d++) {
        float o32 = s->acc[i * s->Dp + d] * inv;
        uint16_t o = gg_bf16_from_float(o32);
        if (c->o) c->o[row * D + d] = o;
        if (saved->beyond) saved->beyond[row * D + d] = gg_ta_beyond(o32, o);
        if (saved->beyond_byte) saved->beyond_byte[row * D + d] = gg_ta_beyond_byte(o32, o);
    }
}

/* Without pairs O and l go on as chains. */
static void add_values(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, online *state,
                       const gg_decoded *v, size_t queries, size_t width)
{
    size_t steps = width / GG_TC_TERMS;
    gg_ta_pair_chain(twin, s->acc, s->Dp, &s->p, NULL, v, queries, s->Dp, steps);
    for (size_t i = 0; i < queries; i++)
        for (size_t x = 0; x < GG_LANES; x++) s->sums[i * GG_LANES + x] = state->l[i][0];
    gg_ta_pair_chain(twin, s->sums, GG_LANES, &s->p, NULL, &s->ones, queries, GG_LANES, steps);
    for (size_t i = 0; i < queries; i++) state->l[i][0] = s->sums[i * GG_LANES];
}

/* With pairs the tile has a chain of its own, what is small first, that is added to O; and each
 * step has a row sum of its own. */
static void add_values_apart(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, online *state,
                             const gg_decoded *v, size_t queries, size_t width)
{
    const gg_lanes *lanes = twin->lanes;
    size_t steps = width / GG_TC_TERMS;
    memset(s->part, 0, GG_TA_TILE * s->Dp * sizeof *s->part);
    lanes->chain(s->part, s->Dp, &s->p_low, v, queries, s->Dp, steps);
    lanes->chain(s->part, s->Dp, &s->p, v, queries, s->Dp, steps);
    for (size_t x = 0; x < queries * s->Dp; x++) s->acc[x] += s->part[x];
    for (size_t x = 0; x < steps; x++) {
        gg_decoded high = gg_ta_pair_part(&s->p, 0, x * GG_TC_TERMS);
        gg_decoded low = gg_ta_pair_part(&s->p_low, 0, x * GG_TC_TERMS);
        memset(s->sums, 0, GG_TA_TILE * GG_LANES * sizeof *s->sums);
        lanes->chain(s->sums, GG_LANES, &low, &s->ones, queries, GG_LANES, 1);
        lanes->chain(s->sums, GG_LANES, &high, &s->ones, queries, GG_LANES, 1);
        for (size_t i = 0; i < queries; i++) state->l[i][x] += s->sums[i * GG_LANES];
    }
}

/* One row (b, r, h), and its queries of one tile. */
typedef struct block {
    int b, h;
    size_t i0, queries;
} block;

static void take_keys(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, online *state,
                      const block *at, int moves)
{
    size_t N = (size_t)twin->call.N, queries = at->queries;
    gg_decoded q = gg_ta_pair_part(&s->q, at->i0, 0);
    memset(state, 0, sizeof *state);
    state->moves = moves, state->opens = 1;
    for (size_t i = 0; i < GG_TA_TILE; i++) state->m[i] = GG_TA_TWOPASS_BOTTOM;
    memset(s->acc, 0, GG_TA_TILE * s->Dp * sizeof *s->acc);
    size_t tiles = (N + GG_TA_TILE - 1) / GG_TA_TILE;
    size_t first = twin->pairs ? 0 : at->i0 / (2 * GG_TA_TILE) * 2;
    for (size_t turn = 0; turn < tiles; turn++) {
        size_t j0 = (first + turn) % tiles * GG_TA_TILE;
        size_t width = gg_ta_pair_pad(gg_ta_pair_min(GG_TA_TILE, N - j0));
        gg_decoded k = gg_ta_pair_part(&s->kT, 0, j0), v = gg_ta_pair_part(&s->v, j0, 0);
        if (!gg_ta_pair_is_live(s, j0, width)) continue;
        for (size_t i = 0; i < queries; i++)
            gg_ta_pair_bias(twin, s->s + i * GG_TA_TILE, at->b, at->h, at->i0 + i, j0, width);
        twin->lanes->chain(s->s, GG_TA_TILE, &q, &k, queries, width, s->Dp / GG_TC_TERMS);
        for (size_t i = 0; i < queries; i++) add_tile(twin, s, state, i, j0, width);
        (twin->pairs ? add_values_apart : add_values)(twin, s, state, &v, queries, width);
        state->opens = 0;
    }
}

void gg_ta_pair_forward(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, int b, int r,
                        int h)
{
    const gg_ta_call *c = &twin->call;
    size_t N = (size_t)c->N, offset = gg_ta_pair_offset(c, b, r, h),
           start = offset * (size_t)c->D;
    gg_ta_pair_load_valid(twin, s, b, r);
    gg_ta_pair_load_rows(twin, s, &s->q, c->q + start, 0);
    gg_ta_pair_load_columns(twin, s, &s->kT, c->k + start, 1);
    gg_ta_pair_load_rows(twin, s, &s->v, c->v + start, 1);
    for (size_t i0 = 0; i0 < N; i0 += GG_TA_TILE) {
        block at = {b, h, i0, gg_ta_pair_min(GG_TA_TILE, N - i0)};
        int done[GG_TA_TILE] = {0};
        size_t left = at.queries;
        online state;
        for (int moves = twin->pairs; moves < 2 && left > 0; moves++) {
            take_keys(twin, s, &state, &at, moves);
            for (size_t i = 0; i < at.queries; i++) {
                if (done[i] || (!moves && !gg_ta_twopass_fits(row_sum(&state, i)))) continue;
                finish(twin, s, &state, i, offset + i0 + i);
                done[i] = 1;
                left--;
            }
        }
    }
}
