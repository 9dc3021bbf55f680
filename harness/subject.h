/* SPDX-License-Identifier: Apache-2.0
 * One kernel under the levels of determinism: the one on trial, or the control. It works
 * on a copy of the trial's inputs. */
#ifndef HARNESS_SUBJECT_H
#define HARNESS_SUBJECT_H

#include "harness/trial.h"

/* What calls at the same time share although they must not: a fault that the harness
 * plants. */
typedef enum gg_shared { GG_SHARE_NOTHING, GG_SHARE_SAVED, GG_SHARE_WORKSPACE } gg_shared;

typedef struct gg_together gg_together; /* subject_together.c */

typedef struct gg_subject {
    gg_plan plan;       /* the trial's, with this kernel */
    gg_trial trial;     /* `first` keeps the reference, every run writes to `again` */
    gg_arena arena;
    gg_trial moved;     /* the same problem at another place */
    gg_arena elsewhere;
    const gg_problem *inputs; /* the trial's */
    gg_load *load;
    gg_together *together;
    gg_shared share;          /* between calls at the same time; an honest caller: nothing */
    const gg_trial *against;  /* whose `first` the last run must equal; NULL: trial's */
    const gg_kernel *twin;    /* of the kernel on trial, for both */
    bool control;
    double seconds;     /* of the reference run */
    double shared, loaded; /* seconds of the last run under load or beside other calls: with
                              them, in all */
    uint64_t input_digest;
    uint64_t digest[GG_MAX_OUTPUTS]; /* of the reference */
} gg_subject;

/* Takes memory, copies the inputs, makes the reference run. Close it in any case. */
gg_status gg_subject_open(const gg_trial *t, const gg_kernel *kernel, bool control,
                          gg_subject *s);
void gg_subject_close(gg_subject *s);
/* Copies the inputs of `from`. */
gg_status gg_subject_take_inputs(const gg_problem *from, gg_trial *to);

/* One run each, the k-th from 1 on; the outputs' memory comes back, until the next run. */
typedef gg_status gg_subject_run(gg_subject *s, int k, void *const **outputs);
gg_subject_run gg_subject_idle, gg_subject_under_load, gg_subject_elsewhere;
gg_subject_run gg_subject_in_process; /* fresh.c */
gg_subject_run gg_subject_twin; /* subject_twin.c; the same bits at any k */
gg_subject_run gg_subject_together; /* subject_together.c: the kernel beside itself */
void gg_together_close(gg_together *together); /* NULL is allowed */

/* A right kernel of the operator that keeps something between the steps of a call, in this
 * problem, and what: with that memory shared, its calls disturb one another, and only if
 * they really are under way at the same time. NULL: there is none. */
const gg_kernel *gg_subject_sharer_of(const gg_trial *t, gg_shared *share);

/* The host twin of the trial's kernel, NULL when there is none or it would take too long
 * in this case. */
const gg_kernel *gg_subject_twin_of(const gg_trial *t);

#endif
