/* SPDX-License-Identifier: Apache-2.0
 * A device's bits against those of the kernel's host twin. */
#include "harness/levels.h"
#include "harness/subject.h"
#include "kernels/registry.h"

/* Reads int32 inputs only; problems without a cost are taken by their size. */
static bool affordable(const gg_trial *t)
{
    const double flops_an_element = 256;
    double flops = 0;
    gg_problem host;
    if (t->op->cost == NULL) {
        for (int o = 0; o < t->outputs; o++)
            flops += flops_an_element * (double)gg_tensor_count(&t->output[o]);
        return flops <= GG_TWIN_FLOPS;
    }
    if (gg_problem_fetch(t->plan->backend, &t->problem, &host) == GG_OK) {
        gg_cost cost = t->op->cost(&host);
        flops = cost.flops[0] + cost.flops[1];
    } else {
        flops = INFINITY;
    }
    gg_problem_release(&host);
    return flops <= GG_TWIN_FLOPS;
}

const gg_kernel *gg_subject_twin_of(const gg_trial *t)
{
    const gg_kernel *kernel = t->plan->kernel;
    if (t->plan->backend->device == kDLCPU) return NULL;
    const gg_kernel *twin = gg_kernel_find(t->op->name, kernel->name, kDLCPU);
    return twin != NULL && affordable(t) ? twin : NULL;
}

static gg_status upload_outputs(const gg_trial *host, gg_subject *s)
{
    const gg_backend *b = s->plan.backend;
    for (int o = 0; o < host->outputs; o++)
        GG_TRY(b->upload(s->trial.again[o], host->first[o],
                         gg_tensor_bytes(&host->output[o])));
    return GG_OK;
}

static gg_status run_twin(gg_subject *s, const gg_problem *inputs, const gg_backend *host,
                          gg_arena *arena)
{
    gg_plan plan = s->plan;
    plan.backend = host;
    plan.kernel = s->twin;
    gg_trial t = {.plan = &plan, .op = s->trial.op, .what = s->trial.what, .arena = arena};
    gg_trial_describe(&t, s->trial.problem.extent, s->trial.present);
    GG_TRY(gg_trial_allocate(&t, false, NULL));
    for (int i = 0; i < t.inputs; i++)
        if (inputs->input[i].data != NULL)
            GG_TRY(host->upload(t.problem.input[i].data, inputs->input[i].data,
                                gg_tensor_bytes(&inputs->input[i])));
    GG_TRY(gg_trial_run(&t, t.first, gg_trial_poison(0)));
    return upload_outputs(&t, s);
}

gg_status gg_subject_twin(gg_subject *s, int k, void *const **outputs)
{
    gg_backend host;
    gg_problem inputs;
    (void)k;
    *outputs = s->trial.again;
    GG_TRY(gg_backend_open("host", s->plan.backend->threads, &host));
    gg_arena arena = {.backend = &host};
    gg_status status = gg_problem_fetch(s->plan.backend, s->inputs, &inputs);
    if (status == GG_OK) status = run_twin(s, &inputs, &host, &arena);
    gg_problem_release(&inputs);
    gg_arena_free(&arena);
    return status;
}
