/* SPDX-License-Identifier: Apache-2.0
 * A load on the host: threads that keep the processors busy while a kernel runs, every
 * other one with memory traffic. How much of the kernel's time they really ran is read
 * from the operating system's clock of each thread. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "harness/backend.h"
#include "harness/environment.h"
#include "reference/parallel.h"

enum {
    MOST_THREADS = 64,
    A_PROCESSOR = 2,  /* threads: more than there is room for, so that the kernel's move */
    WORDS = 1 << 17,  /* of a thread's memory: beyond the first caches */
    A_TURN = 1 << 10, /* steps between two looks at the clock */
    NAP = 20000       /* nanoseconds between two looks for work */
};

typedef struct worker {
    pthread_t thread;
    gg_load *load;
    clockid_t clock;
    bool timed;     /* the clock can be read */
    double began;   /* processor time at load_start() */
    double *memory; /* [WORDS], NULL: arithmetic alone */
} worker;

struct gg_load {
    worker workers[MOST_THREADS];
    int started;
    atomic_int busy;           /* workers that work */
    atomic_bool end;
    _Atomic int64_t deadline;  /* microseconds on gg_seconds()'s clock; 0: rest */
    double began;
};

static int64_t microseconds(void) { return (int64_t)(1e6 * gg_seconds()); }

static void one_turn(worker *w, size_t *at)
{
    volatile double sum = 1;
    for (int i = 0; i < A_TURN; i++) {
        sum = sum * 0.5 + 1;
        if (w->memory == NULL) continue;
        *at = (*at + 4099) % WORDS;
        w->memory[*at] += sum;
    }
}

static void *work(void *argument)
{
    const struct timespec nap = {.tv_nsec = NAP};
    worker *w = argument;
    size_t at = 0;
    while (!atomic_load(&w->load->end)) {
        if (microseconds() >= atomic_load(&w->load->deadline)) {
            nanosleep(&nap, NULL);
            continue;
        }
        atomic_fetch_add(&w->load->busy, 1);
        while (microseconds() < atomic_load(&w->load->deadline)) one_turn(w, &at);
        atomic_fetch_sub(&w->load->busy, 1);
    }
    return NULL;
}

static void close_load(gg_load *load)
{
    if (load == NULL) return;
    atomic_store(&load->deadline, 0);
    atomic_store(&load->end, true);
    for (int i = 0; i < load->started; i++) pthread_join(load->workers[i].thread, NULL);
    for (int i = 0; i < MOST_THREADS; i++) free(load->workers[i].memory);
    free(load);
}

static gg_status open_load(const gg_backend *b, gg_load **load)
{
    gg_load *l = calloc(1, sizeof *l);
    int wanted = A_PROCESSOR * gg_processors();
    (void)b;
    *load = l;
    if (l == NULL) return gg_fail(GG_NO_MEMORY, "no memory for a load");
    for (int i = 0; i < wanted && i < MOST_THREADS; i++) {
        worker *w = &l->workers[i];
        w->load = l;
        if (i % 2 == 1) w->memory = calloc(WORDS, sizeof(double));
        if (pthread_create(&w->thread, NULL, work, w) != 0) break;
        w->timed = pthread_getcpuclockid(w->thread, &w->clock) == 0;
        l->started++;
    }
    if (l->started == 0) return gg_fail(GG_NO_MEMORY, "no thread for a load can start");
    return GG_OK;
}

/* Processor time of a worker so far; 0 when nobody knows. */
static double ran(const worker *w)
{
    struct timespec t;
    if (!w->timed || clock_gettime(w->clock, &t) != 0) return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static gg_status start_load(gg_load *load, double seconds)
{
    int64_t now = microseconds();
    atomic_store(&load->deadline, now + (int64_t)(1e6 * seconds));
    while (atomic_load(&load->busy) < load->started && microseconds() < now + 5000)
        sched_yield();
    for (int i = 0; i < load->started; i++) load->workers[i].began = ran(&load->workers[i]);
    load->began = gg_seconds();
    return GG_OK;
}

static gg_status stop_load(gg_load *load, double *shared, double *seconds)
{
    double busy = 0;
    *seconds = gg_seconds() - load->began;
    for (int i = 0; i < load->started; i++)
        busy += ran(&load->workers[i]) - load->workers[i].began;
    atomic_store(&load->deadline, 0);
    *shared = busy < *seconds ? busy : *seconds;
    return GG_OK;
}

/* The kernel has threads of its own and the machine other work: a tenth of one processor
 * is enough to move threads about. */
void gg_load_on_host(gg_backend *backend)
{
    backend->load_open = open_load;
    backend->load_start = start_load;
    backend->load_stop = stop_load;
    backend->load_close = close_load;
    backend->overlap_least = 0.1;
}
