/* SPDX-License-Identifier: Apache-2.0
 * Backward of the twins of `twopass` and `split`. The CUDA kernels form P and dS twice, with pairs
 * with the same bits; here a tile of 64 queries and 32 keys is visited once. Keys are the outer
 * loop, in the order of the ranges, so that all chains ascend. */
#include <math.h>
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/arithmetic/tensor_core.h"
#include "kernels/triangle_attention/twopass_row.h"
#include "kernels/triangle_attention/twopass_twin.h"

/* y of query i, column d: o32, or o without compensation. */
static float output_of(const gg_ta_pair_twin *twin, size_t offset, size_t i, size_t d)
{
    size_t at = (offset + i) * (size_t)twin->call.D + d;
    const gg_ta_twopass_saved *saved = &twin->saved;
    uint16_t beyond = GG_TA_NOTHING_BEYOND;
    if (saved->beyond) beyond = saved->beyond[at];
    if (saved->beyond_byte) beyond = (uint16_t)(saved->beyond_byte[at] << 8);
    return gg_ta_whole(twin->call.o[at], beyond);
}

/* delta_i: chains of eight d each in binary64, which holds every product. */
static void load_wide_delta(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, size_t offset)
{
    size_t N = (size_t)twin->call.N, D = (size_t)twin->call.D;
    memset(s->delta, 0, s->Np * sizeof *s->delta);
    for (size_t i = 0; i < N; i++) {
        for (size_t d = 0; d < D; d++) {
            double *sum = &s->wide[d / 8];
            if (d % 8 == 0) *sum = 0;
            *sum += (double)s->doutT.value[d * s->Np + i] * (double)output_of(twin, offset, i, d);
        }
        s->delta[i] = gg_ta_wide_delta(s->wide, (int)(D / 8), twin->saved.inv[offset + i]);
    }
}

/* delta_i: chains of fma(dout_d, y_d, .) over eight d each, added in ascending order. */
static void load_delta(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, size_t offset)
{
    size_t N = (size_t)twin->call.N, D = (size_t)twin->call.D;
    memset(s->delta, 0, s->Np * sizeof *s->delta);
    memset(s->y, 0, s->Np * sizeof *s->y);
    for (size_t d = 0; d < D; d++) {
        if (d % 8 == 0) memset(s->chain, 0, s->Np * sizeof *s->chain);
        for (size_t i = 0; i < N; i++) s->y[i] = output_of(twin, offset, i, d);
        twin->lanes->accumulate(s->chain, s->doutT.value + d * s->Np, s->y, s->Np);
        for (size_t i = 0; d % 8 == 7 && i < N; i++)
            s->delta[i] = d == 7 ? s->chain[i] : s->delta[i] + s->chain[i];
    }
}

static void load_operands(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, size_t offset)
{
    const gg_ta_call *c = &twin->call;
    size_t first = offset * (size_t)c->D;
    gg_ta_pair_load_rows(twin, s, &s->q, c->q + first, 0);
    gg_ta_pair_load_rows(twin, s, &s->dout, c->dout + first, 0);
    gg_ta_pair_load_rows(twin, s, &s->k, c->k + first, 1);
    gg_ta_pair_load_columns(twin, s, &s->qT, c->q + first, 0);
    gg_ta_pair_load_columns(twin, s, &s->doutT, c->dout + first, 0);
    gg_ta_pair_load_columns(twin, s, &s->kT, c->k + first, 1);
    gg_ta_pair_load_columns(twin, s, &s->vT, c->v + first, 1);
    (twin->wide ? load_wide_delta : load_delta)(twin, s, offset);
}

/* 64 queries and 32 keys, the last ones ragged. */
typedef struct tile {
    int b, r, h;
    size_t offset; /* of (b, r, h, 0) */
    float *slab;   /* [N][N] of the queries' chunk */
    size_t i0, j0;
    size_t queries, keys; /* inside */
    size_t width;         /* keys, padded */
} tile;

/* Row values of the tile's queries: the pieces that are taken off their scores in row i of
 * s->taken, in s->shift what the first three are in an exponent, and -delta as its pieces have it
 * in every dP of the tile. */
static void take_rows(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, const tile *t)
{
    const gg_ta_call *c = &twin->call;
    for (size_t i = 0; i < t->queries; i++) {
        size_t row = t->offset + t->i0 + i, at = i * s->taken.stride;
        uint16_t piece[GG_TC_TERMS] = {0};
        gg_ta_row(twin->saved.m[row], twin->saved.inv[row], s->delta[t->i0 + i], c->rc1,
                  c->rc1_low, piece);
        float minus_delta = 0;
        s->shift[i] = gg_ta_shift(piece, c->c1);
        for (int x = GG_TA_SHIFT_PIECES; x < GG_TA_ROW_PIECES; x++) {
            minus_delta += gg_ta_from_upper(piece[x]); /* exact, and so in the chain */
            piece[x] = 0;
        }
        twin->lanes->decode(s->taken.value + at, s->taken.exponent + at, piece, GG_TC_TERMS);
        for (size_t j = 0; j < t->width; j++) s->dp[i * GG_TA_TILE + j] = minus_delta;
    }
}

