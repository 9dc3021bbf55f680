/* SPDX-License-Identifier: Apache-2.0
 * lanes.h for x86 with AVX2 and FMA, vectorised by the compiler. */
#if defined(__x86_64__)

#define TARGET __attribute__((target("avx2,fma")))
#include "kernels/arithmetic/lanes_body.h"

static int usable(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

extern const gg_lanes gg_lanes_avx2;
const gg_lanes gg_lanes_avx2 = {
    .name = "avx2",
    .usable = usable,
    .chain = chain,
    .decode = decode,
    .round = round_row,
    .logits = logits,
    .weights = weights,
    .gradient = gradient,
    .accumulate = accumulate,
};

#else
typedef int gg_lanes_avx2_unused; /* ISO C forbids an empty file */
#endif
