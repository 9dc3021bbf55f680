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
 * The CTAs of a query tile's ranges form a cluster: dq of a row passes from one to the next, the
 * last stores it (twopass_queries_finish.cuh). Keys are dealt out in steps of 32 over all
 * warpgroups of the cluster, so that a row of few keys costs all of them the same.
 *
 * Registers of a computing thread, W = 32, HALF = 192: dbias 96, S and dP of two steps 64, q
 * and dout 16, row values 4, shifts 2, dq 16, operands 16: 214 of 240. With pairs operands take
 * 32, and dout is read where it lies unless keys are masked, at W = 16 q too.
 * Shared memory, W = 32, HALF = 192: the bias of the CTA (96 KB); three stages of k and v of
 * half a row (24 KB; with pairs or a mask four of a third), one or two of a row's q, dout and row
 * values (9 KB); 48 KB for dq on its way.
 * W = 64, HALF = 192: q and dout read where they lie, so operands 16 (with pairs 32) beside dbias
 * 96, S and dP 64 and dq 32; four stages of k and v of one step (16 KB), 34 KB of q, dout and row
 * values of two rows, and dq handed over by DqAtOnce in 32 KB: 64 bytes are left. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_QUERIES_CUH
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_QUERIES_CUH

#include <type_traits> /* integral_constant: the parity of a step as a constant */

#include "kernels/triangle_attention/twopass_queries_finish.cuh"

namespace {

/* What a computing thread holds. c: which of the two steps in flight. */
template <int W, int HALF, bool PAIRS, bool MASKED>
struct Worker {
    typedef Plan<W, HALF, PAIRS, MASKED> P;
    float dbias[P::STEPS][16], s[2][16], ds[2][16], dq[W / 2];
    /* A operands of a row, or they are read where they lie. */
    static constexpr bool KEPT = P::KEPT, Q_KEPT = P::Q_KEPT;
    uint32_t q[Q_KEPT ? W / 16 : 1][4], dout[KEPT ? W / 16 : 1][4], values[4];
    /* Without pairs: what is taken off the exponents of rows g, g + 8. */
    float shift[PAIRS ? 1 : 2];
    uint32_t high[8], low[PAIRS ? 8 : 1];

    /* Scores start from the bias of their step. */
    static constexpr int BIAS_STEP = 2 * BIAS_TILE;
    __device__ __forceinline__ void take_bias(int c, uint32_t bias)
    {
        load_accumulators(s[c], bias);
    }

    /* q, dout and row values of a row, from where they are in their rings. place: this thread's
     * in a tile, operand_of_lane(), if it is kept. */
    __device__ __forceinline__ void take_row(uint32_t queries, uint32_t row_values, uint32_t place)
    {
        if constexpr (Q_KEPT) {
            if (!P::KEEP_PLACE)
                place = operand_of_lane<W>();
            load_operand<W>(q, queries + place);
            if constexpr (KEPT)
                load_operand<W>(dout, queries + P::TILE + place);
            load_row_values(values, row_values + place / (2 * W) * 16);
        }
    }

