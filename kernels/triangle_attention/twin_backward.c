/* SPDX-License-Identifier: Apache-2.0
 * Backward of `recompute` and `turbo`: each probability tile is formed once and feeds
 * dv, dk, dq and the dbias slab. Key tiles are the outer loop, so that every chain over
 * queries, and every chain or sum over key tiles, runs in ascending order. */
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/arithmetic/tensor_core.h"
#include "kernels/triangle_attention/mutant.h"

/* delta_i = chain of fma(dout_d, y_d, .) over d ascending. */
static void load_delta(const gg_ta_twin *twin, gg_ta_scratch *s, size_t offset)
{
    const gg_ta_call *c = &twin->call;
    size_t N = (size_t)c->N, D = (size_t)c->D;
    const uint16_t *o = c->o + offset * D, *e = c->e ? c->e + offset * D : NULL;
    if (gg_ta_slips(twin, GG_TA_SLIP_E_UNUSED)) e = NULL;
    float sign = gg_ta_slips(twin, GG_TA_SLIP_E_NEGATED) ? -1 : 1;
    memset(s->delta, 0, s->Np * sizeof *s->delta);
    memset(s->y, 0, s->Np * sizeof *s->y);
    for (size_t d = 0; d < D && !gg_ta_slips(twin, GG_TA_SLIP_NO_DELTA); d++) {
        for (size_t i = 0; i < N; i++) {
            s->y[i] = gg_bf16_to_float(o[i * D + d]);
            if (e) s->y[i] += sign * gg_bf16_to_float(e[i * D + d]);
        }
        if (gg_ta_slips(twin, GG_TA_SLIP_DELTA_HALF_READ) && 2 * d >= D) s->y[N - 1] = 0;
        const float *dout = s->doutT.value + d * s->Np;
        if (twin->plan.fault) dout = gg_ta_faulty_dout(twin, s, offset * D, d);
        twin->lanes->accumulate(s->delta, dout, s->y, s->Np);
    }
}

static void load_operands(const gg_ta_twin *twin, gg_ta_scratch *s, size_t offset)
{
    const gg_ta_call *c = &twin->call;
    size_t first = offset * (size_t)c->D, k_first = first;
    if (gg_ta_slips(twin, GG_TA_SLIP_K_OF_NEXT_HEAD)) k_first = gg_ta_next_head(c, first);
    gg_ta_load_rows(twin, s, &s->q, c->q + first, 0);
    gg_ta_load_rows(twin, s, &s->dout, c->dout + first, 0);
    gg_ta_load_rows(twin, s, &s->k, c->k + k_first, 1);
    gg_ta_load_columns(twin, s, &s->qT, c->q + first, 0);
    gg_ta_load_columns(twin, s, &s->doutT, c->dout + first, 0);
    gg_ta_load_columns(twin, s, &s->kT, c->k + k_first, 1);
    gg_ta_load_columns(twin, s, &s->vT, c->v + first, 1);
    if (twin->plan.fault) gg_ta_faulty_operands(twin, s);
    if (!gg_ta_slips(twin, GG_TA_SLIP_DELTA_LATE)) load_delta(twin, s, offset);
}

/* A tile of 64 queries and 64 keys, the last ones ragged. */
typedef struct tile {
    int b, h;
    size_t offset; /* of (b, r, h, 0) */
    size_t i0, j0;
    size_t queries, keys; /* inside */
    size_t width;         /* keys, padded */
} tile;

/* S and dP to rounded P and dS; dS itself is added to the slab. */
static void form_tile(const gg_ta_twin *twin, gg_ta_scratch *s, const tile *t,
                      float *slab)
{
    const gg_ta_call *c = &twin->call;
    const gg_lanes *lanes = twin->lanes;
    const uint32_t *valid = s->valid + t->j0;
    size_t N = (size_t)c->N;
    float c1 = gg_ta_slips(twin, GG_TA_SLIP_K_SCALED_BF16) ? 1 : c->c1;
    for (size_t i = 0; i < t->queries; i++) {
        size_t row = t->offset + t->i0 + i, at = i * s->W;
        float *p = s->s + at, *ds = s->dp + at;
        gg_gradient_row g = {p, ds, valid, c->m[row], c->inv[row], s->delta[t->i0 + i]};
        gg_ta_load_bias(twin, s, t->b, t->h, (int)(t->i0 + i), t->j0, t->width);
        lanes->logits(p, p, s->bias, valid, c1, t->width);
        lanes->gradient(&g, t->width);
        lanes->round(s->p.value + at, s->p.exponent + at, p, t->width);
        int stale = gg_ta_slips(twin, GG_TA_SLIP_DS_STALE) && i + 8 >= t->queries;
        lanes->round(s->ds.value + at, s->ds.exponent + at, stale ? s->ds.value + at : ds,
                     t->width);
        if (gg_ta_slips(twin, GG_TA_SLIP_DBIAS_OF_BF16)) ds = s->ds.value + at;
        float *sum = slab ? slab + (t->i0 + i) * N + t->j0 : NULL;
        for (size_t j = 0; sum && j < t->keys; j++) sum[j] += ds[j];
    }
    if (gg_ta_slips(twin, GG_TA_SLIP_TAIL_QUERIES)) {
        gg_ta_repeat_last_row(s, t->queries, t->width);
        return;
    }
    gg_ta_clear_rows(&s->p, t->queries, gg_ta_pad(t->queries), t->width);
    gg_ta_clear_rows(&s->ds, t->queries, gg_ta_pad(t->queries), t->width);
}

