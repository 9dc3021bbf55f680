/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/candidate.h"
#include "harness/environment.h"
#include "harness/plan.h"
#include "harness/progress.h"
#include "reference/parallel.h"
#include "reports/file_out.h"
#include "reports/report.h"

/* Which feature the pair switches off: the one named, or the kernel's first. */
static gg_status find_ablated(const gg_run_options *options, const gg_kernel *kernel,
                              int *ablated)
{
    *ablated = -1;
    if (options->ablate != NULL && strcmp(options->ablate, "none") == 0) return GG_OK;
    for (int i = 0; kernel->features != NULL && kernel->features[i].name != NULL; i++) {
        if (options->ablate != NULL && strcmp(options->ablate, kernel->features[i].name) != 0)
            continue;
        *ablated = i;
        return GG_OK;
    }
    if (options->ablate == NULL) return GG_OK;
    return gg_fail(GG_BAD_INPUT, "kernel %s has no feature '%s' to ablate: see 'gradgate "
                   "list kernels'", kernel->name, options->ablate);
}

static uint64_t default_features(const gg_kernel *kernel, gg_run_record *run)
{
    uint64_t bits = 0;
    size_t used = 0;
    for (int i = 0; kernel->features != NULL && kernel->features[i].name != NULL; i++) {
        if (kernel->features[i].on) bits |= UINT64_C(1) << i;
        if (used < sizeof run->features)
            used += (size_t)snprintf(run->features + used, sizeof run->features - used,
                                     "%s%s=%s", i ? " " : "", kernel->features[i].name,
                                     kernel->features[i].on ? "on" : "off");
    }
    return bits;
}

static void copy(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
}

/* Everything about the run that is known before the first case. */
static gg_status describe(const gg_run_options *options, gg_plan *plan, gg_run_record *run)
{
    const gg_kernel *kernel = plan->kernel;
    const gg_operator *op = plan->suite->op;
    GG_TRY(gg_environment_build(run));
    run->kernel_digest = plan->kernel_digest;
    gg_environment_place(plan->backend, &run->place);
    gg_environment_time(run->place.started);
    copy(run->operator_name, sizeof run->operator_name, op->name);
    copy(run->symbols, sizeof run->symbols, op->symbols);
    copy(run->kernel, sizeof run->kernel, kernel->name);
    copy(run->kernel_summary, sizeof run->kernel_summary, kernel->summary);
    copy(run->device, sizeof run->device, plan->backend->name);
    copy(run->suite, sizeof run->suite, plan->suite->name);
    copy(run->selection, sizeof run->selection, options->glob ? options->glob : "");
    copy(run->promise, sizeof run->promise,
         kernel->repeat == GG_REPEAT_RUN_TO_RUN ? "run to run" : "not guaranteed");
    copy(run->limits_note, sizeof run->limits_note, kernel->limits_note);
    if (plan->ablated >= 0)
        copy(run->ablation, sizeof run->ablation, kernel->features[plan->ablated].name);
    if (plan->golden != NULL)
        copy(run->golden, sizeof run->golden, plan->golden->source);
    run->suite_digest = plan->suite->digest;
    run->suite_count = plan->suite->count;
    run->shard = options->shard;
    run->shards = options->shards;
    run->repeats = plan->repeats;
    run->certify = plan->certify;
    plan->features = default_features(kernel, run);
    for (int o = 0; op->outputs[o].name != NULL; o++, run->limit_count++) {
        gg_limit_record *limit = &run->limits[o];
        copy(limit->output, sizeof limit->output, op->outputs[o].name);
        limit->rmse_over_floor = kernel->limits[o].rmse_over_floor;
        limit->gauge_p99 = kernel->limits[o].gauge_p99;
        limit->gauge_max = kernel->limits[o].gauge_max;
    }
    return GG_OK;
}

/* Indices of the cases to run, in suite order. */
static gg_status choose_cases(const gg_run_options *options, const gg_suite *suite,
                              int *chosen, int *count)
{
    *count = 0;
    for (int i = 0; i < suite->count; i++)
        if (options->glob == NULL || gg_case_matches(&suite->cases[i], options->glob))
            chosen[(*count)++] = i;
    if (*count == 0)
        return gg_fail(GG_BAD_INPUT, "no case of suite %s matches '%s': its first is %s",
                       suite->name, options->glob, suite->cases[0].id);
    int kept = 0; /* shard s of n takes every n-th case: equal work for each */
    for (int i = options->shard - 1; i < *count; i += options->shards) chosen[kept++] = chosen[i];
    *count = kept;
    return GG_OK;
}

static int by_index(const void *a, const void *b)
{
    int x = ((const gg_case_record *)a)->index, y = ((const gg_case_record *)b)->index;
    return (x > y) - (x < y);
}

static bool is_done(const gg_run_record *run, int resumed, int index)
{
    for (int i = 0; i < resumed; i++)
        if (run->cases[i].index == index) return true;
    return false;
}

