/* SPDX-License-Identifier: Apache-2.0
 * Checks that run the kernel on a second problem, related to the case's own. They cost
 * kernel runs, so only suites that say "relations" make them:
 *   wanted   every subset of wanted gradients, and forward alone, give the same bits
 *   views    tensors behind a byte offset; strided and expanded ones, if the kernel takes them
 *   slice    each independent index gives its bits alone, in any order of the others
 *   order    what sums over such an index stays right when its order is reversed
 *   fresh    new values at the same addresses, with no truth in memory, are right too
 * and the operator's own relations and balances (balance.h), each a check of its name. Of a
 * kernel that promises no bits from run to run, outputs are held against the truth instead of
 * one another, where the problem is the same; expanded inputs and slices are left out. */
#ifndef HARNESS_RELATIONS_H
#define HARNESS_RELATIONS_H

#include "harness/trial.h"

/* Adds the checks. The outputs of the first run are intact before; after it, the trial's
 * inputs, truth and outputs are others. `scratch` is the truth's. */
gg_status gg_relations_check(gg_trial *t, void *scratch, gg_case_record *record);

/* One line a check of an operator, for `gradgate list checks`. */
void gg_relations_list(const gg_operator *op);

#endif
