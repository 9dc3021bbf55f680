/* SPDX-License-Identifier: Apache-2.0
 * Planted faults of the values that come out, added after a right twin. */
#include <math.h>
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/check.h"
#include "kernels/triangle_attention/planted.h"

gg_ta_array gg_ta_output_of(const gg_call *call, int output)
{
    const DLTensor *t = call->outputs[output];
    if (t == NULL) return (gg_ta_array){NULL, 0, 1};
    size_t count = 1;
    for (int i = 0; i < t->ndim; i++) count *= (size_t)t->shape[i];
    return (gg_ta_array){gg_tensor_data(t), count, t->dtype.bits / 8u};
}

float gg_ta_get(gg_ta_array a, size_t index)
{
    if (a.size == 4) return ((const float *)(const void *)a.data)[index];
    return gg_bf16_to_float(((const uint16_t *)(const void *)a.data)[index]);
}

void gg_ta_put(gg_ta_array a, size_t index, float value)
{
    gg_ta_store(a.data, a.size == 4, index, value);
}

/* The twin's backward, then the output that is spoilt. */
static int right(const gg_call *call, gg_ta_array *output)
{
    int error = gg_ta_planted_backward(call);
    *output = gg_ta_output_of(call, gg_ta_armed()->output);
    return error;
}

int gg_ta_zeros(const gg_call *call)
{
    gg_ta_array a;
    int error = right(call, &a);
    if (a.data) memset(a.data, 0, a.count * a.size);
    return error;
}

int gg_ta_scaled(const gg_call *call)
{
    gg_ta_array a;
    int error = right(call, &a);
    for (size_t i = 0; a.data && i < a.count; i++)
        gg_ta_put(a, i, gg_ta_get(a, i) * gg_ta_armed()->factor);
    return error;
}

static int one(const gg_call *call, float value)
{
    gg_ta_array a;
    int error = right(call, &a);
    if (a.data) gg_ta_put(a, a.count - 1, value);
    return error;
}

int gg_ta_one_nan(const gg_call *call) { return one(call, NAN); }

int gg_ta_one_infinity(const gg_call *call) { return one(call, INFINITY); }

int gg_ta_one_doubled(const gg_call *call)
{
    gg_ta_array a;
    int error = right(call, &a);
    size_t largest = 0;
    for (size_t i = 0; a.data && i < a.count; i++)
        if (fabsf(gg_ta_get(a, i)) > fabsf(gg_ta_get(a, largest))) largest = i;
    if (a.data) gg_ta_put(a, largest, 2 * gg_ta_get(a, largest));
    return error;
}

static void swap(char *a, char *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        char byte = a[i];
        a[i] = b[i];
        b[i] = byte;
    }
}

/* Heads 0 and 1 of each row of [B,R,H,N,D]. */
int gg_ta_heads_swapped(const gg_call *call)
{
    gg_ta_array a;
    gg_ta_call c;
    int error = right(call, &a);
    gg_ta_unpack(call, &c);
    size_t block = (size_t)c.N * (size_t)c.D * a.size, rows = (size_t)c.B * (size_t)c.R;
    for (size_t row = 0; a.data && c.H > 1 && row < rows; row++) {
        char *first = a.data + row * (size_t)c.H * block;
        swap(first, first + block, block);
    }
    return error;
}

/* The halves of an output whose first extent is 2. */
int gg_ta_batches_swapped(const gg_call *call)
{
    gg_ta_array a;
    int error = right(call, &a);
    size_t half = a.count / 2 * a.size;
    if (a.data && call->inputs[0]->shape[0] == 2) swap(a.data, a.data + half, half);
    return error;
}

/* The tail of each head's last tile is stored as zeros over the next head's start. */
int gg_ta_tail_spills(const gg_call *call)
{
    gg_ta_array a;
    gg_ta_call c;
    int error = right(call, &a);
    gg_ta_unpack(call, &c);
    size_t N = (size_t)c.N, D = (size_t)c.D;
    size_t over = (GG_TA_TILE - N % GG_TA_TILE) % GG_TA_TILE;
    if (over > N) over = N;
    for (size_t at = N * D; a.data && at < a.count; at += N * D)
        memset(a.data + at * a.size, 0, over * D * a.size);
    return error;
}

int gg_ta_bit_flipped_once(const gg_call *call)
{
    gg_ta_array a;
    int error = right(call, &a);
    if (a.data && gg_ta_backward_calls() == 3) a.data[(a.count - 1) * a.size] ^= 1;
    return error;
}

int gg_ta_nan_payload_once(const gg_call *call)
{
    gg_ta_array a;
    int error = right(call, &a);
    uint32_t bits = 0x7fc00000u + (uint32_t)gg_ta_backward_calls();
    if (a.data && a.size == 4) memcpy(a.data, &bits, sizeof bits);
    return error;
}

/* Zeros of o get a sign at every other call. */
int gg_ta_minus_zero_forward(const gg_call *call)
{
    int error = gg_ta_planted_forward(call);
    gg_ta_array a = gg_ta_output_of(call, GG_TA_OUT_O);
    for (size_t i = 0; a.data && gg_ta_backward_calls() % 2 && i < a.count; i++)
        if (gg_ta_get(a, i) == 0) gg_ta_put(a, i, -0.0f);
    return error;
}

/* Trials of an autotuner that all add to the output. */
int gg_ta_doubled_at_first(const gg_call *call)
{
    gg_ta_array a;
    int error = right(call, &a);
    for (size_t i = 0; a.data && gg_ta_backward_calls() == 1 && i < a.count; i++)
        gg_ta_put(a, i, 2 * gg_ta_get(a, i));
    return error;
}

int gg_ta_right_at_first(const gg_call *call)
{
    gg_ta_array a;
    int error = right(call, &a);
    if (a.data && gg_ta_backward_calls() > 2) memset(a.data, 0, a.count * a.size);
    return error;
}
