/* SPDX-License-Identifier: Apache-2.0
 * Chosen elements of the linear layer without rounding: the products of BF16 numbers
 * are summed exactly, and the sum is rounded once to binary64. So no second precision
 * is needed for agreement. */
#include <mpfr.h>

#include "reference/exact_dot.h"
#include "reference/linear_internal.h"
#include "reference/parallel.h"

typedef struct plan {
    const gg_problem *problem;
    gg_point *points;
    int64_t count;
} plan;

enum { POINTS_AT_ONCE = 64 };

static void compute(void *context, int64_t index, int worker)
{
    (void)worker;
    plan *t = context;
    mpfr_t sum, work;
    mpfr_inits2(GG_EXACT_DOT_BITS, sum, work, (mpfr_ptr)0);
    for (int64_t i = index * POINTS_AT_ONCE;
         i < (index + 1) * POINTS_AT_ONCE && i < t->count; i++) {
        gg_point *point = &t->points[i];
        gg_linear_product p = gg_linear_product_of(t->problem, point->output);
        int64_t row = point->element / p.columns, column = point->element % p.columns;
        gg_exact_dot(sum, work, p.left + row * p.left_row, p.left_term,
                     p.right + column * p.right_column, p.right_term, p.terms);
        point->value = mpfr_get_d(sum, MPFR_RNDN);
        point->precision_bits = GG_EXACT_DOT_BITS;
        point->agreed = true;
    }
    mpfr_clears(sum, work, (mpfr_ptr)0);
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
}

gg_status gg_linear_exact(const gg_problem *problem, gg_point *points, int count,
                          int threads)
{
    bool wanted[GG_LINEAR_OUTPUTS] = {false};
    for (int i = 0; i < count; i++) {
        if (points[i].output < 0 || points[i].output >= GG_LINEAR_OUTPUTS)
            return gg_fail(GG_BAD_INPUT, "linear: point %d asks for output %d", i,
                           points[i].output);
        wanted[points[i].output] = true;
    }
    GG_TRY(gg_linear_check(problem, wanted));
    for (int i = 0; i < count; i++) {
        gg_linear_product p = gg_linear_product_of(problem, points[i].output);
        if (points[i].element < 0 || points[i].element >= p.rows * p.columns)
            return gg_fail(GG_BAD_INPUT,
                           "linear: point %d asks for element %lld of output "
                           "%d, which has %lld",
                           i, (long long)points[i].element, points[i].output,
                           (long long)(p.rows * p.columns));
    }
    plan t = {.problem = problem, .points = points, .count = count};
    if (threads < 1 || !mpfr_buildopt_tls_p()) threads = 1;
    gg_parallel(((int64_t)count + POINTS_AT_ONCE - 1) / POINTS_AT_ONCE, threads,
                compute, &t);
    return GG_OK;
}

/* No element shares work with another. An exact multiply-add is a hundredth of an
 * exponential. */
gg_exact_share gg_linear_exact_share(const gg_problem *problem, int output,
                                     int64_t element)
{
    int64_t before = 0;
    for (int o = 0; o < output; o++) {
        gg_linear_product p = gg_linear_product_of(problem, o);
        before += p.rows * p.columns;
    }
    double terms = (double)gg_linear_product_of(problem, output).terms;
    return (gg_exact_share){before + element, element, 1, terms / 100};
}
