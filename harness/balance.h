/* SPDX-License-Identifier: Apache-2.0
 * Sums over outputs that the inputs alone decide (gg_operator.balances), each a check of its
 * name: the first run's output, summed over one index, against what the operator says. The
 * distance is in units of the summed allowances and may be what the kernel states for one
 * element. No value of the truth is used, so that truth and kernel cannot be wrong alike. */
#ifndef HARNESS_BALANCE_H
#define HARNESS_BALANCE_H

#include "harness/trial.h"

/* Adds the checks; `host` has the inputs, the trial's first outputs and its truth are there. */
gg_status gg_balance_check(const gg_trial *t, const gg_problem *host,
                           gg_case_record *record);

#endif
