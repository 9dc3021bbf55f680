/* SPDX-License-Identifier: Apache-2.0
 * Random triangle attention calls for the tests of the twins. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWIN_FIXTURE_H
#define KERNELS_TRIANGLE_ATTENTION_TWIN_FIXTURE_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/registry.h"
#include "kernels/triangle_attention/call.h"

enum { IN_Q, IN_K, IN_V, IN_BIAS, IN_DOUT, IN_MASK, IN_LENGTHS, INPUTS };
enum { OUT_O, OUT_DQ, OUT_DK, OUT_DV, OUT_DBIAS, OUTPUTS };

typedef struct shape {
    int B, R, H, N, D;
    gg_ta_keys keys;
    int f32;       /* bias, gradients and dbias */
    double spread; /* of q and k */
} shape;

typedef struct fixture {
    shape s;
    int64_t head[5], square[4], mask[3];
    DLTensor in[INPUTS], out[OUTPUTS];
    const DLTensor *inputs[INPUTS];
    DLTensor *outputs[OUTPUTS];
    gg_call call;
} fixture;

static uint64_t fixture_state;

static inline double fixture_uniform(void)
{
    fixture_state =
        fixture_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(fixture_state >> 12) + 0.5) * 0x1p-52;
}

static inline double fixture_normal(void)
{
    double radius = sqrt(-2 * log(fixture_uniform()));
    return radius * cos(6.283185307179586 * fixture_uniform());
}

static inline size_t tensor_count(const DLTensor *t)
{
    size_t count = 1;
    for (int i = 0; i < t->ndim; i++) count *= (size_t)t->shape[i];
    return count;
}

static inline size_t tensor_bytes(const DLTensor *t)
{
    return tensor_count(t) * t->dtype.bits / 8;
}

static inline DLTensor tensor_make(int ndim, int64_t *extent, DLDataTypeCode code,
                                   int bits)
{
    DLTensor t = {.ndim = ndim, .shape = extent, .device = {kDLCPU, 0}};
    t.dtype = (DLDataType){(uint8_t)code, (uint8_t)bits, 1};
    t.data = aligned_alloc(64, (tensor_bytes(&t) + 63) / 64 * 64);
    memset(t.data, 0xa5, tensor_bytes(&t));
    return t;
}

static inline double tensor_value(const DLTensor *t, size_t i)
{
    if (t->dtype.bits == 32) return (double)((const float *)t->data)[i];
    return (double)gg_bf16_to_float(((const uint16_t *)t->data)[i]);
}

static inline void tensor_set(DLTensor *t, size_t i, double value)
{
    if (t->dtype.bits == 32) ((float *)t->data)[i] = (float)value;
    else ((uint16_t *)t->data)[i] = gg_bf16_from_float((float)value);
}

static inline int fixture_valid(const fixture *f, size_t row, size_t j)
{
    size_t N = (size_t)f->s.N;
    if (f->inputs[IN_MASK])
        return ((const uint8_t *)f->in[IN_MASK].data)[row * N + j] != 0;
    if (f->inputs[IN_LENGTHS])
        return (int64_t)j < ((const int32_t *)f->in[IN_LENGTHS].data)[row];
    return 1;
}

/* Masks have rows without a valid key, with one, and with whole tiles dead. */
static inline void fixture_draw_keys(fixture *f)
{
    size_t rows = (size_t)f->s.B * (size_t)f->s.R, N = (size_t)f->s.N;
    for (size_t row = 0; row < rows; row++) {
        int32_t length = (int32_t)(fixture_uniform() * (double)(N + 1));
        if (row % 4 == 1) length = 0;
        if (row % 4 == 2) length = 1;
        ((int32_t *)f->in[IN_LENGTHS].data)[row] = length;
        for (size_t j = 0; j < N; j++) {
            int valid = fixture_uniform() < 0.6;
            if (row % 4 == 1 || (row % 4 == 3 && j < 64)) valid = 0;
            ((uint8_t *)f->in[IN_MASK].data)[row * N + j] = (uint8_t)valid;
        }
    }
}

