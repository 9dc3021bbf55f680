/* SPDX-License-Identifier: Apache-2.0
 * Workspace of a twin and the order of its work. Forward is one piece of work for each
 * (b, r, h). Backward is one for each (b, h, chunk of rows): it goes through its rows
 * in ascending order, because its dbias slab adds them in that order. */
#include <errno.h>
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/arithmetic/threads.h"
#include "kernels/triangle_attention/mutant.h"

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

static size_t layout(gg_ta_scratch *s, char *memory, const gg_ta_call *call,
                     const gg_ta_plan *plan)
{
    arena a = {memory, 0};
    s->Np = gg_ta_pad((size_t)call->N);
    s->Dp = gg_ta_pad((size_t)call->D);
    s->W = plan->whole_rows ? s->Np : GG_TA_TILE;
    s->valid = take(&a, s->Np, sizeof(uint32_t));
    gg_decoded *const rows[] = {&s->q, &s->k, &s->v, &s->dout};
    gg_decoded *const columns[] = {&s->qT, &s->kT, &s->vT, &s->doutT};
    for (int i = 0; i < 4; i++) {
        *rows[i] = take_decoded(&a, s->Np, s->Dp);
        *columns[i] = take_decoded(&a, s->Dp, s->Np);
    }
    s->p = take_decoded(&a, GG_TA_TILE, s->W);
    s->ds = take_decoded(&a, GG_TA_TILE, s->W);
    s->s = take_floats(&a, GG_TA_TILE * s->W);
    s->dp = take_floats(&a, GG_TA_TILE * s->W);
    s->bias = take_floats(&a, s->W);
    size_t at_least_a_tile = s->Np < GG_TA_TILE ? GG_TA_TILE : s->Np;
    s->acc = take_floats(&a, at_least_a_tile * s->Dp);
    s->part = take_floats(&a, GG_TA_TILE * s->Dp);
    s->dvT = take_floats(&a, s->Dp * s->W);
    s->dkT = take_floats(&a, s->Dp * s->W);
    s->delta = take_floats(&a, s->Np);
    s->y = take_floats(&a, s->Np);
    s->line = take(&a, at_least_a_tile, sizeof(uint16_t));
    return a.used;
}

static int chunk_count(const gg_ta_plan *plan, int R)
{
    return plan->chunks > 1 ? gg_ta_chunk_count(R) : 1;
}

static int chunk_rows(const gg_ta_plan *plan, int R)
{
    return plan->chunks > 1 ? gg_ta_chunk_rows(R) : R;
}

static size_t slab_floats(const gg_ta_call *call, const gg_ta_plan *plan)
{
    return (size_t)call->B * (size_t)call->H * (size_t)chunk_count(plan, call->R) *
           (size_t)call->N * (size_t)call->N;
}

size_t gg_ta_twin_workspace(const gg_call *call, const gg_ta_plan *plan)
{
    gg_ta_call unpacked;
    gg_ta_scratch scratch;
    gg_ta_unpack(call, &unpacked);
    size_t worker = layout(&scratch, NULL, &unpacked, plan);
    return ALIGN + (size_t)unpacked.threads * worker +
           slab_floats(&unpacked, plan) * sizeof(float);
}

size_t gg_ta_offset(const gg_ta_call *call, int b, int r, int h)
{
    size_t row = (size_t)b * (size_t)call->R + (size_t)r;
    return (row * (size_t)call->H + (size_t)h) * (size_t)call->N;
}

static void prepare(gg_ta_twin *twin, const gg_call *call, const gg_ta_plan *plan,
                    gg_ta_head *head)
{
    gg_ta_scratch scratch;
    memset(twin, 0, sizeof *twin);
    gg_ta_unpack(call, &twin->call);
    twin->plan = *plan;
    twin->lanes = gg_lanes_best();
    twin->head = head;
    twin->worker_bytes = layout(&scratch, NULL, &twin->call, plan);
    char *start = call->workspace;
    start += (ALIGN - (uintptr_t)start % ALIGN) % ALIGN;
    twin->workers = start;
    start += (size_t)twin->call.threads * twin->worker_bytes;
    twin->slabs = (float *)(void *)start;
    if (plan->fault && plan->fault->lanes) twin->lanes = plan->fault->lanes;
    if (plan->fault && plan->fault->call) plan->fault->call(&twin->call);
}

