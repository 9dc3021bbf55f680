/* SPDX-License-Identifier: Apache-2.0
 * Planted faults: kernels that are wrong on purpose, to show that the harness says so. */
#ifndef KERNELS_MUTANT_H
#define KERNELS_MUTANT_H

#include "kernels/abi.h"

typedef struct gg_mutant {
    const char *name;  /* "tail_keys_live"; unique in its set */
    const char *kind;  /* "K1" to "K15" */
    const char *fault; /* one line */
    const char *cases; /* glob of the case ids on which it must be caught */
    const char *check; /* the check that must turn red there */
    const void *how;   /* the set's own */
} gg_mutant;

/* The mutants of one operator, all on the host. */
typedef struct gg_mutant_set {
    const char *operator_name;
    const char *suite;        /* whose cases they are tried on */
    const gg_mutant *mutants; /* ended by name == NULL */
    /* Kernels that do what only mutants do otherwise, rightly: they must pass (check is
     * NULL). NULL: none. */
    const gg_mutant *controls;
    /* The mutant as a kernel, its state (call counters, caches) as new. One at a time:
     * the kernel is valid until the next call. */
    const gg_kernel *(*arm)(const gg_mutant *mutant);
    /* Name of the kernel that it would be without its fault. */
    const char *(*base)(const gg_mutant *mutant);
} gg_mutant_set;

/* For faults that show only when two calls are under way at once: waits until another call
 * comes here too, 50 milliseconds at most, so that such calls meet for certain. */
void gg_meet_another_call(void);

/* All sets, ended by NULL. */
extern const gg_mutant_set *const gg_mutant_sets[];

#endif
