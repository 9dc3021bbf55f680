/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/candidate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/environment.h"
#include "harness/exec.h"
#include "harness/plugin.h"
#include "kernels/mutant.h"
#include "kernels/registry.h"

static const char *accept_all(const gg_call *call)
{
    (void)call;
    return NULL;
}

static size_t no_bytes(const gg_call *call)
{
    (void)call;
    return 0;
}

void gg_candidate_whole(const gg_kernel *kernel, gg_candidate *candidate)
{
    gg_kernel *k = &candidate->kernel;
    *k = *kernel;
    if (k->supports == NULL) k->supports = accept_all;
    if (k->saved_bytes == NULL) k->saved_bytes = no_bytes;
    if (k->workspace_bytes == NULL) k->workspace_bytes = no_bytes;
    for (int o = 0; o < GG_MAX_OUTPUTS; o++)
        candidate->limits[o] = (gg_limits){NAN, NAN, NAN, NAN};
    for (int o = 0; k->limits != NULL && k->outputs[o] != NULL; o++)
        candidate->limits[o] = k->limits[o];
    snprintf(candidate->limits_note, sizeof candidate->limits_note, "%s",
             k->limits != NULL ? k->limits_note : "no limits stated");
    k->limits = candidate->limits;
    k->limits_note = candidate->limits_note;
}

gg_status gg_candidate_take(const gg_kernel *kernel, const char *origin,
                            gg_candidate *candidate)
{
    GG_TRY(gg_kernel_check(kernel, origin));
    gg_candidate_whole(kernel, candidate);
    return GG_OK;
}

/* Is not called: the candidate's `outside` is. */
static int not_here(const gg_call *call)
{
    (void)call;
    return ENOSYS;
}

void gg_candidate_outside(gg_outside *outside, const char *name, const char *summary,
                          const gg_operator *op, DLDeviceType device, gg_candidate *candidate)
{
    int results = 0;
    candidate->outside = outside;
    snprintf(candidate->name, sizeof candidate->name, "%s", name);
    for (int i = 0; op->inputs[i].name != NULL; i++)
        candidate->inputs[i] = op->inputs[i].name;
    for (int o = 0; op->outputs[o].name != NULL; o++) {
        candidate->outputs[o] = op->outputs[o].name;
        results += op->outputs[o].role == GG_ROLE_RESULT;
    }
    const gg_kernel kernel = {
        .abi_version = GG_ABI_VERSION, .struct_bytes = sizeof(gg_kernel),
        .name = candidate->name, .operator_name = op->name, .summary = summary,
        .device = device, .repeat = GG_REPEAT_NOT_GUARANTEED, .inputs = candidate->inputs,
        .outputs = candidate->outputs, .forward = not_here, .backward = not_here,
        .forward_outputs = results};
    gg_candidate_whole(&kernel, candidate);
}

void gg_candidate_close(gg_candidate *candidate)
{
    gg_outside_close(candidate->outside);
    candidate->outside = NULL;
}

/* " naive turbo": the built-in kernels of an operator, on a device or (-1) any. */
static void list_known(const gg_operator *op, int device, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; gg_kernels[i] != NULL; i++) {
        const gg_kernel *k = gg_kernels[i];
        if (device >= 0 && k->device != (DLDeviceType)device) continue;
        if (strcmp(k->operator_name, op->name) != 0) continue;
        if (used < size) used += (size_t)snprintf(text + used, size - used, " %s", k->name);
    }
}

static gg_status find_built_in(const char *name, const gg_operator *op, DLDeviceType device,
                               gg_candidate *candidate)
{
    char known[256];
    const gg_kernel *kernel = gg_kernel_find(op->name, name, device);
    if (kernel != NULL) {
        GG_TRY(gg_program_digest(&candidate->digest));
        return gg_candidate_take(kernel, "this program", candidate);
    }
    list_known(op, (int)device, known, sizeof known);
    return gg_fail(GG_BAD_INPUT, "operator %s has no kernel '%s' on this device: choose one of%s, "
                   "or a file as ./mine.so", op->name, name, known);
}

