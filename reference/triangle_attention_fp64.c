/* SPDX-License-Identifier: Apache-2.0
 * Triangle attention in binary64 on host threads; the operations and their order are
 * those of triangle_attention.h.
 *
 * Work is cut into rows (b, r, h), and a row into blocks of GG_BLOCK queries. A block
 * holds its scores as [keys][GG_BLOCK], so that lanes are queries:
 *   S, dP, X         chain over d, lanes are queries
 *   o, dq            chain over keys, lanes are queries
 *   dk, dv           chain over queries, lanes are d; the blocks of a row follow each
 *                    other on one thread
 *   dbias            sum over rows. Threads take rows in ascending order, and a row
 *                    adds its block n after the live row before it has: a wavefront
 * Nothing of size R N N is stored, nothing is computed twice. Keys that are not valid
 * are left out when a row is packed, so they are never read. */
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "reference/parallel.h"
#include "reference/triangle_attention_internal.h"

/* Packing is a large part of small cases. */
#pragma GCC optimize("O3")

/* Packed operands of one row and one block; one for each thread. T: transposed,
 * A: absolute values. Rows are padded to GG_LANES, padding is zero. */
typedef struct scratch {
    double *k, *v, *ka, *va;         /* [keys][D] */
    double *kt, *vt, *vta;           /* [D][N] */
    double *dk, *dv, *dka, *dva;     /* [keys][D], running over the blocks of a row */
    double *q, *g, *qa, *ga;         /* [GG_BLOCK][D], g is dout */
    double *qt, *gt, *gta;           /* [D][GG_BLOCK] */
    double *p, *ds, *w, *z;          /* [keys][GG_BLOCK] */
    double *out;                     /* [D][GG_BLOCK] */
    double *k_norm;                  /* [keys] */
    int32_t *key;                    /* [keys] */
} scratch;

typedef struct plan {
    const gg_problem *problem;
    const gg_truth *truth;
    int64_t B, R, H, N, D;
    int64_t d_row, n_row;  /* D and N padded */
    int64_t blocks;        /* of queries in a row */
    bool backward;         /* dP is wanted */
    bool weights, spreads; /* P w, Z are wanted */
    double sc;
    float *bias;           /* [B,H,blocks,N,GG_BLOCK] */
    int32_t *previous;     /* [B,R] the live row before, -1: none */
    atomic_int *done;      /* [B,H,R] blocks added to dbias */
    atomic_llong ticket;
    double *memory;
    int64_t memory_each;   /* doubles a thread */
} plan;

/* Next `count` doubles of a thread's memory; NULL while only measuring. */
static double *take(double *memory, int64_t *used, int64_t count)
{
    double *start = memory ? memory + *used : NULL;
    *used += gg_round_up(count, GG_LANES);
    return start;
}

/* Cuts a thread's memory, returns how many doubles that takes. */
static int64_t cut(const plan *t, double *memory, scratch *s)
{
    double **by_key[] = {&s->k,  &s->v,  &s->ka,  &s->va,
                         &s->dk, &s->dv, &s->dka, &s->dva};
    double **by_d[] = {&s->kt, &s->vt, &s->vta};
    double **by_query[] = {&s->q, &s->g, &s->qa, &s->ga};
    double **by_d_query[] = {&s->qt, &s->gt, &s->gta, &s->out};
    double **by_pair[] = {&s->p, &s->ds, &s->w, &s->z};
    int64_t used = 0;
    for (int i = 0; i < 8; i++) *by_key[i] = take(memory, &used, t->N * t->d_row);
    for (int i = 0; i < 3; i++) *by_d[i] = take(memory, &used, t->D * t->n_row);
    for (int i = 0; i < 4; i++) *by_query[i] = take(memory, &used, GG_BLOCK * t->d_row);
    for (int i = 0; i < 4; i++) *by_d_query[i] = take(memory, &used, t->D * GG_BLOCK);
    for (int i = 0; i < 4; i++) *by_pair[i] = take(memory, &used, t->N * GG_BLOCK);
    s->k_norm = take(memory, &used, t->N);
    s->key = (int32_t *)take(memory, &used, t->N);
    return used;
}

static scratch scratch_of(const plan *t, int worker)
{
    scratch s;
    cut(t, t->memory + worker * t->memory_each, &s);
    return s;
}

