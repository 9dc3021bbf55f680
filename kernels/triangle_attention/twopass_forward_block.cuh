/* SPDX-License-Identifier: Apache-2.0
 * The forward kernel of `twopass` and `split` (twopass_forward.cu): 64 queries of one row, what
 * a thread holds of them, and what becomes of their scores. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_FORWARD_BLOCK_CUH
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_FORWARD_BLOCK_CUH

#include "kernels/triangle_attention/twopass_forward_results.cuh"

namespace {

/* With pairs: products of a tile that are added to a block, a part of o and row sums. */
template <int W>
struct Products {
    float o[W / 2 + 4];
};

/* Does a block keep q in registers? Those that there is room for do: read where it lies, q is a
 * tenth of what goes through shared memory. */
template <int W, Pass PASS, int BLOCK>
constexpr bool KEEPS_Q = W == 16 || (W == 32 && PASS == Pass::FIRST && BLOCK == 0);

/* 64 queries of one row. at: the shared address of this thread's row sums, where W = 32 with pairs
 * has no registers for m and l. With pairs each of four threads has the l of a step of 16 keys. */
template <int W, Pass PASS, bool MASKED>
struct Block {
    static constexpr bool PAIRS = PASS == Pass::PAIRS;
    static constexpr bool ROWS_OUT_THERE = PAIRS && W == 32;
    /* Without pairs l is another eight columns of o, all alike. */
    float s[32], o[W / 2 + (PAIRS ? 0 : 4)];
    float rows[ROWS_OUT_THERE ? 1 : PAIRS ? 4 : 2]; /* m, then l, of rows g, g + 8 */
    /* With pairs: m and its limit of when l was last asked for. l only grows until m moves, so the
     * true threshold is no smaller. A masked one with W = 32 has no place for it. */
    static constexpr bool THRESHOLDS = PAIRS && !(ROWS_OUT_THERE && MASKED);
    float thresholds[THRESHOLDS && !ROWS_OUT_THERE ? 2 : 1];
    uint32_t high[16], low[PAIRS ? 16 : 1];
    uint32_t q[KEEPS_Q<W, PASS, 0> ? W / 16 : 1][4]; /* if it is kept */

