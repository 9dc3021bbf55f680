/* SPDX-License-Identifier: Apache-2.0
 * plain: y = x w^T and its gradients, one accumulator an element, the summed index
 * ascending. Contract: README.md, `plain`. */
#include "kernels/linear/limits.h"
#include "kernels/linear/linear.cuh"

/* FP32, or rounded to BF16 (nearest even). */
struct PlainStore {
    void *to; /* [.][columns] */
    int columns;
    bool f32;

    __device__ void operator()(size_t, int row, int column, float x) const
    {
        const size_t at = (size_t)row * columns + column;
        if (f32)
            static_cast<float *>(to)[at] = x;
        else
            static_cast<uint16_t *>(to)[at] = (uint16_t)pack_bf16(x, 0.0f);
    }
};

static const char *supports(const gg_call *call)
{
    gg_linear_call u;
    const char *why = gg_linear_refuse(call);
    if (why)
        return why;
    gg_linear_unpack(call, &u);
    return refuse_grid(u, 1);
}

static size_t workspace_bytes(const gg_call *call)
{
    (void)call;
    return 0;
}

static int forward(const gg_call *call)
{
    gg_linear_call u;
    gg_linear_unpack(call, &u);
    return u.y ? launch_y(u, 1, PlainStore{u.y, u.N, u.y_f32 != 0}) : cudaSuccess;
}

static int backward(const gg_call *call)
{
    gg_linear_call u;
    cudaError_t error = cudaSuccess;
    gg_linear_unpack(call, &u);
    if (!u.dy)
        return cudaErrorInvalidValue;
    if (u.dx)
        error = launch_dx(u, 1, PlainStore{u.dx, u.K, u.dx_f32 != 0});
    if (u.dw && error == cudaSuccess)
        error = launch_dw(u, 1, PlainStore{u.dw, u.K, u.dw_f32 != 0});
    return error;
}

extern "C" const gg_kernel gg_linear_plain_cuda = {
    GG_ABI_VERSION,
    sizeof(gg_kernel),
    "plain",
    "linear",
    "one tensor-core accumulator an element",
    kDLCUDA,
    GG_REPEAT_RUN_TO_RUN,
    gg_linear_inputs,
    gg_linear_outputs,
    nullptr,
    gg_linear_limits,
    GG_LINEAR_LIMITS_NOTE,
    supports,
    gg_linear_saved_nothing,
    workspace_bytes,
    forward,
    backward,
    1,
};
