/* SPDX-License-Identifier: Apache-2.0
 * The rows of lanes.h in plain C, for a compiler to vectorise: included once for each
 * instruction set, with
 *   TARGET     the function attribute that selects it
 *   OWN_EX2    defined when the includer brings its own ex2_lanes()
 *   OWN_CHAIN  defined when the includer brings its own chain() */
#include <math.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/arithmetic/ex2.h"
#include "kernels/arithmetic/lanes.h"
#include "kernels/arithmetic/tensor_core.h"

enum { NO_TERM = -1000, NOT_FINITE = 1000 }; /* sums of exponents lie between the two */

/* The reference step for one lane; bits of the decoded values are exact. */
static void chain_lane(float *c, const float *av, const float *bv, size_t stride)
{
    uint16_t a[GG_TC_TERMS], b[GG_TC_TERMS];
    for (size_t k = 0; k < GG_TC_TERMS; k++) {
        a[k] = (uint16_t)(gg_float_bits(av[k]) >> 16);
        b[k] = (uint16_t)(gg_float_bits(bv[k * stride]) >> 16);
    }
    *c = gg_float_from_bits(gg_tc_step(a, b, gg_float_bits(*c)));
}

/* Largest exponent of the terms of 16 lanes. */
static inline TARGET void largest_exponent(int32_t largest[GG_LANES], const float *c,
                                           const int16_t *ae, const int16_t *be,
                                           size_t stride)
{
    for (int l = 0; l < GG_LANES; l++) {
        uint32_t bits = gg_float_bits(c[l]) & 0x7fffffffu;
        int32_t field = (int32_t)(bits >> 23);
        int32_t e = (field ? field : 1) - 127;
        e = field == 255 ? GG_EXPONENT_INFINITE : e;
        largest[l] = bits ? e : GG_EXPONENT_ZERO;
    }
    for (size_t k = 0; k < GG_TC_TERMS; k++)
        for (int l = 0; l < GG_LANES; l++) {
            int32_t e = ae[k] + be[k * stride + (size_t)l];
            largest[l] = e > largest[l] ? e : largest[l];
        }
}

/* 2^exponent for a normal double. */
static inline TARGET double power_of_two(int32_t exponent)
{
    uint64_t bits = (uint64_t)(int64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* To FP32 toward zero: one step back where rounding to nearest went away from zero.
 * 2^128 and above stay infinite; a negative value may not become -0. */
static inline TARGET float toward_zero(double value)
{
    float nearest = (float)value;
    uint32_t bits = gg_float_bits(nearest);
    double magnitude = fabs(value);
    bits -= (fabs((double)nearest) > magnitude) & (magnitude < 0x1p128);
    return gg_float_from_bits((bits & 0x7fffffffu) ? bits : 0);
}

/* One step of 16 lanes. Products of two BF16 and their scaling are exact in binary64
 * for every finite operand, the conversion to int32 cuts toward zero, and 16 products
 * below 2^27 fit an int32. Where a lane is not finite, all take the reference step. */
static TARGET void step_wide(float *c, const float *av, const int16_t *ae,
                             const float *bv, const int16_t *be, size_t stride)
{
    int32_t largest[GG_LANES], sum[GG_LANES], special = 0;
    double scale[GG_LANES];
    float start[GG_LANES], result[GG_LANES];
    memcpy(start, c, sizeof start);
    largest_exponent(largest, start, ae, be, stride);
    for (int l = 0; l < GG_LANES; l++) {
        special |= largest[l] > NOT_FINITE;
        largest[l] = largest[l] < GG_TC_FLOOR ? GG_TC_FLOOR : largest[l];
    }
    if (special) {
        for (int l = 0; l < GG_LANES; l++) chain_lane(&c[l], av, bv + l, stride);
        return;
    }
    for (int l = 0; l < GG_LANES; l++) {
        scale[l] = power_of_two(GG_TC_FRACTION - largest[l]);
        sum[l] = 0;
    }
    for (size_t k = 0; k < GG_TC_TERMS; k++) {
        const float *b = bv + k * stride;
        double a = (double)av[k];
        for (int l = 0; l < GG_LANES; l++)
            sum[l] += (int32_t)(a * (double)b[l] * scale[l]);
    }
    for (int l = 0; l < GG_LANES; l++) {
        double total = (double)sum[l] + (double)(int32_t)((double)start[l] * scale[l]);
        result[l] = toward_zero(total * power_of_two(largest[l] - GG_TC_FRACTION));
    }
    memcpy(c, result, sizeof result);
}

#ifndef OWN_CHAIN
static TARGET void chain(float *c, size_t ldc, const gg_decoded *a, const gg_decoded *b,
                         size_t rows, size_t columns, size_t steps)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < columns; j += GG_LANES)
            for (size_t k = 0; k < steps * GG_TC_TERMS; k += GG_TC_TERMS)
                step_wide(c + r * ldc + j, a->value + r * a->stride + k,
                          a->exponent + r * a->stride + k, b->value + k * b->stride + j,
                          b->exponent + k * b->stride + j, b->stride);
}
#endif

