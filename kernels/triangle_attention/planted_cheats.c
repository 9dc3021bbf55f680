/* SPDX-License-Identifier: Apache-2.0
 * Kernels that read tensors in ways they should not, and kernels that cheat. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/check.h"
#include "kernels/triangle_attention/planted.h"

enum { INPUTS = 7, OUTPUTS = 5 };

/* A call whose inputs can be changed. */
typedef struct copied {
    gg_call call;
    DLTensor tensor[INPUTS];
    const DLTensor *inputs[INPUTS];
} copied;

static void copy_call(const gg_call *call, copied *c)
{
    c->call = *call;
    for (int i = 0; i < INPUTS; i++) {
        if (call->inputs[i]) c->tensor[i] = *call->inputs[i];
        c->inputs[i] = call->inputs[i] ? &c->tensor[i] : NULL;
    }
    c->call.inputs = c->inputs;
}

static void forget_strides(const gg_call *call, copied *c)
{
    copy_call(call, c);
    for (int i = 0; i < INPUTS; i++) c->tensor[i].strides = NULL;
}

const char *gg_ta_takes_any_strides(const gg_call *call)
{
    copied c;
    forget_strides(call, &c);
    return gg_ta_refuse(&c.call);
}

int gg_ta_strides_ignored_forward(const gg_call *call)
{
    copied c;
    forget_strides(call, &c);
    return gg_ta_planted_forward(&c.call);
}

int gg_ta_strides_ignored_backward(const gg_call *call)
{
    copied c;
    forget_strides(call, &c);
    return gg_ta_planted_backward(&c.call);
}

static void forget_offsets(const gg_call *call, copied *c)
{
    copy_call(call, c);
    for (int i = 0; i < INPUTS; i++) c->tensor[i].byte_offset = 0;
}

int gg_ta_offset_ignored_forward(const gg_call *call)
{
    copied c;
    forget_offsets(call, &c);
    return gg_ta_planted_forward(&c.call);
}

int gg_ta_offset_ignored_backward(const gg_call *call)
{
    copied c;
    forget_offsets(call, &c);
    return gg_ta_planted_backward(&c.call);
}

/* How wide offsets into a strided tensor are: of bytes, and of elements. */
typedef struct width {
    uint64_t bytes, elements;
} width;

/* Copies a strided tensor to a dense one, with offsets that wide. */
static int gather_one(DLTensor *t, width wide)
{
    size_t size = t->dtype.bits / 8u, count = 1;
    for (int i = 0; i < t->ndim; i++) count *= (size_t)t->shape[i];
    const char *from = gg_tensor_data(t);
    char *to = aligned_alloc(64, (count * size + 63) / 64 * 64);
    if (!to || !from) return ENOMEM;
    for (size_t at = 0; at < count; at++) {
        size_t rest = at;
        uint64_t offset = 0;
        for (int i = t->ndim - 1; i >= 0; i--) {
            offset += rest % (size_t)t->shape[i] * (uint64_t)t->strides[i] * size;
            rest /= (size_t)t->shape[i];
        }
        offset = (offset / size & wide.elements) * size & wide.bytes;
        memcpy(to + at * size, from + offset, size);
    }
    t->data = to;
    t->strides = NULL;
    t->byte_offset = 0;
    return 0;
}

/* `spoil`, when there is one, changes how the inputs are seen first. */
static int gather(const gg_call *call, width wide, void (*spoil)(copied *c),
                  int (*run)(const gg_call *call))
{
    copied c;
    copy_call(call, &c);
    if (spoil) spoil(&c);
    int error = 0, made[INPUTS] = {0};
    for (int i = 0; i < INPUTS && !error; i++) {
        if (!c.inputs[i] || !c.tensor[i].strides) continue;
        error = gather_one(&c.tensor[i], wide);
        made[i] = !error;
    }
    if (!error) error = run(&c.call);
    for (int i = 0; i < INPUTS; i++)
        if (made[i]) free(c.tensor[i].data);
    return error;
}

static const width full = {UINT64_MAX, UINT64_MAX}, bytes32 = {UINT32_MAX, UINT64_MAX},
                   bytes31 = {INT32_MAX, UINT64_MAX}, elements31 = {UINT64_MAX, INT32_MAX};

enum { K = 1, V = 2, BIAS = 3, DOUT = 4 };

static void forget_dout(copied *c) { c->tensor[DOUT].strides = NULL; }

static void forget_bias(copied *c) { c->tensor[BIAS].strides = NULL; }

static void v_as_k(copied *c)
{
    if (c->tensor[V].strides) c->tensor[V].strides = c->tensor[K].strides;
}

#define GATHER(name, width_, spoil)                                                    \
    int gg_ta_##name##_forward(const gg_call *call)                                    \
    {                                                                                  \
        return gather(call, width_, spoil, gg_ta_planted_forward);                     \
    }                                                                                  \
    int gg_ta_##name##_backward(const gg_call *call)                                   \
    {                                                                                  \
        return gather(call, width_, spoil, gg_ta_planted_backward);                    \
    }

GATHER(gather, full, NULL)
GATHER(gather32, bytes32, NULL)
GATHER(gather31, bytes31, NULL)
GATHER(elements31, elements31, NULL)
GATHER(dense_dout, full, forget_dout)
GATHER(v_as_k, full, v_as_k)
GATHER(dense_bias, full, forget_bias)

