/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/subject.h"

#include <stdio.h>

#include "harness/environment.h"
#include "harness/watch.h"

/* Runs at one allocation before the next is made. */
enum { RUNS_A_PLACE = 4 };

static uint64_t features_on(const gg_kernel *kernel)
{
    uint64_t bits = 0;
    for (int i = 0; kernel->features != NULL && kernel->features[i].name != NULL; i++)
        if (kernel->features[i].on) bits |= UINT64_C(1) << i;
    return bits;
}

gg_status gg_subject_take_inputs(const gg_problem *from, gg_trial *to)
{
    const gg_backend *b = to->plan->backend;
    for (int i = 0; i < to->inputs; i++) {
        const gg_tensor *in = &from->input[i];
        if (in->data == NULL) continue;
        GG_TRY(b->copy(to->problem.input[i].data, in->data, gg_tensor_bytes(in)));
    }
    return GG_OK;
}

static void describe(const gg_trial *like, const gg_plan *plan, gg_arena *arena, gg_trial *t)
{
    *t = (gg_trial){.plan = plan, .op = like->op, .what = like->what, .arena = arena};
    gg_trial_describe(t, like->problem.extent, like->present);
}

static gg_status run_reference(gg_subject *s)
{
    gg_trial *t = &s->trial;
    const gg_backend *b = t->plan->backend;
    GG_TRY(gg_trial_run(t, t->again, gg_trial_poison(0))); /* the first may cost more */
    double start = gg_seconds();
    GG_TRY(gg_trial_run(t, t->again, gg_trial_poison(0)));
    s->seconds = gg_seconds() - start;
    for (int o = 0; o < t->outputs; o++) {
        size_t bytes = gg_tensor_bytes(&t->output[o]);
        GG_TRY(b->copy(t->first[o], t->again[o], bytes));
        GG_TRY(b->digest(b, t->first[o], bytes, &s->digest[o]));
    }
    return gg_trial_digest_inputs(t, &s->input_digest);
}

gg_status gg_subject_open(const gg_trial *t, const gg_kernel *kernel, bool control,
                          gg_subject *s)
{
    *s = (gg_subject){.plan = *t->plan, .inputs = &t->problem, .control = control,
                      .arena = {.backend = t->plan->backend},
                      .elsewhere = {.backend = t->plan->backend}};
    s->plan.kernel = kernel;
    if (control) {
        s->plan.features = features_on(kernel);
        s->plan.outside = NULL; /* a control is always called here */
    }
    describe(t, &s->plan, &s->arena, &s->trial);
    s->trial.pair = true;
    GG_TRY(gg_trial_allocate(&s->trial, false, NULL));
    GG_TRY(gg_subject_take_inputs(s->inputs, &s->trial));
    return run_reference(s);
}

void gg_subject_close(gg_subject *s)
{
    if (s->load != NULL) s->plan.backend->load_close(s->load);
    gg_together_close(s->together);
    gg_arena_free(&s->arena);
    gg_arena_free(&s->elsewhere);
}

gg_status gg_subject_idle(gg_subject *s, int k, void *const **outputs)
{
    (void)k;
    *outputs = s->trial.again;
    return gg_trial_run(&s->trial, s->trial.again, gg_trial_poison(0));
}

/* Twenty times what the run took alone, and never for ever: a load that is not told to
 * stop, because the kernel itself waits for the whole device, ends then. */
static double patience(const gg_subject *s)
{
    double seconds = 20 * s->seconds;
    return seconds < 0.05 ? 0.05 : seconds > 2 ? 2 : seconds;
}

gg_status gg_subject_under_load(gg_subject *s, int k, void *const **outputs)
{
    gg_trial *t = &s->trial;
    const gg_backend *b = t->plan->backend;
    double shared, seconds;
    (void)k;
    *outputs = t->again;
    if (s->plan.outside != NULL)
        return gg_fail(GG_NO_DEVICE, "when a kernel outside of this process runs is not known "
                       "here");
    if (s->load == NULL) GG_TRY(b->load_open(b, &s->load));
    GG_TRY(gg_trial_prepare(t, t->again, gg_trial_poison(0)));
    GG_TRY(b->load_start(s->load, patience(s)));
    gg_watch_kernel("work under load");
    gg_status launched = gg_trial_launch(t);
    char why[256];
    if (launched != GG_OK) snprintf(why, sizeof why, "%s", gg_message());
    gg_status stopped = b->load_stop(s->load, &shared, &seconds); /* whatever it said */
    gg_watch_harness();
    GG_TRY(stopped);
    if (launched != GG_OK) return gg_fail(launched, "%s", why);
    s->shared = shared;
    s->loaded = seconds;
    return b->finish(b);
}

/* An allocation made while the old one is still there lies elsewhere. */
static gg_status move(gg_subject *s)
{
    gg_arena old = s->elsewhere;
    s->elsewhere = (gg_arena){.backend = old.backend};
    gg_status status = gg_trial_allocate(&s->moved, false, NULL);
    gg_arena_free(&old);
    if (status == GG_NO_MEMORY) status = gg_trial_allocate(&s->moved, false, NULL);
    return status;
}

gg_status gg_subject_elsewhere(gg_subject *s, int k, void *const **outputs)
{
    static const uint32_t poisons[] = {0x7f7f7f7fu, 0x00000000u, 0x80000000u, 0xff80ff80u,
                                       0x00010001u, 0x3f803f80u, 0x7fc07fc0u};
    gg_trial *t = &s->moved;
    describe(&s->trial, &s->plan, &s->elsewhere, t);
    t->shift = (size_t)(k * 37 % 64) * GG_ARENA_ALIGN;
    if (k % RUNS_A_PLACE == 1) GG_TRY(move(s));
    else GG_TRY(gg_trial_allocate(t, false, NULL));
    GG_TRY(gg_subject_take_inputs(s->inputs, t));
    *outputs = t->first;
    return gg_trial_run(t, t->first, poisons[k % 7]);
}