static inline TARGET int16_t exponent_of(uint32_t bits)
{
    int32_t field = (int32_t)(bits >> 23 & 255u);
    int32_t e = (field ? field : 1) - 127;
    e = field == 255 ? GG_EXPONENT_INFINITE : e;
    return (int16_t)(bits << 1 ? e : GG_EXPONENT_ZERO);
}

/* The loops below run over exactly 16 lanes, so that they are vectorised whole. */
static inline TARGET void decode_lanes(float *restrict value,
                                       int16_t *restrict exponent,
                                       const uint32_t *restrict bits)
{
    for (int l = 0; l < GG_LANES; l++) value[l] = gg_float_from_bits(bits[l]);
    for (int l = 0; l < GG_LANES; l++) exponent[l] = exponent_of(bits[l]);
}

static TARGET void decode(float *value, int16_t *exponent, const uint16_t *in, size_t n)
{
    for (size_t i = 0; i < n; i += GG_LANES) {
        uint32_t bits[GG_LANES];
        for (int l = 0; l < GG_LANES; l++) bits[l] = (uint32_t)in[i + (size_t)l] << 16;
        decode_lanes(value + i, exponent + i, bits);
    }
}

/* The rounding of P and dS to BF16. */
static TARGET void round_row(float *value, int16_t *exponent, const float *in, size_t n)
{
    for (size_t i = 0; i < n; i += GG_LANES) {
        uint32_t u[GG_LANES], bits[GG_LANES];
        memcpy(u, in + i, sizeof u);
        for (int l = 0; l < GG_LANES; l++) {
            uint32_t nearest = (u[l] + 0x7fffu + (u[l] >> 16 & 1u)) & 0xffff0000u;
            int nan = (u[l] & 0x7fffffffu) > 0x7f800000u;
            bits[l] = nan ? (uint32_t)GG_NAN_BF16 << 16 : nearest;
        }
        decode_lanes(value + i, exponent + i, bits);
    }
}

static inline TARGET void logit_lanes(float *restrict t, const float *restrict s,
                                      const float *restrict bias,
                                      const uint32_t *restrict valid, float c1)
{
    for (int l = 0; l < GG_LANES; l++) {
        uint32_t bits = gg_float_bits(fmaf(s[l], c1, bias[l]));
        t[l] = gg_float_from_bits((bits & valid[l]) | (~valid[l] & 0xff800000u));
    }
}

static TARGET void logits(float *t, const float *s, const float *bias,
                          const uint32_t *valid, float c1, size_t n)
{
    for (size_t i = 0; i < n; i += GG_LANES)
        logit_lanes(t + i, s + i, bias + i, valid + i, c1);
}

#ifndef OWN_EX2
/* gg_ex2_square(), bit by bit for all lanes. */
static inline TARGET void square_lanes(uint32_t *restrict square,
                                       const uint32_t *restrict x)
{
    memset(square, 0, GG_LANES * sizeof *square);
    for (int bit = 2; bit < 17; bit++)
        for (int l = 0; l < GG_LANES; l++)
            square[l] += (0u - (x[l] >> bit & 1u)) & (x[l] >> (18 - bit));
    for (int l = 0; l < GG_LANES; l++) square[l] >>= 1;
}

