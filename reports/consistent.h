/* SPDX-License-Identifier: Apache-2.0
 * What no true record can be. The writer, the journal and the reader ask the same
 * question, so a report that was written can be read, and one that was edited to a
 * milder verdict cannot. */
#ifndef REPORTS_CONSISTENT_H
#define REPORTS_CONSISTENT_H

#include "reports/record.h"

enum { GG_FAULT_SIZE = 320 };

/* True when the case contradicts itself; the text says how. The rules:
 * - a check that says passed has value <= limit (a NaN does not);
 * - a case is never milder than its worst check;
 * - a passed case ran, and each of its outputs (at least one) has a check;
 * - counts and places lie inside their tensor; names are there; texts are terminated.
 * `symbols` bounds the extents; NULL when not known yet. */
bool gg_case_fault(const gg_case_record *record, const char *symbols,
                   char text[GG_FAULT_SIZE]);
/* Every case, and between cases: ascending index below suite_count, no id twice, no
 * more output names than an operator has outputs. */
bool gg_run_fault(const gg_run_record *run, char text[GG_FAULT_SIZE]);

#endif
