/* SPDX-License-Identifier: Apache-2.0
 * The mutants of the linear layer. */
#include "kernels/linear/mutant.h"

#include <stdatomic.h>
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/arithmetic/tensor_core.h"
#include "kernels/check.h"
#include "kernels/registry.h"

typedef struct planted {
    gg_linear_slip slip;
    int spoilt;                                   /* output that `spoil` changes */
    void (*spoil)(const DLTensor *out, int calls); /* after backward; NULL: none */
} planted;

static size_t bytes_of(const DLTensor *t)
{
    return (size_t)t->shape[0] * (size_t)t->shape[1] * (t->dtype.bits / 8u);
}

static void last_row_zero(const DLTensor *out, int calls)
{
    size_t row = bytes_of(out) / (size_t)out->shape[0];
    (void)calls;
    memset((char *)gg_tensor_data(out) + bytes_of(out) - row, 0, row);
}

static void all_zero(const DLTensor *out, int calls)
{
    (void)calls;
    memset(gg_tensor_data(out), 0, bytes_of(out));
}

static void one_bit_later(const DLTensor *out, int calls)
{
    if (calls == 2) ((char *)gg_tensor_data(out))[0] ^= 1;
}

/* Scratch memory of the kernel's own, once for all calls. */
static void through_one_buffer(const DLTensor *out, int calls)
{
    static atomic_uchar buffer[1 << 16];
    unsigned char *data = gg_tensor_data(out);
    size_t bytes = bytes_of(out) < sizeof buffer ? bytes_of(out) : sizeof buffer;
    (void)calls;
    for (size_t i = 0; i < bytes; i++) atomic_store(&buffer[i], data[i]);
    gg_meet_another_call();
    for (size_t i = 0; i < bytes; i++) data[i] = atomic_load(&buffer[i]);
}

#define BY(...) &(const planted){__VA_ARGS__}

static const gg_mutant mutants[] = {
    {"sum_tail_dropped", "K1", "terms beyond the last multiple of 16 are left out",
     "counting-M17-*", "answer", BY(.slip = GG_LINEAR_SLIP_TAIL_DROPPED)},
    {"split_partials_bf16", "K4", "partial sums of a split rounded to BF16",
     "mean-*-K257-*", "rmse", BY(.slip = GG_LINEAR_SLIP_SPLIT_BF16)},
    {"sum_bf16", "K4", "sums kept in BF16 stop growing", "canary-*", "answer",
     BY(.slip = GG_LINEAR_SLIP_BF16_SUM)},
    {"truncated", "K4", "BF16 outputs cut, not rounded", "normal-*", "rmse",
     BY(.slip = GG_LINEAR_SLIP_TRUNCATED)},
    {"w_transposed", "K5", "w is read as [K,N]", "normal-*", "gauge_max",
     BY(.slip = GG_LINEAR_SLIP_W_TRANSPOSED)},
    {"dw_wrong_rows", "K5", "dw pairs every row of dy with row 0 of x", "counting-*",
     "answer", BY(.slip = GG_LINEAR_SLIP_DW_OPERAND)},
    {"dw_last_row_zero", "K1", "the last row of dw is zero", "normal-*", "gauge_max",
     BY(.spoilt = 2, .spoil = last_row_zero)},
    {"zero_dx", "K14", "dx is zero", "normal-*", "gauge_max",
     BY(.spoilt = 1, .spoil = all_zero)},
    {"one_buffer", "K10", "dx goes through memory of the kernel's own, once for all calls",
     "normal-M17-N3-K70-*", "level_together",
     BY(.spoilt = 1, .spoil = through_one_buffer)},
    {"one_bit_later", "K11", "one bit of dw differs in the second run", "normal-*",
     "repeat", BY(.spoilt = 2, .spoil = one_bit_later)},
    {0},
};

static struct {
    const planted *how;
    gg_kernel kernel;
    atomic_int calls;
} armed;

void gg_linear_bf16_step(float *c, size_t ldc, const gg_decoded *a, const gg_decoded *b,
                         size_t k, size_t rows, size_t columns)
{
    size_t t = k * GG_TC_TERMS;
    gg_decoded left = {a->value + t, a->exponent + t, a->stride};
    gg_decoded right = {b->value + t * b->stride, b->exponent + t * b->stride, b->stride};
    gg_lanes_best()->chain(c, ldc, &left, &right, rows, columns, 1);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            c[i * ldc + j] = gg_bf16_to_float(gg_bf16_from_float(c[i * ldc + j]));
}

static int forward(const gg_call *call) { return gg_linear_forward(call, armed.how->slip); }

static int backward(const gg_call *call)
{
    int error = gg_linear_backward(call, armed.how->slip);
    const DLTensor *out = call->outputs[armed.how->spoilt];
    armed.calls++;
    if (armed.how->spoil && out) armed.how->spoil(out, armed.calls);
    return error;
}

static const gg_kernel *arm(const gg_mutant *mutant)
{
    armed.how = mutant->how;
    armed.calls = 0;
    armed.kernel = gg_linear_plain_twin;
    armed.kernel.name = mutant->name;
    armed.kernel.summary = mutant->fault;
    armed.kernel.forward = forward;
    armed.kernel.backward = backward;
    return &armed.kernel;
}

static const char *base(const gg_mutant *mutant)
{
    (void)mutant;
    return "plain";
}

const gg_mutant_set gg_linear_mutants = {
    .operator_name = "linear",
    .suite = "selftest_linear",
    .mutants = mutants,
    .arm = arm,
    .base = base,
};
