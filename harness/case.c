/* SPDX-License-Identifier: Apache-2.0
 * One case, from inputs to verdict: draw the inputs, compute the truth, run the kernel n
 * times into memory poisoned differently each time, compare the runs as bits, measure the
 * first against the truth, run the ablated pair, certify the truth, judge. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <xxhash.h>

#include "harness/certify.h"
#include "harness/judge.h"
#include "harness/plan.h"

/* What outputs, saved tensors and workspace hold before run k: NaN, a large finite
 * number, zero; in BF16 and FP32 alike. */
static const uint32_t poisons[] = {0xffffffffu, 0x7f7f7f7fu, 0x00000000u};

static uint32_t poison_of(int run) { return poisons[run % 3]; }

/* Everything one case owns; memory is the arena's. */
typedef struct trial {
    const gg_plan *plan;
    const gg_operator *op;
    const gg_case *what;
    gg_arena *arena;
    gg_problem problem;
    gg_truth truth;
    int inputs, outputs;
    gg_tensor output[GG_MAX_OUTPUTS];      /* shapes and types */
    void *first[GG_MAX_OUTPUTS];           /* outputs of the first run */
    void *again[GG_MAX_OUTPUTS];           /* outputs of each later run */
    void *saved, *workspace;
    size_t saved_bytes, workspace_bytes;
    DLTensor dl_input[GG_MAX_INPUTS], dl_output[GG_MAX_OUTPUTS];
    const DLTensor *call_inputs[GG_MAX_INPUTS];
    DLTensor *call_outputs[GG_MAX_OUTPUTS];
    gg_call call;
} trial;

static DLTensor as_dlpack(const gg_backend *b, gg_tensor *t)
{
    static const DLDataType types[GG_DTYPES] = {
        [GG_BF16] = {kDLBfloat, 16, 1}, [GG_F32] = {kDLFloat, 32, 1},
        [GG_F64] = {kDLFloat, 64, 1},   [GG_I32] = {kDLInt, 32, 1},
        [GG_U8] = {kDLUInt, 8, 1},
    };
    return (DLTensor){.data = t->data, .device = {b->device, b->ordinal}, .ndim = t->ndim,
                      .dtype = types[t->dtype], .shape = t->shape};
}

static bool present(const trial *t, int input)
{
    return t->op->inputs[input].role != GG_ROLE_OPTIONAL ||
           (t->what->family->optional >> input & 1u);
}

/* Shapes of all tensors, and the call as the kernel sees it, without memory. */
static void describe(trial *t)
{
    t->inputs = gg_tensor_decls(t->op->inputs);
    t->outputs = gg_tensor_decls(t->op->outputs);
    memcpy(t->problem.extent, t->what->extent, sizeof t->problem.extent);
    for (int i = 0; i < t->inputs; i++) {
        t->problem.input[i] = gg_tensor_make(t->op, &t->op->inputs[i], t->what->extent,
                                             t->what->input_dtype[i]);
        t->dl_input[i] = as_dlpack(t->plan->backend, &t->problem.input[i]);
        t->call_inputs[i] = present(t, i) ? &t->dl_input[i] : NULL;
    }
    for (int o = 0; o < t->outputs; o++) {
        t->output[o] = gg_tensor_make(t->op, &t->op->outputs[o], t->what->extent,
                                      t->what->output_dtype[o]);
        t->dl_output[o] = as_dlpack(t->plan->backend, &t->output[o]);
        t->call_outputs[o] = &t->dl_output[o];
    }
    t->call = (gg_call){.inputs = t->call_inputs, .outputs = t->call_outputs,
                        .features = t->plan->features, .stream = t->plan->backend->stream,
                        .threads = t->plan->backend->threads};
}

/* Takes all memory of the case, in an order that lets the truth's scratch be reused for
 * what the kernel writes. Returns the scratch. */
