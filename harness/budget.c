/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/budget.h"

#include <stdlib.h>
#include <string.h>

#include "harness/candidate.h"
#include "harness/exec.h"
#include "harness/environment.h"
#include "harness/progress.h"
#include "harness/rounded.h"
#include "reference/parallel.h"

/* What every case is measured with. */
typedef struct setup {
    const gg_backend *backend;
    const gg_suite *suite;
    gg_candidate candidate;
    const gg_kernel *kernel; /* in it */
    uint64_t features[GG_BUDGET_VARIANTS];
    gg_arena arena, values; /* inputs, truth and kernel; evaluations and their scratch */
    gg_budget *budget;
} setup;

static gg_status listed_points(const gg_operator *op, const char *list, unsigned *points)
{
    *points = 0;
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        int point;
        GG_TRY(gg_rounded_find(op, at, length, &point));
        *points |= 1u << point;
        at += length;
        if (*at == '\0') return GG_OK;
    }
}

static gg_status find_ablated(const gg_budget_options *o, const gg_kernel *kernel, int *at)
{
    const gg_feature *f = kernel->features;
    *at = -1;
    if (o->points != NULL || (o->ablate != NULL && strcmp(o->ablate, "none") == 0))
        return GG_OK;
    for (int i = 0; f != NULL && f[i].name != NULL && *at < 0; i++)
        if (o->ablate == NULL || strcmp(o->ablate, f[i].name) == 0) *at = i;
    if (*at >= 0 || o->ablate == NULL) return GG_OK;
    return gg_fail(GG_BAD_INPUT, "kernel %s has no feature '%s' to ablate: see 'gradgate list "
                   "kernels'", kernel->name, o->ablate);
}

/* The kernel as it is by default, and with the ablated feature the other way round. */
static gg_status make_variants(const gg_budget_options *o, setup *s)
{
    gg_budget *b = s->budget;
    const gg_operator *op = s->suite->op;
    const gg_kernel *kernel = s->kernel;
    int ablated;
    if (kernel->roundings == NULL && o->points == NULL)
        return gg_fail(GG_BAD_INPUT, "kernel %s does not state where it rounds: say it with "
                       "--points (see 'gradgate list roundings')", kernel->name);
    GG_TRY(find_ablated(o, kernel, &ablated));
    for (int i = 0; kernel->features != NULL && kernel->features[i].name != NULL; i++)
        if (kernel->features[i].on) s->features[0] |= UINT64_C(1) << i;
    b->variant_count = ablated < 0 ? 1 : 2;
    for (int v = 0; v < b->variant_count; v++) {
        gg_budget_variant *to = &b->variants[v];
        if (v == 1) s->features[1] = s->features[0] ^ UINT64_C(1) << ablated;
        if (ablated >= 0)
            snprintf(to->name, sizeof to->name, "%s %s", kernel->features[ablated].name,
                     s->features[v] >> ablated & 1u ? "on" : "off");
        if (o->points != NULL) GG_TRY(listed_points(op, o->points, &to->points));
        else GG_TRY(gg_rounded_stated(op, kernel, s->features[v], &to->points));
    }
    return GG_OK;
}

static gg_status describe(const gg_budget_options *o, setup *s)
{
    gg_budget *b = s->budget;
    gg_run_record *made = &b->made;
    const gg_operator *op = s->suite->op;
    if (op->roundings == NULL || op->reference.rounded == NULL)
        return gg_fail(GG_BAD_INPUT, "operator %s states no rounding points, so there is no "
                       "budget to make: see 'gradgate list roundings'", op->name);
    GG_TRY(gg_environment_build(made));
    gg_environment_place(s->backend, &made->place);
    gg_environment_time(made->place.started);
    snprintf(made->operator_name, sizeof made->operator_name, "%s", op->name);
    snprintf(made->kernel, sizeof made->kernel, "%s", s->kernel->name);
    snprintf(made->device, sizeof made->device, "%s", s->backend->name);
    snprintf(made->suite, sizeof made->suite, "%s", s->suite->name);
    snprintf(made->selection, sizeof made->selection, "%s", o->glob ? o->glob : "");
    made->kernel_digest = s->candidate.digest;
    made->suite_digest = s->suite->digest;
    made->suite_count = s->suite->count;
    b->assumed = o->points != NULL;
    for (int p = 0; op->roundings[p].name != NULL && p < GG_BUDGET_POINTS; p++) {
        gg_budget_point *to = &b->points[b->point_count++];
        snprintf(to->name, sizeof to->name, "%s", op->roundings[p].name);
        snprintf(to->summary, sizeof to->summary, "%s", op->roundings[p].summary);
        to->rough = op->roundings[p].rough;
    }
    for (int i = 0; op->outputs[i].name != NULL; i++)
        snprintf(b->outputs[b->output_count++], sizeof b->outputs[0], "%s",
                 op->outputs[i].name);
    return make_variants(o, s);
}

