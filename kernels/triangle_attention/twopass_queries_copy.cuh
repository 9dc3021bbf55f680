/* SPDX-License-Identifier: Apache-2.0
 * The queries kernel of `twopass` and `split`: its arguments, where a CTA stands, and the
 * copies that feed it. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_QUERIES_COPY_CUH
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_QUERIES_COPY_CUH

#include "kernels/triangle_attention/cluster.cuh"
#include "kernels/triangle_attention/twopass_device.cuh"

struct TwopassQueries {
    CUtensorMap q, dout, k, v;
    CUtensorMap clean_k, clean_v; /* of key tiles that are valid in part */
    const char *bias;             /* bias tiles, rows are queries */
    const float *values;          /* row values */
    const uint64_t *words;        /* [B R][word_stride]; read when MASKED */
    void *dq;                     /* [B,R,H,N,D] or NULL */
    float *slabs;                 /* [chunks][B H][tiles 64][key_tiles 64] or NULL */
    uint32_t row_bytes;           /* of dq, a row r to the next */
    size_t slab_elements;
    int R, H, N, D, tiles, key_tiles, ranges, chunk_rows;
    float sc;
    bool wide; /* dq is FP32 */
};

namespace {

template <int W, class Bias, int HALF, bool PAIRS>
struct Plan {
    static constexpr int GROUPS = 2, WARPS = 4 * GROUPS, THREADS = 128 * GROUPS + 128;
    static constexpr int STEPS = HALF / 32, TILE = 64 * W * 2;
    /* A masked row may end after so many steps and every multiple, even for the halves' sake.
     * With pairs or an FP32 bias there are no registers for more than one such exit. */
    static constexpr int GRAIN = 2;
    static constexpr int SIDE = STEPS * TILE, STAGE = 2 * SIDE; /* k and v of a row */
    static constexpr int ROWS = 2, ROW = 2 * TILE;              /* q and dout of a row */
    static constexpr int ROW_VALUES = RowTile<PAIRS>::BYTES;
    static constexpr int BIAS_BYTES = GROUPS * STEPS * BiasTile<Bias>::BYTES;
    static constexpr int HANDED = 64 * W * 4;
    static constexpr int FIXED =
        BIAS_BYTES + 2 * HANDED + ROWS * (ROW + ROW_VALUES + ROW_WORDS + 16) + 48 + ALIGNMENT;
    static constexpr int FIT = (SHARED_LIMIT - FIXED) / (STAGE + 16);
    static constexpr int STAGES = FIT > 4 ? 4 : FIT;
    static constexpr int QUERIES = STAGES * STAGE, VALUES = QUERIES + ROWS * ROW;
    static constexpr int BIAS = VALUES + ROWS * ROW_VALUES, HAND = BIAS + BIAS_BYTES;
    static constexpr int PASSED = HAND + HANDED, KEY_WORDS = PASSED + HANDED;
    static constexpr int BARRIERS = KEY_WORDS + ROWS * ROW_WORDS;
    static constexpr int ROW_BARRIERS = BARRIERS + 16 * STAGES;
    static constexpr int READY = ROW_BARRIERS + 16 * ROWS;    /* the bias is here */
    static constexpr int ARRIVED = READY + 8, TAKEN = READY + 16; /* see DqPassage */
    static constexpr int TARGET = (READY + 24 + 15) & ~15;
    static constexpr int SHARED = TARGET + 16 + ALIGNMENT;
    static_assert(STAGES >= 2 && STAGE % 512 == 0 && ROW % 512 == 0,
                  "rows overlap; swizzles are aligned");
};

/* Where a CTA is, but for its chunk, blockIdx.y. Its keys: tiles range, range + ranges, ...
 * of 64, the first 32 of each for the first warpgroup. Read afresh where it is needed: kept,
 * it would cost the inner loop four registers. */
struct Place {
    int tile, range, h, b;

    __device__ __forceinline__ Place(const TwopassQueries &a)
    {
        unsigned rest;
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(rest));
        range = (int)(rest % (unsigned)a.ranges);
        rest /= (unsigned)a.ranges;
        tile = (int)(rest % (unsigned)a.tiles);
        rest /= (unsigned)a.tiles;
        h = (int)(rest % (unsigned)a.H);
        b = (int)(rest / (unsigned)a.H);
    }
};

/* The rows that a cluster loops over: those of its chunk with a valid key. */
template <int STEPS, bool MASKED>
struct Rows {
    const uint64_t *all; /* words of row 0 */

