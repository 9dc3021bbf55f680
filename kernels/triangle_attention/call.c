/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/triangle_attention/call.h"

#include <math.h>

#include "kernels/check.h"

enum { IN_Q, IN_K, IN_V, IN_BIAS, IN_DOUT, IN_MASK, IN_LENGTHS, IN_COUNT };
enum { OUT_O, OUT_DQ, OUT_DK, OUT_DV, OUT_DBIAS, OUT_COUNT };

const char *const gg_ta_inputs[] = {"q",    "k",    "v",           "bias",
                                    "dout", "mask", "key_lengths", NULL};
const char *const gg_ta_outputs[] = {"o", "dq", "dk", "dv", "dbias", NULL};

const gg_feature gg_ta_features[] = {
    {"compensation", "delta uses o + e, where e = bf16(o32 - o) is saved by forward",
     1},
    {NULL, NULL, 0},
};

/* Kept to the contracts of README.md. */
#define PRODUCTS {"p_dv", NULL, 0}, {"ds", NULL, 0}
#define DELTA {"delta", "compensation", 0}, {"delta_pair", "compensation", 1}
#define REST {"accumulation", NULL, 0}, {"output", NULL, 0}, {NULL, NULL, 0}

const gg_rounding gg_ta_naive_roundings[] = {{"p_whole", NULL, 0}, PRODUCTS, REST};
const gg_rounding gg_ta_roundings[] = {{"p", NULL, 0}, PRODUCTS, DELTA, REST};
const gg_rounding gg_ta_twopass_roundings[] = {
    {"p_lazy", NULL, 0}, PRODUCTS, {"delta", "compensation", 0}, REST};
const gg_rounding gg_ta_split_roundings[] = {
    {"p_lazy", "pairs_forward", 0}, {"p_pair", "pairs_forward", 1},
    {"p_dv", "pairs_backward", 0},  {"p_dv_pair", "pairs_backward", 1},
    {"ds", "pairs_backward", 0},    {"ds_pair", "pairs_backward", 1},
    {"delta", "compensation", 0},   REST};

static const char *refuse_inputs(const gg_call *call, const int64_t *extent)
{
    int64_t B = extent[0], R = extent[1], H = extent[2], N = extent[3];
    const int64_t bias[] = {B, H, N, N}, mask[] = {B, R, N};
    const char *why = NULL;
    for (int i = 0; i < IN_COUNT && !why; i++) {
        const DLTensor *tensor = call->inputs[i];
        const char *name = gg_ta_inputs[i];
        if (!tensor) why = i < IN_DOUT ? "one of q, k, v and bias is absent" : NULL;
        else if (i == IN_BIAS)
            why = gg_check_tensor(name, tensor, 4, bias, GG_TYPE_BF16 | GG_TYPE_F32);
        else if (i == IN_MASK) why = gg_check_tensor(name, tensor, 3, mask, GG_TYPE_U8);
        else if (i == IN_LENGTHS)
            why = gg_check_tensor(name, tensor, 2, extent, GG_TYPE_I32);
        else why = gg_check_tensor(name, tensor, 5, extent, GG_TYPE_BF16);
    }
    if (!why && call->inputs[IN_MASK] && call->inputs[IN_LENGTHS])
        why = "mask and key_lengths exclude each other";
    return why;
}

static const char *refuse_outputs(const gg_call *call, const int64_t *extent)
{
    const int64_t bias[] = {extent[0], extent[2], extent[3], extent[3]};
    const int both = GG_TYPE_BF16 | GG_TYPE_F32;
    const char *why = NULL;
    int gradient = 0; /* type of the first of dq, dk, dv that is wanted */
    for (int i = 0; i < OUT_COUNT && !why; i++) {
        const DLTensor *tensor = call->outputs[i];
        const char *name = gg_ta_outputs[i];
        if (!tensor) continue;
        if (i == OUT_O) why = gg_check_tensor(name, tensor, 5, extent, GG_TYPE_BF16);
        else if (i == OUT_DBIAS) why = gg_check_tensor(name, tensor, 4, bias, both);
        else why = gg_check_tensor(name, tensor, 5, extent, both);
        if (why || i == OUT_O || i == OUT_DBIAS) continue;
        if (gradient && gradient != gg_tensor_type(tensor))
            why = "dq, dk and dv are of different types";
        gradient = gg_tensor_type(tensor);
    }
    return why;
}

