/* SPDX-License-Identifier: Apache-2.0
 * atomic: turbo's pass with floating-point atomics for dq and dbias, so the order of
 * their sums is that in which the CTAs happen to run, and bits differ from run to run.
 * Kept as the planted case for the determinism checks. README.md, `atomic`. */
#include "kernels/triangle_attention/forward.cuh"
#include "kernels/triangle_attention/limits.h"
#include "kernels/triangle_attention/reduce.cuh"

static size_t workspace_bytes(const gg_call *call)
{
    gg_ta_call u;
    PassSpace backward_space;
    ForwardSpace space;
    gg_ta_unpack(call, &u);
    const size_t forward = forward_space(u, nullptr, space);
    const size_t backward = pass_space(u, 1, 1, nullptr, backward_space);
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
    pass_space(u, 1, 1, u.workspace, space);
    GG_TRY_CUDA(prepare_pass(u, space, pass));
    pass.part_elements = 0; /* all key tiles add to the one part */
    const cudaStream_t stream = (cudaStream_t)u.stream;
    if (u.dq)
        GG_TRY_CUDA(
            cudaMemsetAsync(space.parts, 0, elements_of(u) * sizeof(float), stream));
    if (u.dbias)
        GG_TRY_CUDA(cudaMemsetAsync(space.slabs, 0, square_bytes(u), stream));
    GG_TRY_CUDA((launch_key_pass<MAKES_DV | MAKES_DK | MAKES_DQ | MAKES_DBIAS | ATOMIC>(
        u, pass)));
    return reduce_pass(u, space, nullptr, 1, 1);
}

extern "C" const gg_kernel gg_ta_atomic_cuda = {
    GG_ABI_VERSION,
    sizeof(gg_kernel),
    "atomic",
    "triangle_attention",
    "one pass, floating-point atomics for dq and dbias",
    kDLCUDA,
    GG_REPEAT_NOT_GUARANTEED,
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
