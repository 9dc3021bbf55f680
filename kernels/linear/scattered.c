/* SPDX-License-Identifier: Apache-2.0
 * scattered: `plain` whose sums start at a term drawn from the clock, as the parts of
 * `splitk` are added in the order in which they happen to come. Kept as the control of
 * the determinism checks on the host. README.md, `scattered`. */
#include "kernels/linear/call.h"
#include "kernels/linear/limits.h"
#include "kernels/linear/mutant.h"
#include "kernels/registry.h"

static int forward(const gg_call *call)
{
    return gg_linear_forward(call, GG_LINEAR_SLIP_SCATTERED);
}

static int backward(const gg_call *call)
{
    return gg_linear_backward(call, GG_LINEAR_SLIP_SCATTERED);
}

static size_t workspace_bytes(const gg_call *call)
{
    return gg_linear_plain_twin.workspace_bytes(call);
}

const gg_kernel gg_linear_scattered_host = {
    .abi_version = GG_ABI_VERSION,
    .struct_bytes = sizeof(gg_kernel),
    .name = "scattered",
    .operator_name = "linear",
    .summary = "sums start at a term drawn from the clock: must be caught",
    .device = kDLCPU,
    .repeat = GG_REPEAT_NOT_GUARANTEED,
    .inputs = gg_linear_inputs,
    .outputs = gg_linear_outputs,
    .features = NULL,
    .limits = gg_linear_limits,
    .limits_note = GG_LINEAR_LIMITS_NOTE,
    .supports = gg_linear_refuse,
    .saved_bytes = gg_linear_saved_nothing,
    .workspace_bytes = workspace_bytes,
    .forward = forward,
    .backward = backward,
    .forward_outputs = 1,
};
