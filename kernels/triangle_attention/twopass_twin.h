/* SPDX-License-Identifier: Apache-2.0
 * Parts of the host twins of `twopass` and `split`. README.md is the contract. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_TWIN_H
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_TWIN_H

#include "kernels/arithmetic/lanes.h"
#include "kernels/triangle_attention/twopass_chunks.h"

enum {
    GG_TA_STEP = 32
}; /* keys of a backward tile: halves of ranges are multiples of it */

/* Memory of one worker. Np, Dp: N and D up to a multiple of 16; padding is zero. */
typedef struct gg_ta_pair_scratch {
    size_t Np, Dp;
    uint32_t *valid, *all;           /* [Np], all ones for a valid key, else 0; [64] ones */
    gg_decoded q, k, v, dout;        /* [Np][Dp] */
    gg_decoded qT, kT, vT, doutT;    /* [Dp][Np] */
    gg_decoded p, p_low, ds, ds_low; /* [64][64], P and dS rounded, and what that lost */
    gg_decoded dq_ds;                /* [64][64], without pairs: the dS of dq and dbias, rounded */
    gg_decoded ones;                 /* [64][16] */
    gg_decoded taken, takers;        /* [64][16] row pieces of a query tile; [16][64] their ones */
    float *s, *dp, *whole;           /* [64][64]; the last: scores from which nothing is taken */
    float *shift;                    /* [64] what their exponents are shifted by */
    float *line;                     /* [64] of one query */
    float *sums;                     /* [64][16], row sums of a tile; all columns equal */
    float *acc;                      /* [Np][Dp], dq; forward: O of one query tile */
    float *part;         /* [64][Dp], forward with pairs: a tile's part of O */
    float *first, *half; /* [Np][Dp], dq of the first half; of the one at hand */
    float *dvT, *dkT;    /* [Dp][64] */
    float *delta, *y, *chain; /* [Np] */
    double *wide; /* [D / 8] chains of delta of one query */
    uint16_t *narrow;    /* [Np or 64] */
} gg_ta_pair_scratch;

typedef struct gg_ta_pair_twin {
    gg_ta_call call;
    const gg_lanes *lanes;
    gg_ta_twopass_saved saved;
    gg_ta_chunks chunks;
    int pairs, wide; /* of the direction at hand; delta in binary64 */
    char *workers; /* memory of each worker */
    size_t worker_bytes;
    float *lowered; /* [B][H][N]: by what the bias of a query is lowered */
    float *slabs;   /* [B][H][gg_ta_twopass_slabs()][N][N] */
} gg_ta_pair_twin;

static inline size_t gg_ta_pair_pad(size_t n)
{
    return (n + GG_LANES - 1) / GG_LANES * GG_LANES;
}

static inline size_t gg_ta_pair_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Number of the query tile of query i, of all b and h. */
static inline int gg_ta_pair_tile(const gg_ta_pair_twin *twin, size_t bh, size_t i)
{
    size_t tiles = ((size_t)twin->call.N + GG_TA_TILE - 1) / GG_TA_TILE;
    return (int)(bh * tiles + i / GG_TA_TILE);
}

/* twopass_twin_operands.c. Offset of (b, r, h, 0) in [B,R,H,N]; times D in [B,R,H,N,D]. */
size_t gg_ta_pair_offset(const gg_ta_call *call, int b, int r, int h);
void gg_ta_pair_load_valid(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, int b,
                           int r);
int gg_ta_pair_is_live(const gg_ta_pair_scratch *s, size_t first, size_t count);
/* [N][D] as rows, and transposed. With mask_keys, rows of invalid keys read as zero. */
void gg_ta_pair_load_rows(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s,
                          gg_decoded *to, const uint16_t *from, int mask_keys);
void gg_ta_pair_load_columns(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s,
                             gg_decoded *to, const uint16_t *from, int mask_keys);
gg_decoded gg_ta_pair_part(const gg_decoded *whole, size_t row, size_t column);
void gg_ta_pair_clear_rows(gg_decoded *tile, size_t from, size_t to, size_t columns);
/* The output's own rounding; the GPU's NaN for any NaN. */
void gg_ta_pair_store(void *to, int f32, size_t index, float value);

/* One (b, r, h). twopass_twin_forward.c, twopass_twin_backward.c */
void gg_ta_pair_forward(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *scratch, int b,
                        int r, int h);
void gg_ta_pair_backward(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *scratch, int b,
                         int r, int h);

/* twopass_twin.c. chain(c; a, b) in steps of 16, with pairs high then low in each; low is
 * NULL without pairs. */
void gg_ta_pair_chain(const gg_ta_pair_twin *twin, float *c, size_t ldc,
                      const gg_decoded *high, const gg_decoded *low, const gg_decoded *b,
                      size_t rows, size_t columns, size_t steps);
/* x = mul(sub(bias_ij, lowered_i), sqrt(D)) of query i, for `count` keys from `first`; zero
 * beyond N. */
void gg_ta_pair_bias(const gg_ta_pair_twin *twin, float *x, int b, int h, size_t i,
                     size_t first, size_t count);
/* x = -infinity at an invalid key */
void gg_ta_pair_mask(float *x, const uint32_t *valid, size_t n);
/* x = ex2(fma(x, c1, nm)) */
void gg_ta_pair_weights(const gg_ta_pair_twin *twin, const gg_ta_pair_scratch *scratch,
                        float *x, float nm, size_t n);
/* Row i of `high` = bf(x), of `low` = bf(sub(x, high)), the latter only with pairs. */
void gg_ta_pair_round(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *scratch,
                      const gg_decoded *high, const gg_decoded *low, size_t i,
                      const float *x, size_t n);

#endif
