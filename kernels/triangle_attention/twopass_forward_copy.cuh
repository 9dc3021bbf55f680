/* SPDX-License-Identifier: Apache-2.0
 * The forward kernel of `twopass` and `split`: its arguments, its shared memory, the key tiles
 * it walks, and the copies that feed it. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_FORWARD_COPY_CUH
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_FORWARD_COPY_CUH

#include "kernels/triangle_attention/twopass_device.cuh"

namespace {

struct Forward {
    CUtensorMap q, k, v;
    CUtensorMap clean_k, clean_v; /* of key tiles that are valid in part */
    const char *bias;                 /* bias tiles, rows are queries */
    const uint64_t *words;            /* [B R][word_stride] */
    const int *order;                 /* [B R], rows in order of work, or NULL */
    uint16_t *o;                      /* [B,R,H,N,D] or NULL */
    void *beyond;                     /* likewise, in bytes without pairs */
    float *m, *inv;                   /* [B,R,H,N] */
    int R, H, N, D, tiles, key_tiles; /* key_tiles: of a row of bias tiles */
    int blocks, row_groups, items;    /* of 128 queries; of rows; pieces of work */
    int fellows;                      /* see Piece */
    uint32_t *again; /* [0]: is a piece of work to be taken again? [1 + item]: is this one? */
    float c1, rc1, growth;            /* a logit to units of log 2, and back; GROWTH sqrt(D) */
};

/* What a launch makes of its pieces of work. Without pairs all are taken first with the maxima of
 * one key tile; then those with a row that these do not fit, again, with maxima that move. */
enum class Pass { PAIRS, FIRST, AGAIN };

/* Is a piece of work one of the launch's? A cluster's CTAs have the same answer. */
template <Pass PASS>
__device__ __forceinline__ bool is_taken(const Forward &a, int item)
{
    return PASS != Pass::AGAIN || a.again[1 + item] != 0;
}

template <int W>
struct Plan {
    static constexpr int ROWS = W == 64 ? 2 : 3, WARPS = 4 * ROWS, THREADS = 128 * ROWS + 128;
    static constexpr int THREADS_SOFT = 128 * ROWS; /* those that compute */
    static constexpr int TILE = 64 * W * 2, BLOCK = 2 * BIAS_TILE;
    static constexpr int STAGE = ROWS * 2 * TILE + 2 * BLOCK;
    static constexpr int STAGES = W == 16 ? 4 : 3;
    static constexpr int QUERY_STAGES = W == 64 ? 1 : 2, QUERY_STAGE = 2 * ROWS * TILE;
    static constexpr int QUERIES = STAGES * STAGE;
    static constexpr int ONES = QUERIES + QUERY_STAGES * QUERY_STAGE;
    static constexpr int ONES_BYTES = 16 * 2 * (W == 16 ? 32 : W); /* 16 rows of a tile, or two */
    static constexpr int MAXIMA = ONES + ONES_BYTES; /* with pairs, W = 32 */
    static constexpr int MAXIMA_BYTES = W == 32 ? 4 * THREADS_SOFT : 0; /* 16 for four threads */
    static constexpr int SUMS = MAXIMA + MAXIMA_BYTES; /* likewise */
    static constexpr int KEY_WORDS = SUMS + (W == 32 ? 16 * THREADS_SOFT : 0);
    /* A Walk a stage of q, and an Origin a row. */
    static constexpr int WALK = ROWS * ROW_WORDS;
    static constexpr int BARRIERS = KEY_WORDS + QUERY_STAGES * WALK;
    static constexpr int QUERY_BARRIERS = BARRIERS + 16 * STAGES;
    static constexpr int ORIGINS = QUERY_BARRIERS + 16 * QUERY_STAGES;
    static constexpr int COUNTS = ORIGINS + QUERY_STAGES * ROWS * 8;
    static constexpr int SHARED = COUNTS + QUERY_STAGES * ROWS * 4;
    /* Where there are no key words: with pairs, W = 32; of copy_bias(). */
    static constexpr int THRESHOLDS = KEY_WORDS, FREE_BARRIERS = THRESHOLDS + MAXIMA_BYTES;
    static_assert(MAXIMA_BYTES + 8 * STAGES <= QUERY_STAGES * WALK, "and these fit there");
    static_assert(ONES % (16 * W) == 0, "and what is swizzled is aligned");
    static_assert(SHARED <= SHARED_LIMIT && TILE % (16 * W) == 0, "fits; swizzles are aligned");
};

/* Where the maxima of rows g, g + 8 are of a thread whose row sums are at a shared address: four
 * threads have 16 bytes, laid out as the row sums of each. */
