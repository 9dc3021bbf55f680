/* SPDX-License-Identifier: Apache-2.0
 * Evaluations of a case in binary64 with the roundings that a kernel states put in
 * (reference.rounded): what an error budget is made of, and what a run can hold a kernel to. */
#ifndef HARNESS_ROUNDED_H
#define HARNESS_ROUNDED_H

#include "harness/trial.h"

/* The place of a name in the operator's table of rounding points. */
gg_status gg_rounded_find(const gg_operator *op, const char *name, size_t length, int *point);
/* The points that a kernel has with those features, as bits. GG_BAD_INPUT when it, or the
 * operator, states none, or states one that is not there. */
gg_status gg_rounded_stated(const gg_operator *op, const gg_kernel *kernel, uint64_t features,
                            unsigned *points);

/* Memory for one evaluation of a trial's problem. */
gg_status gg_rounded_take(const gg_trial *t, gg_arena *arena, gg_truth *values, void **scratch);
/* Mean square of output - expected, and of expected's rounding to the output's type (NULL: not
 * asked); adds the elements that are not finite in one of the two only. */
gg_status gg_rounded_compare(const gg_trial *t, int output, gg_dtype dtype, void *data,
                             const double *expected, double *error, double *floor,
                             int64_t *mismatch);
/* Evaluates with `roundings->on`, and gives the mean square of each output's error.
 * GG_INTERNAL when an element is finite where the truth is not, or the reverse. */
gg_status gg_rounded_evaluate(const gg_trial *t, const gg_roundings *roundings,
                              const gg_truth *values, void *scratch,
                              double error[GG_MAX_OUTPUTS]);

/* Fills stated_rmse and stated_rough of a case whose truth is there. The arena is freed. */
gg_status gg_rounded_measure(const gg_trial *t, gg_case_record *record);

#endif
