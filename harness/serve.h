/* SPDX-License-Identifier: Apache-2.0
 * A worker's own side: runs the cases that its parent names (harness/worker.h). */
#ifndef HARNESS_SERVE_H
#define HARNESS_SERVE_H

#include "harness/run.h"

/* Serves on GG_WORKER_FD until the parent has no more cases, or the device cannot be used
 * any more. The exit code of the process. */
int gg_serve(const gg_run_options *options);

#endif
