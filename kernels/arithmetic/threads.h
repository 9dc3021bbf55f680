/* SPDX-License-Identifier: Apache-2.0
 * Independent pieces of work of a host twin on several threads. */
#ifndef KERNELS_ARITHMETIC_THREADS_H
#define KERNELS_ARITHMETIC_THREADS_H

#include <stdint.h>

/* Calls work(context, index, worker) once for each index in [0, count), in any order;
 * worker is in [0, threads) and differs among calls that run at the same time. Returns
 * when all are done. When a thread cannot be started, the others do its share. */
void gg_threads_run(int64_t count, int threads,
                    void (*work)(void *context, int64_t index, int worker),
                    void *context);

#endif
