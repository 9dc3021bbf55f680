/* SPDX-License-Identifier: Apache-2.0
 * A case as an element of results.tests, in a report and in a journal alike. */
#ifndef REPORTS_CASE_JSON_H
#define REPORTS_CASE_JSON_H

#include "reports/json_in.h"
#include "reports/json_out.h"
#include "reports/record.h"

/* `symbols` of the run say how many extents there are. Without `time` the duration is
 * left out: that is what equal runs have in common. */
void gg_case_write(gg_json_out *out, const char *symbols, const gg_case_record *record,
                   bool time);
/* Accepts a case that is consistent (consistent.h). The text is checked from the first
 * byte: `length` bytes, NUL-terminated. `seconds` comes back in whole milliseconds. */
gg_status gg_case_read(gg_json_in *in, const char *text, size_t length,
                       gg_case_record *record);

/* CTRF's word for a verdict: it has no "not verified", so that is "other". */
const char *gg_ctrf_status(gg_verdict verdict);

#endif