const char *gg_ta_refuse(const gg_call *call)
{
    const DLTensor *q = call->inputs[IN_Q];
    if (!q) return "one of q, k, v and bias is absent";
    if (q->ndim != 5) return "q: wrong number of dimensions";
    const int64_t *extent = q->shape;
    const int64_t bias[] = {extent[0], extent[2], extent[3], extent[3]};
    const char *why = gg_check_extents(extent, 5);
    if (!why) why = gg_check_extents(bias, 4);
    if (!why && extent[4] % 8) why = "D is not a multiple of 8";
    if (!why && extent[4] > GG_TA_MAX_HEAD) why = "D is larger than 64";
    if (!why) why = refuse_inputs(call, extent);
    return why ? why : refuse_outputs(call, extent);
}

static int is_f32(const DLTensor *tensor)
{
    return tensor && gg_tensor_type(tensor) == GG_TYPE_F32;
}

/* Sizes of m, of inv (the same) and of e, each up to a multiple of 256 bytes. */
static size_t saved_row_bytes(const DLTensor *q)
{
    size_t rows = 1;
    for (int i = 0; i < 4; i++) rows *= (size_t)q->shape[i];
    return (rows * sizeof(float) + 255) / 256 * 256;
}

static size_t saved_error_bytes(const gg_call *call)
{
    const DLTensor *q = call->inputs[IN_Q];
    size_t count = 1;
    if (!(call->features & 1)) return 0;
    for (int i = 0; i < 5; i++) count *= (size_t)q->shape[i];
    return (count * sizeof(uint16_t) + 255) / 256 * 256;
}

size_t gg_ta_saved_bytes(const gg_call *call)
{
    return 2 * saved_row_bytes(call->inputs[IN_Q]) + saved_error_bytes(call);
}

size_t gg_ta_saved_nothing(const gg_call *call)
{
    (void)call;
    return 0;
}

void gg_ta_unpack(const gg_call *call, gg_ta_call *u)
{
    const DLTensor *const *in = call->inputs;
    DLTensor *const *out = call->outputs;
    const int64_t *extent = in[IN_Q]->shape;
    double root = sqrt((double)extent[4]);
    char *saved = call->saved;
    size_t row_bytes = saved_row_bytes(in[IN_Q]);

    *u = (gg_ta_call){.B = (int)extent[0],
                      .R = (int)extent[1],
                      .H = (int)extent[2],
                      .N = (int)extent[3],
                      .D = (int)extent[4]};
    u->q = gg_tensor_data(in[IN_Q]);
    u->k = gg_tensor_data(in[IN_K]);
    u->v = gg_tensor_data(in[IN_V]);
    u->dout = gg_tensor_data(in[IN_DOUT]);
    u->bias = gg_tensor_data(in[IN_BIAS]);
    u->bias_f32 = is_f32(in[IN_BIAS]);
    u->mask = gg_tensor_data(in[IN_MASK]);
    u->lengths = gg_tensor_data(in[IN_LENGTHS]);
    if (in[IN_MASK]) u->keys = GG_TA_KEYS_MASKED;
    if (in[IN_LENGTHS]) u->keys = GG_TA_KEYS_COUNTED;

    u->o = gg_tensor_data(out[OUT_O]);
    u->dq = gg_tensor_data(out[OUT_DQ]);
    u->dk = gg_tensor_data(out[OUT_DK]);
    u->dv = gg_tensor_data(out[OUT_DV]);
    u->dbias = gg_tensor_data(out[OUT_DBIAS]);
    u->grad_f32 = is_f32(out[OUT_DQ]) || is_f32(out[OUT_DK]) || is_f32(out[OUT_DV]);
    u->dbias_f32 = is_f32(out[OUT_DBIAS]);

    u->compensation = (int)(call->features & 1);
    u->sc = (float)(1 / root);
    u->root = (float)root;
    u->c1 = (float)(0x1.71547652b82fep+0 / root);
    u->rc1 = (float)(1 / (double)u->c1);
    u->rc1_low = (float)(1 / (double)u->c1 - (double)u->rc1);
    if (saved) {
        u->m = (float *)(void *)saved;
        u->inv = (float *)(void *)(saved + row_bytes);
        if (u->compensation) u->e = (uint16_t *)(void *)(saved + 2 * row_bytes);
    }
    u->workspace = call->workspace;
    u->stream = call->stream;
    u->threads = call->threads < 1 ? 1 : call->threads;
}
