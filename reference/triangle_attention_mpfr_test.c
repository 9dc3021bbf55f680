/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <mpfr.h>

#include "reference/triangle_attention_fixture.h"

TestSuite(triangle_attention_mpfr, .timeout = 60);

/* Every element of every output. */
static gg_point *all_points(const fixture *f, int *count)
{
    int64_t total = 0;
    for (int o = 0; o < GG_TA_OUTPUTS; o++) total += fixture_count(f, o);
    gg_point *points = malloc((size_t)total * sizeof *points), *next = points;
    for (int o = 0; o < GG_TA_OUTPUTS; o++)
        for (int64_t i = 0; i < fixture_count(f, o); i++)
            *next++ = (gg_point){.output = o, .element = i, .value = NAN};
    *count = (int)total;
    return points;
}

/* Largest |binary64 - MPFR| in units of the allowance. */
static double distance(const fixture *f, const gg_point *points, int count)
{
    double largest = 0.0;
    for (int p = 0; p < count; p++) {
        const gg_point *point = &points[p];
        double value = f->truth.value[point->output][point->element];
        double allowance = f->truth.allowance[point->output][point->element];
        cr_assert(point->agreed, "output %d element %lld at %d bits", point->output,
                  (long long)point->element, point->precision_bits);
        double error = fabs(value - point->value);
        if (allowance == 0.0) cr_assert(error == 0.0);
        else if (!(error / allowance <= largest)) largest = error / allowance;
    }
    return largest;
}

static double check(const shape *s, uint64_t seed)
{
    fixture f = fixture_open(s, seed);
    int count;
    gg_point *points = all_points(&f, &count);
    gg_status status = gg_triangle_attention_host(&f.problem, &f.truth, 2);
    cr_assert_eq(status, GG_OK, "%s", gg_message());
    status = gg_triangle_attention_exact(&f.problem, points, count, 2);
    cr_assert_eq(status, GG_OK, "%s", gg_message());
    double largest = distance(&f, points, count);
    free(points);
    fixture_close(&f);
    return largest;
}

Test(triangle_attention_mpfr, binary64_is_far_closer_than_any_kernel_may_be)
{
    static const shape shapes[] = {
        {1, 1, 1, 1, 1, ALL_KEYS, GG_F32, 1.0},
        {2, 3, 2, 7, 5, MASKED, GG_F32, 1.0},
        {1, 5, 2, 8, 4, LENGTHS, GG_BF16, 1.0},
        {1, 3, 1, 18, 16, ALL_KEYS, GG_BF16, 4.0},
        {1, 2, 1, 9, 3, MASKED, GG_F32, 300.0},
        {2, 1, 1, 17, 2, LENGTHS, GG_F32, 30.0},
        {1, 2, 2, 12, 32, ALL_KEYS, GG_F32, 16.0},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        double largest = check(&shapes[s], 100 + s);
        cr_assert(largest <= 1e-9, "shape %zu: %g of the allowance", s, largest);
    }
}

/* Scores of +-6e4 that differ by a few units, so that the softmax stays soft. */
Test(triangle_attention_mpfr, huge_scores)
{
    shape s = {1, 2, 1, 8, 3, ALL_KEYS, GG_F32, 1.0};
    fixture f = fixture_open(&s, 21);
    float *bias = f.problem.input[GG_TA_BIAS].data;
    for (int64_t i = 0; i < f.pairs; i++)
        bias[i] += i / 8 % 2 ? 6e4f : -6e4f;
    int count;
    gg_point *points = all_points(&f, &count);
    cr_assert_eq(gg_triangle_attention_host(&f.problem, &f.truth, 2), GG_OK);
    cr_assert_eq(gg_triangle_attention_exact(&f.problem, points, count, 2), GG_OK);
    double largest = distance(&f, points, count);
    cr_assert(largest <= 1e-9, "%g of the allowance", largest);
    free(points);
    fixture_close(&f);
}

Test(triangle_attention_mpfr, points_do_not_depend_on_threads_or_company)
{
    shape s = {1, 3, 2, 6, 3, MASKED, GG_F32, 2.0};
    fixture f = fixture_open(&s, 22);
    int count;
    gg_point *points = all_points(&f, &count);
    cr_assert_eq(gg_triangle_attention_exact(&f.problem, points, count, 2), GG_OK);
    for (int p = 0; p < count; p += 5) {
        gg_point one = {.output = points[p].output, .element = points[p].element};
        cr_assert_eq(gg_triangle_attention_exact(&f.problem, &one, 1, 1), GG_OK);
        cr_assert_eq(memcmp(&one.value, &points[p].value, sizeof one.value), 0);
        cr_assert(one.agreed && one.precision_bits == points[p].precision_bits);
    }
    free(points);
    fixture_close(&f);
}

