/* SPDX-License-Identifier: Apache-2.0
 * Probes of bits across devices: selftest_across.c. */
#ifndef HARNESS_SELFTEST_ACROSS_H
#define HARNESS_SELFTEST_ACROSS_H

#include <stdbool.h>

bool gg_probe_across_bits(void);
bool gg_probe_across_fault(void);
bool gg_probe_across_missing(void);

/* Rows of gg_probes. */
#define GG_ACROSS_PROBES                                                                \
    {"across", "other_bits", "the second of two GPUs gives another last bit", "failed",   \
     gg_probe_across_bits},                                                             \
    {"across", "kernel_fault", "the second of two GPUs is where the kernel breaks",     \
     "failed", gg_probe_across_fault},                                                  \
    {"across", "no_answer", "the second of two GPUs leaves before it answers",          \
     "not verified", gg_probe_across_missing},

#endif