/* Memory for inputs, truth and a variant of the kernel. It begins with inputs and truth,
 * so they are found again while the arena stays large enough. */
static gg_status take_kernel(setup *s, gg_trial *t, int variant, void **scratch)
{
    void *before = s->arena.base;
    t->call.features = s->features[variant];
    gg_status status = gg_trial_allocate(t, true, scratch);
    if (status == GG_NO_MEMORY && s->values.base != NULL) { /* of the case before */
        gg_arena_free(&s->values);
        status = gg_trial_allocate(t, true, scratch);
    }
    if (status != GG_OK) return status;
    if (scratch == NULL && before != s->arena.base)
        return gg_fail(GG_INTERNAL, "the inputs have moved between variants");
    return GG_OK;
}

static gg_status measure_variant(setup *s, gg_trial *t, gg_budget_entry *entry, int variant,
                                 const gg_truth *values, void *scratch)
{
    gg_roundings r = {.has = s->budget->variants[variant].points};
    double error[GG_MAX_OUTPUTS];
    for (int o = 0; o < t->outputs; o++) r.output[o] = t->output[o].dtype;
    GG_TRY(take_kernel(s, t, variant, NULL));
    GG_TRY(gg_trial_run(t, t->first, gg_trial_poison(0)));
    for (int o = 0; o < t->outputs; o++) {
        entry[o].elements = gg_tensor_count(&t->output[o]);
        GG_TRY(gg_rounded_compare(t, o, t->output[o].dtype, t->first[o], t->truth.value[o],
                            &entry[o].kernel, &entry[o].floor, &entry[o].mismatch));
    }
    for (int p = 0; p < s->budget->point_count; p++) {
        r.on = r.has & 1u << p;
        if (r.on == 0) continue;
        GG_TRY(gg_rounded_evaluate(t, &r, values, scratch, error));
        for (int o = 0; o < t->outputs; o++) entry[o].point[p] = error[o];
    }
    r.on = r.has;
    GG_TRY(gg_rounded_evaluate(t, &r, values, scratch, error));
    for (int o = 0; o < t->outputs; o++) {
        int64_t unused = 0;
        entry[o].all = error[o];
        GG_TRY(gg_rounded_compare(t, o, t->output[o].dtype, t->first[o], values->value[o],
                            &entry[o].other, NULL, &unused));
    }
    return GG_OK;
}

static gg_status measure_case(setup *s, gg_trial *t, gg_budget_case *c)
{
    void *scratch = NULL;
    gg_truth values = {.value = {NULL}};
    gg_trial_describe(t, t->what->extent, gg_trial_present(t->what, t->op));
    for (int v = s->budget->variant_count - 1; v >= 0; v--)
        GG_TRY(take_kernel(s, t, v, &scratch)); /* memory for either from now on */
    GG_TRY(gg_trial_draw(t, t->what->seed, scratch));
    GG_TRY(s->backend->truth(s->backend, t->op, &t->problem, &t->truth, scratch));
    GG_TRY(gg_rounded_take(t, &s->values, &values, &scratch));
    for (int v = 0; v < s->budget->variant_count; v++)
        GG_TRY(measure_variant(s, t, c->entry[v], v, &values, scratch));
    return GG_OK;
}

