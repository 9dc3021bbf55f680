/* SPDX-License-Identifier: Apache-2.0
 * Cases dealt out one at a time to worker processes: whoever is free gets the next. A
 * worker that crashes, ends or hangs loses the case that it was running; a new one takes
 * its place. */
#ifndef HARNESS_CREW_H
#define HARNESS_CREW_H

#include "harness/deal.h"
#include "harness/worker.h"

enum { GG_MAX_WORKERS = GG_MAX_DEVICES };

/* Workers that were lost one after the other, without a case in between that went well,
 * before a place is given up: what is left is not verified then, not tried for days. */
enum { GG_LOSSES_IN_A_ROW = 20 };

typedef struct gg_crew gg_crew;

/* Starts the workers and waits until all can work. `run` gets what they say about it,
 * which must be the same. Otherwise the first one's reason is the status. */
gg_status gg_crew_start(const gg_run_options *options, const gg_suite *suite,
                        gg_crew **crew, gg_run_record *run);

/* Every case of `indices` reaches `finish` once: measured, or with the reason why not. */
gg_status gg_crew_work(gg_crew *crew, const int *indices, int count, gg_finish *finish,
                       void *context);

/* Starts one worker: this program with the options' arguments, `serve` before them. */
gg_status gg_crew_launch(const gg_run_options *options, char *serve, gg_worker *worker);

void gg_crew_end(gg_crew *crew); /* NULL is allowed */

/* Seconds after which a call of the kernel in this case counts as hung: --timeout, or a
 * generous multiple of what the case costs. */
double gg_crew_patience(const gg_run_options *options, const gg_suite *suite, int index);

#endif
