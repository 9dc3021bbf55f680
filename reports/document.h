/* SPDX-License-Identifier: Apache-2.0
 * The parts of the report that writer, reader and journal share. */
#ifndef REPORTS_DOCUMENT_H
#define REPORTS_DOCUMENT_H

#include "reports/json_in.h"
#include "reports/json_out.h"
#include "reports/record.h"
#include "reports/summary.h"

#define GG_REPORT_SCHEMA "gradgate-report-1"
#define GG_CTRF_VERSION "0.1.0"

/* "run": {...}, "limits": [...]: all of the record but place and cases. */
void gg_identity_write(gg_json_out *out, const gg_run_record *run);
/* Reads the two keys from `object`. */
gg_status gg_identity_read(gg_json_in *in, const cJSON *object, gg_run_record *run);

/* The members of an object: where and when. */
void gg_place_write(gg_json_out *out, const gg_place *place);
gg_status gg_place_read(gg_json_in *in, const cJSON *object, gg_place *place);

/* "summary": {...}, decimals only: figures derived from the cases. */
void gg_summary_write(gg_json_out *out, const gg_run_record *run,
                      const gg_summary *summary);

/* Milliseconds since 1970 of an RFC 3339 time in UTC, 0 when it is none. */
int64_t gg_epoch_milliseconds(const char *time);

#endif
