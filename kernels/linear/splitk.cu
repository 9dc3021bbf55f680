/* SPDX-License-Identifier: Apache-2.0
 * splitk: the summed index cut into four parts, each a chain of its own, added to an
 * FP32 buffer by atomics in no order, then converted. Bits differ from run to run.
 * README.md, `splitk`. */
#include "kernels/linear/limits.h"
#include "kernels/linear/linear.cuh"

enum { PARTS = 4 };

struct SplitStore {
    float *to; /* [.][columns] */
    int columns;

    __device__ void operator()(size_t, int row, int column, float x) const
    {
        atomicAdd(to + (size_t)row * columns + column, x);
    }
};

struct Convert {
    const float *from;
    void *to;
    size_t count;
    bool f32;
};

/* A thread an element, strided over the grid. */
static __global__ void __launch_bounds__(THREADS) convert_kernel(Convert a)
{
    const size_t step = (size_t)gridDim.x * THREADS;
    for (size_t at = (size_t)blockIdx.x * THREADS + threadIdx.x; at < a.count;
         at += step) {
        if (a.f32)
            static_cast<float *>(a.to)[at] = a.from[at];
        else
            static_cast<uint16_t *>(a.to)[at] = (uint16_t)pack_bf16(a.from[at], 0.0f);
    }
}

static const char *supports(const gg_call *call)
{
    gg_linear_call u;
    const char *why = gg_linear_refuse(call);
    if (why)
        return why;
    gg_linear_unpack(call, &u);
    return refuse_grid(u, PARTS);
}

/* One FP32 buffer, used for y, dx and dw in turn. */
static size_t workspace_bytes(const gg_call *call)
{
    gg_linear_call u;
    gg_linear_unpack(call, &u);
    const size_t m = (size_t)u.M, n = (size_t)u.N, k = (size_t)u.K;
    const size_t y = m * n, dx = m * k, dw = n * k, most = y > dx ? y : dx;
    return (most > dw ? most : dw) * sizeof(float);
}

/* Clears the buffer, runs `product` into it and writes `to`. */
template <class Run>
static cudaError_t run(const gg_linear_call &u, void *to, int f32, size_t count,
                       int columns, const Run &product)
{
    const cudaStream_t stream = (cudaStream_t)u.stream;
    float *sum = static_cast<float *>(u.workspace);
    const size_t blocks = ceiling(count, THREADS), most = (size_t)1 << 20;
    cudaError_t error = cudaMemsetAsync(sum, 0, count * sizeof(float), stream);
    if (error == cudaSuccess)
        error = product(SplitStore{sum, columns});
    if (error != cudaSuccess)
        return error;
    return launch(convert_kernel, blocks < most ? blocks : most, THREADS, 0, stream,
                  Convert{sum, to, count, f32 != 0});
}

static int forward(const gg_call *call)
{
    gg_linear_call u;
    gg_linear_unpack(call, &u);
    if (!u.y)
        return cudaSuccess;
    return run(u, u.y, u.y_f32, (size_t)u.M * u.N, u.N,
               [&](const SplitStore &store) { return launch_y(u, PARTS, store); });
}

static int backward(const gg_call *call)
{
    gg_linear_call u;
    cudaError_t error = cudaSuccess;
    gg_linear_unpack(call, &u);
    if (!u.dy)
        return cudaErrorInvalidValue;
    if (u.dx)
        error = run(u, u.dx, u.dx_f32, (size_t)u.M * u.K, u.K,
                    [&](const SplitStore &store) { return launch_dx(u, PARTS, store); });
    if (u.dw && error == cudaSuccess)
        error = run(u, u.dw, u.dw_f32, (size_t)u.N * u.K, u.K,
                    [&](const SplitStore &store) { return launch_dw(u, PARTS, store); });
    return error;
}

extern "C" const gg_kernel gg_linear_splitk_cuda = {
    GG_ABI_VERSION,
    sizeof(gg_kernel),
    "splitk",
    "linear",
    "the sum cut into four parts, added by floating-point atomics",
    kDLCUDA,
    GG_REPEAT_NOT_GUARANTEED,
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
