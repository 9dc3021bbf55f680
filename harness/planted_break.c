/* SPDX-License-Identifier: Apache-2.0
 * Kernels that break their own process, for the tests of worker processes; in a program
 * of its own, never in gradgate. The kernel on trial does what PLANT says,
 * in calls whose first input has an extent of PLANT_AT (40):
 *   segv abort exit hang   what it says, in forward
 *   backward               abort in backward
 *   kill                   SIGKILL, as an operator would send it
 *   noise                  writes to standard output, the report's channel
 *   child                  leaves a child behind that holds all files open, and dies
 *   pid                    low bits of the last output depend on the process (host)
 *   device                 forward writes where it must not: on a GPU an error that stays
 *   card                   the first feature is off on GPUs with odd numbers */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/registry.h"

const gg_kernel *__real_gg_kernel_find(const char *, const char *, DLDeviceType);
const gg_kernel *__wrap_gg_kernel_find(const char *, const char *, DLDeviceType);

/* A kernel and what stands in for it. */
typedef struct stand_in {
    const gg_kernel *inner;
    gg_kernel outer;
} stand_in;

/* The first kernel looked up for a host, and for a GPU: the kernel on trial and its twin. A
 * call tells which by where its tensors are; kernels looked up later are as they are. */
static stand_in on_host, on_gpu;
static volatile int *nowhere;

static stand_in *stand_in_for(DLDeviceType device)
{
    return device == kDLCPU ? &on_host : &on_gpu;
}

static const gg_kernel *inner_of(const gg_call *call)
{
    return stand_in_for(call->inputs[0]->device.device_type)->inner;
}

static int says(const char *fault)
{
    const char *plant = getenv("PLANT");
    return plant != NULL && strcmp(plant, fault) == 0;
}

static int is_hit(const gg_call *call)
{
    const char *at = getenv("PLANT_AT");
    long extent = at != NULL ? atol(at) : 40;
    for (int i = 0; i < call->inputs[0]->ndim; i++)
        if (call->inputs[0]->shape[i] == extent) return 1;
    return 0;
}

/* The call as a GPU of this number takes it. */
static gg_call changed(const gg_call *call)
{
    gg_call c = *call;
    if (says("card") && call->inputs[0]->device.device_id % 2 == 1) c.features ^= 1;
    if (says("device") && is_hit(call)) c.saved = c.workspace = (void *)(uintptr_t)4096;
    return c;
}

static int forward(const gg_call *original)
{
    const gg_call copy = changed(original), *call = &copy;
    const gg_kernel *inner = inner_of(call);
    if (!is_hit(call)) return inner->forward(call);
    if (says("segv")) *nowhere = 1;
    if (says("abort")) abort();
    if (says("exit")) exit(0);
    if (says("hang")) for (;;) pause();
    if (says("kill")) raise(SIGKILL);
    if (says("noise")) puts("a kernel prints");
    if (says("child")) {
        if (fork() == 0) {
            sleep(3);
            _exit(0);
        }
        abort();
    }
    return inner->forward(call);
}

static int backward(const gg_call *original)
{
    const gg_call copy = changed(original), *call = &copy;
    const gg_kernel *inner = inner_of(call);
    int last = 0, error;
    if (is_hit(call) && says("backward")) abort();
    error = inner->backward(call);
    while (inner->outputs[last + 1] != NULL) last++;
    if (error == 0 && says("pid") && call->outputs[last] != NULL)
        *(unsigned *)call->outputs[last]->data ^= (unsigned)getpid() & 63;
    return error;
}

const gg_kernel *__wrap_gg_kernel_find(const char *operator_name, const char *name,
                                       DLDeviceType device)
{
    const gg_kernel *found = __real_gg_kernel_find(operator_name, name, device);
    if (found == NULL) return NULL;
    stand_in *s = stand_in_for(found->device);
    if (s->inner == NULL) {
        *s = (stand_in){found, *found};
        s->outer.forward = forward;
        s->outer.backward = backward;
    }
    return s->inner == found ? &s->outer : found;
}
