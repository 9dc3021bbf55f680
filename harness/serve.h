/* SPDX-License-Identifier: Apache-2.0
 * A worker's own side: runs the cases that its parent names (harness/worker.h). */
#ifndef HARNESS_SERVE_H
#define HARNESS_SERVE_H

#include "harness/run.h"

/* A parent (harness/crew.c) puts "--serve=DEVICE,THREADS[,shared]" first: what this worker
 * has of its own; the other arguments are the parent's. Takes it off a command's arguments;
 * NULL when this process is no worker. */
char *gg_serve_take(int *argc, char ***argv);
gg_status gg_serve_apply(char *order, gg_run_options *options);

/* Serves on GG_WORKER_FD until the parent has no more cases, or the device cannot be used
 * any more. The exit code of the process. */
int gg_serve(const gg_run_options *options);

#endif
