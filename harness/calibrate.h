/* SPDX-License-Identifier: Apache-2.0
 * From reports of right kernels and of planted faults to the evidence for each limit: the
 * largest honest figure of each family, the margin, and the planted fault that the limit
 * rejects by the least. Reads reports only, judged again under this build's limits. */
#ifndef HARNESS_CALIBRATE_H
#define HARNESS_CALIBRATE_H

#include <stdio.h>

#include "reports/record.h"

/* A figure that a kernel's limit bounds, of one output and type. */
typedef struct gg_limit_row {
    char operator_name[32], kernel[64], output[16], figure[24];
    gg_dtype dtype;
    double limit;
    double largest;             /* honest; NaN when no honest case has it */
    char family[32], id[96];    /* where */
    double mutant_figure;       /* of the fault that is rejected by the least; NaN: none */
    char mutant[64];
    bool borrowed;              /* the fault is of another row with this same limit */
    double fault;               /* of the report that is being added */
} gg_limit_row;

typedef struct gg_family_row {
    int limit;                  /* index of its gg_limit_row */
    char family[32];
    double largest;
} gg_family_row;

/* Cases of one kernel on one device. */
typedef struct gg_honest_row {
    char operator_name[32], kernel[64], device[8];
    int64_t verdicts[3];        /* by gg_verdict */
    char first[96];             /* the first that did not pass */
} gg_honest_row;

/* A planted fault that no limit rejects: another check must. */
typedef struct gg_unseen_row {
    char mutant[64], fault[160];
} gg_unseen_row;

typedef struct gg_calibration {
    gg_limit_row *limits;
    gg_family_row *families;
    gg_honest_row *honest;
    gg_unseen_row *unseen;
    uint64_t *evidence;         /* of every report */
    int evidence_count;
    int limit_count, family_count, honest_count, unseen_count;
    int mutants;                /* reports of planted faults */
} gg_calibration;

/* Adds a report; the run is judged again on the way. GG_BAD_INPUT when its evidence is that
 * of an earlier one: equal runs are no more evidence than one. */
gg_status gg_calibration_add(gg_calibration *c, gg_run_record *run);
void gg_calibration_free(gg_calibration *c);

/* Once all are added: a limit that is the same number for the same output and figure of
 * several kernels (they share a table) rejects the faults of each. */
void gg_calibration_share(gg_calibration *c);

/* Failed when an honest case failed; not verified when one could not be judged, when there
 * is none, or when faults were given and a limit rejects none. */
gg_verdict gg_calibration_verdict(const gg_calibration *c);

/* Largest rate that `bad` in `count` independent trials leave open at 95 %: 3 / count, about,
 * for none. */
double gg_rate_bound(int64_t bad, int64_t count);

/* calibrate_view.c: for people. `families`: also each family's largest figures. */
gg_status gg_calibration_print(const gg_calibration *c, bool families, bool markdown,
                               FILE *out, int width);

#endif
