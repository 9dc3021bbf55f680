/* SPDX-License-Identifier: Apache-2.0
 * Planted faults of what backward reads. */
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/triangle_attention/mutant.h"

/* kT as bf16(c1 k): what is left of it after the scores' factor went in too early. */
static void scale_keys(const gg_ta_twin *twin, gg_ta_scratch *s)
{
    for (size_t d = 0; d < s->Dp; d++) {
        float *row = s->kT.value + d * s->Np;
        for (size_t j = 0; j < s->Np; j++) row[j] *= twin->call.c1;
        twin->lanes->round(row, s->kT.exponent + d * s->Np, row, s->Np);
    }
}

/* dout of query 0 for all queries, as rows and as columns. */
static void spread_first_query(const gg_ta_twin *twin, gg_ta_scratch *s)
{
    size_t N = (size_t)twin->call.N;
    for (size_t i = 1; i < N; i++) {
        memcpy(s->dout.value + i * s->Dp, s->dout.value, s->Dp * sizeof(float));
        memcpy(s->dout.exponent + i * s->Dp, s->dout.exponent, s->Dp * sizeof(int16_t));
    }
    for (size_t d = 0; d < s->Dp; d++)
        for (size_t i = 1; i < N; i++) {
            s->doutT.value[d * s->Np + i] = s->doutT.value[d * s->Np];
            s->doutT.exponent[d * s->Np + i] = s->doutT.exponent[d * s->Np];
        }
}

void gg_ta_faulty_operands(const gg_ta_twin *twin, gg_ta_scratch *s)
{
    if (gg_ta_slips(twin, GG_TA_SLIP_K_SCALED_BF16)) scale_keys(twin, s);
    if (gg_ta_slips(twin, GG_TA_SLIP_DOUT_OF_QUERY_0)) spread_first_query(twin, s);
}

const float *gg_ta_faulty_dout(const gg_ta_twin *twin, gg_ta_scratch *s, size_t first,
                               size_t d)
{
    size_t N = (size_t)twin->call.N, D = (size_t)twin->call.D;
    const uint16_t *from = twin->plan.fault->delta_dout;
    if (!from) return s->doutT.value + d * s->Np;
    for (size_t i = 0; i < s->Np; i++) /* acc is not in use yet */
        s->acc[i] = i < N ? gg_bf16_to_float(from[first + i * D + d]) : 0;
    return s->acc;
}

size_t gg_ta_next_head(const gg_ta_call *call, size_t first)
{
    size_t block = (size_t)call->N * (size_t)call->D, H = (size_t)call->H;
    size_t row = first / block / H, h = first / block % H;
    return (row * H + (h + 1) % H) * block;
}

void gg_ta_repeat_last_row(gg_ta_scratch *s, size_t queries, size_t width)
{
    gg_decoded *const tiles[] = {&s->p, &s->ds};
    for (int t = 0; t < 2; t++)
        for (size_t i = queries; i < gg_ta_pad(queries); i++) {
            gg_decoded last = gg_ta_part(tiles[t], queries - 1, 0);
            gg_decoded pad = gg_ta_part(tiles[t], i, 0);
            memcpy(pad.value, last.value, width * sizeof(float));
            memcpy(pad.exponent, last.exponent, width * sizeof(int16_t));
        }
}
