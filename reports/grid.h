/* SPDX-License-Identifier: Apache-2.0
 * For those who fill a view (view.h). */
#ifndef REPORTS_GRID_H
#define REPORTS_GRID_H

#include "reports/claims.h"
#include "reports/view.h"

/* The next grid of the view; its first `left` columns are text. */
gg_grid *gg_grid_start(gg_view *view, int left);
/* A row: cells parted by tabs, so texts of a record go through GG_CLEAN. */
void gg_grid_add(gg_grid *grid, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* view_levels.c */
void gg_view_levels(const gg_run_record *run, const gg_summary *summary, gg_view *view);
/* view_claims.c */
void gg_view_claims(const gg_claims *claims, gg_view *view);

#define GG_CLEAN(text) gg_clean(text, (char[400]){0}, 400)

#endif