/* One row (b, r, h) while a thread works on it. */
typedef struct row {
    int64_t b, r, h, keys;
    int64_t first;        /* element (b,r,h,0,0) of q, k, v, ... */
} row;

static const uint16_t *bf16_input(const plan *t, int input, int64_t element)
{
    const uint16_t *data = t->problem->input[input].data;
    return data ? data + element : NULL;
}

static void pack_key(const plan *t, const row *at, const scratch *s, int64_t j)
{
    int64_t element = at->first + s->key[j] * t->D;
    const uint16_t *k = bf16_input(t, GG_TA_K, element);
    const uint16_t *v = bf16_input(t, GG_TA_V, element);
    double square = 0.0;
    for (int64_t d = 0; d < t->D; d++) {
        double kd = gg_bf16_value(k[d]), vd = gg_bf16_value(v[d]);
        s->k[j * t->d_row + d] = kd;
        s->v[j * t->d_row + d] = vd;
        s->kt[d * t->n_row + j] = kd;
        if (t->backward) s->vt[d * t->n_row + j] = vd;
        if (!t->weights) continue;
        s->ka[j * t->d_row + d] = fabs(kd);
        s->va[j * t->d_row + d] = fabs(vd);
        if (t->spreads) s->vta[d * t->n_row + j] = fabs(vd);
        square += kd * kd; /* the product is exact: as fma(kd, kd, square) */
    }
    s->k_norm[j] = sqrt(square);
}

/* Query i of a block; a zero query pads the last block and stands for a dead one. */
static void pack_query(const plan *t, const scratch *s, int64_t i, const uint16_t *q,
                       const uint16_t *g, gg_ta_block *block)
{
    double square = 0.0;
    for (int64_t d = 0; d < t->D; d++) {
        double qd = q ? gg_bf16_value(q[d]) : 0.0, gd = g ? gg_bf16_value(g[d]) : 0.0;
        s->q[i * t->d_row + d] = qd;
        s->g[i * t->d_row + d] = gd;
        s->qt[d * GG_BLOCK + i] = qd;
        s->gt[d * GG_BLOCK + i] = gd;
        if (!t->weights) continue;
        s->qa[i * t->d_row + d] = fabs(qd);
        s->ga[i * t->d_row + d] = fabs(gd);
        s->gta[d * GG_BLOCK + i] = fabs(gd);
        square += qd * qd;
    }
    for (int64_t d = t->D; d < t->d_row; d++)
        s->q[i * t->d_row + d] = s->g[i * t->d_row + d] = s->qa[i * t->d_row + d] =
            s->ga[i * t->d_row + d] = 0.0;
    block->q_norm[i] = t->sc * sqrt(square);
}

/* c[keys][GG_BLOCK]: chain over d of a[d][keys] b[d][GG_BLOCK]. */
static void over_d(const plan *t, int64_t keys, const double *a, const double *b,
                   double *c)
{
    gg_chain_run(&(gg_chain){.m = keys, .n = GG_BLOCK, .k = t->D, .a = a, .a_row = 1,
                             .a_step = t->n_row, .b = b, .b_step = GG_BLOCK, .c = c,
                             .c_row = GG_BLOCK});
}

/* c[keys][D] goes on: chain over a block's queries of a[keys][query] b[query][D]. */
static void over_queries(const plan *t, int64_t keys, int64_t i0, const double *a,
                         const double *b, double *c)
{
    int64_t queries = t->N - i0 < GG_BLOCK ? t->N - i0 : GG_BLOCK;
    gg_chain_run(&(gg_chain){.m = keys, .n = t->d_row, .k = queries, .a = a,
                             .a_row = GG_BLOCK, .a_step = 1, .b = b, .b_step = t->d_row,
                             .c = c, .c_row = t->d_row, .resume = i0 > 0});
}