static void add_dq(const gg_ta_twin *twin, gg_ta_scratch *s, const tile *t)
{
    gg_decoded k = gg_ta_part(&s->k, t->j0, 0);
    size_t steps = t->width / GG_TC_TERMS, count = t->queries * s->Dp;
    float *dq = s->acc + t->i0 * s->Dp;
    if (!twin->plan.dq_in_parts) {
        gg_ta_chain(twin, GG_TA_DQ)(dq, s->Dp, &s->ds, &k, t->queries, s->Dp, steps);
        return;
    }
    memset(s->part, 0, count * sizeof *s->part);
    gg_ta_chain(twin, GG_TA_DQ)(s->part, s->Dp, &s->ds, &k, t->queries, s->Dp, steps);
    for (size_t d = 0; d < count; d++) dq[d] += s->part[d];
}

static void one_tile(const gg_ta_twin *twin, gg_ta_scratch *s, const tile *t,
                     float *slab)
{
    size_t steps = s->Dp / GG_TC_TERMS, D = (size_t)twin->call.D;
    gg_decoded q = gg_ta_part(&s->q, t->i0, 0), dout = gg_ta_part(&s->dout, t->i0, 0);
    gg_decoded kT = gg_ta_part(&s->kT, 0, t->j0), vT = gg_ta_part(&s->vT, 0, t->j0);
    gg_decoded qT = gg_ta_part(&s->qT, 0, t->i0);
    gg_decoded doutT = gg_ta_part(&s->doutT, 0, t->i0);
    memset(s->s, 0, t->queries * s->W * sizeof *s->s);
    memset(s->dp, 0, t->queries * s->W * sizeof *s->dp);
    gg_ta_chain(twin, GG_TA_S)(s->s, s->W, &q, &kT, t->queries, t->width, steps);
    gg_ta_chain(twin, GG_TA_DP)(s->dp, s->W, &dout, &vT, t->queries, t->width, steps);
    form_tile(twin, s, t, slab);
    steps = gg_ta_pad(t->queries) / GG_TC_TERMS;
    gg_ta_chain(twin, GG_TA_DV)(s->dvT, s->W, &doutT, &s->p, D, t->width, steps);
    gg_ta_chain(twin, GG_TA_DK)(s->dkT, s->W, &qT, &s->ds, D, t->width, steps);
    add_dq(twin, s, t);
}

void gg_ta_tiled_backward(const gg_ta_twin *twin, gg_ta_scratch *s, int b, int r, int h,
                          float *slab)
{
    const gg_ta_call *c = &twin->call;
    size_t N = (size_t)c->N, D = (size_t)c->D, offset = gg_ta_offset(c, b, r, h);
    gg_ta_load_valid(twin, s, b, r);
    if (gg_ta_slips(twin, GG_TA_SLIP_TAIL_KEYS_BACKWARD))
        for (size_t j = N; j < s->Np; j++) s->valid[j] = ~UINT32_C(0);
    load_operands(twin, s, offset);
    memset(s->acc, 0, s->Np * s->Dp * sizeof *s->acc);
    for (size_t j0 = 0; j0 < N; j0 += GG_TA_TILE) {
        tile t = {.b = b, .h = h, .offset = offset, .j0 = j0};
        t.keys = gg_ta_min(GG_TA_TILE, N - j0);
        t.width = gg_ta_pad(t.keys);
        memset(s->dvT, 0, s->Dp * s->W * sizeof *s->dvT);
        memset(s->dkT, 0, s->Dp * s->W * sizeof *s->dkT);
        for (size_t i0 = 0; i0 < N && gg_ta_tile_is_live(twin, s, j0, t.keys);
             i0 += GG_TA_TILE) {
            t.i0 = i0;
            t.queries = gg_ta_min(GG_TA_TILE, N - i0);
            one_tile(twin, s, &t, slab);
        }
        gg_ta_store_keys(twin, s, offset, j0, t.keys);
    }
    if (gg_ta_slips(twin, GG_TA_SLIP_DELTA_LATE)) load_delta(twin, s, offset);
    for (size_t i = 0; c->dq && i < N; i++)
        for (size_t d = 0; d < D; d++)
            gg_ta_store_gradient(twin, c->dq, (offset + i) * D + d,
                                 s->acc[i * s->Dp + d] * c->sc);
}
