/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/arithmetic/log2.h"

#include <criterion/criterion.h>

#include "kernels/arithmetic/bf16.h"

/* Error of the fraction in its ulp; the whole part must be exact. */
static double ulps(float x)
{
    gg_log2_parts y = gg_log2(x);
    double exact = log2((double)x) - (double)y.whole;
    double ulp = exact == 0 ? 0x1p-149 : ldexp(1, ilogb(exact) - 23);
    cr_assert(fabs(y.fraction) <= 0.5f && y.whole == rintf(y.whole));
    return fabs((double)y.fraction - exact) / ulp;
}

Test(log2, within_three_ulp_and_a_bit)
{
    double worst = 0;
    for (uint32_t bits = 0x3f000000u; bits < 0x40000000u; bits += 7) {
        double u = ulps(gg_float_from_bits(bits));
        if (u > worst) worst = u;
    }
    cr_assert(worst <= 3.1, "%g ulp", worst);
    cr_assert(worst > 2, "a bound that cannot fail");
}

Test(log2, the_exponent_changes_nothing_else)
{
    for (uint32_t bits = 0x00800000u; bits < 0x7f800000u; bits += 1009) {
        uint32_t of_one = (bits & 0x007fffffu) | 0x3f800000u;
        gg_log2_parts x = gg_log2(gg_float_from_bits(bits));
        gg_log2_parts y = gg_log2(gg_float_from_bits(of_one));
        cr_assert_eq(x.fraction, y.fraction);
        cr_assert_eq(x.whole - y.whole, (float)((int)(bits >> 23) - 127));
    }
}

Test(log2, powers_of_two_are_exact)
{
    for (int e = -126; e < 128; e++) {
        gg_log2_parts y = gg_log2(ldexpf(1, e));
        cr_assert_eq(y.whole, (float)e);
        cr_assert_eq(y.fraction, 0);
    }
}

Test(log2, infinity_and_nan_pass)
{
    cr_assert(isinf(gg_log2(INFINITY).whole));
    cr_assert(isnan(gg_log2(NAN).whole));
    cr_assert_eq(gg_log2(INFINITY).fraction, 0);
}
