/* SPDX-License-Identifier: Apache-2.0
 * The terms of one element of triangle attention, each computed in MPFR and rounded once
 * to binary64:
 *   o      P_ij v_jd over keys j              dv     P_ij dout_id over queries i
 *   dq     sc dS_ij k_jd over keys j          dk     sc dS_ij q_id over queries i
 *   dbias  dS_rij over rows r
 * with dS = P (dP - delta). Nothing is a term where the key is invalid or the row dead.
 *
 * 192 bits: where dP - delta cancels, gg_exact_row keeps its absolute error below
 * 2^-150 of the largest |dP|, so a term is right to binary64 unless it is that small. */
#include <stdlib.h>

#include "reference/exact_dot.h"
#include "reference/parallel.h"
#include "reference/terms.h"
#include "reference/triangle_attention_exact_row.h"

enum { BITS = 192 };

/* Everything about an element, and one row of scratch a thread. */
typedef struct gather {
    const gg_problem *problem;
    int output;
    int64_t slice, n, d; /* o dq dk dv: element (slice, n, d) */
    int64_t b, h, i, j;  /* dbias */
    bool gradient;       /* the terms hold dS, not P alone */
    gg_exact_row *rows;
    int threads;
    gg_term *terms;      /* by the summed index */
    bool *live;
} gather;

static void locate(gather *g, int64_t element)
{
    const int64_t *extent = g->problem->extent;
    int64_t n = extent[GG_TA_N], d = extent[GG_TA_D];
    g->d = element % d;
    g->n = element / d % n;
    g->slice = element / d / n;
    if (g->output != GG_TA_DBIAS) return;
    g->j = element % n;
    g->i = element / n % n;
    g->h = element / n / n % extent[GG_TA_H];
    g->b = element / n / n / extent[GG_TA_H];
}

static const uint16_t *vector(const gather *g, int which, int64_t slice, int64_t n)
{
    const int64_t *extent = g->problem->extent;
    const uint16_t *data = g->problem->input[which].data;
    return data + (slice * extent[GG_TA_N] + n) * extent[GG_TA_D];
}

/* The factor that a query's or key's own vector gives; 1 for dbias. */
static double operand(const gather *g, int64_t slice, int64_t i, int64_t key)
{
    switch (g->output) {
    case GG_TA_O: return gg_bf16_value(vector(g, GG_TA_V, slice, key)[g->d]);
    case GG_TA_DQ: return gg_bf16_value(vector(g, GG_TA_K, slice, key)[g->d]);
    case GG_TA_DK: return gg_bf16_value(vector(g, GG_TA_Q, slice, i)[g->d]);
    case GG_TA_DV: return gg_bf16_value(vector(g, GG_TA_DOUT, slice, i)[g->d]);
    default: return 1.0;
    }
}

/* row->dot = what gg_exact_row takes from every dP and so from delta. */
static void find_shift(const gather *g, gg_exact_row *row, int64_t slice, int64_t i)
{
    if (!g->gradient || row->keys == 0) return;
    gg_exact_dot(row->dot, row->work, vector(g, GG_TA_DOUT, slice, i), 1,
                 vector(g, GG_TA_V, slice, row->key[0]), 1, g->problem->extent[GG_TA_D]);
    if (!mpfr_number_p(row->dot)) mpfr_set_zero(row->dot, 1);
}

/* The term of valid key number `at` of the query that `row` holds. */
static void read_term(const gather *g, gg_exact_row *row, int64_t slice, int64_t i,
                      int64_t at, gg_term *term)
{
    double vector_there = operand(g, slice, i, row->key[at]);
    int factors = 0;
    mpfr_div(row->term, row->e[at], row->l, MPFR_RNDN);
    term->factor[factors++] = mpfr_get_d(row->term, MPFR_RNDN);
    if (g->gradient) {
        mpfr_div(row->term, row->de[at], row->l, MPFR_RNDN);
        mpfr_add(row->sum, row->dp[at], row->dot, MPFR_RNDN);
        term->factor[factors++] = mpfr_get_d(row->sum, MPFR_RNDN);
        mpfr_add(row->sum, row->delta, row->dot, MPFR_RNDN);
        term->factor[factors++] = mpfr_get_d(row->sum, MPFR_RNDN);
    }
    if (g->output != GG_TA_DBIAS) {
        term->factor[factors] = vector_there;
        mpfr_mul_d(row->term, row->term, vector_there, MPFR_RNDN);
    }
    if (g->output == GG_TA_DQ || g->output == GG_TA_DK)
        mpfr_mul(row->term, row->term, row->sc, MPFR_RNDN);
    term->value = mpfr_get_d(row->term, MPFR_RNDN) + 0.0;
}

