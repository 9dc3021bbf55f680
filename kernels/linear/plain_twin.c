/* SPDX-License-Identifier: Apache-2.0
 * Host twin of `plain`: README.md, executed on the CPU. Each of the three products is
 * out[i][j] = chain(+0; a_it, b_tj over t), cut into blocks of 64 x 64 outputs. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/arithmetic/lanes.h"
#include "kernels/arithmetic/tensor_core.h"
#include "kernels/arithmetic/threads.h"
#include "kernels/linear/call.h"
#include "kernels/linear/limits.h"
#include "kernels/linear/mutant.h"
#include "kernels/registry.h"

enum { BLOCK = 64, TERMS = 256, ALIGN = 64 }; /* TERMS: of the sum, decoded at a time */

/* A matrix [first extent][second extent] as stored, or seen transposed. */
typedef struct view {
    const uint16_t *data;
    size_t row_stride, column_stride;
} view;

typedef struct product {
    view a, b;
    size_t rows, columns, terms;
    void *out; /* [rows][columns] */
    int out_f32;
    const gg_lanes *lanes;
    char *workers;
    gg_linear_slip slip;
    size_t start; /* drawn from the clock */
} product;

typedef struct scratch {
    float a_value[BLOCK * TERMS], b_value[TERMS * BLOCK], out[BLOCK * BLOCK];
    int16_t a_exponent[BLOCK * TERMS], b_exponent[TERMS * BLOCK];
    uint16_t line[TERMS];
} scratch;

static size_t worker_bytes(void)
{
    return (sizeof(scratch) + ALIGN - 1) / ALIGN * ALIGN;
}

/* Decodes `size` rows and columns from `origin` on; zero beyond `end`. */
static void load(const product *p, scratch *s, const gg_decoded *to, const view *from,
                 const size_t origin[2], const size_t end[2], const size_t size[2])
{
    for (size_t i = 0; i < size[0]; i++) {
        for (size_t j = 0; j < size[1]; j++) {
            size_t row = origin[0] + i, column = origin[1] + j;
            int inside = row < end[0] && column < end[1];
            s->line[j] =
                inside
                    ? from->data[row * from->row_stride + column * from->column_stride]
                    : 0;
        }
        p->lanes->decode(to->value + i * to->stride, to->exponent + i * to->stride,
                         s->line, size[1]);
    }
}

/* The steps from `first` on, then those before it. */
static void add_scattered(const product *p, scratch *s, const gg_decoded *a,
                          const gg_decoded *b, size_t rows, size_t width, size_t steps)
{
    size_t first = p->start % steps, term = first * GG_TC_TERMS;
    gg_decoded left = {a->value + term, a->exponent + term, a->stride};
    gg_decoded right = {b->value + term * b->stride, b->exponent + term * b->stride,
                        b->stride};
    p->lanes->chain(s->out, BLOCK, &left, &right, rows, width, steps - first);
    p->lanes->chain(s->out, BLOCK, a, b, rows, width, first);
}

/* One block of terms. A chain kept in BF16 is rounded after each step. */
static void add_terms(const product *p, scratch *s, const gg_decoded *a,
                      const gg_decoded *b, size_t rows, size_t width, size_t steps)
{
    int split = p->slip == GG_LINEAR_SLIP_SPLIT_BF16;
    if (p->slip == GG_LINEAR_SLIP_BF16_SUM)
        for (size_t k = 0; k < steps; k++)
            gg_linear_bf16_step(s->out, BLOCK, a, b, k, rows, width);
    else if (p->slip == GG_LINEAR_SLIP_SCATTERED)
        add_scattered(p, s, a, b, rows, width, steps);
    else
        p->lanes->chain(s->out, BLOCK, a, b, rows, width, steps);
    for (size_t i = 0; split && i < BLOCK * BLOCK; i++)
        s->out[i] = gg_bf16_to_float(gg_bf16_from_float(s->out[i]));
}

