/* SPDX-License-Identifier: Apache-2.0
 * One case of a bench: draw sets of inputs that rotate, compute the truth of the first,
 * time each kernel, verify the outputs of its last timed run. */
#include <math.h>
#include <stdlib.h>

#include "harness/bench.h"
#include "harness/judge.h"
#include "harness/trial.h"

enum { WARM_RUNS = 3, WARM_MOST = 40 };
#define WARM_MILLISECONDS 30.0
/* Seeds of the other sets: far from any that a suite counts up to. */
#define SEED_STEP UINT64_C(0x9e3779b97f4a7c15)

typedef struct rotation {
    int count;
    void *data[GG_BENCH_SETS][GG_MAX_INPUTS]; /* [0]: the inputs of the case itself */
} rotation;

typedef struct bench_run {
    gg_bench *bench;
    gg_plan plan;
    gg_trial trial;
    rotation sets;
    uint64_t digest; /* of the first set */
    void *truth[GG_MAX_OUTPUTS];
} bench_run;

static gg_status prepare(bench_run *r, const gg_kernel *kernel, void **scratch)
{
    gg_trial *t = &r->trial;
    uint64_t features = 0;
    for (int i = 0; kernel->features != NULL && kernel->features[i].name != NULL; i++)
        if (kernel->features[i].on) features |= UINT64_C(1) << i;
    r->plan.kernel = kernel;
    r->plan.features = features;
    gg_trial_describe(t, t->what->extent, gg_trial_present(t->what, t->op));
    return gg_trial_allocate(t, true, scratch);
}

static size_t set_bytes(const gg_trial *t)
{
    size_t bytes = 0;
    for (int i = 0; i < t->inputs; i++)
        if (t->op->inputs[i].role != GG_ROLE_OPTIONAL)
            bytes += gg_tensor_bytes(&t->problem.input[i]);
    return bytes;
}

/* As many sets as exceed the cache twice, two at least; fewer when memory is short. */
static int count_sets(const gg_backend *b, size_t bytes)
{
    size_t one = bytes + GG_MAX_INPUTS * (GG_GUARD_BYTES + GG_ARENA_ALIGN);
    size_t left = b->memory_left() / 10 * 9, room = left / one;
    size_t want = bytes > 0 ? 2 * b->cache_bytes / bytes + 1 : 2;
    if (want < 2) want = 2;
    if (want > GG_BENCH_SETS) want = GG_BENCH_SETS;
    return (int)(want - 1 <= room ? want : room + 1);
}

/* Memory of the other sets; without it the first goes alone. Masks and lengths are those
 * of the case in every set, so that each timed run has the same work. */
static void take_sets(bench_run *r, gg_arena *spare)
{
    gg_trial *t = &r->trial;
    const gg_backend *b = r->plan.backend;
    gg_bench_case *c = &r->bench->cases[r->bench->case_count - 1];
    size_t bytes = set_bytes(t);
    r->sets.count = count_sets(b, bytes);
    size_t one = bytes + GG_MAX_INPUTS * (GG_GUARD_BYTES + GG_ARENA_ALIGN);
    if (r->sets.count > 1 &&
        gg_arena_reserve(spare, one * (size_t)(r->sets.count - 1)) != GG_OK)
        r->sets.count = 1;
    for (int s = 0; s < r->sets.count; s++)
        for (int i = 0; i < t->inputs; i++) {
            gg_tensor *in = &t->problem.input[i];
            bool same = s == 0 || in->data == NULL ||
                        t->op->inputs[i].role == GG_ROLE_OPTIONAL;
            r->sets.data[s][i] =
                same ? in->data : gg_arena_take(spare, gg_tensor_bytes(in));
        }
    c->sets = r->sets.count;
    c->set_bytes = (int64_t)bytes;
}

static gg_status draw_sets(bench_run *r, void *scratch)
{
    gg_trial *t = &r->trial;
    for (int s = r->sets.count - 1; s >= 0; s--) { /* ends with the case's own inputs */
        for (int i = 0; i < t->inputs; i++) t->problem.input[i].data = r->sets.data[s][i];
        GG_TRY(gg_trial_draw(t, t->what->seed + (uint64_t)s * SEED_STEP, scratch));
    }
    return gg_trial_digest_inputs(t, &r->digest);
}

