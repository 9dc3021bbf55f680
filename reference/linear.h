/* SPDX-License-Identifier: Apache-2.0
 * Truth of a linear layer without bias, forward and backward.
 *
 *   y[m,n]  = sum_k x[m,k] w[n,k]
 *   dx[m,k] = sum_n dy[m,n] w[n,k]        dw[n,k] = sum_m dy[m,n] x[m,k]
 *
 * Each sum is one chain of fma from +0 in ascending order of the summed index. BF16
 * operands enter exactly, so only FP32 accumulation errs: with at most ceil(n/16)
 * roundings of 2^-23 (tensor cores truncate) for n terms,
 *   allowance = (ceil(n/16) + 1) 2^-23 * chain of fma(|a|, |b|, .) */
#ifndef REFERENCE_LINEAR_H
#define REFERENCE_LINEAR_H

#include "reference/truth.h"

#ifdef __cplusplus
extern "C" {
#endif

/*   x [M,K] bf16   w [N,K] bf16   dy [M,N] bf16      y [M,N]   dx [M,K]   dw [N,K] */
enum { GG_LINEAR_M, GG_LINEAR_N, GG_LINEAR_K };
enum { GG_LINEAR_X, GG_LINEAR_W, GG_LINEAR_DY };
enum { GG_LINEAR_Y, GG_LINEAR_DX, GG_LINEAR_DW, GG_LINEAR_OUTPUTS };

gg_status gg_linear_host(const gg_problem *, const gg_truth *, int threads);
gg_status gg_linear_cuda(const gg_problem *, const gg_truth *, void *scratch, void *stream);
size_t gg_linear_cuda_scratch(const gg_problem *);
gg_status gg_linear_exact(const gg_problem *, gg_point *points, int count, int threads);
gg_exact_share gg_linear_exact_share(const gg_problem *, int output, int64_t element);
gg_status gg_linear_terms(const gg_problem *, int output, int64_t element, gg_terms *terms,
                          int threads);

#ifdef __cplusplus
}
#endif
#endif
