/* SPDX-License-Identifier: Apache-2.0
 * A budget for a browser: stacked bars, a row a family, and the same as tables. A part of a
 * bar carries its name where there is room, so colour is not all that tells. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/budget.h"
#include "reports/html_page.h"

enum { MOST_ROWS = 40, VERDICT_ROOM = 64 };
static const double LETTER = 5.6; /* its width within a bar, in units of the drawing */

/* Rows of one variant and output. */
typedef struct part {
    const gg_budget_row *rows;
    int count;
} part;

static unsigned used_points(const gg_budget *b)
{
    unsigned used = 0;
    for (int v = 0; v < b->variant_count; v++) used |= b->variants[v].points;
    return used;
}

/* Colour of a point: its place among those that any variant has. */
static int segment(const gg_budget *b, int point)
{
    int place = 0;
    for (int p = 0; p < point; p++) place += (used_points(b) >> p & 1u) != 0;
    return place % GG_CHART_SEGMENTS;
}

static void legend(const gg_budget *b, FILE *out)
{
    fputs("<p class=\"soft\">", out);
    for (int p = 0; p < b->point_count; p++) {
        if (!(used_points(b) >> p & 1u)) continue;
        fprintf(out, "<span class=\"swatch seg%d\">", segment(b, p));
        gg_markup(out, b->points[p].name);
        fputs("</span>", out);
        gg_markup(out, b->points[p].summary);
        fputs("<br>", out);
    }
    fputs("</p>\n", out);
}

static const char *family_of(const gg_budget_row *row)
{
    return row->family[0] ? row->family : "all";
}

static const char *sign_of(gg_verdict verdict)
{
    return verdict == GG_PASSED ? "\xe2\x9c\x93" : verdict == GG_FAILED ? "\xe2\x9c\x97" : "?";
}

/* "1.02": the verdict's bounds are that close. */
static const char *ratio_of(const gg_budget_row *row, char text[32])
{
    if (row->ratio < 10) snprintf(text, 32, "%.2f", row->ratio);
    else gg_html_figure(row->ratio, text);
    return text;
}

static void bar(const gg_budget *b, const gg_budget_row *row, int at, gg_chart *chart)
{
    char tip[100], ratio[32], figure[48];
    double from = 0, width = gg_chart_plot_width(chart);
    for (int p = 0; p < b->point_count; p++) {
        const char *name = b->points[p].name;
        double share = 100 * gg_budget_share(row, p), to = fmin(100, from + share);
        if (!(share > 0)) continue;
        snprintf(tip, sizeof tip, "%s: %.1f %%", name, share);
        gg_chart_bar(chart, from, to, at - 0.42, at + 0.42,
                     (gg_paint)(GG_PAINT_SEGMENT + segment(b, p)), tip);
        if (share / 100 * width > 6 + LETTER * (double)strlen(name))
            gg_chart_text(chart, GG_MARK_WITHIN, (from + to) / 2, at, GG_PAINT_WITHIN, name);
        from = to;
    }
    snprintf(figure, sizeof figure, "%s\xc3\x97 %s", ratio_of(row, ratio),
             sign_of(row->verdict));
    gg_chart_text(chart, GG_MARK_NAME, 0, at, row->family[0] ? GG_PAINT_INK : GG_PAINT_STRONG,
                  family_of(row));
    gg_chart_text(chart, GG_MARK_BESIDE, 100, at,
                  row->verdict == GG_PASSED   ? GG_PAINT_OK
                  : row->verdict == GG_FAILED ? GG_PAINT_BAD
                                              : GG_PAINT_OPEN,
                  figure);
}

static void part_chart(const gg_budget *b, part of, gg_drawing *drawing, FILE *out)
{
    double margin = gg_chart_margin("all");
    char text[200];
    if (of.count > MOST_ROWS) of.count = MOST_ROWS;
    for (int i = 0; i < of.count; i++) margin = fmax(margin, gg_chart_margin(of.rows[i].family));
    gg_chart chart = {.left = margin, .right = VERDICT_ROOM,
                      .height = of.count * GG_CHART_ROW, .y = {.low = -0.5, .high = of.count - 0.5},
                      .x = {.high = 100, .step = 25, .unit = "%g %%"}};
    for (int i = 0; i < of.count; i++) bar(b, &of.rows[i], i, &chart);
    snprintf(text, sizeof text, "A bar of 100 %% for each of %d families, in parts by rounding "
             "point. The table has every share.", of.count);
    gg_chart_card(&chart, drawing, b->outputs[of.rows[0].output], "shares of the mean square error",
                  text, out);
}

static void table_head(const gg_budget *b, unsigned points, FILE *out)
{
    fputs("<tr><th>output</th><th>family</th><th class=\"n\">RMSE</th><th class=\"n\">of all points"
          "</th><th></th>", out);
    for (int p = 0; p < b->point_count; p++) {
        if (!(points >> p & 1u)) continue;
        fputs("<th class=\"n\">", out);
        gg_markup(out, b->points[p].name);
        fputs("</th>", out);
    }
    fputs("</tr>\n", out);
}

