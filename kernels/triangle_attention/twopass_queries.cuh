/* SPDX-License-Identifier: Apache-2.0
 * Backward pass of `twopass` and `split` that owns a query x key range: dq and dbias
 * (README.md). Its instances are in twopass_queries.cu and split_queries.cu.
 *
 * A CTA owns 64 queries and 2 HALF keys and loops over the rows r of its chunk. Two
 * warpgroups compute, HALF keys each; of a third one warp copies k and v, one the rest. dbias
 * of the chunk stays in registers for the whole loop and is written once. The step of 32 keys
 * is a pipeline of two: while the elementwise work of one runs, the tensor cores form S and dP
 * of the next and add dS k of the one before.
 *
 * The CTAs of a query tile's ranges form a cluster: dq of a row passes from one to the next
 * through shared memory, each adding its part, and the last stores it. Keys are dealt out in
 * steps of 32 over all warpgroups of the cluster, so that a row of few keys costs all of
 * them the same.
 *
 * Registers of a computing thread, W = 32, HALF = 192: dbias 96, S and dP of two steps 64,
 * dq 16, operands 16 (32 with pairs), row values 4, the next step's bias 8 (16 if FP32, none
 * with pairs): 204 or 212 of 240. q and dout as shared operands save 16.
 * Shared memory, W = 32, HALF = 192: the bias of the CTA (48 KB BF16, 96 KB FP32); two or
 * three stages of one row's k and v (48 KB), two of its q, dout and row values (8.5 KB); 16
 * KB for dq between the warpgroups and from the CTA before. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_QUERIES_CUH
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_QUERIES_CUH

#include <type_traits> /* integral_constant: the parity of a step as a constant */

#include "kernels/triangle_attention/twopass_queries_finish.cuh"

namespace {

/* What a computing thread holds. c: which of the two steps in flight. */
template <int W, class Bias, int HALF, bool PAIRS, bool MASKED>
struct Worker {
    typedef Plan<W, Bias, HALF, PAIRS> P;
    float dbias[P::STEPS][16], s[2][16], ds[2][16], dq[W / 2];
    float nd[2]; /* -delta of rows g, g + 8, for the scores to be formed next */
    float nm[2]; /* the other row value, for those to become gradients */
    static constexpr bool AHEAD = !PAIRS;
    BiasPieces<Bias, AHEAD ? 4 : 2> ahead; /* bias of the next step, if there are registers */
    uint32_t high[8], low[PAIRS ? 8 : 1];

    __device__ __forceinline__ void load_deltas(uint32_t values)
    {
        nd[0] = load_shared(values + 256);
        nd[1] = load_shared(values + 256 + 32);
    }

    /* dP less delta comes out of the chain. */
    __device__ __forceinline__ void start_scores(int c)
    {
#pragma unroll
        for (int i = 0; i < 16; i++)
            ds[c][i] = nd[i >> 1 & 1];
        settled(ds[c]);
    }

    /* Makes the scores in flight those of half 0. A second copy of the row's code, with the
     * halves' roles exchanged, costs nothing when every row takes it in turn, but more
     * registers than there are when a row's length decides. */
    __device__ __forceinline__ void turn_over()
    {
#pragma unroll
        for (int i = 0; i < 16; i++) {
            s[0][i] = s[1][i];
            ds[0][i] = ds[1][i];
        }
    }

    /* S and dP of a step. queries, k: start words of the row's q and the step's k. */
    __device__ __forceinline__ void scores(int c, uint32_t queries, uint32_t k)
    {
#pragma unroll
        for (int x = 0; x < W / 16; x++)
            wgmma_shared(s[c], tile_descriptor<W>(queries + 2 * x),
                         tile_descriptor<W>(k + 2 * x), x > 0);
#pragma unroll
        for (int x = 0; x < W / 16; x++)
            wgmma_shared(ds[c], tile_descriptor<W>(queries + P::TILE / 16 + 2 * x),
                         tile_descriptor<W>(k + P::SIDE / 16 + 2 * x), 1);
    }

    /* dq += dS k of step u, whose dS are the operands held. */
    __device__ __forceinline__ void add_dq(int u, uint32_t keys, int keep)
    {
        multiply_rows<W, PAIRS, 2>(dq, high, low, keys + u * (P::TILE / 16), keep);
    }

    static constexpr int BIAS_STEP = 2 * BiasTile<Bias>::BYTES;
    __device__ __forceinline__ void load_ahead(uint32_t bias, int u)
    {
        if constexpr (AHEAD)
            ahead.load(bias + u * BIAS_STEP);
    }

