/* SPDX-License-Identifier: Apache-2.0
 * A process of its own for the kernel on trial, as its parent sees it: it is started with
 * a socket as file descriptor GG_WORKER_FD, talks in lines, and may end at any moment in
 * any way. Its standard output goes to standard error: the report's channel is ours. It
 * does not outlive its parent.
 *
 * Lines of the worker, in order (harness/serve.c writes them):
 *   {...}         once, when it is ready to work: what it is (harness/wire.h)
 *   ready         it waits for a case; its parent then sends "case I" or "digest I"
 *                 (harness/deal.h), with I the case's index in the suite
 *   kernel NAME   a call of the kernel has started
 *   harness       the call is over
 *   {...}         the record of the case; `ready` follows, unless the device broke */
#ifndef HARNESS_WORKER_H
#define HARNESS_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "reference/status.h"

enum { GG_WORKER_FD = 3 };

struct gg_relay;

typedef struct gg_worker {
    pid_t pid;       /* 0: none */
    const struct gg_relay *relay; /* NULL: a child of this process */
    int rank;        /* for the relay */
    int fd;          /* our end of the socket */
    char doing[32];  /* the kernel's call under way; "": none */
    double since;    /* gg_seconds() at the last line */
    bool ended;      /* it will say no more */
    char *text;      /* received */
    size_t used, room, taken;
} gg_worker;

/* How a worker ended. */
typedef struct gg_ending {
    bool in_kernel;  /* during a call of the kernel */
    bool by_itself;  /* exit or a fault, not a signal that somebody sent */
    char text[96];   /* "ended with SIGSEGV in forward" */
} gg_ending;

/* How to reach a worker that is no child of this process (harness/ranks.h). */
typedef struct gg_relay {
    bool (*tell)(gg_worker *worker, const char *line);
    bool (*next)(gg_worker *worker, char **line, size_t *length, bool *ended);
    void (*dismiss)(gg_worker *worker);
    gg_ending (*end)(gg_worker *worker);
} gg_relay;

/* Starts argv[0] (a path) with the arguments. */
gg_status gg_worker_start(char *const *argv, gg_worker *worker);

/* False when it cannot be told any more: gg_worker_hear will say that it has ended. */
bool gg_worker_tell(gg_worker *worker, const char *line);

/* The next line, valid until the next call and without its newline; never waits.
 * `kernel` and `harness` are taken in and not returned. False when there is none now;
 * then `ended` says whether one can still come. */
bool gg_worker_hear(gg_worker *worker, char **line, size_t *length, bool *ended);

/* The parts of gg_worker_hear: the next line of any kind; and what `kernel` and `harness`
 * say, true when the line is one of them. */
bool gg_worker_next(gg_worker *worker, char **line, size_t *length, bool *ended);
bool gg_worker_note(gg_worker *worker, const char *line);

/* No more cases: it may end by itself. */
void gg_worker_dismiss(gg_worker *worker);

/* Ends it with force if it still runs, and says how it ended. */
gg_ending gg_worker_end(gg_worker *worker);

#endif
