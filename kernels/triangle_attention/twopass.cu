/* SPDX-License-Identifier: Apache-2.0
 * twopass: probabilities are recomputed in two kernels, one that owns keys (dk, dv) and one
 * that owns a query x key range and keeps dbias in registers while it loops over rows (dq,
 * dbias). Contract: README.md, "twopass and split". */
#include "kernels/triangle_attention/limits.h"
#include "kernels/triangle_attention/twopass.cuh"

static int forward(const gg_call *call)
{
    return gg_ta_twopass_run_forward(call, {false, false});
}

static int backward(const gg_call *call)
{
    return gg_ta_twopass_run_backward(call, {false, false});
}

extern "C" const gg_kernel gg_ta_twopass_cuda = {
    GG_ABI_VERSION,
    sizeof(gg_kernel),
    "twopass",
    "triangle_attention",
    "probabilities recomputed in two kernels: dk, dv by keys; dq, dbias with rows inside",
    kDLCUDA,
    GG_REPEAT_RUN_TO_RUN,
    gg_ta_inputs,
    gg_ta_outputs,
    gg_ta_twopass_features,
    gg_ta_twopass_limits,
    GG_TA_LIMITS_NOTE,
    gg_ta_twopass_supports,
    gg_ta_twopass_saved_bytes,
    gg_ta_twopass_workspace,
    forward,
    backward,
    1,
    gg_ta_twopass_roundings,
};
