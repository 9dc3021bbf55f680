/* SPDX-License-Identifier: Apache-2.0
 * The harness on trial: planted faults that it must catch, honest kernels that it must
 * pass, and planted evidence that its own parts must refuse. */
#ifndef HARNESS_SELFTEST_H
#define HARNESS_SELFTEST_H

#include "harness/backend.h"
#include "kernels/mutant.h"
#include "reports/record.h"

typedef enum gg_subject {
    GG_SUBJECT_MUTANT, /* a kernel with a planted fault: must be caught */
    GG_SUBJECT_PROBE,  /* planted evidence for a part of the harness: must be refused */
    GG_SUBJECT_HONEST  /* a right kernel: must pass */
} gg_subject;

/* One trial. */
typedef struct gg_trial_line {
    gg_subject subject;
    const char *operator_name; /* "" for a probe */
    const char *kind;          /* "K1" ...; of a probe the part: "judge"; "" if honest */
    const char *name, *fault;
    const char *expected;      /* check that must turn red; "" if honest */
    int cases;
    char red[128];             /* checks that did, by name */
    char reason[256];          /* of the first case or check that was not passed */
    bool good;                 /* caught by the expected check; or passed, if honest */
} gg_trial_line;

typedef struct gg_selftest {
    gg_trial_line *lines;
    int count;
    int planted, caught;       /* mutants and probes */
    int honest_cases, false_alarms;
} gg_selftest;

/* Sanity of the self-test itself: it must fail with one of these. */
typedef enum gg_selftest_control {
    GG_CONTROL_NONE = 0,
    GG_CONTROL_SURVIVOR, /* an honest kernel is passed off as a mutant */
    GG_CONTROL_ALARM     /* a mutant is passed off as honest */
} gg_selftest_control;

typedef struct gg_selftest_options {
    gg_selftest_control control;
    void (*show)(const gg_trial_line *line); /* each as it is done; NULL: nobody */
} gg_selftest_options;

/* Runs everything on the backend; free with gg_selftest_free, whatever the status. A
 * status other than GG_OK means that the self-test itself broke down. */
gg_status gg_selftest_run(const gg_backend *backend, const gg_selftest_options *options,
                          gg_selftest *result);
void gg_selftest_free(gg_selftest *result);

/* Passed: all planted faults caught, no false alarm, and neither was empty. */
gg_verdict gg_selftest_verdict(const gg_selftest *result);

/* Title of a kind of fault ("K1"), and what it comes to in general; NULL when unknown. */
typedef struct gg_fault_kind {
    const char *kind, *title;
} gg_fault_kind;
extern const gg_fault_kind gg_fault_kinds[]; /* ended by kind == NULL */

/* selftest_probes.c: a probe returns true when the part raised the alarm that it must. */
typedef struct gg_probe {
    const char *part, *name, *fault, *alarm; /* alarm: what must happen */
    bool (*alarms)(void);
} gg_probe;
extern const gg_probe gg_probes[]; /* ended by name == NULL */

#endif
