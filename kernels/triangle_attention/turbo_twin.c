/* SPDX-License-Identifier: Apache-2.0
 * Host twin of `turbo`: README.md, executed on the CPU. The order of its loops is its
 * own; its bits are those of the CUDA kernel. */
#include "kernels/registry.h"
#include "kernels/triangle_attention/limits.h"
#include "kernels/triangle_attention/twin.h"

const gg_ta_plan gg_ta_turbo_plan = {.chunks = GG_TA_CHUNKS, .dq_in_parts = 1};

static size_t workspace_bytes(const gg_call *call)
{
    return gg_ta_twin_workspace(call, &gg_ta_turbo_plan);
}

static int forward(const gg_call *call)
{
    return gg_ta_run_forward(call, &gg_ta_turbo_plan, gg_ta_online_forward);
}

static int backward(const gg_call *call)
{
    return gg_ta_run_backward(call, &gg_ta_turbo_plan, gg_ta_tiled_backward);
}

const gg_kernel gg_ta_turbo_twin = {
    .abi_version = GG_ABI_VERSION,
    .struct_bytes = sizeof(gg_kernel),
    .name = "turbo",
    .operator_name = "triangle_attention",
    .summary = "each probability tile formed once for all four gradients (host twin)",
    .device = kDLCPU,
    .repeat = GG_REPEAT_RUN_TO_RUN,
    .inputs = gg_ta_inputs,
    .outputs = gg_ta_outputs,
    .features = gg_ta_features,
    .limits = gg_ta_limits,
    .limits_note = GG_TA_LIMITS_NOTE,
    .supports = gg_ta_refuse,
    .saved_bytes = gg_ta_saved_bytes,
    .workspace_bytes = workspace_bytes,
    .forward = forward,
    .backward = backward,
    .forward_outputs = 1,
    .roundings = gg_ta_roundings,
};
