/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/arithmetic/log2.h"

#include <criterion/criterion.h>

#include "kernels/arithmetic/bf16.h"

static double ulps(float x)
{
    double exact = log2((double)x);
    double ulp = exact == 0 ? 0x1p-149 : ldexp(1, ilogb(exact) - 23);
    return fabs((double)gg_log2(x) - exact) / ulp;
}

Test(log2, within_three_ulp_and_a_bit)
{
    double worst = 0;
    for (uint32_t bits = 0x00800000u; bits < 0x7f800000u; bits += 1009) {
        double u = ulps(gg_float_from_bits(bits));
        if (u > worst) worst = u;
    }
    for (uint32_t bits = 0x3f000000u; bits < 0x40000000u; bits += 7) {
        double u = ulps(gg_float_from_bits(bits));
        if (u > worst) worst = u;
    }
    cr_assert(worst <= 3.1, "%g ulp", worst);
    cr_assert(worst > 2, "a bound that cannot fail");
}

Test(log2, powers_of_two_are_exact)
{
    for (int e = -126; e < 128; e++) cr_assert_eq(gg_log2(ldexpf(1, e)), (float)e);
}

Test(log2, infinity_and_nan_pass)
{
    cr_assert(isinf(gg_log2(INFINITY)));
    cr_assert(isnan(gg_log2(NAN)));
}
