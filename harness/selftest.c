/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/selftest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/hosted.h"
#include "harness/levels.h"
#include "harness/trial.h"
#include "kernels/registry.h"
#include "reports/summary.h"

/* Runs of each case: each of the three poisons, and the first again. */
enum { REPEATS = 4 };

/* Cases held to the roundings that a kernel states: one in three. */
#define HELD(suite) ((suite)->count / 3)

/* Runs of a level; and what the name of a level's check begins with. */
enum { LEVEL_RUNS = 8 };
#define GG_LEVEL_CHECK "level_"

/* With a control the answer is known after a few mutants of each operator. */
enum { CONTROL_MUTANTS = 3 };

const gg_fault_kind gg_fault_kinds[] = {
    {"K1", "tails and padding: kept, dropped, or spilt into a neighbour"},
    {"K2", "masked rows and tiles, arithmetic with infinities"},
    {"K3", "extreme scores: finite sentinels, overflow, the running maximum"},
    {"K4", "lower precision than promised"},
    {"K5", "meaning and plumbing of bias, mask, scale, heads and batches"},
    {"K6", "the gradient that sums over rows; subsets of wanted gradients"},
    {"K7", "strides and offsets of inputs"},
    {"K8", "32-bit offsets"},
    {"K9", "unwritten, stale or foreign memory; launches that fail"},
    {"K10", "races: results read or given before they are there"},
    {"K11", "other bits from run to run"},
    {"K12", "bits or rightness that depend on the rest of the batch or on the model of GPU"},
    {"K13", "side effects of tuning"},
    {"K14", "wrong results that a loose or blind gate lets pass"},
    {"K15", "cheating"},
    {NULL, NULL},
};

static gg_trial_line *add_line(gg_selftest *result, gg_trial_line line)
{
    size_t bytes = ((size_t)result->count + 1) * sizeof *result->lines;
    gg_trial_line *more = realloc(result->lines, bytes);
    if (more == NULL) return NULL;
    result->lines = more;
    result->lines[result->count] = line;
    return &result->lines[result->count++];
}

/* Is `name` one of the words of `list`? */
static bool has_word(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at++)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return length > 0;
    return false;
}

static void add_red(gg_trial_line *line, const char *check)
{
    size_t used = strlen(line->red);
    if (has_word(line->red, check) || used + strlen(check) + 2 > sizeof line->red) return;
    snprintf(line->red + used, sizeof line->red - used, "%s%s", used ? " " : "", check);
}

/* Checks of one case that turned red; when nothing could be measured, "error" if the kernel
 * said so, and else what no mutant is caught by. */
static void collect(gg_trial_line *line, const gg_case_record *record)
{
    if (record->verdict == GG_PASSED) return;
    if (line->reason[0] == '\0')
        snprintf(line->reason, sizeof line->reason, "%.60s: %.180s", record->id,
                 record->reason);
    if (record->output_count == 0)
        add_red(line, strstr(record->reason, "failed with error") ? "error" : "nothing");
    for (int o = 0; o < record->output_count; o++)
        for (int c = 0; c < record->outputs[o].check_count; c++)
            if (record->outputs[o].checks[c].verdict == GG_FAILED)
                add_red(line, record->outputs[o].checks[c].name);
    for (int l = 0; l < record->level_count; l++)
        if (record->levels[l].verdict == GG_FAILED) {
            char name[32];
            snprintf(name, sizeof name, GG_LEVEL_CHECK "%s", record->levels[l].name);
            add_red(line, name);
        }
}

/* Does the feature that was switched off earn its keep in any output? */
static gg_status earns(const gg_case_record *cases, int count, bool *yes)
{
    gg_summary summary;
    gg_case_record *copy = malloc((size_t)count * sizeof *copy + 1);
    if (copy == NULL) return gg_fail(GG_NO_MEMORY, "no memory for %d case records", count);
    memcpy(copy, cases, (size_t)count * sizeof *copy);
    gg_run_record run = {.cases = copy, .count = count};
    gg_status status = gg_summary_make(&run, &summary);
    *yes = false;
    for (int i = 0; status == GG_OK && i < summary.ablation_count; i++)
        *yes |= summary.ablation[i].outcome == GG_EARNED;
    if (status == GG_OK) gg_summary_free(&summary);
    free(copy);
    return status;
}

