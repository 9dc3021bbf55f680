/* SPDX-License-Identifier: Apache-2.0
 * The queries kernel of `twopass` and `split`: the way of a row's dq out of the warpgroups,
 * through the CTAs of the cluster, to memory. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_QUERIES_FINISH_CUH
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_QUERIES_FINISH_CUH

#include "kernels/triangle_attention/twopass_queries_copy.cuh"

namespace {

/* Where dq of row 0 goes, from the thread's first query and column on, and the queries from
 * there on that lie inside N. */
struct Target {
    char *to;
    int queries;

    __device__ __forceinline__ Target(const TwopassQueries &a)
    {
        const Place p(a);
        const int query =
            64 * p.tile + 16 * (int)(threadIdx.x >> 5 & 3) + (int)(threadIdx.x >> 2 & 7);
        const size_t plane = (size_t)p.b * a.R * a.H + p.h;
        const size_t first = (plane * a.N + query) * a.D + 2 * (threadIdx.x & 3);
        to = static_cast<char *>(a.dq) + first * (a.wide ? 4 : 2);
        queries = a.N - query;
    }
};

template <int W>
__device__ __forceinline__ void store_dq(const TwopassQueries &a, const float (&dq)[W / 2],
                                         int r)
{
    const Target to(a);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        if (8 * half >= to.queries)
            continue;
        char *at = to.to + (uint64_t)(uint32_t)r * a.row_bytes + 8 * half * a.D * (a.wide ? 4 : 2);
#pragma unroll
        for (int n = 0; n < W / 8; n++)
            if (8 * n < a.D)
                store_two(at, 8 * n, dq[4 * n + 2 * half] * a.sc,
                          dq[4 * n + 2 * half + 1] * a.sc, a.wide);
    }
}

/* The way of dq through the CTAs of a cluster, row by row. Barrier `arrived` of a CTA counts
 * the bytes that the CTA before has sent, `taken` the four warps of the CTA behind that have
 * read what this one sent. Run by the first warpgroup. */
template <int W>
struct DqPassage {
    uint32_t buffer, arrived, taken; /* shared addresses in this CTA */
    uint32_t parity;                 /* of `arrived`, rows mod 2; `taken` is one behind */

    /* Before the cluster's first barrier, one thread. */
    __device__ __forceinline__ void init() const
    {
        barrier_init(arrived, 1);
        barrier_init(taken, 4);
        barrier_expect(arrived, 64 * W * 4);
    }

    /* dq = what the CTAs before this one have, + dq; passed on unless this is the last. */
    __device__ __forceinline__ bool pass(float (&dq)[W / 2], int range, int ranges)
    {
        const uint32_t mine = buffer + 16 * (threadIdx.x & 127);
        if (range > 0) {
            barrier_wait(arrived, parity);
            if (threadIdx.x == 0)
                barrier_expect(arrived, 64 * W * 4); /* for the next row */
#pragma unroll
            for (int i = 0; i < W / 8; i++) {
                const float4 x = load_shared4(mine + 2048 * i);
                dq[4 * i] = __fadd_rn(x.x, dq[4 * i]);
                dq[4 * i + 1] = __fadd_rn(x.y, dq[4 * i + 1]);
                dq[4 * i + 2] = __fadd_rn(x.z, dq[4 * i + 2]);
                dq[4 * i + 3] = __fadd_rn(x.w, dq[4 * i + 3]);
            }
            settled(dq);
            __syncwarp();
            if ((threadIdx.x & 31) == 0)
                cluster_arrive(cluster_address(taken, range - 1));
        }
        if (range + 1 < ranges) {
            const uint32_t to = cluster_address(mine, range + 1);
            const uint32_t barrier = cluster_address(arrived, range + 1);
            barrier_wait(taken, parity ^ 1);
#pragma unroll
            for (int i = 0; i < W / 8; i++)
                cluster_store4(to + 2048 * i, dq[4 * i], dq[4 * i + 1], dq[4 * i + 2],
                               dq[4 * i + 3], barrier);
        }
        parity ^= 1;
        return range + 1 == ranges;
    }
};

/* The first warpgroup: the second may fill the hand-over buffer. */
__device__ __forceinline__ void free_hand()
{
    asm volatile("bar.arrive 2, 256;" : : : "memory");
}

/* Adds the second warpgroup's dq of row r to the first's, which passes the sum on or stores
 * it. Barrier 1: the hand-over buffer is full; 2: it is free, for the first row by
 * free_hand(). */
template <int W>
__device__ __forceinline__ void finish_row(const TwopassQueries &a, uint32_t hand,
                                           DqPassage<W> &passage, float (&dq)[W / 2], int r,
                                           bool last)
{
    const uint32_t mine = hand + 16 * (threadIdx.x & 127);
    if (!a.dq)
        return;
    if (threadIdx.x >= 128) {
        asm volatile("bar.sync 2, 256;" : : : "memory");
#pragma unroll
        for (int i = 0; i < W / 8; i++)
            asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};"
                         :
                         : "r"(mine + 2048 * i), "f"(dq[4 * i]), "f"(dq[4 * i + 1]),
                           "f"(dq[4 * i + 2]), "f"(dq[4 * i + 3])
                         : "memory");
        asm volatile("bar.arrive 1, 256;" : : : "memory");
        return;
    }
    asm volatile("bar.sync 1, 256;" : : : "memory");
#pragma unroll
    for (int i = 0; i < W / 8; i++) {
        const float4 x = load_shared4(mine + 2048 * i);
        dq[4 * i] += x.x;
        dq[4 * i + 1] += x.y;
        dq[4 * i + 2] += x.z;
        dq[4 * i + 3] += x.w;
    }
    if (!last)
        free_hand();
    const Place p(a);
    if (passage.pass(dq, p.range, a.ranges))
        store_dq<W>(a, dq, r);
}

} // namespace

#endif
