/* SPDX-License-Identifier: Apache-2.0
 * Limits of the triangle attention kernels, one table for a CUDA kernel and its twin
 * (equal bits need equal limits). Order: o dq dk dv dbias. */
#ifndef KERNELS_TRIANGLE_ATTENTION_LIMITS_H
#define KERNELS_TRIANGLE_ATTENTION_LIMITS_H

#include <math.h>

#include "kernels/abi.h"

/* First values, from rounding counts, before calibration on a card:
 * o, dq, dk and dv each carry one rounding of P or dS to BF16 beside the output's own,
 * and the sum over keys or queries averages the former. */
#define GG_TA_LIMITS_NOTE \
    "rounding counts: one BF16 rounding of P or dS beside the output's; uncalibrated"

/* { rmse_over_floor, gauge_p99, gauge_max } */
static const gg_limits gg_ta_limits[] = {
    {1.5, 1.0, 2.0},      /* o */
    {1.5, 1.0, 2.0},      /* dq */
    {1.5, 1.0, 2.0},      /* dk */
    {1.5, 1.0, 2.0},      /* dv */
    {INFINITY, 1.0, 2.0}, /* dbias: FP32, whose floor lies far below the error of dS */
};

#endif