/* Output rows from i0: factor * chain over keys of a[keys][D] b[keys][query]. */
static void over_keys(const plan *t, const row *at, const scratch *s, int64_t i0,
                      const double *a, const double *b, double factor, double *output)
{
    if (output == NULL) return;
    gg_chain_run(&(gg_chain){.m = t->D, .n = GG_BLOCK, .k = at->keys, .a = a,
                             .a_row = 1, .a_step = t->d_row, .b = b, .b_step = GG_BLOCK,
                             .c = s->out, .c_row = GG_BLOCK});
    output += at->first + i0 * t->D;
    for (int64_t i = 0; i < GG_BLOCK && i0 + i < t->N; i++)
        for (int64_t d = 0; d < t->D; d++)
            output[i * t->D + d] = factor * s->out[d * GG_BLOCK + i];
}

/* While sums over rows run, a block of dbias lies in its own place as [N][queries]. */
static void add_to_dbias(const plan *t, const row *at, const scratch *s, int64_t i0,
                         const double *term, double *output)
{
    if (output == NULL) return;
    int64_t queries = t->N - i0 < GG_BLOCK ? t->N - i0 : GG_BLOCK;
    output += ((at->b * t->H + at->h) * t->N + i0) * t->N;
    for (int64_t j = 0; j < at->keys; j++) {
        double *restrict sum = output + s->key[j] * queries;
        const double *restrict add = term + j * GG_BLOCK;
        if (queries == GG_BLOCK)
            for (int i = 0; i < GG_BLOCK; i++) sum[i] += add[i];
        else
            for (int64_t i = 0; i < queries; i++) sum[i] += add[i];
    }
}

/* dbias of this block, after the live row before has added its own. */
static void dbias_in_turn(plan *t, const row *at, const scratch *s, int64_t i0)
{
    double *value = t->truth->value[GG_TA_DBIAS];
    double *allowance = t->truth->allowance[GG_TA_DBIAS];
    if (value == NULL && allowance == NULL) return;
    atomic_int *done = t->done + (at->b * t->H + at->h) * t->R;
    int32_t previous = t->previous[at->b * t->R + at->r];
    int block = (int)(i0 / GG_BLOCK);
    if (previous >= 0)
        while (atomic_load_explicit(&done[previous], memory_order_acquire) <= block)
            sched_yield();
    add_to_dbias(t, at, s, i0, s->ds, value);
    add_to_dbias(t, at, s, i0, s->z, allowance);
    atomic_store_explicit(&done[at->r], block + 1, memory_order_release);
}

static void allowances_of_block(plan *t, const row *at, const scratch *s, int64_t i0,
                                gg_ta_block *block)
{
    double *const *allowance = t->truth->allowance;
    gg_ta_weight(block);
    over_keys(t, at, s, i0, s->va, s->w, 1.0, allowance[GG_TA_O]);
    if (allowance[GG_TA_DV]) over_queries(t, at->keys, i0, s->w, s->ga, s->dva);
    if (!t->spreads) return;
    over_d(t, at->keys, s->vta, s->gta, s->z);
    gg_ta_spread(block);
    over_keys(t, at, s, i0, s->ka, s->z, t->sc, allowance[GG_TA_DQ]);
    if (allowance[GG_TA_DK]) over_queries(t, at->keys, i0, s->z, s->qa, s->dka);
}

static void compute_block(plan *t, const row *at, const scratch *s, int64_t i0)
{
    double *const *value = t->truth->value;
    int64_t index = (at->b * t->H + at->h) * t->blocks + i0 / GG_BLOCK;
    gg_ta_block block = {.keys = at->keys, .key = s->key, .sc = t->sc, .p = s->p,
                         .ds = s->ds, .w = s->w, .z = s->z, .k_norm = s->k_norm,
                         .bias = t->bias + index * t->N * GG_BLOCK};
    for (int64_t i = 0; i < GG_BLOCK; i++) {
        int64_t element = at->first + (i0 + i) * t->D;
        bool real = i0 + i < t->N;
        pack_query(t, s, i, real ? bf16_input(t, GG_TA_Q, element) : NULL,
                   real && t->backward ? bf16_input(t, GG_TA_DOUT, element) : NULL,
                   &block);
    }
    over_d(t, at->keys, s->kt, s->qt, s->p);
    gg_ta_softmax(&block);
    for (int64_t i = 0; i < GG_BLOCK; i++)
        if (block.dead[i]) pack_query(t, s, i, NULL, NULL, &block);
    over_keys(t, at, s, i0, s->v, s->p, 1.0, value[GG_TA_O]);
    if (t->backward) {
        over_d(t, at->keys, s->vt, s->gt, s->ds);
        gg_ta_gradient(&block);
        over_keys(t, at, s, i0, s->k, s->ds, t->sc, value[GG_TA_DQ]);
        if (value[GG_TA_DK]) over_queries(t, at->keys, i0, s->ds, s->q, s->dk);
        if (value[GG_TA_DV]) over_queries(t, at->keys, i0, s->p, s->g, s->dv);
    }
    if (t->weights) allowances_of_block(t, at, s, i0, &block);
    if (t->backward) dbias_in_turn(t, at, s, i0);
}