    __device__ __forceinline__ void clear(uint32_t at)
    {
#pragma unroll
        for (float &x : o)
            x = 0.0f;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            if constexpr (PAIRS)
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
        else if constexpr (PAIRS)
            return rows[2 + half];
        else
            return o[W / 2 + 2 * half];
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

    /* The scores start from the bias; quads FROM .. TO - 1 of them. */
    template <int FROM = 0, int TO = 8>
    __device__ __forceinline__ void take_bias(uint32_t bias)
    {
        load_accumulators<32, FROM, TO>(s, bias);
    }

    /* tile: shared address of the block's q. */
    template <int BLOCK>
    __device__ __forceinline__ void take_queries(uint32_t tile)
    {
        if constexpr (KEEPS_Q<W, PASS, BLOCK>)
            load_operand<W>(q, tile + operand_of_lane<W>());
    }

    /* tile, k: start words; the former of q, if it is not kept. */
    template <int BLOCK>
    __device__ __forceinline__ void multiply_keys(uint32_t tile, uint32_t k)
    {
#pragma unroll
        for (int x = 0; x < W / 16; x++) {
            const uint64_t keys = tile_descriptor<W>(k + 2 * x);
            if constexpr (KEEPS_Q<W, PASS, BLOCK>)
                wgmma<0>(s, q[x], keys, 1);
            else
                wgmma_shared(s, tile_descriptor<W>(tile + 2 * x), keys, 1);
        }
    }

    /* v: of the tile in the first stage; units: how far on the stage at hand is. */
    __device__ __forceinline__ void multiply_values(uint32_t v, int units, Products<W> &y)
    {
        if constexpr (PAIRS) {
            multiply_rows_and_steps<W, 4>(y.o, high, low, v + units * KEEP_BEYOND);
        } else {
            multiply_rows_and_ones<W, 4>(o, high, v + units * KEEP_BEYOND);
        }
    }

    /* After wgmma_wait(). */
    __device__ __forceinline__ void add_products(Products<W> &y, uint32_t at)
    {
        if constexpr (!PAIRS) {
            settled(o);
            return;
        }
        settled(y.o);
#pragma unroll
        for (int i = 0; i < W / 2; i++)
            o[i] += y.o[i];
        set_l(0, at, l(0, at) + y.o[W / 2]);
        set_l(1, at, l(1, at) + y.o[W / 2 + 2]);
    }

    /* The largest of four threads. */
    static __device__ __forceinline__ float over_row(float top)
    {
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        return fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
    }

    /* Moves the running maxima of rows g, g + 8 where this tile exceeds them by enough. top:
     * the largest scores of this thread. */
    __device__ __forceinline__ void raise(float top0, float top1, const Forward &a, uint32_t at)
    {
        top0 = over_row(top0), top1 = over_row(top1);
        const float m0 = m(0, at), m1 = m(1, at);
        const bool up0 = top0 > m0 + a.growth, up1 = top1 > m1 + a.growth;
        const float f0 = up0 ? ex2(__fmaf_rn(m0, a.c1, -(top0 * a.c1))) : 1.0f;
        const float f1 = up1 ? ex2(__fmaf_rn(m1, a.c1, -(top1 * a.c1))) : 1.0f;
        set_m(0, at, up0 ? top0 : m0);
        set_m(1, at, up1 ? top1 : m1);
#pragma unroll
        for (int i = 0; i < W / 2 + 4; i++)
            o[i] *= i & 2 ? f1 : f0;
    }

    /* With pairs, of one of them, by the limit of its row sum. */
    template <int HALF>
    __device__ __forceinline__ void raise_row(float top, const Forward &a, uint32_t at)
    {
        const float before = m(HALF, at);
        float sum = l(HALF, at); /* (l_0 + l_1) + (l_2 + l_3) */
#pragma unroll
        for (int lane = 1; lane <= 2; lane *= 2) {
            const float x = __shfl_xor_sync(0xffffffffu, sum, lane);
            const float y = __shfl_xor_sync(0xffffffffu, top, lane);
            sum = __fadd_rn(sum, x);
            top = fmaxf(top, y);
        }
        const float limit =
            before + gg_ta_twopass_limit(gg_ta_twopass_octaves(sum), a.growth, a.rc1);
        const bool up = top > limit;
        if (ROWS_OUT_THERE)
            __syncwarp(); /* all have read what is written now */
        set_threshold(HALF, at, up ? top : limit);
        if (__any_sync(0xffffffffu, up)) {
            set_m(HALF, at, up ? top : before);
            const float f = up ? ex2(__fmaf_rn(before, a.c1, -(top * a.c1))) : 1.0f;
#pragma unroll
            for (int i = 2 * HALF; i < W / 2; i += 4) {
                o[i] *= f;
                o[i + 1] *= f;
            }
            set_l(HALF, at, l(HALF, at) * f);
        }
        if (ROWS_OUT_THERE)
            __syncwarp();
    }

    /* The largest scores of this thread in rows g, g + 8. */
    __device__ __forceinline__ void largest(float &top0, float &top1) const
    {
        top0 = s[0], top1 = s[2];
#pragma unroll
        for (int n = 0; n < 8; n++) {
            top0 = fmaxf(top0, fmaxf(s[4 * n], s[4 * n + 1]));
            top1 = fmaxf(top1, fmaxf(s[4 * n + 2], s[4 * n + 3]));
        }
    }

    /* Of the first tile, where the maxima stay. */
    __device__ __forceinline__ void take_maxima()
    {
        float top0, top1;
        largest(top0, top1);
        rows[0] = fmaxf(rows[0], over_row(top0));
        rows[1] = fmaxf(rows[1], over_row(top1));
    }

    /* Moves the maxima where a score is far enough beyond them. */
    __device__ __forceinline__ void move_maxima(const Forward &a, uint32_t at)
    {
        float top0, top1;
        largest(top0, top1);
        /* A row's largest score exceeds m by enough where that of one of its four threads does:
         * so mostly nobody needs to know the largest. */
        if constexpr (PAIRS) { /* one after the other: few registers are left */
            if (__any_sync(0xffffffffu, top0 > threshold(0, a, at)))
                raise_row<0>(top0, a, at);
            if (__any_sync(0xffffffffu, top1 > threshold(1, a, at)))
                raise_row<1>(top1, a, at);
        } else if (__any_sync(0xffffffffu,
                              top0 > threshold(0, a, at) || top1 > threshold(1, a, at))) {
            raise(top0, top1, a, at);
        }
    }

    /* Scores to weights: the maxima, ex2, operands. */
    __device__ __forceinline__ void soften(const Walk<MASKED, PASS> &walk, int t,
                                           const Forward &a, uint32_t at)
    {
        if (MASKED && uniform<true>(walk.cut(t)))
#pragma unroll
            for (int j = 0; j < 2; j++) {
                const uint32_t word = walk.mine(walk.tile(t, a.tiles), j);
                if (word == ~0u)
                    continue;
                const uint32_t kept = word >> (2 * lane_in_four());
#pragma unroll
                for (int i = 0; i < 16; i++)
                    if (!(kept >> (8 * (i >> 2) + (i & 1)) & 1))
                        s[16 * j + i] = -INFINITY;
            }
        if constexpr (PASS != Pass::FIRST)
            move_maxima(a, at);
        else if (MASKED && uniform<true>(t == walk.opening))
            take_maxima();
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

    /* m and l of row g in even lanes, of row g + 8 in odd ones. */
    __device__ __forceinline__ float own_m(bool odd, uint32_t at) const
    {
        if constexpr (ROWS_OUT_THERE)
            return m(odd, at);
        else
            return odd ? rows[1] : rows[0];
    }

    __device__ __forceinline__ float own_l(bool odd, uint32_t at) const
    {
        const float l0 = l(0, at), l1 = l(1, at);
        float x = odd ? l1 : l0;
        if constexpr (PAIRS) { /* (l_0 + l_1) + (l_2 + l_3) of both rows */
            x = __fadd_rn(x, __shfl_xor_sync(0xffffffffu, odd ? l0 : l1, 1));
            x = __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, 2));
        }
        return x;
    }

