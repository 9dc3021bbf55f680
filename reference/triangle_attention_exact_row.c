/* SPDX-License-Identifier: Apache-2.0
 * q k and dout v are exact sums. S is rounded with enough bits that its absolute error,
 * which becomes a relative one of exp(S - max), stays below 2^-bits. All else has a
 * relative rounding error of 2^-bits an operation, exp of 2^-(bits - 4).
 *
 * dS = P (dP - delta) does not change when a constant is taken from all dP; taking that
 * of the first valid key makes dS exactly zero where all dP are equal. */
#include "reference/triangle_attention_exact_row.h"

#include <stdlib.h>

#include "reference/exact_dot.h"
#include "reference/exact_exp.h"

static mpfr_t *open_array(int64_t count, mpfr_prec_t bits)
{
    mpfr_t *array = malloc((size_t)count * sizeof *array);
    for (int64_t j = 0; array && j < count; j++) mpfr_init2(array[j], bits);
    return array;
}

static void close_array(mpfr_t *array, int64_t count)
{
    for (int64_t j = 0; array && j < count; j++) mpfr_clear(array[j]);
    free((void *)array);
}

bool gg_exact_row_open(gg_exact_row *row, const gg_problem *problem, mpfr_prec_t bits,
                       bool backward)
{
    int64_t n = problem->extent[GG_TA_N];
    *row = (gg_exact_row){.problem = problem, .bits = bits, .backward = backward};
    row->key = malloc((size_t)n * sizeof *row->key);
    row->place = malloc((size_t)n * sizeof *row->place);
    row->s = open_array(n, bits);
    row->e = open_array(n, bits);
    row->dp = open_array(n, bits);
    row->de = open_array(n, bits);
    mpfr_inits2(bits, row->l, row->delta, row->term, row->sum, row->max, (mpfr_ptr)0);
    mpfr_inits2(GG_EXACT_DOT_BITS, row->dot, row->work, (mpfr_ptr)0);
    /* |S| < 2^320: this many bits serve the widest S that compute_score asks for. */
    mpfr_init2(row->sc, bits + 384);
    mpfr_set_si(row->sc, (long)problem->extent[GG_TA_D], MPFR_RNDN);
    mpfr_rec_sqrt(row->sc, row->sc, MPFR_RNDN);
    mpfr_init2(row->sc_short, bits + 64);
    mpfr_set(row->sc_short, row->sc, MPFR_RNDN);
    return row->key && row->place && row->s && row->e && row->dp && row->de;
}

void gg_exact_row_close(gg_exact_row *row)
{
    int64_t n = row->problem->extent[GG_TA_N];
    mpfr_clears(row->l, row->delta, row->term, row->sum, row->max, row->dot, row->work,
                row->sc, row->sc_short, (mpfr_ptr)0);
    close_array(row->de, n);
    close_array(row->dp, n);
    close_array(row->e, n);
    close_array(row->s, n);
    free(row->place);
    free(row->key);
}

static const uint16_t *input(const gg_exact_row *row, int which, int64_t slice,
                             int64_t n)
{
    const int64_t *extent = row->problem->extent;
    const uint16_t *data = row->problem->input[which].data;
    return data + (slice * extent[GG_TA_N] + n) * extent[GG_TA_D];
}

/* S of valid key number j: |error| <= 2^-(bits + 30). */
static void compute_score(gg_exact_row *row, int64_t slice, int64_t i, int64_t j)
{
    const int64_t *extent = row->problem->extent;
    int64_t batch = slice / extent[GG_TA_H] / extent[GG_TA_R];
    int64_t h = slice % extent[GG_TA_H];
    int64_t n = extent[GG_TA_N], at = ((batch * extent[GG_TA_H] + h) * n + i) * n;
    gg_exact_dot(row->dot, row->work, input(row, GG_TA_Q, slice, i), 1,
                 input(row, GG_TA_K, slice, row->key[j]), 1, extent[GG_TA_D]);
    double bias = gg_triangle_attention_bias(row->problem, at + row->key[j]);
    mpfr_set_d(row->work, bias, MPFR_RNDN);
    mpfr_exp_t size = gg_exact_size(row->dot), other = gg_exact_size(row->work);
    if (other > size) size = other;
    mpfr_set_prec(row->s[j], row->bits + 32 + (size > 0 ? size : 0));
    /* below 2^32 the short sc, off by 2^-(bits + 65) of it, keeps S within 2^-(bits + 32) */
    mpfr_fma(row->s[j], row->dot, size < 32 ? row->sc_short : row->sc, row->work, MPFR_RNDN);
}

/* The largest S, 0 in place of -infinity; false when every S is -infinity. */
static bool find_max(gg_exact_row *row)
{
    int64_t best = -1, infinite = 0;
    for (int64_t j = 0; j < row->keys; j++) {
        if (mpfr_inf_p(row->s[j]) && mpfr_sgn(row->s[j]) < 0) infinite++;
        else if (best < 0 || mpfr_greater_p(row->s[j], row->s[best])) best = j;
    }
    if (infinite == row->keys) return false;
    mpfr_set_prec(row->max, mpfr_get_prec(row->s[best]));
    mpfr_set(row->max, row->s[best], MPFR_RNDN);
    return true;
}

