/* SPDX-License-Identifier: Apache-2.0
 * The portable form of lanes.h, and the choice of a form. */
#include "kernels/arithmetic/lanes.h"

#define TARGET
#include "kernels/arithmetic/lanes_body.h"

static int usable(void)
{
    return 1;
}

static const gg_lanes gg_lanes_portable = {
    .name = "portable",
    .usable = usable,
    .chain = chain,
    .decode = decode,
    .round = round_row,
    .logits = logits,
    .weights = weights,
    .gradient = gradient,
    .accumulate = accumulate,
};

#if defined(__x86_64__)
extern const gg_lanes gg_lanes_avx2, gg_lanes_avx512;
#endif

const gg_lanes *const gg_lanes_all[] = {
#if defined(__x86_64__)
    &gg_lanes_avx512,
    &gg_lanes_avx2,
#endif
    &gg_lanes_portable,
    NULL,
};

const gg_lanes *gg_lanes_best(void)
{
    const gg_lanes *const *lanes = gg_lanes_all;
    while (!(*lanes)->usable()) lanes++;
    return *lanes;
}
