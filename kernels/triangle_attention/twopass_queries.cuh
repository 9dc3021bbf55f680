/* SPDX-License-Identifier: Apache-2.0
 * Backward pass of `twopass` and `split` that owns a query x key range: dq and dbias
 * (README.md). Its instances are in twopass_queries.cu and split_queries.cu.
 *
 * A CTA owns 64 queries and a range of 2 HALF keys and loops over the rows r of its chunk.
 * Two warpgroups compute, HALF keys each, a third copies. dbias of the chunk stays in
 * registers for the whole loop and is written once; dq is complete after a row but for the
 * other ranges, and leaves as one FP32 part a range, or at once when there is one range.
 * The step of 32 keys is a pipeline of two: while the elementwise work of one runs, the
 * tensor cores form S and dP of the next and add dS k of the one before.
 *
 * Registers of a computing thread, W = 32, HALF = 192: dbias 96, S and dP of two steps 64,
 * dq 16, operands 16 (32 with pairs), row values 6: 198 (214) of 240. q and dout as shared
 * operands save 16.
 * Shared memory: the bias of the CTA (48 KB BF16, 96 KB FP32 at HALF = 192), two to four
 * stages of one row's q, dout, k, v and row values (57 KB at W = 32), 8 KB for dq between
 * the warpgroups. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_QUERIES_CUH
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_QUERIES_CUH

#include <type_traits> /* integral_constant: the parity of a step as a constant */

#include "kernels/triangle_attention/twopass_device.cuh"

struct TwopassQueries {
    CUtensorMap q, dout, k, v;
    const char *bias;             /* bias tiles, rows are queries */
    const float *values;          /* row values */
    const uint64_t *words;        /* [B R][tiles]; read when MASKED */
    void *dq;                     /* with one range [B,R,H,N,D], else the parts; or NULL */
    float *slabs;                 /* [chunks][B H][tiles 64][key_tiles 64] or NULL */
    size_t row_bytes, part_bytes; /* of dq, r and range, to the next */
    size_t slab_elements;
    int R, H, N, D, tiles, key_tiles, ranges, chunk_rows;
    float sc, factor; /* factor: sc with one range, else 1 */
    bool wide;        /* dq goes out as FP32 */
};

namespace {

template <int W, class Bias, int HALF, bool PAIRS>
struct Plan {
    static constexpr int GROUPS = 2, WARPS = 4 * GROUPS, THREADS = 128 * GROUPS + 128;
    static constexpr int STEPS = HALF / 32, TILE = 64 * W * 2, SIDE = HALF * W * 2;
    static constexpr int KEYS = 2 * TILE, STAGE = KEYS + 2 * GROUPS * SIDE;
    static constexpr int BIAS_BYTES = GROUPS * STEPS * BiasTile<Bias>::BYTES;
    static constexpr int HANDED = 64 * W * 4, FIXED = BIAS_BYTES + HANDED + 8 + ALIGNMENT;
    static constexpr int FIT = (SHARED_LIMIT - FIXED) / (STAGE + ROW_VALUES + 16);
    static constexpr int STAGES = FIT > 4 ? 4 : FIT;
    static constexpr int VALUES = STAGES * STAGE, BIAS = VALUES + STAGES * ROW_VALUES;
    static constexpr int HAND = BIAS + BIAS_BYTES, BARRIERS = HAND + HANDED;
    static constexpr int READY = BARRIERS + 16 * STAGES, SHARED = READY + 8 + ALIGNMENT;
    static_assert(STAGES >= 2 && STAGE % 512 == 0, "rows overlap; swizzles are aligned");
};

/* Where a CTA is, but for its chunk, blockIdx.y. Read afresh where it is needed: kept, it
 * would cost the inner loop four registers. */
struct Place {
    int tile, range, h, b;

    __device__ __forceinline__ Place(const TwopassQueries &a)
    {
        unsigned rest;
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(rest));
        tile = (int)(rest % (unsigned)a.tiles);
        rest /= (unsigned)a.tiles;
        range = (int)(rest % (unsigned)a.ranges);
        rest /= (unsigned)a.ranges;
        h = (int)(rest % (unsigned)a.H);
        b = (int)(rest / (unsigned)a.H);
    }
};

/* The rows that a CTA loops over: those of its chunk with a valid key in its range. */
template <int HALF, bool MASKED>
struct Rows {
    const uint32_t *words; /* of row 0 and the range's first key, two for each key tile */
    int count, stride, begin, end;