static void run_case(setup *s, int index)
{
    const gg_case *what = &s->suite->cases[index];
    gg_budget_case *c = &s->budget->cases[s->budget->case_count++];
    gg_plan plan = {.backend = s->backend, .suite = s->suite, .kernel = s->kernel,
                    .features = s->features[0], .ablated = -1, .repeats = 1, .certify = -1};
    gg_trial t = {.plan = &plan, .op = s->suite->op, .what = what, .arena = &s->arena};
    *c = (gg_budget_case){.reason = ""};
    snprintf(c->id, sizeof c->id, "%s", what->id);
    snprintf(c->family, sizeof c->family, "%s", what->family->name);
    gg_status status = measure_case(s, &t, c);
    if (status == GG_OK) return;
    memset(c->entry, 0, sizeof c->entry);
    snprintf(c->reason, sizeof c->reason, "%s%.160s",
             status == GG_NO_MEMORY ? "no memory: a budget holds an evaluation in FP64 beside "
             "inputs, truth and outputs: " : "", gg_message());
}

static bool chosen(const gg_budget_options *o, const gg_case *what)
{
    return o->glob == NULL || gg_case_matches(what, o->glob);
}

static gg_status run_cases(const gg_budget_options *o, setup *s)
{
    gg_case_record seen = {.index = 0}; /* its verdict is all that is shown */
    gg_budget *b = s->budget;
    gg_progress progress;
    int count = 0;
    for (int i = 0; i < s->suite->count; i++) count += chosen(o, &s->suite->cases[i]);
    double start = gg_seconds();
    b->cases = calloc((size_t)s->suite->count, sizeof *b->cases);
    if (b->cases == NULL) return gg_fail(GG_NO_MEMORY, "no memory for the cases of a budget");
    gg_progress_start(&progress, count);
    for (int i = 0; i < s->suite->count; i++) {
        if (!chosen(o, &s->suite->cases[i])) continue;
        run_case(s, i);
        const char *reason = b->cases[b->case_count - 1].reason;
        seen.verdict = reason[0] != '\0' ? GG_NOT_VERIFIED : GG_PASSED;
        gg_progress_step(&progress, &seen);
    }
    gg_progress_end(&progress);
    gg_environment_time(b->made.place.finished);
    b->made.place.seconds = gg_seconds() - start;
    if (b->case_count > 0) return GG_OK;
    return gg_fail(GG_BAD_INPUT, "no case of suite %s matches '%s': its first is %s",
                   s->suite->name, o->glob, s->suite->cases[0].id);
}

static gg_status find_kernel(const gg_budget_options *o, const gg_kernel *trial, setup *s)
{
    const gg_operator *op = s->suite->op;
    s->kernel = &s->candidate.kernel;
    if (trial != NULL) return gg_candidate_take(trial, "on trial", &s->candidate);
    if (gg_exec_named(o->kernel))
        return gg_fail(GG_BAD_INPUT, "a command does not state where it rounds: budget takes a "
                       "kernel that does");
    return gg_candidate_find(o->kernel, NULL, op, s->backend, &s->candidate);
}

gg_status gg_budget_run(const gg_budget_options *o, const gg_kernel *trial, gg_budget *budget)
{
    gg_suite suite = {.count = 0};
    gg_backend backend;
    setup s = {.backend = &backend, .suite = &suite, .arena = {.backend = &backend},
               .values = {.backend = &backend}, .budget = budget};
    int threads = o->threads > 0 ? o->threads : gg_processors();
    *budget = (gg_budget){.case_count = 0};
    GG_TRY(gg_suite_load(o->suite, &suite));
    gg_status status = gg_backend_open(o->device, threads, &backend);
    if (status == GG_OK) status = find_kernel(o, trial, &s);
    if (status == GG_OK) status = describe(o, &s);
    if (status == GG_OK) status = run_cases(o, &s);
    gg_arena_free(&s.arena);
    gg_arena_free(&s.values);
    gg_suite_free(&suite);
    return status;
}
