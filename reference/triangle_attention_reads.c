/* SPDX-License-Identifier: Apache-2.0
 * Which inputs the MPFR of chosen elements reads, so that a case on a card can be certified
 * without fetching all of it: o and dq read their query's rows of q, dout and bias and the
 * k and v of their slice; dk and dv the whole slice and its plane of bias; dbias that of its
 * query in every row r. Masks and lengths are small, and read whole. */
#include <stdlib.h>

#include "reference/triangle_attention_internal.h"

enum { KEYS = 1, WHOLE = 2 }; /* of a slice: k and v, or q and dout too */

typedef struct reads {
    const gg_problem *problem;
    gg_reader *visit;
    void *context;
    uint8_t *slice; /* [B R H] */
    uint8_t *plane; /* [B H] 1: all of its bias */
} reads;

static int64_t rows_of(const gg_point *point, const int64_t *extent)
{
    return point->output == GG_TA_DBIAS ? extent[GG_TA_R] : 1;
}

/* The query that a point needs in its k-th slice. */
static int64_t query_of(const gg_point *point, const int64_t *extent, int64_t k)
{
    int64_t n = extent[GG_TA_N], h = extent[GG_TA_H];
    if (point->output != GG_TA_DBIAS) return point->element / extent[GG_TA_D];
    int64_t line = point->element / n, plane = line / n;
    int64_t slice = (plane / h * extent[GG_TA_R] + k) * h + plane % h;
    return slice * n + line % n;
}

static int64_t plane_of(const int64_t *extent, int64_t slice)
{
    return slice / extent[GG_TA_H] / extent[GG_TA_R] * extent[GG_TA_H] +
           slice % extent[GG_TA_H];
}

static void mark(reads *t, const gg_point *point)
{
    const int64_t *extent = t->problem->extent;
    bool whole = point->output == GG_TA_DK || point->output == GG_TA_DV;
    for (int64_t k = 0; k < rows_of(point, extent); k++) {
        int64_t slice = query_of(point, extent, k) / extent[GG_TA_N];
        if (t->slice[slice] < WHOLE) t->slice[slice] = whole ? WHOLE : KEYS;
        if (whole) t->plane[plane_of(extent, slice)] = 1;
    }
}

static gg_status visit(const reads *t, int input, int64_t first, int64_t count)
{
    return t->problem->input[input].data ? t->visit(t->context, input, first, count) : GG_OK;
}

/* The rows of single queries, where their slice or plane does not come whole. */
static gg_status visit_rows(const reads *t, const gg_point *point)
{
    const int64_t *extent = t->problem->extent;
    int64_t n = extent[GG_TA_N], d = extent[GG_TA_D];
    for (int64_t k = 0; k < rows_of(point, extent); k++) {
        int64_t query = query_of(point, extent, k), slice = query / n;
        int64_t plane = plane_of(extent, slice);
        if (t->slice[slice] != WHOLE) {
            GG_TRY(visit(t, GG_TA_Q, query * d, d));
            GG_TRY(visit(t, GG_TA_DOUT, query * d, d));
        }
        if (k == 0 && !t->plane[plane])
            GG_TRY(visit(t, GG_TA_BIAS, (plane * n + query % n) * n, n));
    }
    return GG_OK;
}

/* Runs of slices that are at least at `level`. */
static gg_status visit_slices(const reads *t, int input, uint8_t level)
{
    const int64_t *extent = t->problem->extent;
    int64_t slices = extent[GG_TA_B] * extent[GG_TA_R] * extent[GG_TA_H];
    int64_t each = extent[GG_TA_N] * extent[GG_TA_D];
    for (int64_t s = 0, end; s < slices; s = end) {
        for (end = s; end < slices && t->slice[end] >= level;) end++;
        if (end > s) GG_TRY(visit(t, input, s * each, (end - s) * each));
        else end++;
    }
    return GG_OK;
}

static gg_status visit_whole(const reads *t)
{
    const int64_t *extent = t->problem->extent;
    int64_t planes = extent[GG_TA_B] * extent[GG_TA_H];
    int64_t pairs = extent[GG_TA_N] * extent[GG_TA_N];
    int64_t rows = extent[GG_TA_B] * extent[GG_TA_R];
    GG_TRY(visit_slices(t, GG_TA_K, KEYS));
    GG_TRY(visit_slices(t, GG_TA_V, KEYS));
    GG_TRY(visit_slices(t, GG_TA_Q, WHOLE));
    GG_TRY(visit_slices(t, GG_TA_DOUT, WHOLE));
    for (int64_t p = 0; p < planes; p++)
        if (t->plane[p]) GG_TRY(visit(t, GG_TA_BIAS, p * pairs, pairs));
    GG_TRY(visit(t, GG_TA_MASK, 0, rows * extent[GG_TA_N]));
    return visit(t, GG_TA_KEY_LENGTHS, 0, rows);
}

gg_status gg_triangle_attention_exact_reads(const gg_problem *problem,
                                            const gg_point *points, int count,
                                            gg_reader *visitor, void *context)
{
    const int64_t *extent = problem->extent;
    size_t planes = (size_t)(extent[GG_TA_B] * extent[GG_TA_H]);
    reads t = {.problem = problem, .visit = visitor, .context = context,
               .slice = calloc(planes * (size_t)extent[GG_TA_R] + 1, 1),
               .plane = calloc(planes + 1, 1)};
    gg_status status = t.slice && t.plane
                           ? GG_OK : gg_fail(GG_NO_MEMORY, "no memory for MPFR points");
    for (int p = 0; status == GG_OK && p < count; p++) mark(&t, &points[p]);
    int64_t last = -1; /* neighbours mostly share their query or line */
    for (int p = 0; status == GG_OK && p < count; p++) {
        int64_t group = gg_triangle_attention_exact_share(problem, points[p].output,
                                                          points[p].element).group;
        if (group != last) status = visit_rows(&t, &points[p]);
        last = group;
    }
    if (status == GG_OK) status = visit_whole(&t);
    free(t.plane);
    free(t.slice);
    return status;
}
