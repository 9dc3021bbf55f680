/* SPDX-License-Identifier: Apache-2.0
 * The ranks of an MPI job (make MPI=1): rank 0 deals out the cases and writes the report;
 * every other rank lends a worker process (harness/worker.h) and passes on what it says.
 * No kernel runs in a process that MPI knows, so none can take the job down. */
#ifndef HARNESS_RANKS_H
#define HARNESS_RANKS_H

#include "harness/run.h"
#include "harness/worker.h"

/* Joins the job; GG_BAD_INPUT in a build without MPI. */
gg_status gg_ranks_open(void);
/* Sends the other ranks home and leaves the job. When one of them is lost, MPI would wait
 * for it for ever: then this ends the job, and this process, with the exit code `code`. */
void gg_ranks_close(int code);

int gg_ranks_rank(void);  /* 0 without a job */
int gg_ranks_count(void); /* 1 without a job */

/* "--serve=..." for the worker of this rank: a GPU by the rank's number on its host, and
 * its share of the host's threads. */
void gg_ranks_share(const gg_run_options *options, char *text, size_t size);

/* Rank 0: starts the worker of another rank. It is a worker like any. */
gg_status gg_ranks_start(int rank, gg_worker *worker);

/* Any other rank: serves rank 0 until it is sent home. The exit code of the process. */
int gg_ranks_serve(const gg_run_options *options);

#endif