static void *lay_out(trial *t, gg_arena *arena)
{
    for (int i = 0; i < t->inputs; i++)
        if (present(t, i))
            t->problem.input[i].data =
                gg_arena_take(arena, gg_tensor_bytes(&t->problem.input[i]));
    for (int o = 0; o < t->outputs; o++) {
        size_t wide = (size_t)gg_tensor_count(&t->output[o]) * sizeof(double);
        t->truth.value[o] = gg_arena_take(arena, wide);
        t->truth.allowance[o] = gg_arena_take(arena, wide);
    }
    size_t mark = arena->used;
    void *scratch = gg_arena_take(
        arena, t->plan->backend->truth_scratch(t->op, &t->problem));
    gg_arena_rewind(arena, mark);
    for (int o = 0; o < t->outputs; o++) {
        t->first[o] = gg_arena_take(arena, gg_tensor_bytes(&t->output[o]));
        t->again[o] = gg_arena_take(arena, gg_tensor_bytes(&t->output[o]));
    }
    t->saved = gg_arena_take(arena, t->saved_bytes);
    t->workspace = gg_arena_take(arena, t->workspace_bytes);
    return scratch;
}

/* Sizes the case on a counting arena, then takes the memory for real. */
static gg_status allocate(trial *t, void **scratch)
{
    const gg_kernel *kernel = t->plan->kernel;
    const char *refusal = kernel->supports(&t->call);
    if (refusal != NULL)
        return gg_fail(GG_BAD_INPUT, "%s declines: %s", kernel->name, refusal);
    t->saved_bytes = kernel->saved_bytes(&t->call);
    t->workspace_bytes = kernel->workspace_bytes(&t->call);
    gg_arena count = {.backend = t->plan->backend};
    lay_out(t, &count);
    GG_TRY(gg_arena_reserve(t->arena, count.peak));
    *scratch = lay_out(t, t->arena);
    for (int i = 0; i < t->inputs; i++) t->dl_input[i].data = t->problem.input[i].data;
    t->call.saved = t->saved;
    t->call.workspace = t->workspace;
    return GG_OK;
}

/* An input that the family makes on the host. */
static gg_status draw_on_host(trial *t, int input)
{
    const gg_backend *b = t->plan->backend;
    gg_tensor host = t->problem.input[input];
    size_t bytes = gg_tensor_bytes(&host);
    host.data = malloc(bytes + 1);
    if (host.data == NULL) return gg_fail(GG_NO_MEMORY, "no memory for an input");
    gg_status status = t->what->family->host(&t->problem, input, t->what->seed, &host);
    if (status == GG_OK) status = b->upload(t->problem.input[input].data, host.data, bytes);
    free(host.data);
    return status;
}

/* An input that is a scaled forward output of the others. */
static gg_status draw_from_output(trial *t, int input, void *scratch)
{
    const gg_backend *b = t->plan->backend;
    const gg_draw *draw = &t->what->family->draw[input];
    gg_truth forward = {.value[0] = NULL};
    forward.value[draw->output] = t->truth.value[draw->output];
    gg_problem partial = t->problem;
    partial.input[input].data = NULL;
    GG_TRY(b->truth(b, t->op, &partial, &forward, scratch));
    double count = (double)gg_tensor_count(&t->output[draw->output]);
    double scale = draw->scale != 0 ? draw->scale : 2 / count;
    return b->draw_output(b, scale, forward.value[draw->output], &t->problem.input[input]);
}

static gg_status draw_inputs(trial *t, void *scratch)
{
    const gg_backend *b = t->plan->backend;
    int from_output = -1;
    for (int i = 0; i < t->inputs; i++) {
        if (!present(t, i)) continue;
        const gg_draw *draw = &t->what->family->draw[i];
        if (draw->law == GG_LAW_HOST)
            GG_TRY(draw_on_host(t, i));
        else if (draw->law == GG_LAW_OUTPUT)
            from_output = i;
        else
            GG_TRY(b->draw(b, draw, t->what->seed, i, &t->problem.input[i]));
    }
    return from_output < 0 ? GG_OK : draw_from_output(t, from_output, scratch);
}

