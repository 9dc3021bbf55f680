/* SPDX-License-Identifier: Apache-2.0
 * One case, from inputs to verdict: draw the inputs, compute the truth, run the kernel n
 * times into memory poisoned differently each time, compare the runs as bits, measure the
 * first against the truth, run the ablated pair, certify the truth, judge. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/certify.h"
#include "harness/environment.h"
#include "harness/judge.h"
#include "harness/levels.h"
#include "harness/relations.h"
#include "harness/rounded.h"
#include "harness/trial.h"

static gg_status compare_runs(gg_trial *t, int run, gg_case_record *record)
{
    const gg_backend *b = t->plan->backend;
    for (int o = 0; o < t->outputs; o++) {
        gg_output_record *out = &record->outputs[o];
        gg_tensor first = t->output[o];
        gg_difference d;
        first.data = t->first[o];
        GG_TRY(b->compare(b, &first, t->again[o], gg_trial_poison(0),
                          gg_trial_poison(run), &d));
        if (run == 1 || d.unwritten < out->unwritten) out->unwritten = d.unwritten;
        if (d.differing == 0) continue;
        GG_TRY(gg_map_bits(b, &first, t->again[o], d.differing,
                           t->plan->worst ? &t->plan->worst->share[o] : NULL, out));
        if (out->repeat_first < 0) {
            size_t size = gg_dtype_bytes(first.dtype), at = (size_t)d.first * size;
            GG_TRY(b->download(&out->repeat_bits[0], (char *)t->first[o] + at, size));
            GG_TRY(b->download(&out->repeat_bits[1], (char *)t->again[o] + at, size));
            out->repeat_first = d.first;
        }
        if (d.differing > out->repeat_differing) out->repeat_differing = d.differing;
        if (d.ulps > out->repeat_ulps) out->repeat_ulps = d.ulps;
    }
    return GG_OK;
}

static gg_status run_repeats(gg_trial *t, gg_case_record *record)
{
    int repeats = t->what->repeats > 0 ? t->what->repeats : t->plan->repeats;
    for (int run = 0; run < repeats; run++) {
        GG_TRY(gg_trial_run(t, run == 0 ? t->first : t->again, gg_trial_poison(run)));
        record->runs = run + 1;
        if (run > 0) GG_TRY(compare_runs(t, run, record));
        else GG_TRY(gg_trial_digest_inputs(t, &t->digest_after_first));
    }
    return GG_OK;
}

static double root_mean(double sum, int64_t count)
{
    return count > 0 ? sqrt(sum / (double)count) : 0;
}

static gg_status measure(gg_trial *t, gg_case_record *record, gg_sums *sums)
{
    const gg_backend *b = t->plan->backend;
    for (int o = 0; o < t->outputs; o++) {
        gg_output_record *out = &record->outputs[o];
        gg_tensor first = t->output[o];
        gg_measures m;
        first.data = t->first[o];
        GG_TRY(b->measure(b, &first, t->truth.value[o], t->truth.allowance[o], &m));
        sums[o] = m.sums;
        GG_TRY(b->digest(b, first.data, gg_tensor_bytes(&first), &out->digest));
        out->rmse = root_mean(m.sums.error2, m.sums.finite);
        out->truth_rms = root_mean(m.sums.truth2, m.sums.finite);
        out->floor_rmse = root_mean(m.sums.floor2, m.sums.finite);
        out->allowance_rms = root_mean(m.sums.allowance2, m.sums.finite);
        out->gauge_max = m.sums.ratio;
        out->gauge_p99 = m.ratio_p99;
        out->gauge_max_at = m.sums.ratio_at;
        out->pattern_mismatch = m.sums.mismatch;
        out->pattern_first = m.sums.mismatch > 0 ? m.sums.mismatch_first : -1;
        GG_TRY(gg_map_errors(b, &first, t->truth.value[o], t->truth.allowance[o],
                             t->plan->worst ? &t->plan->worst->gauge[o] : NULL, out));
        if (m.sums.ratio_at < 0) continue;
        size_t size = gg_dtype_bytes(first.dtype), at = (size_t)m.sums.ratio_at;
        uint32_t bits = 0;
        GG_TRY(b->download(&bits, (char *)first.data + at * size, size));
        out->output_there = gg_value_at(&bits, first.dtype, 0);
        GG_TRY(b->download(&out->truth_there, t->truth.value[o] + at, sizeof(double)));
    }
    return GG_OK;
}

/* The same input with one feature off; its bits are not judged, its RMSE is the pair. */
static gg_status ablate(gg_trial *t, gg_case_record *record)
{
    const gg_backend *b = t->plan->backend;
    if (t->plan->ablated < 0) return GG_OK;
    uint64_t features = t->call.features;
    t->call.features = features & ~(UINT64_C(1) << t->plan->ablated);
    gg_status status = gg_trial_run(t, t->again, gg_trial_poison(0));
    t->call.features = features;
    GG_TRY(status);
    for (int o = 0; o < t->outputs; o++) {
        gg_tensor off = t->output[o];
        gg_measures m;
        off.data = t->again[o];
        GG_TRY(b->measure(b, &off, t->truth.value[o], t->truth.allowance[o], &m));
        record->outputs[o].ablated_rmse = root_mean(m.sums.error2, m.sums.finite);
    }
    return GG_OK;
}

