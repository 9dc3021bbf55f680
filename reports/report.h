/* SPDX-License-Identifier: Apache-2.0
 * The forms of a record: the JSON report (valid CTRF, schema in reports/schema/), the
 * journal of a run that may be killed, the terminal table and Markdown. */
#ifndef REPORTS_REPORT_H
#define REPORTS_REPORT_H

#include <stdio.h>

#include "reports/record.h"

/* Writes the report to `path`.tmp-PID, syncs it and renames it: a reader sees the old
 * file or the whole new one; a pipe or device is written directly. Equal records give
 * equal bytes but for place and durations. A record that contradicts itself
 * (consistent.h) is GG_INTERNAL and nothing is written. */
gg_status gg_report_write(const gg_run_record *run, const char *path);
/* Reads a report (plain or gzip). Every fault of the file is GG_BAD_INPUT with its
 * place, also a verdict, count or summary that does not follow from the cases, so that
 * nobody edits a report to passed. The seconds of a case come back in whole
 * milliseconds. On failure `run` is empty. */
gg_status gg_report_read(const char *path, gg_run_record *run);

/* XXH3-64 of all that equal runs have in common: everything but place and durations.
 * Two runs with the same evidence have the same figures and bits. A report carries it,
 * so one that was edited afterwards is not read. It is no signature: it finds accidents
 * and hand edits, not somebody who computes it anew. */
gg_status gg_report_evidence(const gg_run_record *run, uint64_t *digest);

/* Aligned tables for people. `width` of the terminal, 0 when not one. GG_NO_MEMORY: there
 * is no table, or one that says that it is incomplete. */
gg_status gg_report_table(const gg_run_record *run, FILE *out, int width);
gg_status gg_report_markdown(const gg_run_record *run, FILE *out);

/* JUnit XML: a testcase a case; failed is a failure, not verified an error. */
void gg_report_junit(const gg_run_record *run, FILE *out);
/* One HTML file without scripts or network, for a browser or a phone. */
gg_status gg_report_html(const gg_run_record *run, FILE *out);

/* The journal: one header line that identifies the run, then one line a finished case,
 * each synced before the next case starts. */
typedef struct gg_journal gg_journal;

/* Opens `path` to append. With `resume` and an existing journal of the same run (all
 * fields of the record but place and cases), its cases are appended to run->cases
 * (malloc'd, or NULL) and run->count, in suite order; a torn last line is dropped. A
 * journal of another run is GG_BAD_INPUT and names the field that differs. Without
 * `resume` an existing journal is GG_BAD_INPUT too (nothing finished may be lost by
 * accident), and so is one that another process holds. */
gg_status gg_journal_open(const char *path, bool resume, gg_run_record *run,
                          gg_journal **journal);
gg_status gg_journal_append(gg_journal *journal, const gg_run_record *run,
                            const gg_case_record *record);
/* Closes; removes the file when `finished`. NULL is allowed. */
void gg_journal_close(gg_journal *journal, bool finished);

#endif
