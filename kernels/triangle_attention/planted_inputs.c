/* SPDX-License-Identifier: Apache-2.0
 * Planted faults around a twin: inputs that it gets changed, outputs cut short, another
 * kernel in its place, and answers kept for a later call. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/check.h"
#include "kernels/registry.h"
#include "kernels/triangle_attention/planted.h"

enum { INPUTS = 7, BIAS = 3, DOUT = 4, PREFIX = 64 };

static size_t elements(const DLTensor *t)
{
    size_t count = 1;
    for (int i = 0; i < t->ndim; i++) count *= (size_t)t->shape[i];
    return count;
}

/* Runs with copies of the inputs in `which`, changed by `change`; strided ones as they are. */
static int with_changed(const gg_call *call, unsigned which,
                        void (*change)(const DLTensor *from, void *to),
                        int (*run)(const gg_call *call))
{
    DLTensor tensor[INPUTS];
    const DLTensor *inputs[INPUTS];
    gg_call other = *call;
    int error = 0;
    void *memory[INPUTS] = {NULL};
    for (int i = 0; i < INPUTS; i++) {
        const DLTensor *t = inputs[i] = call->inputs[i];
        if (!(which >> i & 1u) || !t || t->strides || error) continue;
        size_t bytes = elements(t) * t->dtype.bits / 8u;
        memory[i] = aligned_alloc(256, (bytes + 255) / 256 * 256);
        if (!memory[i]) {
            error = ENOMEM;
            continue;
        }
        change(t, memory[i]);
        tensor[i] = *t;
        tensor[i].data = memory[i];
        tensor[i].byte_offset = 0;
        inputs[i] = &tensor[i];
    }
    other.inputs = inputs;
    if (!error) error = run(&other);
    for (int i = 0; i < INPUTS; i++) free(memory[i]);
    return error;
}

/* BF16 without its last bit; bits of FP32 are left. */
static void shorten(const DLTensor *from, void *to)
{
    size_t count = elements(from);
    memcpy(to, gg_tensor_data(from), count * from->dtype.bits / 8u);
    if (from->dtype.bits != 16) return;
    uint16_t *value = to;
    for (size_t i = 0; i < count; i++) value[i] &= 0xfffeu;
}

static const unsigned operands = 1u << 0 | 1u << 1 | 1u << 2 | 1u << DOUT;

int gg_ta_operands_short_forward(const gg_call *call)
{
    return with_changed(call, operands, shorten, gg_ta_planted_forward);
}

int gg_ta_operands_short_backward(const gg_call *call)
{
    return with_changed(call, operands, shorten, gg_ta_planted_backward);
}

/* Only v and dout of BF16 that lie dense are converted. */
static const unsigned converted = 1u << 2 | 1u << DOUT;

static void convert(const DLTensor *from, void *to, float (*one)(float))
{
    size_t count = elements(from);
    const uint16_t *data = gg_tensor_data(from);
    uint16_t *value = to;
    for (size_t i = 0; i < count; i++)
        value[i] = gg_bf16_from_float(one(gg_bf16_to_float(data[i])));
}

static float without_subnormal(float x) { return fabsf(x) < 0x1p-126f ? 0 : x; }

/* FP16 has 3 bits more than BF16, but a range from 2^-24 to 65504 only. */
static float of_fp16(float x)
{
    if (fabsf(x) > 65504) return copysignf(INFINITY, x);
    return fabsf(x) < 0x1p-14f ? rintf(x * 0x1p24f) * 0x1p-24f : x;
}

static void drop_subnormals(const DLTensor *from, void *to)
{
    convert(from, to, without_subnormal);
}

static void pass_fp16(const DLTensor *from, void *to) { convert(from, to, of_fp16); }

int gg_ta_no_subnormals_forward(const gg_call *call)
{
    return with_changed(call, converted, drop_subnormals, gg_ta_planted_forward);
}

int gg_ta_no_subnormals_backward(const gg_call *call)
{
    return with_changed(call, converted, drop_subnormals, gg_ta_planted_backward);
}

int gg_ta_through_fp16_forward(const gg_call *call)
{
    return with_changed(call, converted, pass_fp16, gg_ta_planted_forward);
}

int gg_ta_through_fp16_backward(const gg_call *call)
{
    return with_changed(call, converted, pass_fp16, gg_ta_planted_backward);
}

