/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/trial.h"

#include <fenv.h>
#include <stdlib.h>
#include <xxhash.h>

#include "harness/given.h"
#include "harness/outside.h"
#include "harness/watch.h"

uint32_t gg_trial_poison(int run)
{
    static const uint32_t poisons[] = {0xffffffffu, 0x7f7f7f7fu, 0x00000000u};
    return poisons[run % 3];
}

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

unsigned gg_trial_present(const gg_case *what, const gg_operator *op)
{
    if (what->source != NULL) return what->present;
    unsigned present = 0;
    for (int i = 0; i < gg_tensor_decls(op->inputs); i++)
        if (op->inputs[i].role != GG_ROLE_OPTIONAL) present |= 1u << i;
    return present | what->family->optional;
}

static bool present(const gg_trial *t, int input) { return t->present >> input & 1u; }

void gg_trial_describe(gg_trial *t, const int64_t *extent, unsigned present_inputs)
{
    t->inputs = gg_tensor_decls(t->op->inputs);
    t->outputs = gg_tensor_decls(t->op->outputs);
    t->present = present_inputs;
    memcpy(t->problem.extent, extent, sizeof t->problem.extent);
    for (int i = 0; i < t->inputs; i++) {
        t->problem.input[i] = gg_tensor_make(t->op, &t->op->inputs[i], extent,
                                             t->what->input_dtype[i]);
        t->dl_input[i] = as_dlpack(t->plan->backend, &t->problem.input[i]);
        t->call_inputs[i] = present(t, i) ? &t->dl_input[i] : NULL;
    }
    for (int o = 0; o < t->outputs; o++) {
        t->output[o] = gg_tensor_make(t->op, &t->op->outputs[o], extent,
                                      t->what->output_dtype[o]);
        t->dl_output[o] = as_dlpack(t->plan->backend, &t->output[o]);
        t->call_outputs[o] = &t->dl_output[o];
    }
    t->call = (gg_call){.inputs = t->call_inputs, .outputs = t->call_outputs,
                        .features = t->plan->features, .stream = t->plan->backend->stream,
                        .threads = t->plan->backend->threads};
}

static void *lay_out_truth(gg_trial *t, gg_arena *arena)
{
    for (int o = 0; o < t->outputs; o++) {
        size_t wide = (size_t)gg_tensor_count(&t->output[o]) * sizeof(double);
        t->truth.value[o] = gg_arena_take(arena, wide);
        t->truth.allowance[o] = gg_arena_take(arena, wide);
    }
    size_t mark = arena->used;
    void *scratch = gg_arena_take(
        arena, t->plan->backend->truth_scratch(t->op, &t->problem));
    gg_arena_rewind(arena, mark);
    return scratch;
}

/* Takes all memory, in an order that lets the truth's scratch be reused for what the
 * kernel writes. The first piece only puts a guard band before the inputs. */
static void *lay_out(gg_trial *t, gg_arena *arena, bool truth)
{
    gg_arena_take(arena, t->shift);
    for (int i = 0; i < t->inputs; i++)
        if (present(t, i))
            t->problem.input[i].data =
                gg_arena_take(arena, gg_tensor_bytes(&t->problem.input[i]));
    void *scratch = truth ? lay_out_truth(t, arena) : NULL;
    for (int o = 0; o < t->outputs; o++) {
        t->first[o] = gg_arena_take(arena, gg_tensor_bytes(&t->output[o]));
        if (truth || t->pair) t->again[o] = gg_arena_take(arena, gg_tensor_bytes(&t->output[o]));
    }
    t->saved = gg_arena_take(arena, t->saved_bytes);
    t->workspace = gg_arena_take(arena, t->workspace_bytes);
    return scratch;
}

const char *gg_trial_refusal(const gg_trial *t)
{
    gg_watch_kernel("supports");
    const char *refusal = t->plan->kernel->supports(&t->call);
    gg_watch_harness();
    return refusal;
}

void gg_trial_needs(const gg_trial *t, size_t *saved, size_t *workspace)
{
    gg_watch_kernel("saved_bytes and workspace_bytes");
    *saved = t->plan->kernel->saved_bytes(&t->call);
    *workspace = t->plan->kernel->workspace_bytes(&t->call);
    gg_watch_harness();
}

gg_status gg_trial_allocate(gg_trial *t, bool truth, void **scratch)
{
    const gg_kernel *kernel = t->plan->kernel;
    const char *refusal = gg_trial_refusal(t);
    if (refusal != NULL)
        return gg_fail(GG_BAD_INPUT, "%s declines: %s", kernel->name, refusal);
    gg_trial_needs(t, &t->saved_bytes, &t->workspace_bytes);
    gg_arena count = {.backend = t->plan->backend};
    lay_out(t, &count, truth);
    GG_TRY(gg_arena_reserve(t->arena, count.peak));
    void *place = lay_out(t, t->arena, truth);
    if (scratch != NULL) *scratch = place;
    for (int i = 0; i < t->inputs; i++) t->dl_input[i].data = t->problem.input[i].data;
    t->call.saved = t->saved;
    t->call.workspace = t->workspace;
    return GG_OK;
}

