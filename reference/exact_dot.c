/* SPDX-License-Identifier: Apache-2.0 */
#include "reference/exact_dot.h"

#include <math.h>
#include <stdbool.h>

#include "reference/tensor.h"

__extension__ typedef __int128 wide;

/* value = significand * 2^exponent, |significand| < 2^8; finite bits only. */
static inline int significand_of(uint16_t bits, int *exponent)
{
    int field = (bits >> 7) & 0xff, fraction = bits & 0x7f;
    *exponent = (field ? field : 1) - 134;
    int significand = field ? fraction | 0x80 : fraction;
    return bits & 0x8000 ? -significand : significand;
}

static inline bool is_finite(uint16_t bits) { return (bits & 0x7f80) != 0x7f80; }

/* Exponents of the non-zero products; false when an element is not finite. */
static bool exponent_range(const uint16_t *a, int64_t a_step, const uint16_t *b,
                           int64_t b_step, int64_t n, int *low, int *high)
{
    *low = 1000;
    *high = -1000;
    for (int64_t t = 0; t < n; t++) {
        uint16_t x = a[t * a_step], y = b[t * b_step];
        int ex, ey;
        if (!is_finite(x) || !is_finite(y)) return false;
        if (significand_of(x, &ex) == 0 || significand_of(y, &ey) == 0) continue;
        if (ex + ey < *low) *low = ex + ey;
        if (ex + ey > *high) *high = ex + ey;
    }
    return true;
}

static void set_wide(mpfr_t sum, mpfr_t work, wide value, int exponent)
{
    long high = (long)(value >> 64); /* arithmetic: rounds down, the rest is positive */
    unsigned long low = (unsigned long)value;
    mpfr_set_si_2exp(sum, high, exponent + 64, MPFR_RNDN);
    mpfr_set_ui_2exp(work, low, exponent, MPFR_RNDN);
    mpfr_add(sum, sum, work, MPFR_RNDN);
}

/* The sum in binary64, true when nothing in it was rounded: a product of two BF16 is exact,
 * and TwoSum (Knuth) gives the error of an addition exactly, for nothing here is below
 * 2^-266 or above 2^300. NaN and infinities are not told from rounding. */
static bool sums_exactly(const uint16_t *a, int64_t a_step, const uint16_t *b,
                         int64_t b_step, int64_t n, double *sum)
{
    double total = 0, lost = 0;
    for (int64_t t = 0; t < n; t++) {
        double product = gg_bf16_value(a[t * a_step]) * gg_bf16_value(b[t * b_step]);
        double next = total + product, part = next - total;
        lost += fabs((total - (next - part)) + (product - part));
        total = next;
    }
    *sum = total;
    return lost == 0;
}

void gg_exact_dot(mpfr_t sum, mpfr_t work, const uint16_t *a, int64_t a_step,
                  const uint16_t *b, int64_t b_step, int64_t n)
{
    int low, high;
    double exact;
    if (sums_exactly(a, a_step, b, b_step, n, &exact)) {
        mpfr_set_d(sum, exact, MPFR_RNDN);
        return;
    }
    bool finite = exponent_range(a, a_step, b, b_step, n, &low, &high);
    /* 16 bits of product, 40 of carries for n < 2^40, a sign: 127 at most. */
    if (finite && high - low <= 70 && n < ((int64_t)1 << 40)) {
        wide total = 0;
        for (int64_t t = 0; t < n; t++) {
            int ex, ey;
            wide product = significand_of(a[t * a_step], &ex);
            product *= significand_of(b[t * b_step], &ey);
            if (product != 0) total += product * ((wide)1 << (ex + ey - low));
        }
        set_wide(sum, work, total, total == 0 ? 0 : low);
        return;
    }
    mpfr_set_zero(sum, 1);
    for (int64_t t = 0; t < n; t++) { /* every addition is exact at this precision */
        mpfr_set_d(work, gg_bf16_value(a[t * a_step]), MPFR_RNDN);
        mpfr_mul_d(work, work, gg_bf16_value(b[t * b_step]), MPFR_RNDN);
        mpfr_add(sum, sum, work, MPFR_RNDN);
    }
}
