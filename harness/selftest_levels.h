/* SPDX-License-Identifier: Apache-2.0
 * Probes of the levels of determinism: selftest_levels.c. */
#ifndef HARNESS_SELFTEST_LEVELS_H
#define HARNESS_SELFTEST_LEVELS_H

#include <stdbool.h>

bool gg_probe_level_control(void);
bool gg_probe_level_load(void);
bool gg_probe_level_together(void);
bool gg_probe_level_process(void);
bool gg_probe_level_evidence(void);
bool gg_probe_level_case(void);

/* Rows of gg_probes. */
#define GG_LEVEL_PROBES                                                                 \
    {"level", "control_never_differs", "a control whose bits are always the same",     \
     "not verified", gg_probe_level_control},                                           \
    {"level", "load_not_there", "a load that does not run beside the kernel",           \
     "not verified", gg_probe_level_load},                                              \
    {"level", "calls_in_turn", "calls at the same time that are made one by one",       \
     "not verified", gg_probe_level_together},                                          \
    {"level", "no_process", "a fresh process that cannot be told what to run",          \
     "not verified", gg_probe_level_process},                                           \
    {"level", "no_evidence", "a level passed without a control that differed",          \
     "not written", gg_probe_level_evidence},                                           \
    {"level", "failed_level", "a case passed with a failed level", "failed",            \
     gg_probe_level_case},

#endif
