/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <time.h>

#include "kernels/linear/mutant.h"
#include "kernels/triangle_attention/mutant.h"

const gg_mutant_set *const gg_mutant_sets[] = {&gg_ta_mutants, &gg_linear_mutants, NULL};

void gg_meet_another_call(void)
{
    enum { NAPS = 500, NAP = 100000 /* nanoseconds */ };
    const struct timespec nap = {.tv_nsec = NAP};
    static atomic_int visits;
    int mine = atomic_fetch_add(&visits, 1) + 1;
    for (int i = 0; i < NAPS && atomic_load(&visits) == mine; i++) nanosleep(&nap, NULL);
}
