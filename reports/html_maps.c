/* SPDX-License-Identifier: Apache-2.0
 * The levels of determinism as a table, and the maps of the run's worst cases as
 * charts: one square a cell, in steps of opacity. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "reports/html_page.h"

static void level_row(const gg_page *page, const gg_level_row *row)
{
    gg_verdict verdict = row->failed > 0 ? GG_FAILED
                         : row->passed == row->cases ? GG_PASSED : GG_NOT_VERIFIED;
    char rate[32] = "\xe2\x80\x93", overlap[32] = "\xe2\x80\x93";
    if (verdict == GG_PASSED) snprintf(rate, sizeof rate, "%.2g %%", 100 * row->excluded);
    if (!isnan(row->overlap)) snprintf(overlap, sizeof overlap, "%.0f %%", 100 * row->overlap);
    fputs("<tr><td>", page->out);
    gg_markup(page->out, row->name);
    fprintf(page->out,
            "</td><td><span class=\"tag %s\">%s</span></td><td class=\"n\">%d of %d</td>"
            "<td class=\"n\">%d</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td>",
            gg_html_class(verdict), gg_verdict_name(verdict), row->passed, row->cases,
            row->runs, rate, overlap);
    gg_markup(page->out, row->control[0] ? row->control : "none");
    fputs("</td></tr>\n", page->out);
}

void gg_html_levels(const gg_page *page)
{
    const gg_summary *s = page->summary;
    if (s->level_count == 0) return;
    fputs("<h2>Determinism by level</h2>\n<div class=\"wide\"><table><tr><th>level</th>"
          "<th>verdict</th><th class=\"n\">cases passed</th><th class=\"n\">runs</th>"
          "<th class=\"n\">rate excluded above</th><th class=\"n\">least overlap</th>"
          "<th>control</th></tr>\n", page->out);
    for (int i = 0; i < s->level_count; i++) level_row(page, &s->levels[i]);
    fputs("</table></div>\n<p class=\"soft\">Each run against one that had the device to "
          "itself. Overlap: share of the runs' time during which the load really ran beside "
          "them. The control, whose bits are known to differ, must differ under the same "
          "condition; else the level is not verified.</p>\n", page->out);
}

/* Extent of a map in elements, which the cells may overhang. */
static double extent(const gg_output_record *o, int back, int cells, int64_t of_cell)
{
    double most = (double)cells * (double)of_cell;
    double real = o->ndim >= back ? (double)o->shape[o->ndim - back] : most;
    return real <= most && real > most - (double)of_cell ? real : most;
}

static int step_of(const gg_map *map, int row, int column)
{
    return (map->cells[row * map->columns + column] * GG_CHART_STEPS + 254) / 255;
}

/* Cells of a row that touch and are alike are one box. */
static void draw_row(const gg_map *map, int row, gg_paint weakest, gg_chart *chart)
{
    double height = (double)map->cell_rows, width = (double)map->cell_columns;
    for (int c = 0, end; c < map->columns; c = end) {
        int step = step_of(map, row, c);
        for (end = c + 1; end < map->columns && step_of(map, row, end) == step;) end++;
        if (step == 0) continue;
        gg_chart_bar(chart, c * width, fmin(end * width, chart->x.high), row * height,
                     fmin((row + 1) * height, chart->y.high),
                     (gg_paint)((int)weakest + step - 1), NULL);
    }
}

