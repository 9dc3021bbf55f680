/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/rejudge.h"

#include <math.h>
#include <string.h>

#include "harness/judge.h"
#include "kernels/registry.h"

static const gg_kernel *find(const gg_run_record *run, const char **source)
{
    bool host = strcmp(run->device, "host") == 0;
    const gg_kernel *kernel = gg_kernel_find(run->operator_name, run->kernel,
                                             host ? kDLCPU : kDLCUDA);
    *source = "";
    if (kernel != NULL) return kernel;
    *source = host ? "limits of the kernel on the GPU: this build has no twin of it"
                   : "limits of the host twin: this build has no GPU kernels";
    return gg_kernel_find(run->operator_name, run->kernel, host ? kDLCUDA : kDLCPU);
}

static const gg_limits *limits_of(const gg_kernel *kernel, const char *output)
{
    for (int o = 0; kernel->outputs[o] != NULL; o++)
        if (strcmp(kernel->outputs[o], output) == 0) return &kernel->limits[o];
    return NULL;
}

static bool measured(const char *check)
{
    static const char *const names[] = {"written",   "pattern",   "rmse",   "roundings",
                                        "gauge_p99", "gauge_max", "repeat", "certificate"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(check, names[i]) == 0) return true;
    return false;
}

static void judge_output(gg_output_record *o, const gg_limits *limits, int runs)
{
    gg_check kept[GG_MAX_CHECKS] = {{.verdict = GG_NOT_VERIFIED}};
    int count = 0;
    gg_limit_record limit = gg_limits_of(limits, o->dtype);
    for (int c = 0; c < o->check_count; c++)
        if (!measured(o->checks[c].name)) kept[count++] = o->checks[c];
    o->check_count = 0;
    gg_judge_output(o, &limit, runs);
    for (int c = 0; c < count && o->check_count < GG_MAX_CHECKS; c++)
        o->checks[o->check_count++] = kept[c];
}

static gg_status judge_case(gg_case_record *record, const gg_kernel *kernel)
{
    if (record->output_count == 0) return GG_OK; /* not measured: nothing to judge */
    for (int o = 0; o < record->output_count; o++) {
        const gg_limits *limits = limits_of(kernel, record->outputs[o].name);
        if (limits == NULL)
            return gg_fail(GG_BAD_INPUT, "kernel %s of this build has no output %s",
                           kernel->name, record->outputs[o].name);
        judge_output(&record->outputs[o], limits, record->runs);
    }
    record->reason[0] = '\0';
    gg_judge_case(record);
    return GG_OK;
}

/* True when the two limits are the same numbers. */
static bool same(const gg_limit_record *a, const gg_limit_record *b)
{
    return a->rmse_over_floor == b->rmse_over_floor && a->gauge_p99 == b->gauge_p99 &&
           a->gauge_max == b->gauge_max;
}

static void replace_limits(gg_run_record *run, const gg_kernel *kernel,
                           gg_rejudgement *outcome)
{
    outcome->old_count = run->limit_count;
    memcpy(outcome->old, run->limits, sizeof run->limits);
    for (int i = 0; i < run->limit_count; i++) {
        gg_limit_record *limit = &run->limits[i];
        const gg_limits *now = limits_of(kernel, limit->output);
        if (now == NULL) continue;
        limit->rmse_over_floor = now->rmse_over_floor;
        limit->gauge_p99 = now->gauge_p99;
        limit->gauge_max = now->gauge_max;
        outcome->limits_changed += !same(limit, &outcome->old[i]);
    }
    memset(run->limits_note, 0, sizeof run->limits_note);
    snprintf(run->limits_note, sizeof run->limits_note, "%s", kernel->limits_note);
}

gg_status gg_rejudge(gg_run_record *run, gg_rejudgement *outcome)
{
    memset(outcome, 0, sizeof *outcome);
    const gg_kernel *kernel = find(run, &outcome->source);
    if (kernel == NULL)
        return gg_fail(GG_BAD_INPUT,
                       "this build has no kernel %s of %s, so it has no limits to judge "
                       "by: see 'gradgate list limits'",
                       run->kernel, run->operator_name);
    replace_limits(run, kernel, outcome);
    for (int i = 0; i < run->count; i++) {
        gg_case_record *record = &run->cases[i];
        gg_verdict was = record->verdict;
        outcome->was[was]++;
        GG_TRY(judge_case(record, kernel));
        outcome->is[record->verdict]++;
        if (record->verdict == was || outcome->changed++ > 0) continue;
        snprintf(outcome->first, sizeof outcome->first, "%s", record->id);
        outcome->first_was = was;
    }
    return GG_OK;
}

void gg_rejudgement_print(const gg_run_record *run, const gg_rejudgement *o, FILE *out)
{
    fprintf(out, "judged again under the limits of this build%s%s\n",
            o->source[0] ? ": " : "", o->source);
    fprintf(out, "  then: %d passed, %d failed, %d not verified\n", o->was[GG_PASSED],
            o->was[GG_FAILED], o->was[GG_NOT_VERIFIED]);
    fprintf(out, "  now:  %d passed, %d failed, %d not verified; %d verdicts changed",
            o->is[GG_PASSED], o->is[GG_FAILED], o->is[GG_NOT_VERIFIED], o->changed);
    if (o->changed > 0)
        fprintf(out, ", the first is %s (was %s)", o->first, gg_verdict_name(o->first_was));
    fputc('\n', out);
    for (int i = 0; i < o->old_count; i++) {
        const gg_limit_record *then = &o->old[i], *now = &run->limits[i];
        if (same(then, now)) continue;
        fprintf(out,
                "  limits of %s: rmse/floor %g -> %g, gauge p99 %g -> %g, max %g -> %g\n",
                now->output, then->rmse_over_floor, now->rmse_over_floor, then->gauge_p99,
                now->gauge_p99, then->gauge_max, now->gauge_max);
    }
    if (o->limits_changed == 0) fprintf(out, "  the limits are the same numbers\n");
    fputc('\n', out);
}
