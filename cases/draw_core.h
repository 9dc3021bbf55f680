/* SPDX-License-Identifier: Apache-2.0
 * The one formula behind draw.c and draw.cu: what element `index` of a tensor is. */
#ifndef CASES_DRAW_CORE_H
#define CASES_DRAW_CORE_H

#include "cases/draw.h"
#include "cases/normal.h"
#include "cases/philox.h"

/* Last counter word of Philox: keeps what is drawn for different uses independent.
 *   NORMAL  block index/4, lane index%4: one word an element
 *   HEAVY   block index: all four words make one element
 *   CHOICE  block index, word 0: decisions of host-made families (cases/fill.h) */
enum { GG_STREAM_NORMAL = 0, GG_STREAM_HEAVY = 1, GG_STREAM_CHOICE = 2 };

/* mean + scale z by one fma. */
static inline GG_BOTH double gg_draw_scaled(const gg_draw *draw, double z)
{
    return fma(draw->scale, z, draw->mean);
}

static inline GG_BOTH double gg_draw_normal(uint64_t seed, int tensor, uint64_t index)
{
    gg_philox block = gg_philox_block(seed, index / 4, (uint32_t)tensor,
                                      GG_STREAM_NORMAL);
    return gg_normal(block.word[index % 4]);
}

static inline GG_BOTH double gg_draw_heavy(uint64_t seed, int tensor, uint64_t index)
{
    gg_philox block = gg_philox_block(seed, index, (uint32_t)tensor, GG_STREAM_HEAVY);
    return gg_heavy(block.word[0], block.word[1], block.word[2], block.word[3]);
}

/* Laws NORMAL, HEAVY and CONSTANT, before the one rounding to the tensor's type. */
static inline GG_BOTH double gg_draw_value(const gg_draw *draw, uint64_t seed,
                                           int tensor, uint64_t index)
{
    if (draw->law == GG_LAW_NORMAL)
        return gg_draw_scaled(draw, gg_draw_normal(seed, tensor, index));
    if (draw->law == GG_LAW_HEAVY)
        return gg_draw_scaled(draw, gg_draw_heavy(seed, tensor, index));
    return draw->mean;
}

/* The one rounding: binary64 to the tensor's type, to nearest even. bf16 or f32. */
static inline GG_BOTH void gg_draw_store(void *data, gg_dtype dtype, uint64_t index,
                                         double value)
{
    if (dtype == GG_BF16)
        ((uint16_t *)data)[index] = gg_bf16_round(value);
    else
        ((float *)data)[index] = (float)value;
}

#endif
