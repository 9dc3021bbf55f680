/* SPDX-License-Identifier: Apache-2.0
 * split: `twopass` with P and dS as BF16 pairs, high + low, so that rounding them to BF16
 * costs no accuracy. The pairs of each direction are a switch of their own. Contract:
 * README.md, "twopass and split". */
#include "kernels/triangle_attention/limits.h"
#include "kernels/triangle_attention/twopass.cuh"

static int forward(const gg_call *call)
{
    return gg_ta_twopass_run_forward(call, {true, (call->features & GG_TA_SPLIT_FORWARD) != 0});
}

static int backward(const gg_call *call)
{
    return gg_ta_twopass_run_backward(call, {true, (call->features & GG_TA_SPLIT_BACKWARD) != 0});
}

extern "C" const gg_kernel gg_ta_split_cuda = {
    GG_ABI_VERSION,
    sizeof(gg_kernel),
    "split",
    "triangle_attention",
    "twopass with P and dS as BF16 pairs: on the rounding floor",
    kDLCUDA,
    GG_REPEAT_RUN_TO_RUN,
    gg_ta_inputs,
    gg_ta_outputs,
    gg_ta_split_features,
    gg_ta_split_limits,
    GG_TA_LIMITS_NOTE,
    gg_ta_twopass_supports,
    gg_ta_twopass_saved_bytes,
    gg_ta_twopass_workspace,
    forward,
    backward,
    1,
    gg_ta_split_roundings,
};