/* An input that the family makes on the host. */
static gg_status draw_on_host(gg_trial *t, int input, uint64_t seed)
{
    const gg_backend *b = t->plan->backend;
    gg_tensor host = t->problem.input[input];
    size_t bytes = gg_tensor_bytes(&host);
    host.data = malloc(bytes + 1);
    if (host.data == NULL) return gg_fail(GG_NO_MEMORY, "no memory for an input");
    gg_status status = t->what->family->host(&t->problem, input, seed, &host);
    if (status == GG_OK) status = b->upload(t->problem.input[input].data, host.data, bytes);
    free(host.data);
    return status;
}

/* An input that is a scaled forward output of the others. */
static gg_status draw_from_output(gg_trial *t, int input, void *scratch)
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

/* Inputs that are not drawn but given. */
static gg_status draw_given(gg_trial *t)
{
    gg_problem host;
    gg_status status = gg_given_read(t->op, t->what, &host);
    for (int i = 0; i < t->inputs && status == GG_OK; i++)
        if (present(t, i))
            status = t->plan->backend->upload(t->problem.input[i].data, host.input[i].data,
                                              gg_tensor_bytes(&host.input[i]));
    gg_problem_release(&host);
    return status;
}

gg_status gg_trial_draw(gg_trial *t, uint64_t seed, void *scratch)
{
    const gg_backend *b = t->plan->backend;
    int from_output = -1;
    if (t->what->source != NULL) return draw_given(t);
    for (int i = 0; i < t->inputs; i++) {
        if (!present(t, i)) continue;
        const gg_draw *draw = &t->what->family->draw[i];
        if (draw->law == GG_LAW_HOST)
            GG_TRY(draw_on_host(t, i, seed));
        else if (draw->law == GG_LAW_OUTPUT)
            from_output = i;
        else
            GG_TRY(b->draw(b, draw, seed, i, &t->problem.input[i]));
    }
    bool can = from_output >= 0 && t->truth.value[0] != NULL;
    return can ? draw_from_output(t, from_output, scratch) : GG_OK;
}

gg_status gg_trial_digest_inputs(const gg_trial *t, uint64_t *digest)
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

int gg_trial_call(const gg_trial *t, int (*call)(const gg_call *))
{
    fenv_t ours;
    fegetenv(&ours);
    int error = call(&t->call);
    fesetenv(&ours);
    return error;
}

static gg_status launch(const gg_trial *t, const char *name, int (*call)(const gg_call *))
{
    int error = gg_trial_call(t, call);
    if (error == 0) return GG_OK;
    return gg_fail(GG_DEVICE_FAULT, "%s: %s failed with error %d", t->plan->kernel->name, name,
                   error);
}

gg_status gg_trial_launch(const gg_trial *t)
{
    GG_TRY(launch(t, "forward", t->plan->kernel->forward));
    return launch(t, "backward", t->plan->kernel->backward);
}

/* The call, and the work that it queued. */
static gg_status call_kernel(const gg_trial *t, const char *name, int (*call)(const gg_call *))
{
    const gg_backend *b = t->plan->backend;
    gg_watch_kernel(name);
    gg_status status = launch(t, name, call);
    if (status == GG_OK) status = b->finish(b);
    gg_watch_harness();
    return status;
}

gg_status gg_trial_prepare(gg_trial *t, void *const *into, uint32_t poison)
{
    const gg_backend *b = t->plan->backend;
    for (int o = 0; o < t->outputs; o++) {
        t->dl_output[o].data = into[o];
        if (t->call_outputs[o] == NULL) continue;
        GG_TRY(b->fill(into[o], gg_tensor_bytes(&t->output[o]), poison));
    }
    GG_TRY(b->fill(t->saved, t->saved_bytes, poison));
    return b->fill(t->workspace, t->workspace_bytes, poison);
}

gg_status gg_trial_forward(gg_trial *t, void *const *into, uint32_t poison)
{
    GG_TRY(gg_trial_prepare(t, into, poison));
    if (t->plan->outside != NULL) return gg_outside_forward(t->plan->outside, t);
    return call_kernel(t, "forward", t->plan->kernel->forward);
}

gg_status gg_trial_backward(gg_trial *t, uint32_t poison)
{
    const gg_backend *b = t->plan->backend;
    GG_TRY(b->fill(t->workspace, t->workspace_bytes, ~poison));
    if (t->plan->outside != NULL) return gg_outside_backward(t->plan->outside, t);
    return call_kernel(t, "backward", t->plan->kernel->backward);
}

gg_status gg_trial_run(gg_trial *t, void *const *into, uint32_t poison)
{
    GG_TRY(gg_trial_forward(t, into, poison));
    return gg_trial_backward(t, poison);
}
