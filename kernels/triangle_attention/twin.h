/* SPDX-License-Identifier: Apache-2.0
 * What the host twins of triangle attention share. README.md is the contract; comments
 * here name its formulas. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWIN_H
#define KERNELS_TRIANGLE_ATTENTION_TWIN_H

#include "kernels/arithmetic/lanes.h"
#include "kernels/triangle_attention/call.h"

#define GG_TA_LOG2E 0x1.715476p+0f

typedef struct gg_ta_fault gg_ta_fault; /* mutant.h */

/* What the twins' backward passes differ in. */
typedef struct gg_ta_plan {
    int whole_rows;  /* score tiles span all keys (naive), not 64 */
    int chunks;      /* dbias slabs: up to 16 (turbo), or 1 */
    int dq_in_parts; /* turbo: one chain for each key tile, added; else one chain */
    const gg_ta_fault *fault; /* NULL: the contract */
} gg_ta_plan;

extern const gg_ta_plan gg_ta_naive_plan, gg_ta_recompute_plan, gg_ta_turbo_plan;

/* Memory of one worker. Np, Dp: N and D up to a multiple of 16; padding is zero. */
typedef struct gg_ta_scratch {
    size_t Np, Dp, W;             /* W: columns of a score tile */
    uint32_t *valid;              /* [Np], all ones for a valid key, else 0 */
    gg_decoded q, k, v, dout;     /* [Np][Dp] */
    gg_decoded qT, kT, vT, doutT; /* [Dp][Np] */
    gg_decoded p, ds;             /* [64][W], P and dS rounded to BF16 */
    float *s, *dp;                /* [64][W] */
    float *bias;                  /* [W], mul(bias, LOG2E) of one query */
    float *acc;                   /* [Np][Dp], dq; forward: O of one query tile */
    float *part;                  /* [64][Dp] */
    float *dvT, *dkT;             /* [Dp][W] */
    float *delta, *y;             /* [Np] */
    uint16_t *line;               /* [Np or 64] */
    size_t row;                   /* (b, r) whose keys `valid` is about */
} gg_ta_scratch;

/* A part of the contract for one (b, r, h). `slab` [N][N] takes dS unless NULL. */
typedef struct gg_ta_twin gg_ta_twin;
typedef void gg_ta_head(const gg_ta_twin *twin, gg_ta_scratch *scratch, int b, int r,
                        int h, float *slab);

struct gg_ta_twin {
    gg_ta_call call;
    gg_ta_plan plan;
    const gg_lanes *lanes;
    gg_ta_head *head;
    char *workers; /* gg_ta_scratch memory of each worker */
    size_t worker_bytes;
    float *slabs; /* [B][H][chunks][N][N] */
};

/* twin_run.c: workspace and the order of work. Backward also adds up dbias. */
size_t gg_ta_twin_workspace(const gg_call *call, const gg_ta_plan *plan);
int gg_ta_run_forward(const gg_call *call, const gg_ta_plan *plan, gg_ta_head *head);
int gg_ta_run_backward(const gg_call *call, const gg_ta_plan *plan, gg_ta_head *head);

/* Offset of row (b, r, h, i = 0) in [B,R,H,N]; times D in [B,R,H,N,D]. */
size_t gg_ta_offset(const gg_ta_call *call, int b, int r, int h);

/* twin_operands.c */
void gg_ta_load_valid(const gg_ta_twin *twin, gg_ta_scratch *s, int b, int r);
int gg_ta_tile_is_live(const gg_ta_twin *twin, const gg_ta_scratch *s, size_t first,
                       size_t count);
void gg_ta_load_rows(const gg_ta_twin *twin, gg_ta_scratch *s, gg_decoded *to,
                     const uint16_t *from, int mask_keys);
void gg_ta_load_columns(const gg_ta_twin *twin, gg_ta_scratch *s, gg_decoded *to,
                        const uint16_t *from, int mask_keys);
void gg_ta_load_bias(const gg_ta_twin *twin, gg_ta_scratch *s, int b, int h, int i,
                     size_t first, size_t count);
gg_decoded gg_ta_part(const gg_decoded *whole, size_t row, size_t column);
void gg_ta_clear_rows(gg_decoded *tile, size_t from, size_t to, size_t columns);
void gg_ta_store(void *to, int f32, size_t index, float value);
void gg_ta_store_gradient(const gg_ta_twin *twin, void *to, size_t index, float value);
void gg_ta_store_keys(const gg_ta_twin *twin, gg_ta_scratch *s, size_t offset,
                      size_t first, size_t count);

/* twin_forward.c, twin_backward.c: `recompute` and `turbo`; naive_twin.c */
gg_ta_head gg_ta_online_forward, gg_ta_tiled_backward;
gg_ta_head gg_ta_naive_forward, gg_ta_naive_backward;

static inline size_t gg_ta_pad(size_t n)
{
    return (n + GG_LANES - 1) / GG_LANES * GG_LANES;
}

static inline size_t gg_ta_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
