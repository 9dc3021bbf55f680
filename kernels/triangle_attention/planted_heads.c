/* SPDX-License-Identifier: Apache-2.0
 * Planted faults of the order of rows and of their sum, dbias. */
#include <stdbool.h>
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/triangle_attention/planted.h"

#define HEAD(name)                                                                     \
    void name(const gg_ta_twin *twin, gg_ta_scratch *s, int b, int r, int h, float *slab)

HEAD(gg_ta_head_no_last_row)
{
    gg_ta_tiled_backward(twin, s, b, r, h, r == twin->call.R - 1 ? NULL : slab);
}

/* Rows are taken to come in the order of their first q. */
HEAD(gg_ta_head_rows_sorted)
{
    const gg_ta_call *c = &twin->call;
    size_t row = (size_t)c->H * (size_t)c->N * (size_t)c->D, last = (size_t)c->R - 1;
    const uint16_t *q = c->q + ((size_t)b * (size_t)c->R * (size_t)c->H + (size_t)h) *
                                   (size_t)c->N * (size_t)c->D;
    bool sorted = gg_bf16_to_float(q[0]) <= gg_bf16_to_float(q[last * row]);
    gg_ta_tiled_backward(twin, s, b, r, h, (size_t)r == last && !sorted ? NULL : slab);
}

HEAD(gg_ta_head_first_row_twice)
{
    gg_ta_tiled_backward(twin, s, b, r, h, slab);
    if (r == 0) gg_ta_tiled_backward(twin, s, b, r, h, slab);
}

HEAD(gg_ta_head_last_writer)
{
    size_t square = (size_t)twin->call.N * (size_t)twin->call.N;
    if (slab) memset(slab, 0, square * sizeof *slab);
    gg_ta_tiled_backward(twin, s, b, r, h, slab);
}

HEAD(gg_ta_head_row_sum_bf16)
{
    size_t square = (size_t)twin->call.N * (size_t)twin->call.N;
    gg_ta_tiled_backward(twin, s, b, r, h, slab);
    for (size_t i = 0; slab && i < square; i++)
        slab[i] = gg_bf16_to_float(gg_bf16_from_float(slab[i]));
}

/* Seen only where a chunk has several rows. */
HEAD(gg_ta_head_no_last_chunk)
{
    int rows = gg_ta_chunk_rows(twin->call.R), last = gg_ta_chunk_count(twin->call.R) - 1;
    gg_ta_tiled_backward(twin, s, b, r, h, rows > 1 && r / rows == last ? NULL : slab);
}

/* The order in which atomic additions arrive: another one at each call. */
HEAD(gg_ta_head_rows_rotated)
{
    int shifted = (r + gg_ta_backward_calls()) % twin->call.R;
    gg_ta_tiled_backward(twin, s, b, shifted, h, slab);
}

/* One chain for dq where the contract has one for each tile. */
static void in_one_chain(const gg_ta_twin *twin, gg_ta_scratch *s, int b, int r, int h,
                         float *slab, int condition)
{
    gg_ta_twin other = *twin;
    if (condition) other.plan.dq_in_parts = 0;
    gg_ta_tiled_backward(&other, s, b, r, h, slab);
}

HEAD(gg_ta_head_by_row_parity) { in_one_chain(twin, s, b, r, h, slab, r % 2); }

HEAD(gg_ta_head_by_row_count)
{
    in_one_chain(twin, s, b, r, h, slab, twin->call.R % 2 == 0);
}

HEAD(gg_ta_head_by_batch_count) { in_one_chain(twin, s, b, r, h, slab, twin->call.B == 1); }

HEAD(gg_ta_head_by_head_count) { in_one_chain(twin, s, b, r, h, slab, twin->call.H == 1); }

/* dq's key tiles added in one chain or in parts, by turns: a split chosen at run time. */
HEAD(gg_ta_head_tiles_rotated)
{
    in_one_chain(twin, s, b, r, h, slab, gg_ta_backward_calls() % 2);
}
