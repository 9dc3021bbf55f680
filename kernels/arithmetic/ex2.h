/* SPDX-License-Identifier: Apache-2.0
 * ex2.approx.ftz.f32 of Hopper, bit for bit: 2^x with an error below 2.06 ulp (largest
 * at x = 0xc1014020). Confirmed against a card for all 2^32 inputs.
 *
 * |x| is truncated to 23 fraction bits, split into an integer part n and a fraction f;
 * for negative x, f is replaced by its one's complement (and n by -n - 1). The
 * significand is one of 64 quadratics in the low 17 bits of f, with a truncated square;
 * 2^n is exact. Subnormal x counts as 0, results below 2^-126 are +0, NaN gives
 * 0x7fffffff. */
#ifndef KERNELS_ARITHMETIC_EX2_H
#define KERNELS_ARITHMETIC_EX2_H

#include <stdint.h>

/* Piece i is the fraction range [i, i+1) / 64, x its low 17 bits:
 * significand = (constant * 8192 + slope * x + curve * square(x) + 30690) >> 15. */
typedef struct gg_ex2_piece {
    uint32_t constant; /* below 2^27 */
    uint16_t slope;
    uint16_t curve; /* below 2^10 */
} gg_ex2_piece;

extern const gg_ex2_piece gg_ex2_pieces[64];

float gg_ex2(float x);

/* About x * x / 2^19 for x < 2^17: partial products cut to 18 bits before they are
 * added. */
static inline uint32_t gg_ex2_square(uint32_t x)
{
    uint32_t sum = 0;
    for (int bit = 2; bit < 17; bit++)
        sum += (0u - (x >> bit & 1u)) & (x >> (18 - bit));
    return sum >> 1;
}

/* The significand, 2^23 to 2^24, in 32-bit steps (exact: only bits that the final shift
 * drops are dropped early). square: gg_ex2_square(x). */
static inline uint32_t gg_ex2_significand(uint32_t constant, uint32_t slope,
                                          uint32_t curve, uint32_t x, uint32_t square)
{
    uint32_t low = slope * (x & 3u) + curve * square + 30690u;
    uint32_t middle = slope * (x >> 2) + ((constant & 3u) << 11) + (low >> 2);
    return (constant >> 2) + (middle >> 13);
}

#endif
