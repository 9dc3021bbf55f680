/* SPDX-License-Identifier: Apache-2.0
 * The queries kernel of `twopass` and `split`: the way of a row's dq out of the warpgroups,
 * through the CTAs of the cluster, to memory. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_QUERIES_FINISH_CUH
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_QUERIES_FINISH_CUH

#include "kernels/triangle_attention/twopass_queries_copy.cuh"

namespace {

/* Where dq of row 0 goes, from a CTA's first query on, and the queries from there on that lie
 * inside N: kept in shared memory, because finding it takes divisions. */
struct Target {
    uint32_t at;

    /* One thread, before the others read. */
    __device__ __forceinline__ void init(const TwopassQueries &a, const Place &p) const
    {
        const size_t first = (((size_t)p.b * a.R * a.H + p.h) * a.N + 64 * p.tile) * a.D;
        asm volatile("st.shared.v2.b64 [%0], {%1, %2};"
                     :
                     : "r"(at), "l"(static_cast<char *>(a.dq) + first * (a.wide ? 4 : 2)),
                       "l"((uint64_t)(a.N - 64 * p.tile))
                     : "memory");
    }
    __device__ __forceinline__ char *first(int *queries) const
    {
        uint64_t to, count;
        asm volatile("ld.shared.v2.b64 {%0, %1}, [%2];" : "=l"(to), "=l"(count) : "r"(at));
        *queries = (int)count;
        return reinterpret_cast<char *>(to);
    }
};

template <int W>
__device__ __forceinline__ void store_dq(const TwopassQueries &a, const Target &target,
                                         const float (&dq)[W / 2], int r)
{
    const int query = 16 * (int)(threadIdx.x >> 5 & 3) + (int)(threadIdx.x >> 2 & 7);
    const uint32_t bytes = a.wide ? 4 : 2;
    int queries;
    char *to = target.first(&queries) + (uint64_t)(uint32_t)r * a.row_bytes
               + (query * a.D + 2 * (threadIdx.x & 3)) * bytes;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        if (query + 8 * half >= queries)
            continue;
        char *at = to + 8 * half * a.D * bytes;
#pragma unroll
        for (int n = 0; n < W / 8; n++)
            if (8 * n < a.D)
                store_two(at, 8 * n, dq[4 * n + 2 * half] * a.sc,
                          dq[4 * n + 2 * half + 1] * a.sc, a.wide);
    }
}

/* The way of a row's dq out of a CTA. The two warpgroups take turns: for rows number 0, 2, ...
 * of the chunk the second hands its dq to the first, which adds it to its own and sends the
 * sum on, for the others the first to the second, so that both bear the same load. (One
 * addition: who makes it changes no bit.) Barrier `arrived` of a CTA counts the bytes that
 * the CTA before has sent, `taken` the four warps of the CTA behind that have read what this
 * one sent. */
template <int W>
struct DqPassage {
    uint32_t hand, buffer, arrived, taken; /* shared addresses in this CTA */
    Target target;
    uint32_t parity; /* rows done mod 2; `arrived` completes with it, `taken` one behind */

    /* Before the cluster's first barrier, one thread. */
    __device__ __forceinline__ void init() const
    {
        barrier_init(arrived, 1);
        barrier_init(taken, 4);
        barrier_expect(arrived, 64 * W * 4);
    }

    /* dq = dq + what the CTAs before this one have; passed on unless this is the last. */
    __device__ __forceinline__ bool pass(float (&dq)[W / 2], int ranges) const
    {
        const int range = (int)cluster_rank();
        const uint32_t mine = buffer + 16 * (threadIdx.x & 127);
        if (range > 0) {
            barrier_wait(arrived, parity);
            if ((threadIdx.x & 127) == 0)
                barrier_expect(arrived, 64 * W * 4); /* for the next row */
            add(dq, mine);
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
        return range + 1 == ranges;
    }

    static __device__ __forceinline__ void add(float (&dq)[W / 2], uint32_t from)
    {
#pragma unroll
        for (int i = 0; i < W / 8; i++) {
            const float4 x = load_shared4(from + 2048 * i);
            dq[4 * i] = __fadd_rn(x.x, dq[4 * i]);
            dq[4 * i + 1] = __fadd_rn(x.y, dq[4 * i + 1]);
            dq[4 * i + 2] = __fadd_rn(x.z, dq[4 * i + 2]);
            dq[4 * i + 3] = __fadd_rn(x.w, dq[4 * i + 3]);
        }
    }
};

template <class Plan, int W>
__device__ __forceinline__ DqPassage<W> passage_of(uint32_t start)
{
    return {start + Plan::HAND,  start + Plan::PASSED,   start + Plan::ARRIVED,
            start + Plan::TAKEN, {start + Plan::TARGET}, 0};
}

/* Sends dq of row r, which both warpgroups have a part of, on its way. A thread hands its part
 * over in a place that only its fellow in the other warpgroup reads, and which it read itself
 * the row before: so one barrier suffices, 1 or 2 in turn, which says that the buffer is full.
 * And a warpgroup hands over only after it has sent the row before: so each waits for the
 * right phase of `arrived` and `taken`, though it sees every second one. */
template <int W>
__device__ __forceinline__ void finish_row(const TwopassQueries &a, DqPassage<W> &passage,
                                           float (&dq)[W / 2], int r)
{
    if (!a.dq)
        return;
    const uint32_t mine = passage.hand + 16 * (threadIdx.x & 127);
    const uint32_t full = 1 + passage.parity;
    if ((threadIdx.x >> 7) != passage.parity) {
#pragma unroll
        for (int i = 0; i < W / 8; i++)
            asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};"
                         :
                         : "r"(mine + 2048 * i), "f"(dq[4 * i]), "f"(dq[4 * i + 1]),
                           "f"(dq[4 * i + 2]), "f"(dq[4 * i + 3])
                         : "memory");
        asm volatile("bar.arrive %0, 256;" : : "r"(full) : "memory");
    } else {
        asm volatile("bar.sync %0, 256;" : : "r"(full) : "memory");
        passage.add(dq, mine);
        if (passage.pass(dq, a.ranges))
            store_dq<W>(a, passage.target, dq, r);
    }
    passage.parity ^= 1;
}

} // namespace

#endif
