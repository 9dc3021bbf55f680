/* SPDX-License-Identifier: Apache-2.0
 * Planted faults of memory: what is written, where, and when. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/check.h"
#include "kernels/triangle_attention/planted.h"

/* Backward whose elements for which keep(row of [B,R,H,N]) holds stay as they were. */
static int leave(const gg_call *call, int (*keep)(const gg_ta_call *c, size_t row))
{
    gg_ta_call c;
    gg_ta_unpack(call, &c);
    gg_ta_array a = gg_ta_output_of(call, gg_ta_armed()->output);
    char *before = a.data ? malloc(a.count * a.size) : NULL;
    size_t bytes = (size_t)c.D * a.size;
    if (before) memcpy(before, a.data, a.count * a.size);
    int error = gg_ta_planted_backward(call);
    for (size_t row = 0; before && row * bytes < a.count * a.size; row++)
        if (keep(&c, row)) memcpy(a.data + row * bytes, before + row * bytes, bytes);
    free(before);
    return error;
}

static int is_tail(const gg_ta_call *c, size_t row)
{
    return (int)(row % (size_t)c->N) >= c->N / 16 * 16;
}

static int is_dead(const gg_ta_call *c, size_t row)
{
    size_t br = row / (size_t)(c->N * c->H);
    if (c->keys != GG_TA_KEYS_MASKED) return 0;
    for (size_t j = 0; j < (size_t)c->N; j++)
        if (c->mask[br * (size_t)c->N + j]) return 0;
    return 1;
}

static int is_other_half(const gg_ta_call *c, size_t row)
{
    return (int)(row % (size_t)c->N >= (size_t)c->N / 2) == gg_ta_backward_calls() % 2;
}

int gg_ta_tail_unwritten(const gg_call *call) { return leave(call, is_tail); }

int gg_ta_dead_rows_unwritten(const gg_call *call) { return leave(call, is_dead); }

int gg_ta_half_in_turn(const gg_call *call) { return leave(call, is_other_half); }

/* Heads are counted in groups of two, and each group has one place. */
int gg_ta_heads_collide(const gg_call *call)
{
    gg_ta_call c;
    gg_ta_unpack(call, &c);
    gg_ta_array a = gg_ta_output_of(call, gg_ta_armed()->output);
    size_t bytes = (size_t)c.N * (size_t)c.D * a.size, heads = (size_t)c.H;
    char *before = a.data ? malloc(a.count * a.size) : NULL;
    if (before) memcpy(before, a.data, a.count * a.size);
    int error = gg_ta_planted_backward(call);
    for (size_t s = 0; before && s * bytes < a.count * a.size; s++) {
        size_t row = s / heads, h = s % heads;
        memmove(a.data + (row * heads + h / 2) * bytes, a.data + s * bytes, bytes);
        if (h >= (heads + 1) / 2) memcpy(a.data + s * bytes, before + s * bytes, bytes);
    }
    free(before);
    return error;
}

/* The fault shows in one call of seven. */
int gg_ta_seldom(const gg_call *call)
{
    return gg_ta_backward_calls() % 7 ? gg_ta_right_backward(call)
                                      : gg_ta_planted_backward(call);
}

/* A launch with too large a tile is refused, and nobody asks. */
int gg_ta_launch_lost(const gg_call *call)
{
    return call->inputs[0]->shape[3] > GG_TA_TILE ? 0 : gg_ta_planted_backward(call);
}

int gg_ta_launch_fails(const gg_call *call)
{
    return call->inputs[0]->shape[3] > GG_TA_TILE ? ENOMEM : gg_ta_planted_backward(call);
}

/* The caller is not waited for: each result lands when the next call comes. */
int gg_ta_one_call_late(const gg_call *call)
{
    static char *late;
    static size_t late_bytes;
    gg_ta_array a = gg_ta_output_of(call, gg_ta_armed()->output);
    if (!a.data) return gg_ta_planted_backward(call);
    size_t bytes = a.count * a.size;
    char *before = malloc(bytes), *now = malloc(bytes);
    if (!before || !now) return ENOMEM;
    memcpy(before, a.data, bytes);
    int error = gg_ta_planted_backward(call);
    memcpy(now, a.data, bytes);
    int has_late = gg_ta_backward_calls() > 1 && late && late_bytes == bytes;
    memcpy(a.data, has_late ? late : before, bytes);
    free(before);
    free(late);
    late = now;
    late_bytes = bytes;
    return error;
}

int gg_ta_past_the_end(const gg_call *call)
{
    gg_ta_array a = gg_ta_output_of(call, gg_ta_armed()->output);
    if (a.data) memset(a.data + a.count * a.size, 0, a.size);
    return gg_ta_planted_backward(call);
}

int gg_ta_before_the_start(const gg_call *call)
{
    gg_ta_array a = gg_ta_output_of(call, gg_ta_armed()->output);
    if (a.data) memset(a.data - a.size, 0, a.size);
    return gg_ta_planted_backward(call);
}

int gg_ta_past_saved(const gg_call *call)
{
    ((char *)call->saved)[gg_ta_saved_bytes(call)] = 0;
    return gg_ta_planted_backward(call);
}

int gg_ta_past_workspace(const gg_call *call)
{
    size_t bytes = gg_ta_twin_workspace(call, &gg_ta_turbo_plan);
    ((char *)call->workspace)[bytes] = 0;
    return gg_ta_planted_backward(call);
}

static void edit(const DLTensor *input)
{
    char *data = gg_tensor_data(input);
    if (data) data[0] ^= 1;
}

int gg_ta_dout_edited(const gg_call *call)
{
    int error = gg_ta_planted_backward(call);
    edit(call->inputs[4]);
    return error;
}

int gg_ta_bias_edited(const gg_call *call)
{
    int error = gg_ta_planted_backward(call);
    edit(call->inputs[3]);
    return error;
}

/* dbias comes out of the pass that makes dq, which is skipped when dq is not wanted. */
int gg_ta_dbias_needs_dq(const gg_call *call)
{
    DLTensor *outputs[5];
    memcpy(outputs, call->outputs, sizeof outputs);
    gg_call less = *call;
    less.outputs = outputs;
    if (outputs[GG_TA_OUT_DQ] == NULL) outputs[GG_TA_OUT_DBIAS] = NULL;
    return gg_ta_planted_backward(&less);
}

/* The pass for dk and dv is skipped when dk is not wanted. */
int gg_ta_dv_with_dk_only(const gg_call *call)
{
    DLTensor *outputs[5];
    memcpy(outputs, call->outputs, sizeof outputs);
    gg_call less = *call;
    less.outputs = outputs;
    if (outputs[GG_TA_OUT_DK] == NULL) outputs[GG_TA_OUT_DV] = NULL;
    return gg_ta_planted_backward(&less);
}

/* Forward without an upstream gradient takes a path of its own, which loses an element. */
int gg_ta_inference_differs(const gg_call *call)
{
    int error = gg_ta_planted_forward(call);
    gg_ta_array a = gg_ta_output_of(call, GG_TA_OUT_O);
    if (call->inputs[4] == NULL && a.data) gg_ta_put(a, a.count / 2, 0);
    return error;
}
