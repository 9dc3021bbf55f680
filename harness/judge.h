/* SPDX-License-Identifier: Apache-2.0
 * From measurements to verdicts: the checks of one output, the verdict of one case. Uses
 * the record alone, so that stored evidence can be judged again. */
#ifndef HARNESS_JUDGE_H
#define HARNESS_JUDGE_H

#include "kernels/abi.h"
#include "reports/record.h"

/* Appends value <= limit as a check. The note is kept when it did not pass. */
void gg_check_add(gg_output_record *output, const char *name, double value, double limit,
                  const char *note);
/* The same for a limit that the kernel states, or does not (NaN): then not verified. */
void gg_check_add_stated(gg_output_record *output, const char *name, double value,
                         double limit, const char *note);
/* Appends a check that could not be made. */
void gg_check_add_missing(gg_output_record *output, const char *name, const char *note);

/* A kernel's limits for one output of that type: FP32 has an RMSE limit of its own. */
gg_limit_record gg_limits_of(const gg_limits *limits, gg_dtype dtype);

/* Outputs of fewer elements have no rmse and gauge_p99 check: the percentile would be the
 * maximum, and a mean of few errors averages nothing. gauge_max bounds every element. */
#define GG_JUDGE_FEW 1000

/* In units of the gauge: below this two kernels are equally exact to the judge. */
#define GG_JUDGE_EXACT 1e-8

/* Limits from here on judge nothing: an 8-bit float keeps at least 3 bits and so rounds 32 times
 * as coarsely as BF16, the unit of gauge and rmse; zeros in place of an output often err by
 * less. An rmse limit is taken for blind only where zeros would pass it too. */
#define GG_JUDGE_BLIND 32

/* The RMSE over that of the stated roundings, at most; and see below. */
#define GG_JUDGE_STATED 1.1
#define GG_JUDGE_ROUGH 2e-4

/* The checks that every output of every operator gets, from its measurements:
 *   written      elements that no run wrote                               0
 *   pattern      NaN and infinity where the truth has none, or reverse    0
 *   rmse         RMSE / hypot(floor, allowance rms / 128)                 limit
 *   roundings    RMSE / RMSE of an evaluation with the roundings that     see below
 *                the kernel states, where that was asked for
 *   gauge_p99    99th percentile of |error| / (allowance + half an ulp)   limit
 *   gauge_max    largest of the same                                      limit
 *   repeat       elements that differ between equal runs, as bits         0
 *   certificate  largest |FP64 - MPFR| in units of the gauge              see below
 * The allowance bounds what roundings can do when all of them conspire; 1/128 of it is
 * less than they do when they are independent. It matters where the floor vanishes
 * because the true result happens to be representable, or zero.
 * A kernel may leave figures without a limit (INFINITY), not all of an output: where each one
 * that is judged is above GG_JUDGE_BLIND, gauge_max is not verified, whatever the error.
 * The stated roundings, in binary64 on the same input, tell the RMSE to expect of that kernel, on
 * that input, at that size; right kernels are within 1 % of it. The check is left out where
 * roundings whose errors are right in size only (accumulation in FP32) make more than a share of
 * GG_JUDGE_ROUGH of the mean square: there they can be 400 times what the evaluation has.
 * The certificate keeps the truth 100 times closer to MPFR, at the worst of the certified
 * elements, than the kernel is there in the rms: its limit is 1/100 of that rms, at most
 * 1e-6, and no less than for a kernel that errs by GG_JUDGE_EXACT, since a kernel that
 * hits every element is not to be refused for it. Where it is not kept there is no truth:
 * pattern, rmse, gauge_p99 and gauge_max are not verified, whatever the figures say. */
void gg_judge_output(gg_output_record *output, const gg_limit_record *limit, int runs);

/* Worst verdict of all checks; not verified when there is none. Fills `reason`. */
void gg_judge_case(gg_case_record *record);

#endif