    __device__ __forceinline__ Rows(const TwopassQueries &a, const Place &p)
        : words(nullptr), count(0), stride(2 * a.tiles),
          begin((int)blockIdx.y * a.chunk_rows), end(min(a.R, begin + a.chunk_rows))
    {
        if (MASKED) {
            const int first = p.range * (2 * HALF / 32);
            words = reinterpret_cast<const uint32_t *>(a.words)
                    + (size_t)(p.b * a.R) * stride + first;
            count = min(2 * HALF / 32, stride - first);
        }
    }
    /* Valid keys i 32 .. + 31 of the range, in row r. */
    __device__ __forceinline__ uint32_t word(int r, int i) const
    {
        return i < count ? words[(size_t)r * stride + i] : 0;
    }
    __device__ __forceinline__ int next(int r) const
    {
        if (MASKED)
            for (; r < end; r++) {
                uint32_t any = 0;
                for (int i = 0; i < count; i++)
                    any |= words[(size_t)r * stride + i];
                if (any)
                    break;
            }
        return r;
    }
};

template <int W, class Bias, int HALF, bool PAIRS, bool MASKED>
__device__ __forceinline__ void copy_tiles(const TwopassQueries &a, uint32_t start,
                                           const Rows<HALF, MASKED> &rows)
{
    typedef Plan<W, Bias, HALF, PAIRS> P;
    const Place p(a);
    const size_t bias = ((size_t)(p.b * a.H + p.h) * ((a.tiles + 1) & ~1) + p.tile)
                            * a.key_tiles * 2 * BiasTile<Bias>::BYTES
                        + (size_t)p.range * P::BIAS_BYTES;
    barrier_expect(start + P::READY, P::BIAS_BYTES);
    copy_bytes(start + P::BIAS, a.bias + bias, P::BIAS_BYTES, start + P::READY);
    Ring<P::STAGES> ring = {start + P::BARRIERS, 0, 1};
    for (int r = rows.next(rows.begin); r < rows.end;
         r = rows.next(r + 1), ring.advance()) {
        barrier_wait(ring.empty(), ring.parity);
        const uint32_t full = ring.full(), to = start + ring.stage * P::STAGE;
        const int plane = (p.b * a.R + r) * a.H + p.h;
        barrier_expect(full, P::STAGE + ROW_VALUES);
        copy_box(to, &a.q, 64 * p.tile, plane, full);
        copy_box(to + P::TILE, &a.dout, 64 * p.tile, plane, full);
        for (int i = 0; i < 2; i++) {
            const int key = (2 * p.range + i) * HALF;
            copy_box(to + P::KEYS + i * P::SIDE, &a.k, key, plane, full);
            copy_box(to + P::KEYS + (2 + i) * P::SIDE, &a.v, key, plane, full);
        }
        copy_bytes(start + P::VALUES + ring.stage * ROW_VALUES,
                   a.values + ((size_t)plane * a.tiles + p.tile) * (ROW_VALUES / 4),
                   ROW_VALUES, full);
    }
}

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
        to = static_cast<char *>(a.dq) + p.range * a.part_bytes + first * (a.wide ? 4 : 2);
        queries = a.N - query;
    }
};

/* Adds the second warpgroup's dq of row r to the first's, which stores the sum. Barrier 1:
 * the hand-over buffer is full; 2: it is free again. */
template <int W>
__device__ __forceinline__ void finish_row(const TwopassQueries &a, uint32_t hand,
                                           float (&dq)[W / 2], int r, bool first, bool last)
{
    const int thread = (int)(threadIdx.x & 127);
    if (threadIdx.x >= 128) {
        if (!first)
            asm volatile("bar.sync 2, 256;" : : : "memory");
#pragma unroll
        for (int i = 0; i < W / 2; i++)
            asm volatile("st.shared.f32 [%0], %1;"
                         :
                         : "r"(hand + (i * 128 + thread) * 4), "f"(dq[i])
                         : "memory");
        asm volatile("bar.arrive 1, 256;" : : : "memory");
        return;
    }
    asm volatile("bar.sync 1, 256;" : : : "memory");
#pragma unroll
    for (int i = 0; i < W / 2; i++)
        dq[i] += load_shared(hand + (i * 128 + thread) * 4);
    if (!last)
        asm volatile("bar.arrive 2, 256;" : : : "memory");
    if (!a.dq)
        return;
    const Target to(a);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        if (8 * half >= to.queries)
            continue;
        char *at = to.to + r * a.row_bytes + 8 * half * a.D * (a.wide ? 4 : 2);
#pragma unroll
        for (int n = 0; n < W / 8; n++)
            if (8 * n < a.D)
                store_two(at, 8 * n, dq[4 * n + 2 * half] * a.factor,
                          dq[4 * n + 2 * half + 1] * a.factor, a.wide);
    }
}

