/* SPDX-License-Identifier: Apache-2.0
 * Host twins of `twopass` and `split`: README.md, executed on the CPU. Forward is one piece
 * of work for each (b, r, h), backward one for each (b, h, chunk of rows), whose rows it
 * takes in ascending order because the dbias slab adds them so. */
#include "kernels/triangle_attention/twopass_twin.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/arithmetic/tensor_core.h"
#include "kernels/arithmetic/threads.h"
#include "kernels/registry.h"
#include "kernels/triangle_attention/limits.h"
#include "kernels/triangle_attention/twopass_row.h"

enum { ALIGN = 64 };

/* Hands out workspace; with memory == NULL it only counts. */
typedef struct arena {
    char *memory;
    size_t used;
} arena;

static void *take(arena *a, size_t count, size_t size)
{
    void *start = a->memory ? a->memory + a->used : NULL;
    a->used += (count * size + ALIGN - 1) / ALIGN * ALIGN;
    return start;
}

static float *take_floats(arena *a, size_t count)
{
    return take(a, count, sizeof(float));
}

static gg_decoded take_decoded(arena *a, size_t rows, size_t columns)
{
    gg_decoded matrix = {take_floats(a, rows * columns), NULL, columns};
    matrix.exponent = take(a, rows * columns, sizeof(int16_t));
    return matrix;
}

static size_t layout(gg_ta_pair_scratch *s, char *memory, const gg_ta_call *call)
{
    arena a = {memory, 0};
    memset(s, 0, sizeof *s);
    s->Np = gg_ta_pair_pad((size_t)call->N);
    s->Dp = gg_ta_pair_pad((size_t)call->D);
    size_t rows = s->Np < GG_TA_TILE ? GG_TA_TILE : s->Np;
    gg_decoded *const by_row[] = {&s->q, &s->k, &s->v, &s->dout};
    gg_decoded *const by_column[] = {&s->qT, &s->kT, &s->vT, &s->doutT};
    gg_decoded *const tiles[] = {&s->p, &s->ds, &s->p_low, &s->ds_low};
    s->dq_ds = take_decoded(&a, GG_TA_TILE, GG_TA_TILE);
    for (int i = 0; i < 4; i++) {
        *by_row[i] = take_decoded(&a, s->Np, s->Dp);
        *by_column[i] = take_decoded(&a, s->Dp, s->Np);
        *tiles[i] = take_decoded(&a, GG_TA_TILE, GG_TA_TILE);
    }
    s->ones = take_decoded(&a, GG_TA_TILE, GG_LANES);
    s->taken = take_decoded(&a, GG_TA_TILE, GG_TC_TERMS);
    s->takers = take_decoded(&a, GG_TC_TERMS, GG_TA_TILE);
    s->sums = take_floats(&a, GG_TA_TILE * GG_LANES);
    s->valid = take(&a, s->Np, sizeof(uint32_t));
    s->s = take_floats(&a, GG_TA_TILE * GG_TA_TILE);
    s->dp = take_floats(&a, GG_TA_TILE * GG_TA_TILE);
    s->whole = take_floats(&a, GG_TA_TILE * GG_TA_TILE);
    s->shift = take_floats(&a, GG_TA_TILE);
    s->acc = take_floats(&a, rows * s->Dp);
    s->dvT = take_floats(&a, s->Dp * GG_TA_TILE);
    s->dkT = take_floats(&a, s->Dp * GG_TA_TILE);
    s->delta = take_floats(&a, s->Np);
    s->y = take_floats(&a, s->Np);
    s->chain = take_floats(&a, s->Np);
    s->narrow = take(&a, rows, sizeof(uint16_t));
    s->all = take(&a, GG_TA_TILE, sizeof(uint32_t));
    s->line = take_floats(&a, GG_TA_TILE);
    s->part = take_floats(&a, GG_TA_TILE * s->Dp);
    s->wide = take(&a, s->Dp / 8, sizeof(double));
    s->first = take_floats(&a, s->Np * s->Dp);
    s->half = take_floats(&a, s->Np * s->Dp);
    return a.used;
}