/* ds = dP P of a query; p: exponents of its weights but for `shift`, and then P. */
static void form_gradient(const gg_ta_pair_twin *twin, const gg_ta_pair_scratch *s, const tile *t,
                          const float *dp, float *p, float shift, float *ds)
{
    const uint32_t *valid = s->valid + t->j0;
    gg_ta_pair_mask(p, valid, t->width);
    gg_ta_pair_weights(twin, s, p, shift, t->width);
    for (size_t j = 0; j < t->width; j++) ds[j] = valid[j] ? dp[j] * p[j] : 0;
}

/* S and dP to P and dS of query i, and dS to the slab. Without pairs dq and dbias have a dS of
 * their own. */
static void form_row(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, const tile *t,
                     size_t i)
{
    size_t N = (size_t)twin->call.N, at = i * GG_TA_TILE;
    float *p = s->s + at, *dp = s->dp + at, *whole = s->whole + at;
    float *sum = t->slab + (t->i0 + i) * N + t->j0;
    if (!twin->pairs) {
        form_gradient(twin, s, t, dp, whole, s->shift[i], whole);
        gg_ta_pair_round(twin, s, &s->dq_ds, &s->ds_low, i, whole, t->width);
        for (size_t j = 0; j < t->keys; j++) sum[j] += whole[j];
    }
    form_gradient(twin, s, t, dp, p, -0.0f, dp); /* -0: c1 T as it is */
    gg_ta_pair_round(twin, s, &s->p, &s->p_low, i, p, t->width);
    gg_ta_pair_round(twin, s, &s->ds, &s->ds_low, i, dp, t->width);
    for (size_t j = 0; twin->pairs && j < t->keys; j++) sum[j] += dp[j];
}

static void form_tile(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, const tile *t)
{
    const gg_lanes *lanes = twin->lanes;
    size_t steps = s->Dp / GG_TC_TERMS, padded = gg_ta_pair_pad(t->queries);
    gg_decoded q = gg_ta_pair_part(&s->q, t->i0, 0),
               dout = gg_ta_pair_part(&s->dout, t->i0, 0);
    gg_decoded kT = gg_ta_pair_part(&s->kT, 0, t->j0),
               vT = gg_ta_pair_part(&s->vT, 0, t->j0);
    gg_decoded *const operands[] = {&s->p, &s->ds, &s->p_low, &s->ds_low, &s->dq_ds};
    take_rows(twin, s, t);
    for (size_t i = 0; i < t->queries; i++)
        gg_ta_pair_bias(twin, s->s + i * GG_TA_TILE, t->b, t->h, t->i0 + i, t->j0,
                        t->width);
    lanes->chain(s->s, GG_TA_TILE, &q, &kT, t->queries, t->width, steps);
    memcpy(s->whole, s->s, t->queries * GG_TA_TILE * sizeof *s->whole);
    lanes->chain(s->s, GG_TA_TILE, &s->taken, &s->takers, t->queries, t->width, 1);
    lanes->chain(s->dp, GG_TA_TILE, &dout, &vT, t->queries, t->width, steps);
    for (size_t i = 0; i < t->queries; i++) form_row(twin, s, t, i);
    for (int i = 0; i < 5; i++)
        gg_ta_pair_clear_rows(operands[i], t->queries, padded, t->width);
}

/* c [D][keys] += chain of x^T [D][queries] and P or dS [queries][keys], 16 queries each. */
static void add_keys(const gg_ta_pair_twin *twin, const tile *t, float *c,
                     const gg_decoded *xT, const gg_decoded *high, const gg_decoded *low)
{
    size_t D = (size_t)twin->call.D, padded = gg_ta_pair_pad(t->queries);
    for (size_t i = 0; i < padded; i += GG_TC_TERMS) {
        gg_decoded x = gg_ta_pair_part(xT, 0, t->i0 + i), h = gg_ta_pair_part(high, i, 0);
        gg_decoded l = gg_ta_pair_part(low, i, 0);
        twin->lanes->chain(c, GG_TA_TILE, &x, &h, D, t->width, 1);
        if (twin->pairs) twin->lanes->chain(c, GG_TA_TILE, &x, &l, D, t->width, 1);
    }
}