/* Query number `index` of those the element needs. */
static void read_query(void *context, int64_t index, int worker)
{
    gather *g = context;
    const int64_t *extent = g->problem->extent;
    gg_exact_row *row = &g->rows[worker];
    bool over_keys = g->output == GG_TA_O || g->output == GG_TA_DQ;
    bool is_bias = g->output == GG_TA_DBIAS;
    int64_t slice = is_bias ? (g->b * extent[GG_TA_R] + index) * extent[GG_TA_H] + g->h
                            : g->slice;
    int64_t i = is_bias ? g->i : over_keys ? g->n : index;
    gg_exact_row_compute(row, slice, i);
    find_shift(g, row, slice, i);
    for (int64_t at = 0; at < row->keys; at++) {
        int64_t key = row->key[at], to = over_keys ? key : index;
        if (!over_keys && key != (is_bias ? g->j : g->n)) continue;
        g->terms[to].index = to;
        g->live[to] = true;
        read_term(g, row, slice, i, at, &g->terms[to]);
    }
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE); /* threads end */
}

static const gg_terms kinds[GG_TA_OUTPUTS] = {
    [GG_TA_O] = {.formula = "P[i,j] v[j,d]", .letter = 'j', .factor_name = {"P", "v"}},
    [GG_TA_DQ] = {.formula = "sc P[i,j] (dP[i,j] - delta[i]) k[j,d]",
                  .letter = 'j',
                  .factor_name = {"P", "dP", "delta", "k"}},
    [GG_TA_DK] = {.formula = "sc P[i,j] (dP[i,j] - delta[i]) q[i,d]",
                  .axes = "brhjd",
                  .letter = 'i',
                  .factor_name = {"P", "dP", "delta", "q"}},
    [GG_TA_DV] = {.formula = "P[i,j] dout[i,d]",
                  .axes = "brhjd",
                  .letter = 'i',
                  .factor_name = {"P", "dout"}},
    [GG_TA_DBIAS] = {.formula = "P[r,i,j] (dP[r,i,j] - delta[r,i])",
                     .letter = 'r',
                     .factor_name = {"P", "dP", "delta"}},
};

static gg_status check(const gg_problem *problem, int output, int64_t element)
{
    const int64_t *extent = problem->extent;
    if (output < 0 || output >= GG_TA_OUTPUTS)
        return gg_fail(GG_BAD_INPUT, "triangle_attention: there is no output %d", output);
    GG_TRY(gg_triangle_attention_check(problem, output != GG_TA_O));
    GG_TRY(gg_triangle_attention_check_lengths(problem));
    int64_t n = extent[GG_TA_N], lines = extent[GG_TA_B] * extent[GG_TA_H] * n;
    int64_t end =
        output == GG_TA_DBIAS ? lines * n : lines * extent[GG_TA_R] * extent[GG_TA_D];
    if (element >= 0 && element < end) return GG_OK;
    return gg_fail(GG_BAD_INPUT, "triangle_attention: output %d has no element %lld",
                   output, (long long)element);
}

static bool open_rows(gather *g)
{
    bool opened = true;
    g->rows = calloc((size_t)g->threads, sizeof *g->rows);
    for (int w = 0; g->rows && w < g->threads; w++)
        opened = gg_exact_row_open(&g->rows[w], g->problem, BITS, g->gradient) && opened;
    return g->rows && opened;
}

gg_status gg_triangle_attention_terms(const gg_problem *problem, int output,
                                      int64_t element, gg_terms *terms, int threads)
{
    GG_TRY(check(problem, output, element));
    bool over_keys = output == GG_TA_O || output == GG_TA_DQ;
    int64_t count = problem->extent[output == GG_TA_DBIAS ? GG_TA_R : GG_TA_N];
    int64_t queries = over_keys ? 1 : count;
    gather g = {.problem = problem, .output = output, .threads = threads};
    if (threads < 1 || !mpfr_buildopt_tls_p()) g.threads = 1;
    if (g.threads > queries) g.threads = (int)queries;
    g.gradient = output != GG_TA_O && output != GG_TA_DV;
    locate(&g, element);
    *terms = kinds[output];
    g.terms = calloc((size_t)count, sizeof *g.terms);
    g.live = calloc((size_t)count, sizeof *g.live);
    bool fits = open_rows(&g) && g.terms && g.live;
    if (fits) gg_parallel(queries, g.threads, read_query, &g);
    for (int64_t t = 0; fits && t < count; t++)
        if (g.live[t]) gg_terms_add(terms, &g.terms[t]);
    for (int w = 0; g.rows && w < g.threads; w++) gg_exact_row_close(&g.rows[w]);
    free(g.rows);
    free(g.live);
    free(g.terms);
    if (fits) return GG_OK;
    return gg_fail(GG_NO_MEMORY, "triangle_attention: no memory for the terms of an "
                                 "element in MPFR");
}
