/* SPDX-License-Identifier: Apache-2.0
 * What the kernels of `twopass` and `split` share: memory, layouts, and the stages that
 * the .cu files bring. README.md, "twopass and split", is the contract. Bias tiles, words and
 * order are made by forward and kept among the saved tensors, the rest is workspace.
 *
 *   bias tiles   FP32, 64 x 32 in accumulator order: [piece][thread of a warpgroup][4], so
 *                that a thread's loads are what the product of q and k is added to, a warp's
 *                meet no bank twice, and one bulk copy brings a tile. Lowered, times sqrt(D);
 *                -infinity where query or key lie beyond N, so that tails cost nothing in the
 *                kernels. Padded to what a CTA reads.
 *   row values   [B R H][query tiles][64][8] BF16: what is taken off the scores and dP of a
 *                query in pieces (twopass_row.h); 0 beyond N.
 *   words        [B R][word_stride] of 64 bits: the valid keys of each key tile of a row, up
 *                to an even number of tiles; four more, see RowWord; the valid keys again by
 *                key range, six tiles each.
 *   order        [B R]: rows in descending order of `live`, so that rows which are worked
 *                on together take the same time. Neither when every key is valid.
 *   slabs        [chunks][B H][64 tiles][64 padded tiles] FP32: dbias of each row chunk,
 *                [query][key]. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_CUH
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_CUH

#include "kernels/triangle_attention/problem.cuh"
#include "kernels/triangle_attention/twopass_chunks.h"

/* Where the parts start; those that a call does not need are empty. */
struct TwopassSpace {
    void *bias, *bias_turned;    /* bias tiles: rows are queries; rows are keys */
    uint64_t *words;             /* bit j, key j of the tile is valid */
    uint64_t *alive;             /* [B][tiles], the same for any row of b */
    uint16_t *k, *v;             /* bf16 [B,R,H,N,D]: key tiles that are valid in part, with
                                  * rows of invalid keys zero; the others are not filled */
    int *order;
    uint32_t *again;             /* [again_words]: pieces of work that forward takes again */
    uint16_t *rows;              /* row values */
    float *slabs;
};

/* Extents in tiles. Forward CTAs take two query tiles, key CTAs two key tiles. */
struct TwopassTiles {
    int tiles; /* of 64 queries or keys */
    int even;  /* the same, rounded up to an even number */
    int keys;  /* key tiles padded to whole ranges */
    int half, ranges;
    size_t again_words; /* one, and one for each piece of work, or more */
};

/* Which of the two kernels asks, and what is switched on. */
struct TwopassKind {
    bool wide;  /* split: delta in binary64 */
    bool pairs; /* of the direction at hand */
};

/* Columns that tiles of q, k, v and dout are padded to. */
static inline int twopass_columns(int D)
{
    return D <= 16 ? 16 : D <= 32 ? 32 : 64;
}

static inline TwopassTiles twopass_tiles(const gg_ta_call &u)
{
    TwopassTiles t;
    t.tiles = (int)tiles_of(u);
    t.even = (t.tiles + 1) & ~1;
    t.half = gg_ta_twopass_half(u.N, u.D);
    t.ranges = gg_ta_twopass_ranges(u.N, u.D);
    t.keys = t.ranges * 2 * t.half / GG_TA_TILE;
    t.again_words = plus(1, times(times(bias_planes_of(u), (size_t)t.even / 2), (size_t)u.R));
    return t;
}

/* twopass_prepare.cu. Forward: bias tiles and key words. Both directions: k and v without
 * invalid keys. Backward: the ordered sum of dbias behind the tile kernels. */
cudaError_t gg_ta_twopass_prepare(const gg_ta_call &u, const TwopassSpace &space);
cudaError_t gg_ta_twopass_sanitise(const gg_ta_call &u, const TwopassSpace &space);
cudaError_t gg_ta_twopass_sum_dbias(const gg_ta_call &u, const TwopassSpace &space);

/* twopass_rows.cu. Backward: row values before the tile kernels, with dq of rows that have no
 * key. wide: delta in binary64. */
cudaError_t gg_ta_twopass_rows(const gg_ta_call &u, const gg_ta_twopass_saved &saved,
                               const TwopassSpace &space, bool wide);

#ifdef __CUDACC__
/* The words of a row behind those of its tiles:
 *   WHOLE, PART  bit t: of key tile t all keys are valid; some but not all
 *   LIVE         key tiles up to the last valid key; in the upper half, steps that the queries
 *                kernel takes through them
 *   NEXT         the next row with a valid key, or R */
enum class RowWord { WHOLE = 0, PART = 1, LIVE = 2, NEXT = 3 };

enum {
    ROW_GRAIN = 2,   /* a row ends after so many steps of a warpgroup, or a multiple: for the
                      * parity of steps, and because the bias of two is loaded ahead */
    RANGE_WORDS = 6, /* key tiles of a range, at most */
    MAX_RANGES = GG_TA_TWOPASS_RANGES
};

__host__ __device__ __forceinline__ int row_word(RowWord which, int tiles)
{
    return ((tiles + 1) & ~1) + (int)which;
}

/* Where the words by range start; all but them are the first so many. Even: 16 bytes. */
__host__ __device__ __forceinline__ int range_words(int tiles)
{
    return row_word(RowWord::NEXT, tiles) + 1;
}

__host__ __device__ __forceinline__ int word_stride(int tiles)
{
    return range_words(tiles) + RANGE_WORDS * MAX_RANGES;
}

/* The word of a key tile whose keys are all valid. */
__device__ __forceinline__ uint64_t whole_tile(int tile, int N)
{
    const int keys = N - GG_TA_TILE * tile;
    return keys >= GG_TA_TILE ? ~0ull : (1ull << keys) - 1;
}

/* Row number i of b in descending order of `live`; without that list, row i. */
__device__ __forceinline__ int ordered_row(const int *order, int b, int R, int i)
{
    return order ? order[(size_t)b * R + i] : i;
}
#endif

/* The three tile kernels; `pairs`: P and dS enter the tensor cores as high + low pairs. */
cudaError_t gg_ta_twopass_forward(const gg_ta_call &u, const gg_ta_twopass_saved &saved,
                                  const TwopassSpace &space, bool pairs);
cudaError_t gg_ta_twopass_keys(const gg_ta_call &u, const TwopassSpace &space, bool pairs);
cudaError_t gg_ta_twopass_queries(const gg_ta_call &u, const TwopassSpace &space,
                                  bool pairs);
cudaError_t gg_ta_split_queries(const gg_ta_call &u, const TwopassSpace &space);

/* Whole directions, and what both kernels decline. twopass_call.cu. */
const char *gg_ta_twopass_supports(const gg_call *call);
size_t gg_ta_twopass_workspace(const gg_call *call);
size_t gg_ta_twopass_saved_bytes(const gg_call *call);
int gg_ta_twopass_run_forward(const gg_call *call, TwopassKind kind);
int gg_ta_twopass_run_backward(const gg_call *call, TwopassKind kind);

#endif