static bool has_features(const gg_kernel *kernel)
{
    return kernel->features != NULL && kernel->features[0].name != NULL;
}

/* The features that are on unless somebody asks otherwise. */
static void choose_features(gg_plan *plan)
{
    plan->features = 0;
    for (int i = 0; has_features(plan->kernel) && plan->kernel->features[i].name; i++)
        if (plan->kernel->features[i].on) plan->features |= UINT64_C(1) << i;
}

/* A kernel may decline a case, with a reason; that is neither right nor wrong. */
static bool declines(const gg_plan *plan, const gg_case *what)
{
    gg_trial t = {.plan = plan, .op = plan->suite->op, .what = what};
    gg_trial_describe(&t, what->extent, gg_trial_present(what, t.op));
    return plan->kernel->supports(&t.call) != NULL;
}

/* Runs a kernel on the cases that match. `ablate`: the first feature is tried too. */
static gg_status try_kernel(gg_plan *plan, const char *glob, bool ablate,
                            gg_arena *arena, gg_trial_line *line)
{
    const gg_suite *suite = plan->suite;
    gg_case_record *cases = malloc((size_t)suite->count * sizeof *cases + 1);
    gg_status status = GG_OK;
    if (cases == NULL) return gg_fail(GG_NO_MEMORY, "no memory for case records");
    plan->ablated = ablate && has_features(plan->kernel) ? 0 : -1;
    choose_features(plan);
    plan->roundings = plan->kernel->roundings != NULL ? HELD(suite) : 0;
    for (int i = 0; i < suite->count; i++) {
        if (glob != NULL && !gg_case_matches(&suite->cases[i], glob)) continue;
        if (line->subject == GG_SUBJECT_HONEST && declines(plan, &suite->cases[i])) continue;
        gg_case_run(plan, i, arena, &cases[line->cases]);
        collect(line, &cases[line->cases++]);
    }
    if (line->cases == 0)
        status = gg_fail(GG_INTERNAL, "%s ran no case of suite %s", line->name, suite->name);
    if (status == GG_OK && plan->ablated == 0) {
        bool yes;
        status = earns(cases, line->cases, &yes);
        if (status == GG_OK && !yes) {
            add_red(line, "ablation");
            if (line->reason[0] == '\0')
                snprintf(line->reason, sizeof line->reason,
                         "%s collapsed: it earns nothing in any output",
                         plan->kernel->features[0].name);
        }
    }
    free(cases);
    return status;
}

/* Digests of the kernel without the fault, as a card would have left them. */
static gg_status make_golden(gg_plan *plan, const gg_mutant_set *set,
                             const gg_mutant *mutant, gg_arena *arena, gg_golden *golden)
{
    const gg_suite *suite = plan->suite;
    size_t most = (size_t)suite->count * GG_MAX_OUTPUTS;
    gg_case_record *record = malloc(sizeof *record);
    *golden = (gg_golden){.entries = malloc(most * sizeof *golden->entries)};
    snprintf(golden->source, sizeof golden->source, "the kernel without the fault");
    plan->kernel = gg_kernel_find(set->operator_name, set->base(mutant), kDLCPU);
    gg_status status = record == NULL || golden->entries == NULL || plan->kernel == NULL
                           ? gg_fail(GG_NO_MEMORY, "no digests of the kernel without %s",
                                     mutant->name) : GG_OK;
    plan->ablated = -1;
    if (status == GG_OK) {
        choose_features(plan);
        plan->kernel = gg_hosted(plan->backend, plan->kernel);
    }
    for (int i = 0; i < suite->count && status == GG_OK; i++) {
        if (!gg_case_matches(&suite->cases[i], mutant->cases)) continue;
        gg_case_run(plan, i, arena, record);
        for (int o = 0; o < record->output_count; o++) {
            gg_golden_entry *e = &golden->entries[golden->count++];
            *e = (gg_golden_entry){.input_digest = record->input_digest,
                                   .digest = record->outputs[o].digest};
            snprintf(e->id, sizeof e->id, "%s", record->id);
            snprintf(e->output, sizeof e->output, "%s", record->outputs[o].name);
        }
    }
    free(record);
    return status;
}