static void one_block(void *context, int64_t index, int worker)
{
    const product *p = context;
    scratch *s = (scratch *)(void *)(p->workers + (size_t)worker * worker_bytes());
    gg_decoded a = {s->a_value, s->a_exponent, TERMS};
    gg_decoded b = {s->b_value, s->b_exponent, BLOCK};
    size_t across = (p->columns + BLOCK - 1) / BLOCK;
    size_t i0 = (size_t)index / across * BLOCK, j0 = (size_t)index % across * BLOCK;
    size_t rows = p->rows - i0 < BLOCK ? p->rows - i0 : BLOCK;
    size_t columns = p->columns - j0 < BLOCK ? p->columns - j0 : BLOCK;
    size_t width = (columns + GG_LANES - 1) / GG_LANES * GG_LANES;
    memset(s->out, 0, sizeof s->out);
    for (size_t t = 0; t < p->terms; t += TERMS) {
        size_t count = p->terms - t < TERMS ? p->terms - t : TERMS;
        count = (count + GG_TC_TERMS - 1) / GG_TC_TERMS * GG_TC_TERMS;
        load(p, s, &a, &p->a, (size_t[]){i0, t}, (size_t[]){p->rows, p->terms},
             (size_t[]){rows, count});
        load(p, s, &b, &p->b, (size_t[]){t, j0}, (size_t[]){p->terms, p->columns},
             (size_t[]){count, width});
        add_terms(p, s, &a, &b, rows, width, count / GG_TC_TERMS);
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            size_t at = (i0 + i) * p->columns + j0 + j;
            float value = s->out[i * BLOCK + j];
            if (p->out_f32) ((float *)p->out)[at] = gg_float_canonical(value);
            else if (p->slip == GG_LINEAR_SLIP_TRUNCATED)
                ((uint16_t *)p->out)[at] = (uint16_t)(gg_float_bits(value) >> 16);
            else ((uint16_t *)p->out)[at] = gg_bf16_from_float(value);
        }
}

static void multiply(const gg_linear_call *c, product p, gg_linear_slip slip)
{
    char *start = c->workspace;
    if (!p.out) return;
    p.slip = slip;
    if (slip == GG_LINEAR_SLIP_SCATTERED) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        p.start = (size_t)now.tv_nsec / 16 % 65521; /* a prime: every step comes as often */
    }
    if (slip == GG_LINEAR_SLIP_TAIL_DROPPED && p.terms > GG_TC_TERMS)
        p.terms = p.terms / GG_TC_TERMS * GG_TC_TERMS;
    p.lanes = gg_lanes_best();
    p.workers = start + (ALIGN - (uintptr_t)start % ALIGN) % ALIGN;
    size_t blocks = (p.rows + BLOCK - 1) / BLOCK * ((p.columns + BLOCK - 1) / BLOCK);
    gg_threads_run((int64_t)blocks, c->threads, one_block, &p);
}

static size_t workspace_bytes(const gg_call *call)
{
    return ALIGN + (size_t)(call->threads < 1 ? 1 : call->threads) * worker_bytes();
}

int gg_linear_forward(const gg_call *call, gg_linear_slip slip)
{
    gg_linear_call c;
    gg_linear_unpack(call, &c);
    size_t M = (size_t)c.M, N = (size_t)c.N, K = (size_t)c.K;
    multiply(&c, (product){.a = {c.x, K, 1},
                           .b = slip == GG_LINEAR_SLIP_W_TRANSPOSED
                                    ? (view){c.w, N, 1} : (view){c.w, 1, K},
                           .rows = M,
                           .columns = N,
                           .terms = K,
                           .out = c.y,
                           .out_f32 = c.y_f32}, slip);
    return 0;
}

int gg_linear_backward(const gg_call *call, gg_linear_slip slip)
{
    gg_linear_call c;
    gg_linear_unpack(call, &c);
    size_t M = (size_t)c.M, N = (size_t)c.N, K = (size_t)c.K;
    if (!c.dy) return EINVAL;
    multiply(&c, (product){.a = {c.dy, N, 1},
                           .b = {c.w, K, 1},
                           .rows = M,
                           .columns = K,
                           .terms = N,
                           .out = c.dx,
                           .out_f32 = c.dx_f32}, slip);
    multiply(&c, (product){.a = {c.dy, 1, N},
                           .b = {c.x, slip == GG_LINEAR_SLIP_DW_OPERAND ? 0 : K, 1},
                           .rows = N,
                           .columns = K,
                           .terms = M,
                           .out = c.dw,
                           .out_f32 = c.dw_f32}, slip);
    return 0;
}

static int forward(const gg_call *call) { return gg_linear_forward(call, 0); }

static int backward(const gg_call *call) { return gg_linear_backward(call, 0); }

const gg_kernel gg_linear_plain_twin = {
    .abi_version = GG_ABI_VERSION,
    .struct_bytes = sizeof(gg_kernel),
    .name = "plain",
    .operator_name = "linear",
    .summary = "one chain of tensor-core steps for each output (host twin)",
    .device = kDLCPU,
    .repeat = GG_REPEAT_RUN_TO_RUN,
    .inputs = gg_linear_inputs,
    .outputs = gg_linear_outputs,
    .features = NULL,
    .limits = gg_linear_limits,
    .limits_note = GG_LINEAR_LIMITS_NOTE,
    .supports = gg_linear_refuse,
    .saved_bytes = gg_linear_saved_nothing,
    .workspace_bytes = workspace_bytes,
    .forward = forward,
    .backward = backward,
    .forward_outputs = 1,
};