void gg_ta_pair_chain(const gg_ta_pair_twin *twin, float *c, size_t ldc,
                      const gg_decoded *high, const gg_decoded *low, const gg_decoded *b,
                      size_t rows, size_t columns, size_t steps)
{
    const gg_lanes *lanes = twin->lanes;
    if (!low) {
        lanes->chain(c, ldc, high, b, rows, columns, steps);
        return;
    }
    for (size_t k = 0; k < steps * GG_TC_TERMS; k += GG_TC_TERMS) {
        gg_decoded h = gg_ta_pair_part(high, 0, k), l = gg_ta_pair_part(low, 0, k);
        gg_decoded part = gg_ta_pair_part(b, k, 0);
        lanes->chain(c, ldc, &h, &part, rows, columns, 1);
        lanes->chain(c, ldc, &l, &part, rows, columns, 1);
    }
}

/* bias at a flat index of [B][H][N][N] */
static float bias_at(const gg_ta_call *call, size_t at)
{
    return call->bias_f32 ? ((const float *)call->bias)[at]
                          : gg_bf16_to_float(((const uint16_t *)call->bias)[at]);
}

void gg_ta_pair_bias(const gg_ta_pair_twin *twin, float *x, int b, int h, size_t i,
                     size_t first, size_t count)
{
    const gg_ta_call *call = &twin->call;
    size_t N = (size_t)call->N, bh = (size_t)b * (size_t)call->H + (size_t)h;
    size_t row = (bh * N + i) * N + first, inside = gg_ta_pair_min(count, N - first);
    float lowered = twin->lowered[bh * N + i];
    for (size_t j = 0; j < inside; j++)
        x[j] = (bias_at(call, row + j) - lowered) * call->root;
    for (size_t j = inside; j < count; j++) x[j] = 0;
}

/* One (b, h): for each query its largest finite bias among keys that any row of b has. */
static void lower_head(void *context, int64_t index, int worker)
{
    const gg_ta_pair_twin *twin = context;
    const gg_ta_call *c = &twin->call;
    gg_ta_pair_scratch s;
    size_t N = (size_t)c->N, bh = (size_t)index;
    int b = (int)(index / c->H);
    layout(&s, twin->workers + (size_t)worker * twin->worker_bytes, c);
    float *any = s.y; /* [Np], a key that any row has: 1, else 0 */
    for (size_t j = 0; j < N; j++) any[j] = 0;
    for (int r = 0; r < c->R; r++) {
        gg_ta_pair_load_valid(twin, &s, b, r);
        for (size_t j = 0; j < N; j++) any[j] = s.valid[j] ? 1 : any[j];
    }
    for (size_t i = 0; i < N; i++) {
        float top = -INFINITY;
        for (size_t j = 0; j < N; j++) {
            float x = bias_at(c, (bh * N + i) * N + j);
            if (any[j] != 0 && x < INFINITY && x > top) top = x;
        }
        twin->lowered[bh * N + i] = gg_ta_twopass_lowered(top);
    }
}

void gg_ta_pair_mask(float *x, const uint32_t *valid, size_t n)
{
    for (size_t j = 0; j < n; j++) x[j] = valid[j] ? x[j] : -INFINITY;
}

void gg_ta_pair_weights(const gg_ta_pair_twin *twin, const gg_ta_pair_scratch *s, float *x,
                        float nm, size_t n)
{
    for (size_t j = 0; j < n; j++) x[j] = fmaf(x[j], twin->call.c1, nm);
    twin->lanes->weights(x, x, s->all, 0, n);
}

void gg_ta_pair_round(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s,
                      const gg_decoded *high, const gg_decoded *low, size_t i,
                      const float *x, size_t n)
{
    const gg_lanes *lanes = twin->lanes;
    size_t at = i * high->stride;
    lanes->round(high->value + at, high->exponent + at, x, n);
    if (!twin->pairs) return;
    for (size_t j = 0; j < n; j++) s->line[j] = x[j] - high->value[at + j];
    lanes->round(low->value + at, low->exponent + at, s->line, n);
}

static gg_ta_chunks chunks_of(const gg_ta_call *c)
{
    return gg_ta_twopass_chunks(c->B, c->R, c->H, c->N, c->D);
}

