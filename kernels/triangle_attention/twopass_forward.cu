/* SPDX-License-Identifier: Apache-2.0
 * Forward pass of `twopass` and `split`: o, what it loses in BF16, m and inv (README.md).
 *
 * A piece of work is 128 queries of three rows r. As many CTAs as there are multiprocessors
 * take pieces in turn: while the last results of one are stored, the copies for the next
 * are under way. Three warpgroups compute, one row each, all with the same bias tiles, which so
 * cost a third of their traffic; a fourth copies. Each of the three holds two blocks of 64
 * queries that take turns: the products of one run on the tensor cores while the exponentials of
 * the other run beside them.
 *
 * With pairs the products of a tile are sums of their own, added to o afterwards: a chain through
 * all of N, which rounds toward zero, would take too much off (README.md).
 * The tensor cores form the row sums too, as a product with ones: half of what two
 * instructions a score would cost beside the exponentials.
 *
 * Registers of a computing thread, W = 32: scores 64, weights 16 (with pairs 32; the other
 * block's are scores at that time), o 32, row sums 8, m 4: 124 of 160, and what loads need. With
 * pairs a tile's part of o takes 16 and leaves none for m and l, which are in shared memory. As a
 * shared operand q takes none; in registers it would take 16 and ptxas would serialise.
 * Shared memory: q of three rows, twice (48 KB at W = 32), three or four stages of k and v
 * of three rows (64 x W each) and the bias of 128 queries x 64 keys: 56 KB a stage at W = 32.
 * W = 64: two rows, 240 registers, of which o takes 64; three stages of 64 KB, q once, and
 * results stored as they are. */
#include "kernels/triangle_attention/twopass_forward_copy.cuh"

namespace {

/* Products of a tile that are added to a block: row sums, and with pairs a part of o. */
template <int W, bool PAIRS>
struct Products {
    float sum[4], o[PAIRS ? W / 2 : 1];
};

/* 64 queries of one row. at: the shared address of this thread's row sums, where W = 32 with pairs
 * has no registers for m and l. With pairs each of four threads has the l of a step of 16 keys. */
template <int W, bool PAIRS, bool MASKED>
struct Block {
    static constexpr bool ROWS_OUT_THERE = PAIRS && W == 32;
    float s[32], o[W / 2];
    float rows[ROWS_OUT_THERE ? 1 : 4]; /* m, then l, of rows g, g + 8 */
    /* With pairs: m and its limit of when l was last asked for. l only grows until m moves, so the
     * true threshold is no smaller. A masked one with W = 32 has no place for it. */
    static constexpr bool THRESHOLDS = PAIRS && !(ROWS_OUT_THERE && MASKED);
    float thresholds[THRESHOLDS && !ROWS_OUT_THERE ? 2 : 1];
    uint32_t high[16], low[PAIRS ? 16 : 1];

    __device__ __forceinline__ void clear(uint32_t at)
    {
#pragma unroll
        for (int i = 0; i < W / 2; i++)
            o[i] = 0.0f;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            set_l(half, at, 0.0f);
            set_m(half, at, GG_TA_TWOPASS_BOTTOM);
            set_threshold(half, at, GG_TA_TWOPASS_BOTTOM);
        }
        if (ROWS_OUT_THERE)
            __syncwarp();
    }

    __device__ __forceinline__ float m(int half, uint32_t at) const
    {
        if constexpr (ROWS_OUT_THERE)
            return __uint_as_float(load_shared_word(maxima<W>(at) + 4 * half));
        else
            return rows[half];
    }

    /* One of four threads writes: a __syncwarp() before it, and one behind. */
    __device__ __forceinline__ void set_m(int half, uint32_t at, float x)
    {
        if constexpr (!ROWS_OUT_THERE)
            rows[half] = x;
        else if (lane_in_four() == 0)
            store_shared(maxima<W>(at) + 4 * half, x);
    }

    __device__ __forceinline__ float l(int half, uint32_t at) const
    {
        if constexpr (ROWS_OUT_THERE)
            return __uint_as_float(load_shared_word(at + 4 * half));
        else
            return rows[2 + half];
    }

    __device__ __forceinline__ void set_l(int half, uint32_t at, float x)
    {
        if constexpr (ROWS_OUT_THERE)
            store_shared(at + 4 * half, x);
        else
            rows[2 + half] = x;
    }

