/* SPDX-License-Identifier: Apache-2.0
 * The two JSON lines of a worker (harness/worker.h): what it is, and the record of a
 * case, which has the form that it has in a journal. */
#ifndef HARNESS_WIRE_H
#define HARNESS_WIRE_H

#include "reports/record.h"

/* A line with its newline, for the caller to free; NULL when there is no memory. The
 * first: everything about the run that is known before the first case, or, when `status`
 * is not GG_OK, why there is none. `gpus` are those that the worker could have opened. */
char *gg_wire_hello(gg_status status, const char *message, const gg_run_record *run,
                    int gpus);
char *gg_wire_case(const gg_run_record *run, const gg_case_record *record);

/* Reads `length` bytes, NUL-terminated, of a line without its newline. The first returns
 * the worker's own status, with its message. */
gg_status gg_wire_read_hello(const char *text, size_t length, gg_run_record *run, int *gpus);
gg_status gg_wire_read_case(const char *text, size_t length, const char *symbols,
                            gg_case_record *record);

#endif
