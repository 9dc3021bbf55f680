/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/fill.h"

#include "reference/parallel.h"

double gg_fill_get(const gg_tensor *tensor, int64_t index)
{
    switch (tensor->dtype) {
    case GG_BF16: return gg_bf16_value(((const uint16_t *)tensor->data)[index]);
    case GG_F32: return (double)((const float *)tensor->data)[index];
    case GG_F64: return ((const double *)tensor->data)[index];
    case GG_I32: return (double)((const int32_t *)tensor->data)[index];
    default: return (double)((const uint8_t *)tensor->data)[index];
    }
}

void gg_fill_set(gg_tensor *tensor, int64_t index, double value)
{
    switch (tensor->dtype) {
    case GG_BF16: ((uint16_t *)tensor->data)[index] = gg_bf16_round(value); break;
    case GG_F32: ((float *)tensor->data)[index] = (float)value; break;
    case GG_F64: ((double *)tensor->data)[index] = value; break;
    case GG_I32: ((int32_t *)tensor->data)[index] = (int32_t)value; break;
    default: ((uint8_t *)tensor->data)[index] = (uint8_t)value; break;
    }
}

gg_status gg_fill_normal(gg_tensor *out, uint64_t seed, int tensor, double scale,
                         double mean)
{
    gg_draw draw = {.law = GG_LAW_NORMAL, .scale = scale, .mean = mean};
    return gg_draw_host(&draw, seed, tensor, out, gg_processors());
}

int gg_choose(uint64_t seed, uint32_t purpose, int64_t index, int range)
{
    gg_philox block = gg_philox_block(seed, (uint64_t)index, purpose, GG_STREAM_CHOICE);
    return (int)(((uint64_t)block.word[0] * (uint64_t)range) >> 32);
}