static void compute_softmax(gg_exact_row *row)
{
    mpfr_set_zero(row->l, 1);
    for (int64_t j = 0; j < row->keys; j++) {
        mpfr_prec_t bits = mpfr_get_prec(row->s[j]);
        if (bits < mpfr_get_prec(row->max))
            mpfr_prec_round(row->s[j], mpfr_get_prec(row->max), MPFR_RNDN);
        mpfr_sub(row->s[j], row->s[j], row->max, MPFR_RNDN);
        gg_exact_exp(row->e[j], row->s[j], row->term);
        mpfr_add(row->l, row->l, row->e[j], MPFR_RNDN);
    }
}

static void compute_gradient(gg_exact_row *row, int64_t slice, int64_t i)
{
    row->dp_size = GG_EXACT_NOTHING;
    mpfr_set_zero(row->delta, 1);
    mpfr_t first;
    mpfr_init2(first, GG_EXACT_DOT_BITS);
    for (int64_t j = 0; j < row->keys; j++) {
        gg_exact_dot(row->dot, row->work, input(row, GG_TA_DOUT, slice, i), 1,
                     input(row, GG_TA_V, slice, row->key[j]), 1,
                     row->problem->extent[GG_TA_D]);
        if (j == 0) mpfr_set(first, row->dot, MPFR_RNDN);
        if (j == 0 && !mpfr_number_p(first)) mpfr_set_zero(first, 1);
        mpfr_sub(row->dp[j], row->dot, first, MPFR_RNDN);
        if (gg_exact_size(row->dp[j]) > row->dp_size)
            row->dp_size = gg_exact_size(row->dp[j]);
        mpfr_fma(row->delta, row->e[j], row->dp[j], row->delta, MPFR_RNDN);
    }
    mpfr_clear(first);
    mpfr_div(row->delta, row->delta, row->l, MPFR_RNDN);
    for (int64_t j = 0; j < row->keys; j++) {
        mpfr_sub(row->term, row->dp[j], row->delta, MPFR_RNDN);
        mpfr_mul(row->de[j], row->e[j], row->term, MPFR_RNDN);
    }
}

void gg_exact_row_compute(gg_exact_row *row, int64_t slice, int64_t i)
{
    const int64_t *extent = row->problem->extent;
    int64_t line = slice / extent[GG_TA_H];
    row->keys = gg_triangle_attention_keys(row->problem, line / extent[GG_TA_R],
                                           line % extent[GG_TA_R], row->key);
    for (int64_t j = 0; j < extent[GG_TA_N]; j++) row->place[j] = -1;
    for (int64_t j = 0; j < row->keys; j++) row->place[row->key[j]] = (int32_t)j;
    for (int64_t j = 0; j < row->keys; j++) compute_score(row, slice, i, j);
    if (row->keys == 0 || !find_max(row)) {
        row->keys = 0;
        for (int64_t j = 0; j < extent[GG_TA_N]; j++) row->place[j] = -1;
        return;
    }
    compute_softmax(row);
    if (row->backward) compute_gradient(row, slice, i);
}

/* sum of factor[j] times element d of k or v at the valid keys, over l */
static mpfr_exp_t sum_over_keys(gg_exact_row *row, mpfr_t *factor, int which,
                                int64_t slice, int64_t d, mpfr_exp_t extra)
{
    mpfr_exp_t largest = GG_EXACT_NOTHING;
    mpfr_set_zero(row->sum, 1);
    if (row->keys == 0) return largest;
    for (int64_t j = 0; j < row->keys; j++) {
        double value = gg_bf16_value(input(row, which, slice, row->key[j])[d]);
        mpfr_set_d(row->term, value, MPFR_RNDN);
        mpfr_exp_t size = gg_exact_size(row->e[j]) + gg_exact_size(row->term);
        if (size > largest) largest = size;
        mpfr_fma(row->sum, factor[j], row->term, row->sum, MPFR_RNDN);
    }
    mpfr_div(row->sum, row->sum, row->l, MPFR_RNDN);
    return largest + extra - gg_exact_size(row->l);
}

mpfr_exp_t gg_exact_row_o(gg_exact_row *row, int64_t slice, int64_t d)
{
    return sum_over_keys(row, row->e, GG_TA_V, slice, d, 0);
}

mpfr_exp_t gg_exact_row_dq(gg_exact_row *row, int64_t slice, int64_t d)
{
    mpfr_exp_t size = sum_over_keys(row, row->de, GG_TA_K, slice, d, row->dp_size);
    mpfr_mul(row->sum, row->sum, row->sc, MPFR_RNDN);
    return size + gg_exact_size(row->sc);
}