    static __device__ __forceinline__ uint32_t threshold_at(int half, uint32_t at)
    {
        typedef Plan<W> P;
        return maxima<W>(at) - P::MAXIMA + P::THRESHOLDS + 4 * half;
    }

    /* What a score must exceed for m to move; perhaps more than that. */
    __device__ __forceinline__ float threshold(int half, const Forward &a, uint32_t at) const
    {
        if constexpr (!PAIRS)
            return m(half, at) + a.growth;
        else if constexpr (!THRESHOLDS)
            return m(half, at);
        else if constexpr (ROWS_OUT_THERE)
            return __uint_as_float(load_shared_word(threshold_at(half, at)));
        else
            return thresholds[half];
    }

    /* As set_m(). */
    __device__ __forceinline__ void set_threshold(int half, uint32_t at, float x)
    {
        if constexpr (!THRESHOLDS)
            return;
        else if constexpr (!ROWS_OUT_THERE)
            thresholds[half] = x;
        else if (lane_in_four() == 0)
            store_shared(threshold_at(half, at), x);
    }

    /* The scores start from the bias. */
    __device__ __forceinline__ void take_bias(uint32_t bias)
    {
        load_accumulators(s, bias);
    }

    __device__ __forceinline__ void multiply_keys(uint32_t q, uint32_t k)
    {
#pragma unroll
        for (int x = 0; x < W / 16; x++)
            wgmma_shared(s, tile_descriptor<W>(q + 2 * x), tile_descriptor<W>(k + 2 * x), 1);
    }

    __device__ __forceinline__ void multiply_values(uint32_t v, uint32_t ones,
                                                    Products<W, PAIRS> &y)
    {
        if constexpr (PAIRS) {
            multiply_rows_apart<W, 4>(y.o, high, low, v);
            add_columns_apart<4>(y.sum, high, low, ones);
        } else {
            multiply_rows<W, PAIRS, 4>(o, high, low, v, 1);
            add_columns<W, 4>(y.sum, high, ones);
        }
    }

    /* After wgmma_wait(). */
    __device__ __forceinline__ void add_products(Products<W, PAIRS> &y, uint32_t at)
    {
        if constexpr (PAIRS) {
            settled(y.o);
#pragma unroll
            for (int i = 0; i < W / 2; i++)
                o[i] += y.o[i];
        } else {
            settled(o);
        }
        settled(y.sum);
        set_l(0, at, l(0, at) + y.sum[0]);
        set_l(1, at, l(1, at) + y.sum[2]);
    }

    /* Moves the running maxima of rows g, g + 8 where this tile exceeds them by enough. top:
     * the largest scores of this thread. */
    __device__ __forceinline__ void raise(float top0, float top1, const Forward &a, uint32_t at)
    {
        if constexpr (PAIRS) { /* one after the other: few registers are left */
            raise_row<0>(top0, a, at);
            raise_row<1>(top1, a, at);
        } else {
#pragma unroll
            for (int lane = 1; lane <= 2; lane *= 2) {
                top0 = fmaxf(top0, __shfl_xor_sync(0xffffffffu, top0, lane));
                top1 = fmaxf(top1, __shfl_xor_sync(0xffffffffu, top1, lane));
            }
            const float m0 = m(0, at), m1 = m(1, at);
            const bool up0 = top0 > m0 + a.growth, up1 = top1 > m1 + a.growth;
            const float f0 = up0 ? ex2(__fmaf_rn(m0, a.c1, -(top0 * a.c1))) : 1.0f;
            const float f1 = up1 ? ex2(__fmaf_rn(m1, a.c1, -(top1 * a.c1))) : 1.0f;
            set_m(0, at, up0 ? top0 : m0);
            set_m(1, at, up1 ? top1 : m1);
#pragma unroll
            for (int i = 0; i < W / 2; i++)
                o[i] *= i & 2 ? f1 : f0;
            set_l(0, at, l(0, at) * f0);
            set_l(1, at, l(1, at) * f1);
        }
    }