/* What the problem asks for; the operator may read integers. */
static gg_status count_cost(bench_run *r, gg_cost *cost)
{
    gg_trial *t = &r->trial;
    gg_problem host = t->problem;
    gg_status status = GG_OK;
    if (t->op->cost == NULL) return GG_OK;
    for (int i = 0; i < GG_MAX_INPUTS; i++) host.input[i].data = NULL;
    for (int i = 0; i < t->inputs && status == GG_OK; i++) {
        const gg_tensor *in = &t->problem.input[i];
        if (in->data == NULL || in->dtype != GG_I32) continue;
        size_t bytes = gg_tensor_bytes(in);
        host.input[i].data = malloc(bytes + 1);
        status = host.input[i].data == NULL
                     ? gg_fail(GG_NO_MEMORY, "no memory for a host copy of an input")
                     : r->plan.backend->download(host.input[i].data, in->data, bytes);
    }
    if (status == GG_OK) *cost = t->op->cost(&host);
    gg_problem_release(&host);
    return status;
}

static gg_status call(bench_run *r, int set, bool both)
{
    gg_trial *t = &r->trial;
    const gg_kernel *kernel = r->plan.kernel;
    for (int i = 0; i < t->inputs; i++) t->dl_input[i].data = r->sets.data[set][i];
    int error = gg_trial_call(t, kernel->forward);
    if (error != 0)
        return gg_fail(GG_DEVICE_FAULT, "forward failed with error %d", error);
    if (both && (error = gg_trial_call(t, kernel->backward)) != 0)
        return gg_fail(GG_DEVICE_FAULT, "backward failed with error %d", error);
    return GG_OK;
}

/* Until the clocks have risen, or a slow kernel has run a few times. */
static gg_status warm_up(bench_run *r)
{
    const gg_backend *b = r->plan.backend;
    double spent = 0, one;
    int least = b->device == kDLCPU ? 1 : WARM_RUNS;
    for (int i = 0; i < least || (i < WARM_MOST && spent < WARM_MILLISECONDS); i++) {
        GG_TRY(b->timer_start(b, 0));
        GG_TRY(call(r, i % r->sets.count, true));
        GG_TRY(b->timer_stop(b, 0));
        GG_TRY(b->finish(b));
        GG_TRY(b->timer_read(b, 0, &one));
        spent += one;
    }
    return GG_OK;
}

/* All runs are queued before the first is waited for; the last one has the case's own
 * inputs. */
static gg_status time_runs(bench_run *r, bool both, gg_times *times)
{
    const gg_backend *b = r->plan.backend;
    int reps = r->bench->reps;
    for (int i = 0; i < reps; i++) {
        GG_TRY(b->timer_start(b, i));
        GG_TRY(call(r, (reps - 1 - i) % r->sets.count, both));
        GG_TRY(b->timer_stop(b, i));
    }
    GG_TRY(b->finish(b));
    for (int i = 0; i < reps; i++) GG_TRY(b->timer_read(b, i, &times->sample[i]));
    times->count = reps;
    return GG_OK;
}

/* Outputs, saved tensors and workspace hold poison before the first timed run: an output
 * that no run wrote shows, and one left from another set of inputs is wrong. */
static gg_status time_kernel(bench_run *r, gg_bench_entry *e)
{
    gg_trial *t = &r->trial;
    const gg_backend *b = r->plan.backend;
    uint32_t poison = gg_trial_poison(0);
    for (int o = 0; o < t->outputs; o++) {
        t->dl_output[o].data = t->first[o];
        GG_TRY(b->fill(t->first[o], gg_tensor_bytes(&t->output[o]), poison));
    }
    GG_TRY(b->fill(t->saved, t->saved_bytes, poison));
    GG_TRY(b->fill(t->workspace, t->workspace_bytes, poison));
    GG_TRY(warm_up(r));
    GG_TRY(time_runs(r, false, &e->forward));
    for (int o = 0; o < t->outputs; o++)
        GG_TRY(b->fill(t->first[o], gg_tensor_bytes(&t->output[o]), poison));
    return time_runs(r, true, &e->total);
}

static double root_mean(double sum, int64_t count)
{
    return count > 0 ? sqrt(sum / (double)count) : 0;
}

/* One output of the last timed run, against the truth and against the untimed run. */
static gg_status measure(bench_run *r, int o, gg_output_record *out)
{
    gg_trial *t = &r->trial;
    const gg_backend *b = r->plan.backend;
    gg_tensor timed = t->output[o];
    gg_measures m;
    gg_difference d;
    timed.data = t->first[o];
    GG_TRY(b->measure(b, &timed, t->truth.value[o], t->truth.allowance[o], &m));
    GG_TRY(b->compare(b, &timed, t->again[o], gg_trial_poison(0), gg_trial_poison(1), &d));
    *out = (gg_output_record){.dtype = timed.dtype, .ndim = timed.ndim};
    out->ablated_rmse = NAN;
    snprintf(out->name, sizeof out->name, "%s", t->op->outputs[o].name);
    memcpy(out->shape, timed.shape, sizeof out->shape);
    out->count = gg_tensor_count(&timed);
    out->rmse = root_mean(m.sums.error2, m.sums.finite);
    out->truth_rms = root_mean(m.sums.truth2, m.sums.finite);
    out->floor_rmse = root_mean(m.sums.floor2, m.sums.finite);
    out->allowance_rms = root_mean(m.sums.allowance2, m.sums.finite);
    out->gauge_max = m.sums.ratio;
    out->gauge_p99 = m.ratio_p99;
    out->gauge_max_at = m.sums.ratio_at;
    out->pattern_mismatch = m.sums.mismatch;
    out->pattern_first = m.sums.mismatch > 0 ? m.sums.mismatch_first : -1;
    out->repeat_differing = d.differing;
    out->repeat_first = d.differing > 0 ? d.first : -1;
    out->repeat_ulps = d.ulps;
    out->unwritten = d.unwritten;
    return GG_OK;
}

