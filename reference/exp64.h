/* SPDX-License-Identifier: Apache-2.0
 * exp in binary64 with the same bits on every machine, in C and in CUDA.
 *
 * Only correctly rounded operations (+ - * fma), comparisons and bit moves are used, in
 * a fixed order, so host, GPU and any vector width agree in every bit. There is no
 * branch: the two selects become minimum and maximum, and a loop over it vectorises.
 *
 * Reduction. n = x log2(e) rounded to an integer by adding 1.5 2^52, which leaves n in
 * the low bits of the sum. r = x - n ln2 in two steps: LN2_HI has 42 bits, a multiple
 * of 2^-42, and |n| < 2^11, so n LN2_HI is exact; for n != 0, |x| > 0.34 is a multiple
 * of 2^-54, so is x - n LN2_HI, and being below 1/2 it fits in 53 bits: the first fma
 * is exact. LN2_HI + LN2_LO misses ln2 by less than 2^-101, times n less than 2^-90.
 * The second fma rounds once: |error of r| <= 2^-55 since |r| <= ln2/2 + 2^-42 < 1/2.
 *
 * Polynomial. Taylor to degree 13, coefficients 1/k!. |r| < 0.3466 gives a remainder
 * below r^14/14! * 1.03 < 4.3e-18, 0.039 units of 2^-53. In Horner's scheme the last
 * fma rounds the result (half an ulp), and what came before enters times |r|: less than
 * 0.25 units of 2^-53.
 *
 * Scale. 2^n is applied as two powers of 2, both normal numbers, so that a subnormal
 * result is rounded by the last product alone (a second rounding, at most half of
 * 2^-1074). Other results are exact there.
 *
 * Sum, in ulp of a normal result (2^-53 relative to [1/2, 1), the worst binade):
 * 0.5 + 0.25 (r) + 0.25 (Horner) + 0.04 (remainder) < 1.04; largest found in 6e6
 * arguments 0.89. x <= -746 and -infinity give 0, x >= 710 infinity, NaN gives NaN. */
#ifndef REFERENCE_EXP64_H
#define REFERENCE_EXP64_H

#include <math.h>

#include "reference/tensor.h"

static inline GG_BOTH double gg_exp64_from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline GG_BOTH double gg_exp64(double x)
{
    const double round_shift = 0x1.8p52;              /* bits 0x4338000000000000 */
    const double log2_e = 0x1.71547652b82fep0;        /* 1/ln2 to nearest */
    const double ln2_hi = 0x1.62e42fefa38p-1;         /* ln2 cut after 2^-42 */
    const double ln2_lo = 0x1.ef35793c7673p-45;       /* ln2 - ln2_hi to nearest */

    /* Far outside, the result is 0 or infinity all the same; NaN passes both. */
    x = x < -1000.0 ? -1000.0 : x;
    x = x > 1000.0 ? 1000.0 : x;

    double shifted = fma(x, log2_e, round_shift);
    double n = shifted - round_shift;
    double r = fma(n, -ln2_hi, x);
    r = fma(n, -ln2_lo, r);

    double p = 1.0 / 6227020800.0;
    p = fma(p, r, 1.0 / 479001600.0);
    p = fma(p, r, 1.0 / 39916800.0);
    p = fma(p, r, 1.0 / 3628800.0);
    p = fma(p, r, 1.0 / 362880.0);
    p = fma(p, r, 1.0 / 40320.0);
    p = fma(p, r, 1.0 / 5040.0);
    p = fma(p, r, 1.0 / 720.0);
    p = fma(p, r, 1.0 / 120.0);
    p = fma(p, r, 1.0 / 24.0);
    p = fma(p, r, 1.0 / 6.0);
    p = fma(p, r, 0.5);
    p = fma(p, r, 1.0);
    p = fma(p, r, 1.0);

    /* biased = n + 2048 > 0, so a logical shift halves it, rounding down:
     * half = floor(n/2) + 1024, and both exponent fields are n/2 + 1023. */
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    uint64_t biased = bits - 0x4338000000000000ull + 2048;
    uint64_t half = biased >> 1;
    double scale_1 = gg_exp64_from_bits((half - 1) << 52);
    double scale_2 = gg_exp64_from_bits((biased - half - 1) << 52);
    return p * scale_1 * scale_2;
}

#endif
