/* SPDX-License-Identifier: Apache-2.0
 * The truth's certificate: chosen elements of a case computed again in MPFR, and the
 * distance of the FP64 truth from them. */
#ifndef HARNESS_CERTIFY_H
#define HARNESS_CERTIFY_H

#include "harness/backend.h"
#include "reports/record.h"

/* MPFR exponentials that one case may spend; all elements when they cost no more. */
#define GG_CERTIFY_BUDGET 2e6
#define GG_CERTIFY_ALL 2e5

/* Cost of certifying every element of the problem (gg_reference.exact_cost). */
double gg_certify_cost_all(const gg_operator *op, const gg_problem *problem);

/* Fills certified and certificate of each record. The problem and the truth are in the
 * backend's memory. Elements: all when that is cheap; else the worst of the kernel, the
 * first, the last, tile edges and random ones (from `seed`), as many as the budget pays. */
gg_status gg_certify(const gg_backend *backend, const gg_operator *op,
                     const gg_problem *problem, const gg_truth *truth, uint64_t seed,
                     gg_output_record *outputs, int output_count);

#endif
