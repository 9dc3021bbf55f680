/* SPDX-License-Identifier: Apache-2.0
 * Chosen elements of triangle attention in MPFR.
 *
 * A query (b, r, h, i) is one softmax of N exponentials. o and dq need one query, dk
 * and dv the N queries of their slice, dbias the R queries of their (h, i). So the
 * points of a call are turned into a sorted list of queries without repetition, each
 * computed once, and a sorted list of pairs (query, key) whose P and dS are kept for
 * the sums.
 *
 * Every point is computed at two precisions. Where the results, rounded to binary64,
 * differ, the next precision of the ladder is tried. A sum that cancels to exactly zero
 * through rounded terms never settles; when it stays below the rounding error of its
 * terms to the top of the ladder (2^-600 of the largest term), it is 0. */
#include <stdlib.h>

#include "reference/parallel.h"
#include "reference/triangle_attention_exact_row.h"

static const int ladder[] = {128, 192, 288, 448, 672};
enum { LADDER = sizeof ladder / sizeof ladder[0], POINTS_AT_ONCE = 4 };

typedef struct outcome {
    double value;
    bool nothing; /* not distinguishable from rounding errors */
} outcome;

/* P and dS of a pair (query, key); live: the key is valid and the row not dead. */
typedef struct pair {
    mpfr_t p, ds;
    mpfr_exp_t ds_size; /* exponent of P times the largest |dP| */
    bool live;
} pair;

/* A point whose query is known: o or dq. */
typedef struct direct {
    int64_t query;
    int point;
} direct;

typedef struct plan {
    const gg_problem *problem;
    const gg_point *points;
    outcome *results;
    int count;
    mpfr_prec_t bits;
    bool backward;
    int64_t *query;  /* ascending: slice N + i */
    int64_t *key;    /* ascending: query N + j */
    direct *direct;  /* ascending by query */
    int64_t queries, keys, directs;
    pair *pairs;     /* of key[] */
    uint64_t *limbs;
    int64_t limbs_each;
    gg_exact_row *rows; /* one for each thread */
    int threads;
} plan;

/* The indices of a point's element. */
typedef struct place {
    int64_t slice, n, d; /* o dq dk dv: element (slice, n, d) */
    int64_t b, h, i, j;  /* dbias */
} place;

static place find_place(const gg_problem *problem, const gg_point *point)
{
    const int64_t *extent = problem->extent;
    int64_t n = extent[GG_TA_N], d = extent[GG_TA_D], e = point->element;
    if (point->output == GG_TA_DBIAS)
        return (place){.j = e % n, .i = e / n % n, .h = e / n / n % extent[GG_TA_H],
                       .b = e / n / n / extent[GG_TA_H]};
    return (place){.d = e % d, .n = e / d % n, .slice = e / d / n};
}

static int64_t slice_of(const gg_problem *problem, const place *at, int64_t r)
{
    const int64_t *extent = problem->extent;
    return (at->b * extent[GG_TA_R] + r) * extent[GG_TA_H] + at->h;
}