/* The map as an SVG, which the caller frees; NULL when charts are not drawn. */
static char *draw(const gg_page *page, const gg_output_record *o, bool bits)
{
    const gg_map *map = bits ? &o->bits_map : &o->error_map;
    char title[64], text[200];
    gg_chart chart = {.left = 40, .right = 16, .framed = true};
    chart.x.high = extent(o, 1, map->columns, map->cell_columns);
    chart.y.high = extent(o, 2, map->rows, map->cell_rows);
    chart.x.step = fmax(1, gg_chart_step(chart.x.high)); /* whole elements */
    chart.y.step = fmax(1, gg_chart_step(chart.y.high));
    chart.x.unit = chart.y.unit = "%.0s%c";
    if (chart.x.high < 1000) chart.x.unit = "%g";
    if (chart.y.high < 1000) chart.y.unit = "%g";
    /* a map of few columns is drawn wider than it is, or it would be a line */
    double ratio = fmin(4, fmax(0.8, (double)map->columns / map->rows));
    chart.height = gg_chart_plot_width(&chart) / ratio;
    for (int r = 0; r < map->rows; r++)
        draw_row(map, r, bits ? GG_PAINT_BITS : GG_PAINT_ERROR, &chart);
    snprintf(title, sizeof title, "%s: where %s", o->name, bits ? "bits differ" : "errors are");
    snprintf(text, sizeof text, "A map of %d by %d cells over the last two dimensions, stronger "
             "where %s.", map->rows, map->columns, bits ? "more bits differ" : "errors are larger");
    return gg_chart_draw(&chart, page->drawing, title, text);
}

/* What the steps stand for. */
static void key(const gg_page *page, const gg_map *map, bool bits)
{
    char full[32];
    fprintf(page->out, "<p class=\"soft\">0 <span class=\"steps %s\">", bits ? "bits" : "errors");
    for (int step = 1; step <= GG_CHART_STEPS; step++)
        fprintf(page->out, "<i style=\"opacity:%.3g\"></i>", (double)step / GG_CHART_STEPS);
    fputs("</span> ", page->out);
    if (bits) gg_markup_format(page->out, "%.3g %% of a cell", 100 * map->full);
    else gg_markup_format(page->out, "%s", gg_html_figure(map->full, full));
    gg_markup_format(page->out, "; a cell is %" PRId64 " \xc3\x97 %" PRId64 " elements; ",
                     map->cell_rows, map->cell_columns);
}

static void card(const gg_page *page, const gg_case_record *c, const gg_output_record *o,
                 bool bits)
{
    const gg_map *map = bits ? &o->bits_map : &o->error_map;
    char value[32];
    char *svg = draw(page, o, bits);
    fputs("<section class=\"card\"><h3><code>", page->out);
    gg_markup(page->out, o->name);
    fputs("</code> <span class=\"soft\">", page->out);
    if (bits) gg_markup_format(page->out, "%.3g %% of its elements differ", 100 * map->value);
    else
        gg_markup_format(page->out, "largest error %s times its allowance",
                         gg_html_figure(map->value, value));
    fputs("</span></h3>\n", page->out);
    if (svg != NULL) fputs(svg, page->out);
    free(svg);
    key(page, map, bits);
    fputs("<span class=\"id\">", page->out);
    gg_markup(page->out, c->id);
    fputs("</span></p></section>\n", page->out);
}

static void maps(const gg_page *page, bool bits, const char *title, const char *text)
{
    const gg_run_record *run = page->run;
    int drawn = 0;
    for (int o = 0; o < GG_MAX_OUTPUTS; o++) /* in the order of the outputs */
        for (int i = 0; i < run->count; i++) {
            if (o >= run->cases[i].output_count) continue;
            const gg_output_record *output = &run->cases[i].outputs[o];
            if ((bits ? output->bits_map.rows : output->error_map.rows) == 0) continue;
            if (drawn++ == 0)
                fprintf(page->out, "<h2>%s</h2>\n<p class=\"soft\">%s Rows and columns are "
                        "the last two dimensions; all others are taken together.</p>\n"
                        "<div class=\"cards charts\">\n", title, text);
            card(page, &run->cases[i], output, bits);
        }
    if (drawn > 0) fputs("</div>\n", page->out);
    gg_chart_tell(page->drawing, page->out);
}

void gg_html_maps(const gg_page *page)
{
    maps(page, true, "Where bits differ",
         "Share of each cell's elements that changed, in the run that changed most.");
    maps(page, false, "Where errors are",
         "Largest error of each cell, in allowed roundings, in the worst case of each output.");
}