static void table_row(const gg_budget *b, const gg_budget_row *row, unsigned points, FILE *out)
{
    char rmse[32], ratio[32];
    fputs("<tr><td><code>", out);
    gg_markup(out, b->outputs[row->output]);
    fputs("</code></td><td>", out);
    gg_markup(out, family_of(row));
    fprintf(out, "</td><td class=\"n\">%s</td><td class=\"n\">%s\xc3\x97</td>"
            "<td><span class=\"tag %s\">%s</span></td>",
            gg_html_figure(sqrt(row->mean.kernel), rmse), ratio_of(row, ratio),
            gg_html_class(row->verdict), gg_budget_outcome(row));
    for (int p = 0; p < b->point_count; p++)
        if (points >> p & 1u)
            fprintf(out, "<td class=\"n\">%.1f %%</td>", 100 * gg_budget_share(row, p));
    fputs("</tr>\n", out);
}

/* Charts of one variant, then its table. */
static void variant(const gg_budget *b, part of, gg_drawing *drawing, FILE *out)
{
    const gg_budget_variant *v = &b->variants[of.rows[0].variant];
    fputs("<h3>", out);
    gg_markup(out, v->name);
    fputs("</h3>\n<div class=\"cards charts\">\n", out);
    for (int i = 0, end; i < of.count; i = end) {
        for (end = i; end < of.count && of.rows[end].output == of.rows[i].output;) end++;
        part_chart(b, (part){&of.rows[i], end - i}, drawing, out);
    }
    fputs("</div>\n", out);
    gg_chart_tell(drawing, out);
    fprintf(out, "<details%s><summary>the figures as a table</summary><div class=\"wide\"><table>",
            drawing->trouble[0] ? " open" : "");
    table_head(b, v->points, out);
    for (int i = 0; i < of.count; i++) table_row(b, &of.rows[i], v->points, out);
    fputs("</table></div></details>\n", out);
}

gg_status gg_budget_section(const gg_budget *b, gg_drawing *drawing, FILE *out)
{
    gg_budget_row *rows = NULL;
    int count = 0;
    GG_TRY(gg_budget_rows(b, &rows, &count));
    fputs("<h2>Error budget: what each rounding costs</h2>\n", out);
    fputs("<p class=\"soft\">Share of the mean square error by rounding point, each switched on "
          "alone. Figures: RMSE of the kernel as a multiple of that of all points together: 1 "
          "when they explain the kernel's error (", out);
    fprintf(out, "\xe2\x9c\x93 from %.1f to %.1f), \xe2\x9c\x97 when it has another source or "
            "lacks one of them.%s</p>\n", GG_BUDGET_LOW, GG_BUDGET_HIGH,
            b->assumed ? " The points are the user's, not the kernel's statement." : "");
    legend(b, out);
    for (int i = 0, end; i < count; i = end) {
        for (end = i; end < count && rows[end].variant == rows[i].variant;) end++;
        variant(b, (part){&rows[i], end - i}, drawing, out);
    }
    free(rows);
    return GG_OK;
}

static void hero(const gg_budget *b, FILE *out)
{
    const gg_run_record *m = &b->made;
    gg_verdict verdict = gg_budget_verdict(b);
    fprintf(out, "<header class=\"hero %s\">\n<h1>%s</h1>\n<p>", gg_html_class(verdict),
            verdict == GG_PASSED   ? "\xe2\x9c\x93 explained"
            : verdict == GG_FAILED ? "\xe2\x9c\x97 not explained"
                                   : "? not verified");
    gg_markup_format(out, "error budget of %s on %s, suite %s, %d case%s", m->kernel,
                     m->place.gpu[0] ? m->place.gpu : m->device, m->suite, b->case_count,
                     GG_S(b->case_count));
    fputs("</p>\n<p class=\"soft\">", out);
    gg_markup_format(out, "%s \xc2\xb7 commit %s \xc2\xb7 %s", m->operator_name, m->commit,
                     m->place.started);
    if (m->selection[0]) gg_markup_format(out, " \xc2\xb7 cases %s", m->selection);
    fputs("</p>\n</header>\n", out);
}

gg_status gg_budget_html(const void *context, FILE *out)
{
    const gg_budget *b = context;
    gg_drawing drawing = {.seconds = GG_CHART_SECONDS};
    char title[300];
    snprintf(title, sizeof title, "Error budget of %s, %s", b->made.kernel, b->made.suite);
    gg_html_begin(out, title);
    hero(b, out);
    GG_TRY(gg_budget_section(b, &drawing, out));
    gg_html_end(out);
    return GG_OK;
}