    /* S of step u to u_ij; the bias of step `then`, which is the next, is asked for. */
    __device__ __forceinline__ void scale(float (&x)[16], int u, int then, uint32_t bias,
                                          float sc)
    {
        if constexpr (AHEAD) {
#pragma unroll
            for (int i = 0; i < 16; i++)
                x[i] = __fmaf_rn(x[i], sc, ahead.value(i));
            load_ahead(bias, then);
        } else {
#pragma unroll
            for (int j = 0; j < 2; j++) {
                BiasPieces<Bias, 2> b;
                b.load(bias + u * BIAS_STEP + j * (BiasTile<Bias>::BYTES / 2));
#pragma unroll
                for (int i = 0; i < 8; i++)
                    x[8 * j + i] = __fmaf_rn(x[8 * j + i], sc, b.value(i));
            }
        }
    }

    /* S and dP of step u to dS, which joins dbias. word: the valid keys of the step. */
    __device__ __forceinline__ void gradient(int c, int u, int then, uint32_t bias, uint32_t word,
                                             const float (&inv)[2], float sc, uint32_t *to_high,
                                             uint32_t *to_low)
    {
        scale(s[c], u, then, bias, sc);
        if (MASKED && word != ~0u) {
            const uint32_t kept = word >> (2 * lane_in_four());
#pragma unroll
            for (int i = 0; i < 16; i++)
                if (!(kept >> (8 * (i >> 2) + (i & 1)) & 1)) {
                    s[c][i] = -INFINITY;
                    ds[c][i] = 0.0f; /* whatever delta is */
                }
        }
#pragma unroll
        for (int j = 0; j < 2; j++) {
            float *x = s[c] + 8 * j, *d = ds[c] + 8 * j;
#pragma unroll
            for (int i = 0; i < 8; i++) {
                float p = ex2(__fmaf_rn(x[i], GG_TA_TWOPASS_LOG2E, nm[i >> 1 & 1]));
                if (PAIRS)
                    p *= inv[i >> 1 & 1];
                d[i] *= p;
                dbias[u][8 * j + i] += d[i];
            }
            to_operand<PAIRS>(d, to_high + 4 * j, PAIRS ? to_low + 4 * j : to_low);
        }
    }
};

template <int W, class Bias, int HALF, bool PAIRS, bool MASKED>
__device__ __forceinline__ void work(const TwopassQueries &a, uint32_t start,
                                     const Rows<HALF / 32, MASKED> &rows)
{
    typedef Plan<W, Bias, HALF, PAIRS> P;
    constexpr int STEPS = P::STEPS;
    const int group = __shfl_sync(0xffffffffu, (int)(threadIdx.x >> 7), 0);
    const int mine = 16 * (int)(threadIdx.x >> 5 & 3) + (int)(threadIdx.x >> 2 & 7);
    const uint32_t bias =
        start + P::BIAS + group * BiasTile<Bias>::BYTES + 16 * (threadIdx.x & 127);
    const uint32_t all_keys = tile_start(start + group * (P::TILE / 2));
    const uint32_t all_queries = tile_start(start + P::QUERIES);
    const uint32_t values = start + P::VALUES + 4 * mine;
    const uint32_t live_word = /* and 8 bytes on the next row */
        start + P::KEY_WORDS + 8 * row_word(RowWord::LIVE, a.tiles);
    DqPassage<W> passage = passage_of<P, W>(start);
    constexpr bool EXITS = MASKED && P::GRAIN < STEPS; /* a row may end early */
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
    Ring<P::ROWS> queries = {start + P::ROW_BARRIERS, 0, 0};
    const int row = rows.begin(a);
    int previous = -1;             /* the previous row's number */
    uint32_t last_keys = all_keys; /* and its last step's k */
    /* Step u of row r; the last one starts on the next row and returns its number. One piece
     * from fence to wait in either case: chosen between inside, descriptors would not stay
     * uniform and ptxas would serialise. */
    const auto one_step = [&](auto place, auto is_last, int r) {
        constexpr int u = decltype(place)::value >> 1, c = decltype(place)::value & 1;
        constexpr bool last = decltype(is_last)::value;
        const uint32_t keys = all_keys + ring.stage * (P::STAGE / 16);
        const uint32_t row_values = values + queries.stage * P::ROW_VALUES;
        const int row_stage = queries.stage;
        Ring<P::STAGES> ahead = ring;
        int next = r + 1;
        if (MASKED && last)
            next = (int)load_shared_uniform(live_word + row_stage * ROW_WORDS + 8);
        if (last && next < rows.end(a)) {
            ahead.advance();
            queries.advance();
            barrier_wait(ahead.full(), ahead.parity);
            barrier_wait(queries.full(), queries.parity);
            w.load_deltas(values + queries.stage * P::ROW_VALUES);
        }
        w.start_scores(c ^ 1);
        wgmma_fence();
        w.scores(c ^ 1, all_queries + queries.stage * (P::ROW / 16),
                 last ? all_keys + ahead.stage * (P::STAGE / 16)
                      : keys + (u + 1) * (P::TILE / 16));
        if (u == 0)
            w.add_dq(0, last_keys, 1);
        else
            w.add_dq(u - 1, keys, u > 1);
        wgmma_commit();
        uint32_t word = ~0u;
        if (MASKED) /* beyond the row's tiles lie other words, and keys that are not there */
            word = load_shared_uniform(start + P::KEY_WORDS + row_stage * ROW_WORDS
                                    + 8 * (cluster_rank() + a.ranges * u) + 4 * group);
        if (u == 0) {
            w.nm[0] = load_shared(row_values);
            w.nm[1] = load_shared(row_values + 32);
        }
        float inv[2] = {};
        if (PAIRS) {
            inv[0] = load_shared(row_values + 512);
            inv[1] = load_shared(row_values + 512 + 32);
        }
        uint32_t high[8], low[PAIRS ? 8 : 1];
        constexpr int then = last ? 0 : u + 1;
        if (!MASKED || word != 0) {
            w.gradient(c, u, then, bias, word, inv, a.sc, high, low);
        } else { /* dS of the step is zero, and dbias stays */
            w.load_ahead(bias, then);
#pragma unroll
            for (int i = 0; i < 8; i++)
                high[i] = low[PAIRS ? i : 0] = 0;
        }
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
            release_stage(ring.before().empty());
            release_stage(start + P::ROW_BARRIERS + 8 * (P::ROWS + (row_stage ^ 1)));
            finish_row<W>(a, passage, w.dq, previous);
        }
        if (last) {
            if (MASKED && STEPS % 2 != 0 && u == STEPS - 1)
                w.turn_over();
            previous = r;
            last_keys = keys + u * (P::TILE / 16);
            ring = ahead;
        }
        return next;
    };
    /* The steps of row r from u on; the first scores are in the half `parity` of s. */
    const auto one_row = [&](auto parity, int r) {
        constexpr int PARITY = decltype(parity)::value;
        int next = 0, steps = STEPS;
        if (EXITS)
            steps = steps_of<STEPS, P::GRAIN>(
                load_shared_uniform(live_word + queries.stage * ROW_WORDS), a.ranges);
        const auto step = [&](auto number) {
            constexpr int u = decltype(number)::value;
            const std::integral_constant<int, 2 * u + ((u + PARITY) & 1)> place;
            if (u == STEPS - 1 || (EXITS && u % P::GRAIN == P::GRAIN - 1 && u == steps - 1)) {
                next = one_step(place, std::true_type{}, r);
                return true;
            }
            one_step(place, std::false_type{}, r);
            return false;
        };
        static_assert(STEPS >= 4 && STEPS <= 6, "unrolled by hand");
        if (step(std::integral_constant<int, 0>{}) || step(std::integral_constant<int, 1>{})
            || step(std::integral_constant<int, 2>{})
            || step(std::integral_constant<int, 3>{}))
            return next;
        if constexpr (STEPS > 4)
            if (step(std::integral_constant<int, 4>{}))
                return next;
        if constexpr (STEPS > 5)
            step(std::integral_constant<int, 5>{});
        return next;
    };