template <int W>
__device__ __forceinline__ uint32_t maxima(uint32_t sums)
{
    typedef Plan<W> P;
    const uint32_t x = sums - (shared_start() + P::SUMS); /* 16 thread + 8 block */
    return shared_start() + P::MAXIMA + ((x >> 2 & ~15u) | (x & 8));
}

/* Which rows a warpgroup has, from the copying thread, which has time to divide for it. */
struct Origin {
    size_t first; /* index in [B,R,H,N] of the first query */
    int count;    /* of queries from there to N; 0 beyond the last row */

    __device__ __forceinline__ Origin(size_t first, int count) : first(first), count(count) {}
    /* Of number i: stage of q, and row. */
    template <class Plan>
    static __device__ __forceinline__ Origin read(uint32_t start, int i)
    {
        uint64_t first;
        asm volatile("ld.shared.b64 %0, [%1];"
                     : "=l"(first)
                     : "r"(start + Plan::ORIGINS + 8 * i));
        return Origin(first, (int)load_shared_word(start + Plan::COUNTS + 4 * i));
    }
    template <class Plan>
    __device__ __forceinline__ void write(uint32_t start, int i) const
    {
        asm volatile("st.shared.b64 [%0], %1;"
                     :
                     : "r"(start + Plan::ORIGINS + 8 * i), "l"(first)
                     : "memory");
        asm volatile("st.shared.b32 [%0], %1;"
                     :
                     : "r"(start + Plan::COUNTS + 4 * i), "r"(count)
                     : "memory");
    }
};

/* The key tiles of a piece of work, with pairs ascending, without from its queries' own on and then
 * those before: all, or those with a valid key in one of its rows, whose words are at a shared
 * address, ROW_WORDS bytes a row. Steps t of the walk are counted, in bits too, from its first. */
template <bool MASKED, Pass PASS>
struct Walk {
    static constexpr bool TURNED = PASS != Pass::PAIRS;
    uint32_t words;
    int from; /* the first tile */
    uint64_t alive; /* bit t, its tile has a valid key */
    uint64_t whole; /* bit t, all keys of its tile are valid in the row of a computing thread */
    int opening;    /* the first step with a valid key of that row; -1: it has none */

    __device__ __forceinline__ Walk(uint32_t words, int block)
        : words(words), from(TURNED ? 2 * block : 0), alive(0), whole(0), opening(0)
    {
    }
    __device__ __forceinline__ int tile(int t, int tiles) const
    {
        const int ahead = t + from;
        return TURNED && ahead >= tiles ? ahead - tiles : ahead;
    }
    __device__ __forceinline__ uint64_t turned(uint64_t bits, int tiles) const
    {
        if (!TURNED || from == 0)
            return bits;
        return (bits >> from | bits << (tiles - from)) & ((1ull << tiles) - 1);
    }
    /* Once the words are there. One thread, or all of a warp. */
    template <int ROWS>
    __device__ __forceinline__ void start(int tiles)
    {
#pragma unroll
        for (int i = 0; i < 2 * ROWS; i++) {
            const int t = row_word(i < ROWS ? RowWord::WHOLE : RowWord::PART, tiles);
            alive |= (uint64_t)word(i % ROWS, t, 1) << 32 | word(i % ROWS, t, 0);
        }
        alive = turned(alive, tiles);
    }
    /* All threads of a computing warp: makes it known that they have the same. */
    __device__ __forceinline__ void join(int row, int tiles)
    {
        alive = __shfl_sync(0xffffffffu, alive, 0);
        const uint64_t of_row = turned(tiles_of_row(row, RowWord::WHOLE, tiles), tiles);
        whole = __shfl_sync(0xffffffffu, of_row, 0);
        const uint64_t any = whole | turned(tiles_of_row(row, RowWord::PART, tiles), tiles);
        opening = __shfl_sync(0xffffffffu, __ffsll((long long)any) - 1, 0);
    }
    __device__ __forceinline__ uint64_t tiles_of_row(int i, RowWord which, int tiles) const
    {
        const int t = row_word(which, tiles);
        return (uint64_t)word(i, t, 1) << 32 | word(i, t, 0);
    }
    /* Does the tile of step t have an invalid key, which whoever computes must look for? */
    __device__ __forceinline__ bool cut(int t) const
    {
        return !(whole >> t & 1);
    }
    /* Valid keys 32 half .. + 31 of tile t, row i. */
    __device__ __forceinline__ uint32_t word(int i, int t, int half) const
    {
        return load_shared_word(words + i * ROW_WORDS + 8 * t + 4 * half);
    }
    /* The same of the row that a computing thread has. */
    __device__ __forceinline__ uint32_t mine(int t, int half) const
    {
        return __shfl_sync(0xffffffffu, word((int)(thread_now() >> 7), t, half), 0);
    }
    __device__ __forceinline__ TileSource source(int i, int t, int tiles) const
    {
        const uint32_t whole = word(i, row_word(RowWord::WHOLE, tiles), t >> 5);
        const uint32_t part = word(i, row_word(RowWord::PART, tiles), t >> 5);
        return tile_source(whole >> (t & 31) & 1, part >> (t & 31) & 1);
    }
    /* Where no tile has a valid key the first one is as good as any. */
    __device__ __forceinline__ int first(int tiles) const
    {
        const int t = next(0, tiles);
        return MASKED && t == tiles ? 0 : t;
    }
    __device__ __forceinline__ int next(int t, int tiles) const
    {
        if (!MASKED)
            return t;
        const int ahead = __ffsll((long long)(alive >> t));
        return ahead == 0 ? tiles : t + ahead - 1;
    }
};

