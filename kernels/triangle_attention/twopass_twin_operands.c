/* SPDX-License-Identifier: Apache-2.0
 * Operands of one (b, r, h) decoded into a worker's memory, and stores of results, for the
 * twins of `twopass` and `split`. */
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/triangle_attention/twopass_twin.h"

size_t gg_ta_pair_offset(const gg_ta_call *call, int b, int r, int h)
{
    size_t row = (size_t)b * (size_t)call->R + (size_t)r;
    return (row * (size_t)call->H + (size_t)h) * (size_t)call->N;
}

void gg_ta_pair_load_valid(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s, int b, int r)
{
    const gg_ta_call *c = &twin->call;
    size_t N = (size_t)c->N, row = (size_t)b * (size_t)c->R + (size_t)r;
    for (size_t j = 0; j < s->Np; j++) {
        int valid = j < N;
        if (valid && c->keys == GG_TA_KEYS_MASKED) valid = c->mask[row * N + j] != 0;
        if (valid && c->keys == GG_TA_KEYS_COUNTED) valid = (int64_t)j < c->lengths[row];
        s->valid[j] = valid ? ~UINT32_C(0) : 0;
    }
}

int gg_ta_pair_is_live(const gg_ta_pair_scratch *s, size_t first, size_t count)
{
    uint32_t any = 0;
    for (size_t j = first; j < first + count; j++) any |= s->valid[j];
    return any != 0;
}

gg_decoded gg_ta_pair_part(const gg_decoded *whole, size_t row, size_t column)
{
    size_t offset = row * whole->stride + column;
    return (gg_decoded){whole->value + offset, whole->exponent + offset, whole->stride};
}

void gg_ta_pair_clear_rows(gg_decoded *tile, size_t from, size_t to, size_t columns)
{
    for (size_t i = from; i < to; i++)
        for (size_t j = 0; j < columns; j++) {
            tile->value[i * tile->stride + j] = 0;
            tile->exponent[i * tile->stride + j] = GG_EXPONENT_ZERO;
        }
}

void gg_ta_pair_load_rows(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s,
                          gg_decoded *to, const uint16_t *from, int mask_keys)
{
    size_t N = (size_t)twin->call.N, D = (size_t)twin->call.D, Dp = s->Dp;
    memset(s->narrow, 0, Dp * sizeof *s->narrow);
    for (size_t i = 0; i < N; i++) {
        memcpy(s->narrow, from + i * D, D * sizeof *s->narrow);
        twin->lanes->decode(to->value + i * Dp, to->exponent + i * Dp, s->narrow, Dp);
        if (mask_keys && !s->valid[i]) gg_ta_pair_clear_rows(to, i, i + 1, Dp);
    }
    gg_ta_pair_clear_rows(to, N, s->Np, Dp);
}

void gg_ta_pair_load_columns(const gg_ta_pair_twin *twin, gg_ta_pair_scratch *s,
                             gg_decoded *to, const uint16_t *from, int mask_keys)
{
    size_t N = (size_t)twin->call.N, D = (size_t)twin->call.D, Np = s->Np;
    memset(s->narrow, 0, Np * sizeof *s->narrow);
    for (size_t d = 0; d < D; d++) {
        for (size_t i = 0; i < N; i++) s->narrow[i] = from[i * D + d];
        for (size_t i = 0; mask_keys && i < N; i++) s->narrow[i] &= (uint16_t)s->valid[i];
        twin->lanes->decode(to->value + d * Np, to->exponent + d * Np, s->narrow, Np);
    }
    gg_ta_pair_clear_rows(to, D, s->Dp, Np);
}

void gg_ta_pair_store(void *to, int f32, size_t index, float value)
{
    if (f32)
        ((float *)to)[index] = gg_float_canonical(value);
    else
        ((uint16_t *)to)[index] = gg_bf16_from_float(value);
}