    barrier_wait(start + P::READY, 0);
    if (row < rows.end(a)) {
        barrier_wait(ring.full(), 0);
        barrier_wait(queries.full(), 0);
        w.load_deltas(values);
        w.load_ahead(bias, 0);
        w.start_scores(0);
        wgmma_fence();
        w.scores(0, all_queries, all_keys);
        wgmma_commit();
        wgmma_wait();
        settled(w.s[0]);
        settled(w.ds[0]);
        for (int r = row; r < rows.end(a);) {
            r = one_row(std::integral_constant<int, 0>{}, r);
            if (!MASKED && STEPS % 2 != 0 && r < rows.end(a))
                r = one_row(std::integral_constant<int, 1>{}, r);
        }
        wgmma_fence();
        w.add_dq(0, last_keys, 1);
        wgmma_commit();
        wgmma_wait();
        settled(w.dq);
        finish_row<W>(a, passage, w.dq, previous);
    }
    if (!a.slabs)
        return;
    const Place p(a);
    const size_t columns = (size_t)a.key_tiles * 64;
    float *slab = a.slabs + blockIdx.y * a.slab_elements
                  + ((size_t)(p.b * a.H + p.h) * a.tiles + p.tile) * 64 * columns
                  + 64 * p.range + 32 * group + 2 * (threadIdx.x & 3);
#pragma unroll
    for (int u = 0; u < STEPS; u++)
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
            for (int half = 0; half < 2; half++)
                *reinterpret_cast<float2 *>(slab + (mine + 8 * half) * columns
                                            + 64 * a.ranges * u + 8 * n) =
                    make_float2(w.dbias[u][4 * n + 2 * half],
                                w.dbias[u][4 * n + 2 * half + 1]);
}