template <int W, Pass PASS, bool MASKED>
__device__ __forceinline__ void copy_tiles(const Forward &a, uint32_t start)
{
    typedef Plan<W> P;
    Ring<P::STAGES> ring = {start + P::BARRIERS, 0, 1};
    Ring<P::QUERY_STAGES> queries = {start + P::QUERY_BARRIERS, 0, 1};
    constexpr int fellows = FELLOWS<MASKED>;
    for (int item = first_piece(fellows); item < a.items; item += pieces_at_a_time(fellows)) {
        if (!is_taken<PASS>(a, item))
            continue;
        const Piece<P::ROWS> p(a, item);
        const char *bias =
            a.bias
            + ((size_t)(p.b * a.H + p.h) * (2 * a.blocks) + 2 * p.block) * a.key_tiles
                  * P::BLOCK;
        const int words = MASKED ? 8 * row_word(RowWord::LIVE, a.tiles) : 0;
        Walk<MASKED, PASS> walk(start + P::KEY_WORDS + queries.stage * P::WALK, p.block);
        barrier_wait(queries.empty(), queries.parity);
        order_copies(); /* results have passed through this stage */
        for (int i = 0; i < P::ROWS; i++)
            Origin(((size_t)(p.b * a.R + p.row(a, i)) * a.H + p.h) * a.N + 128 * p.block,
                   i < p.rows ? a.N - 128 * p.block : 0)
                .template write<P>(start, P::ROWS * queries.stage + i);
        barrier_expect(queries.full(), P::QUERY_STAGE + P::ROWS * words);
        for (int i = 0; MASKED && i < P::ROWS; i++)
            copy_bytes(walk.words + i * ROW_WORDS,
                       a.words + (size_t)(p.b * a.R + p.row(a, i)) * word_stride(a.tiles), words,
                       queries.full());
        for (int i = 0; i < 2 * P::ROWS; i++)
            copy_box(start + P::QUERIES + queries.stage * P::QUERY_STAGE + i * P::TILE,
                     &a.q, 128 * p.block + 64 * (i & 1),
                     (p.b * a.R + p.row(a, i / 2)) * a.H + p.h, queries.full());
        if (MASKED) {
            barrier_wait(queries.full(), queries.parity ^ 1);
            walk.template start<P::ROWS>(a.tiles);
        }
        queries.advance();
        int plane[P::ROWS];
#pragma unroll
        for (int i = 0; i < P::ROWS; i++)
            plane[i] = (p.b * a.R + p.row(a, i)) * a.H + p.h;
        for (int t = walk.first(a.tiles); t < a.tiles;
             t = walk.next(t + 1, a.tiles), ring.advance()) {
            const int tile = walk.tile(t, a.tiles);
            barrier_wait(ring.empty(), ring.parity);
            const uint32_t full = ring.full(), to = start + ring.stage * P::STAGE;
            barrier_expect(full, P::STAGE);
#pragma unroll
            for (int i = 0; i < P::ROWS; i++) {
                const TileSource from =
                    MASKED ? walk.source(i, tile, a.tiles) : TileSource::ALL;
                const int key = 64 * (from == TileSource::NONE ? a.tiles : tile);
                const bool clean = from == TileSource::PART;
                copy_box(to + 2 * i * P::TILE, clean ? &a.clean_k : &a.k, key, plane[i], full);
                copy_box(to + (2 * i + 1) * P::TILE, clean ? &a.clean_v : &a.v, key, plane[i],
                         full);
            }
            copy_bias(fellows, to + 2 * P::ROWS * P::TILE, bias + (size_t)tile * P::BLOCK,
                      (size_t)a.key_tiles * P::BLOCK, ring, start + P::FREE_BARRIERS);
        }
    }
}

} // namespace

#endif
