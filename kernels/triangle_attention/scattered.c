/* SPDX-License-Identifier: Apache-2.0
 * scattered: `recompute` whose rows are added to dbias in an order drawn from the clock,
 * as floating-point atomics add them in the order in which a GPU's blocks happen to run.
 * Kept as the control of the determinism checks on the host, where `atomic` does not run.
 * README.md, `scattered`. */
#include <stdatomic.h>
#include <time.h>

#include "kernels/registry.h"
#include "kernels/triangle_attention/limits.h"
#include "kernels/triangle_attention/twin.h"

static atomic_int shift; /* of the last call's rows */

static void head(const gg_ta_twin *twin, gg_ta_scratch *scratch, int b, int r, int h,
                 float *slab)
{
    gg_ta_tiled_backward(twin, scratch, b, (r + shift) % twin->call.R, h, slab);
}

static size_t workspace_bytes(const gg_call *call)
{
    return gg_ta_twin_workspace(call, &gg_ta_recompute_plan);
}

static int forward(const gg_call *call)
{
    return gg_ta_run_forward(call, &gg_ta_recompute_plan, gg_ta_online_forward);
}

static int backward(const gg_call *call)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    shift = (int)(now.tv_nsec / 16 % 65521); /* a prime: every residue comes as often */
    return gg_ta_run_backward(call, &gg_ta_recompute_plan, head);
}

const gg_kernel gg_ta_scattered_host = {
    .abi_version = GG_ABI_VERSION,
    .struct_bytes = sizeof(gg_kernel),
    .name = "scattered",
    .operator_name = "triangle_attention",
    .summary = "dbias adds rows in an order drawn from the clock: must be caught",
    .device = kDLCPU,
    .repeat = GG_REPEAT_NOT_GUARANTEED,
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
};