    /* With pairs, by the limit of its row sum. */
    template <int HALF>
    __device__ __forceinline__ void raise_row(float top, const Forward &a, uint32_t at)
    {
        const int octaves = gg_ta_twopass_octaves(sum_of_four(l(HALF, at)));
        const float limit = m(HALF, at) + gg_ta_twopass_limit(octaves, a.growth, a.rc1);
        if (ROWS_OUT_THERE)
            __syncwarp(); /* all have read what is written now */
        set_threshold(HALF, at, limit);
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
        const bool up = top > limit;
        if (ROWS_OUT_THERE)
            __syncwarp();
        if (!__any_sync(0xffffffffu, up))
            return;
        const float f = up ? ex2(__fmaf_rn(m(HALF, at), a.c1, -(top * a.c1))) : 1.0f;
        if (ROWS_OUT_THERE)
            __syncwarp();
        if (up) {
            set_threshold(HALF, at, top);
            set_m(HALF, at, top);
        }
        if (ROWS_OUT_THERE)
            __syncwarp();
#pragma unroll
        for (int i = 2 * HALF; i < W / 2; i += 4) {
            o[i] *= f;
            o[i + 1] *= f;
        }
        set_l(HALF, at, l(HALF, at) * f);
    }

    /* Scores to weights: the maxima, ex2, operands. */
    __device__ __forceinline__ void soften(const Walk<MASKED> &walk, int t,
                                           const Forward &a, uint32_t at)
    {
        if (MASKED && uniform<true>(walk.cut(t)))
#pragma unroll
            for (int j = 0; j < 2; j++) {
                const uint32_t word = walk.mine(t, j);
                if (word == ~0u)
                    continue;
                const uint32_t kept = word >> (2 * lane_in_four());
#pragma unroll
                for (int i = 0; i < 16; i++)
                    if (!(kept >> (8 * (i >> 2) + (i & 1)) & 1))
                        s[16 * j + i] = -INFINITY;
            }
        float top0 = s[0], top1 = s[2];
#pragma unroll
        for (int n = 0; n < 8; n++) {
            top0 = fmaxf(top0, fmaxf(s[4 * n], s[4 * n + 1]));
            top1 = fmaxf(top1, fmaxf(s[4 * n + 2], s[4 * n + 3]));
        }
        /* A row's largest score exceeds m by enough where that of one of its four threads does:
         * so mostly nobody needs to know the largest. */
        if (__any_sync(0xffffffffu,
                       top0 > threshold(0, a, at) || top1 > threshold(1, a, at)))
            raise(top0, top1, a, at);
        const float nm0 = -(m(0, at) * a.c1), nm1 = -(m(1, at) * a.c1);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float *x = s + 8 * k;
#pragma unroll
            for (int i = 0; i < 8; i++)
                x[i] = ex2(__fmaf_rn(x[i], a.c1, i & 2 ? nm1 : nm0));
            to_operand<PAIRS>(x, high + 4 * k, PAIRS ? low + 4 * k : low);
        }
    }

    /* Eight rows of o, of which `count` are inside N; first: index in [B,R,H,N] of the first. x,
     * y are neighbouring columns 8n + 2c, + 1 of a row. */
    __device__ __forceinline__ void store_rows(const Forward &a, size_t first, int count, int half,
                                               float sum, float top, uint32_t buffer)
    {
        const int lane = (int)lane_now(), row = lane >> 2;
        if (PAIRS)
            sum = sum_of_four(sum);
        const bool empty = sum == 0.0f;
        const float inv = empty ? 0.0f : __frcp_rn(sum);
        uint32_t rounded[W / 8];
        if ((lane & 3) == 0 && row < count) {
            a.m[first + row] = empty ? 0.0f : top;
            a.inv[first + row] = inv;
        }
#pragma unroll
        for (int n = 0; n < W / 8; n++) {
            float &x = o[4 * n + 2 * half], &y = o[4 * n + 2 * half + 1];
            x *= inv;
            y *= inv;
            rounded[n] = pack_bf16(x, y); /* FP32 to BF16: 2^-9 of o */
        }
        if (a.o)
            put_rows(a, a.o, first, count, rounded, buffer);
        if (a.error) { /* what that lost, itself rounded: 2^-18 of o is left */
#pragma unroll
            for (int n = 0; n < W / 8; n++)
                rounded[n] = pack_bf16(o[4 * n + 2 * half] - low_bf16(rounded[n]),
                                       o[4 * n + 2 * half + 1] - high_bf16(rounded[n]));
            put_rows(a, a.error, first, count, rounded, buffer);
        }
        if (a.wide && row < count) {
            float2 *to = reinterpret_cast<float2 *>(a.wide + (first + row) * a.D + 2 * (lane & 3));
#pragma unroll
            for (int n = 0; n < W / 8; n++)
                if (8 * n < a.D)
                    to[4 * n] = make_float2(o[4 * n + 2 * half], o[4 * n + 2 * half + 1]);
        }
    }

    static __device__ __forceinline__ void put_rows(const Forward &a, uint16_t *to, size_t first,
                                                    int count, const uint32_t (&x)[W / 8],
                                                    uint32_t buffer)
    {
        if constexpr (W == 64) { /* no shared memory is left for a buffer */
            const int lane = (int)lane_now(), row = lane >> 2;
#pragma unroll
            for (int n = 0; n < W / 8; n++)
                if (row < count && 8 * n < a.D)
                    *reinterpret_cast<uint32_t *>(to + (first + row) * a.D + 8 * n
                                                  + 2 * (lane & 3)) = x[n];
            return;
        }
        const RowPiece<W> lane;
        __syncwarp(); /* the rows before have been read */
        lay_rows<W>(buffer, x);
        __syncwarp();
        if (lane.inside(count, a.D))
            *reinterpret_cast<uint4 *>(to + (first + lane.row) * a.D + 8 * lane.piece) =
                lane.take(buffer);
    }

    /* `first`: index in [B,R,H,N] of the block's first query, `count` of them inside N. l: of
     * rows g, g + 8, read before any results went into the buffer. */
    __device__ __forceinline__ void store(const Forward &a, size_t first, int count, float2 l,
                                          uint32_t at, uint32_t buffer)
    {
        const int row = 16 * (int)(threadIdx.x >> 5 & 3);
        store_rows(a, first + row, count - row, 0, l.x, m(0, at), buffer);
        store_rows(a, first + row + 8, count - row - 8, 1, l.y, m(1, at), buffer);
    }
};

