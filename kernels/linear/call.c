/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/linear/call.h"

#include "kernels/check.h"

enum { IN_X, IN_W, IN_DY, IN_COUNT };
enum { OUT_Y, OUT_DX, OUT_DW, OUT_COUNT };

const char *const gg_linear_inputs[] = {"x", "w", "dy", NULL};
const char *const gg_linear_outputs[] = {"y", "dx", "dw", NULL};

const char *gg_linear_refuse(const gg_call *call)
{
    const DLTensor *x = call->inputs[IN_X], *w = call->inputs[IN_W];
    if (!x || !w) return "one of x and w is absent";
    if (x->ndim != 2) return "x: wrong number of dimensions";
    if (w->ndim != 2) return "w: wrong number of dimensions";
    int64_t M = x->shape[0], N = w->shape[0], K = x->shape[1];
    const int64_t mk[] = {M, K}, nk[] = {N, K}, mn[] = {M, N}, mnk[] = {M, N, K};
    const int64_t *const in[] = {mk, nk, mn}, *const out[] = {mn, mk, nk};
    for (int i = 0; i < 3; i++)
        if (mnk[i] < 1 || mnk[i] > INT64_C(1) << 24)
            return "an extent is not between 1 and 2^24";
    const char *why = gg_check_extents(mk, 2);
    if (!why) why = gg_check_extents(nk, 2);
    if (!why) why = gg_check_extents(mn, 2);
    for (int i = 0; i < IN_COUNT && !why; i++)
        if (call->inputs[i])
            why = gg_check_tensor(gg_linear_inputs[i], call->inputs[i], 2, in[i],
                                  GG_TYPE_BF16);
    for (int i = 0; i < OUT_COUNT && !why; i++) {
        const DLTensor *tensor = call->outputs[i];
        if (!tensor) continue;
        why = gg_check_tensor(gg_linear_outputs[i], tensor, 2, out[i],
                              GG_TYPE_BF16 | GG_TYPE_F32);
    }
    return why;
}

void gg_linear_unpack(const gg_call *call, gg_linear_call *u)
{
    const DLTensor *const *in = call->inputs;
    DLTensor *const *out = call->outputs;
    *u = (gg_linear_call){.M = (int)in[IN_X]->shape[0],
                          .N = (int)in[IN_W]->shape[0],
                          .K = (int)in[IN_X]->shape[1]};
    u->x = gg_tensor_data(in[IN_X]);
    u->w = gg_tensor_data(in[IN_W]);
    u->dy = gg_tensor_data(in[IN_DY]);
    u->y = gg_tensor_data(out[OUT_Y]);
    u->dx = gg_tensor_data(out[OUT_DX]);
    u->dw = gg_tensor_data(out[OUT_DW]);
    u->y_f32 = out[OUT_Y] && gg_tensor_type(out[OUT_Y]) == GG_TYPE_F32;
    u->dx_f32 = out[OUT_DX] && gg_tensor_type(out[OUT_DX]) == GG_TYPE_F32;
    u->dw_f32 = out[OUT_DW] && gg_tensor_type(out[OUT_DW]) == GG_TYPE_F32;
    u->workspace = call->workspace;
    u->stream = call->stream;
    u->threads = call->threads < 1 ? 1 : call->threads;
}

size_t gg_linear_saved_nothing(const gg_call *call)
{
    (void)call;
    return 0;
}