/* "mutant:s_bf16": a planted fault of the self-test, to be looked at like any kernel. */
static gg_status find_mutant(const char *name, const gg_operator *op, DLDeviceType device,
                             gg_candidate *candidate)
{
    if (device != kDLCPU)
        return gg_fail(GG_BAD_INPUT, "%s: planted faults run with --device host", name);
    for (int s = 0; gg_mutant_sets[s] != NULL; s++) {
        const gg_mutant_set *set = gg_mutant_sets[s];
        if (strcmp(set->operator_name, op->name) != 0) continue;
        for (const gg_mutant *m = set->mutants; m->name != NULL; m++) {
            if (strcmp(m->name, name + strlen(GG_MUTANT_PREFIX)) != 0) continue;
            GG_TRY(gg_program_digest(&candidate->digest));
            GG_TRY(gg_candidate_take(set->arm(m), "this program", candidate));
            candidate->kernel.name = name;
            return GG_OK;
        }
    }
    return gg_fail(GG_BAD_INPUT, "operator %s has no planted fault '%.40s': see 'gradgate list "
                   "mutants'", op->name, name);
}

gg_status gg_candidate_own(const gg_kernel *own, const gg_operator *op, DLDeviceType device,
                           gg_candidate *candidate)
{
    *candidate = (gg_candidate){.digest = 0};
    GG_TRY(gg_program_digest(&candidate->digest));
    GG_TRY(gg_candidate_take(own, "the kernel", candidate));
    if (strcmp(own->operator_name, op->name) == 0 && own->device == device) return GG_OK;
    return gg_fail(GG_BAD_INPUT, "kernel %s is of operator %s or for another device than the "
                   "suite and device asked for", own->name, own->operator_name);
}

static gg_status find_in_plugin(const char *name, const gg_operator *op, DLDeviceType device,
                                gg_candidate *candidate)
{
    gg_plugin plugin;
    const gg_kernel *kernel;
    GG_TRY(gg_plugin_open(name, &plugin));
    GG_TRY(gg_plugin_choose(&plugin, op, device, &kernel));
    candidate->digest = plugin.digest;
    return gg_candidate_take(kernel, plugin.path, candidate);
}

static gg_status find_command(const char *name, const gg_operator *op,
                              const gg_backend *backend, gg_candidate *candidate)
{
    char device[24] = "host";
    gg_outside *outside;
    if (backend->device != kDLCPU)
        snprintf(device, sizeof device, "%s:%d", backend->name, backend->ordinal);
    GG_TRY(gg_exec_open(name, device, &outside, &candidate->digest));
    gg_candidate_outside(outside, name, "a command, by files", op, backend->device, candidate);
    return GG_OK;
}

/* A kernel's limits are about its arithmetic, so those of any device will do. */
gg_status gg_candidate_limits(const char *name, const gg_operator *op,
                              gg_candidate *candidate)
{
    char known[256];
    const gg_kernel *lender = gg_kernel_find(op->name, name, kDLCPU);
    if (lender == NULL) lender = gg_kernel_find(op->name, name, kDLCUDA);
    if (lender == NULL) {
        list_known(op, -1, known, sizeof known);
        return gg_fail(GG_BAD_INPUT, "--limits-of: operator %s has no built-in kernel '%s': "
                       "choose one of%s", op->name, name, known);
    }
    for (int o = 0; lender->outputs[o] != NULL; o++) candidate->limits[o] = lender->limits[o];
    snprintf(candidate->limits_note, sizeof candidate->limits_note, "those of %s: %s", name,
             lender->limits_note);
    return GG_OK;
}

gg_status gg_candidate_find(const char *name, const char *limits_of, const gg_operator *op,
                            const gg_backend *backend, gg_candidate *candidate)
{
    *candidate = (gg_candidate){.digest = 0};
    bool mutant = strncmp(name, GG_MUTANT_PREFIX, strlen(GG_MUTANT_PREFIX)) == 0;
    if (mutant) GG_TRY(find_mutant(name, op, backend->device, candidate));
    else if (gg_exec_named(name)) GG_TRY(find_command(name, op, backend, candidate));
    else if (gg_plugin_named(name))
        GG_TRY(find_in_plugin(name, op, backend->device, candidate));
    else GG_TRY(find_built_in(name, op, backend->device, candidate));
    return limits_of == NULL ? GG_OK : gg_candidate_limits(limits_of, op, candidate);
}