/* gg_ex2() of 16 lanes, with selections instead of branches. */
static inline TARGET void ex2_lanes(float *x)
{
    uint32_t f[GG_LANES], constant[GG_LANES], slope[GG_LANES], curve[GG_LANES];
    uint32_t square[GG_LANES];
    int32_t n[GG_LANES];
    for (int l = 0; l < GG_LANES; l++) {
        uint32_t bits = gg_float_bits(x[l]), magnitude = bits & 0x7fffffffu;
        int32_t e = (int32_t)(magnitude >> 23) - 127;
        uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
        uint32_t left = e < 0 ? 0 : e > 7 ? 7 : (uint32_t)e;
        uint32_t right = e > 0 ? 0 : e < -24 ? 24 : (uint32_t)-e;
        uint32_t fixed = significand << left >> right;
        uint32_t negative = 0u - (bits >> 31), part = fixed & 0x7fffffu;
        uint32_t flip = part ? negative : 0; /* all ones: complement f, one less in n */
        f[l] = part ^ (flip & 0x7fffffu);
        n[l] = (int32_t)(((fixed >> 23) ^ negative) - negative + flip);
    }
    for (int l = 0; l < GG_LANES; l++) {
        const gg_ex2_piece *piece = &gg_ex2_pieces[f[l] >> 17];
        constant[l] = piece->constant;
        slope[l] = piece->slope;
        curve[l] = piece->curve;
    }
    for (int l = 0; l < GG_LANES; l++) f[l] &= 0x1ffffu;
    square_lanes(square, f);
    for (int l = 0; l < GG_LANES; l++) {
        uint32_t s =
            gg_ex2_significand(constant[l], slope[l], curve[l], f[l], square[l]);
        uint32_t bits = gg_float_bits(x[l]), magnitude = bits & 0x7fffffffu;
        uint32_t result = ((uint32_t)(n[l] + 126) << 23) + s;
        uint32_t negative = bits >> 31;
        /* n = -127 may still reach 2^-126 when s is 2^24 */
        uint32_t tiny = (n[l] < -126) & (result != 0x00800000u);
        result = tiny ? 0 : result;
        result = magnitude >= 0x43000000u ? (negative ? 0 : 0x7f800000u) : result;
        result = magnitude > 0x7f800000u ? GG_NAN_F32 : result;
        x[l] = gg_float_from_bits(result);
    }
}
#endif

static TARGET void weights(float *x, const float *t, const uint32_t *valid, float ref,
                           size_t n)
{
    for (size_t i = 0; i < n; i += GG_LANES) {
        float y[GG_LANES];
        for (size_t l = 0; l < GG_LANES; l++) y[l] = t[i + l] - ref;
        ex2_lanes(y);
        for (size_t l = 0; l < GG_LANES; l++)
            x[i + l] = gg_float_from_bits(gg_float_bits(y[l]) & valid[i + l]);
    }
}

static TARGET void gradient(const gg_gradient_row *row, size_t n)
{
    for (size_t i = 0; i < n; i += GG_LANES) {
        float y[GG_LANES], d[GG_LANES];
        uint32_t valid[GG_LANES];
        memcpy(y, row->p + i, sizeof y);
        memcpy(d, row->ds + i, sizeof d);
        memcpy(valid, row->valid + i, sizeof valid);
        for (size_t l = 0; l < GG_LANES; l++) y[l] = y[l] - row->m;
        ex2_lanes(y);
        for (size_t l = 0; l < GG_LANES; l++) {
            y[l] = gg_float_from_bits(gg_float_bits(y[l] * row->inv) & valid[l]);
            d[l] = y[l] * (d[l] - row->delta);
            d[l] = gg_float_from_bits(gg_float_bits(d[l]) & valid[l]);
        }
        memcpy(row->p + i, y, sizeof y);
        memcpy(row->ds + i, d, sizeof d);
    }
}

static inline TARGET void accumulate_lanes(float *restrict sum, const float *restrict x,
                                           const float *restrict y)
{
    for (int l = 0; l < GG_LANES; l++) sum[l] = fmaf(x[l], y[l], sum[l]);
}

static TARGET void accumulate(float *sum, const float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i += GG_LANES) accumulate_lanes(sum + i, x + i, y + i);
}
