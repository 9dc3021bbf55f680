/* SPDX-License-Identifier: Apache-2.0
 * The terms of one element of the linear layer. A product of two BF16 has 16 bits, so
 * every term is exact in binary64. */
#include "reference/linear_internal.h"
#include "reference/terms.h"

static const struct {
    const char *formula;
    char letter;
    const char *left, *right;
} sums[GG_LINEAR_OUTPUTS] = {
    [GG_LINEAR_Y] = {"x[m,k] w[n,k]", 'k', "x", "w"},
    [GG_LINEAR_DX] = {"dy[m,n] w[n,k]", 'n', "dy", "w"},
    [GG_LINEAR_DW] = {"dy[m,n] x[m,k]", 'm', "dy", "x"},
};

gg_status gg_linear_terms(const gg_problem *problem, int output, int64_t element,
                          gg_terms *terms, int threads)
{
    bool wanted[GG_LINEAR_OUTPUTS] = {false};
    (void)threads;
    if (output < 0 || output >= GG_LINEAR_OUTPUTS)
        return gg_fail(GG_BAD_INPUT, "linear: there is no output %d", output);
    wanted[output] = true;
    GG_TRY(gg_linear_check(problem, wanted));
    gg_linear_product p = gg_linear_product_of(problem, output);
    if (element < 0 || element >= p.rows * p.columns)
        return gg_fail(GG_BAD_INPUT, "linear: output %d has no element %lld", output,
                       (long long)element);
    *terms = (gg_terms){.formula = sums[output].formula, .letter = sums[output].letter,
                        .factor_name = {sums[output].left, sums[output].right}};
    const uint16_t *left = p.left + element / p.columns * p.left_row;
    const uint16_t *right = p.right + element % p.columns * p.right_column;
    for (int64_t t = 0; t < p.terms; t++) {
        gg_term term = {.index = t};
        term.factor[0] = gg_bf16_value(left[t * p.left_term]);
        term.factor[1] = gg_bf16_value(right[t * p.right_term]);
        term.value = term.factor[0] * term.factor[1];
        gg_terms_add(terms, &term);
    }
    return GG_OK;
}
