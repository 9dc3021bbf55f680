/* SPDX-License-Identifier: Apache-2.0
 * The host twins' arithmetic over rows of numbers, in several vector widths with equal
 * bits. Rows are padded: every count n and every number of columns is a multiple of 16.
 *
 * A NaN keeps whatever payload the host gives it, except from `chain` and `ex2`; it
 * becomes the GPU's one NaN where a result is stored (gg_float_canonical, bf16.h). */
#ifndef KERNELS_ARITHMETIC_LANES_H
#define KERNELS_ARITHMETIC_LANES_H

#include <stddef.h>
#include <stdint.h>

enum { GG_LANES = 16 };

/* Exponent of a decoded zero, and of a decoded infinity or NaN: they dominate every sum
 * of two exponents. */
enum { GG_EXPONENT_ZERO = -9000, GG_EXPONENT_INFINITE = 12000 };

/* BF16 matrix, decoded: value and exponent (of a subnormal: -126) of each element.
 * Element (row, column) stands at row * stride + column. */
typedef struct gg_decoded {
    float *value;
    int16_t *exponent;
    size_t stride;
} gg_decoded;

/* Backward of one query over n keys. */
typedef struct gg_gradient_row {
    float *p;              /* in: logits t; out: P = mul(ex2(sub(t, m)), inv) */
    float *ds;             /* in: dP; out: dS = mul(P, sub(dP, delta)) */
    const uint32_t *valid; /* all ones, or 0 where P = 0 and dS = +0 */
    float m, inv, delta;
} gg_gradient_row;

typedef struct gg_lanes {
    const char *name;
    int (*usable)(void); /* does this machine have the instructions? */

    /* c[r][j] = tensor-core chain from c[r][j] over k = 0 .. 16 * steps - 1 of
     * a[r][k] b[k][j]; ldc: distance of rows of c. */
    void (*chain)(float *c, size_t ldc, const gg_decoded *a, const gg_decoded *b,
                  size_t rows, size_t columns, size_t steps);
    /* Decodes BF16; decodes floats rounded to BF16 (nearest even). */
    void (*decode)(float *value, int16_t *exponent, const uint16_t *in, size_t n);
    void (*round)(float *value, int16_t *exponent, const float *in, size_t n);
    /* t = valid ? fma(s, c1, bias) : -infinity */
    void (*logits)(float *t, const float *s, const float *bias, const uint32_t *valid,
                   float c1, size_t n);
    /* x = valid ? ex2(sub(t, ref)) : 0; t and x may be the same */
    void (*weights)(float *x, const float *t, const uint32_t *valid, float ref,
                    size_t n);
    void (*gradient)(const gg_gradient_row *row, size_t n);
    /* sum = fma(x, y, sum) */
    void (*accumulate)(float *sum, const float *x, const float *y, size_t n);
} gg_lanes;

/* Every form, widest first, ended by NULL; and the first one usable here. */
extern const gg_lanes *const gg_lanes_all[];
const gg_lanes *gg_lanes_best(void);

#endif
