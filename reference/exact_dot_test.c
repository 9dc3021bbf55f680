/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>

#include "reference/exact_dot.h"
#include "reference/tensor.h"

TestSuite(exact_dot, .timeout = 20);

enum { N = 40 };

/* Against 4096-bit MPFR without any of the short cuts; `spread` in powers of 2. */
static void check(int spread, uint64_t state)
{
    uint16_t a[2 * N], b[3 * N];
    mpfr_t sum, work, slow, product;
    mpfr_inits2(GG_EXACT_DOT_BITS, sum, work, (mpfr_ptr)0);
    mpfr_inits2(4096, slow, product, (mpfr_ptr)0);
    mpfr_set_zero(slow, 1);
    for (int t = 0; t < N; t++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        int ea = (int)(state >> 33) % (2 * spread + 1) - spread;
        int eb = (int)(state >> 45) % (2 * spread + 1) - spread;
        a[2 * t] = gg_bf16_round(ldexp(1.0 + (double)(state >> 57) / 128.0, ea));
        b[3 * t] = gg_bf16_round(ldexp(state & 0x10000 ? 1.1 : -1.7, eb));
        mpfr_set_d(product, gg_bf16_value(a[2 * t]), MPFR_RNDN);
        mpfr_mul_d(product, product, gg_bf16_value(b[3 * t]), MPFR_RNDN);
        mpfr_add(slow, slow, product, MPFR_RNDN);
    }
    gg_exact_dot(sum, work, a, 2, b, 3, N);
    cr_assert(mpfr_equal_p(sum, slow), "spread 2^%d", spread);
    mpfr_clears(sum, work, slow, product, (mpfr_ptr)0);
}

Test(exact_dot, equals_a_wide_sum)
{
    static const int spreads[] = {0, 4, 15, 17, 18, 19, 30, 60, 126, 127};
    for (size_t s = 0; s < sizeof spreads / sizeof spreads[0]; s++)
        for (uint64_t seed = 0; seed < 50; seed++) check(spreads[s], seed);
}

static double value_of(const uint16_t *a, const uint16_t *b, int n)
{
    mpfr_t sum, work;
    mpfr_inits2(GG_EXACT_DOT_BITS, sum, work, (mpfr_ptr)0);
    gg_exact_dot(sum, work, a, 1, b, 1, n);
    double value = mpfr_get_d(sum, MPFR_RNDN);
    mpfr_clears(sum, work, (mpfr_ptr)0);
    return value;
}

Test(exact_dot, extremes)
{
    uint16_t largest[] = {0x7f7f, 0x7f7f, 0x0001}, mixed[] = {0x7f7f, 0xff7f, 0x0001};
    cr_assert_eq(value_of(largest, mixed, 3), 0x1p-266);
    cr_assert_eq(value_of(largest, mixed, 2), 0.0);
    uint16_t infinite[] = {0x7f80, 0x3f80}, ones[] = {0x3f80, 0x3f80}, zeros[] = {0, 0};
    cr_assert_eq(value_of(infinite, ones, 2), INFINITY);
    cr_assert(isnan(value_of(infinite, zeros, 2)));
    cr_assert_eq(value_of(ones, zeros, 2), 0.0);
    cr_assert_eq(value_of(ones, ones, 2), 2.0);
}
