/* SPDX-License-Identifier: Apache-2.0
 * BF16 and the bits of a float, for the host twins. */
#ifndef KERNELS_ARITHMETIC_BF16_H
#define KERNELS_ARITHMETIC_BF16_H

#include <stdint.h>
#include <string.h>

/* What the GPU returns for every NaN of an FP32 operation and of a rounding to BF16. */
#define GG_NAN_F32 0x7fffffffu
#define GG_NAN_BF16 0x7fffu

static inline uint32_t gg_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float gg_float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Exact: every BF16 is a float. */
static inline float gg_bf16_to_float(uint16_t bits)
{
    return gg_float_from_bits((uint32_t)bits << 16);
}

/* cvt.rn.bf16x2.f32: to nearest even, subnormals kept, overflow to infinity. The carry
 * of the rounding runs into the exponent by itself. */
static inline uint16_t gg_bf16_from_float(float value)
{
    uint32_t u = gg_float_bits(value);
    if ((u & 0x7fffffffu) > 0x7f800000u) return GG_NAN_BF16;
    return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

/* A float as the GPU stores it: its one NaN for any NaN. */
static inline float gg_float_canonical(float value)
{
    return value == value ? value : gg_float_from_bits(GG_NAN_F32);
}

#endif