    __device__ __forceinline__ Rows(const TwopassQueries &a, const Place &p) : all(nullptr)
    {
        if (MASKED)
            all = a.words + (size_t)(p.b * a.R) * word_stride(a.tiles);
    }
    __device__ __forceinline__ const uint64_t *words(const TwopassQueries &a, int r) const
    {
        return all + (size_t)r * word_stride(a.tiles);
    }
    /* Of key tile number u of a range. */
    __device__ __forceinline__ TileSource source(const TwopassQueries &a, int r, int range,
                                                 int u) const
    {
        const uint64_t *steps = words(a, r) + row_word(RowWord::STEPS, a.tiles);
        const unsigned kinds = reinterpret_cast<const uint16_t *>(steps)[range] >> (2 * u);
        return tile_source(kinds & 1, kinds & 2);
    }
    __device__ __forceinline__ uint64_t word(const TwopassQueries &a, int r,
                                             RowWord which) const
    {
        return words(a, r)[row_word(which, a.tiles)];
    }
    /* Read afresh, as Place. */
    __device__ __forceinline__ int end(const TwopassQueries &a) const
    {
        int chunk;
        asm volatile("mov.u32 %0, %%ctaid.y;" : "=r"(chunk));
        return min(a.R, (chunk + 1) * a.chunk_rows);
    }
    __device__ __forceinline__ int begin(const TwopassQueries &a) const
    {
        const int r = (int)blockIdx.y * a.chunk_rows;
        return MASKED && word(a, r, RowWord::LIVE) == 0 ? next(a, r) : r;
    }
    __device__ __forceinline__ int next(const TwopassQueries &a, int r) const
    {
        return MASKED ? (int)word(a, r, RowWord::NEXT) : r + 1;
    }
};

/* Steps of a row with `live` key tiles: whole grains, or all. */
template <int STEPS, int GRAIN>
__device__ __forceinline__ int steps_of(uint32_t live, int ranges)
{
    return min(STEPS, ((int)live + GRAIN * ranges - 1) / (GRAIN * ranges) * GRAIN);
}

/* One thread: q, dout, row values and key words of every row. */
template <int W, class Bias, int HALF, bool PAIRS, bool MASKED>
__device__ __forceinline__ void
copy_queries(const TwopassQueries &a, uint32_t start, const Rows<HALF / 32, MASKED> &rows)
{
    typedef Plan<W, Bias, HALF, PAIRS> P;
    const Place p(a);
    const int words = MASKED ? 8 * word_stride(a.tiles) : 0, query = 64 * p.tile;
    Ring<P::ROWS> ring = {start + P::ROW_BARRIERS, 0, 1};
    for (int r = rows.begin(a); r < rows.end(a); r = rows.next(a, r)) {
        const int plane = (p.b * a.R + r) * a.H + p.h;
        barrier_wait(ring.empty(), ring.parity);
        const uint32_t here = ring.full();
        const uint32_t row = start + P::QUERIES + ring.stage * P::ROW;
        barrier_expect(here, P::ROW + P::ROW_VALUES + words);
        copy_box(row, &a.q, query, plane, here);
        copy_box(row + P::TILE, &a.dout, query, plane, here);
        copy_bytes(start + P::VALUES + ring.stage * P::ROW_VALUES,
                   a.values + ((size_t)plane * a.tiles * 64 + query) * (P::ROW_VALUES / 256),
                   P::ROW_VALUES, here);
        if (MASKED)
            copy_bytes(start + P::KEY_WORDS + ring.stage * ROW_WORDS, rows.words(a, r), words,
                       here);
        ring.advance();
    }
}

/* One warp: the bias, then k and v of every row, each of its first lanes one key tile. */
template <int W, class Bias, int HALF, bool PAIRS, bool MASKED>
__device__ __forceinline__ void
copy_keys(const TwopassQueries &a, uint32_t start, const Rows<HALF / 32, MASKED> &rows)
{
    typedef Plan<W, Bias, HALF, PAIRS> P;
    constexpr int BLOCK = 2 * BiasTile<Bias>::BYTES;
    const int lane = (int)(threadIdx.x & 31);
    const Place p(a);
    const int tile = p.range + lane * a.ranges;
    const size_t row = (size_t)(p.b * a.H + p.h) * ((a.tiles + 1) & ~1) + p.tile;
    if (lane == 0)
        barrier_expect(start + P::READY, P::BIAS_BYTES);
    __syncwarp();
    if (lane < P::STEPS)
        copy_bytes(start + P::BIAS + lane * BLOCK,
                   a.bias + (row * a.key_tiles + tile) * BLOCK, BLOCK, start + P::READY);
    Ring<P::STAGES> ring = {start + P::BARRIERS, 0, 1};
    for (int r = rows.begin(a); r < rows.end(a); r = rows.next(a, r)) {
        TileSource from = TileSource::ALL;
        int steps = P::STEPS;
        if (MASKED) {
            from = rows.source(a, r, p.range, lane);
            steps = steps_of<P::STEPS, P::GRAIN>((uint32_t)rows.word(a, r, RowWord::LIVE),
                                                 a.ranges);
        }
        barrier_wait(ring.empty(), ring.parity);
        if (lane == 0)
            barrier_expect(ring.full(), 2 * steps * P::TILE);
        __syncwarp();
        if (lane < steps) {
            const uint32_t to = start + ring.stage * P::STAGE + lane * P::TILE;
            const int plane = (p.b * a.R + r) * a.H + p.h;
            const int key = 64 * (from == TileSource::NONE ? a.tiles : tile);
            const bool clean = from == TileSource::PART;
            copy_box(to, clean ? &a.clean_k : &a.k, key, plane, ring.full());
            copy_box(to + P::SIDE, clean ? &a.clean_v : &a.v, key, plane, ring.full());
        }
        ring.advance();
    }
}

} // namespace

#endif