    /* Which of a warp's 16 rows are stored, a bit each, of block number `block`: again, those that
     * had been left NaN, otherwise all. sum, l of row g in even lanes, of g + 8 in odd ones,
     * becomes NaN in a row that is to be taken again, and so is item, the piece of work, then. */
    __device__ __forceinline__ uint32_t rows_to_store(const Forward &a, const Results<W, PAIRS> &to,
                                                      int block, int item, float &sum) const
    {
        const bool inside = 64 * block < to.rows;
        if (PASS == Pass::FIRST) {
            const bool unfit = inside && !gg_ta_twopass_fits(sum);
            if (unfit)
                sum = __uint_as_float(0x7fffffffu);
            if (__any_sync(0xffffffffu, unfit) && to.lane == 0)
                a.again[0] = a.again[1 + item] = 1;
        }
        if (PASS != Pass::AGAIN)
            return ~0u;
        const float before = inside ? to.sum[64 * block] : 0.0f;
        const uint32_t lanes = __ballot_sync(0xffffffffu, before != before);
        uint32_t rows = 0;
#pragma unroll
        for (int g = 0; g < 8; g++)
            rows |= (lanes >> 4 * g & 1) << g | (lanes >> (4 * g + 1) & 1) << (g + 8);
        return rows;
    }

    /* Stores m and inv, as block number `block`, and lays o and what it loses into the buffer. x, y
     * are neighbouring columns 8n + 2c, + 1 of a row. At its end all have read m and l. Returns
     * rows_to_store(). */
    __device__ __forceinline__ uint32_t lay(const Forward &a, const Results<W, PAIRS> &to,
                                            int block, uint32_t at, int item) const
    {
        const bool odd = to.lane & 1;
        float sum = own_l(odd, at);
        const uint32_t stored = rows_to_store(a, to, block, item, sum);
        const bool empty = sum == 0.0f;
        const float rcp = __frcp_rn(empty ? 1.0f : sum); /* 1: a branch less */
        const float inv = empty ? 0.0f : rcp;
        const float mine = to.lane & 2 ? inv : empty ? 0.0f : own_m(odd, at);
        const bool is_stored = stored >> (to.lane >> 2 | (to.lane & 1) << 3) & 1;
        if (64 * block < to.rows && is_stored)
            to.sum[64 * block] = PASS == Pass::FIRST && sum != sum ? sum : mine;
        uint32_t rounded[2][W / 8], beyond[2][W / 8];
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float factor = __shfl_sync(0xffffffffu, inv, half, 2);
#pragma unroll
            for (int n = 0; n < W / 8; n++) {
                const float x = o[4 * n + 2 * half] * factor;
                const float y = o[4 * n + 2 * half + 1] * factor;
                rounded[half][n] = pack_bf16(x, y); /* FP32 to BF16: 2^-9 of o */
                beyond[half][n] = beyond_pair<!PAIRS>(x, y, rounded[half][n]);
            }
        }
        to.lay(0, rounded[0], rounded[1]);
        to.lay(1, beyond[0], beyond[1]);
        __syncwarp();
        return stored;
    }
};

} // namespace

#endif