static gg_status run_cases(const gg_plan *plan, const int *chosen, int count,
                           gg_journal *journal, gg_run_record *run)
{
    gg_arena arena = {.backend = plan->backend};
    gg_progress progress;
    int resumed = run->count;
    gg_case_record *cases = realloc(run->cases, ((size_t)resumed + (size_t)count) *
                                                    sizeof *cases);
    if (cases == NULL) return gg_fail(GG_NO_MEMORY, "no memory for %d case records", count);
    run->cases = cases;
    gg_progress_start(&progress, count - resumed);
    progress.visible = progress.visible && !plan->quiet;
    gg_status status = GG_OK;
    for (int i = 0; i < count && status == GG_OK; i++) {
        if (is_done(run, resumed, chosen[i])) continue;
        gg_case_record *record = &run->cases[run->count];
        gg_case_run(plan, chosen[i], &arena, record);
        run->count++;
        if (journal != NULL) status = gg_journal_append(journal, run, record);
        gg_progress_step(&progress, record);
    }
    gg_progress_end(&progress);
    gg_arena_free(&arena);
    qsort(run->cases, (size_t)run->count, sizeof *run->cases, by_index);
    return status;
}

/* With suite, device, kernel and golden file at hand: from the first case to the report. */
static gg_status run_plan(const gg_run_options *options, gg_plan *plan, gg_run_record *run)
{
    char path[4200];
    int count = 0, *chosen = malloc((size_t)plan->suite->count * sizeof *chosen);
    gg_journal *journal = NULL;
    double start = gg_seconds();
    if (chosen == NULL) return gg_fail(GG_NO_MEMORY, "no memory for the list of cases");
    bool keeps = options->out != NULL;
    struct stat there; /* found now, not after hours of measuring */
    if (keeps && (options->out[0] == '\0' ||
                  gg_file_is_lost_link(options->out) ||
                  (stat(options->out, &there) == 0 && !S_ISREG(there.st_mode)))) {
        free(chosen);
        return gg_fail(GG_BAD_INPUT, "--out '%s' is not a file that a report can replace: name "
                       "a file", options->out);
    }
    if (keeps) snprintf(path, sizeof path, "%s.journal", options->out);
    gg_status status = describe(options, plan, run);
    if (status == GG_OK) status = choose_cases(options, plan->suite, chosen, &count);
    if (status == GG_OK && keeps)
        status = gg_journal_open(path, options->resume, run, &journal);
    if (status == GG_OK) status = run_cases(plan, chosen, count, journal, run);
    run->place.seconds = gg_seconds() - start;
    gg_environment_time(run->place.finished);
    if (status == GG_OK && keeps) status = gg_report_write(run, options->out);
    gg_journal_close(journal, status == GG_OK);
    free(chosen);
    return status;
}

static gg_status load_golden(const gg_run_options *options, gg_plan *plan, gg_golden *golden)
{
    if (options->golden == NULL) return GG_OK;
    GG_TRY(gg_golden_load(options->golden, golden));
    plan->golden = golden;
    if (strcmp(golden->kernel, plan->kernel->name) == 0 &&
        strcmp(golden->operator_name, plan->suite->op->name) == 0 &&
        strcmp(golden->suite, plan->suite->name) == 0 &&
        golden->suite_digest == plan->suite->digest)
        return GG_OK;
    return gg_fail(GG_BAD_INPUT, "%s holds digests of kernel %s on suite %s (%016llx), not of "
                   "kernel %s on suite %s (%016llx)", options->golden, golden->kernel,
                   golden->suite, (unsigned long long)golden->suite_digest, plan->kernel->name,
                   plan->suite->name, (unsigned long long)plan->suite->digest);
}

gg_status gg_run(const gg_run_options *options, gg_run_record *run)
{
    gg_suite suite = {.count = 0};
    gg_backend backend;
    gg_golden golden = {.count = 0};
    gg_candidate candidate;
    gg_plan plan = {.backend = &backend, .suite = &suite, .repeats = options->repeats,
                    .certify = options->certify, .observe = options->observe,
                    .observer = options->observer, .quiet = options->own != NULL};
    int threads = options->threads > 0 ? options->threads : gg_processors();
    *run = (gg_run_record){.count = 0};
    GG_TRY(gg_suite_load(options->suite, &suite));
    gg_status status = gg_backend_open(options->device, threads, &backend);
    if (status == GG_OK)
        status = options->own != NULL
                     ? gg_candidate_own(options->own, suite.op, backend.device, &candidate)
                     : gg_candidate_find(options->kernel, options->limits_of, suite.op,
                                         backend.device, &candidate);
    plan.kernel = &candidate.kernel;
    plan.kernel_digest = candidate.digest;
    if (status == GG_OK) status = find_ablated(options, plan.kernel, &plan.ablated);
    if (status == GG_OK) status = load_golden(options, &plan, &golden);
    if (status == GG_OK) status = run_plan(options, &plan, run);
    gg_golden_free(&golden);
    gg_suite_free(&suite);
    return status;
}