/* The guard bands, but those behind the outputs: the last one before the outputs shows a
 * write before the first of them. */
static gg_status check_scratch(gg_trial *t, gg_output_record *out)
{
    const void *outputs[2 * GG_MAX_OUTPUTS + 2];
    bool saved, workspace, others;
    int count = 0;
    for (int o = 0; o < t->outputs; o++) {
        outputs[count++] = t->first[o];
        outputs[count++] = t->again[o];
    }
    outputs[count++] = t->saved;
    outputs[count++] = t->workspace;
    GG_TRY(gg_arena_intact(t->arena, t->saved, &saved));
    GG_TRY(gg_arena_intact(t->arena, t->workspace, &workspace));
    GG_TRY(gg_arena_rest_intact(t->arena, outputs, count, &others));
    gg_check_add(out, "scratch", !saved + !workspace + !others, 0,
                 others ? "the kernel wrote past the end of its saved tensors or workspace"
                        : "the kernel wrote before its outputs, or beside its inputs");
    return GG_OK;
}

/* Nothing outside the outputs, saved tensors and workspace may have changed. */
static gg_status check_trespass(gg_trial *t, gg_case_record *record)
{
    uint64_t digest;
    bool first, again;
    GG_TRY(gg_trial_digest_inputs(t, &digest));
    /* also after the first run: an edit may be undone by the next */
    bool edited = digest != record->input_digest ||
                  t->digest_after_first != record->input_digest;
    gg_check_add(&record->outputs[0], "inputs", edited, 0,
                 "the kernel changed its inputs");
    GG_TRY(check_scratch(t, &record->outputs[0]));
    for (int o = 0; o < t->outputs; o++) {
        GG_TRY(gg_arena_intact(t->arena, t->first[o], &first));
        GG_TRY(gg_arena_intact(t->arena, t->again[o], &again));
        gg_check_add(&record->outputs[o], "guard", !first + !again, 0,
                     "the kernel wrote past the end of this output");
    }
    return GG_OK;
}

/* How far the truth is from the closed form, and how many elements the kernel misses. */
static void compare_answer(const double *answer, const double *truth, const void *bits,
                           bool exact, gg_output_record *out)
{
    double largest = 0, distance = 0, wrong = 0;
    for (int64_t i = 0; i < out->count; i++) {
        largest = fmax(largest, fabs(answer[i]));
        if (!(fabs(answer[i] - truth[i]) <= distance)) distance = fabs(answer[i] - truth[i]);
        wrong += gg_round_to(answer[i], out->dtype) != gg_value_at(bits, out->dtype, i);
    }
    if (distance <= 1e-12 * largest)
        gg_check_add(out, "answer", exact ? wrong : 0, 0,
                     "the exact answer of this probe was missed");
    else
        gg_check_add_missing(out, "answer", "the truth misses the closed form");
}

/* Probes: the truth against the closed form, and the kernel where it must be exact. */
static gg_status check_answer(gg_trial *t, const gg_problem *host, int o, gg_output_record *out)
{
    const gg_backend *b = t->plan->backend;
    size_t wide = (size_t)out->count * sizeof(double);
    double *answer = malloc(wide + 1), *truth = malloc(wide + 1);
    void *bits = malloc(wide + 1);
    bool exact = false;
    gg_status status = answer == NULL || truth == NULL || bits == NULL
                           ? gg_fail(GG_NO_MEMORY, "no memory for closed-form answers")
                           : t->what->family->answer(host, o, answer, &exact);
    if (status == GG_OK) status = b->download(truth, t->truth.value[o], wide);
    if (status == GG_OK) status = b->download(bits, t->first[o], gg_tensor_bytes(&t->output[o]));
    if (status == GG_OK) compare_answer(answer, truth, bits, exact, out);
    free(answer);
    free(truth);
    free(bits);
    return status;
}

