/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "reports/report.h"
#include "reports/view.h"

enum { MOST_COLUMNS = 16 };

/* Columns on a terminal, counted as characters: continuation bytes of UTF-8 are none.
 */
static int columns_of(const char *text, int length)
{
    int columns = 0;
    for (int i = 0; i < length; i++) columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

static void pad(FILE *out, int count)
{
    for (int i = 0; i < count; i++) fputc(' ', out);
}

/* A cell, cut to `most` columns. */
static int put_cell(FILE *out, const char *text, int length, int most)
{
    if (columns_of(text, length) <= most) {
        fwrite(text, 1, (size_t)length, out);
        return columns_of(text, length);
    }
    int columns = 0, i = 0;
    for (; i < length; i++) {
        bool begins = ((unsigned char)text[i] & 0xc0) != 0x80;
        if (begins && columns == most - 3) break;
        columns += begins;
    }
    fwrite(text, 1, (size_t)i, out);
    fputs("...", out);
    return columns + 3;
}

/* The last column is text of any length: it is cut at the width, never padded. */
static void put_row(const gg_grid *grid, const char *row, const int *widths,
                    int columns, FILE *out, int width)
{
    int used = 2;
    pad(out, 2);
    for (int c = 0; c < columns; c++) {
        int length = 0;
        const char *cell = gg_grid_cell(row, c, &length);
        if (!cell) break;
        bool last = c == columns - 1, left = c < grid->left || last;
        int free_columns = widths[c] - columns_of(cell, length);
        if (!left) pad(out, free_columns);
        int room = last && width ? width - used : 1 << 20;
        put_cell(out, cell, length, room < 12 ? 12 : room);
        if (last) break;
        if (left) pad(out, free_columns);
        pad(out, 2);
        used += widths[c] + 2;
    }
    fputc('\n', out);
}

static void put_grid(const gg_grid *grid, FILE *out, int width)
{
    int widths[MOST_COLUMNS] = {0}, columns = 0;
    for (int r = 0; r < grid->count; r++)
        for (int c = 0, length = 0; c < MOST_COLUMNS; c++) {
            const char *cell = gg_grid_cell(grid->rows[r], c, &length);
            if (!cell) break;
            int needed = columns_of(cell, length);
            if (needed > widths[c]) widths[c] = needed;
            if (c >= columns) columns = c + 1;
        }
    fprintf(out, "\n%s\n", grid->title);
    for (int r = 0; r < grid->count; r++)
        put_row(grid, grid->rows[r], widths, columns, out, width);
    if (grid->note[0]) fprintf(out, "  %s\n", grid->note);
    if (grid->broken) fprintf(out, "  incomplete: no memory for all rows\n");
}

gg_status gg_view_table(const gg_view *view, FILE *out, int width)
{
    for (int i = 0; i < view->line_count; i++) fprintf(out, "%s\n", view->lines[i]);
    for (int g = 0; g < view->grid_count; g++) put_grid(&view->grids[g], out, width);
    return gg_view_whole(view);
}

gg_status gg_report_table(const gg_run_record *run, FILE *out, int width)
{
    gg_view view;
    GG_TRY(gg_view_make(run, NULL, &view));
    gg_status status = gg_view_table(&view, out, width);
    gg_view_free(&view);
    return status;
}
