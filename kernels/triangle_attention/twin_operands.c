/* SPDX-License-Identifier: Apache-2.0
 * Operands of one (b, r, h) decoded into a worker's scratch, and stores of results. */
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/triangle_attention/twin.h"

void gg_ta_load_valid(const gg_ta_call *call, gg_ta_scratch *s, int b, int r)
{
    size_t N = (size_t)call->N, row = (size_t)b * (size_t)call->R + (size_t)r;
    for (size_t j = 0; j < s->Np; j++) {
        int valid = j < N;
        if (valid && call->keys == GG_TA_KEYS_MASKED)
            valid = call->mask[row * N + j] != 0;
        if (valid && call->keys == GG_TA_KEYS_COUNTED)
            valid = (int64_t)j < call->lengths[row];
        s->valid[j] = valid ? ~UINT32_C(0) : 0;
    }
}

int gg_ta_tile_is_live(const gg_ta_scratch *s, size_t first, size_t count)
{
    uint32_t any = 0;
    for (size_t j = first; j < first + count; j++) any |= s->valid[j];
    return any != 0;
}

gg_decoded gg_ta_part(const gg_decoded *whole, size_t row, size_t column)
{
    size_t offset = row * whole->stride + column;
    return (gg_decoded){whole->value + offset, whole->exponent + offset, whole->stride};
}

void gg_ta_clear_rows(gg_decoded *tile, size_t from, size_t to, size_t columns)
{
    for (size_t i = from; i < to; i++)
        for (size_t j = 0; j < columns; j++) {
            tile->value[i * tile->stride + j] = 0;
            tile->exponent[i * tile->stride + j] = GG_EXPONENT_ZERO;
        }
}

/* [N][D] as rows. With mask_keys, rows of invalid keys read as zero. */
void gg_ta_load_rows(const gg_ta_twin *twin, gg_ta_scratch *s, gg_decoded *to,
                     const uint16_t *from, int mask_keys)
{
    size_t N = (size_t)twin->call.N, D = (size_t)twin->call.D, Dp = s->Dp;
    if (D == Dp) {
        twin->lanes->decode(to->value, to->exponent, from, N * D);
    } else {
        memset(s->line, 0, Dp * sizeof *s->line);
        for (size_t i = 0; i < N; i++) {
            memcpy(s->line, from + i * D, D * sizeof *s->line);
            twin->lanes->decode(to->value + i * Dp, to->exponent + i * Dp, s->line, Dp);
        }
    }
    for (size_t i = 0; mask_keys && i < N; i++)
        if (!s->valid[i]) gg_ta_clear_rows(to, i, i + 1, Dp);
    gg_ta_clear_rows(to, N, s->Np, Dp);
}

/* The same transposed: [D][N]. */
void gg_ta_load_columns(const gg_ta_twin *twin, gg_ta_scratch *s, gg_decoded *to,
                        const uint16_t *from, int mask_keys)
{
    size_t N = (size_t)twin->call.N, D = (size_t)twin->call.D, Np = s->Np;
    memset(s->line, 0, Np * sizeof *s->line);
    for (size_t d = 0; d < D; d++) {
        for (size_t i = 0; i < N; i++) s->line[i] = from[i * D + d];
        for (size_t i = 0; mask_keys && i < N; i++) s->line[i] &= (uint16_t)s->valid[i];
        twin->lanes->decode(to->value + d * Np, to->exponent + d * Np, s->line, Np);
    }
    gg_ta_clear_rows(to, D, s->Dp, Np);
}

/* mul(bias_ij, LOG2E) for `count` keys from `first`; zero beyond N. */
void gg_ta_load_bias(const gg_ta_call *call, gg_ta_scratch *s, int b, int h, int i,
                     size_t first, size_t count)
{
    size_t N = (size_t)call->N, bh = (size_t)b * (size_t)call->H + (size_t)h;
    size_t row = (bh * N + (size_t)i) * N + first, inside = gg_ta_min(count, N - first);
    const float *wide = call->bias_f32 ? (const float *)call->bias + row : NULL;
    const uint16_t *narrow = call->bias_f32 ? NULL : (const uint16_t *)call->bias + row;
    for (size_t j = 0; j < inside; j++)
        s->bias[j] = (wide ? wide[j] : gg_bf16_to_float(narrow[j])) * GG_TA_LOG2E;
    for (size_t j = inside; j < count; j++) s->bias[j] = 0;
}

/* The output's own rounding; the GPU's NaN for any NaN. */
void gg_ta_store(void *to, int f32, size_t index, float value)
{
    if (f32) ((float *)to)[index] = gg_float_canonical(value);
    else ((uint16_t *)to)[index] = gg_bf16_from_float(value);
}

/* dk and dv of `count` keys from `first`, out of dkT and dvT; +0 at an invalid key. */
void gg_ta_store_keys(const gg_ta_twin *twin, gg_ta_scratch *s, size_t offset,
                      size_t first, size_t count)
{
    const gg_ta_call *c = &twin->call;
    size_t D = (size_t)c->D;
    for (size_t j = 0; j < count; j++)
        for (size_t d = 0; d < D; d++) {
            size_t index = (offset + first + j) * D + d, from = d * s->W + j;
            uint32_t valid = s->valid[first + j];
            float dk = valid ? s->dkT[from] * c->sc : 0, dv = valid ? s->dvT[from] : 0;
            if (c->dk) gg_ta_store(c->dk, c->grad_f32, index, dk);
            if (c->dv) gg_ta_store(c->dv, c->grad_f32, index, dv);
        }
}
