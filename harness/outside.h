/* SPDX-License-Identifier: Apache-2.0
 * Kernels that run outside of this process and exchange safetensors files with it: what
 * a trial calls instead of gg_kernel.forward and .backward. One call makes all outputs. */
#ifndef HARNESS_OUTSIDE_H
#define HARNESS_OUTSIDE_H

#include "harness/trial.h"
#include "reports/safetensors.h"

enum { GG_OUTSIDE_PATH = 1200 };

typedef struct gg_outside gg_outside;
struct gg_outside {
    /* Has the outputs of one run on the trial's inputs made, and says where they are.
     *   GG_BAD_INPUT      it declines, or they are missing: not verified
     *   GG_DEVICE_FAULT   it says that it failed: not verified
     *   GG_KERNEL_FAULT   it died, hung or answered nonsense: failed */
    gg_status (*produce)(gg_outside *, gg_trial *, char path[GG_OUTSIDE_PATH]);
    void (*done)(gg_outside *);  /* the file has been read; NULL: nothing to do */
    void (*close)(gg_outside *); /* frees the whole */
    int timeout;                 /* seconds for a call */
    gg_safetensors last;         /* outputs of the run under way */
};

/* As gg_trial_forward and gg_trial_backward call a kernel. An output of wrong type or
 * shape is GG_KERNEL_FAULT; one that is missing GG_BAD_INPUT. */
gg_status gg_outside_forward(gg_outside *, gg_trial *);
gg_status gg_outside_backward(gg_outside *, gg_trial *);
void gg_outside_close(gg_outside *); /* NULL is allowed */

#endif