static void one_tile(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, const tile *t)
{
    gg_decoded k = gg_ta_pair_part(&s->k, t->j0, 0);
    form_tile(twin, s, t);
    add_keys(twin, t, s->dvT, &s->doutT, &s->p, &s->p_low);
    add_keys(twin, t, s->dkT, &s->qT, &s->ds, &s->ds_low);
    gg_ta_pair_chain(twin, s->half + t->i0 * s->Dp, s->Dp, twin->pairs ? &s->ds : &s->dq_ds,
                     twin->pairs ? &s->ds_low : NULL, &k, t->queries, s->Dp,
                     t->width / GG_TC_TERMS);
}

/* dk and dv of `count` keys from `first`; +0 at an invalid key. */
static void store_keys(const gg_ta_pair_twin *twin, const gg_ta_pair_scratch *s,
                       size_t offset, size_t first, size_t count)
{
    const gg_ta_call *c = &twin->call;
    size_t D = (size_t)c->D;
    for (size_t j = 0; j < count; j++)
        for (size_t d = 0; d < D; d++) {
            size_t index = (offset + first + j) * D + d, from = d * GG_TA_TILE + j;
            int valid = s->valid[first + j] != 0;
            float dk = valid ? s->dkT[from] * c->sc : 0, dv = valid ? s->dvT[from] : 0;
            if (c->dk) gg_ta_pair_store(c->dk, c->grad_f32, index, dk);
            if (c->dv) gg_ta_pair_store(c->dv, c->grad_f32, index, dv);
        }
}

/* The slab of the chunk that the tile's queries have the row in. */
static float *slab_of(const gg_ta_pair_twin *twin, const tile *t)
{
    const gg_ta_call *c = &twin->call;
    size_t N = (size_t)c->N, bh = (size_t)t->b * (size_t)c->H + (size_t)t->h;
    size_t slabs = (size_t)gg_ta_twopass_slabs(&twin->chunks);
    int chunk = gg_ta_twopass_chunk_of(&twin->chunks, gg_ta_pair_tile(twin, bh, t->i0), t->r);
    return twin->slabs + (bh * slabs + (size_t)chunk) * N * N;
}

/* One half of a range: every stride-th step of 32 keys from j0 on; its dq goes to s->half. */
static void one_half(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, tile *t, size_t j0,
                     size_t stride)
{
    size_t N = (size_t)twin->call.N;
    memset(s->half, 0, s->Np * s->Dp * sizeof *s->half);
    for (t->j0 = j0; t->j0 < N; t->j0 += stride) {
        t->keys = gg_ta_pair_min(GG_TA_STEP, N - t->j0);
        t->width = gg_ta_pair_pad(t->keys);
        memset(s->dvT, 0, s->Dp * GG_TA_TILE * sizeof *s->dvT);
        memset(s->dkT, 0, s->Dp * GG_TA_TILE * sizeof *s->dkT);
        if (gg_ta_pair_is_live(s, t->j0, t->width)) /* else no key, no gradient */
            for (t->i0 = 0; t->i0 < N; t->i0 += GG_TA_TILE) {
                t->queries = gg_ta_pair_min(GG_TA_TILE, N - t->i0);
                t->slab = slab_of(twin, t);
                one_tile(twin, s, t);
            }
        store_keys(twin, s, t->offset, t->j0, t->keys);
    }
}

void gg_ta_pair_backward(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, int b, int r,
                         int h)
{
    const gg_ta_call *c = &twin->call;
    size_t N = (size_t)c->N, D = (size_t)c->D, count = s->Np * s->Dp;
    size_t offset = gg_ta_pair_offset(c, b, r, h);
    size_t ranges = (size_t)gg_ta_twopass_ranges(c->N, c->D);
    size_t stride = 2 * ranges * GG_TA_STEP;
    tile t = {.b = b, .r = r, .h = h, .offset = offset};
    gg_ta_pair_load_valid(twin, s, b, r);
    load_operands(twin, s, offset);
    memset(s->acc, 0, count * sizeof *s->acc);
    for (size_t range = 0; range < ranges; range++) {
        size_t j0 = 2 * range * GG_TA_STEP;
        one_half(twin, s, &t, j0, stride);
        memcpy(s->first, s->half, count * sizeof *s->first);
        one_half(twin, s, &t, j0 + GG_TA_STEP, stride);
        for (size_t x = 0; x < count; x++) s->acc[x] += s->first[x] + s->half[x];
    }
    for (size_t i = 0; c->dq && i < N; i++)
        for (size_t d = 0; d < D; d++)
            gg_ta_pair_store(c->dq, c->grad_f32, (offset + i) * D + d,
                             s->acc[i * s->Dp + d] * c->sc);
}
