/* SPDX-License-Identifier: Apache-2.0
 * A run: every case of a suite (or a choice of them) through one kernel on one device. */
#ifndef HARNESS_RUN_H
#define HARNESS_RUN_H

#include "harness/plan.h"

/* GG_CERTIFY_EVERY: more cases than a suite has. */
enum { GG_DEFAULT_REPEATS = 5, GG_DEFAULT_ROUNDINGS = 12, GG_CERTIFY_EVERY = 1000000 };

typedef struct gg_run_options {
    const char *suite;    /* name or path */
    const char *operator_name;  /* of `inputs` */
    const char *const *inputs;  /* files of inputs instead of a suite (harness/given.h) */
    int input_count;            /* 0: none */
    const char *exchange; /* folder of an export: its cases and outputs instead of suite
                             and kernel (harness/exchange.h); NULL: none */
    const char *kernel_name; /* in the report; NULL: the kernel's own */
    const char *kernel;   /* as harness/candidate.h finds it */
    const gg_kernel *own; /* a kernel of the caller's instead; NULL: none */
    const char *limits_of; /* a built-in kernel whose limits hold; NULL: its own */
    const char *device;   /* "host", "cuda", "cuda:1", "cuda:0,2", "cuda:all" */
    const char *glob;     /* of case ids; NULL: all */
    const char *out;      /* path of the report; NULL: none, and no journal */
    const char *ablate;   /* feature; NULL: the kernel's first; "none" */
    const char *golden;   /* path; NULL: none */
    int roundings;        /* cases held to the roundings that the kernel states; negative:
                             GG_DEFAULT_ROUNDINGS if it states any */
    int repeats, certify, threads; /* with levels, `repeats` is the runs of a level */
    unsigned levels;      /* of determinism (harness/levels.h); 0: none */
    int shard, shards;    /* 1 of 1: everything */
    bool resume;
    /* Worker processes (harness/crew.h). They are this program, called with `argv`
     * again: argv[0] is the command, and NULL keeps the work in this process. */
    int argc;
    char **argv;
    const char *program;  /* path of the workers' program; NULL: this one */
    int workers;          /* on the host; 0: this process does the work */
    bool mpi;             /* the ranks of an MPI job share the cases (harness/ranks.h) */
    bool shares;          /* `threads` are for all GPUs of this host together */
    int timeout;          /* seconds for a call of the kernel; 0: from what a case costs, or
                             GG_EXEC_TIMEOUT for a command */
    gg_observer *observe; /* of each case (harness/plan.h); NULL: nobody */
    void *observer;
} gg_run_options;

/* Whether the kernel runs in processes of its own: a device can break for good, and a
 * foreign kernel can do anything. */
bool gg_run_is_isolated(const gg_run_options *options);

/* Runs, writes the report and fills `run` (free with gg_run_free). A status other than
 * GG_OK means that no verdict was reached; finished cases stay in the journal. */
gg_status gg_run(const gg_run_options *options, gg_run_record *run);

#endif
