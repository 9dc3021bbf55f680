/* SPDX-License-Identifier: Apache-2.0
 * Truth of triangle attention with a shared pair bias, forward and backward.
 *
 *   S = sc q k^T + bias      P = softmax over valid keys (0 elsewhere)     sc = 1/sqrt(D)
 *   O = P v                  dP = dout v^T           delta_i = sum_j P_ij dP_ij
 *   dS = P (dP - delta)      dq = sc dS k            dk = sc dS^T q        dv = P^T dout
 *   dbias[h,i,j] = sum over rows r of dS[r,h,i,j]
 * for each batch b, row r and head h. A row whose keys are all invalid, or whose valid
 * scores are all -infinity, has P = 0, so every output of it is 0. Nothing stored at an
 * invalid key is read.
 *
 * Order of every binary64 operation (host and GPU must agree bit for bit):
 *   s     = chain over d of fma(q, k, s), from 0;        S = fma(s, sc, bias), sc = 1/sqrt(D)
 *   m     = max of S over valid keys;                    e_j = gg_exp64(S - m)
 *   l     = e_0 + e_1 + ... over valid keys, ascending;  P = e * (1/l)
 *   o     = chain over j of fma(P, v, o)
 *   dP    = chain over d of fma(dout, v, dP);            delta = chain over j of fma(P, dP, delta)
 *   dS    = P * (dP - delta)
 *   dq    = sc * (chain over j of fma(dS, k, .));        dk = sc * (chain over i of fma(dS, q, .))
 *   dv    = chain over i of fma(P, dout, .);             dbias = dS_0 + dS_1 + ... over r ascending
 * All chains start from +0 and skip invalid keys (or add an exact zero for them).
 *
 * Allowances (harness design: sums of absolute terms, never of the cancelled result).
 * With u = 2^-8 (one BF16 rounding of an intermediate), f = 2^-24 (one FP32 rounding),
 *   |q| = sqrt(chain of q^2), |k| likewise               A_ij   = sc |q_i| |k_j| + |bias_ij|
 *   Abar_i = chain over j of fma(P, A, .)                w_ij   = u + f (1 + A_ij + Abar_i)
 *   X_ij   = chain over d of fma(|dout|, |v|, .)         Xbar_i = chain over j of fma(P, X, .)
 *   Z_ij   = (P w) (X + Xbar)
 *   allowance(o)  = chain over j of fma(P w, |v|, .)
 *   allowance(dv) = chain over i of fma(P w, |dout|, .)
 *   allowance(dq) = sc * chain over j of fma(Z, |k|, .)
 *   allowance(dk) = sc * chain over i of fma(Z, |q|, .)
 *   allowance(dbias) = Z_0 + Z_1 + ... over r ascending
 * A valid key with P = 0 adds nothing to Abar and has P w = 0, also where A is infinite.
 * No allowance has a term for underflow; the harness adds one.
 * A score error of f A is relative in P because of the exponential; Abar is its share
 * through the log-sum-exp. */
#ifndef REFERENCE_TRIANGLE_ATTENTION_H
#define REFERENCE_TRIANGLE_ATTENTION_H

#include "reference/truth.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Symbols of gg_problem.extent, inputs and outputs, in declared order.
 *   q k v dout  [B,R,H,N,D] bf16        bias [B,H,N,N] bf16 or f32
 *   mask        [B,R,N] u8, 1 = valid key, optional
 *   key_lengths [B,R] i32, keys [0, length) are valid, optional; at most one of the two
 *   o dq dk dv  [B,R,H,N,D]             dbias [B,H,N,N] */
enum { GG_TA_B, GG_TA_R, GG_TA_H, GG_TA_N, GG_TA_D };
enum { GG_TA_Q, GG_TA_K, GG_TA_V, GG_TA_BIAS, GG_TA_DOUT, GG_TA_MASK, GG_TA_KEY_LENGTHS };
enum { GG_TA_O, GG_TA_DQ, GG_TA_DK, GG_TA_DV, GG_TA_DBIAS, GG_TA_OUTPUTS };

/* See gg_reference in truth.h. When only value[GG_TA_O] (and allowance) is wanted, dout
 * may be absent and only the forward part is computed. */
gg_status gg_triangle_attention_host(const gg_problem *, const gg_truth *, int threads);
gg_status gg_triangle_attention_cuda(const gg_problem *, const gg_truth *, void *scratch,
                                     void *stream);
size_t gg_triangle_attention_cuda_scratch(const gg_problem *);
gg_status gg_triangle_attention_exact(const gg_problem *, gg_point *points, int count,
                                      int threads);
gg_exact_share gg_triangle_attention_exact_share(const gg_problem *, int output,
                                                 int64_t element);
gg_status gg_triangle_attention_exact_reads(const gg_problem *, const gg_point *points,
                                            int count, gg_reader *visit, void *context);
gg_status gg_triangle_attention_terms(const gg_problem *, int output, int64_t element,
                                      gg_terms *terms, int threads);

#ifdef __cplusplus
}
#endif
#endif
