/* SPDX-License-Identifier: Apache-2.0
 * Determinism with its strength: are the bits of equal inputs those of a reference run
 * under one condition after the other? Each level is measured apart and has its own
 * verdict:
 *   failed        some run's bits differed
 *   not verified  a control, a kernel whose bits are known to differ from run to run, did
 *                 not differ under the same condition either; or the load was not there,
 *                 or calls that should have met were made one after the other
 *   passed        otherwise
 * The reference run has the device to itself; its memory holds NaN first. The control of
 * level "together" is a right kernel whose calls are given one scratch memory for all: it
 * differs only where calls meet. (Of an operator without such a kernel: the one of the
 * other levels.) */
#ifndef HARNESS_LEVELS_H
#define HARNESS_LEVELS_H

#include "harness/trial.h"

typedef enum gg_level {
    GG_LEVEL_IDLE,      /* same process, stream, addresses and poison; nothing else runs */
    GG_LEVEL_LOAD,      /* while other work runs on other streams or threads */
    GG_LEVEL_PLACEMENT, /* fresh allocations, other offsets, other poison */
    GG_LEVEL_PROCESS,   /* each run in a process that has done nothing before */
    GG_LEVEL_TWIN,      /* a device's bits against those of the host twin */
    GG_LEVEL_TOGETHER,  /* beside other calls of the same kernel, on other inputs */
    GG_LEVELS
} gg_level;

/* Fresh processes cost their start: no more than this for a case. */
enum { GG_PROCESS_RUNS = 20, GG_PROCESS_RUNS_CUDA = 5 };

/* Calls that are under way at the same time at level "together". */
enum { GG_CALLS_TOGETHER = 4 };

/* Multiply-adds times two that a host twin may cost in one case. */
#define GG_TWIN_FLOPS 4e9

const char *gg_level_name(gg_level level);
const char *gg_level_summary(gg_level level);

/* "idle,load", or "all". GG_BAD_INPUT names a word that is no level. */
gg_status gg_levels_parse(const char *text, unsigned *levels);
/* "idle load": the names in a set. */
void gg_levels_text(unsigned levels, char *text, size_t size);

/* Measures plan->levels of the trial's kernel on the trial's inputs, in memory of its
 * own, into record->levels. Where all levels are asked for, a host twin of a case too
 * large for it leaves no record; where it is named, that record is not verified. What goes
 * wrong is in the level's record. */
void gg_levels_measure(const gg_trial *t, gg_case_record *record);

#endif