static void clear_row(const plan *t, const row *at, double *output)
{
    if (output) memset(output + at->first, 0, (size_t)(t->N * t->D) * sizeof *output);
}

/* Puts the sums of the valid keys in their places, zero at the others. */
static void write_by_key(const plan *t, const row *at, const scratch *s, double factor,
                         const double *sum, double *output)
{
    if (output == NULL) return;
    if (at->keys < t->N) clear_row(t, at, output);
    for (int64_t j = 0; j < at->keys; j++)
        for (int64_t d = 0; d < t->D; d++)
            output[at->first + s->key[j] * t->D + d] = factor * sum[j * t->d_row + d];
}

/* The tickets make rows start in ascending order, whatever order gg_parallel has: the
 * row that waits for another always waits for one that has been started. */
static void compute_row(void *context, int64_t unused, int worker)
{
    (void)unused;
    plan *t = context;
    double *const *value = t->truth->value, *const *allowance = t->truth->allowance;
    scratch s = scratch_of(t, worker);
    int64_t ticket = atomic_fetch_add(&t->ticket, 1);
    row at = {.r = ticket % t->R, .h = ticket / t->R % t->H, .b = ticket / t->R / t->H};
    at.first = ((at.b * t->R + at.r) * t->H + at.h) * t->N * t->D;
    at.keys = gg_triangle_attention_keys(t->problem, at.b, at.r, s.key);
    if (at.keys == 0) {
        for (int output = GG_TA_O; output <= GG_TA_DV; output++) {
            clear_row(t, &at, value[output]);
            clear_row(t, &at, allowance[output]);
        }
        return;
    }
    for (int64_t j = 0; j < at.keys; j++) pack_key(t, &at, &s, j);
    for (int64_t i0 = 0; i0 < t->N; i0 += GG_BLOCK) compute_block(t, &at, &s, i0);
    write_by_key(t, &at, &s, t->sc, s.dk, value[GG_TA_DK]);
    write_by_key(t, &at, &s, 1.0, s.dv, value[GG_TA_DV]);
    write_by_key(t, &at, &s, t->sc, s.dka, allowance[GG_TA_DK]);
    write_by_key(t, &at, &s, 1.0, s.dva, allowance[GG_TA_DV]);
}

/* Transposes the bias of one block of queries and clears the block's dbias. */
static void open_block(void *context, int64_t index, int worker)
{
    (void)worker;
    plan *t = context;
    int64_t i0 = index % t->blocks * GG_BLOCK, start = index / t->blocks * t->N + i0;
    int64_t queries = t->N - i0 < GG_BLOCK ? t->N - i0 : GG_BLOCK;
    float *bias = t->bias + index * t->N * GG_BLOCK;
    memset(bias, 0, (size_t)(t->N * GG_BLOCK) * sizeof *bias);
    for (int64_t i = 0; i < queries; i++)
        for (int64_t j = 0; j < t->N; j++)
            bias[j * GG_BLOCK + i] = (float)gg_triangle_attention_bias(
                t->problem, (start + i) * t->N + j);
    double *outputs[] = {t->truth->value[GG_TA_DBIAS],
                         t->truth->allowance[GG_TA_DBIAS]};
    for (int o = 0; o < 2; o++)
        if (outputs[o])
            memset(outputs[o] + start * t->N, 0,
                   (size_t)(queries * t->N) * sizeof *outputs[o]);
}

