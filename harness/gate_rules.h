/* SPDX-License-Identifier: Apache-2.0
 * The rules of the gate that compare measurements; used by gate.c alone. */
#ifndef HARNESS_GATE_RULES_H
#define HARNESS_GATE_RULES_H

#include "harness/gate.h"

/* Notes a finding and lets it count in its rule. `row` says which output and family,
 * NULL when none. */
void gg_gate_find(gg_gate *gate, gg_rule rule, gg_verdict verdict, const gg_pair_row *row,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Whether one commit is the beginning of the other, with 7 digits at least. */
bool gg_gate_same_commit(const char *a, const char *b);

void gg_gate_judge_rmse(gg_gate *gate);
void gg_gate_judge_determinism(gg_gate *gate);
void gg_gate_judge_bits(gg_gate *gate);
void gg_gate_judge_compensation(gg_gate *gate);
void gg_gate_judge_precision(gg_gate *gate);

#endif
