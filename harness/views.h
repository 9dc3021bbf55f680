/* SPDX-License-Identifier: Apache-2.0
 * The same input seen another way: behind a byte offset, with space between its rows, or
 * spread over more than 4 GiB, where 32-bit offsets wrap around. */
#ifndef HARNESS_VIEWS_H
#define HARNESS_VIEWS_H

#include "harness/trial.h"

enum { GG_VIEW_OFFSET, GG_VIEW_ROWS, GG_VIEW_GIANT, GG_VIEWS };

typedef struct gg_view {
    int input, kind;
    const char *text;  /* what it is, for notes */
    DLTensor before;   /* the call's own */
    int64_t strides[GG_MAX_DIMS];
    void *memory;      /* of a strided copy */
} gg_view;

/* Puts the view into the trial's call. *taken is false when the input has no such view
 * or the kernel declines it, which is its right. Close it whatever comes back. */
gg_status gg_view_open(gg_trial *t, gg_view *view, bool *taken);
void gg_view_close(gg_trial *t, gg_view *view);

#endif
