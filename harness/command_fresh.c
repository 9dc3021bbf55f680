/* SPDX-License-Identifier: Apache-2.0
 * The child's side of a run in a fresh process (harness/fresh.h): draws the inputs of one
 * case, runs the kernel once and answers on standard output. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "harness/candidate.h"
#include "harness/commands.h"
#include "harness/fresh.h"
#include "harness/hosted.h"
#include "harness/trial.h"
#include "kernels/mutant.h"
#include "kernels/registry.h"
#include "reference/parallel.h"

static const gg_option options[] = {
    GG_OPTION_SUITE,
    GG_OPTION_KERNEL,
    GG_OPTION_DEVICE,
    GG_OPTION_THREADS,
    {"case", 'c', "ID", "the case"},
    {"expect", 'e', "DIGESTS", "of the outputs, in hexadecimal, parted by commas"},
    {"mutant", 'm', "NAME", "a planted fault in place of a kernel"},
    {"control", 'x', NULL, "the operator's control in place of a kernel"},
    GG_OPTIONS_END};

typedef struct order {
    const char *suite, *kernel, *device, *id, *expected, *mutant;
    int threads;
    bool control;
} order;

static gg_status parse(int argc, char **argv, order *o)
{
    for (int c; (c = gg_next_option(argc, argv, options)) != -1;) {
        switch (c) {
        case 's': o->suite = optarg; break;
        case 'k': o->kernel = optarg; break;
        case 'd': o->device = optarg; break;
        case 'c': o->id = optarg; break;
        case 'e': o->expected = optarg; break;
        case 'm': o->mutant = optarg; break;
        case 'x': o->control = true; break;
        case 't': GG_TRY(gg_parse_int("threads", optarg, 1, 256, &o->threads)); break;
        default: return GG_BAD_INPUT;
        }
    }
    if (o->suite == NULL || o->id == NULL || o->expected == NULL)
        return gg_fail(GG_BAD_INPUT, "this command is for gradgate itself");
    return GG_OK;
}

static const gg_kernel *arm(const gg_backend *b, const char *operator_name, const char *name)
{
    for (int s = 0; gg_mutant_sets[s] != NULL; s++)
        for (const gg_mutant *m = gg_mutant_sets[s]->mutants; m->name != NULL; m++)
            if (strcmp(gg_mutant_sets[s]->operator_name, operator_name) == 0 &&
                strcmp(m->name, name) == 0)
                return gg_hosted(b, gg_mutant_sets[s]->arm(m));
    return NULL;
}

static gg_status find_kernel(const order *o, gg_candidate *candidate, gg_plan *plan)
{
    const char *operator_name = plan->suite->op->name;
    DLDeviceType device = plan->backend->device;
    if (o->control) plan->kernel = gg_kernel_control(operator_name, device);
    else if (o->mutant != NULL) plan->kernel = arm(plan->backend, operator_name, o->mutant);
    else if (o->kernel != NULL) {
        GG_TRY(gg_candidate_find(o->kernel, NULL, plan->suite->op, plan->backend, candidate));
        plan->kernel = &candidate->kernel;
        plan->outside = candidate->outside;
    }
    if (plan->kernel == NULL) return gg_fail(GG_BAD_INPUT, "no such kernel");
    const gg_feature *f = plan->kernel->features;
    for (int i = 0; f != NULL && f[i].name != NULL; i++)
        if (f[i].on) plan->features |= UINT64_C(1) << i;
    return GG_OK;
}

static gg_status run(gg_trial *t, uint64_t *input_digest)
{
    void *scratch = NULL;
    gg_trial_describe(t, t->what->extent, gg_trial_present(t->what, t->op));
    GG_TRY(gg_trial_allocate(t, true, &scratch));
    GG_TRY(gg_trial_draw(t, t->what->seed, scratch));
    GG_TRY(gg_trial_digest_inputs(t, input_digest));
    return gg_trial_run(t, t->first, gg_trial_poison(0));
}

static bool put(const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, stdout) == bytes;
}

/* An output, with its bits when they are not those that were expected. */
static gg_status send_output(const gg_trial *t, int o, uint64_t expected)
{
    const gg_backend *b = t->plan->backend;
    size_t bytes = gg_tensor_bytes(&t->output[o]);
    gg_fresh_output head = {.bytes = 0};
    GG_TRY(b->digest(b, t->first[o], bytes, &head.digest));
    if (head.digest != expected) head.bytes = bytes;
    void *data = malloc(bytes + 1);
    if (data == NULL) return gg_fail(GG_NO_MEMORY, "no memory for an output");
    gg_status status = head.bytes > 0 ? b->download(data, t->first[o], bytes) : GG_OK;
    if (status == GG_OK && !(put(&head, sizeof head) && put(data, head.bytes)))
        status = gg_fail(GG_IO, "cannot write to standard output");
    free(data);
    return status;
}

static gg_status answer(const gg_trial *t, const char *expected, uint64_t input_digest)
{
    gg_fresh_answer head = {.status = GG_OK, .outputs = (uint32_t)t->outputs,
                            .input_digest = input_digest};
    memcpy(head.magic, GG_FRESH_MAGIC, sizeof head.magic);
    if (!put(&head, sizeof head)) return gg_fail(GG_IO, "cannot write to standard output");
    for (int o = 0; o < t->outputs; o++) {
        char *end;
        uint64_t digest = strtoull(expected, &end, 16);
        expected = *end == ',' ? end + 1 : end;
        GG_TRY(send_output(t, o, digest));
    }
    return GG_OK;
}

static gg_status with_suite(const order *o, gg_suite *suite)
{
    gg_backend backend;
    gg_candidate candidate = {.digest = 0};
    gg_plan plan = {.backend = &backend, .suite = suite, .ablated = -1};
    int index = 0;
    while (index < suite->count && strcmp(suite->cases[index].id, o->id) != 0) index++;
    if (index == suite->count)
        return gg_fail(GG_BAD_INPUT, "suite %s has no case %s", suite->name, o->id);
    GG_TRY(gg_backend_open(o->device, o->threads, &backend));
    GG_TRY(find_kernel(o, &candidate, &plan));
    gg_arena arena = {.backend = &backend};
    gg_trial t = {.plan = &plan, .op = suite->op, .what = &suite->cases[index],
                  .arena = &arena};
    uint64_t input_digest = 0;
    gg_status status = run(&t, &input_digest);
    if (status == GG_OK) status = answer(&t, o->expected, input_digest);
    gg_arena_free(&arena);
    gg_candidate_close(&candidate);
    return status;
}

int gg_command_fresh(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* it does not outlive who started it */
    order o = {.device = "host", .threads = gg_processors()};
    gg_suite suite = {.count = 0};
    gg_status status = parse(argc, argv, &o);
    if (status == GG_OK) status = gg_suite_load(o.suite, &suite);
    if (status == GG_OK) status = with_suite(&o, &suite);
    gg_suite_free(&suite);
    if (status == GG_OK) return GG_EXIT_PASSED;
    gg_fresh_answer head = {.status = (uint32_t)status};
    memcpy(head.magic, GG_FRESH_MAGIC, sizeof head.magic);
    snprintf(head.message, sizeof head.message, "%s", gg_message());
    put(&head, sizeof head);
    return gg_complain(status);
}
