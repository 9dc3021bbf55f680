/* SPDX-License-Identifier: Apache-2.0
 * The linear layer in binary64 on host threads: three products, each output element one
 * chain of fma in ascending order of the summed index. A block of outputs keeps its
 * sums while slabs of the two factors are widened to binary64. */
#include <math.h>
#include <stdlib.h>

#include "reference/chain.h"
#include "reference/linear_internal.h"
#include "reference/parallel.h"

/* Outputs of a block and terms of a slab: 192 + 144 + 384 KB, within a second-level
 * cache. ROWS is divisible by the height of every register tile. */
enum { ROWS = 144, COLUMNS = 96, TERMS = 128 };
enum { BLOCK_DOUBLES = ROWS * COLUMNS + TERMS * (ROWS + COLUMNS) };

typedef struct plan {
    gg_linear_product product;
    double *value, *allowance;
    int64_t across;  /* blocks side by side */
    double *memory;  /* BLOCK_DOUBLES for each thread */
} plan;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* to[t][0..width) from count terms; padding is zero. */
static void widen(double *to, int64_t width, int64_t count, const uint16_t *from,
                  int64_t step, int64_t term, int64_t terms, bool absolute)
{
    for (int64_t t = 0; t < terms; t++)
        for (int64_t i = 0; i < width; i++) {
            double x = i < count ? gg_bf16_value(from[i * step + t * term]) : 0.0;
            to[t * width + i] = absolute ? fabs(x) : x;
        }
}

static void compute_block(const plan *t, int64_t r0, int64_t c0, bool absolute,
                          double *memory, double factor, double *output)
{
    const gg_linear_product *p = &t->product;
    double *sum = memory, *left = sum + ROWS * COLUMNS, *right = left + TERMS * ROWS;
    int64_t rows = smaller(ROWS, p->rows - r0);
    int64_t columns = smaller(COLUMNS, p->columns - c0);
    int64_t wide = gg_round_up(columns, GG_LANES);
    for (int64_t t0 = 0; t0 < p->terms; t0 += TERMS) {
        int64_t terms = smaller(TERMS, p->terms - t0);
        widen(left, ROWS, rows, p->left + r0 * p->left_row + t0 * p->left_term,
              p->left_row, p->left_term, terms, absolute);
        widen(right, wide, columns,
              p->right + c0 * p->right_column + t0 * p->right_term, p->right_column,
              p->right_term, terms, absolute);
        gg_chain_run(&(gg_chain){.m = rows, .n = wide, .k = terms, .a = left,
                                 .a_row = 1, .a_step = ROWS, .b = right, .b_step = wide,
                                 .c = sum, .c_row = wide, .resume = t0 > 0});
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            output[(r0 + i) * p->columns + c0 + j] = factor * sum[i * wide + j];
}

static void compute(void *context, int64_t index, int worker)
{
    const plan *t = context;
    int64_t r0 = index / t->across * ROWS, c0 = index % t->across * COLUMNS;
    double *memory = t->memory + (int64_t)worker * BLOCK_DOUBLES;
    /* ceil(n/16) truncations of an FP32 accumulator, and one rounding to spare */
    double factor = (double)((t->product.terms + 15) / 16 + 1) * 0x1p-23;
    if (t->value) compute_block(t, r0, c0, false, memory, 1.0, t->value);
    if (t->allowance) compute_block(t, r0, c0, true, memory, factor, t->allowance);
}

gg_status gg_linear_host(const gg_problem *problem, const gg_truth *truth, int threads)
{
    bool wanted[GG_LINEAR_OUTPUTS];
    for (int output = 0; output < GG_LINEAR_OUTPUTS; output++)
        wanted[output] = truth->value[output] || truth->allowance[output];
    GG_TRY(gg_linear_check(problem, wanted));
    if (threads < 1) threads = 1;
    double *memory =
        aligned_alloc(64, (size_t)threads * BLOCK_DOUBLES * sizeof *memory);
    if (memory == NULL)
        return gg_fail(GG_NO_MEMORY, "linear: %d threads need %d MB; use fewer threads",
                       threads, (int)((size_t)threads * BLOCK_DOUBLES * 8 >> 20));
    for (int output = 0; output < GG_LINEAR_OUTPUTS; output++) {
        if (!wanted[output]) continue;
        plan t = {.product = gg_linear_product_of(problem, output), .memory = memory,
                  .value = truth->value[output], .allowance = truth->allowance[output]};
        t.across = (t.product.columns + COLUMNS - 1) / COLUMNS;
        int64_t blocks = (t.product.rows + ROWS - 1) / ROWS * t.across;
        double work = (double)t.product.rows * (double)t.product.columns *
                      (double)t.product.terms;
        gg_parallel(blocks, work < 1e6 ? 1 : threads, compute, &t);
    }
    free(memory);
    return GG_OK;
}
