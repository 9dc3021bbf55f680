/* SPDX-License-Identifier: Apache-2.0
 * A command of the user's as a child process: a group of its own, so that what it starts
 * ends with it; ended when this process ends. Its standard error, and what it prints
 * otherwise, go to a log. */
#ifndef HARNESS_EXEC_PROCESS_H
#define HARNESS_EXEC_PROCESS_H

#include <sys/types.h>

#include "reference/status.h"

typedef struct gg_process {
    pid_t pid;    /* 0: none */
    int to, from; /* pipes, of a child that is asked */
} gg_process;

typedef enum gg_process_kind {
    GG_PROCESS_LINE,   /* it answered */
    GG_PROCESS_EXIT,   /* it ended: `code` is its exit code */
    GG_PROCESS_SIGNAL, /* ... the signal */
    GG_PROCESS_LATE    /* no answer in time; it was ended */
} gg_process_kind;

typedef struct gg_process_answer {
    gg_process_kind kind;
    int code;
    char line[400];
} gg_process_answer;

/* Runs `command` by the shell. With an argument: appended to the command; the child is to
 * be waited for. NULL: it is to be asked, line by line, over pipes. */
gg_status gg_process_start(gg_process *child, const char *command, const char *argument,
                         const char *log);

/* Waits for its end. */
void gg_process_wait(gg_process *child, double seconds, gg_process_answer *answer);

/* Sends a line and waits for one line. Anything after that line makes it a wrong one. */
void gg_process_ask(gg_process *child, const char *line, double seconds, gg_process_answer *answer);

/* Ends it with force if it still runs. */
void gg_process_end(gg_process *child);

#endif
