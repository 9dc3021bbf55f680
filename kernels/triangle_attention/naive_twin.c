/* SPDX-License-Identifier: Apache-2.0
 * Host twin of `naive`: README.md, executed on the CPU. 64 queries and all keys at a
 * time; softmax over the whole row; no saved tensor. */
#include <math.h>
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/arithmetic/tensor_core.h"
#include "kernels/registry.h"
#include "kernels/triangle_attention/limits.h"
#include "kernels/triangle_attention/mutant.h"

const gg_ta_plan gg_ta_naive_plan = {.whole_rows = 1, .chunks = 1};

/* Row sums of n terms: lane c adds terms c, c + 32, ... ascending; then lanes fold. */
static float fold(float lane[32])
{
    for (int half = 16; half > 0; half /= 2)
        for (int c = 0; c < half; c++) lane[c] += lane[c + half];
    return lane[0];
}

static float sum_of(const float *x, size_t n)
{
    float lane[32] = {0};
    for (size_t j = 0; j < n; j++) lane[j % 32] += x[j];
    return fold(lane);
}

static float sum_of_products(const float *x, const float *y, size_t n)
{
    float lane[32] = {0};
    for (size_t j = 0; j < n; j++) lane[j % 32] += x[j] * y[j];
    return fold(lane);
}

/* Scores of one query in `p` to probabilities, FP32. */
static void softmax(const gg_ta_twin *twin, gg_ta_scratch *s, float *p)
{
    size_t N = (size_t)twin->call.N;
    float m = -INFINITY;
    twin->lanes->logits(p, p, s->bias, s->valid, twin->call.c1, s->Np);
    for (size_t j = 0; j < N; j++) m = p[j] > m ? p[j] : m;
    if (gg_ta_slips(twin, GG_TA_SLIP_NO_MAX)) m = 0;
    twin->lanes->weights(p, p, s->valid, m == -INFINITY ? 0 : m, s->Np);
    float l = sum_of(p, N);
    float inv = l == 0 ? 0 : 1 / l;
    for (size_t j = 0; j < N; j++)
        p[j] = gg_float_from_bits(gg_float_bits(p[j] * inv) & s->valid[j]);
}

/* P of queries i0 .. i0 + count - 1 in s->s, rounded in s->p; other rows of a step are
 * zero. */
static void probabilities(const gg_ta_twin *twin, gg_ta_scratch *s, int b, int h,
                          size_t i0, size_t count)
{
    gg_decoded q = gg_ta_part(&s->q, i0, 0);
    memset(s->s, 0, count * s->W * sizeof *s->s);
    gg_ta_chain(twin, GG_TA_S)(s->s, s->W, &q, &s->kT, count, s->Np, s->Dp / GG_TC_TERMS);
    for (size_t i = 0; i < count; i++) {
        size_t at = i * s->W;
        gg_ta_load_bias(twin, s, b, h, (int)(i0 + i), 0, s->Np);
        softmax(twin, s, s->s + at);
        twin->lanes->round(s->p.value + at, s->p.exponent + at, s->s + at, s->Np);
    }
    gg_ta_clear_rows(&s->p, count, gg_ta_pad(count), s->Np);
}

void gg_ta_naive_forward(const gg_ta_twin *twin, gg_ta_scratch *s, int b, int r, int h,
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
        size_t count = gg_ta_min(GG_TA_TILE, N - i0), steps = s->Np / GG_TC_TERMS;
        probabilities(twin, s, b, h, i0, count);
        memset(s->acc, 0, count * s->Dp * sizeof *s->acc);
        gg_ta_chain(twin, GG_TA_O)(s->acc, s->Dp, &s->p, &s->v, count, s->Dp, steps);
        for (size_t i = 0; c->o && i < count; i++)
            for (size_t d = 0; d < D; d++)
                gg_ta_store(c->o, 0, (offset + i0 + i) * D + d, s->acc[i * s->Dp + d]);
    }
}

/* dP in s->dp becomes dS, rounded in s->ds; dS itself is added to the slab. */
static void score_gradients(const gg_ta_twin *twin, gg_ta_scratch *s, size_t i0,
                            size_t count, float *slab)
{
    size_t N = (size_t)twin->call.N;
    for (size_t i = 0; i < count; i++) {
        size_t at = i * s->W;
        float *p = s->s + at, *ds = s->dp + at;
        float delta = sum_of_products(p, ds, N);
        if (gg_ta_slips(twin, GG_TA_SLIP_NO_DELTA)) delta = 0;
        for (size_t j = 0; j < s->Np; j++)
            ds[j] = s->valid[j] ? p[j] * (ds[j] - delta) : 0;
        twin->lanes->round(s->ds.value + at, s->ds.exponent + at, ds, s->Np);
        float *sum = slab ? slab + (i0 + i) * N : NULL;
        for (size_t j = 0; sum && j < N; j++) sum[j] += ds[j];
    }
    gg_ta_clear_rows(&s->ds, count, gg_ta_pad(count), s->Np);
}

