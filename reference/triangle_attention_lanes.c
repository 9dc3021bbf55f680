/* SPDX-License-Identifier: Apache-2.0
 * Element-wise part of triangle attention in binary64: softmax, dS and the weights of
 * the allowances, in the order that triangle_attention.h fixes. */
#include <float.h>
#include <math.h>

#include "reference/exp64.h"
#include "reference/triangle_attention_internal.h"

#pragma GCC optimize("O3")

#define LANE(name) name##_portable
#include "reference/triangle_attention_lanes_body.h"
#undef LANE

#if defined(__x86_64__)

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define LANE(name) name##_avx2
#include "reference/triangle_attention_lanes_body.h"
#undef LANE
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f")
#define LANE(name) name##_avx512
#include "reference/triangle_attention_lanes_body.h"
#undef LANE
#pragma GCC pop_options

#define CHOOSE(name)                                                             \
    switch (gg_instructions_used()) {                                            \
    case GG_AVX512: name##_avx512(block); return;                                \
    case GG_AVX2: name##_avx2(block); return;                                    \
    default: name##_portable(block);                                             \
    }
#else
#define CHOOSE(name) name##_portable(block);
#endif

void gg_ta_softmax(gg_ta_block *block) { CHOOSE(softmax) }
void gg_ta_weight(gg_ta_block *block) { CHOOSE(weight) }
void gg_ta_gradient(gg_ta_block *block) { CHOOSE(gradient) }
void gg_ta_spread(gg_ta_block *block) { CHOOSE(spread) }
