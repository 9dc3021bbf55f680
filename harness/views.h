/* SPDX-License-Identifier: Apache-2.0
 * The same input seen another way: behind a byte offset, with space between its rows,
 * with two axes exchanged in memory, spread over more than 4 GiB, where 32-bit offsets wrap
 * around, or expanded: one index of an axis, seen at each of them (stride 0). */
#ifndef HARNESS_VIEWS_H
#define HARNESS_VIEWS_H

#include "harness/trial.h"

enum { GG_VIEW_OFFSET, GG_VIEW_ROWS, GG_VIEW_EXCHANGED, GG_VIEW_GIANT, GG_VIEWS };

typedef struct gg_view {
    int input, kind;
    int axis;          /* of an expanded view */
    const char *text;  /* what it is, for notes */
    DLTensor before;   /* the call's own */
    int64_t strides[GG_MAX_DIMS];
    void *memory;      /* of a strided copy */
    void *dense;       /* what an expanded view shows, written out, in `block` */
    void *block;
} gg_view;

/* Puts the view into the trial's call. *taken is false when the input has no such view
 * or the kernel declines it, which is its right. Close it whatever comes back. */
gg_status gg_view_open(gg_trial *t, gg_view *view, bool *taken);
/* The same with stride 0 along `axis`: index 0 is seen at every index. That is another
 * problem, so the dense tensor is written out for it too: gg_view_dense() sets the call to
 * that one, whose bits an expanded view must give. *taken is false also where the axis is
 * of extent 1, or the last. */
gg_status gg_view_expand(gg_trial *t, gg_view *view, bool *taken);
void gg_view_dense(gg_trial *t, gg_view *view);
void gg_view_close(gg_trial *t, gg_view *view);

#endif
