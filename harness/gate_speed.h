/* SPDX-License-Identifier: Apache-2.0
 * Two more rules of the gate, from stored benches of the two builds:
 *   speed   per direction: the mean over cases of log(time now / time then), less that of
 *           the other kernels in the same two runs (or of one of them), with a 95 %
 *           interval. Failed when it lies above 0 and the mean above 5 %; passed when the
 *           mean is at most 5 % and 10 % are excluded; else not verified. A wrong kernel
 *           fails, and so does one that is faster in a worse class of precision.
 *   memory  saved tensors and workspace: a case that needs over 5 % more fails
 * A bench of another commit than its report, or from another card, is not verified. */
#ifndef HARNESS_GATE_SPEED_H
#define HARNESS_GATE_SPEED_H

#include "harness/gate.h"
#include "harness/timings.h"

#define GG_GATE_SLOWER 1.05
#define GG_GATE_SLOWEST 1.10

/* Adds the rules to a gate that was made. `against`: the kernel to compare with; NULL:
 * all others. */
void gg_gate_speed(gg_gate *gate, const gg_timings *was, const gg_timings *is,
                   const char *against);

/* The speed rule for a mean of log ratios and its standard error; a NaN is no pass. */
gg_verdict gg_gate_slower(double mean, double error);

#endif
