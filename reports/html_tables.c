/* SPDX-License-Identifier: Apache-2.0
 * The tables of the HTML report that are coloured by verdict: bits by family and output,
 * and what each limit leaves. */
#include <math.h>
#include <string.h>

#include "reports/html_page.h"

void gg_html_grid(const gg_grid *grid, FILE *out)
{
    fputs("<div class=\"wide\"><table>", out);
    for (int r = 0; r < grid->count; r++) {
        int length = 0;
        const char *cell, *kind = r == 0 ? "th" : "td";
        fputs("<tr>", out);
        for (int c = 0; (cell = gg_grid_cell(grid->rows[r], c, &length)) != NULL; c++) {
            fprintf(out, "<%s%s>", kind, c < grid->left ? "" : " class=\"n\"");
            gg_markup_part(out, cell, (size_t)length);
            fprintf(out, "</%s>", kind);
        }
        fputs("</tr>\n", out);
    }
    fputs("</table></div>\n", out);
    if (!grid->note[0] && !grid->broken) return;
    fputs("<p class=\"soft\">", out);
    gg_markup(out, grid->note);
    fputs(grid->broken ? " Incomplete: no memory for all rows.</p>\n" : "</p>\n", out);
}

static bool begins_output(const gg_summary *s, int i)
{
    return i == 0 || strcmp(s->rows[i].output, s->rows[i - 1].output) != 0;
}

static const gg_summary_row *cell_of(const gg_summary *s, const char *output,
                                     const char *family)
{
    for (int i = 0; i < s->row_count; i++)
        if (strcmp(s->rows[i].output, output) == 0 &&
            strcmp(s->rows[i].family, family) == 0)
            return &s->rows[i];
    return NULL;
}

static void cell(const gg_page *page, const gg_summary_row *row)
{
    if (!row) fputs("<td><span class=\"none\">\xe2\x80\x93</span></td>", page->out);
    else if (row->repeated == 0)
        fputs("<td><span class=\"open\">not run</span></td>", page->out);
    else
        fprintf(page->out, "<td><span class=\"%s\">%s %d/%d</span></td>",
                row->identical == row->repeated ? "passed" : "failed",
                row->identical == row->repeated ? "=" : "\xe2\x89\xa0", row->identical,
                row->repeated);
}

void gg_html_determinism(const gg_page *page)
{
    const gg_summary *s = page->summary;
    const char *outputs[GG_MAX_OUTPUTS], *families[60];
    int output_count = 0, family_count = 0, hidden = 0;
    for (int i = 0; i < s->row_count; i++) {
        if (begins_output(s, i) && output_count < GG_MAX_OUTPUTS)
            outputs[output_count++] = s->rows[i].output;
        if (output_count != 1 || !s->rows[i].family[0]) continue;
        if (family_count < 60) families[family_count++] = s->rows[i].family;
        else hidden++;
    }
    fputs("<h2>Determinism: equal inputs, equal bits?</h2>\n<div class=\"wide\">"
          "<table class=\"matrix\"><tr><th></th>",
          page->out);
    for (int o = 0; o < output_count; o++) {
        fputs("<th><code>", page->out);
        gg_markup(page->out, outputs[o]);
        fputs("</code></th>", page->out);
    }
    fputs("</tr>\n", page->out);
    for (int f = 0; f < family_count; f++) {
        fputs("<tr><th>", page->out);
        gg_markup(page->out, families[f]);
        fputs("</th>", page->out);
        for (int o = 0; o < output_count; o++)
            cell(page, cell_of(s, outputs[o], families[f]));
        fputs("</tr>\n", page->out);
    }
    fprintf(page->out,
            "</table></div>\n<p class=\"soft\">Cases in which no bit differed between "
            "runs. %d equal runs exclude, at 95 %%, that a case mismatches more often than "
            "in "
            "%.2g %% of its runs; cases are not pooled.%s</p>\n",
            page->run->repeats, 100 * gg_excluded_rate(page->run->repeats),
            hidden ? " More families are in the report." : "");
}

static void limit_row(const gg_page *page, const char *output, const char *check)
{
    char value[32], limit[32];
    gg_worst_check w = gg_worst_check_of(page->run, output, check);
    if (!w.id) return;
    bool judged = isfinite(w.limit);
    fputs("<tr><td><code>", page->out);
    gg_markup(page->out, output);
    fputs("</code></td><td>", page->out);
    gg_markup(page->out, check);
    fputs("</td><td class=\"n\">", page->out);
    gg_markup(page->out, gg_html_figure(w.value, value));
    fputs("</td><td class=\"n\">", page->out);
    gg_markup(page->out, judged           ? gg_html_figure(w.limit, limit)
                         : isnan(w.limit) ? "not stated"
                                          : "unlimited");
    fputs("</td><td>", page->out);
    double share = w.value / w.limit;
    bool passed = gg_judge(w.value, w.limit) == GG_PASSED;
    if (judged)
        fprintf(page->out, "<span class=\"meter\"><i class=\"%s\" style=\"width:%.1f%%\">"
                "</i></span>", passed ? "" : "over",
                isfinite(share) ? fmin(100, 100 * share)
                : passed        ? 0.0
                                : 100.0);
    fputs("</td><td class=\"id\">", page->out);
    gg_markup(page->out, w.id);
    fputs("</td></tr>\n", page->out);
}

void gg_html_limits(const gg_page *page)
{
    static const char *const checks[] = {"rmse", "roundings", "gauge_p99", "gauge_max"};
    fputs("<h2>Limits</h2>\n<div class=\"wide\"><table><tr><th>output</th><th>check</th>"
          "<th class=\"n\">worst</th><th "
          "class=\"n\">limit</th><th>used</th><th>case</th></tr>\n",
          page->out);
    for (int i = 0; i < page->run->limit_count; i++)
        for (size_t c = 0; c < sizeof checks / sizeof *checks; c++)
            limit_row(page, page->run->limits[i].output, checks[c]);
    fputs("</table></div>\n<p class=\"soft\">rmse: in units of the rounding floor; roundings: the "
          "same in units of what the stated roundings make; gauge: error of one element in "
          "allowed roundings. ",
          page->out);
    gg_markup(page->out, page->run->limits_note);
    fputs("</p>\n", page->out);
}