static void load_operands(const gg_ta_twin *twin, gg_ta_scratch *s, size_t offset)
{
    const gg_ta_call *c = &twin->call;
    size_t first = offset * (size_t)c->D;
    gg_ta_load_rows(twin, s, &s->q, c->q + first, 0);
    gg_ta_load_rows(twin, s, &s->dout, c->dout + first, 0);
    gg_ta_load_rows(twin, s, &s->k, c->k + first, 1);
    gg_ta_load_columns(twin, s, &s->qT, c->q + first, 0);
    gg_ta_load_columns(twin, s, &s->doutT, c->dout + first, 0);
    gg_ta_load_columns(twin, s, &s->kT, c->k + first, 1);
    gg_ta_load_columns(twin, s, &s->vT, c->v + first, 1);
}

void gg_ta_naive_backward(const gg_ta_twin *twin, gg_ta_scratch *s, int b, int r, int h,
                          float *slab)
{
    const gg_ta_call *c = &twin->call;
    const gg_lanes *lanes = twin->lanes;
    size_t N = (size_t)c->N, D = (size_t)c->D, offset = gg_ta_offset(c, b, r, h);
    gg_ta_load_valid(twin, s, b, r);
    load_operands(twin, s, offset);
    memset(s->dvT, 0, s->Dp * s->W * sizeof *s->dvT);
    memset(s->dkT, 0, s->Dp * s->W * sizeof *s->dkT);
    for (size_t i0 = 0; i0 < N; i0 += GG_TA_TILE) {
        size_t count = gg_ta_min(GG_TA_TILE, N - i0);
        size_t steps = gg_ta_pad(count) / GG_TC_TERMS;
        gg_decoded dout = gg_ta_part(&s->dout, i0, 0);
        gg_decoded qT = gg_ta_part(&s->qT, 0, i0), doutT = gg_ta_part(&s->doutT, 0, i0);
        probabilities(twin, s, b, h, i0, count);
        memset(s->dp, 0, count * s->W * sizeof *s->dp);
        lanes->chain(s->dp, s->W, &dout, &s->vT, count, s->Np, s->Dp / GG_TC_TERMS);
        score_gradients(twin, s, i0, count, slab);
        lanes->chain(s->dvT, s->W, &doutT, &s->p, D, s->Np, steps);
        lanes->chain(s->dkT, s->W, &qT, &s->ds, D, s->Np, steps);
        memset(s->acc, 0, count * s->Dp * sizeof *s->acc);
        lanes->chain(s->acc, s->Dp, &s->ds, &s->k, count, s->Dp, s->Np / GG_TC_TERMS);
        for (size_t i = 0; c->dq && i < count; i++)
            for (size_t d = 0; d < D; d++)
                gg_ta_store(c->dq, c->grad_f32, (offset + i0 + i) * D + d,
                            s->acc[i * s->Dp + d] * c->sc);
    }
    gg_ta_store_keys(twin, s, offset, 0, N);
}

static size_t workspace_bytes(const gg_call *call)
{
    return gg_ta_twin_workspace(call, &gg_ta_naive_plan);
}

static int forward(const gg_call *call)
{
    return gg_ta_run_forward(call, &gg_ta_naive_plan, gg_ta_naive_forward);
}

static int backward(const gg_call *call)
{
    return gg_ta_run_backward(call, &gg_ta_naive_plan, gg_ta_naive_backward);
}

const gg_kernel gg_ta_naive_twin = {
    .abi_version = GG_ABI_VERSION,
    .struct_bytes = sizeof(gg_kernel),
    .name = "naive",
    .operator_name = "triangle_attention",
    .summary = "stores scores, P, dP and dS in full (host twin)",
    .device = kDLCPU,
    .repeat = GG_REPEAT_RUN_TO_RUN,
    .inputs = gg_ta_inputs,
    .outputs = gg_ta_outputs,
    .features = NULL,
    .limits = gg_ta_naive_limits,
    .limits_note = GG_TA_LIMITS_NOTE,
    .supports = gg_ta_refuse,
    .saved_bytes = gg_ta_saved_nothing,
    .workspace_bytes = workspace_bytes,
    .forward = forward,
    .backward = backward,
    .forward_outputs = 1,
    .roundings = gg_ta_naive_roundings,
};
