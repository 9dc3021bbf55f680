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
    const uint16_t *values;       /* row values */
    const uint64_t *words;        /* [B R][word_stride]; read when MASKED */
    void *dq;                     /* [B,R,H,N,D] or NULL */
    float *slabs;                 /* [chunks][B H][tiles 64][key_tiles 64] or NULL */
    uint32_t row_bytes;           /* of dq, a row r to the next */
    size_t slab_elements;
    gg_ta_chunks chunks;
    int R, H, N, D, tiles, key_tiles, ranges;
    float sc, c1; /* 1 / sqrt(D); a logit to units of log 2 */
    bool wide;    /* dq is FP32 */
    bool beside;  /* The grid before is the keys kernel: CTAs of both may run at once. What this
                   * one reads had been made when the first of those let it start. */
};

namespace {

template <int W, int HALF, bool PAIRS, bool MASKED>
struct Plan {
    static constexpr int GROUPS = 2, WARPS = 4 * GROUPS, THREADS = 128 * GROUPS + 128;
    static constexpr int STEPS = HALF / 32, TILE = 64 * W * 2;
    /* As measured: where dq stands among the products of a step; behind which step ptxas may not
     * move work; beside the products of which step dq of the row before is passed on (0: of none);
     * whether a register keeps this thread's place in a tile of q or dout. */
    static constexpr bool DQ_LAST = W < 64 && (MASKED || W == 16);
    static constexpr bool PLAIN = W < 64 && !PAIRS && !MASKED;
    static constexpr bool EARLY =
        PAIRS ? W == 32 && !MASKED : W == 16 && MASKED; /* behind the second step */
    static constexpr int CUT = W == 64 || (PLAIN && W == 32 && HALF < 192) ? 2
                               : PLAIN                                     ? 3
                               : EARLY                                     ? 1
                                                                           : STEPS /* none */;
    static constexpr int PASS = W == 64 || MASKED ? 0 : W == 32 && PAIRS ? 3 : 1;
    static constexpr bool KEEP_PLACE = W == 16 || (W == 32 && MASKED && !PAIRS);
    /* W = 64: dq as DqAtOnce has it, for shared memory, and q and dout not kept. */
    static constexpr bool AT_ONCE = W == 64;
    /* Steps of a stage: where a row may end after two, no more than that, and then the next rows'
     * q and dout come a row earlier. */
    static constexpr int PAGE = W == 64 ? 1 : PAIRS || MASKED ? ROW_GRAIN : (STEPS + 1) / 2;
    static constexpr int SIDE = PAGE * TILE, STAGE = 2 * SIDE; /* their k and v */
    /* q and dout of a row are taken into registers, if there are; else they, or dout alone, are
     * read where they lie, and stay a row. */
    static constexpr bool KEPT = W < 64 && (!PAIRS || MASKED);
    static constexpr bool Q_KEPT = KEPT || (W == 32 && PAIRS);
    static constexpr int ROWS = KEPT && !MASKED ? 1 : 2, ROW = 2 * TILE;
    /* Rows are counted from the chunk's first: where each is followed by the next, that needs no
     * register. */
    static constexpr bool FROM_BEGIN = !MASKED;
    static constexpr int WORD_ROWS = 2 * ROWS; /* whose words are here */
    static constexpr int WORDS = (RANGE_WORDS + 2) * 8, LIVE = RANGE_WORDS * 8;
    static constexpr int BIAS_BYTES = GROUPS * STEPS * BIAS_TILE;
    static constexpr int HANDED = 64 * W * 4; /* a buffer of dq */
    static constexpr int LAID = AT_ONCE ? 1 : 4, SENT = AT_ONCE ? 1 : 2; /* such buffers */
    static constexpr int FIXED = BIAS_BYTES + (LAID + SENT) * HANDED
                                 + ROWS * (ROW + ROW_VALUES + 16) + WORD_ROWS * WORDS + ONES_BYTES
                                 + 80;
    static constexpr int FIT = (SHARED_LIMIT - FIXED) / (STAGE + 16);
    static constexpr int STAGES = FIT > 6 ? 6 : FIT;
    static constexpr int QUERIES = STAGES * STAGE, VALUES = QUERIES + ROWS * ROW;
    static constexpr int BIAS = VALUES + ROWS * ROW_VALUES;
    static constexpr int ONES = BIAS + BIAS_BYTES; /* memcheck takes them for more */
    static constexpr int HAND = ONES + ONES_BYTES, PASSED = HAND + LAID * HANDED;
    static constexpr int KEY_WORDS = PASSED + SENT * HANDED;
    static constexpr int BARRIERS = KEY_WORDS + WORD_ROWS * WORDS;
    static constexpr int ROW_BARRIERS = BARRIERS + 16 * STAGES;
    static constexpr int READY = ROW_BARRIERS + 16 * ROWS; /* the bias is here */
    static constexpr int PASSAGE = READY + 8; /* four barriers, see DqPassage */
    static constexpr int TARGET = (PASSAGE + 32 + 15) & ~15; /* of dq */
    static constexpr int PLACE = TARGET + 16, SHARED = PLACE + 32;
    static_assert(STAGES >= 3 && STAGE % (16 * W) == 0 && ROW % (16 * W) == 0
                      && SHARED <= SHARED_LIMIT,
                  "pages overlap; swizzles are aligned");
};

/* The piece of work of a cluster. */
__device__ __forceinline__ gg_ta_piece piece_of_cluster(const TwopassQueries &a)
{
    int x, y;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(x));
    asm("mov.u32 %0, %%clusterid.y;" : "=r"(y));
    return gg_ta_twopass_piece(&a.chunks, x, y);
}