static int compare(const void *a, const void *b)
{
    int64_t x, y; /* the first member, also of a `direct` */
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static int64_t sort_unique(int64_t *list, int64_t count)
{
    int64_t kept = 0;
    qsort(list, (size_t)count, sizeof *list, compare);
    for (int64_t i = 0; i < count; i++)
        if (kept == 0 || list[i] != list[kept - 1]) list[kept++] = list[i];
    return kept;
}

/* Number of the first element that is not below `value`. */
static int64_t lower_bound(const int64_t *list, int64_t count, int64_t value)
{
    int64_t low = 0;
    while (count > 0) {
        int64_t half = count / 2;
        if (list[low + half] < value) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}

/* The k-th pair that a sum over queries needs, as query N + j. */
static int64_t pair_of(const plan *t, const gg_point *point, const place *at, int64_t k)
{
    int64_t n = t->problem->extent[GG_TA_N];
    if (point->output == GG_TA_DBIAS)
        return (slice_of(t->problem, at, k) * n + at->i) * n + at->j;
    return (at->slice * n + k) * n + at->n;
}

static int64_t terms_of(const plan *t, const gg_point *point)
{
    if (point->output <= GG_TA_DQ) return 0;
    return t->problem->extent[point->output == GG_TA_DBIAS ? GG_TA_R : GG_TA_N];
}

/* One number for all points that share their pairs: dk and dv at any d. */
static int64_t family_of(const plan *t, const gg_point *point, const place *at)
{
    int64_t family = point->output == GG_TA_DBIAS
                         ? point->element
                         : at->slice * t->problem->extent[GG_TA_N] + at->n;
    return family * 2 + (point->output == GG_TA_DBIAS);
}

typedef struct family {
    int64_t number;
    int point;
} family;

/* All pairs, without repetition. */
static bool list_pairs(plan *t)
{
    family *families = malloc((size_t)t->count * sizeof *families);
    if (families == NULL) return false;
    int64_t found = 0, total = 0, kept = 0;
    for (int p = 0; p < t->count; p++) {
        place at = find_place(t->problem, &t->points[p]);
        if (terms_of(t, &t->points[p]) > 0)
            families[found++] = (family){family_of(t, &t->points[p], &at), p};
    }
    qsort(families, (size_t)found, sizeof *families, compare);
    for (int64_t f = 0; f < found; f++)
        if (kept == 0 || families[f].number != families[kept - 1].number) {
            families[kept++] = families[f];
            total += terms_of(t, &t->points[families[f].point]);
        }
    t->key = malloc((size_t)(total + 1) * sizeof *t->key);
    for (int64_t f = 0; t->key && f < kept; f++) {
        const gg_point *point = &t->points[families[f].point];
        place at = find_place(t->problem, point);
        for (int64_t k = 0; k < terms_of(t, point); k++)
            t->key[t->keys++] = pair_of(t, point, &at, k);
    }
    free(families);
    if (t->key) t->keys = sort_unique(t->key, t->keys);
    return t->key != NULL;
}

static bool list_queries(plan *t)
{
    int64_t n = t->problem->extent[GG_TA_N];
    t->direct = malloc((size_t)t->count * sizeof *t->direct);
    t->query = malloc((size_t)(t->count + t->keys) * sizeof *t->query);
    if (t->direct == NULL || t->query == NULL) return false;
    for (int p = 0; p < t->count; p++) {
        if (terms_of(t, &t->points[p]) > 0) continue;
        place at = find_place(t->problem, &t->points[p]);
        t->direct[t->directs++] = (direct){at.slice * n + at.n, p};
        t->query[t->queries++] = at.slice * n + at.n;
    }
    qsort(t->direct, (size_t)t->directs, sizeof *t->direct, compare);
    for (int64_t k = 0; k < t->keys; k++)
        if (k == 0 || t->key[k] / n != t->key[k - 1] / n)
            t->query[t->queries++] = t->key[k] / n;
    t->queries = sort_unique(t->query, t->queries);
    return true;
}

static bool open_pairs(plan *t)
{
    t->limbs_each = (int64_t)((mpfr_custom_get_size(t->bits) + 7) / 8);
    t->pairs = malloc((size_t)(t->keys + 1) * sizeof *t->pairs);
    t->limbs = malloc((size_t)((t->keys + 1) * 2 * t->limbs_each) * sizeof *t->limbs);
    return t->pairs && t->limbs;
}

static outcome conclude(const plan *t, mpfr_srcptr sum, mpfr_exp_t size)
{
    outcome result = {.value = mpfr_get_d(sum, MPFR_RNDN) + 0.0};
    result.nothing = mpfr_zero_p(sum) ||
                     (mpfr_regular_p(sum) &&
                      mpfr_get_exp(sum) < size - (t->bits - GG_EXACT_SLACK));
    return result;
}

static void keep_pair(const plan *t, gg_exact_row *row, int64_t k, int64_t j)
{
    pair *to = &t->pairs[k];
    uint64_t *limbs = t->limbs + k * 2 * t->limbs_each;
    mpfr_custom_init_set(to->p, MPFR_ZERO_KIND, 0, t->bits, limbs);
    mpfr_custom_init_set(to->ds, MPFR_ZERO_KIND, 0, t->bits, limbs + t->limbs_each);
    int32_t at = row->keys ? row->place[j] : -1;
    to->live = at >= 0;
    to->ds_size = GG_EXACT_NOTHING;
    if (!to->live) return;
    mpfr_div(to->p, row->e[at], row->l, MPFR_RNDN);
    mpfr_div(to->ds, row->de[at], row->l, MPFR_RNDN);
    to->ds_size = gg_exact_size(to->p) + row->dp_size;
}

/* MPFR keeps constants for each thread; threads end, so they are given back. */
static void forget_constants(void) { mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE); }

static void compute_query(void *context, int64_t index, int worker)
{
    plan *t = context;
    gg_exact_row *row = &t->rows[worker];
    int64_t n = t->problem->extent[GG_TA_N], query = t->query[index], slice = query / n;
    gg_exact_row_compute(row, slice, query % n);
    for (int64_t k = lower_bound(t->key, t->keys, query * n);
         k < t->keys && t->key[k] / n == query; k++)
        keep_pair(t, row, k, t->key[k] % n);
    int64_t low = 0, high = t->directs;
    while (low < high) {
        int64_t half = (low + high) / 2;
        if (t->direct[half].query < query) low = half + 1;
        else high = half;
    }
    for (; low < t->directs && t->direct[low].query == query; low++) {
        int p = t->direct[low].point;
        place at = find_place(t->problem, &t->points[p]);
        mpfr_exp_t size = t->points[p].output == GG_TA_O
                              ? gg_exact_row_o(row, slice, at.d)
                              : gg_exact_row_dq(row, slice, at.d);
        t->results[p] = conclude(t, row->sum, size);
    }
    forget_constants();
}

/* The factor of term k in dk (q), dv (dout) and dbias (1). */
static double factor_of(const plan *t, const gg_point *point, const place *at,
                        int64_t k)
{
    const int64_t *extent = t->problem->extent;
    if (point->output == GG_TA_DBIAS) return 1.0;
    int which = point->output == GG_TA_DK ? GG_TA_Q : GG_TA_DOUT;
    const uint16_t *data = t->problem->input[which].data;
    return gg_bf16_value(
        data[(at->slice * extent[GG_TA_N] + k) * extent[GG_TA_D] + at->d]);
}

static void sum_point(const plan *t, gg_exact_row *row, int p)
{
    const gg_point *point = &t->points[p];
    place at = find_place(t->problem, point);
    mpfr_exp_t largest = GG_EXACT_NOTHING;
    mpfr_set_zero(row->sum, 1);
    for (int64_t k = 0; k < terms_of(t, point); k++) {
        int64_t found = lower_bound(t->key, t->keys, pair_of(t, point, &at, k));
        const pair *from = &t->pairs[found];
        if (!from->live) continue;
        bool is_dv = point->output == GG_TA_DV;
        mpfr_set_d(row->term, factor_of(t, point, &at, k), MPFR_RNDN);
        mpfr_exp_t size = gg_exact_size(row->term) +
                          (is_dv ? gg_exact_size(from->p) : from->ds_size);
        if (size > largest) largest = size;
        mpfr_fma(row->sum, is_dv ? from->p : from->ds, row->term, row->sum, MPFR_RNDN);
    }
    if (point->output == GG_TA_DK) mpfr_mul(row->sum, row->sum, row->sc, MPFR_RNDN);
    t->results[p] = conclude(t, row->sum, largest);
}

static void sum_points(void *context, int64_t index, int worker)
{
    const plan *t = context;
    for (int64_t p = index * POINTS_AT_ONCE;
         p < (index + 1) * POINTS_AT_ONCE && p < t->count; p++)
        if (terms_of(t, &t->points[p]) > 0) sum_point(t, &t->rows[worker], (int)p);
    forget_constants();
}

static bool open_rows(plan *t)
{
    bool opened = true;
    t->rows = calloc((size_t)t->threads, sizeof *t->rows);
    for (int w = 0; t->rows && w < t->threads; w++)
        opened =
            gg_exact_row_open(&t->rows[w], t->problem, t->bits, t->backward) && opened;
    return t->rows && opened;
}

/* All points at one precision. */
static gg_status evaluate(const gg_problem *problem, const gg_point *points, int count,
                          int bits, int threads, outcome *results)
{
    plan t = {.problem = problem, .points = points, .results = results, .count = count,
              .bits = bits, .threads = threads};
    for (int p = 0; p < count; p++)
        t.backward = t.backward || points[p].output != GG_TA_O;
    bool fits = list_pairs(&t) && list_queries(&t) && open_pairs(&t);
    if (t.threads > t.queries && t.queries > 0) t.threads = (int)t.queries;
    fits = fits && open_rows(&t);
    if (fits) {
        gg_parallel(t.queries, t.threads, compute_query, &t);
        gg_parallel((count + POINTS_AT_ONCE - 1) / POINTS_AT_ONCE, t.threads,
                    sum_points, &t);
    }
    for (int w = 0; t.rows && w < t.threads; w++) gg_exact_row_close(&t.rows[w]);
    free(t.rows);
    free(t.limbs);
    free(t.pairs);
    free(t.query);
    free(t.direct);
    free(t.key);
    if (fits) return GG_OK;
    return gg_fail(GG_NO_MEMORY,
                   "triangle_attention: no memory for %d points in MPFR; ask "
                   "for fewer at a time",
                   count);
}

static bool same(double a, double b) { return a == b || (a != a && b != b); }

/* Takes the results at ladder[step]; keeps in `open` the points that did not settle. */
static int settle(gg_point *points, int *open, int count, const outcome *now, int step,
                  bool *nothing)
{
    int left = 0;
    for (int k = 0; k < count; k++) {
        gg_point *point = &points[open[k]];
        bool agreed = step > 0 && same(point->value, now[k].value);
        if (step == LADDER - 1 && nothing[open[k]] && now[k].nothing) {
            point->value = 0.0;
            agreed = true;
        } else {
            point->value = now[k].value;
        }
        nothing[open[k]] = now[k].nothing;
        point->precision_bits = ladder[step];
        point->agreed = agreed;
        if (!agreed) open[left++] = open[k];
    }
    return left;
}

static gg_status climb(const gg_problem *problem, gg_point *points, int count,
                       int threads)
{
    size_t size = (size_t)count + 1;
    gg_point *asked = malloc(size * sizeof *asked);
    outcome *now = malloc(size * sizeof *now);
    int *open = malloc(size * sizeof *open);
    bool *nothing = calloc(size, sizeof *nothing);
    gg_status status = GG_OK;
    if (!asked || !now || !open || !nothing)
        status =
            gg_fail(GG_NO_MEMORY, "triangle_attention: no memory for %d points", count);
    for (int p = 0; status == GG_OK && p < count; p++) open[p] = p;
    int left = count;
    for (int step = 0; status == GG_OK && step < LADDER && left > 0; step++) {
        for (int k = 0; k < left; k++) asked[k] = points[open[k]];
        status = evaluate(problem, asked, left, ladder[step], threads, now);
        if (status == GG_OK) left = settle(points, open, left, now, step, nothing);
    }
    free(nothing);
    free(open);
    free(now);
    free(asked);
    return status;
}

gg_status gg_triangle_attention_exact(const gg_problem *problem, gg_point *points,
                                      int count, int threads)
{
    bool backward = false;
    for (int p = 0; p < count; p++) backward = backward || points[p].output != GG_TA_O;
    GG_TRY(gg_triangle_attention_check(problem, backward));
    GG_TRY(gg_triangle_attention_check_lengths(problem));
    const int64_t *extent = problem->extent;
    int64_t pairs =
        extent[GG_TA_B] * extent[GG_TA_H] * extent[GG_TA_N] * extent[GG_TA_N];
    int64_t elements = extent[GG_TA_B] * extent[GG_TA_R] * extent[GG_TA_H] *
                       extent[GG_TA_N] * extent[GG_TA_D];
    for (int p = 0; p < count; p++) {
        const gg_point *point = &points[p];
        int64_t end = point->output == GG_TA_DBIAS ? pairs : elements;
        if (point->output < 0 || point->output >= GG_TA_OUTPUTS || point->element < 0 ||
            point->element >= end)
            return gg_fail(GG_BAD_INPUT,
                           "triangle_attention: point %d asks for element "
                           "%lld of output %d, which does not exist",
                           p, (long long)point->element, point->output);
    }
    if (threads < 1 || !mpfr_buildopt_tls_p()) threads = 1;
    return climb(problem, points, count, threads);
}

/* Groups: the queries, then the slices (b, r, h), then the lines (b, h, i). */
gg_exact_share gg_triangle_attention_exact_share(const gg_problem *problem, int output,
                                                 int64_t element)
{
    const int64_t *extent = problem->extent;
    int64_t n = extent[GG_TA_N], r = extent[GG_TA_R], d = extent[GG_TA_D];
    int64_t slices = extent[GG_TA_B] * r * extent[GG_TA_H], count, group;
    double cost = (double)n;
    if (output == GG_TA_DBIAS) {
        count = n;
        group = slices * n + slices;
        cost *= (double)r;
    } else if (output == GG_TA_DK || output == GG_TA_DV) {
        count = n * d;
        group = slices * n;
        cost *= (double)n;
    } else {
        count = d;
        group = 0;
    }
    int64_t at = element / count;
    return (gg_exact_share){group + at, at * count, count, cost};
}