static void fill(gg_tensor *t, uint16_t bits)
{
    for (int64_t i = 0; i < gg_tensor_count(t); i++) ((uint16_t *)t->data)[i] = bits;
}

/* Equal scores: P = 1/N exactly, whatever N. v is +1, -1 and 0, so that delta is 0 and
 * dbias at the third key cancels to 0 through terms of 1/3 that are all rounded. */
Test(triangle_attention_mpfr, equal_scores_by_hand_and_exact_zeros)
{
    shape s = {1, 2, 1, 3, 1, ALL_KEYS, GG_F32, 1.0};
    fixture f = fixture_open(&s, 23);
    fill(&f.problem.input[GG_TA_Q], 0);
    fill(&f.problem.input[GG_TA_DOUT], gg_bf16_round(1.0));
    memset(f.problem.input[GG_TA_BIAS].data, 0, 9 * sizeof(float));
    uint16_t *v = f.problem.input[GG_TA_V].data;
    for (int i = 0; i < 6; i++) v[i] = gg_bf16_round((double[]){1.0, -1.0, 0.0}[i % 3]);
    int count;
    gg_point *points = all_points(&f, &count);
    cr_assert_eq(gg_triangle_attention_exact(&f.problem, points, count, 2), GG_OK);
    static const double dbias[] = {2.0 / 3.0, -2.0 / 3.0, 0.0};
    for (int p = 0; p < count; p++) {
        cr_assert(points[p].agreed);
        double value = points[p].value;
        switch (points[p].output) {
        case GG_TA_O: cr_assert_eq(value, 0.0); break;
        case GG_TA_DK: cr_assert_eq(value, 0.0); break;
        case GG_TA_DV: cr_assert_eq(value, 1.0); break;
        case GG_TA_DBIAS: cr_assert_eq(value, dbias[points[p].element % 3]); break;
        default: break;
        }
    }
    free(points);
    fixture_close(&f);
}

/* With every key vector alike, dq = sc k sum_j dS_ij = 0 through terms that are all
 * rounded: no precision settles it, the size of the terms does. */
Test(triangle_attention_mpfr, sums_of_rounded_terms_that_cancel_to_zero)
{
    shape s = {1, 1, 1, 5, 3, ALL_KEYS, GG_F32, 1.0};
    fixture f = fixture_open(&s, 26);
    fill(&f.problem.input[GG_TA_K], gg_bf16_round(1.0));
    for (int i = 0; i < 15; i++) {
        gg_point point = {.output = GG_TA_DQ, .element = i, .value = NAN};
        cr_assert_eq(gg_triangle_attention_exact(&f.problem, &point, 1, 1), GG_OK);
        cr_assert(point.agreed);
        cr_assert_eq(point.value, 0.0);
    }
    fixture_close(&f);
}

/* --- the formulas once more, in the plainest loops, with 1500 bits everywhere --- */

enum { WIDE = 1500, MOST = 8 };

typedef struct wide {
    const gg_problem *problem;
    int64_t N, D;
    mpfr_t p[MOST][MOST], ds[MOST][MOST], sc, x, y;
} wide;

static void wide_element(mpfr_t to, const wide *t, int which, int64_t slice, int64_t n,
                         int64_t d)
{
    const uint16_t *data = t->problem->input[which].data;
    mpfr_set_d(to, gg_bf16_value(data[(slice * t->N + n) * t->D + d]), MPFR_RNDN);
}

static void wide_dot(mpfr_t sum, wide *t, int a, int64_t i, int b, int64_t j,
                     int64_t slice)
{
    mpfr_set_zero(sum, 1);
    for (int64_t d = 0; d < t->D; d++) {
        wide_element(t->x, t, a, slice, i, d);
        wide_element(t->y, t, b, slice, j, d);
        mpfr_fma(sum, t->x, t->y, sum, MPFR_RNDN);
    }
}