/* What a warpgroup carries from one piece of work to the next. */
template <int W>
struct Place {
    typedef Plan<W> P;
    Ring<P::STAGES> ring;
    int count;                  /* pieces of work done, from which the rest follows */
    uint32_t start, bias; /* shared addresses; of the first stage, for this thread */
    uint32_t keys;        /* start word of k of the first stage */
    int row;                    /* of P::ROWS */

    /* Where this thread has the row sums of q[0]; of q[1] 8 on. W = 32: in its warp's buffer for
     * results. */
    __device__ __forceinline__ uint32_t sums() const
    {
        return bias + (P::OUT - 2 * P::ROWS * P::TILE) + 128 * 16 * row;
    }

    /* The piece of work at hand: formed again rather than kept through the loop. */
    __device__ __forceinline__ int item() const
    {
        int cta;
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(cta));
        return cta + count * (int)gridDim.x;
    }
};

/* One row's 128 queries: q[0] and q[1] take turns over the key tiles of the walk. */
template <int W, bool PAIRS, bool MASKED>
__device__ __forceinline__ void attend(const Forward &a, Place<W> &p,
                                       Block<W, PAIRS, MASKED> (&q)[2],
                                       const Walk<MASKED> &walk)
{
    typedef Plan<W> P;
    const uint32_t ones = kept_uniform(PAIRS ? plain_start<0>(p.start + P::ONES)
                                             : tile_start(p.start + P::ONES));
    const uint32_t tile = tile_start(p.start + P::QUERIES
                                     + p.count % P::QUERY_STAGES * P::QUERY_STAGE
                                     + 2 * p.row * P::TILE);
    Products<W, PAIRS> y; /* for the block whose products are under way */
    int t = walk.first(a.tiles);
    barrier_wait(p.ring.full(), p.ring.parity);
    q[0].take_bias(p.bias + p.ring.stage * P::STAGE);
    q[1].take_bias(p.bias + p.ring.stage * P::STAGE + P::BLOCK);
    settled(q[0].s);
    settled(q[1].s);
    wgmma_fence();
    q[0].multiply_keys(tile, p.keys + p.ring.stage * (P::STAGE / 16));
    q[1].multiply_keys(tile + P::TILE / 16, p.keys + p.ring.stage * (P::STAGE / 16));
    wgmma_commit();
    wgmma_wait();
    settled(q[0].s);
    settled(q[1].s);
    q[0].soften(walk, t, a, p.sums());
    for (int next = walk.next(t + 1, a.tiles); uniform<MASKED>(next < a.tiles);
         next = walk.next(t + 1, a.tiles)) {
        const Ring<P::STAGES> ahead = p.ring.next();
        const int at = p.ring.stage * P::STAGE, to = ahead.stage * P::STAGE;
        barrier_wait(ahead.full(), ahead.parity);
        q[0].take_bias(p.bias + to);
        settled(q[0].s);
        wgmma_fence();
        q[0].multiply_values(p.keys + at / 16 + P::TILE / 16, ones, y);
        q[0].multiply_keys(tile, p.keys + to / 16);
        wgmma_commit();
        q[1].soften(walk, t, a, p.sums() + 8);
        if (!PAIRS && !MASKED) /* asked for before the wait, if there are registers */
            q[1].take_bias(p.bias + to + P::BLOCK);
        wgmma_wait();
        q[0].add_products(y, p.sums());
        settled(q[0].s);
        if (PAIRS || MASKED)
            q[1].take_bias(p.bias + to + P::BLOCK);
        settled(q[1].s);
        wgmma_fence();
        q[1].multiply_values(p.keys + at / 16 + P::TILE / 16, ones, y);
        q[1].multiply_keys(tile + P::TILE / 16, p.keys + to / 16);
        wgmma_commit();
        q[0].soften(walk, next, a, p.sums());
        wgmma_wait();
        q[1].add_products(y, p.sums() + 8);
        settled(q[1].s);
        release_stage(p.ring.empty());
        p.ring = ahead;
        t = next;
    }
    const int at = p.ring.stage * P::STAGE;
    wgmma_fence();
    q[0].multiply_values(p.keys + at / 16 + P::TILE / 16, ones, y);
    wgmma_commit();
    q[1].soften(walk, t, a, p.sums() + 8);
    wgmma_wait();
    q[0].add_products(y, p.sums());
    wgmma_fence();
    q[1].multiply_values(p.keys + at / 16 + P::TILE / 16, ones, y);
    wgmma_commit();
    wgmma_wait();
    q[1].add_products(y, p.sums() + 8);
    release_stage(p.ring.empty());
    p.ring.advance();
}

