/* SPDX-License-Identifier: Apache-2.0
 * Stored evidence under the limits that this build has. */
#ifndef HARNESS_REJUDGE_H
#define HARNESS_REJUDGE_H

#include <stdio.h>

#include "reports/record.h"

typedef struct gg_rejudgement {
    int was[3], is[3];     /* cases by gg_verdict, before and after */
    int limits_changed;    /* limits of `old` that are other numbers now */
    gg_limit_record old[GG_MAX_OUTPUTS];
    int old_count;
    const char *source;    /* "" or why the limits are those of another device */
    int changed;           /* cases whose verdict changed; the first of them: */
    char first[96];
    gg_verdict first_was;
} gg_rejudgement;

/* Puts the registered limits of the run's kernel into the record and judges every case
 * again from its measurements. Checks that measurements in the record cannot repeat
 * (guard, inputs, scratch, golden, answer, ...) keep their outcome. A kernel that this
 * build does not have on that device is judged by its namesake on another one (the host
 * twin and the GPU kernel share their limits); GG_BAD_INPUT when there is none. */
gg_status gg_rejudge(gg_run_record *run, gg_rejudgement *outcome);

/* What came out, for people. */
void gg_rejudgement_print(const gg_run_record *run, const gg_rejudgement *outcome,
                          FILE *out);

#endif
