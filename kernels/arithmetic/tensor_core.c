/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/arithmetic/tensor_core.h"

#include <string.h>

#include "kernels/arithmetic/bf16.h"

/* sign * significand * 2^exponent; the significand is a fixed-point number. */
typedef struct term {
    uint64_t significand;
    int exponent;
    int negative;
} term;

typedef struct specials {
    int nan, plus, minus; /* a NaN, +infinity, -infinity among the terms */
} specials;

static void add_infinity(specials *seen, int negative)
{
    if (negative) seen->minus = 1;
    else seen->plus = 1;
}

/* A product, its significand with 14 fraction bits; 0 when it is not finite. */
static term multiply(uint16_t a, uint16_t b, specials *seen)
{
    int ea = a >> 7 & 255, eb = b >> 7 & 255;
    uint32_t sa = a & 127u, sb = b & 127u;
    term t = {0, 0, (a ^ b) >> 15};
    if (ea == 255 || eb == 255) {
        int nan = (ea == 255 && sa) || (eb == 255 && sb);
        int zero = (a & 0x7fff) == 0 || (b & 0x7fff) == 0;
        if (nan || zero) seen->nan = 1;
        else add_infinity(seen, t.negative);
        return t;
    }
    if (ea) sa |= 128u;
    if (eb) sb |= 128u;
    t.significand = (uint64_t)sa * sb;
    t.exponent = (ea ? ea - 127 : -126) + (eb ? eb - 127 : -126);
    return t;
}

/* c with 23 fraction bits; 0 when it is not finite. */
static term accumulator(uint32_t c, specials *seen)
{
    int field = (int)(c >> 23 & 255u);
    uint32_t significand = c & 0x7fffffu;
    term t = {0, field ? field - 127 : -126, (int)(c >> 31)};
    if (field == 255) {
        if (significand) seen->nan = 1;
        else add_infinity(seen, t.negative);
        return t;
    }
    t.significand = field ? significand | 0x800000u : significand;
    return t;
}

/* The term in units of 2^(largest - 25), cut toward zero. */
static int64_t align(term t, int fraction, int largest)
{
    int shift = largest - t.exponent;
    uint64_t units = t.significand << (GG_TC_FRACTION - fraction);
    units = shift < 64 ? units >> shift : 0;
    return t.negative ? -(int64_t)units : (int64_t)units;
}

/* sum * 2^exponent to FP32, toward zero. */
static uint32_t round_toward_zero(int64_t sum, int exponent)
{
    uint64_t magnitude = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum;
    uint32_t sign = sum < 0 ? 0x80000000u : 0;
    int drop = 0; /* bits below the last place of the result */
    while (magnitude >> drop >= 1u << 24) drop++;
    while (exponent + drop < -149) drop++;
    uint64_t kept = magnitude >> drop;
    exponent += drop;
    while (kept && kept < 1u << 23 && exponent > -149) {
        kept <<= 1;
        exponent--;
    }
    if (kept == 0) return 0;
    /* kept has the hidden bit, which adds one to a normal result's exponent field */
    uint64_t bits = ((uint64_t)(exponent + 149) << 23) + kept;
    return bits >= 0x7f800000u ? sign | 0x7f800000u : sign | (uint32_t)bits;
}

uint32_t gg_tc_step(const uint16_t a[GG_TC_TERMS], const uint16_t b[GG_TC_TERMS],
                    uint32_t c)
{
    term product[GG_TC_TERMS];
    specials seen = {0, 0, 0};
    int largest = GG_TC_FLOOR;
    for (int k = 0; k < GG_TC_TERMS; k++) {
        product[k] = multiply(a[k], b[k], &seen);
        if (product[k].significand && product[k].exponent > largest)
            largest = product[k].exponent;
    }
    term start = accumulator(c, &seen);
    if (start.significand && start.exponent > largest) largest = start.exponent;

    if (seen.nan || (seen.plus && seen.minus)) return GG_NAN_F32;
    if (seen.plus) return 0x7f800000u;
    if (seen.minus) return 0xff800000u;

    int64_t sum = start.significand ? align(start, 23, largest) : 0;
    for (int k = 0; k < GG_TC_TERMS; k++)
        if (product[k].significand) sum += align(product[k], 14, largest);
    return sum ? round_toward_zero(sum, largest - GG_TC_FRACTION) : 0;
}

uint32_t gg_tc_chain(uint32_t c, const uint16_t *a, const uint16_t *b, size_t n)
{
    for (size_t k = 0; k < n; k += GG_TC_TERMS) {
        uint16_t x[GG_TC_TERMS] = {0}, y[GG_TC_TERMS] = {0};
        size_t count = n - k < GG_TC_TERMS ? n - k : GG_TC_TERMS;
        memcpy(x, a + k, count * sizeof *x);
        memcpy(y, b + k, count * sizeof *y);
        c = gg_tc_step(x, y, c);
    }
    return c;
}
