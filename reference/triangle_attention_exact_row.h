/* SPDX-License-Identifier: Apache-2.0
 * One query of triangle attention in MPFR: everything that depends on a single softmax.
 * Internal to reference/. */
#ifndef REFERENCE_TRIANGLE_ATTENTION_EXACT_ROW_H
#define REFERENCE_TRIANGLE_ATTENTION_EXACT_ROW_H

#include <mpfr.h>

#include "reference/triangle_attention_internal.h"

/* Exponent of nothing: below that of any term. */
#define GG_EXACT_NOTHING ((mpfr_exp_t)-(1L << 40))

/* A sum computed with `bits` bits whose exponent is below that of its largest term by
 * more than `bits - GG_EXACT_SLACK` consists of rounding errors. The slack covers the
 * number of terms and roundings (2^40 of them, and 2^24 for scores). */
enum { GG_EXACT_SLACK = 64 };

/* Scratch of one thread, then the query it holds. */
typedef struct gg_exact_row {
    const gg_problem *problem;
    mpfr_prec_t bits;
    bool backward;
    int64_t keys;          /* 0: no valid key, or all scores -infinity */
    int32_t *key;          /* [keys] */
    int32_t *place;        /* [N] index into key[], -1 where invalid */
    mpfr_t *s, *e;         /* [keys] S and exp(S - max) */
    mpfr_t *dp;            /* [keys] dP less that of the first valid key */
    mpfr_t *de;            /* [keys] e (dp - delta): dS times l */
    mpfr_t l, delta, sc, sc_short, max, dot, work, term, sum;
    mpfr_exp_t dp_size;    /* largest exponent in dp */
} gg_exact_row;

bool gg_exact_row_open(gg_exact_row *row, const gg_problem *problem, mpfr_prec_t bits,
                       bool backward);
void gg_exact_row_close(gg_exact_row *row);

/* Computes query i of slice (b R + r) H + h. */
void gg_exact_row_compute(gg_exact_row *row, int64_t slice, int64_t i);

/* sum = o[d] or dq[d] of that query; returns the exponent of the largest term. */
mpfr_exp_t gg_exact_row_o(gg_exact_row *row, int64_t slice, int64_t d);
mpfr_exp_t gg_exact_row_dq(gg_exact_row *row, int64_t slice, int64_t d);

/* Exponent of a regular number, GG_EXACT_NOTHING otherwise. */
static inline mpfr_exp_t gg_exact_size(mpfr_srcptr x)
{
    return mpfr_regular_p(x) ? mpfr_get_exp(x) : GG_EXACT_NOTHING;
}

#endif