/* Never loops. ptxas schedules a row without branches as one piece, moves too much ahead in
 * it, and spills; two pieces it allocates without a spill. */
__device__ __forceinline__ void cut_schedule(int row)
{
    while (row < 0)
        asm volatile("nanosleep.u32 20;" : : : "memory");
}

/* What a computing thread holds. c: which of the two steps in flight. */
template <int W, class Bias, int HALF, bool PAIRS, bool MASKED>
struct Worker {
    typedef Plan<W, Bias, HALF, PAIRS> P;
    float dbias[P::STEPS][16], s[2][16], ds[2][16], dq[W / 2];
    uint32_t high[8], low[PAIRS ? 8 : 1];

    /* S and dP of step u. start: start word of the stage. side: from there to k's half. */
    __device__ __forceinline__ void scores(int c, int u, uint32_t start, uint32_t side)
    {
        const uint32_t k = start + side + u * (32 * W * 2 / 16);
#pragma unroll
        for (int x = 0; x < W / 16; x++)
            wgmma_shared(s[c], tile_descriptor<W>(start + 2 * x),
                         tile_descriptor<W>(k + 2 * x), x > 0);
#pragma unroll
        for (int x = 0; x < W / 16; x++)
            wgmma_shared(ds[c], tile_descriptor<W>(start + P::TILE / 16 + 2 * x),
                         tile_descriptor<W>(k + 2 * P::SIDE / 16 + 2 * x), x > 0);
    }

    /* dq += dS k of step u, whose dS are the operands held. */
    __device__ __forceinline__ void add_dq(int u, uint32_t start, uint32_t side, int keep)
    {
        multiply_rows<W, PAIRS, 2>(dq, high, low, start + side + u * (32 * W * 2 / 16),
                                   keep);
    }

    /* S and dP of step u to dS, which joins dbias. */
    __device__ __forceinline__ void gradient(int c, int u, uint32_t bias, uint32_t word,
                                             const float (&value)[6], float sc,
                                             uint32_t *to_high, uint32_t *to_low)
    {
        uint32_t kept = word >> (2 * (threadIdx.x & 3));
#pragma unroll
        for (int j = 0; j < 2; j++) {
            float *x = s[c] + 8 * j, *d = ds[c] + 8 * j;
            BiasPieces<Bias, 2> b;
            b.load(bias + u * BiasTile<Bias>::BYTES + j * (BiasTile<Bias>::BYTES / 2));
#pragma unroll
            for (int i = 0; i < 8; i++) {
                const int half = i >> 1 & 1;
                float y = __fmaf_rn(x[i], sc, b.value(i));
                if (MASKED && !(kept >> (16 * j + 8 * (i >> 2) + (i & 1)) & 1))
                    y = -INFINITY;
                const float p = ex2(__fmaf_rn(y, GG_TA_TWOPASS_LOG2E, value[half]));
                d[i] = p * __fmaf_rn(d[i], value[2 + half], value[4 + half]);
                dbias[u][8 * j + i] += d[i];
            }
            to_operand<PAIRS>(d, to_high + 4 * j, PAIRS ? to_low + 4 * j : to_low);
        }
    }
};