static gg_status digest_inputs(const trial *t, uint64_t *digest)
{
    uint64_t each[GG_MAX_INPUTS] = {0};
    for (int i = 0; i < t->inputs; i++) {
        const gg_tensor *in = &t->problem.input[i];
        if (in->data == NULL) continue;
        GG_TRY(t->plan->backend->digest(t->plan->backend, in->data, gg_tensor_bytes(in),
                                        &each[i]));
    }
    *digest = XXH64(each, sizeof each[0] * (size_t)t->inputs, 0);
    return GG_OK;
}

/* One forward and backward into `into`, all of whose memory holds `poison` first. */
static gg_status run_kernel(trial *t, void *const *into, uint32_t poison)
{
    const gg_backend *b = t->plan->backend;
    const gg_kernel *kernel = t->plan->kernel;
    for (int o = 0; o < t->outputs; o++) {
        t->dl_output[o].data = into[o];
        GG_TRY(b->fill(into[o], gg_tensor_bytes(&t->output[o]), poison));
    }
    GG_TRY(b->fill(t->saved, t->saved_bytes, poison));
    GG_TRY(b->fill(t->workspace, t->workspace_bytes, poison));
    int error = kernel->forward(&t->call);
    if (error != 0)
        return gg_fail(GG_DEVICE_FAULT, "%s: forward failed with error %d", kernel->name, error);
    GG_TRY(b->finish(b));
    GG_TRY(b->fill(t->workspace, t->workspace_bytes, ~poison));
    error = kernel->backward(&t->call);
    if (error != 0)
        return gg_fail(GG_DEVICE_FAULT, "%s: backward failed with error %d", kernel->name, error);
    return b->finish(b);
}

