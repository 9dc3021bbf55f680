/* SPDX-License-Identifier: Apache-2.0
 * The drawn parts of the HTML report. Every drawing is an SVG of 100 by 10 that takes
 * the width it gets; the figures stand beside it as text. */
#include <math.h>
#include <string.h>

#include "reports/html_page.h"

static bool begins_output(const gg_summary *s, int i)
{
    return i == 0 || strcmp(s->rows[i].output, s->rows[i - 1].output) != 0;
}

static bool same_output(const gg_summary *s, int i, int first)
{
    return i < s->row_count && strcmp(s->rows[i].output, s->rows[first].output) == 0;
}

/* Error as a share of the truth: what makes families of different size comparable. */
static double relative(double value, const gg_summary_row *row)
{
    double share = value / row->truth_rms;
    return isfinite(share) ? share : 0;
}

/* The longest label of a card, in characters, so that its bars begin below each other. A
 * very long one is cut; pointing at it shows it. */
static void widen(int *longest, const char *family)
{
    int length = (int)strlen(family[0] ? family : "all");
    if (length > *longest) *longest = length > 17 ? 17 : length;
}

static void open_card(const gg_page *page, const char *output, int longest)
{
    fprintf(page->out, "<section class=\"card\" style=\"--lab:%d.%dem\"><h3><code>",
            (longest + 2) / 2, (longest + 2) % 2 * 5); /* half an em a letter */
    gg_markup(page->out, output);
    fputs("</code> ", page->out);
}

static void label(const gg_page *page, const char *family)
{
    fprintf(page->out, "<div class=\"row%s\"><span class=\"lab\" title=\"",
            family[0] ? "" : " all");
    gg_markup(page->out, family[0] ? family : "all families");
    fputs("\">", page->out);
    gg_markup(page->out, family[0] ? family : "all");
    fputs("</span>", page->out);
}

/* "1.08" or "21.7k": short enough for a phone. */
static const char *times(double ratio, char text[32])
{
    if (ratio >= 1000 && ratio < 1e6) snprintf(text, 32, "%.3gk", ratio / 1000);
    else if (ratio < 1000) snprintf(text, 32, ratio < 10 ? "%.2f" : "%.3g", ratio);
    else gg_html_figure(ratio, text);
    return text;
}

static void accuracy_row(const gg_page *page, const gg_summary_row *row, double most)
{
    char rmse[32], ratio[32];
    double scale = most > 0 ? 100 / most : 0;
    bool exact = row->rmse == 0 && row->floor_rmse == 0;
    label(page, row->family);
    fprintf(page->out,
            "<svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
            "<rect class=\"rail\" width=\"100\" height=\"10\" rx=\"1\"/>"
            "<rect class=\"fill\" y=\"1\" width=\"%.2f\" height=\"8\"/>"
            "<path class=\"floor\" d=\"M%.2f -1V11\"/></svg>",
            fmin(100, relative(row->rmse, row) * scale),
            fmin(100, relative(row->floor_rmse, row) * scale));
    fputs("<span class=\"num\">", page->out);
    gg_markup(page->out, gg_html_figure(row->rmse, rmse));
    fputs(" \xc2\xb7 ", page->out);
    gg_markup(page->out, exact ? "exact" : times(row->ratio, ratio));
    fputs(exact ? "</span></div>\n" : "\xc3\x97</span></div>\n", page->out);
}

void gg_html_accuracy(const gg_page *page)
{
    const gg_summary *s = page->summary;
    fputs("<h2>Error against the truth</h2>\n", page->out);
    if (!s->row_count) {
        fputs("<p class=\"none\">not run</p>\n", page->out);
        return;
    }
    fputs(
        "<p class=\"soft\"><span class=\"key\"></span> RMSE as a share of the truth's rms, "
        "<span class=\"key t\"></span> the rounding floor of the output's type: no kernel "
        "gets left of it. Figures: mean RMSE, and how many times the floor that is.</p>\n"
        "<div class=\"cards\">\n",
        page->out);
    for (int i = 0; i < s->row_count;) {
        int first = i;
        double most = 0;
        for (int k = i; same_output(s, k, first); k++) {
            most = fmax(most, relative(s->rows[k].rmse, &s->rows[k]));
            most = fmax(most, relative(s->rows[k].floor_rmse, &s->rows[k]));
        }
        int end = i, longest = 0;
        for (; same_output(s, end, first); end++) widen(&longest, s->rows[end].family);
        open_card(page, s->rows[first].output, longest);
        fprintf(page->out, "<span class=\"soft\">bars end at %.2g of the rms</span></h3>\n",
                most);
        if (end - i == 2) i++; /* one family: it is all */
        for (; i < end; i++) accuracy_row(page, &s->rows[i], most);
        fputs("</section>\n", page->out);
    }
    fputs("</div>\n", page->out);
}

static bool untouched(const gg_summary *s, const char *output)
{
    for (int i = 0; i < s->ablation_count; i++)
        if (strcmp(s->ablation[i].output, output) == 0 && !s->ablation[i].equal)
            return false;
    return true;
}

