/* SPDX-License-Identifier: Apache-2.0
 * Measures an error budget (reports/budget.h): gradgate budget. */
#ifndef HARNESS_BUDGET_H
#define HARNESS_BUDGET_H

#include "kernels/abi.h"
#include "reports/budget.h"

typedef struct gg_budget_options {
    const char *suite, *kernel, *device;
    const char *glob;    /* of case ids; NULL: all */
    const char *points;  /* names parted by commas, in place of the kernel's own statement */
    const char *ablate;  /* feature for the second variant; NULL: the first; "none" */
    int threads;         /* 0: all */
} gg_budget_options;

/* Loads the suite, finds the kernel, measures. Free the budget whatever the status.
 * `trial` takes the place of options->kernel (NULL: not). */
gg_status gg_budget_run(const gg_budget_options *options, const gg_kernel *trial,
                        gg_budget *budget);

#endif
