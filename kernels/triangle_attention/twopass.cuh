/* SPDX-License-Identifier: Apache-2.0
 * What the kernels of `twopass` and `split` share: workspace, layouts, and the stages that
 * the .cu files bring. README.md, "twopass and split", is the contract.
 *
 *   bias tiles   64 x 32 in accumulator order: [piece][thread of a warpgroup][16 bytes], a
 *                piece four FP32 or eight BF16 of the thread's 16, so that a warp's loads
 *                meet no bank twice and one bulk copy brings a tile. The values
 *                themselves; -infinity where query or key lie beyond N, so that tails cost
 *                nothing in the kernels. Padded to what a CTA reads.
 *   row values   [B R H][query tiles][3][64] FP32: nm, inv, nid of README.md; 0 beyond N.
 *   parts        [ranges][B,R,H,N,D] FP32: dq of each key range (twopass_parts).
 *   slabs        [chunks][B H][64 tiles][64 padded tiles] FP32: dbias of each row chunk,
 *                [query][key]. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_CUH
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_CUH

#include "kernels/triangle_attention/problem.cuh"
#include "kernels/triangle_attention/twopass_plan.h"

/* Where the parts of the workspace start; a part that a call does not need is NULL. */
struct TwopassSpace {
    void *bias, *bias_turned;    /* bias tiles: rows are queries; rows are keys */
    uint64_t *words;             /* [B R][key tiles]: bit j, key j of the tile is valid */
    uint16_t *k, *v;             /* bf16 [B,R,H,N,D], rows of invalid keys zero */
    float *rows, *parts, *slabs; /* row values, parts, slabs */
};

/* Extents in tiles. Forward CTAs take two query tiles, key CTAs two key tiles. */
struct TwopassTiles {
    int tiles; /* of 64 queries or keys */
    int even;  /* the same, rounded up to an even number */
    int keys;  /* key tiles padded to whole ranges of dq */
    int half, ranges, chunk_rows, chunks;
};

static inline TwopassTiles twopass_tiles(const gg_ta_call &u)
{
    TwopassTiles t;
    t.tiles = (int)tiles_of(u);
    t.even = (t.tiles + 1) & ~1;
    t.half = gg_ta_twopass_half(u.N);
    t.ranges = gg_ta_twopass_ranges(u.N);
    t.keys = t.ranges * 2 * t.half / GG_TA_TILE;
    t.chunk_rows = gg_ta_twopass_chunk_rows(u.B, u.R, u.H, u.N);
    t.chunks = gg_ta_twopass_chunk_count(u.B, u.R, u.H, u.N);
    return t;
}

/* Parts of dq in the workspace: one a range; none when a CTA knows dq alone and misses no
 * row, that is with one range and every key valid. */
static inline int twopass_parts(const gg_ta_call &u, const TwopassTiles &t)
{
    return t.ranges == 1 && u.keys == GG_TA_KEYS_ALL ? 0 : t.ranges;
}

/* Lays the workspace out, or with base NULL counts its bytes. */
size_t gg_ta_twopass_space(const gg_ta_call &u, bool backward, void *base,
                           TwopassSpace &space);

/* twopass_prepare.cu. Both directions: bias tiles, key words, k and v without invalid keys
 * (space.k and space.v are the call's own when every key is valid). Backward: row values
 * before the tiles, the ordered sums of dq and dbias after. */
cudaError_t gg_ta_twopass_prepare(const gg_ta_call &u, bool backward, TwopassSpace &space);
cudaError_t gg_ta_twopass_bias(const gg_ta_call &u, void *tiles, bool turned);
cudaError_t gg_ta_twopass_rows(const gg_ta_call &u, const TwopassSpace &space);
cudaError_t gg_ta_twopass_sum_dq(const gg_ta_call &u, const TwopassSpace &space);
cudaError_t gg_ta_twopass_sum_dbias(const gg_ta_call &u, const TwopassSpace &space);

/* The three tile kernels; `pairs`: P and dS enter the tensor cores as high + low pairs. */
cudaError_t gg_ta_twopass_forward(const gg_ta_call &u, const TwopassSpace &space,
                                  bool pairs);
cudaError_t gg_ta_twopass_keys(const gg_ta_call &u, const TwopassSpace &space, bool pairs);
cudaError_t gg_ta_twopass_queries(const gg_ta_call &u, const TwopassSpace &space,
                                  bool pairs);
cudaError_t gg_ta_split_queries(const gg_ta_call &u, const TwopassSpace &space);

/* Whole directions, and what both kernels decline. twopass_call.cu. */
const char *gg_ta_twopass_supports(const gg_call *call);
size_t gg_ta_twopass_workspace(const gg_call *call);
int gg_ta_twopass_run_forward(const gg_call *call, bool pairs);
int gg_ta_twopass_run_backward(const gg_call *call, bool pairs);

#endif