/* Turns a finished block of dbias from [N][queries] to [queries][N]. */
static void close_block(void *context, int64_t index, int worker)
{
    plan *t = context;
    scratch s = scratch_of(t, worker);
    int64_t i0 = index % t->blocks * GG_BLOCK, start = index / t->blocks * t->N + i0;
    int64_t queries = t->N - i0 < GG_BLOCK ? t->N - i0 : GG_BLOCK;
    double *outputs[] = {t->truth->value[GG_TA_DBIAS],
                         t->truth->allowance[GG_TA_DBIAS]};
    for (int o = 0; o < 2; o++) {
        if (outputs[o] == NULL) continue;
        double *block = outputs[o] + start * t->N;
        memcpy(s.p, block, (size_t)(queries * t->N) * sizeof *block);
        for (int64_t i = 0; i < queries; i++)
            for (int64_t j = 0; j < t->N; j++)
                block[i * t->N + j] = s.p[j * queries + i];
    }
}

static void find_previous(plan *t, int32_t *key)
{
    for (int64_t b = 0; b < t->B; b++) {
        int32_t live = -1;
        for (int64_t r = 0; r < t->R; r++) {
            t->previous[b * t->R + r] = live;
            if (gg_triangle_attention_keys(t->problem, b, r, key) > 0)
                live = (int32_t)r;
        }
    }
}

static void *aligned(int64_t bytes)
{
    return aligned_alloc(64, (size_t)gg_round_up(bytes, 64));
}

static gg_status compute(plan *t, int threads)
{
    scratch s;
    int64_t rows = t->B * t->H * t->R, blocks = t->B * t->H * t->blocks;
    /* A thread costs about as much as opening this many elements. */
    int few = blocks * t->N * GG_BLOCK < (1 << 17) ? 1 : threads;
    t->memory_each = cut(t, NULL, &s);
    t->memory = aligned(threads * t->memory_each * (int64_t)sizeof *t->memory);
    t->bias = aligned(blocks * t->N * GG_BLOCK * (int64_t)sizeof *t->bias);
    t->previous = aligned(t->B * t->R * (int64_t)sizeof *t->previous);
    t->done = calloc((size_t)rows, sizeof *t->done);
    gg_status status = GG_OK;
    if (t->memory && t->bias && t->previous && t->done) {
        find_previous(t, scratch_of(t, 0).key);
        gg_parallel(blocks, few, open_block, t);
        gg_parallel(rows, threads, compute_row, t);
        gg_parallel(blocks, few, close_block, t);
    } else {
        status = gg_fail(GG_NO_MEMORY, "triangle_attention: %d threads need %lld MB of "
                         "host memory; use fewer threads", threads,
                         (long long)(threads * t->memory_each * 8 >> 20));
    }
    free((void *)t->done);
    free(t->previous);
    free(t->bias);
    free(t->memory);
    return status;
}

gg_status gg_triangle_attention_host(const gg_problem *problem, const gg_truth *truth,
                                     int threads)
{
    bool backward = false, spreads = false, weights = truth->allowance[GG_TA_O] != NULL;
    for (int output = GG_TA_DQ; output < GG_TA_OUTPUTS; output++) {
        backward = backward || truth->value[output] || truth->allowance[output];
        weights = weights || truth->allowance[output];
        spreads = spreads || (output != GG_TA_DV && truth->allowance[output]);
    }
    GG_TRY(gg_triangle_attention_check(problem, backward));
    GG_TRY(gg_triangle_attention_check_lengths(problem));
    const int64_t *extent = problem->extent;
    plan t = {.problem = problem, .truth = truth, .B = extent[GG_TA_B],
              .R = extent[GG_TA_R], .H = extent[GG_TA_H], .N = extent[GG_TA_N],
              .D = extent[GG_TA_D], .backward = backward, .weights = weights,
              .spreads = spreads};
    t.d_row = gg_round_up(t.D, GG_LANES);
    /* An odd number of cache lines: a column of [D][N] then visits every cache set. */
    t.n_row = (gg_round_up(t.N, GG_LANES) / GG_LANES | 1) * GG_LANES;
    t.blocks = (t.N + GG_BLOCK - 1) / GG_BLOCK;
    t.sc = 1.0 / sqrt((double)t.D);
    atomic_init(&t.ticket, 0);
    if (threads > t.B * t.H * t.R) threads = (int)(t.B * t.H * t.R);
    return compute(&t, threads < 1 ? 1 : threads);
}
