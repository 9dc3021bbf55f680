/* SPDX-License-Identifier: Apache-2.0
 * A kernel for gradgate outside its tree: y = x w^T, dx = dy w, dw = dy^T x on the host, in
 * the plainest loops. Each element is one FP32 sum in index order, rounded once. */
#include <gradgate/abi.h>
#include <math.h>
#include <string.h>

static float from_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* To nearest, ties to even; a NaN stays one. */
static uint16_t to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (isnan(value)) return 0x7fff;
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* A BF16 matrix [rows][columns]; `turned`: read as its transpose. */
typedef struct matrix {
    const DLTensor *tensor;
    int turned;
} matrix;

static float at(matrix m, int64_t i, int64_t j)
{
    int64_t index = m.turned ? j * m.tensor->shape[1] + i : i * m.tensor->shape[1] + j;
    return from_bf16(((const uint16_t *)m.tensor->data)[index]);
}

/* out[i][j] = sum over t < terms of a[i][t] b[t][j]. NULL: not wanted. */
static void multiply(DLTensor *out, matrix a, matrix b, int64_t terms)
{
    if (!out) return;
    for (int64_t i = 0; i < out->shape[0]; i++)
        for (int64_t j = 0; j < out->shape[1]; j++) {
            float sum = 0;
            for (int64_t t = 0; t < terms; t++) sum += at(a, i, t) * at(b, t, j);
            int64_t index = i * out->shape[1] + j;
            if (out->dtype.bits == 32) ((float *)out->data)[index] = sum;
            else ((uint16_t *)out->data)[index] = to_bf16(sum);
        }
}

static int forward(const gg_call *call)
{
    const DLTensor *x = call->inputs[0], *w = call->inputs[1];
    multiply(call->outputs[0], (matrix){x, 0}, (matrix){w, 1}, x->shape[1]);
    return 0;
}

static int backward(const gg_call *call)
{
    const DLTensor *x = call->inputs[0], *w = call->inputs[1], *dy = call->inputs[2];
    multiply(call->outputs[1], (matrix){dy, 0}, (matrix){w, 0}, w->shape[0]);
    multiply(call->outputs[2], (matrix){dy, 1}, (matrix){x, 0}, x->shape[0]);
    return 0;
}

/* What arithmetic allows goes here, with the reason; without it, --limits-of. */
static const gg_limits limits[] = {{1.05, 1, 1, 1.9}, {1.05, 1, 1, 2.2}, {1.05, 1, 1, 6.3}};

static const gg_kernel mine = {
    .abi_version = GG_ABI_VERSION, .struct_bytes = sizeof(gg_kernel),
    .name = "mine", .operator_name = "linear", .summary = "plain loops, FP32 sums",
    .device = kDLCPU, .repeat = GG_REPEAT_RUN_TO_RUN,
    .inputs = (const char *const[]){"x", "w", "dy", NULL},
    .outputs = (const char *const[]){"y", "dx", "dw", NULL},
    .limits = limits, .limits_note = "those of the built-in kernel with FP32 sums",
    .forward = forward, .backward = backward, .forward_outputs = 1};
GG_PLUGIN(&mine);
