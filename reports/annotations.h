/* SPDX-License-Identifier: Apache-2.0
 * What did not pass, as lines that GitHub Actions shows at a source file:
 *   ::error file=F,title=T::message
 * "not verified" is an error too where it decides the verdict, for a warning would read
 * as green. At most GG_ANNOTATIONS lines, since a server drops more; the last one then
 * says how many are left. Nothing is printed when all passed. */
#ifndef REPORTS_ANNOTATIONS_H
#define REPORTS_ANNOTATIONS_H

#include "reports/gate.h"

enum { GG_ANNOTATIONS = 10 };

/* `source`: the file to show them at, "" when it is not known. A line a case. */
void gg_report_annotations(const gg_run_record *run, const char *source, FILE *out);
/* A line a rule, with its first finding. */
void gg_gate_annotations(const gg_gate *gate, const char *source, FILE *out);

#endif
