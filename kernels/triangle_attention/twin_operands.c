/* SPDX-License-Identifier: Apache-2.0
 * Operands of one (b, r, h) decoded into a worker's scratch, and stores of results. */
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/triangle_attention/mutant.h"

static int key_is_valid(const gg_ta_twin *twin, size_t row, size_t j)
{
    const gg_ta_call *call = &twin->call;
    if (gg_ta_slips(twin, GG_TA_SLIP_MASK_OF_ROW_0)) row = row / (size_t)call->R;
    if (call->keys == GG_TA_KEYS_MASKED) return call->mask[row * (size_t)call->N + j] != 0;
    if (call->keys == GG_TA_KEYS_COUNTED)
        return (int64_t)j < (int64_t)call->lengths[row] +
                                gg_ta_slips(twin, GG_TA_SLIP_LENGTH_PLUS_ONE);
    return 1;
}

void gg_ta_load_valid(const gg_ta_twin *twin, gg_ta_scratch *s, int b, int r)
{
    size_t N = (size_t)twin->call.N;
    size_t row = (size_t)b * (size_t)twin->call.R + (size_t)r, end = N;
    if (gg_ta_slips(twin, GG_TA_SLIP_TAIL_KEYS_DROPPED) && N > GG_LANES)
        end = N / GG_LANES * GG_LANES;
    for (size_t j = 0; j < s->Np; j++) {
        int valid = j < N ? j < end && key_is_valid(twin, row, j)
                          : gg_ta_slips(twin, GG_TA_SLIP_TAIL_KEYS_LIVE);
        s->valid[j] = valid ? ~UINT32_C(0) : 0;
    }
    s->row = row;
    if (gg_ta_sentinel(twin) < 0)
        for (size_t j = 0; j < N; j++) s->valid[j] = ~UINT32_C(0);
}

int gg_ta_tile_is_live(const gg_ta_twin *twin, const gg_ta_scratch *s, size_t first,
                       size_t count)
{
    uint32_t any = 0;
    for (size_t j = first; j < first + count; j++) any |= s->valid[j];
    if (gg_ta_slips(twin, GG_TA_SLIP_FIRST_TILE) && first == 0 && s->Np > GG_TA_TILE)
        return 0;
    return any != 0 || gg_ta_slips(twin, GG_TA_SLIP_MAX_OF_DEAD_TILE);
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
    if (gg_ta_slips(twin, GG_TA_SLIP_NAN_LEAK)) mask_keys = 0;
    for (size_t i = 0; mask_keys && i < N; i++)
        if (!s->valid[i]) gg_ta_clear_rows(to, i, i + 1, Dp);
    gg_ta_clear_rows(to, N, s->Np, Dp);
    for (size_t i = 0; gg_ta_slips(twin, GG_TA_SLIP_TAIL_HEAD) && i < N; i++) {
        gg_decoded tail = gg_ta_part(to, i, D / GG_LANES * GG_LANES);
        if (D > GG_LANES) gg_ta_clear_rows(&tail, 0, 1, D % GG_LANES);
    }
}

/* The same transposed: [D][N]. */
void gg_ta_load_columns(const gg_ta_twin *twin, gg_ta_scratch *s, gg_decoded *to,
                        const uint16_t *from, int mask_keys)
{
    size_t N = (size_t)twin->call.N, D = (size_t)twin->call.D, Np = s->Np;
    memset(s->line, 0, Np * sizeof *s->line);
    if (gg_ta_slips(twin, GG_TA_SLIP_NAN_LEAK)) mask_keys = 0;
    for (size_t d = 0; d < D; d++) {
        for (size_t i = 0; i < N; i++) s->line[i] = from[i * D + d];
        if (gg_ta_slips(twin, GG_TA_SLIP_TAIL_QUERIES) && !mask_keys)
            for (size_t i = N; i < Np; i++) s->line[i] = from[(i % N) * D + d];
        for (size_t i = 0; mask_keys && i < N; i++) s->line[i] &= (uint16_t)s->valid[i];
        twin->lanes->decode(to->value + d * Np, to->exponent + d * Np, s->line, Np);
    }
    if (gg_ta_slips(twin, GG_TA_SLIP_TAIL_HEAD) && D > GG_LANES)
        gg_ta_clear_rows(to, D / GG_LANES * GG_LANES, D, Np);
    gg_ta_clear_rows(to, D, s->Dp, Np);
}

/* mul(bias_ij, LOG2E) for `count` keys from `first`; zero beyond N. */
void gg_ta_load_bias(const gg_ta_twin *twin, gg_ta_scratch *s, int b, int h, int i,
                     size_t first, size_t count)
{
    const gg_ta_call *call = &twin->call;
    size_t N = (size_t)call->N, bh = (size_t)b * (size_t)call->H + (size_t)h;
    if (twin->plan.fault) bh = gg_ta_faulty_square(twin, b, h);
    size_t row = (bh * N + (size_t)i) * N + first, inside = gg_ta_min(count, N - first);
    const float *wide = call->bias_f32 ? (const float *)call->bias + row : NULL;
    const uint16_t *narrow = call->bias_f32 ? NULL : (const uint16_t *)call->bias + row;
    for (size_t j = 0; j < inside; j++)
        s->bias[j] = (wide ? wide[j] : gg_bf16_to_float(narrow[j])) * GG_TA_LOG2E;
    for (size_t j = inside; j < count; j++) s->bias[j] = 0;
    if (twin->plan.fault) gg_ta_faulty_bias(twin, s, bh, (size_t)i, first, inside);
}

/* The output's own rounding; the GPU's NaN for any NaN. */
void gg_ta_store(void *to, int f32, size_t index, float value)
{
    if (f32) ((float *)to)[index] = gg_float_canonical(value);
    else ((uint16_t *)to)[index] = gg_bf16_from_float(value);
}

void gg_ta_store_gradient(const gg_ta_twin *twin, void *to, size_t index, float value)
{
    if (gg_ta_slips(twin, GG_TA_SLIP_GRADIENTS_TRUNCATED) && !twin->call.grad_f32)
        ((uint16_t *)to)[index] = (uint16_t)(gg_float_bits(value) >> 16);
    else gg_ta_store(to, twin->call.grad_f32, index, value);
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
            if (!valid && gg_ta_slips(twin, GG_TA_SLIP_INVALID_UNSTORED)) continue;
            float dk = valid ? s->dkT[from] * c->sc : 0, dv = valid ? s->dvT[from] : 0;
            if (c->dk) gg_ta_store_gradient(twin, c->dk, index, dk);
            if (c->dv) gg_ta_store_gradient(twin, c->dv, index, dv);
        }
}