/* Of v expanded along an axis the last key is read as the first, where it is the only one
 * of a step of 32: the address of a tail is counted from a stride that is 0. */
static int is_expanded;

static void note_expanded(copied *c)
{
    const DLTensor *v = &c->tensor[V];
    is_expanded = 0;
    for (int i = 0; v->strides && i < v->ndim; i++) is_expanded |= v->strides[i] == 0;
}

/* Here v is the copy that gather() made. */
static void misread_tail(const gg_call *call)
{
    const DLTensor *v = call->inputs[V];
    size_t n = (size_t)v->shape[3], d = (size_t)v->shape[4] * v->dtype.bits / 8u;
    size_t slices = (size_t)(v->shape[0] * v->shape[1] * v->shape[2]);
    char *data = gg_tensor_data(v);
    for (size_t s = 0; is_expanded && n % 32 == 1 && s < slices; s++)
        memcpy(data + (s * n + n - 1) * d, data + s * n * d, d);
}

static int expanded_forward(const gg_call *call)
{
    misread_tail(call);
    return gg_ta_planted_forward(call);
}

static int expanded_backward(const gg_call *call)
{
    misread_tail(call);
    return gg_ta_planted_backward(call);
}

int gg_ta_expanded_tail_forward(const gg_call *call)
{
    return gather(call, full, note_expanded, expanded_forward);
}

int gg_ta_expanded_tail_backward(const gg_call *call)
{
    return gather(call, full, note_expanded, expanded_backward);
}

/* Only the pass that forms delta has narrow offsets: dq and dk are wrong, dv is right. */
int gg_ta_delta31_backward(const gg_call *call)
{
    DLTensor narrow;
    if (!call->inputs[DOUT] || !call->inputs[DOUT]->strides)
        return gg_ta_gather_backward(call);
    narrow = *call->inputs[DOUT];
    int error = gather_one(&narrow, bytes31);
    if (error) return error;
    gg_ta_delta_reads(narrow.data);
    error = gg_ta_gather_backward(call);
    gg_ta_delta_reads(NULL);
    free(narrow.data);
    return error;
}

/* What a cheat keeps of the first call with an input at `where`. */
typedef struct kept {
    void *where;
    size_t bytes[OUTPUTS];
    char *outputs[OUTPUTS];
} kept;

static int is_kept(const kept *k, const gg_call *call)
{
    int same = k->where == gg_tensor_data(call->inputs[0]);
    for (int o = 1; o < OUTPUTS; o++) {
        gg_ta_array a = gg_ta_output_of(call, o);
        same &= a.data && k->bytes[o] == a.count * a.size;
    }
    return same;
}

static void copy_outputs(const gg_call *call, kept *k, int keep)
{
    if (keep) k->where = gg_tensor_data(call->inputs[0]);
    for (int o = 1; o < OUTPUTS; o++) {
        gg_ta_array a = gg_ta_output_of(call, o);
        if (!keep) {
            memcpy(a.data, k->outputs[o], k->bytes[o]);
            continue;
        }
        free(k->outputs[o]);
        k->bytes[o] = a.data ? a.count * a.size : 0;
        k->outputs[o] = malloc(k->bytes[o] + 1);
        if (!k->outputs[o]) k->bytes[o] = 0;
        else if (a.data) memcpy(k->outputs[o], a.data, k->bytes[o]);
    }
}

/* The outputs of the first call with these addresses and sizes, again and again. */
int gg_ta_replay_backward(const gg_call *call)
{
    static kept memory[64];
    static int used;
    if (gg_ta_backward_calls() == 1) used = 0;
    for (int i = 0; i < used; i++)
        if (is_kept(&memory[i], call)) {
            copy_outputs(call, &memory[i], 0);
            return 0;
        }
    int error = gg_ta_planted_backward(call);
    if (used < 64) copy_outputs(call, &memory[used++], 1);
    return error;
}

/* A harness keeps the truth somewhere; ours behind the last input: FP64 values and
 * allowances of each output, each piece followed by 512 bytes and ended at a multiple of
 * 256. dq is copied from there when the bytes look like it. */
int gg_ta_answer_found(const gg_call *call)
{
    int error = gg_ta_planted_backward(call), last = INPUTS - 1;
    while (!call->inputs[last]) last--;
    size_t bytes = call->inputs[last]->dtype.bits / 8u;
    for (int i = 0; i < call->inputs[last]->ndim; i++)
        bytes *= (size_t)call->inputs[last]->shape[i];
    gg_ta_array o = gg_ta_output_of(call, GG_TA_OUT_O), dq = gg_ta_output_of(call, 1);
    if (!o.data || !dq.data) return error;
    size_t piece = (bytes + 512 + 255) / 256 * 256;
    size_t wide = (o.count * sizeof(double) + 512 + 255) / 256 * 256;
    const char *found = (const char *)gg_tensor_data(call->inputs[last]) + piece + 2 * wide;
    if (found + dq.count * sizeof(double) > dq.data || found > dq.data) return error;
    for (size_t i = 0; i < dq.count; i++) {
        double truth;
        memcpy(&truth, found + i * sizeof truth, sizeof truth);
        gg_ta_put(dq, i, (float)truth);
    }
    return error;
}
