/* SPDX-License-Identifier: Apache-2.0
 * Calls of a host kernel at the same time: a thread each. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "harness/backend.h"
#include "harness/environment.h"

enum { MOST_CALLS = 16 };

typedef struct caller {
    pthread_t thread;
    gg_streams *streams;
    int call;
} caller;

struct gg_streams {
    caller callers[MOST_CALLS];
    gg_half_call *half;
    void *context;
    gg_span *spans;
    int *errors;
    int calls;
    atomic_int here;  /* threads that wait for the others */
    atomic_int doors; /* how many must be here, 0: not known yet */
};

static void *make_call(void *argument)
{
    const caller *c = argument;
    gg_streams *s = c->streams;
    gg_span *span = &s->spans[c->call];
    int *error = &s->errors[c->call];
    atomic_fetch_add(&s->here, 1);
    while (atomic_load(&s->doors) == 0 || atomic_load(&s->here) < atomic_load(&s->doors))
        sched_yield();
    span->begin = gg_seconds();
    *error = s->half(s->context, c->call, 0);
    span->middle = gg_seconds();
    if (*error == 0) *error = s->half(s->context, c->call, 1);
    span->end = gg_seconds();
    return NULL;
}

static gg_status open_streams(const gg_backend *b, int calls, gg_streams **streams)
{
    (void)b;
    *streams = NULL;
    if (calls < 1 || calls > MOST_CALLS)
        return gg_fail(GG_INTERNAL, "%d calls cannot be made at once", calls);
    *streams = calloc(1, sizeof **streams);
    if (*streams == NULL) return gg_fail(GG_NO_MEMORY, "no memory for %d threads", calls);
    (*streams)->calls = calls;
    return GG_OK;
}

static void *stream_of(const gg_streams *streams, int call)
{
    (void)streams, (void)call;
    return NULL;
}

/* Where not every thread can start, those that did make their calls and the run fails. */
static gg_status run_streams(gg_streams *s, int first, int count, gg_half_call *half,
                             void *context, gg_span *spans, int *errors)
{
    int started = 0;
    if (first < 0 || count < 1 || first + count > s->calls)
        return gg_fail(GG_INTERNAL, "calls %d to %d of %d", first, first + count - 1, s->calls);
    s->half = half;
    s->context = context;
    s->spans = spans;
    s->errors = errors;
    atomic_store(&s->here, 0);
    atomic_store(&s->doors, 0);
    for (; started < count; started++) {
        caller *c = &s->callers[started];
        *c = (caller){.streams = s, .call = first + started};
        if (pthread_create(&c->thread, NULL, make_call, c) != 0) break;
    }
    atomic_store(&s->doors, started > 0 ? started : 1);
    for (int i = 0; i < started; i++) pthread_join(s->callers[i].thread, NULL);
    if (started == count) return GG_OK;
    return gg_fail(GG_NO_MEMORY, "only %d of %d threads could start", started, count);
}

static void close_streams(gg_streams *streams) { free(streams); }

void gg_streams_on_host(gg_backend *backend)
{
    backend->streams_open = open_streams;
    backend->streams_of = stream_of;
    backend->streams_run = run_streams;
    backend->streams_close = close_streams;
}