template <int W, bool PAIRS, bool MASKED>
__device__ __forceinline__ void work(const Forward &a, uint32_t start, int warp)
{
    typedef Plan<W> P;
    Place<W> p = {{start + P::BARRIERS, 0, 0}};
    p.start = start;
    p.row = warp >> 2;
    p.keys = kept_uniform(tile_start(start + 2 * p.row * P::TILE));
    p.bias = start + 2 * P::ROWS * P::TILE + 16 * (thread_now() & 127);
    for (;; p.count++) {
        if (p.item() >= a.items)
            return;
        const uint32_t ready = start + P::QUERY_BARRIERS + p.count % P::QUERY_STAGES * 8;
        Block<W, PAIRS, MASKED> q[2];
        __syncwarp(); /* the results before have left the buffer */
        q[0].clear(p.sums());
        q[1].clear(p.sums() + 8);
        barrier_wait(ready, p.count / P::QUERY_STAGES & 1);
        Walk<MASKED> walk(start + P::KEY_WORDS + p.count % P::QUERY_STAGES * P::WALK);
        if (MASKED) {
            walk.template start<P::ROWS>(a.tiles);
            walk.join(p.row, a.tiles);
        }
        attend(a, p, q, walk);
        release_stage(ready + 8 * P::QUERY_STAGES);
        const Piece<P::ROWS> at(a, p.item());
        const int query0 = 128 * at.block;
        if (p.row >= at.rows)
            continue;
        const size_t first =
            ((size_t)(at.b * a.R + at.row(a, p.row)) * a.H + at.h) * a.N + query0;
        const uint32_t buffer = p.start + P::OUT + (threadIdx.x >> 5) * ROWS_OUT<W>;
        const float2 l0 = {q[0].l(0, p.sums()), q[0].l(1, p.sums())};
        const float2 l1 = {q[1].l(0, p.sums() + 8), q[1].l(1, p.sums() + 8)};
        q[0].store(a, first, a.N - query0, l0, p.sums(), buffer);
        q[1].store(a, first + 64, a.N - query0 - 64, l1, p.sums() + 8, buffer);
    }
}

