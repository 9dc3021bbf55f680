/* SPDX-License-Identifier: Apache-2.0
 * log2 of a positive normal FP32 in IEEE operations alone, so that host and device give the
 * same bits: x = 2^e f with f in [1/sqrt 2, sqrt 2), log2 f = 2 / ln 2 atanh(s) with
 * s = (f - 1) / (f + 1), as a polynomial in s^2 (the series, cut after s^11: 2e-10 of it).
 * In two parts, e and log2 f, because their sum would lose bits of the latter: error below
 * 3.1 ulp of log2 f, 9.3e-8 (log2_test.c). Infinity and NaN are returned as e. */
#ifndef KERNELS_ARITHMETIC_LOG2_H
#define KERNELS_ARITHMETIC_LOG2_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/arithmetic/both_sides.h"

typedef struct gg_log2_parts {
    float whole, fraction; /* e and log2 f, within +-0.5 */
} gg_log2_parts;

static GG_BOTH_SIDES gg_log2_parts gg_log2(float x)
{
    gg_log2_parts y;
    uint32_t bits;
    y.whole = x;
    y.fraction = 0;
    if (!(x < INFINITY)) return y;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 23) - 127;
    uint32_t fraction = bits & 0x7fffffu;
    if (fraction > 0x3504f3u) exponent++; /* sqrt 2 */
    bits = fraction | (fraction > 0x3504f3u ? 126u : 127u) << 23;
    float f;
    memcpy(&f, &bits, sizeof f);
    float s = (f - 1.0f) / (f + 1.0f), z = s * s; /* f - 1 is exact */
    float p = fmaf(z, 0x1.0c9a84p-2f, 0x1.484b14p-2f); /* 2 / ln 2 over 11 and 9 */
    p = fmaf(z, p, 0x1.a61762p-2f);                    /* over 7 */
    p = fmaf(z, p, 0x1.2776c6p-1f);                    /* over 5 */
    p = fmaf(z, p, 0x1.ec709ep-1f);                    /* over 3 */
    p = fmaf(z, p, 0x1.715476p+1f);                    /* over 1 */
    y.whole = (float)exponent;
    y.fraction = s * p;
    return y;
}

#endif
