/* SPDX-License-Identifier: Apache-2.0
 * Triangle attention with chosen roundings on host threads: rows in ascending order for
 * each batch and head, queries in ascending order within a row. One thread a batch and
 * head, since dbias is a sum over rows in order: made for small problems. */
#include "reference/triangle_attention_rounded.h"

#include <stdlib.h>

#include "reference/parallel.h"
#include "reference/triangle_attention_internal.h"
#include "reference/triangle_attention_rounded_core.h"

/* A plain loop over d vectorises. */
#pragma GCC optimize("O3")

typedef struct job {
    const gg_truth *truth;
    gg_rounded_scheme scheme;
    gg_dtype output[GG_MAX_OUTPUTS];
    double *memory; /* of one thread: p, ds [N], o, dq [D], dk, dv [N D] */
    int64_t memory_each;
} job;

static bool both(unsigned has, int first, int last)
{
    int count = 0;
    for (int point = first; point <= last; point++) count += (has >> point & 1u) != 0;
    return count > 1;
}

gg_status gg_triangle_attention_rounded_check(const gg_problem *problem,
                                              const gg_roundings *roundings)
{
    unsigned has = roundings->has;
    GG_TRY(gg_triangle_attention_check(problem, true));
    if (both(has, GG_TA_P, GG_TA_P_PAIR) || both(has, GG_TA_P_DV, GG_TA_P_DV_PAIR) ||
        both(has, GG_TA_DS, GG_TA_DS_PAIR) || both(has, GG_TA_DELTA, GG_TA_DELTA_PAIR))
        return gg_fail(GG_BAD_INPUT,
                       "triangle_attention: of p, p_lazy, p_whole and p_pair "
                       "a kernel has one at most; so of p_dv and p_dv_pair, ds and "
                       "ds_pair, delta and delta_pair");
    if ((has >> GG_TA_P_WHOLE & 1u) &&
        (has >> GG_TA_DELTA & 1u || has >> GG_TA_DELTA_PAIR & 1u))
        return gg_fail(GG_BAD_INPUT,
                       "triangle_attention: with p_whole delta does not come "
                       "from o, so leave out delta and delta_pair");
    if (has >> GG_TA_POINTS || (roundings->on & ~has))
        return gg_fail(GG_INTERNAL, "triangle_attention: rounding points 0x%x of 0x%x",
                       roundings->on, has);
    if (problem->extent[GG_TA_D] > GG_TA_ROUNDED_HEAD)
        return gg_fail(GG_BAD_INPUT,
                       "triangle_attention: an error budget takes D up to %d",
                       GG_TA_ROUNDED_HEAD);
    return GG_OK;
}

static void write(const job *t, int output, int64_t at, double x)
{
    double *values = t->truth->value[output];
    if (values != NULL)
        values[at] = gg_rounded_stored(&t->scheme, t->output[output], x);
}

/* Adds query i to the sums over queries, and its dS to dbias. */
static void add_query(const job *t, const gg_rounded_query *at, double *dk, double *dv)
{
    const gg_rounded_scheme *s = &t->scheme;
    int64_t first = (at->slice * s->N + at->i) * s->D, row = at->slice / s->H;
    int64_t head = row / s->R * s->H + at->slice % s->H;
    double *dbias = t->truth->value[GG_TA_DBIAS];
    bool ends = gg_rounded_step_ends(at->i, s->N);
    if (dbias != NULL) dbias += (head * s->N + at->i) * s->N;
    for (int64_t j = 0; j < s->N; j++) {
        double p = gg_rounded_at(s, GG_TA_P_DV, GG_TA_P_DV_PAIR, at->p[j]);
        double ds = gg_rounded_at(s, GG_TA_DS, GG_TA_DS_PAIR, at->ds[j]);
        if (p != 0) gg_rounded_add(dv + j * s->D, p, s->dout + first, s->D);
        if (p != 0) gg_rounded_add(dk + j * s->D, ds, s->q + first, s->D);
        if (dbias != NULL) dbias[j] = gg_rounded_f32(s, dbias[j] + at->ds[j]);
        if (!ends) continue;
        gg_rounded_cut_all(s, dv + j * s->D, s->D);
        gg_rounded_cut_all(s, dk + j * s->D, s->D);
    }
}

static void one_row(const job *t, int64_t slice, double *memory)
{
    const gg_rounded_scheme *s = &t->scheme;
    int64_t N = s->N, D = s->D;
    gg_rounded_query at = {.slice = slice,
                           .stride = 1,
                           .p = memory,
                           .ds = memory + N,
                           .o = memory + 2 * N,
                           .dq = memory + 2 * N + D};
    double *dk = memory + 2 * (N + D), *dv = dk + N * D;
    memset(dk, 0, (size_t)(2 * N * D) * sizeof *dk);
    for (at.i = 0; at.i < N; at.i++) {
        gg_rounded_run_backward(s, &at, gg_rounded_run_forward(s, &at, D), D);
        for (int64_t d = 0; d < D; d++) {
            write(t, GG_TA_O, (slice * N + at.i) * D + d, at.o[d]);
            write(t, GG_TA_DQ, (slice * N + at.i) * D + d, at.dq[d]);
        }
        add_query(t, &at, dk, dv);
    }
    for (int64_t e = 0; e < N * D; e++) {
        write(t, GG_TA_DK, slice * N * D + e, gg_rounded_f32(s, dk[e] * s->sc));
        write(t, GG_TA_DV, slice * N * D + e, dv[e]);
    }
}

static void one_head(void *context, int64_t head, int worker)
{
    const job *t = context;
    const gg_rounded_scheme *s = &t->scheme;
    int64_t pairs = s->N * s->N;
    double *dbias = t->truth->value[GG_TA_DBIAS];
    if (dbias != NULL) memset(dbias + head * pairs, 0, (size_t)pairs * sizeof *dbias);
    for (int64_t r = 0; r < s->R; r++)
        one_row(t, (head / s->H * s->R + r) * s->H + head % s->H,
                t->memory + worker * t->memory_each);
    for (int64_t e = head * pairs; dbias != NULL && e < (head + 1) * pairs; e++)
        write(t, GG_TA_DBIAS, e, dbias[e]);
}

gg_status gg_triangle_attention_rounded_host(const gg_problem *problem,
                                             const gg_roundings *roundings,
                                             const gg_truth *truth, int threads)
{
    GG_TRY(gg_triangle_attention_rounded_check(problem, roundings));
    GG_TRY(gg_triangle_attention_check_lengths(problem));
    job t = {.truth = truth, .scheme = gg_rounded_scheme_of(problem, roundings)};
    int64_t heads = problem->extent[GG_TA_B] * t.scheme.H;
    memcpy(t.output, roundings->output, sizeof t.output);
    if (threads > heads) threads = (int)heads;
    t.memory_each = 2 * (t.scheme.N + t.scheme.D + t.scheme.N * t.scheme.D);
    t.memory = malloc((size_t)threads * (size_t)t.memory_each * sizeof *t.memory);
    if (t.memory == NULL)
        return gg_fail(GG_NO_MEMORY, "no memory for an evaluation with roundings");
    gg_parallel(heads, threads, one_head, &t);
    free(t.memory);
    return GG_OK;
}
