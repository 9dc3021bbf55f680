/* SPDX-License-Identifier: Apache-2.0
 * What a run does with every case, decided before the first. */
#ifndef HARNESS_PLAN_H
#define HARNESS_PLAN_H

#include "cases/suite.h"
#include "harness/arena.h"
#include "harness/golden.h"
#include "harness/maps.h"
#include "kernels/abi.h"
#include "reports/record.h"

/* A case that has been measured and judged against the truth, while its memory is still
 * there. All data are in the backend's memory. */
typedef struct gg_sight {
    const gg_backend *backend;
    const gg_operator *op;
    const gg_problem *problem;
    const gg_truth *truth;
    const gg_tensor *first;   /* outputs of the first run, in declared order */
} gg_sight;

typedef void gg_observer(void *context, const gg_sight *sight,
                         const gg_case_record *record);

typedef struct gg_plan {
    const gg_backend *backend;
    const gg_suite *suite;
    const gg_kernel *kernel;
    uint64_t kernel_digest;   /* of the file that holds it */
    struct gg_outside *outside; /* called instead of the kernel (harness/outside.h); NULL */
    uint64_t features;        /* bits that are on */
    int ablated;              /* feature to switch off for the pair, -1: none */
    bool quiet;               /* no progress on a terminal */
    int repeats;              /* runs on the same input, >= 1 */
    int certify;              /* cases to certify by MPFR, spread over those of the run, all
                                 shards together; -1: not even those that cost nothing */
    int roundings;            /* cases to hold to the roundings that the kernel states, spread
                                 likewise */
    const int *place;         /* of each case of the suite among the `chosen` ones of the run;
                                 NULL: the run has the whole suite */
    int chosen;
    const gg_golden *golden;  /* NULL: none */
    unsigned levels;          /* of determinism to measure: bits 1u << gg_level (levels.h) */
    int level_runs;           /* of each, >= 2 */
    const gg_kernel *control; /* must differ at every level; NULL: there is none */
    const char *const *relaunch; /* what a fresh process is told about the run, in options
                                 of gg_command_fresh(), ended by NULL; NULL: not possible */
    gg_worst *worst;          /* so far, for maps (maps.h); NULL: no maps */
    gg_observer *observe;     /* called once a case that was measured; NULL: nobody */
    void *observer;           /* its context */
} gg_plan;

/* Is it the turn of a case, of `want` spread over those of the run? A case is certified
 * out of turn too when every element of it is cheap. */
bool gg_plan_turns(const gg_plan *plan, int want, int index);

/* Runs one case and judges it. Whatever goes wrong with the case is in the record (not
 * verified, with the reason); the arena is reused from case to case. */
void gg_case_run(const gg_plan *plan, int index, gg_arena *arena, gg_case_record *record);

/* Runs the kernel once and keeps the digests of inputs and outputs alone; nothing is
 * judged, so the record reads "not verified". */
void gg_case_digest(const gg_plan *plan, int index, gg_arena *arena, gg_case_record *record);

#endif
