/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "reference/linear.h"
#include "reference/terms.h"

TestSuite(linear_terms, .timeout = 30);

enum { M = 11, N = 7, K = 33 };

static uint16_t x[M * K], w[N * K], dy[M * N];

static gg_problem make_problem(void)
{
    uint64_t state = 5;
    uint16_t *all[] = {x, w, dy};
    const int counts[] = {M * K, N * K, M * N};
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < counts[t]; i++) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            all[t][i] = gg_bf16_round((double)(state >> 11) * 0x1p-52 - 1.0);
        }
    return (gg_problem){.extent = {M, N, K},
                        .input = {{x, GG_BF16, 2, {M, K}},
                                  {w, GG_BF16, 2, {N, K}},
                                  {dy, GG_BF16, 2, {M, N}}}};
}

Test(linear_terms, sum_is_the_element)
{
    static const int64_t counts[] = {M * N, M * K, N * K}, totals[] = {K, N, M};
    gg_problem problem = make_problem();
    for (int o = 0; o < GG_LINEAR_OUTPUTS; o++)
        for (int64_t e = 0; e < counts[o]; e++) {
            gg_point point = {.output = o, .element = e};
            gg_terms terms;
            cr_assert_eq(gg_linear_exact(&problem, &point, 1, 1), GG_OK);
            cr_assert_eq(gg_linear_terms(&problem, o, e, &terms, 2), GG_OK);
            cr_assert_eq(terms.total, totals[o]);
            cr_assert(fabs(terms.sum - point.value) <= 1e-12 * terms.sum_abs);
            cr_assert_eq(terms.count, totals[o] < GG_TERMS ? totals[o] : GG_TERMS);
            for (int k = 0; k < terms.count; k++) {
                const gg_term *t = &terms.largest[k];
                cr_assert_eq(t->factor[0] * t->factor[1], t->value);
                cr_assert(k == 0 || fabs(t->value) <= fabs(terms.largest[k - 1].value));
            }
        }
}

/* dw[2,5] = sum over m of dy[m,2] x[m,5]: the index is m, the factors in that order. */
Test(linear_terms, names_say_what_the_factors_are)
{
    gg_problem problem = make_problem();
    gg_terms terms;
    cr_assert_eq(gg_linear_terms(&problem, GG_LINEAR_DW, 2 * K + 5, &terms, 1), GG_OK);
    cr_assert_eq(terms.letter, 'm');
    cr_assert_str_eq(terms.factor_name[0], "dy");
    cr_assert_str_eq(terms.factor_name[1], "x");
    cr_assert_null(terms.factor_name[2]);
    int64_t m = terms.largest[0].index;
    cr_assert_eq(terms.largest[0].factor[0], gg_bf16_value(dy[m * N + 2]));
    cr_assert_eq(terms.largest[0].factor[1], gg_bf16_value(x[m * K + 5]));
}

Test(linear_terms, refusals)
{
    gg_problem problem = make_problem();
    gg_terms terms;
    cr_assert_eq(gg_linear_terms(&problem, 3, 0, &terms, 1), GG_BAD_INPUT);
    cr_assert_eq(gg_linear_terms(&problem, -1, 0, &terms, 1), GG_BAD_INPUT);
    cr_assert_eq(gg_linear_terms(&problem, GG_LINEAR_Y, M * N, &terms, 1), GG_BAD_INPUT);
    cr_assert_eq(gg_linear_terms(&problem, GG_LINEAR_Y, -1, &terms, 1), GG_BAD_INPUT);
}

/* NaN explains a NaN, so it comes first; equal sizes keep the order of the index. */
Test(linear_terms, order_of_the_largest)
{
    static const double values[] = {1,  -2, (double)NAN, 2, 0.5, (double)INFINITY,
                                    -1, 3,  4,           5};
    static const int64_t wanted[GG_TERMS] = {2, 5, 9, 8, 7, 1, 3, 0};
    gg_terms terms = {0};
    for (int i = 0; i < 10; i++)
        gg_terms_add(&terms, &(gg_term){.index = i, .value = values[i]});
    cr_assert_eq(terms.total, 10);
    cr_assert_eq(terms.count, GG_TERMS);
    for (int k = 0; k < GG_TERMS; k++)
        cr_assert_eq(terms.largest[k].index, wanted[k], "place %d holds %lld", k,
                     (long long)terms.largest[k].index);
}