static inline void fixture_init(fixture *f, const shape *s, uint64_t seed)
{
    memset(f, 0, sizeof *f);
    fixture_state = seed;
    f->s = *s;
    memcpy(f->head, (int64_t[]){s->B, s->R, s->H, s->N, s->D}, sizeof f->head);
    memcpy(f->square, (int64_t[]){s->B, s->H, s->N, s->N}, sizeof f->square);
    memcpy(f->mask, (int64_t[]){s->B, s->R, s->N}, sizeof f->mask);
    DLDataTypeCode code = s->f32 ? kDLFloat : kDLBfloat;
    int bits = s->f32 ? 32 : 16;
    for (int i = 0; i < INPUTS; i++) {
        if (i == IN_BIAS) f->in[i] = tensor_make(4, f->square, code, bits);
        else if (i == IN_MASK) f->in[i] = tensor_make(3, f->mask, kDLUInt, 8);
        else if (i == IN_LENGTHS) f->in[i] = tensor_make(2, f->mask, kDLInt, 32);
        else f->in[i] = tensor_make(5, f->head, kDLBfloat, 16);
        f->inputs[i] = &f->in[i];
        double scale = i == IN_Q || i == IN_K ? s->spread : 1;
        for (size_t n = 0; i < IN_MASK && n < tensor_count(&f->in[i]); n++)
            tensor_set(&f->in[i], n, scale * fixture_normal());
    }
    fixture_draw_keys(f);
    if (s->keys != GG_TA_KEYS_MASKED) f->inputs[IN_MASK] = NULL;
    if (s->keys != GG_TA_KEYS_COUNTED) f->inputs[IN_LENGTHS] = NULL;
    for (int i = 0; i < OUTPUTS; i++) {
        if (i == OUT_O) f->out[i] = tensor_make(5, f->head, kDLBfloat, 16);
        else if (i == OUT_DBIAS) f->out[i] = tensor_make(4, f->square, code, bits);
        else f->out[i] = tensor_make(5, f->head, code, bits);
        f->outputs[i] = &f->out[i];
    }
    /* Compensation and, which only split has, pairs. */
    f->call = (gg_call){
        .inputs = f->inputs, .outputs = f->outputs, .features = 7, .threads = 1};
}

/* Forward and backward, each with a workspace full of poison. */
static inline void fixture_run(fixture *f, const gg_kernel *kernel, int threads)
{
    f->call.threads = threads;
    cr_assert_null(kernel->supports(&f->call));
    size_t saved = kernel->saved_bytes(&f->call),
           bytes = kernel->workspace_bytes(&f->call);
    f->call.saved = malloc(saved + 1);
    f->call.workspace = malloc(bytes + 1);
    memset(f->call.saved, 0xa5, saved + 1);
    for (int pass = 0; pass < 2; pass++) {
        memset(f->call.workspace, 0xa5, bytes + 1);
        int error = pass ? kernel->backward(&f->call) : kernel->forward(&f->call);
        cr_assert_eq(error, 0);
        cr_assert_eq(((unsigned char *)f->call.workspace)[bytes], 0xa5);
    }
    cr_assert_eq(((unsigned char *)f->call.saved)[saved], 0xa5);
    free(f->call.saved);
    free(f->call.workspace);
    f->call.saved = f->call.workspace = NULL;
}

static inline void fixture_free(fixture *f)
{
    for (int i = 0; i < INPUTS; i++) free(f->in[i].data);
    for (int i = 0; i < OUTPUTS; i++) free(f->out[i].data);
}

static inline void assert_same_outputs(const fixture *a, const fixture *b,
                                       const char *what)
{
    for (int i = 0; i < OUTPUTS; i++)
        cr_assert_eq(memcmp(a->out[i].data, b->out[i].data, tensor_bytes(&a->out[i])),
                     0, "%s: output %d", what, i);
}

#endif