/* P without a shift by the maximum: the exponent range of MPFR is wide enough. */
static void wide_query(wide *t, int64_t slice, int64_t i)
{
    const float *bias = t->problem->input[GG_TA_BIAS].data;
    mpfr_t l, delta;
    mpfr_inits2(WIDE, l, delta, (mpfr_ptr)0);
    mpfr_set_zero(l, 1);
    mpfr_set_zero(delta, 1);
    for (int64_t j = 0; j < t->N; j++) {
        wide_dot(t->p[i][j], t, GG_TA_Q, i, GG_TA_K, j, slice);
        mpfr_mul(t->p[i][j], t->p[i][j], t->sc, MPFR_RNDN);
        mpfr_add_d(t->p[i][j], t->p[i][j], (double)bias[i * t->N + j], MPFR_RNDN);
        mpfr_exp(t->p[i][j], t->p[i][j], MPFR_RNDN);
        mpfr_add(l, l, t->p[i][j], MPFR_RNDN);
    }
    for (int64_t j = 0; j < t->N; j++) {
        mpfr_div(t->p[i][j], t->p[i][j], l, MPFR_RNDN);
        wide_dot(t->ds[i][j], t, GG_TA_DOUT, i, GG_TA_V, j, slice);
        mpfr_fma(delta, t->p[i][j], t->ds[i][j], delta, MPFR_RNDN);
    }
    for (int64_t j = 0; j < t->N; j++) {
        mpfr_sub(t->ds[i][j], t->ds[i][j], delta, MPFR_RNDN);
        mpfr_mul(t->ds[i][j], t->ds[i][j], t->p[i][j], MPFR_RNDN);
    }
    mpfr_clears(l, delta, (mpfr_ptr)0);
}

static double wide_output(wide *t, int output, int64_t slice, int64_t n, int64_t d)
{
    static const int right[] = {GG_TA_V, GG_TA_K, GG_TA_Q, GG_TA_DOUT};
    bool by_key = output == GG_TA_DK || output == GG_TA_DV;
    bool of_p = output == GG_TA_O || output == GG_TA_DV;
    mpfr_set_zero(t->y, 1);
    for (int64_t m = 0; m < t->N; m++) {
        int64_t i = by_key ? m : n, j = by_key ? n : m;
        wide_element(t->x, t, right[output], slice, m, d);
        mpfr_fma(t->y, of_p ? t->p[i][j] : t->ds[i][j], t->x, t->y, MPFR_RNDN);
    }
    if (!of_p) mpfr_mul(t->y, t->y, t->sc, MPFR_RNDN);
    return mpfr_get_d(t->y, MPFR_RNDN);
}

static void assert_exact(const gg_problem *problem, int output, int64_t element,
                         double expected)
{
    gg_point point = {.output = output, .element = element};
    cr_assert_eq(gg_triangle_attention_exact(problem, &point, 1, 1), GG_OK);
    cr_assert_eq(point.value, expected, "output %d element %lld: %a, expected %a",
                 output, (long long)element, point.value, expected);
}

static void check_against_wide(const shape *s, uint64_t seed)
{
    fixture f = fixture_open(s, seed);
    wide t = {.problem = &f.problem, .N = s->N, .D = s->D};
    mpfr_inits2(WIDE, t.sc, t.x, t.y, (mpfr_ptr)0);
    mpfr_set_si(t.sc, (long)s->D, MPFR_RNDN);
    mpfr_rec_sqrt(t.sc, t.sc, MPFR_RNDN);
    for (int i = 0; i < s->N; i++)
        for (int j = 0; j < s->N; j++)
            mpfr_inits2(WIDE, t.p[i][j], t.ds[i][j], (mpfr_ptr)0);
    for (int64_t r = 0; r < s->R; r++) {
        for (int64_t i = 0; i < s->N; i++) wide_query(&t, r, i);
        for (int o = GG_TA_O; o <= GG_TA_DV; o++)
            for (int64_t n = 0; n < s->N; n++)
                assert_exact(&f.problem, o, (r * s->N + n) * s->D + n % s->D,
                             wide_output(&t, o, r, n, n % s->D));
        for (int64_t i = 0; s->R == 1 && i < s->N * s->N; i++)
            assert_exact(&f.problem, GG_TA_DBIAS, i,
                         mpfr_get_d(t.ds[i / s->N][i % s->N], MPFR_RNDN));
    }
    for (int i = 0; i < s->N; i++)
        for (int j = 0; j < s->N; j++) mpfr_clears(t.p[i][j], t.ds[i][j], (mpfr_ptr)0);
    mpfr_clears(t.sc, t.x, t.y, (mpfr_ptr)0);
    fixture_close(&f);
}

