/* SPDX-License-Identifier: Apache-2.0
 * Limits of the triangle attention kernels, one table for a CUDA kernel and its twin
 * (equal bits need equal limits). Order: o dq dk dv dbias. */
#ifndef KERNELS_TRIANGLE_ATTENTION_LIMITS_H
#define KERNELS_TRIANGLE_ATTENTION_LIMITS_H

#include <math.h>

#include "kernels/abi.h"

/* Calibrated: 1.2 times the largest figure of naive, recompute and turbo over probes,
 * smoke600 and twin300 (host twins, whose bits are the card's). The extremes come from
 * small cases, where few errors average, and from one_hot and two_keys, whose probability
 * roundings are all alike. */
#define GG_TA_LIMITS_NOTE \
    "1.2 times the largest honest figure over probes, smoke600 and twin300"

/* { rmse_over_floor, gauge_p99, gauge_max } */
static const gg_limits gg_ta_limits[] = {
    {2.3, 0.86, 1.05},      /* o */
    {3.8, 0.35, 0.76},      /* dq */
    {2.4, 0.51, 0.73},      /* dk */
    {2.2, 1.15, 1.27},      /* dv */
    {INFINITY, 0.26, 0.46}, /* dbias: FP32, whose floor lies far below the error of dS */
};

#endif
