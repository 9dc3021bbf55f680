/* SPDX-License-Identifier: Apache-2.0
 * What a gate found: a report against its baseline, rule by rule. The harness fills it
 * (harness/gate.h has the rules), the writers here show it. */
#ifndef REPORTS_GATE_H
#define REPORTS_GATE_H

#include <stdio.h>

#include "reports/pair.h"

#define GG_GATE_SCHEMA "gradgate-gate-1"

typedef enum gg_rule {
    GG_RULE_LIMITS = 0,
    GG_RULE_BUILD,
    GG_RULE_CASES,
    GG_RULE_RMSE,
    GG_RULE_DETERMINISM,
    GG_RULE_BITS,
    GG_RULE_COMPENSATION,
    GG_RULE_PRECISION,
    GG_RULE_SPEED, /* this one and the next only with benches (harness/gate_speed.h) */
    GG_RULE_MEMORY,
    GG_RULES
} gg_rule;
const char *gg_rule_name(gg_rule rule);

/* One thing worth saying. `passed` is a remark that costs nothing. */
typedef struct gg_finding {
    gg_rule rule;
    gg_verdict verdict;
    char output[16]; /* "" when it is about no output */
    char family[32];
    char text[320];
} gg_finding;

/* A rule that compared nothing did not pass unless there was nothing to keep. */
typedef struct gg_rule_record {
    gg_verdict verdict;
    int compared;    /* cases, or rows of output and family */
    int findings;    /* of any verdict; more than are kept in the list, perhaps */
    char text[240];  /* what was asked and what came out, in one line */
} gg_rule_record;

enum { GG_GATE_KEPT = 20 }; /* findings kept per rule, worst first */

typedef struct gg_gate {
    const gg_run_record *baseline, *report;
    bool exact; /* bits must not change */
    gg_pairing pairing;
    int rule_count; /* that were asked for; the others say nothing */
    gg_rule_record rules[GG_RULES];
    gg_finding findings[GG_RULES][GG_GATE_KEPT];
    gg_verdict verdict; /* worst of the rules */
} gg_gate;

gg_status gg_gate_table(const gg_gate *gate, FILE *out, int width);
gg_status gg_gate_markdown(const gg_gate *gate, FILE *out);
/* For programs; the schema is named in it. For gg_file_write: context is the gate. */
gg_status gg_gate_json(const void *gate, FILE *out);
/* A testcase a rule; as above. */
gg_status gg_gate_junit(const void *gate, FILE *out);

/* Two reports side by side, without a verdict. */
gg_status gg_compare_table(const gg_run_record *a, const gg_run_record *b,
                      const gg_pairing *pairing, FILE *out, int width);
gg_status gg_compare_markdown(const gg_run_record *a, const gg_run_record *b,
                         const gg_pairing *pairing, FILE *out);

#endif
