/* SPDX-License-Identifier: Apache-2.0
 * Forward of `recompute` and `turbo`: online softmax over tiles of 64 keys. */
#include <math.h>
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/arithmetic/ex2.h"
#include "kernels/arithmetic/tensor_core.h"
#include "kernels/triangle_attention/mutant.h"

/* Where it stands with the queries of one tile. */
typedef struct online {
    float m[GG_TA_TILE], l[GG_TA_TILE];
} online;

/* max.f32 over a row: NaN loses against a number. */
static float row_max(float m, const float *t, size_t n)
{
    float lane[GG_LANES];
    for (int l = 0; l < GG_LANES; l++) lane[l] = m;
    for (size_t j = 0; j < n; j += GG_LANES)
        for (int l = 0; l < GG_LANES; l++) {
            float x = t[j + (size_t)l];
            lane[l] = x > lane[l] ? x : lane[l];
        }
    for (int l = 0; l < GG_LANES; l++) m = lane[l] > m ? lane[l] : m;
    return m;
}

/* l_c: four lanes, each over the key pairs 8n + 2c, 8n + 2c + 1 of the tile. */
static float row_sum(const float *p, size_t n)
{
    float lane[4] = {0, 0, 0, 0};
    for (size_t j = 0; j < n; j += 8)
        for (size_t c = 0; c < 4; c++) {
            lane[c] += p[j + 2 * c];
            lane[c] += p[j + 2 * c + 1];
        }
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

/* One query, one key tile: from scores in `t` to rounded weights in row i of s->p. */
static void add_tile(const gg_ta_twin *twin, gg_ta_scratch *s, online *state, size_t i,
                     size_t first, size_t width)
{
    const gg_lanes *lanes = twin->lanes;
    float *t = s->s + i * s->W, *p = s->p.value + i * s->W;
    lanes->logits(t, t, s->bias, s->valid + first, twin->call.c1, width);
    float m = row_max(state->m[i], t, width);
    float ref = m == -INFINITY ? 0 : m;
    if (gg_ta_slips(twin, GG_TA_SLIP_MAX_OF_DEAD_TILE)) m = ref;
    float a = gg_ta_slips(twin, GG_TA_SLIP_NO_RESCALE) ? 1 : gg_ex2(state->m[i] - ref);
    lanes->weights(t, t, s->valid + first, ref, width);
    lanes->round(p, s->p.exponent + i * s->W, t, width);
    if (gg_ta_slips(twin, GG_TA_SLIP_UNROUNDED_SUM)) p = t;
    state->l[i] = fmaf(state->l[i], a, row_sum(p, width));
    state->m[i] = m;
    for (size_t d = 0; d < s->Dp; d++) s->acc[i * s->Dp + d] *= a;
}

/* The value of the running maximum before the first tile. */
static float first_max(const gg_ta_twin *twin)
{
    if (gg_ta_slips(twin, GG_TA_SLIP_MAX_FROM_0)) return 0;
    return gg_ta_slips(twin, GG_TA_SLIP_MAX_FROM_5E4) ? -5e4f * GG_TA_LOG2E : -INFINITY;
}

static float through_bf16(float x) { return gg_bf16_to_float(gg_bf16_from_float(x)); }

/* m and inv of one query. */
static void save(const gg_ta_twin *twin, size_t row, float m, float inv)
{
    const gg_ta_call *c = &twin->call;
    int last = (row + 1) % (size_t)c->N == 0;
    if (gg_ta_slips(twin, GG_TA_SLIP_MAX_BF16)) m = through_bf16(m);
    if (!last || !gg_ta_slips(twin, GG_TA_SLIP_SAVED_HOLE))
        c->m[row] = m == -INFINITY ? 0 : m;
    c->inv[row] = gg_float_canonical(inv);
}

static void finish(const gg_ta_twin *twin, gg_ta_scratch *s, const online *state,
                   size_t i, size_t row)
{
    const gg_ta_call *c = &twin->call;
    size_t D = (size_t)c->D;
    float m = state->m[i], l = state->l[i];
    float inv = l == 0 && !gg_ta_slips(twin, GG_TA_SLIP_NO_ZERO_GUARD) ? 0 : 1 / l;
    if (gg_ta_slips(twin, GG_TA_SLIP_INV_BF16)) inv = through_bf16(inv);
    uint16_t *e = c->e;
    if (gg_ta_slips(twin, GG_TA_SLIP_E_HOLE) && (row + 1) % (size_t)c->N == 0) e = NULL;
    save(twin, row, m, inv);
    for (size_t d = 0; d < D; d++) {
        float o32 = s->acc[i * s->Dp + d] * inv;
        uint16_t o = gg_bf16_from_float(o32);
        if (gg_ta_slips(twin, GG_TA_SLIP_O_TRUNCATED))
            o = (uint16_t)(gg_float_bits(o32) >> 16);
        if (c->o) c->o[row * D + d] = o;
        if (e) e[row * D + d] = gg_bf16_from_float(o32 - gg_bf16_to_float(o));
    }
}

void gg_ta_online_forward(const gg_ta_twin *twin, gg_ta_scratch *s, int b, int r, int h,
                          float *slab)
{
    const gg_ta_call *c = &twin->call;
    size_t N = (size_t)c->N, D = (size_t)c->D, offset = gg_ta_offset(c, b, r, h);
    (void)slab;
    gg_ta_load_valid(twin, s, b, r);
    gg_ta_load_rows(twin, s, &s->q, c->q + offset * D, 0);
    gg_ta_load_columns(twin, s, &s->kT, c->k + offset * D, 1);
    gg_ta_load_rows(twin, s, &s->v, c->v + offset * D, 1);

    for (size_t i0 = 0; i0 < N; i0 += GG_TA_TILE) {
        size_t queries = gg_ta_min(GG_TA_TILE, N - i0);
        gg_decoded q = gg_ta_part(&s->q, i0, 0);
        online state;
        for (size_t i = 0; i < GG_TA_TILE; i++) {
            state.m[i] = first_max(twin);
            state.l[i] = 0;
        }
        memset(s->acc, 0, GG_TA_TILE * s->Dp * sizeof *s->acc);
        for (size_t j0 = 0; j0 < N; j0 += GG_TA_TILE) {
            size_t width = gg_ta_pad(gg_ta_min(GG_TA_TILE, N - j0));
            gg_decoded k = gg_ta_part(&s->kT, 0, j0), v = gg_ta_part(&s->v, j0, 0);
            if (!gg_ta_tile_is_live(twin, s, j0, width)) continue;
            memset(s->s, 0, GG_TA_TILE * s->W * sizeof *s->s);
            gg_ta_chain(twin, GG_TA_S)(s->s, s->W, &q, &k, queries, width,
                                       s->Dp / GG_TC_TERMS);
            for (size_t i = 0; i < queries; i++) {
                gg_ta_load_bias(twin, s, b, h, (int)(i0 + i), j0, width);
                add_tile(twin, s, &state, i, j0, width);
            }
            /* steps over padding keys are left out: they would change nothing */
            gg_ta_chain(twin, GG_TA_O)(s->acc, s->Dp, &s->p, &v, queries, s->Dp,
                                       width / GG_TC_TERMS);
        }
        for (size_t i = 0; i < queries; i++)
            finish(twin, s, &state, i, offset + i0 + i);
    }
}
