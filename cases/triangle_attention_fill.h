/* SPDX-License-Identifier: Apache-2.0
 * Host-made inputs and closed-form answers of triangle attention's families; the table
 * that uses them is in triangle_attention.c, which says what each family is for.
 *
 * Each `fill` is a gg_family.host and fills whichever input it is asked for. */
#ifndef CASES_TRIANGLE_ATTENTION_FILL_H
#define CASES_TRIANGLE_ATTENTION_FILL_H

#include "cases/operator.h"
#include "reference/triangle_attention.h"

typedef gg_status gg_fill(const gg_problem *problem, int input, uint64_t seed,
                          gg_tensor *out);

gg_fill gg_ta_fill_lengths;     /* key_lengths or mask: one random prefix a row */
gg_fill gg_ta_fill_mask;        /* mask: random, with dead rows */
gg_fill gg_ta_fill_first_tile;  /* mask: the first keys of most rows invalid */
gg_fill gg_ta_fill_first_tile_low; /* the same, and bias as `low` */
gg_fill gg_ta_fill_last_tile;   /* mask: the last keys of most rows invalid */
gg_fill gg_ta_fill_dead_rows;   /* mask: rows without a valid key */
gg_fill gg_ta_fill_nan;         /* k, v, bias, mask: NaN and infinity where invalid */
gg_fill gg_ta_fill_nan_lengths; /* the same with key_lengths */
gg_fill gg_ta_fill_low;         /* bias near -120, -200, -2e4 or -6e4, by seed % 4 */
gg_fill gg_ta_fill_high;        /* bias near +120, +200, +2e4 or +6e4, by seed % 4 */
gg_fill gg_ta_fill_mixed;       /* bias from -6e4 to 6e4 within a row */
gg_fill gg_ta_fill_shifted;     /* bias: that of `unshifted` plus a constant a row */
gg_fill gg_ta_fill_unshifted;   /* bias on a grid of 1/8 */
gg_fill gg_ta_fill_chain;       /* bias of a folded chain (fold.h) */
gg_fill gg_ta_fill_two_keys;    /* q k v bias dout */
gg_fill gg_ta_fill_counting;    /* q k v dout */
gg_fill gg_ta_fill_one_hot;     /* q k v dout */
gg_fill gg_ta_fill_numbers;     /* v bias dout */

/* gg_family.answer: probabilities by their closed form, then plain sums in long double
 * of the problem's own inputs (which must be filled, in host memory). */
gg_status gg_ta_answer_two_keys(const gg_problem *problem, int output, double *values,
                                bool *exact);
gg_status gg_ta_answer_uniform(const gg_problem *problem, int output, double *values,
                               bool *exact);
gg_status gg_ta_answer_own_key(const gg_problem *problem, int output, double *values,
                               bool *exact);

/* Ways to write a problem that must not change a bit: triangle_attention_relations.c. */
extern const gg_relation gg_ta_relations[];
extern const gg_balance gg_ta_balances[]; /* the same file */
extern const gg_claim gg_ta_claims[]; /* triangle_attention_claims.c */

#endif
