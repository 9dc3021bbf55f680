/* SPDX-License-Identifier: Apache-2.0
 * Planted faults of bias and mask. */
#include "kernels/arithmetic/bf16.h"
#include "kernels/triangle_attention/mutant.h"

float gg_ta_sentinel(const gg_ta_twin *twin)
{
    if (gg_ta_slips(twin, GG_TA_SLIP_SENTINEL_1E9)) return -1e9f;
    if (gg_ta_slips(twin, GG_TA_SLIP_SENTINEL_5E4)) return -5e4f;
    return 0;
}

size_t gg_ta_faulty_square(const gg_ta_twin *twin, int b, int h)
{
    if (gg_ta_slips(twin, GG_TA_SLIP_BIAS_OF_HEAD_0)) h = 0;
    if (gg_ta_slips(twin, GG_TA_SLIP_BIAS_OF_BATCH_0)) b = 0;
    return (size_t)b * (size_t)twin->call.H + (size_t)h;
}

static float bias_at(const gg_ta_call *c, size_t index)
{
    return c->bias_f32 ? ((const float *)c->bias)[index]
                       : gg_bf16_to_float(((const uint16_t *)c->bias)[index]);
}

/* Validity as the call says it, whatever the fault made of it. */
static int is_valid(const gg_ta_call *c, size_t row, size_t j)
{
    if (c->keys == GG_TA_KEYS_MASKED) return c->mask[row * (size_t)c->N + j] != 0;
    return c->keys != GG_TA_KEYS_COUNTED || (int64_t)j < c->lengths[row];
}

void gg_ta_faulty_bias(const gg_ta_twin *twin, gg_ta_scratch *s, size_t bh, size_t i,
                       size_t first, size_t count)
{
    const gg_ta_call *c = &twin->call;
    size_t N = (size_t)c->N;
    float sentinel = gg_ta_sentinel(twin);
    for (size_t j = 0; j < count; j++) {
        float *to = &s->bias[j], bias = bias_at(c, (bh * N + i) * N + first + j);
        switch (twin->plan.fault->slip) {
        case GG_TA_SLIP_BIAS_SCALED: *to = bias * c->sc * GG_TA_LOG2E; break;
        case GG_TA_SLIP_BIAS_NO_LOG2E: *to = bias; break;
        case GG_TA_SLIP_BIAS_EXACT_TILES:
            if (N % GG_TA_TILE == 0) *to = 0;
            break;
        case GG_TA_SLIP_BIAS_TRANSPOSED:
            *to = bias_at(c, (bh * N + first + j) * N + i) * GG_TA_LOG2E;
            break;
        case GG_TA_SLIP_BIAS_BF16:
            *to = gg_bf16_to_float(gg_bf16_from_float(bias)) * GG_TA_LOG2E;
            break;
        default:
            if (sentinel < 0 && !is_valid(c, s->row, first + j))
                *to = sentinel * GG_TA_LOG2E;
        }
    }
}