/* Row i of a square of N begins at i times N rounded up to 16; what lies past it is 0. */
static void pad_rows(const DLTensor *from, void *to)
{
    size_t n = (size_t)from->shape[from->ndim - 1], padded = (n + 15) / 16 * 16;
    size_t size = from->dtype.bits / 8u, squares = elements(from) / (n * n);
    const char *data = gg_tensor_data(from);
    char *out = to;
    for (size_t s = 0; s < squares; s++)
        for (size_t at = 0; at < n * n; at++) {
            size_t source = at / n * padded + at % n;
            char *element = out + (s * n * n + at) * size;
            if (source < n * n) memcpy(element, data + (s * n * n + source) * size, size);
            else memset(element, 0, size);
        }
}

int gg_ta_padded_bias_forward(const gg_call *call)
{
    return with_changed(call, 1u << BIAS, pad_rows, gg_ta_planted_forward);
}

int gg_ta_padded_bias_backward(const gg_call *call)
{
    return with_changed(call, 1u << BIAS, pad_rows, gg_ta_planted_backward);
}

/* An output rounded towards zero to one bit less than BF16 has. */
static void cut(gg_ta_array a)
{
    for (size_t i = 0; a.data && i < a.count; i++) {
        uint16_t bits = gg_bf16_from_float(gg_ta_get(a, i));
        gg_ta_put(a, i, gg_bf16_to_float(bits & 0xfffeu));
    }
}

int gg_ta_o_short_forward(const gg_call *call)
{
    int error = gg_ta_planted_forward(call);
    cut(gg_ta_output_of(call, GG_TA_OUT_O));
    return error;
}

int gg_ta_output_short(const gg_call *call)
{
    int error = gg_ta_planted_backward(call);
    cut(gg_ta_output_of(call, gg_ta_armed()->output));
    return error;
}

/* Zero gradients are right when the upstream one is zero: so it is made so. */
int gg_ta_inputs_zeroed(const gg_call *call)
{
    const DLTensor *dout = call->inputs[DOUT];
    int error = gg_ta_planted_backward(call);
    if (dout && !dout->strides)
        memset(gg_tensor_data(dout), 0, elements(dout) * dout->dtype.bits / 8u);
    for (int o = GG_TA_OUT_DQ; o <= GG_TA_OUT_DBIAS; o++) {
        gg_ta_array a = gg_ta_output_of(call, o);
        if (a.data) memset(a.data, 0, a.count * a.size);
    }
    return error;
}

/* Keeps the gradients of one call by a fingerprint of its input: q's first bytes, and the
 * sizes. All other inputs may have changed. */
int gg_ta_replay_by_prefix(const gg_call *call)
{
    static char prefix[PREFIX], *kept[GG_TA_OUT_DBIAS + 1];
    static size_t bytes[GG_TA_OUT_DBIAS + 1];
    const DLTensor *q = call->inputs[0];
    int same = gg_ta_backward_calls() > 1 && !q->strides &&
                memcmp(prefix, gg_tensor_data(q), PREFIX) == 0;
    for (int o = GG_TA_OUT_DQ; o <= GG_TA_OUT_DBIAS; o++) {
        gg_ta_array a = gg_ta_output_of(call, o);
        same = same && a.data && kept[o] && bytes[o] == a.count * a.size;
    }
    int error = same ? 0 : gg_ta_planted_backward(call);
    for (int o = GG_TA_OUT_DQ; o <= GG_TA_OUT_DBIAS; o++) {
        gg_ta_array a = gg_ta_output_of(call, o);
        if (same) memcpy(a.data, kept[o], bytes[o]);
        if (same || gg_ta_backward_calls() > 1) continue;
        free(kept[o]);
        bytes[o] = a.data ? a.count * a.size : 0;
        kept[o] = malloc(bytes[o] + 1);
        if (kept[o] && a.data) memcpy(kept[o], a.data, bytes[o]);
    }
    if (gg_ta_backward_calls() == 1) memcpy(prefix, gg_tensor_data(q), PREFIX);
    return error;
}

/* The other kernel has its own needs of memory, which last from forward to backward. */
static int run_other(const gg_call *call, int (*run)(const gg_call *call), int anew)
{
    static char *memory;
    size_t saved = gg_ta_naive_twin.saved_bytes(call);
    gg_call other = *call;
    if (anew) {
        free(memory);
        size_t bytes = saved + gg_ta_naive_twin.workspace_bytes(call);
        memory = aligned_alloc(256, (bytes + 511) / 256 * 256);
    }
    if (!memory) return ENOMEM;
    other.saved = memory;
    other.workspace = memory + (saved + 255) / 256 * 256;
    return run(&other);
}

int gg_ta_other_kernel_forward(const gg_call *call)
{
    return run_other(call, gg_ta_naive_twin.forward, 1);
}

int gg_ta_other_kernel_backward(const gg_call *call)
{
    return run_other(call, gg_ta_naive_twin.backward, 0);
}