/* The level whose check this is, GG_LEVELS when it is none's. */
static int level_of(const char *check)
{
    const size_t start = strlen(GG_LEVEL_CHECK);
    if (strncmp(check, GG_LEVEL_CHECK, start) != 0) return GG_LEVELS;
    int level = 0;
    while (level < GG_LEVELS && strcmp(check + start, gg_level_name((gg_level)level)) != 0)
        level++;
    return level;
}

/* A mutant that must show at one level of determinism, and not when idle unless that is
 * the level. On the host even when the rest runs on a device: there the load is one of
 * threads, and a hosted kernel would wait for a device's. */
static gg_status try_level(const gg_plan *like, const gg_mutant_set *set,
                           const gg_mutant *mutant, int level, gg_trial_line *line)
{
    gg_backend host;
    char threads[16];
    const char *relaunch[] = {"--suite", set->suite, "--mutant", mutant->name,
                              "--threads", threads, NULL};
    GG_TRY(gg_backend_open("host", like->backend->threads, &host));
    gg_arena arena = {.backend = &host};
    gg_plan plan = {.backend = &host, .suite = like->suite, .repeats = 2, .certify = -1,
                    .levels = 1u << GG_LEVEL_IDLE | 1u << level, .level_runs = LEVEL_RUNS,
                    .control = gg_kernel_control(set->operator_name, kDLCPU),
                    .relaunch = relaunch, .kernel = set->arm(mutant)};
    snprintf(threads, sizeof threads, "%d", host.threads);
    gg_status status = try_kernel(&plan, mutant->cases, false, &arena, line);
    gg_arena_free(&arena);
    line->good = has_word(line->red, line->expected) &&
                 (level == GG_LEVEL_IDLE || !has_word(line->red, GG_LEVEL_CHECK "idle"));
    return status;
}

static gg_status try_mutant(gg_plan *plan, const gg_mutant_set *set,
                            const gg_mutant *mutant, gg_arena *arena, gg_selftest *result)
{
    bool honest = mutant->check == NULL; /* a control */
    gg_trial_line *line = add_line(result, (gg_trial_line){
        .subject = honest ? GG_SUBJECT_HONEST : GG_SUBJECT_MUTANT,
        .operator_name = set->operator_name, .kind = honest ? "" : mutant->kind,
        .name = mutant->name, .fault = mutant->fault,
        .expected = honest ? "" : mutant->check});
    if (line == NULL) return gg_fail(GG_NO_MEMORY, "no memory for the self-test's lines");
    int level = level_of(line->expected);
    if (level < GG_LEVELS) return try_level(plan, set, mutant, level, line);
    gg_golden golden = {.count = 0};
    gg_status status = GG_OK;
    if (strcmp(line->expected, "golden") == 0) {
        status = make_golden(plan, set, mutant, arena, &golden);
        plan->golden = &golden;
    }
    plan->kernel = gg_hosted(plan->backend, set->arm(mutant));
    bool ablate = strcmp(line->expected, "ablation") == 0;
    if (status == GG_OK) status = try_kernel(plan, mutant->cases, ablate, arena, line);
    plan->golden = NULL;
    gg_golden_free(&golden);
    GG_TRY(status);
    line->good = honest ? line->red[0] == '\0' && line->reason[0] == '\0'
                        : has_word(line->red, line->expected);
    return GG_OK;
}

static gg_status try_honest(gg_plan *plan, const gg_kernel *kernel, gg_arena *arena,
                            gg_subject subject, gg_selftest *result)
{
    gg_trial_line *line = add_line(result, (gg_trial_line){
        .subject = subject, .operator_name = kernel->operator_name, .name = kernel->name,
        .fault = kernel->summary, .kind = "", .expected = ""});
    if (line == NULL) return gg_fail(GG_NO_MEMORY, "no memory for the self-test's lines");
    if (subject == GG_SUBJECT_MUTANT) {
        line->kind = "K14";
        line->expected = "gauge_max";
        line->fault = "no fault: the self-test itself must fail";
    }
    plan->kernel = kernel;
    GG_TRY(try_kernel(plan, NULL, true, arena, line));
    line->good = subject == GG_SUBJECT_HONEST ? line->reason[0] == '\0'
                                              : has_word(line->red, line->expected);
    return GG_OK;
}