static gg_status check_answers(gg_trial *t, gg_case_record *record)
{
    gg_problem host;
    if (t->what->family->answer == NULL) return GG_OK;
    gg_status status = gg_problem_fetch(t->plan->backend, &t->problem, &host);
    for (int o = 0; o < t->outputs && status == GG_OK; o++)
        status = check_answer(t, &host, o, &record->outputs[o]);
    gg_problem_release(&host);
    return status;
}

static void check_golden(const gg_trial *t, gg_case_record *record)
{
    for (int o = 0; t->plan->golden != NULL && o < t->outputs; o++) {
        gg_output_record *out = &record->outputs[o];
        const gg_golden_entry *e = gg_golden_find(t->plan->golden, record->id, out->name);
        char note[192];
        if (e == NULL) {
            gg_check_add_missing(out, "golden", "the golden file has no such case");
        } else if (e->input_digest != record->input_digest) {
            gg_check_add_missing(out, "golden", "the golden file was made from other inputs");
        } else {
            snprintf(note, sizeof note, "bits differ from %s: digest %016" PRIx64
                     ", golden %016" PRIx64, t->plan->golden->source, out->digest, e->digest);
            gg_check_add(out, "golden", e->digest != out->digest, 0, note);
        }
    }
}

static gg_status judge(gg_trial *t, gg_case_record *record)
{
    const gg_limits *limits = t->plan->kernel->limits;
    for (int o = 0; o < t->outputs; o++) {
        gg_limit_record limit = gg_limits_of(&limits[o], t->output[o].dtype);
        gg_judge_output(&record->outputs[o], &limit, record->runs);
    }
    GG_TRY(check_answers(t, record));
    GG_TRY(check_trespass(t, record));
    check_golden(t, record);
    gg_judge_case(record);
    return GG_OK;
}

static void open_outputs(const gg_trial *t, gg_case_record *record)
{
    record->output_count = t->outputs;
    for (int o = 0; o < t->outputs; o++) {
        gg_output_record *out = &record->outputs[o];
        snprintf(out->name, sizeof out->name, "%s", t->op->outputs[o].name);
        out->dtype = t->output[o].dtype;
        out->ndim = t->output[o].ndim;
        memcpy(out->shape, t->output[o].shape, sizeof out->shape);
        out->count = gg_tensor_count(&t->output[o]);
        out->ablated_rmse = NAN;
        out->pattern_first = out->repeat_first = out->gauge_max_at = -1;
    }
}

static gg_sight look_at(const gg_trial *t, gg_tensor first[GG_MAX_OUTPUTS])
{
    for (int o = 0; o < t->outputs; o++) {
        first[o] = t->output[o];
        first[o].data = t->first[o];
    }
    return (gg_sight){.backend = t->plan->backend, .op = t->op, .problem = &t->problem,
                      .truth = &t->truth, .first = first};
}

static gg_status start_certificate(const gg_trial *t, int index, const gg_sums *sums,
                                   const gg_case_record *record, gg_certificate **started)
{
    gg_tensor first[GG_MAX_OUTPUTS];
    gg_sight sight = look_at(t, first);
    *started = NULL;
    if (!gg_plan_turns(t->plan, t->plan->certify, index) &&
        (t->plan->certify < 0 ||
         gg_certify_cost_all(t->op, &t->problem) > GG_CERTIFY_ALL))
        return GG_OK;
    return gg_certify_start(&sight, sums, t->what->seed, record->outputs,
                            record->output_count, started);
}

/* The pair runs on the device while MPFR works on the host. */
static gg_status ablate_and_certify(gg_trial *t, int index, const gg_sums *sums,
                                    gg_case_record *record)
{
    gg_certificate *started;
    GG_TRY(start_certificate(t, index, sums, record, &started));
    gg_status status = ablate(t, record);
    if (status == GG_OK) return gg_certify_finish(started, record->outputs);
    char message[1024];
    snprintf(message, sizeof message, "%s", gg_message());
    gg_certify_finish(started, record->outputs);
    return gg_fail(status, "%s", message);
}