static gg_status check_memory(bench_run *r, gg_output_record *out)
{
    gg_trial *t = &r->trial;
    uint64_t digest;
    bool whole[2], output = true, again;
    GG_TRY(gg_trial_digest_inputs(t, &digest));
    GG_TRY(gg_arena_intact(t->arena, t->saved, &whole[0]));
    GG_TRY(gg_arena_intact(t->arena, t->workspace, &whole[1]));
    for (int o = 0; o < t->outputs; o++) {
        GG_TRY(gg_arena_intact(t->arena, t->first[o], &again));
        output = output && again;
    }
    gg_check_add(out, "inputs", digest != r->digest, 0, "the kernel changed its inputs");
    gg_check_add(out, "guard", !whole[0] + !whole[1] + !output, 0,
                 "the kernel wrote past the end of its memory");
    return GG_OK;
}

/* The first check that failed. A kernel that promises no equal bits is not wrong when
 * they differ: the table shows it. */
static void judge(const gg_kernel *kernel, const gg_output_record *outputs, int count,
                  gg_bench_entry *e)
{
    e->verdict = GG_PASSED;
    for (int o = 0; o < count; o++)
        for (int c = 0; c < outputs[o].check_count; c++) {
            const gg_check *check = &outputs[o].checks[c];
            bool promised = kernel->repeat == GG_REPEAT_RUN_TO_RUN;
            if (strcmp(check->name, "repeat") == 0 && !promised) continue;
            if (gg_verdict_worse(e->verdict, check->verdict) == e->verdict) continue;
            e->verdict = check->verdict;
            snprintf(e->reason, sizeof e->reason, "%s %s: %s", outputs[o].name, check->name,
                     check->note);
        }
}

static void keep(const gg_operator *op, const gg_output_record *out, gg_bench_entry *e)
{
    gg_bench_output *to = &e->outputs[e->output_count++];
    *to = (gg_bench_output){.dtype = out->dtype, .rmse = out->rmse,
                            .floor = out->floor_rmse, .truth_rms = out->truth_rms,
                            .gauge_p99 = out->gauge_p99, .gauge_max = out->gauge_max};
    snprintf(to->name, sizeof to->name, "%s", out->name);
    if (out->repeat_differing > 0) e->same_bits = 0;
    if (op->graded != NULL && strcmp(op->graded, out->name) == 0)
        e->graded = out->rmse == 0 ? 0 : out->rmse / out->floor_rmse;
}

static gg_status verify(bench_run *r, gg_bench_entry *e)
{
    gg_trial *t = &r->trial;
    const gg_limits *limits = r->plan.kernel->limits;
    gg_output_record *outputs = calloc(GG_MAX_OUTPUTS, sizeof *outputs);
    if (outputs == NULL) return gg_fail(GG_NO_MEMORY, "no memory to verify the outputs");
    gg_status status = gg_trial_run(t, t->again, gg_trial_poison(1));
    e->same_bits = 1;
    for (int o = 0; o < t->outputs && status == GG_OK; o++) {
        status = measure(r, o, &outputs[o]);
        if (status != GG_OK) break;
        bool wide = t->output[o].dtype == GG_F32; /* its floor is out of reach */
        gg_limit_record limit = {.gauge_p99 = limits[o].gauge_p99,
                                 .gauge_max = limits[o].gauge_max};
        limit.rmse_over_floor = wide ? INFINITY : limits[o].rmse_over_floor;
        gg_judge_output(&outputs[o], &limit, 2);
        keep(t->op, &outputs[o], e);
    }
    if (status == GG_OK) status = check_memory(r, &outputs[0]);
    if (status == GG_OK) judge(r->plan.kernel, outputs, t->outputs, e);
    free(outputs);
    return status;
}

/* From a kernel to its figures. The inputs and the truth are in place and must be found
 * there: the layout begins with them, whatever the kernel needs behind them. */