    /* Their shift, once dS of the row before is there: gg_ta_shift(). A row with NaN has it in
     * delta too, and so in dS of valid keys; from here it would reach that of invalid ones. */
    __device__ __forceinline__ void take_shift(uint32_t row_values, float c1)
    {
        const uint32_t thread = thread_now();
        const uint32_t mine = row_values + 16 * ((thread >> 1 & 48) + (thread >> 2 & 7));
#pragma unroll
        for (int half = 0; !PAIRS && half < 2; half++) {
            const uint4 piece = load_shared_piece(mine + 8 * 16 * half);
            const float x = ((low_bf16(piece.x) + high_bf16(piece.x)) + low_bf16(piece.y)) * c1;
            shift[half] = MASKED ? fminf(x, 1e38f) : x;
        }
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

    /* S and dP of a step, less what the row values are; without pairs S whole. Start words: k, of
     * the step's keys; ones, of set_ones(); queries and row, of the row's q and row values. */
    __device__ __forceinline__ void scores(int c, uint32_t k, uint32_t ones, uint32_t queries,
                                           uint32_t row)
    {
        const uint64_t log_sum = plain_descriptor<true>(ones);
        const uint64_t delta = plain_descriptor<true>(ones + DELTA_ONES / 16);
#pragma unroll
        for (int x = 0; x < W / 16; x++) {
            const uint64_t keys = tile_descriptor<W>(k + 2 * x);
            if constexpr (Q_KEPT)
                wgmma<0>(s[c], q[x], keys, 1);
            else
                wgmma_shared(s[c], tile_descriptor<W>(queries + 2 * x), keys, 1);
        }
        if constexpr (Q_KEPT) {
            if (PAIRS)
                wgmma<0>(s[c], values, log_sum, 1);
            wgmma<0>(ds[c], values, delta, 0);
        } else {
            if (PAIRS)
                wgmma_shared(s[c], plain_descriptor<false>(row), log_sum, 1);
            wgmma_shared(ds[c], plain_descriptor<false>(row), delta, 0);
        }
#pragma unroll
        for (int x = 0; x < W / 16; x++) {
            const uint64_t keys = tile_descriptor<W>(k + P::SIDE / 16 + 2 * x);
            if constexpr (KEPT)
                wgmma<0>(ds[c], dout[x], keys, 1);
            else
                wgmma_shared(ds[c], tile_descriptor<W>(queries + P::TILE / 16 + 2 * x), keys, 1);
        }
    }

    /* dq += dS k of a step, whose dS are the operands held. keys: start word of its k. */
    __device__ __forceinline__ void add_dq(uint32_t keys, int keep)
    {
        multiply_rows<W, PAIRS, 2>(dq, high, low, keys, keep);
    }

    /* S and dP of step u to dS, which joins dbias. word: the valid keys of the step. */
    __device__ __forceinline__ void gradient(int c, int u, uint32_t word, float c1,
                                             uint32_t *to_high, uint32_t *to_low)
    {
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
                d[i] *= ex2(PAIRS ? x[i] * c1 : __fmaf_rn(x[i], c1, shift[i >> 1 & 1]));
                dbias[u][8 * j + i] += d[i];
            }
            to_operand<PAIRS>(d, to_high + 4 * j, PAIRS ? to_low + 4 * j : to_low);
        }
    }

    /* dbias of the chunk into its slab. */
    __device__ __forceinline__ void store_dbias(const TwopassQueries &a, const Place &p,
                                                int group) const
    {
        const int mine = 16 * (int)(threadIdx.x >> 5 & 3) + (int)(threadIdx.x >> 2 & 7);
        const size_t columns = (size_t)a.key_tiles * 64;
        float *slab = a.slabs + p.chunk * a.slab_elements
                      + ((size_t)p.plane * a.tiles + p.tile) * 64 * columns
                      + 64 * p.range + 32 * group + 2 * (threadIdx.x & 3);
#pragma unroll
        for (int u = 0; u < P::STEPS; u++)
#pragma unroll
            for (int n = 0; n < 4; n++)
#pragma unroll
                for (int half = 0; half < 2; half++)
                    *reinterpret_cast<float2 *>(slab + (mine + 8 * half) * columns
                                                + 64 * a.ranges * u + 8 * n) =
                        make_float2(dbias[u][4 * n + 2 * half], dbias[u][4 * n + 2 * half + 1]);
    }
};

