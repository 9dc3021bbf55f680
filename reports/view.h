/* SPDX-License-Identifier: Apache-2.0
 * What people see of a run, without the form: table.c and markdown.c render the same
 * lines and grids, so the two can never say different things. */
#ifndef REPORTS_VIEW_H
#define REPORTS_VIEW_H

#include <stdio.h>

#include "reports/summary.h"

enum {
    GG_VIEW_LINES = 5,
    GG_VIEW_GRIDS = 8,
    GG_VIEW_FAILURES = 10,
    GG_VIEW_SHAPES = 40
};

/* Rows of cells; row 0 is the head. Cells stand in one text, parted by tabs. */
typedef struct gg_grid {
    char title[160];
    char note[800];   /* below the grid, "" for none */
    char **rows;
    int count, room;
    int left;         /* that many first columns are text, the others numbers */
    bool broken;      /* memory ran out: the grid says so instead of looking complete */
} gg_grid;

typedef struct gg_view {
    char lines[GG_VIEW_LINES][400]; /* the verdict first, then what is behind it */
    int line_count;
    gg_grid grids[GG_VIEW_GRIDS];
    int grid_count;
} gg_view;

/* What a report does not hold itself; NULL: nothing of it. */
typedef struct gg_view_context {
    const gg_run_record *beside; /* of other kernels, for claims that compare (claims.h) */
    int beside_count;
    const char *given; /* suite, kernel and device as options of a shell; NULL: their names */
} gg_view_context;

gg_status gg_view_make(const gg_run_record *run, const gg_view_context *context,
                       gg_view *view);
void gg_view_free(gg_view *view);

/* The two renderings. `width` of the terminal, 0 when not one. GG_NO_MEMORY: a grid was
 * broken, which the output says too. */
gg_status gg_view_table(const gg_view *view, FILE *out, int width);
/* The status that a rendering of the view must return. */
gg_status gg_view_whole(const gg_view *view);
gg_status gg_view_markdown(const gg_view *view, FILE *out);

/* Cell `column` of a row, not NUL-terminated; NULL after the last. */
const char *gg_grid_cell(const char *row, int column, int *length);

/* A text of a record without control characters: a hostile id must not command the
 * terminal or break a row. */
const char *gg_clean(const char *text, char *buffer, size_t size);

#endif