template <int W, class Bias, int HALF, bool PAIRS, bool MASKED>
__device__ __forceinline__ void work(const TwopassQueries &a, uint32_t start,
                                     const Rows<HALF, MASKED> &rows)
{
    typedef Plan<W, Bias, HALF, PAIRS> P;
    constexpr int STEPS = P::STEPS;
    const int group = __shfl_sync(0xffffffffu, (int)(threadIdx.x >> 7), 0);
    const int mine = 16 * (int)(threadIdx.x >> 5 & 3) + (int)(threadIdx.x >> 2 & 7);
    const uint32_t bias =
        start + P::BIAS + group * STEPS * BiasTile<Bias>::BYTES + 16 * (threadIdx.x & 127);
    const uint32_t tiles = tile_start(start), side = (P::KEYS + group * P::SIDE) / 16;
    const uint32_t hand = start + P::HAND;
    Worker<W, Bias, HALF, PAIRS, MASKED> w;
#pragma unroll
    for (int u = 0; u < STEPS; u++)
#pragma unroll
        for (int i = 0; i < 16; i++)
            w.dbias[u][i] = 0.0f;
#pragma unroll
    for (int i = 0; i < W / 2; i++)
        w.dq[i] = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++)
        w.high[i] = w.low[PAIRS ? i : 0] = 0;

    Ring<P::STAGES> ring = {start + P::BARRIERS, 0, 0};
    const int row = rows.next(rows.begin);
    int before = 0, previous = -1; /* the previous row: its stage, its number */
    const auto one_row = [&](auto parity, int r, int next) {
        constexpr int PARITY = decltype(parity)::value;
        const uint32_t at = tiles + ring.stage * (P::STAGE / 16);
        const uint32_t values = start + P::VALUES + ring.stage * ROW_VALUES + 4 * mine;
        Ring<P::STAGES> ahead = ring;
#pragma unroll
        for (int u = 0; u < STEPS; u++) {
            constexpr int LAST = STEPS - 1;
            const int c = (u + PARITY) & 1;
            if (u == LAST && next < rows.end) {
                ahead.advance();
                barrier_wait(ahead.full(), ahead.parity);
            }
            wgmma_fence();
            if (u == LAST)
                w.scores(c ^ 1, 0, tiles + ahead.stage * (P::STAGE / 16), side);
            else
                w.scores(c ^ 1, u + 1, at, side);
            if (u == 0)
                w.add_dq(LAST, tiles + before * (P::STAGE / 16), side, 1);
            else
                w.add_dq(u - 1, at, side, u > 1);
            wgmma_commit();
            uint32_t word = ~0u;
            if (MASKED)
                word = rows.word(r, group * STEPS + u);
            float value[6];
#pragma unroll
            for (int i = 0; i < 6; i++)
                value[i] = load_shared(values + 256 * (i >> 1) + 32 * (i & 1));
            uint32_t high[8], low[PAIRS ? 8 : 1];
            w.gradient(c, u, bias, word, value, a.sc, high, low);
            wgmma_wait();
            settled(w.s[c ^ 1]);
            settled(w.ds[c ^ 1]);
            settled(w.dq);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                w.high[i] = high[i];
                if (PAIRS)
                    w.low[i] = low[i];
            }
            if (u == 2)
                cut_schedule(r);
            if (u == 0 && previous >= 0) {
                release_stage(start + P::BARRIERS + 8 * (P::STAGES + before));
                finish_row<W>(a, hand, w.dq, previous, previous == row, false);
            }
        }
        previous = r;
        before = ring.stage;
        ring = ahead;
    };

    barrier_wait(start + P::READY, 0);
    if (row < rows.end) {
        barrier_wait(ring.full(), 0);
        wgmma_fence();
        w.scores(0, 0, tiles, side);
        wgmma_commit();
        wgmma_wait();
        settled(w.s[0]);
        settled(w.ds[0]);
        for (int r = row; r < rows.end;) {
            int next = rows.next(r + 1);
            one_row(std::integral_constant<int, 0>{}, r, next);
            r = next;
            if (STEPS % 2 == 0 || r >= rows.end)
                continue;
            next = rows.next(r + 1);
            one_row(std::integral_constant<int, STEPS % 2>{}, r, next);
            r = next;
        }
        wgmma_fence();
        w.add_dq(STEPS - 1, tiles + before * (P::STAGE / 16), side, 1);
        wgmma_commit();
        wgmma_wait();
        settled(w.dq);
        finish_row<W>(a, hand, w.dq, previous, previous == row, true);
    }
    if (!a.slabs)
        return;
    const Place p(a);
    const size_t columns = (size_t)a.key_tiles * 64;
    float *slab = a.slabs + blockIdx.y * a.slab_elements
                  + ((size_t)(p.b * a.H + p.h) * a.tiles + p.tile) * 64 * columns
                  + (2 * p.range + group) * HALF + 2 * (threadIdx.x & 3);
#pragma unroll
    for (int u = 0; u < STEPS; u++)
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
            for (int half = 0; half < 2; half++)
                *reinterpret_cast<float2 *>(slab + (mine + 8 * half) * columns + 32 * u
                                            + 8 * n) =
                    make_float2(w.dbias[u][4 * n + 2 * half],
                                w.dbias[u][4 * n + 2 * half + 1]);
}