template <int W, class Bias, int HALF, bool PAIRS, bool MASKED>
__global__ void __launch_bounds__(384, 1)
    queries_kernel(const __grid_constant__ TwopassQueries a)
{
    typedef Plan<W, Bias, HALF, PAIRS> P;
    const uint32_t start = shared_start_kept();
    const int warp = __shfl_sync(0xffffffffu, (int)(threadIdx.x >> 5), 0);
    const Rows<P::STEPS, MASKED> rows(a, Place(a));
    if (threadIdx.x == 0) {
        ring_init<P::STAGES>(start + P::BARRIERS, P::WARPS);
        ring_init<P::ROWS>(start + P::ROW_BARRIERS, P::WARPS);
        barrier_init(start + P::READY, 1);
        const DqPassage<W> passage = passage_of<P, W>(start);
        passage.init();
        passage.target.init(a, Place(a));
    }
    publish_shared();
    cluster_sync();
    if (warp >= P::WARPS) {
        give_registers<P::GROUPS>();
        if (warp == P::WARPS)
            copy_keys<W, Bias, HALF, PAIRS, MASKED>(a, start, rows);
        else if (warp == P::WARPS + 1 && (threadIdx.x & 31) == 0)
            copy_queries<W, Bias, HALF, PAIRS, MASKED>(a, start, rows);
        return;
    }
    take_registers<P::GROUPS>();
    work<W, Bias, HALF, PAIRS, MASKED>(a, start, rows);
    cluster_sync(); /* the CTA behind may still tell this one that it has taken a row */
}

template <int W, class Bias, int HALF, bool PAIRS>
cudaError_t start(const gg_ta_call &u, const TwopassQueries &a, int chunks)
{
    typedef Plan<W, Bias, HALF, PAIRS> P;
    const auto kernel = u.keys == GG_TA_KEYS_ALL
                            ? queries_kernel<W, Bias, HALF, PAIRS, false>
                            : queries_kernel<W, Bias, HALF, PAIRS, true>;
    const dim3 grid((unsigned)((size_t)a.tiles * a.ranges * bias_planes_of(u)), chunks);
    return launch_cluster(kernel, grid, P::THREADS, P::SHARED, a.ranges,
                          (cudaStream_t)u.stream, a);
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
    a.dq = u.dq;
    a.wide = u.grad_f32 != 0;
    a.row_bytes = (uint32_t)((size_t)u.H * u.N * u.D * (a.wide ? 4 : 2));
    a.slabs = u.dbias ? space.slabs : nullptr;
    a.slab_elements = bias_planes_of(u) * t.tiles * 64 * t.keys * 64;
    a.R = u.R, a.H = u.H, a.N = u.N, a.D = u.D;
    a.tiles = t.tiles, a.key_tiles = t.keys, a.ranges = t.ranges;
    a.chunk_rows = t.chunk_rows;
    a.sc = u.sc;
    GG_TRY_CUDA(make_tensor_map(&a.q, u.q, planes_of(u), u.N, u.D, W, 64));
    GG_TRY_CUDA(make_tensor_map(&a.dout, u.dout, planes_of(u), u.N, u.D, W, 64));
    GG_TRY_CUDA(make_tensor_map(&a.k, u.k, planes_of(u), u.N, u.D, W, 64));
    GG_TRY_CUDA(make_tensor_map(&a.v, u.v, planes_of(u), u.N, u.D, W, 64));
    if (u.keys != GG_TA_KEYS_ALL) {
        GG_TRY_CUDA(make_tensor_map(&a.clean_k, space.k, planes_of(u), u.N, u.D, W, 64));
        GG_TRY_CUDA(make_tensor_map(&a.clean_v, space.v, planes_of(u), u.N, u.D, W, 64));
    }
    return W == 16 ? by_half<16, PAIRS>(u, a, t) : by_half<32, PAIRS>(u, a, t);
}

} // namespace

#endif
