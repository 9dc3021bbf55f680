/* SPDX-License-Identifier: Apache-2.0
 * A budget for a browser: stacked bars, a row a family, and beside each its figures. A
 * part of a bar carries its name where there is room, so colour is not all that tells. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/budget.h"
#include "reports/html_page.h"
#include "reports/html_style.h"

/* Light enough for dark letters, apart from each other in lightness or hue. */
static const char *const colours[] = {"#8fb8ff", "#ffc46b", "#8fdcaf", "#f2a0a0",
                                      "#c9b3ff", "#d8d8d0", "#ffe98a", "#9fdfe8"};
enum { COLOURS = sizeof colours / sizeof colours[0] };

static const char style[] =
    ".stackbar{display:flex;height:18px;border-radius:3px;overflow:hidden;"
    "background:var(--mute)}\n"
    ".stackbar i{display:block;overflow:hidden;white-space:nowrap;text-align:center;"
    "font:11px/18px system-ui,sans-serif;color:#14171b}\n"
    ".swatch{display:inline-block;padding:0 .5em;border-radius:3px;color:#14171b;"
    "margin:0 .3em .2em 0}\n";

/* Colour of a point: its place among those that any variant has. */
static const char *colour(const gg_budget *b, int point)
{
    unsigned used = 0;
    int place = 0;
    for (int v = 0; v < b->variant_count; v++) used |= b->variants[v].points;
    for (int p = 0; p < point; p++) place += (used >> p & 1u) != 0;
    return colours[place % COLOURS];
}

static void legend(const gg_budget *b, FILE *out)
{
    unsigned used = 0;
    for (int v = 0; v < b->variant_count; v++) used |= b->variants[v].points;
    fputs("<p class=\"soft\">", out);
    for (int p = 0; p < b->point_count; p++) {
        if (!(used >> p & 1u)) continue;
        fprintf(out, "<span class=\"swatch\" style=\"background:%s\">", colour(b, p));
        gg_markup(out, b->points[p].name);
        fputs("</span>", out);
        gg_markup(out, b->points[p].summary);
        fputs("<br>", out);
    }
    fputs("</p>\n", out);
}

static void bar(const gg_budget *b, const gg_budget_row *row, FILE *out)
{
    fputs("<span class=\"stackbar\">", out);
    for (int p = 0; p < b->point_count; p++) {
        double share = 100 * gg_budget_share(row, p);
        if (!(share > 0.05)) continue;
        fprintf(out, "<i style=\"width:%.2f%%;background:%s\" title=\"", share, colour(b, p));
        gg_markup_format(out, "%s: %.1f %%", b->points[p].name, share);
        fputs("\">", out);
        if (share > 3 + 5.5 * (double)strlen(b->points[p].name)) /* a letter's width */
            gg_markup(out, b->points[p].name);
        fputs("</i>", out);
    }
    fputs("</span>", out);
}

static void one_row(const gg_budget *b, const gg_budget_row *row, FILE *out)
{
    char rmse[32], ratio[32];
    fprintf(out, "<div class=\"row%s\"><span class=\"lab\">", row->family[0] ? "" : " all");
    gg_markup(out, row->family[0] ? row->family : "all");
    fputs("</span>", out);
    bar(b, row, out);
    fputs("<span class=\"num\">", out);
    gg_markup_format(out, "%s \xc2\xb7 %s\xc3\x97 ", gg_html_figure(sqrt(row->mean.kernel), rmse),
                     gg_html_figure(row->ratio, ratio));
    fprintf(out, "<span class=\"tag %s\">%s</span></span></div>\n", gg_html_class(row->verdict),
            row->verdict == GG_PASSED   ? "\xe2\x9c\x93"
            : row->verdict == GG_FAILED ? "\xe2\x9c\x97"
                                        : "?");
}

gg_status gg_budget_section(const gg_budget *b, FILE *out)
{
    gg_budget_row *rows = NULL;
    int count = 0;
    GG_TRY(gg_budget_rows(b, &rows, &count));
    fprintf(out, "<style>\n%s</style>\n<h2>Error budget: what each rounding costs</h2>\n", style);
    fputs("<p class=\"soft\">Share of the mean square error by rounding point, each switched on "
          "alone. Figures: RMSE of the kernel, and how many times the RMSE of all points "
          "together that is: 1 when they explain the kernel's error (", out);
    fprintf(out, "\xe2\x9c\x93 from %.1f to %.1f), \xe2\x9c\x97 when it has another source or "
            "lacks one of them.%s</p>\n", GG_BUDGET_LOW, GG_BUDGET_HIGH,
            b->assumed ? " The points are the user's, not the kernel's statement." : "");
    legend(b, out);
    for (int i = 0; i < count;) {
        int first = i;
        if (i == 0 || rows[i].variant != rows[i - 1].variant) {
            fprintf(out, "%s<h3>", i ? "</div>\n" : "");
            gg_markup(out, b->variants[rows[i].variant].name);
            fputs("</h3>\n<div class=\"cards\">\n", out);
        }
        fputs("<section class=\"card\" style=\"--num:9.6rem\"><h3><code>", out);
        gg_markup(out, b->outputs[rows[i].output]);
        fputs("</code></h3>\n", out);
        for (; i < count && rows[i].output == rows[first].output &&
               rows[i].variant == rows[first].variant;
             i++)
            one_row(b, &rows[i], out);
        fputs("</section>\n", out);
    }
    fputs("</div>\n", out);
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
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" "
          "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          out);
    gg_markup_format(out, "Error budget of %s, %s", b->made.kernel, b->made.suite);
    fprintf(out, "</title>\n<style>\n%s%s</style>\n</head>\n<body>\n<main>\n", gg_html_style,
            gg_html_style_more);
    hero(b, out);
    GG_TRY(gg_budget_section(b, out));
    fputs("</main>\n</body>\n</html>\n", out);
    return GG_OK;
}