static size_t workspace_bytes(const gg_call *call)
{
    gg_ta_call c;
    gg_ta_pair_scratch scratch;
    gg_ta_unpack(call, &c);
    gg_ta_chunks chunks = chunks_of(&c);
    size_t square = (size_t)c.N * (size_t)c.N, heads = (size_t)c.B * (size_t)c.H;
    return ALIGN + (size_t)c.threads * layout(&scratch, NULL, &c) +
           heads * ((size_t)c.N + (size_t)gg_ta_twopass_slabs(&chunks) * square) * sizeof(float);
}

static void prepare(gg_ta_pair_twin *twin, const gg_call *call, int pairs, int wide)
{
    gg_ta_pair_scratch scratch;
    memset(twin, 0, sizeof *twin);
    gg_ta_unpack(call, &twin->call);
    twin->chunks = chunks_of(&twin->call);
    twin->lanes = gg_lanes_best();
    twin->pairs = pairs;
    twin->saved = gg_ta_twopass_save(call);
    twin->wide = wide;
    twin->worker_bytes = layout(&scratch, NULL, &twin->call);
    char *start = call->workspace;
    start += (ALIGN - (uintptr_t)start % ALIGN) % ALIGN;
    twin->workers = start;
    start += (size_t)twin->call.threads * twin->worker_bytes;
    twin->lowered = (float *)(void *)start;
    twin->slabs = twin->lowered + (size_t)twin->call.B * (size_t)twin->call.H *
                                      (size_t)twin->call.N;
    gg_threads_run((int64_t)twin->call.B * twin->call.H, twin->call.threads, lower_head, twin);
}

static void take_scratch(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, int worker)
{
    char *memory = twin->workers + (size_t)worker * twin->worker_bytes;
    layout(s, memory, &twin->call);
    memset(s->all, 0xff, GG_TA_TILE * sizeof *s->all);
    uint16_t one[GG_LANES];
    for (int i = 0; i < GG_LANES; i++) one[i] = 0x3f80;
    for (size_t i = 0; i < GG_TA_TILE * GG_LANES; i += GG_LANES)
        twin->lanes->decode(s->ones.value + i, s->ones.exponent + i, one, GG_LANES);
    for (size_t i = 0; i < GG_TA_SHIFT_PIECES * GG_TA_TILE; i += GG_LANES)
        twin->lanes->decode(s->takers.value + i, s->takers.exponent + i, one, GG_LANES);
    gg_ta_pair_clear_rows(&s->takers, GG_TA_SHIFT_PIECES, GG_TC_TERMS, GG_TA_TILE);
}

static void forward_one(void *context, int64_t index, int worker)
{
    const gg_ta_pair_twin *twin = context;
    const gg_ta_call *c = &twin->call;
    gg_ta_pair_scratch scratch;
    take_scratch(twin, &scratch, worker);
    int h = (int)(index % c->H), row = (int)(index / c->H);
    gg_ta_pair_forward(twin, &scratch, row / c->R, row % c->R, h);
}

/* The rows of one long chunk of all tiles of a head, or those behind the long ones. */
static void backward_rows(void *context, int64_t index, int worker)
{
    const gg_ta_pair_twin *twin = context;
    const gg_ta_call *c = &twin->call;
    const gg_ta_chunks *chunks = &twin->chunks;
    size_t square = (size_t)c->N * (size_t)c->N, slabs = (size_t)gg_ta_twopass_slabs(chunks);
    int units = chunks->longs + 1, unit = (int)(index % units), bh = (int)(index / units);
    int first = unit * chunks->rows, end = unit < chunks->longs ? first + chunks->rows : c->R;
    size_t mine = unit < chunks->longs ? 1 : slabs - (size_t)unit;
    float *slab = twin->slabs + ((size_t)bh * slabs + (size_t)unit) * square;
    gg_ta_pair_scratch scratch;
    take_scratch(twin, &scratch, worker);
    memset(slab, 0, mine * square * sizeof *slab);
    for (int r = first; r < end; r++)
        gg_ta_pair_backward(twin, &scratch, bh / c->H, r, bh % c->H);
}

