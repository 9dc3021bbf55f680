/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <mpfr.h>

#include "reference/exp64.h"

TestSuite(exp64, .timeout = 30);

/* Error of gg_exp64(x) in ulp of the exact result. */
static double error_in_ulp(mpfr_t work, double x)
{
    double got = gg_exp64(x), exact;
    mpfr_set_d(work, x, MPFR_RNDN);
    mpfr_exp(work, work, MPFR_RNDN);
    exact = mpfr_get_d(work, MPFR_RNDN);
    int exponent;
    frexp(exact, &exponent);
    int ulp = exponent - 53 < -1074 ? -1074 : exponent - 53;
    mpfr_sub_d(work, work, got, MPFR_RNDN);
    mpfr_mul_2si(work, work, -ulp, MPFR_RNDN); /* before the error itself underflows */
    return fabs(mpfr_get_d(work, MPFR_RNDN));
}

static double largest_error(double low, double high, int count)
{
    mpfr_t work;
    mpfr_init2(work, 128);
    double largest = 0.0;
    /* an irrational step: no pattern in the low bits */
    for (int i = 0; i < count; i++) {
        double x = low + (high - low) * fmod(0.6180339887498949 * (double)i, 1.0);
        double error = error_in_ulp(work, x);
        if (!(error <= largest)) largest = error;
    }
    mpfr_clear(work);
    return largest;
}

Test(exp64, error_is_below_the_bound_in_the_header)
{
    cr_assert(largest_error(-708.3, 0.0, 60000) < 1.04);
    cr_assert(largest_error(-2.0, 0.0, 60000) < 1.04);
    cr_assert(largest_error(-0x1p-20, 0x1p-20, 2000) < 1.04);
    cr_assert(largest_error(0.0, 709.7, 20000) < 1.04);
}

/* The last product rounds once more: half of 2^-1074 beside the error above. */
Test(exp64, subnormal_results)
{
    cr_assert(largest_error(-745.2, -708.3, 20000) < 1.55);
}

/* Reduction switches at odd multiples of ln2/2: the largest |r| of both signs. */
Test(exp64, edges_of_the_reduction)
{
    mpfr_t work;
    mpfr_init2(work, 128);
    for (int n = -1021; n <= 1022; n++) {
        double x = ((double)n + 0.5) * 0.69314718055994530942;
        for (int step = -2; step <= 2; step++)
            cr_assert(error_in_ulp(work, x + (double)step * fabs(x) * 0x1p-52) < 1.04);
    }
    mpfr_clear(work);
}

Test(exp64, special_arguments)
{
    cr_assert_eq(gg_exp64(0.0), 1.0);
    cr_assert_eq(gg_exp64(-0.0), 1.0);
    cr_assert_eq(gg_exp64(-INFINITY), 0.0);
    cr_assert_eq(gg_exp64(-1e308), 0.0);
    cr_assert_eq(gg_exp64(-746.0), 0.0);
    cr_assert_eq(gg_exp64(-745.1), 0x1p-1074);
    cr_assert_eq(gg_exp64(INFINITY), INFINITY);
    cr_assert_eq(gg_exp64(710.0), INFINITY);
    cr_assert(isnan(gg_exp64(NAN)));
    cr_assert_eq(signbit(gg_exp64(-INFINITY)), 0);
}