static void account(gg_selftest *result, const gg_selftest_options *options)
{
    const gg_trial_line *line = &result->lines[result->count - 1];
    if (line->subject == GG_SUBJECT_HONEST) {
        result->honest_cases += line->cases;
        result->false_alarms += !line->good;
    } else {
        result->planted++;
        result->caught += line->good;
    }
    if (options->show != NULL) options->show(line);
}

/* Every right kernel of the operator on this device. */
static gg_status try_all_honest(gg_plan *plan, const gg_mutant_set *set, gg_arena *arena,
                                const gg_selftest_options *options, gg_selftest *result)
{
    for (int i = 0; gg_kernels[i] != NULL; i++) {
        const gg_kernel *kernel = gg_kernels[i];
        if (strcmp(kernel->operator_name, set->operator_name) != 0 ||
            kernel->device != plan->backend->device ||
            kernel->repeat != GG_REPEAT_RUN_TO_RUN)
            continue;
        GG_TRY(try_honest(plan, kernel, arena, GG_SUBJECT_HONEST, result));
        account(result, options);
        if (options->control != GG_CONTROL_SURVIVOR || result->planted > 0) continue;
        GG_TRY(try_honest(plan, kernel, arena, GG_SUBJECT_MUTANT, result));
        account(result, options);
    }
    return GG_OK;
}

static gg_status try_set(const gg_mutant_set *set, gg_plan *plan, gg_arena *arena,
                         const gg_selftest_options *options, gg_selftest *result)
{
    GG_TRY(try_all_honest(plan, set, arena, options, result));
    for (const gg_mutant *m = set->controls; m != NULL && m->name != NULL; m++) {
        GG_TRY(try_mutant(plan, set, m, arena, result));
        account(result, options);
    }
    if (options->control == GG_CONTROL_ALARM) {
        gg_mutant disguised = set->mutants[0];
        disguised.check = NULL;
        GG_TRY(try_mutant(plan, set, &disguised, arena, result));
        account(result, options);
    }
    for (const gg_mutant *m = set->mutants; m->name != NULL; m++) {
        if (options->control != GG_CONTROL_NONE && m - set->mutants == CONTROL_MUTANTS)
            break;
        GG_TRY(try_mutant(plan, set, m, arena, result));
        account(result, options);
    }
    return GG_OK;
}

static gg_status try_probes(const gg_selftest_options *options, gg_selftest *result)
{
    for (const gg_probe *p = gg_probes; p->name != NULL; p++) {
        gg_trial_line line = {.subject = GG_SUBJECT_PROBE, .operator_name = "",
                              .kind = p->part, .name = p->name, .fault = p->fault,
                              .expected = p->alarm};
        line.good = p->alarms();
        if (line.good) snprintf(line.red, sizeof line.red, "%s", p->alarm);
        if (add_line(result, line) == NULL)
            return gg_fail(GG_NO_MEMORY, "no memory for the self-test's lines");
        account(result, options);
    }
    return GG_OK;
}

gg_status gg_selftest_run(const gg_backend *backend, const gg_selftest_options *options,
                          gg_selftest *result)
{
    gg_arena arena = {.backend = backend};
    gg_status status = GG_OK;
    *result = (gg_selftest){.count = 0};
    for (int i = 0; gg_mutant_sets[i] != NULL && status == GG_OK; i++) {
        gg_suite suite;
        gg_plan plan = {.backend = backend, .suite = &suite, .repeats = REPEATS,
                        .certify = -1};
        status = gg_suite_load(gg_mutant_sets[i]->suite, &suite);
        if (status == GG_OK)
            status = try_set(gg_mutant_sets[i], &plan, &arena, options, result);
        gg_suite_free(&suite);
    }
    gg_arena_free(&arena);
    if (status == GG_OK) status = try_probes(options, result);
    return status;
}

void gg_selftest_free(gg_selftest *result)
{
    free(result->lines);
    *result = (gg_selftest){.count = 0};
}

gg_verdict gg_selftest_verdict(const gg_selftest *r)
{
    if (r->planted == 0 || r->honest_cases == 0) return GG_NOT_VERIFIED;
    return r->caught == r->planted && r->false_alarms == 0 ? GG_PASSED : GG_FAILED;
}