/* dbias of one query: slab_0 + slab_1 + ... ascending, as many as its tile has. */
static void add_slabs(void *context, int64_t index, int worker)
{
    const gg_ta_pair_twin *twin = context;
    const gg_ta_call *c = &twin->call;
    size_t N = (size_t)c->N, bh = (size_t)index / N, i = (size_t)index % N;
    size_t slabs = (size_t)gg_ta_twopass_slabs(&twin->chunks);
    float *sum = twin->slabs + (bh * slabs * N + i) * N;
    int last = gg_ta_twopass_chunk_of(&twin->chunks, gg_ta_pair_tile(twin, bh, i), c->R - 1);
    (void)worker;
    for (size_t chunk = 1; chunk <= (size_t)last; chunk++) {
        const float *slab = sum + chunk * N * N;
        for (size_t j = 0; j < N; j++) sum[j] += slab[j];
    }
    for (size_t j = 0; j < N; j++)
        gg_ta_pair_store(c->dbias, c->dbias_f32, (size_t)index * N + j, sum[j]);
}

static int run_forward(const gg_call *call, int pairs, int wide)
{
    gg_ta_pair_twin twin;
    prepare(&twin, call, pairs, wide);
    const gg_ta_call *c = &twin.call;
    gg_threads_run((int64_t)c->B * c->R * c->H, c->threads, forward_one, &twin);
    return 0;
}

static int run_backward(const gg_call *call, int pairs, int wide)
{
    gg_ta_pair_twin twin;
    prepare(&twin, call, pairs, wide);
    const gg_ta_call *c = &twin.call;
    if (!c->dout || !c->o) return EINVAL;
    int64_t heads = (int64_t)c->B * c->H;
    gg_threads_run(heads * (twin.chunks.longs + 1), c->threads, backward_rows, &twin);
    if (c->dbias) gg_threads_run(heads * c->N, c->threads, add_slabs, &twin);
    return 0;
}

static const char *supports(const gg_call *call)
{
    const char *why = gg_ta_refuse(call);
    if (!why && call->inputs[0]->shape[3] > GG_TA_TWOPASS_MAX_KEYS)
        why = "N is larger than 3072";
    return why;
}

static size_t saved_bytes(const gg_call *call)
{
    return gg_ta_twopass_save(call).bytes;
}

static int twopass_forward(const gg_call *call)
{
    return run_forward(call, 0, 0);
}

static int twopass_backward(const gg_call *call)
{
    return run_backward(call, 0, 0);
}

static int split_forward(const gg_call *call)
{
    return run_forward(call, (call->features & GG_TA_SPLIT_FORWARD) != 0, 1);
}

static int split_backward(const gg_call *call)
{
    return run_backward(call, (call->features & GG_TA_SPLIT_BACKWARD) != 0, 1);
}

const gg_kernel gg_ta_twopass_twin = {
    .abi_version = GG_ABI_VERSION,
    .struct_bytes = sizeof(gg_kernel),
    .name = "twopass",
    .operator_name = "triangle_attention",
    .summary = "probabilities recomputed by keys and by query x key ranges (host twin)",
    .device = kDLCPU,
    .repeat = GG_REPEAT_RUN_TO_RUN,
    .inputs = gg_ta_inputs,
    .outputs = gg_ta_outputs,
    .features = gg_ta_twopass_features,
    .limits = gg_ta_twopass_limits,
    .limits_note = GG_TA_LIMITS_NOTE,
    .supports = supports,
    .saved_bytes = saved_bytes,
    .workspace_bytes = workspace_bytes,
    .forward = twopass_forward,
    .backward = twopass_backward,
    .forward_outputs = 1,
    .roundings = gg_ta_twopass_roundings,
};

const gg_kernel gg_ta_split_twin = {
    .abi_version = GG_ABI_VERSION,
    .struct_bytes = sizeof(gg_kernel),
    .name = "split",
    .operator_name = "triangle_attention",
    .summary = "twopass with P and dS as BF16 pairs (host twin)",
    .device = kDLCPU,
    .repeat = GG_REPEAT_RUN_TO_RUN,
    .inputs = gg_ta_inputs,
    .outputs = gg_ta_outputs,
    .features = gg_ta_split_features,
    .limits = gg_ta_split_limits,
    .limits_note = GG_TA_LIMITS_NOTE,
    .supports = supports,
    .saved_bytes = saved_bytes,
    .workspace_bytes = workspace_bytes,
    .forward = split_forward,
    .backward = split_backward,
    .forward_outputs = 1,
    .roundings = gg_ta_split_roundings,
};
