/* SPDX-License-Identifier: Apache-2.0
 * Probes of what reads and writes files (selftest_files.c). */
#ifndef HARNESS_SELFTEST_FILES_H
#define HARNESS_SELFTEST_FILES_H

#include <stdbool.h>

bool gg_probe_report_verdict(void);
bool gg_probe_report_figure(void);
bool gg_probe_report_cut(void);
bool gg_probe_report_contradiction(void);
bool gg_probe_report_empty_pass(void);
bool gg_probe_golden_cut(void);
bool gg_probe_golden_digest(void);
bool gg_probe_golden_unrun(void);

/* Rows of gg_probes. */
#define GG_FILE_PROBES                                                                 \
    {"report", "verdict_edited", "\"failed\" edited to \"passed\"", "refused",         \
     gg_probe_report_verdict},                                                         \
    {"report", "figure_edited", "one digit of a figure edited", "refused",             \
     gg_probe_report_figure},                                                          \
    {"report", "cut_off", "a report without its end", "refused", gg_probe_report_cut}, \
    {"report", "contradiction", "a case passed with a failed check", "not written",    \
     gg_probe_report_contradiction},                                                   \
    {"report", "empty_pass", "a case passed without an output", "not written",         \
     gg_probe_report_empty_pass},                                                      \
    {"golden", "cut_off", "a golden file without its last line", "refused",            \
     gg_probe_golden_cut},                                                             \
    {"golden", "digest_edited", "one digit of a digest edited", "another digest",      \
     gg_probe_golden_digest},                                                          \
    {"golden", "case_not_run", "digests of a case that did not run", "not written",    \
     gg_probe_golden_unrun},

#endif