/* Where a CTA is. Its keys: tiles range, range + ranges, ... of 64, the first 32 of each for the
 * first warpgroup; its rows: begin .. end - 1, chunk number `chunk`. Found by one thread, and read
 * in shared memory where it is needed: kept, it would cost the inner loop registers. */
struct Place {
    int tile, plane, first, row; /* plane: b H + h; first, row: of row 0, of [B R H] and [B R] */
    int chunk, begin, end, range;

    static __device__ __forceinline__ Place find(const TwopassQueries &a, const gg_ta_piece &piece)
    {
        Place p;
        p.range = (int)cluster_rank();
        p.chunk = piece.chunk, p.begin = piece.begin, p.end = piece.end;
        p.tile = piece.tile % a.tiles, p.plane = piece.tile / a.tiles;
        p.row = p.plane / a.H * a.R, p.first = p.row * a.H + p.plane % a.H;
        return p;
    }
    __device__ __forceinline__ void put(uint32_t to) const
    {
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};\n\t"
                     "st.shared.v4.b32 [%0 + 16], {%5, %6, %7, %8};"
                     :
                     : "r"(to), "r"(tile), "r"(plane), "r"(first), "r"(row), "r"(chunk),
                       "r"(begin), "r"(end), "r"(range)
                     : "memory");
    }
    static __device__ __forceinline__ Place get(uint32_t from)
    {
        Place p;
        asm volatile("ld.volatile.shared.v4.b32 {%0, %1, %2, %3}, [%8];\n\t"
                     "ld.volatile.shared.v4.b32 {%4, %5, %6, %7}, [%8 + 16];"
                     : "=r"(p.tile), "=r"(p.plane), "=r"(p.first), "=r"(p.row), "=r"(p.chunk),
                       "=r"(p.begin), "=r"(p.end), "=r"(p.range)
                     : "r"(from));
        return p;
    }
};

/* The rows that a cluster loops over: those of its chunk with a valid key. */
template <bool MASKED>
struct Rows {
    const uint64_t *all; /* words of row 0 */
    int begin, end;

    __device__ __forceinline__ Rows(const TwopassQueries &a, const Place &p)
        : all(nullptr), begin(p.begin), end(p.end)
    {
        if (!MASKED)
            return;
        all = a.words + (size_t)p.row * word_stride(a.tiles);
        if (word(a, begin, RowWord::LIVE) == 0)
            begin = next(a, begin);
    }
    __device__ __forceinline__ const uint64_t *words(const TwopassQueries &a, int r) const
    {
        return all + (size_t)r * word_stride(a.tiles);
    }
    __device__ __forceinline__ uint64_t word(const TwopassQueries &a, int r,
                                             RowWord which) const
    {
        return words(a, r)[row_word(which, a.tiles)];
    }
    __device__ __forceinline__ int next(const TwopassQueries &a, int r) const
    {
        return MASKED ? (int)word(a, r, RowWord::NEXT) : r + 1;
    }
};

/* What the warp that copies k and v knows of a row, asked for a row ahead: four words, of which
 * each lane holds one. */
template <bool MASKED>
struct RowAhead {
    uint64_t word;

    template <class Rows>
    __device__ __forceinline__ void ask(const TwopassQueries &a, const Rows &rows, int r)
    {
        if (MASKED)
            word = rows.words(a, r)[row_word(RowWord::WHOLE, a.tiles) + (threadIdx.x & 3)];
    }
    __device__ __forceinline__ uint64_t get(RowWord which) const
    {
        return __shfl_sync(0xffffffffu, word, (int)which);
    }
};