static gg_status run_kernel(bench_run *r, const gg_kernel *kernel, gg_bench_entry *e)
{
    gg_trial *t = &r->trial;
    uint64_t digest;
    GG_TRY(prepare(r, kernel, NULL));
    for (int i = 0; i < t->inputs; i++)
        if (t->problem.input[i].data != r->sets.data[0][i])
            return gg_fail(GG_INTERNAL, "the inputs have moved between kernels");
    for (int o = 0; o < t->outputs; o++)
        if (t->truth.value[o] != r->truth[o])
            return gg_fail(GG_INTERNAL, "the truth has moved between kernels");
    GG_TRY(gg_trial_digest_inputs(t, &digest));
    if (digest != r->digest)
        return gg_fail(GG_DEVICE_FAULT, "a kernel before this one changed the inputs");
    GG_TRY(gg_arena_arm(t->arena));
    e->saved_bytes = (int64_t)t->saved_bytes;
    e->workspace_bytes = (int64_t)t->workspace_bytes;
    e->extra_bytes = (double)t->saved_bytes + (double)t->workspace_bytes;
    GG_TRY(time_kernel(r, e));
    gg_times_settle(&e->forward);
    gg_times_settle(&e->total);
    for (int i = 0; i < t->inputs; i++) t->dl_input[i].data = r->sets.data[0][i];
    return verify(r, e);
}

static void excuse(gg_bench_entry *e)
{
    e->verdict = GG_NOT_VERIFIED;
    snprintf(e->reason, sizeof e->reason, "%s", gg_message());
}

/* Entries for all kernels; the one that needs most memory sizes the arena. */
static const gg_kernel *enter(bench_run *r, const gg_kernel *const *kernels, int first)
{
    const gg_kernel *largest = NULL;
    size_t most = 0;
    for (int k = 0; kernels[k] != NULL; k++) {
        gg_bench_entry *e = &r->bench->entries[first + k];
        gg_status status = prepare(r, kernels[k], NULL);
        if (status == GG_OK && r->trial.arena->peak >= most) {
            most = r->trial.arena->peak;
            largest = kernels[k];
        }
        if (status == GG_OK) continue;
        excuse(e);
        e->declined = kernels[k]->supports(&r->trial.call) != NULL;
    }
    return largest;
}

static gg_status set_up(bench_run *r, const gg_kernel *largest, gg_arena *spare)
{
    gg_trial *t = &r->trial;
    const gg_backend *b = r->plan.backend;
    void *scratch = NULL;
    GG_TRY(prepare(r, largest, &scratch));
    take_sets(r, spare);
    GG_TRY(draw_sets(r, scratch));
    GG_TRY(count_cost(r, &r->bench->cases[r->bench->case_count - 1].cost));
    GG_TRY(b->truth(b, t->op, &t->problem, &t->truth, scratch));
    for (int o = 0; o < t->outputs; o++) r->truth[o] = t->truth.value[o];
    return GG_OK;
}

static void describe_case(gg_bench_case *c, const gg_case *what)
{
    *c = (gg_bench_case){.seed = what->seed};
    snprintf(c->id, sizeof c->id, "%s", what->id);
    snprintf(c->family, sizeof c->family, "%s", what->family->name);
    memcpy(c->extent, what->extent, sizeof c->extent);
    memcpy(c->input_dtype, what->input_dtype, sizeof c->input_dtype);
    memcpy(c->output_dtype, what->output_dtype, sizeof c->output_dtype);
}

void gg_bench_case_run(gg_bench *bench, const gg_backend *backend, const gg_suite *suite,
                       int index, const gg_kernel *const *kernels,
                       struct gg_arena *arena, struct gg_arena *spare)
{
    const gg_case *what = &suite->cases[index];
    bench_run r = {.bench = bench, .plan = {.backend = backend, .suite = suite}};
    int at = bench->case_count++, first = bench->entry_count;
    r.trial = (gg_trial){.op = suite->op, .what = what, .arena = arena};
    r.trial.plan = &r.plan;
    r.plan.repeats = 1;
    r.plan.ablated = r.plan.certify = -1;
    describe_case(&bench->cases[at], what);
    for (int k = 0; kernels[k] != NULL; k++)
        if (gg_bench_add(bench, at, kernels[k]->name) == NULL) return;
    gg_arena_free(spare); /* of the case before */
    const gg_kernel *largest = enter(&r, kernels, first);
    gg_status ready = largest != NULL ? set_up(&r, largest, spare) : GG_OK;
    for (int k = 0; kernels[k] != NULL; k++) {
        gg_bench_entry *e = &bench->entries[first + k];
        if (e->reason[0] != '\0') continue;
        if (ready != GG_OK || run_kernel(&r, kernels[k], e) != GG_OK) excuse(e);
    }
}
