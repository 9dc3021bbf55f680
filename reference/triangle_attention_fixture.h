/* SPDX-License-Identifier: Apache-2.0
 * Random triangle attention problems for the tests beside this file. */
#ifndef REFERENCE_TRIANGLE_ATTENTION_FIXTURE_H
#define REFERENCE_TRIANGLE_ATTENTION_FIXTURE_H

#include <math.h>
#include <stdlib.h>

#include "reference/triangle_attention.h"

typedef enum keys_kind { ALL_KEYS, MASKED, LENGTHS } keys_kind;

typedef struct shape {
    int64_t B, R, H, N, D;
    keys_kind keys;
    gg_dtype bias;
    double q_scale; /* of a normal-like q; the rest has unit scale */
} shape;

typedef struct fixture {
    gg_problem problem;
    gg_truth truth;
    int64_t elements, pairs;
} fixture;

static uint64_t fixture_state;

/* splitmix64 to (0, 1) */
static inline double fixture_uniform(void)
{
    uint64_t z = fixture_state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

/* mean 0, variance 1 */
static inline double fixture_normal(void)
{
    return (fixture_uniform() + fixture_uniform() + fixture_uniform() - 1.5) * 2.0;
}

static inline gg_tensor fixture_bf16(const shape *s, double scale)
{
    gg_tensor t = {
        .dtype = GG_BF16, .ndim = 5, .shape = {s->B, s->R, s->H, s->N, s->D}};
    uint16_t *data = malloc(gg_tensor_bytes(&t));
    for (int64_t i = 0; i < gg_tensor_count(&t); i++)
        data[i] = gg_bf16_round(scale * fixture_normal());
    t.data = data;
    return t;
}

static inline gg_tensor fixture_bias(const shape *s)
{
    gg_tensor t = {.dtype = s->bias, .ndim = 4, .shape = {s->B, s->H, s->N, s->N}};
    t.data = malloc(gg_tensor_bytes(&t));
    for (int64_t i = 0; i < gg_tensor_count(&t); i++) {
        double value = fixture_normal();
        if (s->bias == GG_F32) ((float *)t.data)[i] = (float)value;
        else ((uint16_t *)t.data)[i] = gg_bf16_round(value);
    }
    return t;
}

/* Row 1 of batch 0 has no valid key where keys are limited at all. */
static inline void fixture_keys(const shape *s, gg_problem *problem)
{
    int64_t rows = s->B * s->R;
    if (s->keys == MASKED) {
        uint8_t *mask = malloc((size_t)(rows * s->N));
        for (int64_t i = 0; i < rows * s->N; i++)
            mask[i] = fixture_uniform() < 0.7 && i / s->N != 1;
        problem->input[GG_TA_MASK] =
            (gg_tensor){mask, GG_U8, 3, {s->B, s->R, s->N}};
    } else if (s->keys == LENGTHS) {
        int32_t *length = malloc((size_t)rows * sizeof *length);
        for (int64_t i = 0; i < rows; i++)
            length[i] = i == 1 ? 0 : (int32_t)(fixture_uniform() * (double)(s->N + 1));
        problem->input[GG_TA_KEY_LENGTHS] =
            (gg_tensor){length, GG_I32, 2, {s->B, s->R}};
    }
}

static inline void fixture_truth(fixture *f)
{
    for (int o = 0; o < GG_TA_OUTPUTS; o++) {
        size_t size =
            (size_t)(o == GG_TA_DBIAS ? f->pairs : f->elements) * sizeof(double);
        f->truth.value[o] = malloc(size);
        f->truth.allowance[o] = malloc(size);
        memset(f->truth.value[o], 0xff, size); /* NaN: what is not written shows */
        memset(f->truth.allowance[o], 0xff, size);
    }
}

static inline fixture fixture_open(const shape *s, uint64_t seed)
{
    fixture f = {.problem = {.extent = {s->B, s->R, s->H, s->N, s->D}}};
    f.elements = s->B * s->R * s->H * s->N * s->D;
    f.pairs = s->B * s->H * s->N * s->N;
    fixture_state = seed;
    f.problem.input[GG_TA_Q] = fixture_bf16(s, s->q_scale);
    f.problem.input[GG_TA_K] = fixture_bf16(s, 1.0);
    f.problem.input[GG_TA_V] = fixture_bf16(s, 1.0);
    f.problem.input[GG_TA_DOUT] = fixture_bf16(s, 1.0);
    f.problem.input[GG_TA_BIAS] = fixture_bias(s);
    fixture_keys(s, &f.problem);
    fixture_truth(&f);
    return f;
}

static inline int64_t fixture_count(const fixture *f, int output)
{
    return output == GG_TA_DBIAS ? f->pairs : f->elements;
}

static inline void fixture_free_truth(fixture *f)
{
    for (int o = 0; o < GG_TA_OUTPUTS; o++) {
        free(f->truth.value[o]);
        free(f->truth.allowance[o]);
    }
}

static inline void fixture_close(fixture *f)
{
    fixture_free_truth(f);
    for (int i = 0; i <= GG_TA_KEY_LENGTHS; i++) free(f->problem.input[i].data);
}

#endif
