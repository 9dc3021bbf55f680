/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

#include "reference/exact_exp.h"

TestSuite(exact_exp, .timeout = 20);

enum { WIDE = 400 };

/* The error of exp(x) in units of 2^-bits of the result, by 400 bits of mpfr_exp(). */
static double error_of(mpfr_srcptr x, mpfr_prec_t bits)
{
    mpfr_t to, z, exact;
    mpfr_inits2(bits, to, z, (mpfr_ptr)0);
    mpfr_init2(exact, WIDE);
    gg_exact_exp(to, x, z);
    mpfr_exp(exact, x, MPFR_RNDN);
    mpfr_t difference;
    mpfr_init2(difference, WIDE);
    mpfr_sub(difference, to, exact, MPFR_RNDN);
    mpfr_div(difference, difference, exact, MPFR_RNDN);
    mpfr_mul_2si(difference, difference, bits, MPFR_RNDN);
    double error = fabs(mpfr_get_d(difference, MPFR_RNDN));
    mpfr_clears(to, z, exact, difference, (mpfr_ptr)0);
    return error;
}

static double largest(mpfr_prec_t bits)
{
    static const double scale[] = {0x1p-80, 0x1p-34, 0x1p-31, 1e-3, 1, 12, 255.99, 300, 7e4};
    gmp_randstate_t state;
    gmp_randinit_default(state);
    double worst = 0;
    mpfr_t x;
    mpfr_init2(x, bits + 40);
    for (int k = 0; k < 9 * 400; k++) {
        mpfr_urandomb(x, state);
        mpfr_mul_d(x, x, -scale[k % 9], MPFR_RNDN);
        worst = fmax(worst, error_of(x, bits));
    }
    for (int k = 0; k <= 64; k++) { /* around digits, where one is taken for its neighbour */
        for (int side = -1; side <= 1; side++) {
            mpfr_set_d(x, -(double)(k % 8 + 1) * ldexp(1, 5 - k), MPFR_RNDN);
            if (side < 0) mpfr_nextbelow(x);
            if (side > 0) mpfr_nextabove(x);
            worst = fmax(worst, error_of(x, bits));
        }
    }
    mpfr_clear(x);
    gmp_randclear(state);
    return worst;
}

Test(exact_exp, error_is_below_its_bound)
{
    static const mpfr_prec_t bits[] = {128, 192, 288};
    for (int k = 0; k < 3; k++) {
        double worst = largest(bits[k]);
        cr_assert(worst < ldexp(1, GG_EXACT_EXP_LOST), "%ld bits: %g units", (long)bits[k],
                  worst);
    }
}

Test(exact_exp, zero_infinity_and_nan)
{
    mpfr_t to, x, z;
    mpfr_inits2(128, to, x, z, (mpfr_ptr)0);
    mpfr_set_zero(x, -1);
    gg_exact_exp(to, x, z);
    cr_assert(mpfr_cmp_si(to, 1) == 0);
    mpfr_set_inf(x, -1);
    gg_exact_exp(to, x, z);
    cr_assert(mpfr_zero_p(to));
    mpfr_set_nan(x);
    gg_exact_exp(to, x, z);
    cr_assert(mpfr_nan_p(to));
    mpfr_clears(to, x, z, (mpfr_ptr)0);
}