/* One thread: q, dout, row values and key words of every row. */
template <int W, int HALF, bool PAIRS, bool MASKED>
__device__ __forceinline__ void
copy_queries(const TwopassQueries &a, uint32_t start)
{
    typedef Plan<W, HALF, PAIRS, MASKED> P;
    const Place p = Place::get(start + P::PLACE);
    const Rows<MASKED> rows(a, p);
    const int words = MASKED ? P::WORDS : 0, query = 64 * p.tile;
    Ring<P::ROWS> ring = {start + P::ROW_BARRIERS, 0, 1};
    uint32_t done = 0;
    for (int r = rows.begin, next; r < rows.end; r = next) {
        const int plane = p.first + r * a.H;
        next = rows.next(a, r); /* asked for before the wait */
        barrier_wait(ring.empty(), ring.parity);
        const uint32_t here = ring.full();
        const uint32_t row = start + P::QUERIES + ring.stage * P::ROW;
        barrier_expect(here, P::ROW + ROW_VALUES + words);
        copy_box(row, &a.q, query, plane, here);
        copy_box(row + P::TILE, &a.dout, query, plane, here);
        copy_bytes(start + P::VALUES + ring.stage * ROW_VALUES,
                   a.values + ((size_t)plane * a.tiles + p.tile) * (ROW_VALUES / 2), ROW_VALUES,
                   here);
        if (MASKED && next < rows.end) { /* a row of few keys is over before a copy is there */
            prefetch_box(&a.q, query, plane + (next - r) * a.H);
            prefetch_box(&a.dout, query, plane + (next - r) * a.H);
        }
        if (MASKED) {
            const uint32_t to = start + P::KEY_WORDS + done++ % P::WORD_ROWS * P::WORDS;
            copy_bytes(to, rows.words(a, r) + range_words(a.tiles) + RANGE_WORDS * p.range,
                       P::LIVE, here);
            copy_bytes(to + P::LIVE, rows.words(a, r) + row_word(RowWord::LIVE, a.tiles),
                       P::WORDS - P::LIVE, here);
        }
        ring.advance();
    }
}

/* One warp: the bias, then k and v of every row, each of its first lanes one key tile. */
template <int W, int HALF, bool PAIRS, bool MASKED>
__device__ __forceinline__ void
copy_keys(const TwopassQueries &a, uint32_t start)
{
    typedef Plan<W, HALF, PAIRS, MASKED> P;
    const Rows<MASKED> rows(a, Place::get(start + P::PLACE));
    constexpr int BLOCK = 2 * BIAS_TILE;
    const int lane = (int)(threadIdx.x & 31);
    if (lane == 0)
        barrier_expect(start + P::READY, P::BIAS_BYTES);
    __syncwarp();
    if (lane < P::STEPS) {
        const Place p = Place::get(start + P::PLACE);
        const size_t row = (size_t)p.plane * ((a.tiles + 1) & ~1) + p.tile;
        copy_bytes(start + P::BIAS + lane * BLOCK,
                   a.bias + (row * a.key_tiles + p.range + lane * a.ranges) * BLOCK, BLOCK,
                   start + P::READY);
    }
    Ring<P::STAGES> ring = {start + P::BARRIERS, 0, 1};
    int r = rows.begin, next;
    RowAhead<MASKED> ahead;
    if (r < rows.end)
        ahead.ask(a, rows, r);
    for (; r < rows.end; r = next) {
        int steps = P::STEPS;
        uint64_t whole = ~0ull, part = 0;
        next = r + 1;
        if (MASKED) {
            steps = (int)(ahead.get(RowWord::LIVE) >> 32);
            whole = ahead.get(RowWord::WHOLE), part = ahead.get(RowWord::PART);
            next = (int)ahead.get(RowWord::NEXT);
            if (next < rows.end)
                ahead.ask(a, rows, next);
        }
        for (int first = 0; first < steps; first += P::PAGE, ring.advance()) {
            const int count = min(P::PAGE, steps - first);
            const Place p = Place::get(start + P::PLACE);
            const int tile = p.range + (first + lane) * a.ranges;
            TileSource from = TileSource::ALL;
            if (MASKED) /* beyond the last tile both bits are zero */
                from = tile_source(whole >> tile & 1, part >> tile & 1);
            barrier_wait(ring.empty(), ring.parity);
            if (lane == 0)
                barrier_expect(ring.full(), 2 * count * P::TILE);
            __syncwarp();
            if (lane < count) {
                const uint32_t to = start + ring.stage * P::STAGE + lane * P::TILE;
                const int plane = p.first + r * a.H;
                const int key = 64 * (from == TileSource::NONE ? a.tiles : tile);
                const bool clean = from == TileSource::PART;
                copy_box(to, clean ? &a.clean_k : &a.k, key, plane, ring.full());
                copy_box(to + P::SIDE, clean ? &a.clean_v : &a.v, key, plane, ring.full());
            }
        }
    }
}

} // namespace

#endif
