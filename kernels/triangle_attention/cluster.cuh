/* SPDX-License-Identifier: Apache-2.0
 * Clusters of CTAs that reach each other's shared memory: addresses, and barriers across CTAs.
 * PTX ISA 9: mapa, mbarrier with .cluster scope, st.async, barrier.cluster. A cluster is a row of
 * CTAs, rank = blockIdx.x mod its size. */
#ifndef KERNELS_TRIANGLE_ATTENTION_CLUSTER_CUH
#define KERNELS_TRIANGLE_ATTENTION_CLUSTER_CUH

#include <cuda_runtime.h>
#include <stdint.h>

/* The address of the same place in the shared memory of CTA `rank` of the cluster. */
__device__ __forceinline__ uint32_t cluster_address(uint32_t address, int rank)
{
    uint32_t y;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(y) : "r"(address), "r"(rank));
    return y;
}

__device__ __forceinline__ uint32_t cluster_rank()
{
    uint32_t y;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(y)); /* read again, not kept */
    return y;
}

/* Every thread of the cluster that has not ended. What any of them wrote is seen behind. */
__device__ __forceinline__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;"
                 :
                 :
                 : "memory");
}

/* One arrival at another CTA's barrier. What this thread has read from its own shared memory
 * must be in registers: nothing else is ordered, since ordering more (.release.cluster) costs
 * a fence that waits for all stores under way. */
__device__ __forceinline__ void cluster_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" : : "r"(barrier) : "memory");
}

/* Four floats into another CTA's shared memory, counted by its barrier when they are there. */
__device__ __forceinline__ void cluster_store4(uint32_t to, float x, float y, float z,
                                               float w, uint32_t barrier)
{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32"
                 " [%0], {%1, %2, %3, %4}, [%5];"
                 :
                 : "r"(to), "f"(x), "f"(y), "f"(z), "f"(w), "r"(barrier)
                 : "memory");
}

#endif
