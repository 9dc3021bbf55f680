/* SPDX-License-Identifier: Apache-2.0
 * Triangle attention in binary64 with chosen roundings of a kernel put in: what an error
 * budget is made of. The formulas are those of triangle_attention.h. Not a truth, and no
 * kernel's bits either: each point is a place and a type, not an instruction.
 *
 * A kernel `has` some points, which gives the arithmetic its shape; those that are `on`
 * round, the others stay in binary64. With none on, the truth comes out but for the
 * rounding of binary64. bf(x) is one rounding to BF16; a pair is bf(x) + bf(x - bf(x)).
 *
 *   inputs        q log2(e) / sqrt(D) is bf() before the scores, in both passes
 *   p             forward's weights e^(S - m) are bf(), m the running maximum after each
 *                 tile of 64 keys; the row sum l takes the rounded ones
 *   p_lazy        as p, with the m of the first tile that has one; where that makes an l beyond
 *                 2^20, with an m that moves only when a tile exceeds it by 5.5 instead; tiles
 *                 from that of the first of the query's 128 keys on, then those before it; and
 *                 with an l that is a matrix product, as o is
 *   p_whole       P of the whole row is bf() where it multiplies v
 *   p_pair        as p, a pair instead of bf(), with an m that moves only when a tile exceeds it by
 *                 the octaves of l / 4, at most 5.5
 *   p_dv          P is bf() where it multiplies dout;            p_dv_pair: a pair
 *   ds            dS is bf() where it multiplies k and q;        ds_pair: a pair
 *   delta         o is bf() in delta = sum_d dout o;             delta_pair: a pair
 *   accumulation  binary32 for what a kernel computes itself, see below
 *   output        outputs are rounded to their types
 *
 * At most one of p, p_lazy, p_whole, p_pair; one of each other row's two. A kernel that
 * has p_whole takes delta from the row, sum_j P dP; every other from its o, so that
 * roundings of o's weights reach delta. 1 / l of the forward goes into P of the backward.
 *
 * accumulation. Matrix products: 16 terms and the sum so far are added exactly, then cut
 * toward zero to 24 bits, in ascending order (what a Hopper tensor core cuts off single
 * terms is left out). With p_pair sums for o are rounded to nearest, tile by tile, and dP
 * starts from -delta and is, step by step: such a kernel puts back what cutting takes off
 * on average. Scores, exponentials, 1 / l, delta, differences and the sum over rows: one
 * rounding to nearest after each operation (delta with p_pair: once), rows in ascending
 * order. The scores' logits are rounded in units of log 2, except with p_lazy and p_pair.
 * The error of a hardware exponential beyond that rounding, subnormals and overflow are
 * left out.
 *
 * Host and GPU give the same bits: one set of formulas (triangle_attention_rounded_core.h)
 * and one order. */
#ifndef REFERENCE_TRIANGLE_ATTENTION_ROUNDED_H
#define REFERENCE_TRIANGLE_ATTENTION_ROUNDED_H

#include "reference/truth.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of gg_roundings, in the order of the list above. */
enum {
    GG_TA_INPUTS,
    GG_TA_P,
    GG_TA_P_LAZY,
    GG_TA_P_WHOLE,
    GG_TA_P_PAIR,
    GG_TA_P_DV,
    GG_TA_P_DV_PAIR,
    GG_TA_DS,
    GG_TA_DS_PAIR,
    GG_TA_DELTA,
    GG_TA_DELTA_PAIR,
    GG_TA_ACCUMULATION,
    GG_TA_OUTPUT,
    GG_TA_POINTS
};

/* The largest D that these take. */
enum { GG_TA_ROUNDED_HEAD = 64 };

/* See gg_reference in truth.h: every value[] that is not NULL is written. */
gg_status gg_triangle_attention_rounded_host(const gg_problem *, const gg_roundings *,
                                             const gg_truth *, int threads);
gg_status gg_triangle_attention_rounded_cuda(const gg_problem *, const gg_roundings *,
                                             const gg_truth *, void *scratch,
                                             void *stream);
size_t gg_triangle_attention_rounded_scratch(const gg_problem *);

/* Refuses points that exclude each other, or are on without being there. */
gg_status gg_triangle_attention_rounded_check(const gg_problem *, const gg_roundings *);

#ifdef __cplusplus
}
#endif
#endif
