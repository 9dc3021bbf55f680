/* SPDX-License-Identifier: Apache-2.0
 * Limits of the linear kernels, one table for a CUDA kernel and its twin (equal bits
 * need equal limits). Order: y dx dw. */
#ifndef KERNELS_LINEAR_LIMITS_H
#define KERNELS_LINEAR_LIMITS_H

#include "kernels/abi.h"

/* First values, before calibration on a card: BF16 outputs err by their own rounding
 * and by FP32 accumulation, which is 2^-15 of it. */
#define GG_LINEAR_LIMITS_NOTE \
    "FP32 accumulation is far below the output's rounding; not calibrated"

/* { rmse_over_floor, gauge_p99, gauge_max, rmse_f32 }; the last: 1.2 times the largest
 * figure of linear60 */
static const gg_limits gg_linear_limits[] = {
    {1.05, 1.0, 1.0, 1.9}, /* y */
    {1.05, 1.0, 1.0, 2.2}, /* dx */
    {1.05, 1.0, 1.0, 6.3}, /* dw */
};

#endif
