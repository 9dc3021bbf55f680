/* SPDX-License-Identifier: Apache-2.0
 * The queries kernel of `twopass` and `split`: the way of a row's dq out of the warpgroups,
 * through the CTAs of the cluster, to memory. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_QUERIES_FINISH_CUH
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_QUERIES_FINISH_CUH

#include <type_traits>

#include "kernels/triangle_attention/twopass_queries_copy.cuh"

namespace {

/* The two warpgroups take turns: dq of rows number 0, 2, ... of the chunk is for the first to
 * see to, of the others for the second. At the end of a row each lays down its part in shared
 * memory and goes on; the one in turn adds the two up a row later, when both have long been
 * there, adds that to what the CTA before has sent, and sends it on, or, in the last CTA,
 * stores it. So nobody waits for anybody unless they are a row apart. (Each sum is one
 * addition: who makes it changes no bit.)
 *
 * Shared memory, for each warpgroup: its part of a row that it sees to, its part of one that
 * the other sees to, and what the CTA before has sent for it: 64 x W FP32 each, in accumulator
 * order [W / 8][128 threads][4]. Barriers for each: LAID, its part of the other's row is there;
 * READ, and may be overwritten: of the named ones, at which one warpgroup arrives and the other
 * waits. mbarriers: `arrived` counts the bytes from the CTA before; `taken`, the warps of the CTA
 * behind that have read what this one sent. Each completes once in two rows. */
template <class Plan, int W>
struct DqPassage {
    uint32_t start; /* of the shared memory, a multiple of 512 */
    int group;      /* the warpgroup, known as uniform */
    uint32_t mine;  /* start, and 16 bytes on for each thread of the warpgroup before this one */

    __device__ __forceinline__ bool first_of_group() const { return mine == start; }
    __device__ __forceinline__ bool first_of_warp() const { return (mine & 31 * 16) == 0; }
    enum { LAID = 1, READ = 3 }; /* and the next; 0 is that of __syncthreads() */
    static __device__ __forceinline__ void tell(int barrier)
    {
        asm volatile("bar.arrive %0, 256;" : : "r"(barrier) : "memory");
    }
    static __device__ __forceinline__ void await(int barrier)
    {
        asm volatile("bar.sync %0, 256;" : : "r"(barrier) : "memory");
    }
    __device__ __forceinline__ uint32_t arrived(int g) const
    {
        return start + Plan::PASSAGE + 16 * g;
    }
    __device__ __forceinline__ uint32_t taken(int g) const { return arrived(g) + 8; }
    /* This thread's place in a buffer: 0, 1 of the first, 2, 3 of the second warpgroup. */
    __device__ __forceinline__ uint32_t part(int buffer) const
    {
        return mine + (Plan::HAND + buffer * Plan::HANDED);
    }

    /* One thread, before the cluster's first barrier. Where dq of row 0 goes, from the CTA's
     * first query on, and the queries from there on inside N lie in shared memory, because
     * finding it takes divisions. */
    __device__ __forceinline__ void init(const TwopassQueries &a, const Place &p) const
    {
        const size_t plane = p.first + (Plan::FROM_BEGIN ? p.begin * (size_t)a.H : 0);
        const size_t first = (plane * a.N + 64 * p.tile) * a.D;
        asm volatile("st.shared.v2.b64 [%0], {%1, %2};"
                     :
                     : "r"(start + Plan::TARGET),
                       "l"(static_cast<char *>(a.dq) + first * (a.wide ? 4 : 2)),
                       "l"((uint64_t)(a.N - 64 * p.tile))
                     : "memory");
        for (int g = 0; g < 2; g++) {
            barrier_init(arrived(g), 1);
            barrier_init(taken(g), 4);
            barrier_expect(arrived(g), Plan::HANDED);
        }
    }