template <int W, bool PAIRS, bool MASKED>
__global__ void __launch_bounds__(Plan<W>::THREADS, 1)
    forward_kernel(const __grid_constant__ Forward a)
{
    typedef Plan<W> P;
    const uint32_t start = shared_start();
    const int warp = __shfl_sync(0xffffffffu, (int)(threadIdx.x >> 5), 0);
    for (int i = (int)threadIdx.x; i < P::ONES_BYTES / 4; i += P::THREADS)
        asm volatile("st.shared.b32 [%0], %1;"
                     :
                     : "r"(start + P::ONES + 4 * i), "r"(PAIRS ? ones_apart(i) : 0x3f803f80u)
                     : "memory");
    if (threadIdx.x == 0) {
        ring_init<P::STAGES>(start + P::BARRIERS, P::WARPS);
        ring_init<P::QUERY_STAGES>(start + P::QUERY_BARRIERS, P::WARPS);
    }
    publish_shared();
    __syncthreads();
    wait_for_grid_before();
    if (warp >= P::WARPS) {
        give_registers<P::ROWS>();
        if (warp == P::WARPS && (threadIdx.x & 31) == 0)
            copy_tiles<W, MASKED>(a, start);
        return;
    }
    take_registers<P::ROWS>();
    work<W, PAIRS, MASKED>(a, start, warp);
}

template <int W, bool PAIRS, bool MASKED>
cudaError_t start(const gg_ta_call &u, const Forward &a)
{
    typedef Plan<W> P;
    int ctas;
    GG_TRY_CUDA(multiprocessors(&ctas));
    return launch(forward_kernel<W, PAIRS, MASKED>, min(ctas, a.items), P::THREADS, P::SHARED,
                  (cudaStream_t)u.stream, a, true);
}

template <int W, bool PAIRS>
cudaError_t by_keys(const gg_ta_call &u, const Forward &a)
{
    return u.keys == GG_TA_KEYS_ALL ? start<W, PAIRS, false>(u, a)
                                    : start<W, PAIRS, true>(u, a);
}

} // namespace

cudaError_t gg_ta_twopass_forward(const gg_ta_call &u, const gg_ta_twopass_saved &saved,
                                  const TwopassSpace &space, bool pairs)
{
    const TwopassTiles t = twopass_tiles(u);
    const int W = twopass_columns(u.D);
    const int rows = W == 64 ? Plan<64>::ROWS : Plan<32>::ROWS;
    Forward a = {};
    a.bias = static_cast<const char *>(space.bias);
    a.words = space.words;
    a.order = u.keys == GG_TA_KEYS_ALL ? nullptr : space.order;
    a.o = u.o, a.error = saved.e, a.wide = saved.o32;
    a.m = saved.m, a.inv = saved.inv;
    a.R = u.R, a.H = u.H, a.N = u.N, a.D = u.D;
    a.tiles = t.tiles, a.key_tiles = t.keys;
    a.blocks = t.even / 2, a.row_groups = (u.R + rows - 1) / rows;
    a.items = (int)(bias_planes_of(u) * a.blocks * a.row_groups);
    a.c1 = u.c1, a.rc1 = u.rc1, a.growth = GG_TA_TWOPASS_GROWTH * u.root;
    GG_TRY_CUDA(make_tensor_map(&a.q, u.q, planes_of(u), u.N, u.D, W));
    GG_TRY_CUDA(make_tensor_map(&a.k, u.k, planes_of(u), u.N, u.D, W));
    GG_TRY_CUDA(make_tensor_map(&a.v, u.v, planes_of(u), u.N, u.D, W));
    if (u.keys != GG_TA_KEYS_ALL) {
        GG_TRY_CUDA(make_tensor_map(&a.clean_k, space.k, planes_of(u), u.N, u.D, W));
        GG_TRY_CUDA(make_tensor_map(&a.clean_v, space.v, planes_of(u), u.N, u.D, W));
    }
    if (W == 16)
        return pairs ? by_keys<16, true>(u, a) : by_keys<16, false>(u, a);
    if (W == 32)
        return pairs ? by_keys<32, true>(u, a) : by_keys<32, false>(u, a);
    return pairs ? by_keys<64, true>(u, a) : by_keys<64, false>(u, a);
}
