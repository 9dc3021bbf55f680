/* SPDX-License-Identifier: Apache-2.0
 * The kernel on trial, from what the command line calls it: a built-in one by its name, one
 * of a shared object by the file's path, a command by exec: or serve:. */
#ifndef HARNESS_CANDIDATE_H
#define HARNESS_CANDIDATE_H

#include "harness/backend.h"
#include "kernels/abi.h"

/* Before the name of a planted fault (kernels/mutant.h). */
#define GG_MUTANT_PREFIX "mutant:"

struct gg_outside; /* harness/outside.h */

typedef struct gg_candidate {
    gg_kernel kernel; /* whole: what a plug-in leaves out is filled in. Points in here */
    gg_limits limits[GG_MAX_OUTPUTS];
    char limits_note[192];
    uint64_t digest;  /* of the file that holds the kernel */
    struct gg_outside *outside; /* what is called instead of the kernel's functions; NULL */
    char name[64];
    const char *inputs[GG_MAX_INPUTS + 1], *outputs[GG_MAX_OUTPUTS + 1];
} gg_candidate;

/* Finds the kernel for operator and backend. `limits_of` names a built-in kernel of the
 * operator whose limits hold instead of its own (NULL: its own). GG_BAD_INPUT, with what
 * there is, when it is not found. The candidate must stay where it is. */
gg_status gg_candidate_find(const char *name, const char *limits_of, const gg_operator *op,
                            const gg_backend *backend, gg_candidate *candidate);
void gg_candidate_close(gg_candidate *candidate);

/* The same for a kernel of a caller of libgradgate. */
gg_status gg_candidate_own(const gg_kernel *own, const gg_operator *op, DLDeviceType device,
                           gg_candidate *candidate);

/* What makes all outputs in another process, as a kernel that states no limits. */
void gg_candidate_outside(struct gg_outside *outside, const char *name, const char *summary,
                          const gg_operator *op, DLDeviceType device,
                          gg_candidate *candidate);

/* Lets the limits of a built-in kernel of the operator hold. */
gg_status gg_candidate_limits(const char *lender, const gg_operator *op,
                              gg_candidate *candidate);

/* Fills in what the kernel's struct leaves out. */
void gg_candidate_whole(const gg_kernel *kernel, gg_candidate *candidate);

/* Makes a kernel of any origin a candidate. */
gg_status gg_candidate_take(const gg_kernel *kernel, const char *origin,
                            gg_candidate *candidate);

#endif