template <int W, class Bias, int HALF, bool PAIRS, bool MASKED>
__global__ void __launch_bounds__(384, 1)
    queries_kernel(const __grid_constant__ TwopassQueries a)
{
    typedef Plan<W, Bias, HALF, PAIRS> P;
    const uint32_t start = shared_start();
    const int warp = __shfl_sync(0xffffffffu, (int)(threadIdx.x >> 5), 0);
    const Rows<HALF, MASKED> rows(a, Place(a));
    if (threadIdx.x == 0) {
        ring_init<P::STAGES>(start + P::BARRIERS, P::WARPS);
        barrier_init(start + P::READY, 1);
    }
    publish_shared();
    __syncthreads();
    if (warp >= P::WARPS) {
        give_registers();
        if (warp == P::WARPS && (threadIdx.x & 31) == 0)
            copy_tiles<W, Bias, HALF, PAIRS, MASKED>(a, start, rows);
        return;
    }
    take_registers<P::GROUPS>();
    work<W, Bias, HALF, PAIRS, MASKED>(a, start, rows);
}

template <int W, class Bias, int HALF, bool PAIRS>
cudaError_t start(const gg_ta_call &u, const TwopassQueries &a, int chunks)
{
    typedef Plan<W, Bias, HALF, PAIRS> P;
    const auto kernel = u.keys == GG_TA_KEYS_ALL
                            ? queries_kernel<W, Bias, HALF, PAIRS, false>
                            : queries_kernel<W, Bias, HALF, PAIRS, true>;
    const dim3 grid((unsigned)((size_t)a.tiles * a.ranges * bias_planes_of(u)), chunks);
    GG_TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     P::SHARED));
    kernel<<<grid, P::THREADS, P::SHARED, (cudaStream_t)u.stream>>>(a);
    return cudaGetLastError();
}

template <int W, int HALF, bool PAIRS>
cudaError_t by_bias(const gg_ta_call &u, const TwopassQueries &a, int chunks)
{
    return u.bias_f32 ? start<W, float, HALF, PAIRS>(u, a, chunks)
                      : start<W, uint16_t, HALF, PAIRS>(u, a, chunks);
}

template <int W, bool PAIRS>
cudaError_t by_half(const gg_ta_call &u, const TwopassQueries &a, const TwopassTiles &t)
{
    switch (t.half) {
    case 192: return by_bias<W, 192, PAIRS>(u, a, t.chunks);
    case 160: return by_bias<W, 160, PAIRS>(u, a, t.chunks);
    default: return by_bias<W, 128, PAIRS>(u, a, t.chunks);
    }
}

template <bool PAIRS>
cudaError_t twopass_queries(const gg_ta_call &u, const TwopassSpace &space)
{
    const TwopassTiles t = twopass_tiles(u);
    const int W = u.D <= 16 ? 16 : 32;
    TwopassQueries a = {};
    a.bias = static_cast<const char *>(space.bias);
    a.values = space.rows;
    a.words = space.words;
    const int parts = twopass_parts(u, t);
    a.dq = u.dq && parts ? space.parts : u.dq;
    a.wide = parts > 0 || u.grad_f32;
    a.row_bytes = (size_t)u.H * u.N * u.D * (a.wide ? 4 : 2);
    a.part_bytes = parts ? elements_of(u) * 4 : 0;
    a.factor = parts ? 1.0f : u.sc;
    a.slabs = u.dbias ? space.slabs : nullptr;
    a.slab_elements = bias_planes_of(u) * t.tiles * 64 * t.keys * 64;
    a.R = u.R, a.H = u.H, a.N = u.N, a.D = u.D;
    a.tiles = t.tiles, a.key_tiles = t.keys, a.ranges = t.ranges;
    a.chunk_rows = t.chunk_rows;
    a.sc = u.sc;
    GG_TRY_CUDA(make_tensor_map(&a.q, u.q, planes_of(u), u.N, u.D, W, 64));
    GG_TRY_CUDA(make_tensor_map(&a.dout, u.dout, planes_of(u), u.N, u.D, W, 64));
    GG_TRY_CUDA(make_tensor_map(&a.k, space.k, planes_of(u), u.N, u.D, W, t.half));
    GG_TRY_CUDA(make_tensor_map(&a.v, space.v, planes_of(u), u.N, u.D, W, t.half));
    return W == 16 ? by_half<16, PAIRS>(u, a, t) : by_half<32, PAIRS>(u, a, t);
}

} // namespace

#endif
