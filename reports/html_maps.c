/* SPDX-License-Identifier: Apache-2.0
 * The levels of determinism as a table, and the maps of the run's worst cases as
 * drawings: one square a cell, eight steps of opacity. */
#include <inttypes.h>
#include <math.h>

#include "reports/html_page.h"

enum { STEPS = 8 };

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

/* All cells of one step as one path: cells of a row that touch are one square. */
static void draw_step(const gg_page *page, const gg_map *map, int step)
{
    bool open = false;
    for (int r = 0; r < map->rows; r++)
        for (int c = 0, end; c < map->columns; c = end) {
            const uint8_t *row = map->cells + r * map->columns;
            end = c + 1;
            if ((row[c] * STEPS + 254) / 255 != step) continue;
            while (end < map->columns && (row[end] * STEPS + 254) / 255 == step) end++;
            if (!open)
                fprintf(page->out, "<path opacity=\"%.3g\" d=\"", (double)step / STEPS);
            fprintf(page->out, "M%d %dh%dv1h%dz", c, r, end - c, c - end);
            open = true;
        }
    if (open) fputs("\"/>", page->out);
}

static void draw(const gg_page *page, const gg_map *map, bool bits)
{
    /* a map of few columns is drawn wider than it is, or it would be a line */
    double ratio = fmin(4, fmax(0.5, (double)map->columns / map->rows));
    fprintf(page->out,
            "<svg class=\"map %s\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" "
            "style=\"aspect-ratio:%.3g\" role=\"img\"><rect class=\"rail\" width=\"%d\" "
            "height=\"%d\"/>", bits ? "bits" : "errors", map->columns, map->rows, ratio,
            map->columns, map->rows);
    for (int step = 1; step <= STEPS; step++) draw_step(page, map, step);
    fputs("</svg>", page->out);
}

static void card(const gg_page *page, const gg_case_record *c, const gg_output_record *o,
                 bool bits)
{
    const gg_map *map = bits ? &o->bits_map : &o->error_map;
    char full[32], value[32];
    fputs("<section class=\"card\"><h3><code>", page->out);
    gg_markup(page->out, o->name);
    fputs("</code> <span class=\"soft\">", page->out);
    if (bits) gg_markup_format(page->out, "%.3g %% of its elements differ", 100 * map->value);
    else
        gg_markup_format(page->out, "largest error %s times its allowance",
                         gg_html_figure(map->value, value));
    fputs("</span></h3>\n", page->out);
    draw(page, map, bits);
    fputs("<p class=\"soft\">strongest: ", page->out);
    if (bits) gg_markup_format(page->out, "%.3g %% of a cell", 100 * map->full);
    else gg_markup_format(page->out, "%s", gg_html_figure(map->full, full));
    gg_markup_format(page->out, "; a cell is %" PRId64 " \xc3\x97 %" PRId64 " elements; ",
                     map->cell_rows, map->cell_columns);
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
                        "<div class=\"cards\">\n", title, text);
            card(page, &run->cases[i], output, bits);
        }
    if (drawn > 0) fputs("</div>\n", page->out);
}

void gg_html_maps(const gg_page *page)
{
    maps(page, true, "Where bits differ",
         "Share of each cell's elements that changed, in the run that changed most.");
    maps(page, false, "Where errors are",
         "Largest error of each cell, in allowed roundings, in the worst case of each output.");
}
