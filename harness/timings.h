/* SPDX-License-Identifier: Apache-2.0
 * What a gate needs of a stored bench (`gradgate bench --out`): times, memory, precision. */
#ifndef HARNESS_TIMINGS_H
#define HARNESS_TIMINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "reference/status.h"

/* One kernel on one case. [0] forward, [1] forward and backward. */
typedef struct gg_timing {
    char id[96], kernel[64];
    bool right;       /* what was timed passed its checks */
    double median[2]; /* ms, > 0; NaN: not timed */
    double error[2];  /* standard error of log(median), from the spread of the samples */
    double bytes;     /* saved tensors and workspace; NaN: not told */
    double graded;    /* RMSE / floor of the output that grades; NaN: not told */
} gg_timing;

typedef struct gg_timings {
    char operator_name[32], commit[64], device[8], gpu[96];
    uint64_t suite_digest;
    gg_timing *rows; /* peers are left out: another process timed them */
    int count;
} gg_timings;

/* Every fault of the file is GG_BAD_INPUT with its place; then `timings` is empty. */
gg_status gg_timings_read(const char *path, gg_timings *timings);
void gg_timings_free(gg_timings *timings);
/* NULL when it is not there. */
const gg_timing *gg_timings_find(const gg_timings *timings, const char *id, const char *kernel);

#endif
