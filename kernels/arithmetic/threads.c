/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/arithmetic/threads.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MAX_THREADS = 256 };

typedef struct job {
    void (*work)(void *context, int64_t index, int worker);
    void *context;
    int64_t count;
    _Atomic int64_t next;
    atomic_int workers;
} job;

static void *run(void *argument)
{
    job *j = argument;
    int worker = atomic_fetch_add(&j->workers, 1);
    for (;;) {
        int64_t index = atomic_fetch_add(&j->next, 1);
        if (index >= j->count) return NULL;
        j->work(j->context, index, worker);
    }
}

void gg_threads_run(int64_t count, int threads,
                    void (*work)(void *context, int64_t index, int worker),
                    void *context)
{
    job j = {.work = work, .context = context, .count = count};
    pthread_t thread[MAX_THREADS];
    int started = 0;
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    if (threads > count) threads = (int)count;
    while (started + 1 < threads && !pthread_create(&thread[started], NULL, run, &j))
        started++;
    run(&j);
    while (started > 0) pthread_join(thread[--started], NULL);
}
