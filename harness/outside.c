/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/outside.h"

#include <inttypes.h>
#include <stdio.h>

/* "BF16 [2,3]" */
static void print(const char *type, const gg_tensor *t, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s [", type);
    for (int i = 0; i < t->ndim && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? "," : "",
                                 t->shape[i]);
    if (used < size) snprintf(text + used, size - used, "]");
}

static gg_status check_output(const gg_trial *t, int o, const gg_safetensor *found)
{
    const char *name = t->op->outputs[o].name;
    const gg_tensor *wanted = &t->output[o];
    char is[96], must[96];
    if (found == NULL) return gg_fail(GG_BAD_INPUT, "no output '%s' was written", name);
    if (found->tensor.dtype == wanted->dtype && found->tensor.ndim == wanted->ndim &&
        memcmp(found->tensor.shape, wanted->shape, sizeof wanted->shape) == 0)
        return GG_OK;
    print(found->type, &found->tensor, is, sizeof is);
    print(gg_safetensors_type(wanted->dtype), wanted, must, sizeof must);
    return gg_fail(GG_KERNEL_FAULT, "output '%s' is %s, it must be %s", name, is, must);
}

/* Outputs from..to - 1 of the file into the memory of the call. */
static gg_status hand_over(gg_outside *outside, gg_trial *t, int from, int to)
{
    const gg_backend *b = t->plan->backend;
    for (int o = from; o < to; o++) {
        const gg_safetensor *found = gg_safetensors_find(&outside->last, t->op->outputs[o].name);
        if (t->call_outputs[o] == NULL) continue;
        GG_TRY(b->upload(t->dl_output[o].data, found->tensor.data, found->bytes));
    }
    return GG_OK;
}

static gg_status fetch(gg_outside *outside, gg_trial *t)
{
    char path[GG_OUTSIDE_PATH], text[400];
    gg_safetensors_free(&outside->last);
    GG_TRY(outside->produce(outside, t, path));
    gg_status status = gg_safetensors_read(path, &outside->last);
    if (outside->done != NULL) outside->done(outside);
    if (status == GG_BAD_INPUT || status == GG_IO) {
        snprintf(text, sizeof text, "%s", gg_message());
        return gg_fail(GG_KERNEL_FAULT, "its outputs cannot be read: %s", text);
    }
    for (int o = 0; o < t->outputs && status == GG_OK; o++)
        status = check_output(t, o, gg_safetensors_find(&outside->last, t->op->outputs[o].name));
    return status;
}

gg_status gg_outside_forward(gg_outside *outside, gg_trial *t)
{
    gg_status status = fetch(outside, t);
    if (status == GG_OK)
        status = hand_over(outside, t, 0, t->plan->kernel->forward_outputs);
    if (status != GG_OK) gg_safetensors_free(&outside->last);
    return status;
}

gg_status gg_outside_backward(gg_outside *outside, gg_trial *t)
{
    if (outside->last.count == 0)
        return gg_fail(GG_INTERNAL, "backward without a forward before it");
    return hand_over(outside, t, t->plan->kernel->forward_outputs, t->outputs);
}

void gg_outside_close(gg_outside *outside)
{
    if (outside == NULL) return;
    gg_safetensors_free(&outside->last);
    outside->close(outside);
}
