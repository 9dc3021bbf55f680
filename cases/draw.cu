/* SPDX-License-Identifier: Apache-2.0
 * Draws on the GPU, with the bits of draw.c: both call draw_core.h. Compile with
 * --fmad=false, as the host side is with -ffp-contract=off. */
#include "cases/draw.h"

#include <cuda_runtime.h>

#include "cases/draw_core.h"

static const int THREADS = 256;
static const int64_t MAX_GRID = 65536; /* the kernels stride: more are not needed */

/* One thread draws the four elements of a Philox block. out: count elements. */
static __global__ void draw_normal(gg_draw draw, uint64_t seed, int tensor, void *out,
                                   gg_dtype dtype, uint64_t count)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; 4 * i < count; i += step) {
        gg_philox block = gg_philox_block(seed, i, (uint32_t)tensor, GG_STREAM_NORMAL);
#pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            uint64_t index = 4 * i + (uint64_t)lane;
            double z = gg_normal(block.word[lane]);
            if (index < count)
                gg_draw_store(out, dtype, index, gg_draw_scaled(&draw, z));
        }
    }
}

/* Other laws, one element a thread. */
static __global__ void draw_each(gg_draw draw, uint64_t seed, int tensor, void *out,
                                 gg_dtype dtype, uint64_t count)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < count; i += step)
        gg_draw_store(out, dtype, i, gg_draw_value(&draw, seed, tensor, i));
}

/* truth: count doubles, device memory. */
static __global__ void draw_output(double scale, const double *truth, void *out,
                                   gg_dtype dtype, uint64_t count)
{
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < count; i += step) gg_draw_store(out, dtype, i, scale * truth[i]);
}

static unsigned grid_for(int64_t threads)
{
    int64_t blocks = (threads + THREADS - 1) / THREADS;
    return (unsigned)(blocks < MAX_GRID ? blocks : MAX_GRID);
}

static gg_status check_type(const gg_tensor *out)
{
    if (out->dtype == GG_BF16 || out->dtype == GG_F32) return GG_OK;
    return gg_fail(GG_INTERNAL, "drawing %s elements is not possible; use bf16 or f32",
                   gg_dtype_name(out->dtype));
}

static gg_status check_launch(const char *what)
{
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) return GG_OK;
    return gg_fail(GG_DEVICE_FAULT, "%s: %s", what, cudaGetErrorString(error));
}

extern "C" gg_status gg_draw_cuda(const gg_draw *draw, uint64_t seed, int tensor,
                                  gg_tensor *out, void *stream)
{
    GG_TRY(check_type(out));
    if (draw->law > GG_LAW_CONSTANT)
        return gg_fail(GG_INTERNAL, "law %d is not drawn from a counter",
                       (int)draw->law);
    int64_t count = gg_tensor_count(out);
    if (count == 0) return GG_OK;
    cudaStream_t queue = (cudaStream_t)stream;
    if (draw->law == GG_LAW_NORMAL)
        draw_normal<<<grid_for((count + 3) / 4), THREADS, 0, queue>>>(
            *draw, seed, tensor, out->data, out->dtype, (uint64_t)count);
    else
        draw_each<<<grid_for(count), THREADS, 0, queue>>>(
            *draw, seed, tensor, out->data, out->dtype, (uint64_t)count);
    return check_launch("drawing inputs on the GPU");
}

extern "C" gg_status gg_draw_output_cuda(double scale, const double *truth,
                                         gg_tensor *out, void *stream)
{
    GG_TRY(check_type(out));
    int64_t count = gg_tensor_count(out);
    if (count == 0) return GG_OK;
    if (scale == 0) scale = 2.0 / (double)count;
    draw_output<<<grid_for(count), THREADS, 0, (cudaStream_t)stream>>>(
        scale, truth, out->data, out->dtype, (uint64_t)count);
    return check_launch("drawing an upstream gradient on the GPU");
}
