/* SPDX-License-Identifier: Apache-2.0
 * A kernel beside itself: several of its calls are under way at the same time, each with
 * inputs, outputs, saved tensors, workspace and a stream (GPU) or thread (host) of its own.
 * Each must give the bits that it gave alone. Scratch memory or counters that calls share
 * without being asked to show here and nowhere else.
 *
 * That the calls really met is measured. A call is certainly under way from the end of its
 * forward, less what forward takes alone, to the end of its backward: whatever kept it
 * waiting before does not count. So calls that were made one after the other have met for
 * no time at all. */
#include <stdio.h>
#include <stdlib.h>

#include "harness/levels.h"
#include "harness/subject.h"
#include "harness/watch.h"
#include "kernels/registry.h"

enum { CALLS = GG_CALLS_TOGETHER };

/* Seeds of the other calls' inputs are so far apart: a multiple of 4, for what a probe asks
 * may depend on its seed modulo 4. */
#define SEED_STEP UINT64_C(4000012)

typedef struct one {
    gg_backend backend; /* with this call's stream */
    gg_plan plan;
    gg_arena arena;
    gg_trial trial;     /* `first`: alone; `again`: beside the others */
    double forward;     /* seconds of it alone */
} one;

struct gg_together {
    const gg_backend *backend;
    gg_streams *streams;
    one ones[CALLS];
    gg_span spans[CALLS];
    int errors[CALLS];
    int opened;
};

void gg_together_close(gg_together *g)
{
    if (g == NULL) return;
    if (g->streams != NULL) g->backend->streams_close(g->streams);
    for (int i = 0; i < g->opened; i++) gg_arena_free(&g->ones[i].arena);
    free(g);
}

/* Rows of floating-point inputs move round; what says which keys are valid stays. */
static gg_status turn_inputs(const gg_problem *from, int call, gg_trial *to)
{
    const gg_backend *b = to->plan->backend;
    for (int i = 0; i < to->inputs; i++) {
        const gg_tensor *in = &from->input[i];
        if (in->data == NULL || in->ndim == 0 || in->dtype == GG_I32 || in->dtype == GG_U8)
            continue;
        size_t bytes = gg_tensor_bytes(in), rows = 1;
        for (int axis = 0; axis + 1 < in->ndim; axis++) rows *= (size_t)in->shape[axis];
        size_t step = bytes / rows * ((rows * (size_t)call + CALLS - 1) / CALLS % rows);
        char *data = to->problem.input[i].data;
        GG_TRY(b->copy(data, (const char *)in->data + step, bytes - step));
        if (step > 0) GG_TRY(b->copy(data + bytes - step, in->data, step));
    }
    return GG_OK;
}

/* The first call has the case's inputs, the others have inputs like them. */
static gg_status make_inputs(const gg_problem *from, int call, gg_trial *t)
{
    GG_TRY(gg_subject_take_inputs(from, t));
    if (call == 0) return GG_OK;
    if (t->what->source != NULL) return turn_inputs(from, call, t);
    return gg_trial_draw(t, t->what->seed + SEED_STEP * (uint64_t)call, NULL);
}

static int make_half(void *context, int call, int half)
{
    const gg_together *g = context;
    const one *o = &g->ones[call];
    const gg_kernel *kernel = o->plan.kernel;
    return (half == 0 ? kernel->forward : kernel->backward)(&o->trial.call);
}

/* Calls `first` to `first + count - 1`, at once. */
static gg_status make_calls(gg_together *g, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        gg_trial *t = &g->ones[i].trial;
        GG_TRY(gg_trial_prepare(t, t->again, gg_trial_poison(0)));
        g->errors[i] = 0;
    }
    gg_watch_kernel(count > 1 ? "calls at the same time" : "a call alone");
    gg_status status = g->backend->streams_run(g->streams, first, count, make_half, g,
                                               g->spans, g->errors);
    gg_watch_harness();
    GG_TRY(status);
    for (int i = first; i < first + count; i++)
        if (g->errors[i] != 0)
            return gg_fail(GG_DEVICE_FAULT, "%s: %s failed with error %d",
                           g->ones[i].plan.kernel->name,
                           count > 1 ? "a call beside others" : "a call", g->errors[i]);
    return g->backend->finish(g->backend);
}

/* What a call gives alone, and how long its forward takes: the shorter of two. */
static gg_status make_reference(gg_together *g, int call)
{
    one *o = &g->ones[call];
    for (int run = 0; run < 2; run++) {
        GG_TRY(make_calls(g, call, 1));
        double forward = g->spans[call].middle - g->spans[call].begin;
        if (run == 0 || forward < o->forward) o->forward = forward;
    }
    for (int i = 0; i < o->trial.outputs; i++)
        GG_TRY(g->backend->copy(o->trial.first[i], o->trial.again[i],
                                gg_tensor_bytes(&o->trial.output[i])));
    return GG_OK;
}

