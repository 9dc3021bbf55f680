/* SPDX-License-Identifier: Apache-2.0
 * turbo: every probability tile is recomputed once and feeds dq, dk, dv and dbias;
 * partial sums go to workspace and are added in a fixed order. Contract: README.md,
 * `turbo`. */
#include "kernels/triangle_attention/forward.cuh"
#include "kernels/triangle_attention/limits.h"
#include "kernels/triangle_attention/reduce.cuh"

static size_t space_of(const gg_ta_call &u, void *base, PassSpace &space)
{
    return pass_space(u, tiles_of(u), (size_t)gg_ta_chunk_count(u.R), base, space);
}

static size_t workspace_bytes(const gg_call *call)
{
    gg_ta_call u;
    PassSpace backward_space;
    ForwardSpace space;
    gg_ta_unpack(call, &u);
    const size_t forward = forward_space(u, nullptr, space);
    const size_t backward = space_of(u, nullptr, backward_space);
    return forward > backward ? forward : backward;
}

static const char *supports(const gg_call *call)
{
    gg_ta_call u;
    const char *why = gg_ta_refuse(call);
    if (why)
        return why;
    gg_ta_unpack(call, &u);
    return refuse_size(u, workspace_bytes(call));
}

static int backward(const gg_call *call)
{
    gg_ta_call u;
    PassSpace space;
    KeyPass pass;
    gg_ta_unpack(call, &u);
    space_of(u, u.workspace, space);
    GG_TRY_CUDA(prepare_pass(u, space, pass));
    GG_TRY_CUDA(
        (launch_key_pass<MAKES_DV | MAKES_DK | MAKES_DQ | MAKES_DBIAS>(u, pass)));
    return reduce_pass(u, space, space.words, (int)tiles_of(u), pass.chunks);
}

extern "C" const gg_kernel gg_ta_turbo_cuda = {
    GG_ABI_VERSION,
    sizeof(gg_kernel),
    "turbo",
    "triangle_attention",
    "each probability tile recomputed once feeds all four gradients; ordered partial "
    "sums",
    kDLCUDA,
    GG_REPEAT_RUN_TO_RUN,
    gg_ta_inputs,
    gg_ta_outputs,
    gg_ta_features,
    gg_ta_limits,
    GG_TA_LIMITS_NOTE,
    supports,
    gg_ta_saved_bytes,
    workspace_bytes,
    online_forward,
    backward,
    1,
    gg_ta_roundings,
};
