/* SPDX-License-Identifier: Apache-2.0
 * What the host truths of triangle attention share. Internal to reference/. */
#ifndef REFERENCE_TRIANGLE_ATTENTION_INTERNAL_H
#define REFERENCE_TRIANGLE_ATTENTION_INTERNAL_H

#include "reference/chain.h"
#include "reference/triangle_attention.h"

/* Refuses a problem whose extents, element types or shapes contradict each other; looks
 * at no element, so it serves device memory too. */
gg_status gg_triangle_attention_check(const gg_problem *problem, bool needs_dout);

/* Refuses key lengths outside [0, N]; host memory. */
gg_status gg_triangle_attention_check_lengths(const gg_problem *problem);

/* Writes the valid keys of row (b, r), ascending, and returns how many there are. */
int64_t gg_triangle_attention_keys(const gg_problem *problem, int64_t b, int64_t r,
                                   int32_t *key);

/* bias[index] in host memory, exact. */
double gg_triangle_attention_bias(const gg_problem *problem, int64_t index);

/* GG_BLOCK queries against the valid keys of one row. Arrays [keys][GG_BLOCK] are laid
 * out with the query fastest: lanes are queries, and each chain over keys stays in its
 * lane. */
typedef struct gg_ta_block {
    int64_t keys;
    const int32_t *key;  /* [keys] index of each valid key */
    double sc;
    const float *bias;   /* [N][GG_BLOCK], exact */
    double *p;           /* in: q k chains, out: P */
    double *ds;          /* in: dP, out: dS */
    double *w;           /* out: P w */
    double *z;           /* in: X, out: Z */
    const double *k_norm;     /* [keys] |k| */
    double q_norm[GG_BLOCK];  /* sc |q| */
    bool dead[GG_BLOCK];      /* out: every valid score is -infinity */
} gg_ta_block;

void gg_ta_softmax(gg_ta_block *block);
void gg_ta_weight(gg_ta_block *block);   /* w, needs P */
void gg_ta_gradient(gg_ta_block *block); /* dS, needs P */
void gg_ta_spread(gg_ta_block *block);   /* Z, needs P w */

#endif