static gg_status open_one(gg_together *g, const gg_subject *s, int call)
{
    one *o = &g->ones[call];
    o->backend = *g->backend;
    o->backend.stream = g->backend->streams_of(g->streams, call);
    o->plan = s->plan;
    o->plan.backend = &o->backend;
    o->arena = (gg_arena){.backend = g->backend};
    o->trial = (gg_trial){.plan = &o->plan, .op = s->trial.op, .what = s->trial.what,
                          .arena = &o->arena, .pair = true};
    g->opened = call + 1;
    gg_trial_describe(&o->trial, s->trial.problem.extent, s->trial.present);
    GG_TRY(gg_trial_allocate(&o->trial, false, NULL));
    GG_TRY(make_inputs(s->inputs, call, &o->trial));
    return make_reference(g, call);
}

/* From here on a caller's fault: one memory for all calls. */
static void share(gg_together *g, gg_shared what)
{
    for (int i = 1; i < CALLS; i++) {
        gg_call *call = &g->ones[i].trial.call;
        if (what == GG_SHARE_SAVED) call->saved = g->ones[0].trial.call.saved;
        if (what == GG_SHARE_WORKSPACE) call->workspace = g->ones[0].trial.call.workspace;
    }
}

static gg_status open_together(gg_subject *s)
{
    gg_together *g = calloc(1, sizeof *g);
    s->together = g;
    if (g == NULL) return gg_fail(GG_NO_MEMORY, "no memory for calls at the same time");
    g->backend = s->plan.backend;
    GG_TRY(g->backend->streams_open(g->backend, CALLS, &g->streams));
    for (int i = 0; i < CALLS; i++) GG_TRY(open_one(g, s, i));
    share(g, s->share);
    return GG_OK;
}

/* Since when a call was certainly under way. */
static double since(const gg_together *g, int call)
{
    double latest = g->spans[call].middle - g->ones[call].forward;
    return latest > g->spans[call].begin ? latest : g->spans[call].begin;
}

static bool under_way(const gg_together *g, int call, double at)
{
    return since(g, call) <= at && at < g->spans[call].end;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of the time of `call`, the part in which some other was under way too. */
static double met(const gg_together *g, int call)
{
    double at[2 * CALLS], sum = 0;
    for (int i = 0; i < CALLS; i++) {
        at[2 * i] = since(g, i);
        at[2 * i + 1] = g->spans[i].end;
    }
    qsort(at, 2 * CALLS, sizeof at[0], by_value);
    for (int i = 0; i + 1 < 2 * CALLS; i++) {
        double middle = at[i] + (at[i + 1] - at[i]) / 2;
        bool another = false;
        for (int j = 0; j < CALLS; j++) another |= j != call && under_way(g, j, middle);
        if (another && under_way(g, call, middle)) sum += at[i + 1] - at[i];
    }
    return sum;
}

/* All calls are made when the first of them is asked for. */
gg_status gg_subject_together(gg_subject *s, int k, void *const **outputs)
{
    int call = (k - 1) % CALLS;
    if (s->plan.outside != NULL)
        return gg_fail(GG_NO_DEVICE, "a kernel outside of this process takes one call at a "
                       "time");
    if (s->together == NULL) GG_TRY(open_together(s));
    gg_together *g = s->together;
    if (call == 0) GG_TRY(make_calls(g, 0, CALLS));
    s->against = &g->ones[call].trial;
    s->shared = met(g, call);
    s->loaded = g->spans[call].end - since(g, call);
    *outputs = g->ones[call].trial.again;
    return GG_OK;
}

/* Whether the kernel takes the problem, with no feature of its own on, and keeps `what`. */
static bool keeps(const gg_kernel *kernel, const gg_trial *t, gg_shared what)
{
    gg_call call = t->call;
    call.features = 0;
    if (kernel->repeat != GG_REPEAT_RUN_TO_RUN || kernel->supports(&call) != NULL) return false;
    return (what == GG_SHARE_SAVED ? kernel->saved_bytes(&call)
                                   : kernel->workspace_bytes(&call)) > 0;
}

const gg_kernel *gg_subject_sharer_of(const gg_trial *t, gg_shared *share_what)
{
    static const gg_shared order[] = {GG_SHARE_SAVED, GG_SHARE_WORKSPACE};
    for (int o = 0; o < 2; o++)
        for (int i = 0; gg_kernels[i] != NULL; i++) {
            const gg_kernel *k = gg_kernels[i];
            if (k->device != t->plan->backend->device ||
                strcmp(k->operator_name, t->op->name) != 0 || !keeps(k, t, order[o]))
                continue;
            *share_what = order[o];
            return k;
        }
    *share_what = GG_SHARE_NOTHING;
    return NULL;
}
