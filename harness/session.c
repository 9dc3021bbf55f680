/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/environment.h"
#include "harness/exchange.h"
#include "harness/given.h"
#include "harness/levels.h"
#include "harness/outside.h"
#include "harness/rounded.h"
#include "kernels/registry.h"
#include "reference/parallel.h"

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

/* How many cases are held to the stated roundings. Who asks for some needs a kernel that states
 * them; by default one that does not is let alone. */
static gg_status choose_roundings(gg_plan *plan)
{
    const gg_operator *op = plan->suite->op;
    unsigned points;
    if (plan->roundings < 0)
        plan->roundings = op->reference.rounded != NULL && plan->kernel->roundings != NULL
                              ? GG_DEFAULT_ROUNDINGS : 0;
    if (plan->roundings > 0)
        GG_TRY(gg_rounded_stated(op, plan->kernel, plan->features, &points));
    if (plan->roundings > plan->suite->count) plan->roundings = plan->suite->count;
    return GG_OK;
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
    gg_levels_text(plan->levels, run->levels, sizeof run->levels);
    run->level_runs = plan->levels != 0 ? plan->level_runs : 0;
    if (plan->certify > plan->suite->count) plan->certify = plan->suite->count;
    run->certify = plan->certify;
    plan->features = default_features(kernel, run);
    GG_TRY(choose_roundings(plan));
    run->roundings = plan->roundings;
    for (int o = 0; op->outputs[o].name != NULL; o++, run->limit_count++) {
        gg_limit_record *limit = &run->limits[o];
        copy(limit->output, sizeof limit->output, op->outputs[o].name);
        limit->rmse_over_floor = kernel->limits[o].rmse_over_floor;
        limit->gauge_p99 = kernel->limits[o].gauge_p99;
        limit->gauge_max = kernel->limits[o].gauge_max;
    }
    return GG_OK;
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

/* The outputs of an export. */
static gg_status find_outputs(const gg_run_options *options, gg_session *s)
{
    gg_outside *outside;
    gg_candidate *c = &s->candidate;
    GG_TRY(gg_exchange_kernel(options->exchange, &s->suite, &outside, &c->digest,
                              &s->plan.repeats));
    gg_candidate_outside(outside, "files", GG_FROM_FILES, s->suite.op, s->backend.device,
                         c);
    return options->limits_of == NULL
               ? GG_OK : gg_candidate_limits(options->limits_of, s->suite.op, c);
}

static gg_status find_kernel(const gg_run_options *options, gg_session *s)
{
    const gg_operator *op = s->suite.op;
    gg_candidate *c = &s->candidate;
    if (options->exchange != NULL) GG_TRY(find_outputs(options, s));
    else if (options->own != NULL)
        GG_TRY(gg_candidate_own(options->own, op, s->backend.device, c));
    else GG_TRY(gg_candidate_find(options->kernel, options->limits_of, op, &s->backend, c));
    if (options->kernel_name != NULL) {
        if (options->kernel_name[0] == '\0')
            return gg_fail(GG_BAD_INPUT, "--kernel-name is empty: give a name");
        c->kernel.name = options->kernel_name;
    }
    if (c->outside != NULL && options->timeout > 0) c->outside->timeout = options->timeout;
    s->plan.kernel = &c->kernel;
    s->plan.kernel_digest = c->digest;
    s->plan.outside = c->outside;
    return GG_OK;
}

/* Levels that can be tried with this kernel on this device; one that is named must be. */
static gg_status choose_levels(const gg_run_options *options, gg_session *s)
{
    const unsigned twin = 1u << GG_LEVEL_TWIN, all = (1u << GG_LEVELS) - 1;
    gg_plan *plan = &s->plan;
    const gg_kernel *k = plan->kernel;
    plan->levels = options->levels;
    plan->level_runs = options->repeats;
    plan->control = gg_kernel_control(k->operator_name, k->device);
    if (plan->levels != 0 && plan->repeats > GG_DEFAULT_REPEATS)
        plan->repeats = GG_DEFAULT_REPEATS;
    if (k->device == kDLCPU || gg_kernel_find(k->operator_name, k->name, kDLCPU) == NULL)
        plan->levels &= ~twin;
    if (options->levels & twin && options->levels != all && !(plan->levels & twin))
        return gg_fail(GG_BAD_INPUT, "level twin compares a GPU's bits with the host twin of "
                       "the kernel: %s", k->device == kDLCPU ? "say --device cuda"
                                                             : "this kernel has none");
    return GG_OK;
}

/* What a fresh process is told, which cannot have a kernel of the caller's. */
static void tell_fresh(const gg_run_options *options, gg_session *s)
{
    const char *words[] = {"--suite", options->suite, "--kernel", options->kernel,
                           "--device", options->device, "--threads", s->threads};
    snprintf(s->threads, sizeof s->threads, "%d", s->backend.threads);
    memcpy(s->relaunch, words, sizeof words);
    if (options->own == NULL && options->suite != NULL) s->plan.relaunch = s->relaunch;
}

/* Who is certified follows from the choice of cases, not from the suite: of a choice of three
 * one can be asked for. A shard is no choice: shards together certify what one run would. */
static gg_status count_chosen(const char *glob, gg_session *s)
{
    if (glob == NULL) return GG_OK;
    s->place = calloc((size_t)s->suite.count + 1, sizeof *s->place);
    if (s->place == NULL) return gg_fail(GG_NO_MEMORY, "no memory for a choice of cases");
    for (int i = 0; i < s->suite.count; i++) {
        s->place[i] = s->plan.chosen;
        s->plan.chosen += gg_case_matches(&s->suite.cases[i], glob);
    }
    s->plan.place = s->place;
    return GG_OK;
}

gg_status gg_session_suite(const gg_run_options *options, gg_suite *suite, char glob[96])
{
    glob[0] = '\0';
    *suite = (gg_suite){.count = 0};
    if (options->exchange != NULL) return gg_exchange_load(options->exchange, suite, glob);
    if (options->input_count == 0) return gg_suite_load(options->suite, suite);
    const gg_operator *op = gg_operator_find(options->operator_name);
    if (op == NULL)
        return gg_fail(GG_BAD_INPUT, "there is no operator '%s': see 'gradgate list operators'",
                       options->operator_name);
    return gg_given_suite(op, options->inputs, options->input_count, suite);
}

gg_status gg_session_open(const gg_run_options *options, gg_session *s, gg_run_record *run)
{
    int threads = options->threads > 0 ? options->threads : gg_processors();
    gg_plan *plan = &s->plan;
    *s = (gg_session){.plan = {.backend = &s->backend, .suite = &s->suite,
                               .repeats = options->repeats, .certify = options->certify,
                               .roundings = options->roundings,
                               .observe = options->observe, .observer = options->observer,
                               .quiet = options->own != NULL}};
    *run = (gg_run_record){.count = 0};
    GG_TRY(gg_session_suite(options, &s->suite, s->glob));
    GG_TRY(gg_backend_open(options->device, threads, &s->backend));
    if (options->shares && s->backend.visible > 0)
        s->backend.threads = (threads + s->backend.visible - 1) / s->backend.visible;
    GG_TRY(find_kernel(options, s));
    GG_TRY(find_ablated(options, plan->kernel, &plan->ablated));
    GG_TRY(choose_levels(options, s));
    GG_TRY(load_golden(options, plan, &s->golden));
    tell_fresh(options, s);
    plan->worst = &s->worst;
    gg_run_options chosen = *options;
    if (s->glob[0] != '\0') chosen.glob = s->glob;
    GG_TRY(count_chosen(chosen.glob, s));
    return describe(&chosen, plan, run);
}

void gg_session_close(gg_session *s)
{
    gg_candidate_close(&s->candidate);
    gg_golden_free(&s->golden);
    gg_suite_free(&s->suite);
    free(s->place);
    s->place = NULL;
}
