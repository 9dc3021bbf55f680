/* SPDX-License-Identifier: Apache-2.0
 * Bulk copies to shared memory and the mbarriers that count their bytes, and a ring of
 * stages between one copying thread and the warps that compute.
 *
 * With GG_TA_TIME_OUT a wait of more than 2^31 clocks traps: for tests, so that a fault
 * ends a launch instead of hanging the card. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TMA_CUH
#define KERNELS_TRIANGLE_ATTENTION_TMA_CUH

#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

__device__ __forceinline__ void barrier_init(uint32_t barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(barrier), "r"(arrivals));
}

/* What copies this thread starts from here on come after writes to shared memory that it knows. */
__device__ __forceinline__ void order_copies()
{
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}

/* Makes initialised barriers, and shared memory written so far by this thread, known to
 * copies and wgmma. A __syncthreads() or cluster_sync() must follow. */
__device__ __forceinline__ void publish_shared()
{
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
    order_copies();
}

__device__ __forceinline__ void barrier_expect(uint32_t barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(barrier), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ bool barrier_passed(uint32_t barrier, uint32_t parity)
{
    uint32_t passed;
    asm volatile("{\n.reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n}\n"
                 : "=r"(passed)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return passed != 0;
}

/* Waits until the phase of that parity is over. A fresh barrier is in phase 0: waiting for
 * parity 1 passes at once. */
__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity)
{
#ifdef GG_TA_TIME_OUT
    const long long start = clock64();
    while (!barrier_passed(barrier, parity))
        if (clock64() - start > 1ll << 31)
            __trap();
#else
    asm volatile("{\n.reg .pred p;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@p bra over;\n"
                 "bra again;\n"
                 "over:\n}\n"
                 :
                 : "r"(barrier), "r"(parity)
                 : "memory");
#endif
}

/* A box of a [planes][rows][columns] tensor from column 0, zero outside the tensor. */
__device__ __forceinline__ void copy_box(uint32_t to, const CUtensorMap *map, int row,
                                         int plane, uint32_t barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3, %4}], [%5];"
        :
        : "r"(to), "l"(map), "r"(0), "r"(row), "r"(plane), "r"(barrier)
        : "memory");
}

/* The same as far as the L2 cache. */
__device__ __forceinline__ void prefetch_box(const CUtensorMap *map, int row, int plane)
{
    asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global [%0, {%1, %2, %3}];"
                 :
                 : "l"(map), "r"(0), "r"(row), "r"(plane)
                 : "memory");
}

/* `bytes` contiguous bytes; all three multiples of 16. */
__device__ __forceinline__ void copy_bytes(uint32_t to, const void *from, int bytes,
                                           uint32_t barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];"
                 :
                 : "r"(to), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
                 : "memory");
}

/* To the same place of every CTA of the cluster that has a bit in `ctas`; the barrier there counts
 * the bytes. */
__device__ __forceinline__ void copy_bytes_to(uint16_t ctas, uint32_t to, const void *from,
                                              int bytes, uint32_t barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1], %2, [%3], %4;"
                 :
                 : "r"(to), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier),
                   "h"(ctas)
                 : "memory");
}

/* Position in a ring of STAGES buffers: full[i] at `barriers` + 8 i, empty[i] behind. COUNTED:
 * `parity` counts rounds, and phase() is the parity: ptxas has it in a uniform register then. */
template <int STAGES, bool COUNTED = false>
struct Ring {
    uint32_t barriers;
    int stage;
    uint32_t parity;

    __device__ __forceinline__ uint32_t phase() const { return COUNTED ? parity & 1 : parity; }

    __device__ __forceinline__ uint32_t full() const { return barriers + 8 * stage; }
    __device__ __forceinline__ uint32_t empty() const
    {
        return barriers + 8 * (STAGES + stage);
    }
    __device__ __forceinline__ void advance()
    {
        if (++stage == STAGES) {
            stage = 0;
            parity = COUNTED ? parity + 1 : parity ^ 1;
        }
    }
    __device__ __forceinline__ Ring before() const
    {
        return stage > 0 ? Ring{barriers, stage - 1, parity}
                         : Ring{barriers, STAGES - 1, parity ^ 1};
    }
    __device__ __forceinline__ Ring next() const
    {
        Ring ring = *this;
        ring.advance();
        return ring;
    }
};

/* One thread of the CTA: full barriers take the copying thread's one arrival (and bytes),
 * empty ones one of each warp that computes. */
template <int STAGES>
__device__ __forceinline__ void ring_init(uint32_t barriers, int warps)
{
    for (int i = 0; i < STAGES; i++) {
        barrier_init(barriers + 8 * i, 1);
        barrier_init(barriers + 8 * (STAGES + i), warps);
    }
}

/* Map of bf16 [planes][rows][columns], read in boxes of [1][64][W], W = 16, 32 or
 * 64, with the swizzle that wgmma.cuh expects. The function comes from the driver at run time,
 * so that nothing is linked against it. */
static inline cudaError_t make_tensor_map(CUtensorMap *map, const void *data, size_t planes,
                                          int rows, int columns, int W)
{
    typedef CUresult Encode(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                            const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                            const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
    void *entry = nullptr;
    cudaDriverEntryPointQueryResult found;
    const cudaError_t error = cudaGetDriverEntryPointByVersion(
        "cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found);
    if (error != cudaSuccess)
        return error;
    if (found != cudaDriverEntryPointSuccess)
        return cudaErrorNotSupported;
    const cuuint64_t row_bytes = (cuuint64_t)columns * 2;
    const cuuint64_t extent[3] = {(cuuint64_t)columns, (cuuint64_t)rows, planes};
    const cuuint64_t stride[2] = {row_bytes, row_bytes * (cuuint64_t)rows};
    const cuuint32_t box[3] = {(cuuint32_t)W, 64, 1}, step[3] = {1, 1, 1};
    const CUresult result = reinterpret_cast<Encode *>(entry)(
        map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<void *>(data), extent, stride,
        box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
        W == 64   ? CU_TENSOR_MAP_SWIZZLE_128B
        : W == 32 ? CU_TENSOR_MAP_SWIZZLE_64B
                  : CU_TENSOR_MAP_SWIZZLE_32B,
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

#endif