/* Shows the case to whoever asked. */
static void show(const gg_trial *t, const gg_case_record *record)
{
    gg_tensor first[GG_MAX_OUTPUTS];
    gg_sight sight = look_at(t, first);
    if (t->plan->observe != NULL) t->plan->observe(t->plan->observer, &sight, record);
}

static gg_status measure_case(gg_trial *t, int index, gg_case_record *record)
{
    const gg_backend *b = t->plan->backend;
    void *scratch = NULL;
    gg_sums sums[GG_MAX_OUTPUTS];
    gg_trial_describe(t, t->what->extent, gg_trial_present(t->what, t->op));
    GG_TRY(gg_trial_allocate(t, true, &scratch));
    GG_TRY(gg_trial_draw(t, t->what->seed, scratch));
    GG_TRY(gg_trial_digest_inputs(t, &record->input_digest));
    GG_TRY(b->truth(b, t->op, &t->problem, &t->truth, scratch));
    GG_TRY(gg_arena_arm(t->arena));
    open_outputs(t, record);
    GG_TRY(run_repeats(t, record));
    GG_TRY(measure(t, record, sums));
    GG_TRY(ablate_and_certify(t, index, sums, record));
    if (gg_plan_turns(t->plan, t->plan->roundings, index))
        GG_TRY(gg_rounded_measure(t, record));
    GG_TRY(judge(t, record));
    show(t, record);
    gg_levels_measure(t, record);
    if (t->plan->suite->relations) GG_TRY(gg_relations_check(t, scratch, record));
    gg_judge_case(record);
    return GG_OK;
}

bool gg_plan_turns(const gg_plan *plan, int want, int index)
{
    int64_t count = plan->place != NULL ? plan->chosen : plan->suite->count;
    int64_t at = plan->place != NULL ? plan->place[index] : index;
    return want > 0 && (at == 0 || (at * want) / count != ((at - 1) * want) / count);
}

static gg_status digest_case(gg_trial *t, gg_case_record *record)
{
    const gg_backend *b = t->plan->backend;
    void *scratch = NULL;
    gg_trial_describe(t, t->what->extent, gg_trial_present(t->what, t->op));
    GG_TRY(gg_trial_allocate(t, true, &scratch));
    GG_TRY(gg_trial_draw(t, t->what->seed, scratch));
    GG_TRY(gg_trial_digest_inputs(t, &record->input_digest));
    GG_TRY(gg_trial_run(t, t->first, gg_trial_poison(0)));
    open_outputs(t, record);
    record->runs = 1;
    for (int o = 0; o < t->outputs; o++)
        GG_TRY(b->digest(b, t->first[o], gg_tensor_bytes(&t->output[o]),
                         &record->outputs[o].digest));
    return GG_OK;
}

static gg_trial begin(const gg_plan *plan, int index, gg_arena *arena, gg_case_record *record)
{
    const gg_case *what = &plan->suite->cases[index];
    *record = (gg_case_record){.index = index, .seed = what->seed};
    snprintf(record->id, sizeof record->id, "%s", what->id);
    snprintf(record->family, sizeof record->family, "%s", what->family->name);
    memcpy(record->extent, what->extent, sizeof record->extent);
    return (gg_trial){.plan = plan, .op = plan->suite->op, .what = what, .arena = arena};
}

void gg_case_digest(const gg_plan *plan, int index, gg_arena *arena, gg_case_record *record)
{
    gg_trial t = begin(plan, index, arena, record);
    if (digest_case(&t, record) == GG_OK) return;
    record->output_count = 0;
    snprintf(record->reason, sizeof record->reason, "%s", gg_message());
}

void gg_case_run(const gg_plan *plan, int index, gg_arena *arena, gg_case_record *record)
{
    double start = gg_seconds();
    gg_trial t = begin(plan, index, arena, record);
    gg_status status = measure_case(&t, index, record);
    if (status != GG_OK) {
        record->output_count = record->level_count = 0;
        record->verdict = status == GG_KERNEL_FAULT ? GG_FAILED : GG_NOT_VERIFIED;
        snprintf(record->reason, sizeof record->reason, "%s", gg_message());
    }
    record->seconds = gg_seconds() - start;
}