static gg_status compare_runs(trial *t, int run, gg_case_record *record)
{
    const gg_backend *b = t->plan->backend;
    for (int o = 0; o < t->outputs; o++) {
        gg_output_record *out = &record->outputs[o];
        gg_tensor first = t->output[o];
        gg_difference d;
        first.data = t->first[o];
        GG_TRY(b->compare(b, &first, t->again[o], poison_of(0), poison_of(run), &d));
        if (run == 1 || d.unwritten < out->unwritten) out->unwritten = d.unwritten;
        if (d.differing == 0) continue;
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

static gg_status run_repeats(trial *t, gg_case_record *record)
{
    for (int run = 0; run < t->plan->repeats; run++) {
        GG_TRY(run_kernel(t, run == 0 ? t->first : t->again, poison_of(run)));
        record->runs = run + 1;
        if (run > 0) GG_TRY(compare_runs(t, run, record));
    }
    return GG_OK;
}

static double root_mean(double sum, int64_t count)
{
    return count > 0 ? sqrt(sum / (double)count) : 0;
}

static gg_status measure(trial *t, gg_case_record *record)
{
    const gg_backend *b = t->plan->backend;
    for (int o = 0; o < t->outputs; o++) {
        gg_output_record *out = &record->outputs[o];
        gg_tensor first = t->output[o];
        gg_measures m;
        first.data = t->first[o];
        GG_TRY(b->measure(b, &first, t->truth.value[o], t->truth.allowance[o], &m));
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
static gg_status ablate(trial *t, gg_case_record *record)
{
    const gg_backend *b = t->plan->backend;
    if (t->plan->ablated < 0) return GG_OK;
    uint64_t features = t->call.features;
    t->call.features = features & ~(UINT64_C(1) << t->plan->ablated);
    gg_status status = run_kernel(t, t->again, poison_of(0));
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

/* Nothing outside the outputs, saved tensors and workspace may have changed. */
static gg_status check_trespass(trial *t, gg_case_record *record)
{
    uint64_t digest;
    bool whole, shared;
    GG_TRY(digest_inputs(t, &digest));
    GG_TRY(gg_arena_intact(t->arena, t->saved, &whole));
    GG_TRY(gg_arena_intact(t->arena, t->workspace, &shared));
    gg_check_add(&record->outputs[0], "inputs", digest != record->input_digest, 0,
                 "the kernel changed its inputs");
    gg_check_add(&record->outputs[0], "scratch", !whole + !shared, 0,
                 "the kernel wrote past the end of its saved tensors or workspace");
    for (int o = 0; o < t->outputs; o++) {
        GG_TRY(gg_arena_intact(t->arena, t->first[o], &whole));
        GG_TRY(gg_arena_intact(t->arena, t->again[o], &shared));
        gg_check_add(&record->outputs[o], "guard", !whole + !shared, 0,
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
static gg_status check_answer(trial *t, const gg_problem *host, int o, gg_output_record *out)
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

static gg_status check_answers(trial *t, gg_case_record *record)
{
    gg_problem host;
    if (t->what->family->answer == NULL) return GG_OK;
    gg_status status = gg_problem_fetch(t->plan->backend, &t->problem, &host);
    for (int o = 0; o < t->outputs && status == GG_OK; o++)
        status = check_answer(t, &host, o, &record->outputs[o]);
    gg_problem_release(&host);
    return status;
}

static void check_golden(const trial *t, gg_case_record *record)
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

static gg_status judge(trial *t, gg_case_record *record)
{
    const gg_limits *limits = t->plan->kernel->limits;
    for (int o = 0; o < t->outputs; o++) {
        /* the floor of FP32 lies far below what BF16 operands allow: no ratio to it */
        gg_limit_record limit = {.rmse_over_floor = t->output[o].dtype == GG_F32
                                                        ? INFINITY : limits[o].rmse_over_floor,
                                 .gauge_p99 = limits[o].gauge_p99,
                                 .gauge_max = limits[o].gauge_max};
        gg_judge_output(&record->outputs[o], &limit, record->runs);
    }
    GG_TRY(check_answers(t, record));
    GG_TRY(check_trespass(t, record));
    check_golden(t, record);
    gg_judge_case(record);
    return GG_OK;
}

static void open_outputs(const trial *t, gg_case_record *record)
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

static gg_status measure_case(trial *t, int index, gg_case_record *record)
{
    const gg_backend *b = t->plan->backend;
    void *scratch = NULL;
    describe(t);
    GG_TRY(allocate(t, &scratch));
    GG_TRY(draw_inputs(t, scratch));
    GG_TRY(digest_inputs(t, &record->input_digest));
    GG_TRY(b->truth(b, t->op, &t->problem, &t->truth, scratch));
    GG_TRY(gg_arena_arm(t->arena));
    open_outputs(t, record);
    GG_TRY(run_repeats(t, record));
    GG_TRY(measure(t, record));
    GG_TRY(ablate(t, record));
    if (gg_plan_certifies(t->plan, index) ||
        gg_certify_cost_all(t->op, &t->problem) <= GG_CERTIFY_ALL)
        GG_TRY(gg_certify(b, t->op, &t->problem, &t->truth, t->what->seed, record->outputs,
                          record->output_count));
    return judge(t, record);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool gg_plan_certifies(const gg_plan *plan, int index)
{
    int64_t count = plan->suite->count, want = plan->certify;
    return want > 0 && (index == 0 || (index * want) / count != ((index - 1) * want) / count);
}

void gg_case_run(const gg_plan *plan, int index, gg_arena *arena, gg_case_record *record)
{
    const gg_case *what = &plan->suite->cases[index];
    double start = now();
    trial t = {.plan = plan, .op = plan->suite->op, .what = what, .arena = arena};
    *record = (gg_case_record){.index = index, .seed = what->seed};
    snprintf(record->id, sizeof record->id, "%s", what->id);
    snprintf(record->family, sizeof record->family, "%s", what->family->name);
    memcpy(record->extent, what->extent, sizeof record->extent);
    if (measure_case(&t, index, record) != GG_OK) {
        record->output_count = 0;
        record->verdict = GG_NOT_VERIFIED;
        snprintf(record->reason, sizeof record->reason, "%s", gg_message());
    }
    record->seconds = now() - start;
}