Test(triangle_attention_mpfr, points_are_the_exact_results_rounded_once)
{
    static const shape shapes[] = {{1, 1, 1, 7, 3, ALL_KEYS, GG_F32, 1.0},
                                   {1, 2, 1, 6, 8, ALL_KEYS, GG_F32, 3.0},
                                   {1, 1, 1, 8, 2, ALL_KEYS, GG_F32, 2e4},
                                   {1, 1, 1, 5, 4, ALL_KEYS, GG_F32, 0x1p27}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        check_against_wide(&shapes[s], 200 + s);
}

/* One key holds 1 - 2^-150 of the weight: dS at the other needs more than 128 bits in
 * the difference, and 1/4 of e^-104 of the result must still be right. */
Test(triangle_attention_mpfr, cancellation_climbs_the_ladder)
{
    shape s = {1, 1, 1, 2, 1, ALL_KEYS, GG_F32, 1.0};
    fixture f = fixture_open(&s, 24);
    fill(&f.problem.input[GG_TA_Q], 0);
    fill(&f.problem.input[GG_TA_DOUT], gg_bf16_round(1.0));
    float *bias = f.problem.input[GG_TA_BIAS].data;
    bias[0] = bias[2] = 104.0f;
    bias[1] = bias[3] = 0.0f;
    uint16_t *v = f.problem.input[GG_TA_V].data;
    v[0] = gg_bf16_round(1.0);
    v[1] = gg_bf16_round(2.0);
    gg_point points[] = {{.output = GG_TA_DBIAS, .element = 0},
                         {.output = GG_TA_DBIAS, .element = 1},
                         {.output = GG_TA_O, .element = 0}};
    cr_assert_eq(gg_triangle_attention_exact(&f.problem, points, 3, 1), GG_OK);
    double small = exp(-104.0); /* P of key 1; dS = -+P (1 - P) */
    cr_assert(points[0].agreed && points[1].agreed && points[2].agreed);
    cr_assert(fabs(points[0].value + small) <= 1e-14 * small, "%a", points[0].value);
    cr_assert(fabs(points[1].value - small) <= 1e-14 * small, "%a", points[1].value);
    cr_assert_eq(points[2].value, 1.0);
    fixture_close(&f);
}

Test(triangle_attention_mpfr, minus_infinity_and_dead_rows)
{
    shape s = {1, 2, 1, 5, 2, LENGTHS, GG_F32, 1.0};
    fixture f = fixture_open(&s, 25);
    ((int32_t *)f.problem.input[GG_TA_KEY_LENGTHS].data)[0] = 4;
    float *bias = f.problem.input[GG_TA_BIAS].data;
    for (int j = 0; j < 5; j++) bias[5 + j] = -INFINITY;
    bias[2] = -INFINITY;
    bias[4] = NAN; /* invalid in both rows */
    int count;
    gg_point *points = all_points(&f, &count);
    cr_assert_eq(gg_triangle_attention_host(&f.problem, &f.truth, 2), GG_OK);
    cr_assert_eq(gg_triangle_attention_exact(&f.problem, points, count, 2), GG_OK);
    cr_assert(distance(&f, points, count) <= 1e-9);
    free(points);
    fixture_close(&f);
}

Test(triangle_attention_mpfr, cost_counts_exponentials)
{
    gg_problem p = {.extent = {1, 3, 2, 5, 4}};
    cr_assert_eq(gg_triangle_attention_exact_share(&p, GG_TA_DQ, 0).cost, 5.0);
    cr_assert_eq(gg_triangle_attention_exact_share(&p, GG_TA_DV, 0).cost, 25.0);
    cr_assert_eq(gg_triangle_attention_exact_share(&p, GG_TA_DBIAS, 0).cost, 15.0);
}

/* B R H N D = 1 3 2 5 4: element 27 is d = 3 of token 1 in slice 1; of dbias, it is j = 2
 * of line 5. */
Test(triangle_attention_mpfr, elements_share_a_query_a_slice_or_a_line)
{
    gg_problem p = {.extent = {1, 3, 2, 5, 4}};
    gg_exact_share o = gg_triangle_attention_exact_share(&p, GG_TA_O, 27);
    gg_exact_share dq = gg_triangle_attention_exact_share(&p, GG_TA_DQ, 27);
    gg_exact_share dk = gg_triangle_attention_exact_share(&p, GG_TA_DK, 27);
    gg_exact_share dv = gg_triangle_attention_exact_share(&p, GG_TA_DV, 27);
    gg_exact_share dbias = gg_triangle_attention_exact_share(&p, GG_TA_DBIAS, 27);
    cr_assert(o.first == 24 && o.count == 4 && o.group == dq.group);
    cr_assert(dk.first == 20 && dk.count == 20 && dk.group == dv.group);
    cr_assert(dbias.first == 25 && dbias.count == 5);
    cr_assert(o.group != dk.group && dk.group != dbias.group && o.group != dbias.group);
    /* the last query, slice and line of each kind are below the first of the next */
    gg_exact_share last = gg_triangle_attention_exact_share(&p, GG_TA_O, 119);
    cr_assert_eq(last.group + 1, gg_triangle_attention_exact_share(&p, GG_TA_DK, 0).group);
    last = gg_triangle_attention_exact_share(&p, GG_TA_DK, 119);
    cr_assert_eq(last.group + 1,
                 gg_triangle_attention_exact_share(&p, GG_TA_DBIAS, 0).group);
}