    static __device__ __forceinline__ void lay(uint32_t to, const float (&dq)[W / 2])
    {
#pragma unroll
        for (int i = 0; i < W / 8; i++)
            asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};"
                         :
                         : "r"(to + 2048 * i), "f"(dq[4 * i]), "f"(dq[4 * i + 1]),
                           "f"(dq[4 * i + 2]), "f"(dq[4 * i + 3])
                         : "memory");
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
        settled(dq);
    }

    /* Row r, number n, which this warpgroup sees to. Touches no accumulator: it runs beside the
     * products of a step. */
    __device__ __forceinline__ void send(const TwopassQueries &a, int r, uint32_t n) const
    {
        const int g = group, range = (int)cluster_rank();
        const uint32_t parity = n >> 1 & 1;
        const uint32_t passed = mine + (Plan::PASSED + g * Plan::HANDED);
        float dq[W / 2];
        load_accumulators(dq, part(2 * g));
        await(LAID + (g ^ 1));
        add(dq, part(2 * (g ^ 1) + 1));
        tell(READ + (g ^ 1));
        if (range > 0) {
            barrier_wait(arrived(g), parity);
            if (first_of_group())
                barrier_expect(arrived(g), Plan::HANDED); /* for the row after the next */
            add(dq, passed);
            __syncwarp();
            if (first_of_warp())
                cluster_arrive(cluster_address(taken(g), range - 1));
        }
        if (range + 1 == a.ranges) {
            store(a, dq, r);
            return;
        }
        const uint32_t to = cluster_address(passed, range + 1);
        const uint32_t barrier = cluster_address(arrived(g), range + 1);
        barrier_wait(taken(g), parity ^ 1);
#pragma unroll
        for (int i = 0; i < W / 8; i++)
            cluster_store4(to + 2048 * i, dq[4 * i], dq[4 * i + 1], dq[4 * i + 2],
                           dq[4 * i + 3], barrier);
    }

    /* At the end of a row, number n, with this warpgroup's part of its dq. */
    __device__ __forceinline__ void end_row(const TwopassQueries &, float (&dq)[W / 2], int,
                                            uint32_t n) const
    {
        const int g = group;
        if ((int)(n & 1) == g) {
            lay(part(2 * g), dq);
            return;
        }
        if (n > 1)
            await(READ + g);
        lay(part(2 * g + 1), dq);
        tell(LAID + g);
    }

    /* Behind end_row() of row number n; r: the row before. */
    __device__ __forceinline__ void pass_on(const TwopassQueries &a, int r, uint32_t n) const
    {
        if ((int)(n & 1) != group && n > 0)
            send(a, r, n - 1);
    }

    /* After the last row, number n. */
    __device__ __forceinline__ void end(const TwopassQueries &a, int r, uint32_t n) const
    {
        const int g = group;
        if ((int)(n & 1) == g)
            send(a, r, n);
        if (n > 0 || g > 0) /* what was told after the last row of the other */
            await(READ + g);
    }

    /* dq of the row to memory, as pieces of 16 bytes if it is BF16 and W < 64: through what this
     * warp has laid down of the row, which all its threads have read. */
    __device__ __forceinline__ void store(const TwopassQueries &a, const float (&dq)[W / 2],
                                          int r) const
    {
        const uint32_t thread = thread_now(), bytes = a.wide ? 4 : 2;
        const int query = 16 * (int)(thread >> 5 & 3);
        uint64_t first, inside;
        asm volatile("ld.shared.v2.b64 {%0, %1}, [%2];"
                     : "=l"(first), "=l"(inside)
                     : "r"(start + Plan::TARGET));
        char *to = reinterpret_cast<char *>(first) + (uint64_t)(uint32_t)r * a.row_bytes
                   + query * a.D * bytes;
        const int count = (int)inside - query;
        if constexpr (W < 64) {
            if (!a.wide) {
                const uint32_t buffer = part(2 * group) & ~(31u * 16);
                const RowPiece<W> lane;
                uint4 rows[2];
                __syncwarp();
#pragma unroll
                for (int half = 0; half < 2; half++)
                    round_rows<W>(buffer + 2048 * half, dq + 2 * half, a.sc);
                __syncwarp();
#pragma unroll
                for (int half = 0; half < 2; half++)
                    rows[half] = lane.take(buffer + 2048 * half);
                to += ((int)lane.row * a.D + 8 * (int)lane.piece) * 2;
#pragma unroll
                for (int half = 0; half < 2; half++)
                    if (lane.inside(count - 8 * half, a.D))
                        *reinterpret_cast<uint4 *>(to + 16 * half * a.D) = rows[half];
                return;
            }
        }
        const int row = (int)(thread >> 2 & 7);
        to += (row * a.D + 2 * (int)(thread & 3)) * bytes;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            if (row + 8 * half >= count)
                continue;
            char *at = to + 8 * half * a.D * bytes;
#pragma unroll
            for (int n = 0; n < W / 8; n++)
                if (8 * n < a.D)
                    store_two(at, 8 * n, dq[4 * n + 2 * half] * a.sc,
                              dq[4 * n + 2 * half + 1] * a.sc, a.wide);
        }
    }
};

/* The same with two buffers for six, for W = 64: the warpgroup whose turn it is waits for the
 * other's part at the end of the row, and what the CTA before has sent has one place. A thread
 * lays down and takes up at the same place of the one buffer, row by row in turn with its like
 * of the other warpgroup: nothing can be overwritten before it has been read. */
template <class Plan, int W>
struct DqAtOnce : DqPassage<Plan, W> {
    typedef DqPassage<Plan, W> Base;

    /* At the end of row r, number n, with this warpgroup's part of its dq. */
    __device__ __forceinline__ void end_row(const TwopassQueries &a, float (&dq)[W / 2], int r,
                                            uint32_t n) const
    {
        const int g = this->group, range = (int)cluster_rank();
        const uint32_t parity = n >> 1 & 1;
        const uint32_t passed = this->mine + Plan::PASSED;
        if ((int)(n & 1) != g) {
            Base::lay(this->part(0), dq);
            Base::tell(Base::LAID + g);
            return;
        }
        Base::await(Base::LAID + (g ^ 1));
        Base::add(dq, this->part(0));
        if (range > 0) {
            barrier_wait(this->arrived(g), parity);
            if (this->first_of_group())
                barrier_expect(this->arrived(g), Plan::HANDED); /* for the row after the next */
            Base::add(dq, passed);
            __syncwarp();
            if (this->first_of_warp())
                cluster_arrive(cluster_address(this->taken(g), range - 1));
        }
        if (range + 1 == a.ranges) {
            this->store(a, dq, r);
            return;
        }
        const uint32_t to = cluster_address(passed, range + 1);
        const uint32_t barrier = cluster_address(this->arrived(g), range + 1);
        barrier_wait(this->taken(g ^ 1), (n - 1) >> 1 & 1); /* the row before; none: passes */
#pragma unroll
        for (int i = 0; i < W / 8; i++)
            cluster_store4(to + 2048 * i, dq[4 * i], dq[4 * i + 1], dq[4 * i + 2],
                           dq[4 * i + 3], barrier);
    }

    __device__ __forceinline__ void pass_on(const TwopassQueries &, int, uint32_t) const {}
    __device__ __forceinline__ void end(const TwopassQueries &, int, uint32_t) const {}
};

template <class Plan, int W>
using Passage = std::conditional_t<Plan::AT_ONCE, DqAtOnce<Plan, W>, DqPassage<Plan, W>>;

} // namespace

#endif