static void forward_one(void *context, int64_t index, int worker)
{
    const gg_ta_twin *twin = context;
    const gg_ta_call *c = &twin->call;
    gg_ta_scratch s;
    layout(&s, twin->workers + (size_t)worker * twin->worker_bytes, c, &twin->plan);
    int h = (int)(index % c->H), row = (int)(index / c->H);
    twin->head(twin, &s, row / c->R, row % c->R, h, NULL);
}

int gg_ta_run_forward(const gg_call *call, const gg_ta_plan *plan, gg_ta_head *head)
{
    gg_ta_twin twin;
    prepare(&twin, call, plan, head);
    const gg_ta_call *c = &twin.call;
    gg_threads_run((int64_t)c->B * c->R * c->H, c->threads, forward_one, &twin);
    return 0;
}

static void backward_chunk(void *context, int64_t index, int worker)
{
    const gg_ta_twin *twin = context;
    const gg_ta_call *c = &twin->call;
    int chunks = chunk_count(&twin->plan, c->R), rows = chunk_rows(&twin->plan, c->R);
    size_t square = (size_t)c->N * (size_t)c->N;
    int chunk = (int)(index % chunks), bh = (int)(index / chunks);
    int first = chunk * rows, end = first + rows < c->R ? first + rows : c->R;
    float *slab = c->dbias ? twin->slabs + (size_t)index * square : NULL;
    gg_ta_scratch s;
    layout(&s, twin->workers + (size_t)worker * twin->worker_bytes, c, &twin->plan);
    if (slab && !gg_ta_slips(twin, GG_TA_SLIP_SLAB_NOT_CLEARED))
        memset(slab, 0, square * sizeof *slab);
    for (int r = first; r < end; r++)
        twin->head(twin, &s, bh / c->H, r, bh % c->H, slab);
}

/* dbias of one query: slab_0 + slab_1 + ... ascending, an FP32 addition each. */
static void add_slabs(void *context, int64_t index, int worker)
{
    const gg_ta_twin *twin = context;
    const gg_ta_call *c = &twin->call;
    size_t N = (size_t)c->N, chunks = (size_t)chunk_count(&twin->plan, c->R);
    size_t bh = (size_t)index / N, i = (size_t)index % N;
    float *sum = twin->slabs + (bh * chunks * N + i) * N;
    (void)worker;
    int narrow = gg_ta_slips(twin, GG_TA_SLIP_SLAB_BF16);
    for (size_t chunk = 1; chunk < chunks; chunk++) {
        const float *slab = sum + chunk * N * N;
        for (size_t j = 0; j < N; j++) sum[j] += slab[j];
        for (size_t j = 0; narrow && j < N; j++)
            sum[j] = gg_bf16_to_float(gg_bf16_from_float(sum[j]));
    }
    for (size_t j = 0; j < N; j++)
        gg_ta_store(c->dbias, c->dbias_f32, (size_t)index * N + j, sum[j]);
}

int gg_ta_run_backward(const gg_call *call, const gg_ta_plan *plan, gg_ta_head *head)
{
    gg_ta_twin twin;
    prepare(&twin, call, plan, head);
    const gg_ta_call *c = &twin.call;
    int reads_o = !plan->whole_rows; /* delta of naive does not pass through o */
    if (!c->dout || (reads_o && !c->o)) return EINVAL;
    int64_t heads = (int64_t)c->B * c->H;
    gg_threads_run(heads * chunk_count(plan, c->R), c->threads, backward_chunk, &twin);
    if (c->dbias) gg_threads_run(heads * c->N, c->threads, add_slabs, &twin);
    return 0;
}
