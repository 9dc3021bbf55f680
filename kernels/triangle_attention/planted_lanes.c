/* SPDX-License-Identifier: Apache-2.0
 * Planted faults of the arithmetic. */
#include <math.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/arithmetic/ex2.h"
#include "kernels/arithmetic/tensor_core.h"
#include "kernels/triangle_attention/planted.h"

static float through_bf16(float x) { return gg_bf16_to_float(gg_bf16_from_float(x)); }

/* Step k of a chain. */
static void one_step(float *c, size_t ldc, const gg_decoded *a, const gg_decoded *b,
                     size_t rows, size_t columns, size_t k)
{
    gg_decoded left = gg_ta_part(a, 0, k * GG_TC_TERMS);
    gg_decoded right = gg_ta_part(b, k * GG_TC_TERMS, 0);
    gg_lanes_best()->chain(c, ldc, &left, &right, rows, columns, 1);
}

void gg_ta_chain_bf16(float *c, size_t ldc, const gg_decoded *a, const gg_decoded *b,
                      size_t rows, size_t columns, size_t steps)
{
    for (size_t k = 0; k < steps; k++) {
        one_step(c, ldc, a, b, rows, columns, k);
        for (size_t r = 0; r < rows; r++)
            for (size_t j = 0; j < columns; j++)
                c[r * ldc + j] = through_bf16(c[r * ldc + j]);
    }
}

void gg_ta_chain_tf32(float *c, size_t ldc, const gg_decoded *a, const gg_decoded *b,
                      size_t rows, size_t columns, size_t steps)
{
    gg_lanes_best()->chain(c, ldc, a, b, rows, columns, steps);
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < columns; j++) {
            uint32_t bits = gg_float_bits(c[r * ldc + j]);
            c[r * ldc + j] = gg_float_from_bits(bits & ~UINT32_C(0x1fff));
        }
}

void gg_ta_chain_no_last(float *c, size_t ldc, const gg_decoded *a, const gg_decoded *b,
                         size_t rows, size_t columns, size_t steps)
{
    gg_lanes_best()->chain(c, ldc, a, b, rows, columns, steps > 1 ? steps - 1 : 1);
}

void gg_ta_chain_no_first(float *c, size_t ldc, const gg_decoded *a, const gg_decoded *b,
                          size_t rows, size_t columns, size_t steps)
{
    for (size_t k = steps > 1; k < steps; k++) one_step(c, ldc, a, b, rows, columns, k);
}

void gg_ta_chain_last_twice(float *c, size_t ldc, const gg_decoded *a, const gg_decoded *b,
                            size_t rows, size_t columns, size_t steps)
{
    gg_lanes_best()->chain(c, ldc, a, b, rows, columns, steps);
    one_step(c, ldc, a, b, rows, columns, steps - 1);
}

/* Toward zero, as a shift does it. */
void gg_ta_round_down(float *value, int16_t *exponent, const float *in, size_t n)
{
    for (size_t i = 0; i < n; i += GG_LANES) {
        float cut[GG_LANES];
        for (size_t l = 0; l < GG_LANES; l++)
            cut[l] = gg_bf16_to_float((uint16_t)(gg_float_bits(in[i + l]) >> 16));
        gg_lanes_best()->round(value + i, exponent + i, cut, GG_LANES);
    }
}

/* log2(e) = 1.44 in the factor of the scores. */
void gg_ta_logits_1_44(float *t, const float *s, const float *bias, const uint32_t *valid,
                       float c1, size_t n)
{
    gg_lanes_best()->logits(t, s, bias, valid, c1 * (1.44f / GG_TA_LOG2E), n);
}

/* 2^x by a parabola between whole numbers, 0.2 % off. */
static float coarse_ex2(float x)
{
    float whole = floorf(x), f = x - whole;
    if (!(x > -126)) return 0;
    return ldexpf(1 + f * (0.65635f + 0.34365f * f), (int)whole);
}

void gg_ta_weights_coarse(float *x, const float *t, const uint32_t *valid, float ref,
                          size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = valid[i] ? coarse_ex2(t[i] - ref) : 0;
}

void gg_ta_gradient_coarse(const gg_gradient_row *row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        row->p[i] = row->valid[i] ? coarse_ex2(row->p[i] - row->m) * row->inv : 0;
        row->ds[i] = row->valid[i] ? row->p[i] * (row->ds[i] - row->delta) : 0;
    }
}

/* exp(s) exp(-lse): each factor leaves the range where their product does not. */
void gg_ta_gradient_by_lse(const gg_gradient_row *row, size_t n)
{
    float shift = gg_ex2(-row->m) * row->inv;
    for (size_t i = 0; i < n; i++) {
        row->p[i] = row->valid[i] ? gg_ex2(row->p[i]) * shift : 0;
        row->ds[i] = row->valid[i] ? row->p[i] * (row->ds[i] - row->delta) : 0;
    }
}

/* dS from P as it is after its rounding to BF16. */
void gg_ta_gradient_of_p16(const gg_gradient_row *row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        row->p[i] = row->valid[i] ? through_bf16(gg_ex2(row->p[i] - row->m) * row->inv) : 0;
        row->ds[i] = row->valid[i] ? row->p[i] * (row->ds[i] - row->delta) : 0;
    }
}
