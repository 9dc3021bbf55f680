/* SPDX-License-Identifier: Apache-2.0
 * What a process needs before it can run a case: suite, device, kernel, golden digests,
 * and the plan that binds them. Opening it is the first time that a process touches a
 * device or a kernel. */
#ifndef HARNESS_SESSION_H
#define HARNESS_SESSION_H

#include "harness/candidate.h"
#include "harness/run.h"

typedef struct gg_session {
    gg_suite suite;
    gg_backend backend;
    gg_candidate candidate;
    gg_golden golden;
    gg_plan plan; /* points at the others */
    gg_worst worst;
    int *place; /* plan.place */
    const char *relaunch[9];
    char threads[16];
    char glob[96]; /* of an export */
} gg_session;

/* The suite of the options: of its name, of files with inputs, or of an export, whose
 * choice of cases goes to `glob`. Free it whatever comes back. */
gg_status gg_session_suite(const gg_run_options *options, gg_suite *suite, char glob[96]);

/* Opens all of it on options->device and writes everything about the run that is known
 * before the first case to `run`. Close it whatever the status. */
gg_status gg_session_open(const gg_run_options *options, gg_session *session,
                          gg_run_record *run);
void gg_session_close(gg_session *session);

#endif