static void ablation_row(const gg_page *page, const gg_ablation_row *row, double low,
                         double high)
{
    double scale = 100 / (high - low);
    const char *class = row->outcome == GG_EARNED      ? "earned"
                        : row->outcome == GG_COLLAPSED ? "collapsed"
                                                       : "unclear";
    label(page, row->family);
    fprintf(page->out,
            "<svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
            "<path class=\"zero\" d=\"M%.2f -6V16\"/>"
            "<path class=\"span %s\" d=\"M%.2f 5H%.2f\"/>"
            "<path class=\"dot %s\" d=\"M%.2f 5h.01\"/></svg>",
            (0 - low) * scale, class, (row->low - low) * scale, (row->high - low) * scale,
            class, (row->mean - low) * scale);
    fprintf(page->out, "<span class=\"num\" title=\"95 %% interval %.1f to %.1f %%\">"
            "%+.1f %% \xc2\xb7 %s</span></div>\n", 100 * row->low, 100 * row->high,
            100 * row->mean,
            row->outcome == GG_NOT_RESOLVABLE ? "unclear" : gg_outcome_name(row->outcome));
}

static int ablation_card(const gg_page *page, int first)
{
    const gg_summary *s = page->summary;
    double low = 0, high = 0.01;
    int end = first, longest = 0;
    for (; end < s->ablation_count &&
           strcmp(s->ablation[end].output, s->ablation[first].output) == 0;
         end++) {
        widen(&longest, s->ablation[end].family);
        if (isfinite(s->ablation[end].low)) low = fmin(low, s->ablation[end].low);
        if (isfinite(s->ablation[end].high)) high = fmax(high, s->ablation[end].high);
    }
    if (untouched(s, s->ablation[first].output)) return end;
    open_card(page, s->ablation[first].output, longest);
    fprintf(page->out, "<span class=\"soft\">%.0f to %.0f %%, %d pairs</span></h3>\n",
            100 * low, 100 * high, s->ablation[first].pairs);
    if (end - first == 2) first++; /* one family: it is all */
    for (int i = first; i < end; i++) ablation_row(page, &s->ablation[i], low, high);
    fputs("</section>\n", page->out);
    return end;
}

void gg_html_ablation(const gg_page *page)
{
    const gg_summary *s = page->summary;
    fputs("<h2>Ablation: error saved by ", page->out);
    gg_markup(page->out, page->run->ablation[0] ? page->run->ablation : "a feature");
    fputs("</h2>\n", page->out);
    if (!s->ablation_count) {
        fputs("<p class=\"soft\">not run</p>\n", page->out);
        return;
    }
    fputs("<p class=\"soft\">Mean of 1 \xe2\x88\x92 RMSE(on) / RMSE(off) on the same "
          "inputs, with "
          "its 95 % interval; the thin line is zero. Earned: the interval lies above it. "
          "Fewer than 5 pairs resolve nothing.",
          page->out);
    const char *before = "";
    for (int i = 0; i < s->ablation_count; i++) {
        const gg_ablation_row *row = &s->ablation[i];
        if (row->family[0] || !untouched(s, row->output)) continue;
        fputs(before[0] ? before : " Untouched, equal in every pair: ", page->out);
        fputs("<code>", page->out);
        gg_markup(page->out, row->output);
        fputs("</code>", page->out);
        before = ", ";
    }
    fputs("</p>\n<div class=\"cards\">\n", page->out);
    for (int i = 0; i < s->ablation_count;) i = ablation_card(page, i);
    fputs("</div>\n", page->out);
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

/* The largest value of one check of one output and its limit. */
typedef struct worst {
    double value, limit;
    const char *id;
} worst;

static worst worst_of(const gg_run_record *run, const char *output, const char *check)
{
    worst w = {NAN, NAN, NULL};
    for (int i = 0; i < run->count; i++)
        for (int o = 0; o < run->cases[i].output_count; o++) {
            const gg_output_record *record = &run->cases[i].outputs[o];
            if (strcmp(record->name, output) != 0) continue;
            for (int c = 0; c < record->check_count; c++) {
                const gg_check *found = &record->checks[c];
                if (strcmp(found->name, check) != 0) continue;
                if (w.id && found->value <= w.value) continue;
                if (w.id && isnan(w.value)) continue;
                w = (worst){found->value, found->limit, run->cases[i].id};
            }
        }
    return w;
}

static void limit_row(const gg_page *page, const char *output, const char *check)
{
    char value[32], limit[32];
    worst w = worst_of(page->run, output, check);
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
        fprintf(page->out,
                "<span class=\"meter\"><svg viewBox=\"0 0 100 10\" "
                "preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"rail\" "
                "width=\"100\" "
                "height=\"10\"/><rect class=\"fill\"%s width=\"%.1f\" "
                "height=\"10\"/></svg></span>",
                passed ? "" : " style=\"fill:var(--bad)\"",
                isfinite(share) ? fmin(100, 100 * share)
                : passed        ? 0.0
                                : 100.0);
    fputs("</td><td class=\"id\">", page->out);
    gg_markup(page->out, w.id);
    fputs("</td></tr>\n", page->out);
}

void gg_html_limits(const gg_page *page)
{
    static const char *const checks[] = {"rmse", "gauge_p99", "gauge_max"};
    fputs("<h2>Limits</h2>\n<div class=\"wide\"><table><tr><th>output</th><th>check</th>"
          "<th class=\"n\">worst</th><th "
          "class=\"n\">limit</th><th>used</th><th>case</th></tr>\n",
          page->out);
    for (int i = 0; i < page->run->limit_count; i++)
        for (size_t c = 0; c < sizeof checks / sizeof *checks; c++)
            limit_row(page, page->run->limits[i].output, checks[c]);
    fputs("</table></div>\n<p class=\"soft\">rmse: in units of the rounding floor; gauge: "
          "error "
          "of one element in allowed roundings. ",
          page->out);
    gg_markup(page->out, page->run->limits_note);
    fputs("</p>\n", page->out);
}
