/* SPDX-License-Identifier: Apache-2.0
 * A standard normal deviate from one 32-bit word, with the same bits on every machine.
 *
 *   u = (word + 1/2) / 2^32      z = inverse of the normal distribution function at u
 *
 * Method: Wichura's rational approximations (algorithm AS 241, Applied Statistics 37
 * (1988) 477, routine PPND16). Its third region, p < e^-25, is never reached: the
 * smallest p is 2^-33. Only + - * / fma and bit moves are used, in a fixed order, and
 * no product is added except by an explicit fma, so a compiler has nothing to contract.
 * Both regions are computed and one is selected: no branch, so a loop vectorises.
 *
 * The two words w and ~w give -z and z exactly. |z| is in [2.9e-10, 6.338], in steps
 * of 2^-32 of probability. Error: below 4e-15 absolute (normal_test.c measures it
 * against erfcl); the resolution of the 32-bit word is far coarser. */
#ifndef CASES_NORMAL_H
#define CASES_NORMAL_H

#include <math.h>

#include "reference/tensor.h"

static inline GG_BOTH double gg_normal_from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline GG_BOTH uint64_t gg_normal_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* log(x) for normal x > 0. x = 2^k m, m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s)
 * with s = (m-1)/(m+1), |s| < 0.1716. Taylor in s^2 to s^20: remainder below 2e-17.
 * Error below 1 ulp of 23, the largest |log| asked for here. */
static inline GG_BOTH double gg_normal_log(double x)
{
    const uint64_t root_half = 0x3fe6a09e667f3bcdull; /* bits of sqrt(1/2) */
    uint64_t shifted = gg_normal_bits(x) + (0x3ff0000000000000ull - root_half);
    /* 2^52 + biased exponent, made from bits: no integer conversion to vectorise */
    double k = gg_normal_from_bits((shifted >> 52) | 0x4330000000000000ull) -
               (0x1p52 + 1023.0);
    double m = gg_normal_from_bits((shifted & 0xfffffffffffffull) + root_half);
    double s = (m - 1.0) / (m + 1.0);
    double t = s * s;
    double p = 1.0 / 19.0;
    p = fma(p, t, 1.0 / 17.0);
    p = fma(p, t, 1.0 / 15.0);
    p = fma(p, t, 1.0 / 13.0);
    p = fma(p, t, 1.0 / 11.0);
    p = fma(p, t, 1.0 / 9.0);
    p = fma(p, t, 1.0 / 7.0);
    p = fma(p, t, 1.0 / 5.0);
    p = fma(p, t, 1.0 / 3.0);
    p = fma(p, t, 1.0);
    return fma(k, 0x1.62e42fefa39efp-1 /* ln 2 */, (s + s) * p);
}

/* 1/sqrt(x) for normal x > 0 by four Newton steps from a guess within 3.5 % (bits
 * halved and negated): 3.5e-2, 1.8e-3, 5e-6, 4e-11, then rounding error only, about 2
 * ulp. sqrt itself would do, but C lets it set errno, which keeps loops from
 * vectorising. */
static inline GG_BOTH double gg_normal_rsqrt(double x)
{
    double y = gg_normal_from_bits(0x5fe6eb50c7b537a9ull - (gg_normal_bits(x) >> 1));
    double half = -0.5 * x;
    y = y * fma(half * y, y, 1.5);
    y = y * fma(half * y, y, 1.5);
    y = y * fma(half * y, y, 1.5);
    y = y * fma(half * y, y, 1.5);
    return y;
}

/* AS 241, |u - 1/2| <= 0.425: z = q A(r) / B(r), q = u - 1/2, r = 0.425^2 - q^2. */
static inline GG_BOTH double gg_normal_centre(double r, double *denominator)
{
    double a = 2.5090809287301226727e+3, b = 5.2264952788528545610e+3;
    a = fma(a, r, 3.3430575583588128105e+4);
    b = fma(b, r, 2.8729085735721942674e+4);
    a = fma(a, r, 6.7265770927008700853e+4);
    b = fma(b, r, 3.9307895800092710610e+4);
    a = fma(a, r, 4.5921953931549871457e+4);
    b = fma(b, r, 2.1213794301586595867e+4);
    a = fma(a, r, 1.3731693765509461125e+4);
    b = fma(b, r, 5.3941960214247511077e+3);
    a = fma(a, r, 1.9715909503065514427e+3);
    b = fma(b, r, 6.8718700749205790830e+2);
    a = fma(a, r, 1.3314166789178437745e+2);
    b = fma(b, r, 4.2313330701600911252e+1);
    *denominator = fma(b, r, 1.0);
    return fma(a, r, 3.3871328727963666080e+0);
}

/* AS 241, tail to p = e^-25: |z| = C(t) / D(t), t = sqrt(-log p) - 1.6. */
static inline GG_BOTH double gg_normal_tail(double t, double *denominator)
{
    double c = 7.74545014278341407640e-4, d = 1.05075007164441684324e-9;
    c = fma(c, t, 2.27238449892691845833e-2);
    d = fma(d, t, 5.47593808499534494600e-4);
    c = fma(c, t, 2.41780725177450611770e-1);
    d = fma(d, t, 1.51986665636164571966e-2);
    c = fma(c, t, 1.27045825245236838258e+0);
    d = fma(d, t, 1.48103976427480074590e-1);
    c = fma(c, t, 3.64784832476320460504e+0);
    d = fma(d, t, 6.89767334985100004550e-1);
    c = fma(c, t, 5.76949722146069140550e+0);
    d = fma(d, t, 1.67638483018380384940e+0);
    c = fma(c, t, 4.63033784615654529590e+0);
    d = fma(d, t, 2.05319162663775882187e+0);
    *denominator = fma(d, t, 1.0);
    return fma(c, t, 1.42343711074968357734e+0);
}

static inline GG_BOTH double gg_normal(uint32_t word)
{
    uint32_t upper = word >> 31;             /* u > 1/2 */
    uint32_t near_end = word ^ (0u - upper); /* steps from the nearer end, 31 bits */
    uint64_t odd = 2 * (uint64_t)near_end + 1;
    double p = (gg_normal_from_bits(odd | 0x4330000000000000ull) - 0x1p52) * 0x1p-33;
    double q = 0.5 - p; /* exact, as is p; 0 < q < 1/2 */

    double centre_below, tail_below;
    double centre = q * gg_normal_centre(fma(-q, q, 0.180625), &centre_below);
    double minus_log = -gg_normal_log(p);
    double root = minus_log * gg_normal_rsqrt(minus_log);
    double tail = gg_normal_tail(root - 1.6, &tail_below);

    double above = q <= 0.425 ? centre : tail;
    double below = q <= 0.425 ? centre_below : tail_below;
    uint64_t sign = (uint64_t)(upper ^ 1u) << 63;
    return gg_normal_from_bits(gg_normal_bits(above / below) | sign);
}

/* Student's t with 3 degrees of freedom over sqrt(3), its standard deviation, from four
 * independent words: z0 / sqrt((z1^2 + z2^2 + z3^2) / 3) / sqrt(3). Kurtosis is
 * infinite. */
static inline GG_BOTH double gg_heavy(uint32_t w0, uint32_t w1, uint32_t w2,
                                      uint32_t w3)
{
    double z1 = gg_normal(w1), z2 = gg_normal(w2), z3 = gg_normal(w3);
    double chi2 = fma(z3, z3, fma(z2, z2, z1 * z1)); /* > 0, since no z is 0 */
    return gg_normal(w0) * gg_normal_rsqrt(chi2);
}

#endif
