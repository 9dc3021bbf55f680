/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/record.h"

#include <stdlib.h>
#include <string.h>

/* The enum is in order of birth (zero is "not verified"), not of badness. */
static int badness(gg_verdict verdict)
{
    return verdict == GG_PASSED ? 0 : verdict == GG_FAILED ? 2 : 1;
}

gg_verdict gg_verdict_worse(gg_verdict a, gg_verdict b)
{
    return badness(b) > badness(a) ? b : a;
}

gg_verdict gg_judge(double value, double limit)
{
    return value <= limit ? GG_PASSED : GG_FAILED;
}

const char *gg_verdict_name(gg_verdict verdict)
{
    return verdict == GG_PASSED ? "passed"
           : verdict == GG_FAILED ? "failed" : "not verified";
}

gg_verdict gg_run_verdict(const gg_run_record *run)
{
    if (run->count <= 0) return GG_NOT_VERIFIED;
    bool whole = !run->selection[0] && run->shards <= 1;
    gg_verdict worst = GG_PASSED;
    if (whole && run->count < run->suite_count) worst = GG_NOT_VERIFIED;
    for (int i = 0; i < run->count; i++)
        worst = gg_verdict_worse(worst, run->cases[i].verdict);
    return worst;
}

int gg_run_count(const gg_run_record *run, gg_verdict verdict)
{
    int count = 0;
    for (int i = 0; i < run->count; i++) count += run->cases[i].verdict == verdict;
    return count;
}

int gg_run_uncertified(const gg_run_record *run)
{
    int count = 0;
    for (int i = 0; i < run->count; i++) {
        bool missing = false;
        for (int o = 0; o < run->cases[i].output_count; o++)
            missing = missing || run->cases[i].outputs[o].certified == 0;
        count += missing;
    }
    return count;
}

void gg_run_free(gg_run_record *run)
{
    if (!run) return;
    free(run->cases);
    run->cases = NULL;
    run->count = 0;
}

bool gg_case_has_failed(const gg_case_record *record, const char *check)
{
    for (int o = 0; o < record->output_count; o++)
        for (int c = 0; c < record->outputs[o].check_count; c++)
            if (strcmp(record->outputs[o].checks[c].name, check) == 0 &&
                record->outputs[o].checks[c].verdict == GG_FAILED)
                return true;
    return false;
}
