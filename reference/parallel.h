/* SPDX-License-Identifier: Apache-2.0
 * Runs independent pieces of work on host threads. */
#ifndef REFERENCE_PARALLEL_H
#define REFERENCE_PARALLEL_H

#include <stdint.h>

/* Calls work(context, index, worker) once for each index in [0, count), in any order,
 * on up to `threads` threads; worker is in [0, threads) and unique among calls that run
 * at the same time, so it can choose scratch memory. Returns when all are done. When
 * threads cannot be started, the calling thread does what is left. */
void gg_parallel(int64_t count, int threads,
                 void (*work)(void *context, int64_t index, int worker), void *context);

/* Processors this process may use, at least 1. */
int gg_processors(void);

#endif