template <int W, int HALF, bool PAIRS, bool MASKED>
__device__ __forceinline__ void work(const TwopassQueries &a, uint32_t start)
{
    typedef Plan<W, HALF, PAIRS, MASKED> P;
    constexpr int STEPS = P::STEPS;
    const int group = __shfl_sync(0xffffffffu, (int)(threadIdx.x >> 7), 0);
    uint32_t mine = start + 16 * (threadIdx.x & 127);
    if (!P::AT_ONCE)
        asm("" : "+r"(mine)); /* as one register: of its parts ptxas would keep more */
    const uint32_t bias = mine + (P::BIAS + group * BIAS_TILE);
    const uint32_t all_keys = tile_start(start + group * (P::TILE / 2));
    const uint32_t ones = plain_start<128>(start + P::ONES);
    const uint32_t all_queries = tile_start(start + P::QUERIES);
    const uint32_t all_values = plain_start<0>(start + P::VALUES);
    const uint32_t words = start + P::KEY_WORDS;
    const uint32_t kept_place = P::KEEP_PLACE ? operand_of_lane<W>() : 0;
    /* DqAtOnce: as a number that differs by thread; known as uniform it makes ptxas spill. */
    const Passage<P, W> passage = {start, P::AT_ONCE ? (int)(threadIdx.x >> 7) : group, mine};
    Worker<W, HALF, PAIRS, MASKED> w;
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
    const Rows<MASKED> rows(a, Place::get(start + P::PLACE));
    const int row = P::FROM_BEGIN ? 0 : rows.begin;
    const int end = __reduce_min_sync(~0u, rows.end - (P::FROM_BEGIN ? rows.begin : 0));
    int previous = 0, one_before = 0; /* the row before this one, and the one before that */
    uint32_t done = 0; /* rows of which all steps have begun: the number of this one */
    const auto row_stage = [&](uint32_t n) -> Ring<P::ROWS> { /* the ring's, at row number n */
        return {start + P::ROW_BARRIERS, (int)(n % P::ROWS), n / P::ROWS & 1};
    };
    uint32_t last_keys = all_keys;    /* k of the last step of the stage before */
    uint32_t word_ahead = ~0u; /* the valid keys of the next step, asked for a step ahead */
    /* Step u of row r; the last one starts on the row `next`. One piece from fence to wait in
     * either case: chosen between inside, ptxas would serialise. */
    const auto one_step = [&](auto place, auto is_last, int r, int steps, int next) {
        constexpr int u = decltype(place)::value >> 1, c = decltype(place)::value & 1;
        constexpr bool last = decltype(is_last)::value;
        constexpr int at = u % P::PAGE; /* within the stage */
        constexpr bool turns_page = last || at == P::PAGE - 1;
        if (MASKED && at == 0 && u > 0) /* known as uniform again, behind an exit */
            ring.stage = __shfl_sync(0xffffffffu, ring.stage, 0);
        const uint32_t keys = all_keys + ring.stage * (P::STAGE / 16);
        Ring<P::STAGES> ahead = ring;
        uint32_t word = ~0u;
        const bool more = turns_page && (!last || uniform<true>(next < end));
        const Ring<P::ROWS> queries = row_stage(done + (last && more ? 1 : 0));
        if (more) {
            ahead.advance();
            barrier_wait(ahead.full(), ahead.parity);
        }
        if (last && more) {
            barrier_wait(queries.full(), queries.parity);
            w.take_row(start + P::QUERIES + queries.stage * P::ROW,
                       start + P::VALUES + queries.stage * ROW_VALUES, kept_place);
        }
        settled(w.s[c ^ 1]);
        wgmma_fence();
        const uint32_t keys_before = at == 0 ? last_keys : keys + (at - 1) * (P::TILE / 16);
        if (!P::DQ_LAST)
            w.add_dq(keys_before, u != 1);
        w.scores(c ^ 1,
                 turns_page ? all_keys + ahead.stage * (P::STAGE / 16)
                            : keys + (at + 1) * (P::TILE / 16),
                 ones, all_queries + queries.stage * (P::ROW / 16),
                 all_values + queries.stage * (ROW_VALUES / 16));
        if (P::DQ_LAST)
            w.add_dq(keys_before, u != 1);
        wgmma_commit();
        if (MASKED) {
            word = word_ahead;
            word_ahead = load_shared_uniform(
                words + (done + (last ? 1 : 0)) % P::WORD_ROWS * P::WORDS + (last ? 0 : 8 * (u + 1))
                + 4 * group);
        }
        uint32_t high[8], low[PAIRS ? 8 : 1];
        /* The bias of the step after the next, of this row or of the next one. */
        const uint32_t then =
            bias + (MASKED ? u + 2 < steps ? u + 2 : u + 2 - steps : (u + 2) % STEPS)
                       * w.BIAS_STEP;
        constexpr bool turns = MASKED && STEPS % 2 != 0 && u == STEPS - 1;
        /* The vote, and the bias taken inside: or the compiler takes the branch for a divergent
         * one, and serialises. */
        if (!MASKED || uniform<true>(word != 0)) {
            w.gradient(c, u, word, a.c1, high, low);
            if (!turns)
                w.take_bias(c, then);
        } else { /* dS of the step is zero, and dbias stays */
            if (!turns)
                w.take_bias(c, then);
#pragma unroll
            for (int i = 0; i < 8; i++)
                high[i] = low[PAIRS ? i : 0] = 0;
        }
        if (last && more) {
            w.take_shift(start + P::VALUES + queries.stage * ROW_VALUES, a.c1);
            if (P::KEPT)
                release_stage(queries.empty());
        }
        if (P::PASS > 0 && u == P::PASS && a.dq && done > 0)
            passage.pass_on(a, one_before, done - 1);
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
        if (u == P::CUT)
            cut_schedule(MASKED ? (int)done : r); /* a uniform one */
        if (u == 0 && done > 0) {
            release_stage(ring.before().empty());
            if (!P::KEPT)
                release_stage(row_stage(done - 1).empty());
            if (a.dq)
                passage.end_row(a, w.dq, previous, done - 1);
            if (a.dq && P::PASS == 0)
                passage.pass_on(a, one_before, done - 1);
        }
        if (at == 0 && u > 0)
            release_stage(ring.before().empty());
        if (last) {
            if (turns) {
                w.turn_over();
                cut_schedule(MASKED && !PAIRS ? (int)done : r);
                w.take_bias(1, then);
            }
            one_before = previous;
            previous = r;
            done++;
        }
        if (turns_page) {
            last_keys = keys + at * (P::TILE / 16);
            ring = ahead;
        }
    };
    /* The steps of row r from u on; the first scores are in the half `parity` of s. */
    const auto one_row = [&](auto parity, int r) {
        constexpr int PARITY = decltype(parity)::value;
        int next = r + 1, steps = STEPS;
        if (MASKED) { /* known as uniform again, behind exits */
            ring.stage = __shfl_sync(0xffffffffu, ring.stage, 0);
            last_keys = __shfl_sync(0xffffffffu, last_keys, 0);
            done = __shfl_sync(0xffffffffu, done, 0);
            const uint32_t live = words + done % P::WORD_ROWS * P::WORDS + P::LIVE;
            steps = (int)load_shared_uniform(live + 4), next = (int)load_shared_uniform(live + 8);
        }
        const auto step = [&](auto number) {
            constexpr int u = decltype(number)::value;
            const std::integral_constant<int, 2 * u + ((u + PARITY) & 1)> place;
            if (u == STEPS - 1
                || (MASKED && u % ROW_GRAIN == ROW_GRAIN - 1 && uniform<true>(u == steps - 1))) {
                one_step(place, std::true_type{}, r, steps, next);
                return true;
            }
            one_step(place, std::false_type{}, r, steps, next);
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
    if (uniform<true>(row < end)) {
        barrier_wait(ring.full(), 0);
        barrier_wait(row_stage(0).full(), 0);
        w.take_bias(0, bias);
        w.take_bias(1, bias + w.BIAS_STEP);
        w.take_row(start + P::QUERIES, start + P::VALUES, kept_place);
        if (MASKED)
            word_ahead = load_shared_uniform(words + 4 * group);
        settled(w.s[0]);
        wgmma_fence();
        w.scores(0, all_keys, ones, all_queries, all_values);
        wgmma_commit();
        wgmma_wait();
        settled(w.s[0]);
        settled(w.ds[0]);
        w.take_shift(start + P::VALUES, a.c1);
        if (P::KEPT)
            release_stage(row_stage(0).empty());
        for (int r = row; uniform<true>(r < end);) {
            r = one_row(std::integral_constant<int, 0>{}, r);
            if (!MASKED && STEPS % 2 != 0 && uniform<true>(r < end))
                r = one_row(std::integral_constant<int, 1>{}, r);
        }
        wgmma_fence();
        w.add_dq(last_keys, 1);
        wgmma_commit();
        wgmma_wait();
        settled(w.dq);
        asm volatile("" : "+r"(mine)); /* what follows from it is not kept until here */
        const Passage<P, W> last = {start, passage.group, mine};
        if (a.dq) {
            last.end_row(a, w.dq, previous, done - 1);
            last.pass_on(a, one_before, done - 1);
            last.end(a, previous, done - 1);
        }
    }
    if (a.slabs)
        w.store_dbias(a, Place::get(start + P::PLACE), group);
}

template <int W, int HALF, bool PAIRS, bool MASKED>
__global__ void __launch_bounds__(384, 1)
    queries_kernel(const __grid_constant__ TwopassQueries a)
{
    typedef Plan<W, HALF, PAIRS, MASKED> P;
    const gg_ta_piece piece = piece_of_cluster(a);
    if (piece.begin >= piece.end) /* the grid's last layer is not full */
        return;
    const uint32_t start = shared_start();
    const int warp = __shfl_sync(0xffffffffu, (int)(threadIdx.x >> 5), 0);
    set_ones(start + P::ONES);
    if (threadIdx.x == 0) {
        ring_init<P::STAGES>(start + P::BARRIERS, P::WARPS);
        ring_init<P::ROWS>(start + P::ROW_BARRIERS, P::WARPS);
        barrier_init(start + P::READY, 1);
        const Place place = Place::find(a, piece);
        place.put(start + P::PLACE);
        Passage<P, W>{start, 0, start}.init(a, place);
    }
    publish_shared();
    cluster_sync();
    if (!a.beside)
        wait_for_grid_before();
    let_grid_behind_start();
    if (warp >= P::WARPS) {
        give_registers<P::GROUPS>();
        if (warp == P::WARPS)
            copy_keys<W, HALF, PAIRS, MASKED>(a, start);
        else if (warp == P::WARPS + 1 && (threadIdx.x & 31) == 0)
            copy_queries<W, HALF, PAIRS, MASKED>(a, start);
        return;
    }
    take_registers<P::GROUPS>();
    work<W, HALF, PAIRS, MASKED>(a, start);
    cluster_sync(); /* the CTA behind may still tell this one that it has taken a row */
    wait_for_grid_before();
}

template <int W, int HALF, bool PAIRS, bool MASKED>
cudaError_t queue(const gg_ta_call &u, const TwopassQueries &a)
{
    typedef Plan<W, HALF, PAIRS, MASKED> P;
    const dim3 grid((unsigned)(a.chunks.tiles * a.ranges),
                    (unsigned)gg_ta_twopass_layers(&a.chunks));
    const Launch how = {grid, P::THREADS, P::SHARED, (cudaStream_t)u.stream, a.ranges, true};
    return launch(queries_kernel<W, HALF, PAIRS, MASKED>, how, a);
}

template <int W, int HALF, bool PAIRS>
cudaError_t start(const gg_ta_call &u, const TwopassQueries &a)
{
    return u.keys == GG_TA_KEYS_ALL ? queue<W, HALF, PAIRS, false>(u, a)
                                    : queue<W, HALF, PAIRS, true>(u, a);
}

template <int W, bool PAIRS>
cudaError_t by_half(const gg_ta_call &u, const TwopassQueries &a, int half)
{
    switch (half) {
    case 192: return start<W, 192, PAIRS>(u, a);
    case 160: return start<W, 160, PAIRS>(u, a);
    default: return start<W, 128, PAIRS>(u, a);
    }
}

template <bool PAIRS>
cudaError_t twopass_queries(const gg_ta_call &u, const TwopassSpace &space)
{
    const TwopassTiles t = twopass_tiles(u);
    const int W = twopass_columns(u.D);
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
    a.chunks = gg_ta_twopass_chunks(u.B, u.R, u.H, u.N, u.D);
    a.sc = u.sc, a.c1 = u.c1;
    a.beside = u.dk || u.dv;
    GG_TRY_CUDA(make_tensor_map(&a.q, u.q, planes_of(u), u.N, u.D, W));
    GG_TRY_CUDA(make_tensor_map(&a.dout, u.dout, planes_of(u), u.N, u.D, W));
    GG_TRY_CUDA(make_tensor_map(&a.k, u.k, planes_of(u), u.N, u.D, W));
    GG_TRY_CUDA(make_tensor_map(&a.v, u.v, planes_of(u), u.N, u.D, W));
    if (u.keys != GG_TA_KEYS_ALL) {
        GG_TRY_CUDA(make_tensor_map(&a.clean_k, space.k, planes_of(u), u.N, u.D, W));
        GG_TRY_CUDA(make_tensor_map(&a.clean_v, space.v, planes_of(u), u.N, u.D, W));
    }
    if (W == 64) /* as gg_ta_twopass_half() has it */
        return start<64, 192, PAIRS>(u, a);
    return W == 16 ? by_half<16, PAIRS>(u, a, t.half) : by_half<32, PAIRS>(u, a, t.half);
}

} // namespace

#endif
