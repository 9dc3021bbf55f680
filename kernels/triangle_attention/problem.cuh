/* SPDX-License-Identifier: Apache-2.0
 * Host side that the kernels of this folder share: sizes, the workspace's layout,
 * checks. */
#ifndef KERNELS_TRIANGLE_ATTENTION_PROBLEM_CUH
#define KERNELS_TRIANGLE_ATTENTION_PROBLEM_CUH

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/triangle_attention/call.h"

#define GG_TRY_CUDA(call)                     \
    do {                                      \
        const cudaError_t gg_error_ = (call); \
        if (gg_error_ != cudaSuccess)         \
            return gg_error_;                 \
    } while (0)

/* Largest workspace: beyond it, supports() declines. */
#define GG_TA_WORKSPACE_LIMIT ((size_t)1 << 46)

/* Saturating products and sums: an overflow stays SIZE_MAX and so is declined. */
static inline size_t times(size_t a, size_t b)
{
    return b && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

static inline size_t plus(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static inline size_t tiles_of(const gg_ta_call &u)
{
    return ((size_t)u.N + GG_TA_TILE - 1) / GG_TA_TILE;
}

/* B R H, B R H N, B R H N D and B H. */
static inline size_t planes_of(const gg_ta_call &u)
{
    return times(times((size_t)u.B, (size_t)u.R), (size_t)u.H);
}

static inline size_t queries_of(const gg_ta_call &u)
{
    return times(planes_of(u), (size_t)u.N);
}

static inline size_t elements_of(const gg_ta_call &u)
{
    return times(queries_of(u), (size_t)u.D);
}

static inline size_t bias_planes_of(const gg_ta_call &u)
{
    return times((size_t)u.B, (size_t)u.H);
}

/* Bytes of the key words (prepare.cuh), [B R][tiles]. */
static inline size_t word_bytes(const gg_ta_call &u)
{
    return times(times(times((size_t)u.B, (size_t)u.R), tiles_of(u)), sizeof(uint64_t));
}

/* Bytes of [B H][tiles][tiles] 64x64 FP32 tiles. */
static inline size_t square_bytes(const gg_ta_call &u)
{
    const size_t tiles = tiles_of(u);
    return times(times(times(bias_planes_of(u), tiles), tiles),
                 sizeof(float) * GG_TA_TILE * GG_TA_TILE);
}

/* Takes parts off a buffer, each at a multiple of 256 bytes; with base NULL it only
 * counts, so that one function both sizes the workspace and lays it out. */
struct Cutter {
    char *base;
    size_t used;

    template <class T>
    void take(T *&part, size_t bytes)
    {
        part = base ? reinterpret_cast<T *>(base + used) : nullptr;
        used = plus(used, plus(bytes, 255) == SIZE_MAX ? SIZE_MAX
                                                       : (bytes + 255) / 256 * 256);
    }
};

/* What every kernel declines: shapes whose CTAs exceed one grid, or whose workspace
 * would be absurd. `bytes` is the kernel's workspace for u. */
static inline const char *refuse_size(const gg_ta_call &u, size_t bytes)
{
    const size_t tiles = tiles_of(u), most = (size_t)INT32_MAX;
    if (times(times(planes_of(u), tiles), 2) > most
        || times(times(bias_planes_of(u), tiles), tiles) > most
        || elements_of(u) / 512 >= most)
        return "more tiles than one grid has blocks";
    return bytes > GG_TA_WORKSPACE_LIMIT ? "the workspace would exceed 2^46 bytes"
                                         : nullptr;
}

/* The copies move 16 bytes at a time. */
static inline cudaError_t check_alignment(const gg_ta_call &u)
{
    const void *const p[] = {u.q,  u.k,  u.v,  u.dout,      u.o,
                             u.dq, u.dk, u.dv, u.workspace, u.m};
    for (const void *address : p)
        if (reinterpret_cast<uintptr_t>(address) % 16)
            return cudaErrorMisalignedAddress;
    return cudaSuccess;
}

#endif
