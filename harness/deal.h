/* SPDX-License-Identifier: Apache-2.0
 * Which place runs which case next, and what becomes of the answers. A case goes to the
 * first place that is free. When there are several places, a spread of the cases runs at
 * each of them, and the bits must be the same: whoever is first measures the case, the
 * others only run the kernel once and give the digests. */
#ifndef HARNESS_DEAL_H
#define HARNESS_DEAL_H

#include "harness/run.h"

/* Every SPREAD_STEPth case runs everywhere, at least SPREAD_LEAST (or all). */
enum { GG_SPREAD_STEP = 20, GG_SPREAD_LEAST = 6 };

/* Takes a finished case, in any order; a status other than GG_OK ends the work. */
typedef gg_status gg_finish(void *context, const gg_case_record *record);

typedef struct gg_deal gg_deal;

/* `names` are those of the places, at most GG_MAX_DEVICES; a single one is not named in
 * the records. All pointers are kept. */
gg_status gg_deal_open(const gg_suite *suite, const int *indices, int count,
                       const char *const *names, int places, gg_finish *finish,
                       void *context, gg_deal **deal);
void gg_deal_close(gg_deal *deal); /* NULL is allowed */

/* The next task for a place, and the case's index in the suite; -1 when it has no more. */
int gg_deal_next(gg_deal *deal, int place, int *index, bool *digests_only);

/* The answer to a task: a record of the case, or of its digests. */
gg_status gg_deal_answer(gg_deal *deal, int place, int task, const gg_case_record *record);
/* None: the kernel's fault (failed) or not (not verified). */
gg_status gg_deal_lost(gg_deal *deal, int place, int task, double seconds,
                       gg_verdict verdict, const char *reason);
/* The place takes no more tasks. */
gg_status gg_deal_leave(gg_deal *deal, int place, const char *reason);
/* No place is left: whatever was not run is not verified, for that reason. */
gg_status gg_deal_give_up(gg_deal *deal, const char *reason);

/* All cases have been finished. */
bool gg_deal_done(const gg_deal *deal);

#endif
