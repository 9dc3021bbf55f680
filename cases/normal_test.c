/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/normal.h"

#include <criterion/criterion.h>

/* Error of z(word) in z, from the distribution function in long double: a step dz moves
 * it by density(z) dz. Taken at the near tail, where nothing cancels. */
static double error_of(uint32_t word)
{
    const long double root_2pi = 2.506628274631000502L, root_2 = 1.414213562373095049L;
    bool upper = word >> 31;
    long double z = (long double)fabs(gg_normal(word));
    long double p = ((long double)(upper ? ~word : word) + 0.5L) / 0x1p32L;
    long double got = 0.5L * erfcl(z / root_2);
    return (double)fabsl((got - p) * root_2pi * expl(z * z / 2));
}

Test(normal, inverts_the_distribution_function)
{
    double worst = 0;
    for (uint32_t i = 0; i < 300000; i++) {
        worst = fmax(worst, error_of(i));          /* the tail */
        worst = fmax(worst, error_of(i * 14317u)); /* all of it */
        worst = fmax(worst,
                     error_of(322122547u + (i - 150000) * 7)); /* the seam, 0.075 */
    }
    cr_assert(worst <= 4e-15, "largest error %.3g", worst);
}

/* Quantiles from tables: 1.959963984540054 at 0.975, 5.1993375821928165 at 1 - 1e-7. */
Test(normal, known_quantiles)
{
    cr_assert_float_eq(gg_normal(4187593113u), 1.959963984540054, 1e-8);
    cr_assert_float_eq(gg_normal(0xffffffffu), 6.337957754, 1e-8);
    cr_assert_float_eq(gg_normal(0x80000000u), 2.918106e-10, 1e-15);
    cr_assert_float_eq(gg_normal(429u), -5.1993375821928165, 1e-3);
}

Test(normal, is_odd_and_rises)
{
    double before = gg_normal(0);
    for (uint64_t w = 65521; w < 0x100000000u; w += 65521) {
        double z = gg_normal((uint32_t)w);
        cr_assert(before < z, "falls at word %llu", (unsigned long long)w);
        cr_assert_eq(z, -gg_normal(~(uint32_t)w));
        before = z;
    }
}

Test(normal, log_and_rsqrt_are_accurate)
{
    for (uint64_t odd = 1; odd < 0x100000000u; odd += 2 * 50021) {
        double p = (double)odd * 0x1p-33;
        long double log_error = (long double)gg_normal_log(p) - logl((long double)p);
        cr_assert(fabsl(log_error) <= 4e-15L, "log(%a)", p);
        double y = gg_normal_rsqrt(p * 1e3);
        cr_assert(fabsl((long double)y * sqrtl((long double)p * 1e3L) - 1) <= 1e-15L,
                  "rsqrt(%a)", p * 1e3);
    }
}

Test(normal, heavy_is_a_ratio_of_normals)
{
    double z0 = gg_normal(0xdeadbeef), z1 = gg_normal(7), z2 = gg_normal(0x80001234),
           z3 = gg_normal(0xfffff000);
    double wanted = z0 / sqrt(z1 * z1 + z2 * z2 + z3 * z3);
    double got = gg_heavy(0xdeadbeef, 7, 0x80001234, 0xfffff000);
    cr_assert_float_eq(got, wanted, 1e-15);
    cr_assert(isfinite(gg_heavy(0xffffffff, 0x80000000, 0x80000000, 0x80000000)));
}
