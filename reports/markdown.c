/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "reports/report.h"
#include "reports/view.h"

/* Text of a record can hold anything: as Markdown it must stay text. */
static void put_text(FILE *out, const char *text, int length)
{
    for (int i = 0; i < length; i++) {
        if (text[i] == '<') fputs("&lt;", out);
        else if (text[i] == '&') fputs("&amp;", out);
        else {
            if (strchr("\\`*_[]|#~!", text[i])) fputc('\\', out);
            fputc(text[i], out);
        }
    }
}

static void put_line(FILE *out, const char *text)
{
    put_text(out, text, (int)strlen(text));
}

static void put_row(const char *row, FILE *out)
{
    int length = 0;
    const char *cell;
    fputc('|', out);
    for (int c = 0; (cell = gg_grid_cell(row, c, &length)) != NULL; c++) {
        fputc(' ', out);
        put_text(out, cell, length);
        fputs(" |", out);
    }
    fputc('\n', out);
}

static void put_rule(const gg_grid *grid, FILE *out)
{
    int length = 0;
    fputc('|', out);
    for (int c = 0; gg_grid_cell(grid->rows[0], c, &length); c++)
        fputs(c < grid->left ? " --- |" : " ---: |", out);
    fputc('\n', out);
}

static void put_grid(const gg_grid *grid, FILE *out)
{
    fputs("\n## ", out);
    put_line(out, grid->title);
    fputs("\n\n", out);
    for (int r = 0; r < grid->count; r++) {
        put_row(grid->rows[r], out);
        if (r == 0) put_rule(grid, out);
    }
    if (grid->count && grid->note[0]) fputc('\n', out);
    put_line(out, grid->note);
    if (grid->note[0]) fputc('\n', out);
    if (grid->broken) fputs("\nincomplete: no memory for all rows\n", out);
}

gg_status gg_view_markdown(const gg_view *view, FILE *out)
{
    for (int i = 0; i < view->line_count; i++) {
        fputs(i == 0 ? "# " : "- ", out);
        put_line(out, view->lines[i]);
        fputs(i == 0 ? "\n\n" : "\n", out);
    }
    for (int g = 0; g < view->grid_count; g++) put_grid(&view->grids[g], out);
    return gg_view_whole(view);
}

gg_status gg_report_markdown(const gg_run_record *run, FILE *out)
{
    gg_view view;
    GG_TRY(gg_view_make(run, NULL, &view));
    gg_status status = gg_view_markdown(&view, out);
    gg_view_free(&view);
    return status;
}
