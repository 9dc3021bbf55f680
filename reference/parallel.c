/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity: the processors a container really grants */
#include "reference/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { MAX_THREADS = 256 };

typedef struct pool {
    atomic_llong next;
    int64_t count;
    void (*work)(void *, int64_t, int);
    void *context;
} pool;

typedef struct seat {
    pool *pool;
    int worker;
    pthread_t thread;
} seat;

static void *run(void *argument)
{
    seat *s = argument;
    for (;;) {
        int64_t index = atomic_fetch_add(&s->pool->next, 1);
        if (index >= s->pool->count) return NULL;
        s->pool->work(s->pool->context, index, s->worker);
    }
}

void gg_parallel(int64_t count, int threads,
                 void (*work)(void *context, int64_t index, int worker), void *context)
{
    pool shared = {.count = count, .work = work, .context = context};
    seat seats[MAX_THREADS];
    atomic_init(&shared.next, 0);
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    if (threads > count) threads = (int)count;
    int started = 1;
    for (; started < threads; started++) {
        seats[started] = (seat){.pool = &shared, .worker = started};
        if (pthread_create(&seats[started].thread, NULL, run, &seats[started]) != 0) break;
    }
    seats[0] = (seat){.pool = &shared, .worker = 0};
    run(&seats[0]);
    for (int i = 1; i < started; i++) pthread_join(seats[i].thread, NULL);
}

int gg_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count;
}
