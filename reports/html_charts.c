/* SPDX-License-Identifier: Apache-2.0
 * The charts of the HTML report: errors over the rounding floor, what the ablation saves.
 * Each has its figures as a table too, which stands open where no chart could be drawn. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "reports/html_page.h"

/* Families or shapes that a chart or table shows. */
enum { MOST_ROWS = 40 };
/* Errors above so many floors go on a logarithmic axis, as FP32 outputs of BF16 kernels
 * do; above the second they are no longer drawn, only told. */
static const double LINEAR = 30, DRAWN = 1e9;
/* Room for a figure beside a bar, in units of the drawing. */
enum { FIGURE_ROOM = 38, ABLATION_ROOM = 60 };

typedef struct subject {
    const gg_summary_row *row; /* of the first output */
    char name[64];
    bool shape;                /* instead of a family */
} subject;

typedef struct subjects {
    subject of[MOST_ROWS];
    int count, hidden;
    double margin; /* for the widest name */
    bool shapes;
} subjects;

static bool same_output(const gg_summary *s, int i, int first)
{
    return i < s->row_count && strcmp(s->rows[i].output, s->rows[first].output) == 0;
}

/* "N=384 D=16": the extents that differ between shapes. */
static void name_shape(const gg_page *page, const gg_summary_row *row, char text[64])
{
    const gg_summary *s = page->summary;
    size_t used = 0;
    text[0] = '\0';
    for (int k = 0; k < GG_MAX_SYMBOLS && page->run->symbols[k] != '\0'; k++) {
        bool varies = false;
        for (int i = 1; i < s->shape_count; i++)
            varies = varies || s->shapes[i].extent[k] != s->shapes[0].extent[k];
        if (varies && used < 40)
            used += (size_t)snprintf(text + used, 64 - used, "%s%c=%" PRId64, used ? " " : "",
                                     page->run->symbols[k], row->extent[k]);
    }
}

static void add_subject(const gg_page *page, subjects *all, const gg_summary_row *row,
                        bool shape)
{
    if (all->count == MOST_ROWS) {
        all->hidden++;
        return;
    }
    subject *next = &all->of[all->count++];
    *next = (subject){.row = row, .shape = shape};
    if (shape) name_shape(page, row, next->name);
    else snprintf(next->name, sizeof next->name, "%s", row->family[0] ? row->family : "all");
    all->margin = fmax(all->margin, gg_chart_margin(next->name));
}

/* All, then family by family; of a single family, shape by shape. */
static void find_subjects(const gg_page *page, subjects *all)
{
    const gg_summary *s = page->summary;
    int families = 0;
    *all = (subjects){.count = 0};
    for (int i = 0; same_output(s, i, 0); i++) families += s->rows[i].family[0] != '\0';
    for (int i = 0; same_output(s, i, 0); i++)
        if (families > 1 || !s->rows[i].family[0]) add_subject(page, all, &s->rows[i], false);
    if (families > 1) return;
    for (int i = 0; i < s->shape_count; i++)
        if (strcmp(s->shapes[i].output, s->shapes[0].output) == 0)
            add_subject(page, all, &s->shapes[i], true);
    if (all->count == 2) all->count = 1; /* one shape: it is all */
    all->shapes = all->count > 1;
}

static const gg_summary_row *find_row(const gg_summary *s, const char *output,
                                      const subject *of)
{
    for (int i = 0; !of->shape && i < s->row_count; i++)
        if (strcmp(s->rows[i].output, output) == 0 &&
            strcmp(s->rows[i].family, of->row->family) == 0)
            return &s->rows[i];
    for (int i = 0; of->shape && i < s->shape_count; i++)
        if (strcmp(s->shapes[i].output, output) == 0 &&
            memcmp(s->shapes[i].extent, of->row->extent, sizeof of->row->extent) == 0)
            return &s->shapes[i];
    return NULL;
}

static bool exact(const gg_summary_row *row) { return row->rmse == 0 && row->floor_rmse == 0; }

/* "1.08x", "21.7kx": short enough for a phone; "exact", "undefined". */
static const char *times(const gg_summary_row *row, char text[32])
{
    double ratio = row->ratio;
    if (exact(row) || isnan(ratio)) snprintf(text, 32, exact(row) ? "exact" : "undefined");
    else if (ratio >= 1000 && ratio < 1e6) snprintf(text, 32, "%.3gk\xc3\x97", ratio / 1000);
    else snprintf(text, 32, ratio < 10 ? "%.2f\xc3\x97" : "%.3g\xc3\x97", ratio);
    return text;
}

static bool drawable(const gg_summary_row *row)
{
    return !exact(row) && row->ratio > 0 && row->ratio <= DRAWN;
}

/* The figures of a section, folded behind its charts. */
static void open_figures(const gg_page *page)
{
    fprintf(page->out, "<details%s><summary>the figures as a table</summary>"
            "<div class=\"wide\"><table class=\"matrix\">",
            page->drawing->trouble[0] ? " open" : "");
}

static void close_figures(const gg_page *page, int hidden)
{
    fputs("</table></div></details>\n", page->out);
    if (hidden > 0)
        fprintf(page->out, "<p class=\"soft\">%d more are in the report.</p>\n", hidden);
}

/* From 0, or by powers of ten from below the floor, to the largest and its figure. */
static void scale_errors(const gg_summary *s, const char *output, const subjects *all,
                         gg_chart *chart)
{
    double most = 1, least = 1;
    for (int i = 0; i < all->count; i++) {
        const gg_summary_row *row = find_row(s, output, &all->of[i]);
        if (row == NULL || !drawable(row)) continue;
        most = fmax(most, row->ratio);
        least = fmin(least, row->ratio);
    }
    double used = 1 - FIGURE_ROOM / gg_chart_plot_width(chart);
    chart->x = (gg_axis){.high = most / used, .step = gg_chart_step(most), .unit = "%g"};
    if (most <= LINEAR) return;
    double low = pow(10, floor(log10(least))), decades = log10(most / low);
    chart->x = (gg_axis){.low = low, .high = low * pow(10, decades / used), .log = true,
                         .step = decades > 5 ? 100 : 10, .unit = "%.0s%c"};
}

static void error_bar(gg_chart *chart, const subject *of, const gg_summary_row *row, int at)
{
    char rmse[32], figure[32], tip[200];
    bool whole = of->row->family[0] == '\0' && !of->shape, drawn = drawable(row);
    double from = chart->x.log ? 1 : 0;
    snprintf(tip, sizeof tip, "%s: RMSE %s, %s", of->name, gg_html_figure(row->rmse, rmse),
             times(row, figure));
    if (drawn)
        gg_chart_bar(chart, fmin(from, row->ratio), fmax(from, row->ratio), at - 0.32, at + 0.32,
                     GG_PAINT_BAR, tip);
    gg_chart_text(chart, GG_MARK_NAME, chart->x.low, at,
                  whole ? GG_PAINT_STRONG : GG_PAINT_INK, of->name);
    gg_chart_text(chart, GG_MARK_BESIDE, drawn ? fmax(from, row->ratio) : from, at,
                  !drawn && !exact(row) ? GG_PAINT_BAD
                  : whole               ? GG_PAINT_STRONG
                                        : GG_PAINT_INK,
                  figure);
}

static void error_chart(const gg_page *page, const char *output, const subjects *all)
{
    gg_chart chart = {.left = all->margin, .right = 16,
                      .height = all->count * GG_CHART_ROW,
                      .y = {.low = -0.5, .high = all->count - 0.5}};
    char text[240], ratio[32];
    const gg_summary_row *most = NULL;
    const char *name = "";
    scale_errors(page->summary, output, all, &chart);
    for (int i = 0; i < all->count; i++) {
        const gg_summary_row *row = find_row(page->summary, output, &all->of[i]);
        if (row == NULL) continue;
        error_bar(&chart, &all->of[i], row, i);
        if (most != NULL && row->ratio <= most->ratio) continue;
        most = row;
        name = all->of[i].name;
    }
    gg_chart_rule(&chart, 1, GG_PAINT_FLOOR);
    snprintf(text, sizeof text, "A bar for each of %d %s, and a line at 1, the floor. Largest: "
             "%s the floor, %s. The table has every figure.", all->count,
             all->shapes ? "shapes" : "families",
             most != NULL ? times(most, ratio) : "nothing", name);
    gg_chart_card(&chart, page->drawing, output,
                  chart.x.log ? "RMSE / floor, logarithmic" : "RMSE / floor", text, page->out);
}

static void error_cell(const gg_page *page, const gg_summary_row *row)
{
    char rmse[32], ratio[32];
    if (row == NULL) {
        fputs("<td><span class=\"none\">\xe2\x80\x93</span></td>", page->out);
        return;
    }
    fputs("<td><span>", page->out);
    gg_markup(page->out, gg_html_figure(row->rmse, rmse));
    fprintf(page->out, "<small>%s</small></span></td>", times(row, ratio));
}

static void error_table(const gg_page *page, const subjects *all)
{
    const gg_summary *s = page->summary;
    open_figures(page);
    fputs("<tr><th></th>", page->out);
    for (int i = 0; i < s->row_count; i++) {
        if (i > 0 && same_output(s, i, i - 1)) continue;
        fputs("<th><code>", page->out);
        gg_markup(page->out, s->rows[i].output);
        fputs("</code></th>", page->out);
    }
    fputs("</tr>\n", page->out);
    for (int f = 0; f < all->count; f++) {
        fputs("<tr><th>", page->out);
        gg_markup(page->out, all->of[f].name);
        fputs("</th>", page->out);
        for (int i = 0; i < s->row_count; i++)
            if (i == 0 || !same_output(s, i, i - 1))
                error_cell(page, find_row(s, s->rows[i].output, &all->of[f]));
        fputs("</tr>\n", page->out);
    }
    close_figures(page, all->hidden);
}

void gg_html_accuracy(const gg_page *page)
{
    const gg_summary *s = page->summary;
    subjects all;
    fputs("<h2>Error against the truth</h2>\n", page->out);
    if (!s->row_count) {
        fputs("<p class=\"none\">not run</p>\n", page->out);
        return;
    }
    find_subjects(page, &all);
    fprintf(page->out,
            "<p class=\"soft\"><span class=\"key\"></span> mean RMSE as a multiple of "
            "<span class=\"key t\"></span> the rounding floor, the RMSE of the truth itself "
            "rounded to the output's type%s.</p>\n<div class=\"cards charts\">\n",
            all.shapes ? "; one family, by shape" : "");
    for (int i = 0; i < s->row_count; i++)
        if (i == 0 || !same_output(s, i, i - 1)) error_chart(page, s->rows[i].output, &all);
    fputs("</div>\n", page->out);
    gg_chart_tell(page->drawing, page->out);
    error_table(page, &all);
}

static bool untouched(const gg_summary *s, const char *output)
{
    for (int i = 0; i < s->ablation_count; i++)
        if (strcmp(s->ablation[i].output, output) == 0 && !s->ablation[i].equal)
            return false;
    return true;
}

static gg_paint outcome_paint(gg_outcome outcome)
{
    return outcome == GG_EARNED      ? GG_PAINT_OK
           : outcome == GG_COLLAPSED ? GG_PAINT_BAD
                                     : GG_PAINT_OPEN;
}

static const char *outcome_name(gg_outcome outcome)
{
    return outcome == GG_NOT_RESOLVABLE ? "unclear" : gg_outcome_name(outcome);
}

/* Of the rows of an output, "all" first: one family is all. */
static int ablation_rows(const gg_summary *s, int first)
{
    int end = first;
    while (end < s->ablation_count &&
           strcmp(s->ablation[end].output, s->ablation[first].output) == 0)
        end++;
    return end - first == 2 ? 1 : end - first > MOST_ROWS ? MOST_ROWS : end - first;
}

static void scale_savings(const gg_ablation_row *rows, int count, gg_axis *axis)
{
    double low = 0, high = 1;
    for (int i = 0; i < count; i++) {
        low = fmin(low, fmin(100 * rows[i].mean, 100 * rows[i].low)); /* fmin ignores NaN */
        high = fmax(high, fmax(100 * rows[i].mean, 100 * rows[i].high));
    }
    low = fmax(low, -1e6); /* a row beyond has its figure alone */
    double air = 0.04 * (high - low);
    *axis = (gg_axis){.low = low - air, .high = high + air, .step = gg_chart_step(high - low),
                      .unit = "%g %%"};
}

static void ablation_chart(const gg_page *page, const gg_ablation_row *rows, int count)
{
    double margin = gg_chart_margin("all");
    char text[240], tip[200], figure[32];
    for (int i = 0; i < count; i++) margin = fmax(margin, gg_chart_margin(rows[i].family));
    gg_chart chart = {.left = margin, .right = ABLATION_ROOM,
                      .height = count * GG_CHART_ROW, .y = {.low = -0.5, .high = count - 0.5}};
    scale_savings(rows, count, &chart.x);
    gg_chart_rule(&chart, 0, GG_PAINT_ZERO);
    for (int i = 0; i < count; i++) {
        const gg_ablation_row *row = &rows[i];
        const char *name = row->family[0] ? row->family : "all";
        gg_paint ink = row->family[0] ? GG_PAINT_INK : GG_PAINT_STRONG;
        snprintf(tip, sizeof tip, "%s: %s, 95 %% interval %.1f to %.1f %%", name,
                 outcome_name(row->outcome), 100 * row->low, 100 * row->high);
        snprintf(figure, sizeof figure, "%+.1f %%", 100 * row->mean);
        gg_chart_point(&chart, 100 * row->mean, 100 * row->low, 100 * row->high, i,
                       outcome_paint(row->outcome), tip);
        gg_chart_text(&chart, GG_MARK_NAME, chart.x.low, i, ink, name);
        gg_chart_text(&chart, GG_MARK_BESIDE, chart.x.high, i, ink, figure);
    }
    snprintf(text, sizeof text, "A point with its 95 %% interval for each of %d families, and a "
             "line at zero. All: %+.1f %%, %s. The table has every figure.", count,
             100 * rows[0].mean, outcome_name(rows[0].outcome));
    snprintf(tip, sizeof tip, "RMSE saved, %d pairs", rows[0].pairs);
    gg_chart_card(&chart, page->drawing, rows[0].output, tip, text, page->out);
}

static void ablation_cell(const gg_page *page, const char *output, const char *family)
{
    const gg_summary *s = page->summary;
    for (int i = 0; i < s->ablation_count; i++) {
        const gg_ablation_row *row = &s->ablation[i];
        if (strcmp(row->output, output) != 0 || strcmp(row->family, family) != 0) continue;
        fprintf(page->out, "<td><span class=\"%s\">%+.1f %%<small>%.1f to %.1f %%, %s</small>"
                "</span></td>", row->outcome == GG_EARNED      ? "passed"
                                : row->outcome == GG_COLLAPSED ? "failed"
                                                               : "open",
                100 * row->mean, 100 * row->low, 100 * row->high, outcome_name(row->outcome));
        return;
    }
    fputs("<td><span class=\"none\">\xe2\x80\x93</span></td>", page->out);
}

/* Families of the output at `first` by all outputs that the feature reaches. */
static void ablation_table(const gg_page *page, int first)
{
    const gg_summary *s = page->summary;
    const char *outputs[GG_MAX_OUTPUTS];
    int output_count = 0, count = ablation_rows(s, first), all = 0;
    for (int i = 0; i < s->ablation_count; i++) {
        const gg_ablation_row *row = &s->ablation[i];
        all += strcmp(row->output, s->ablation[first].output) == 0;
        if (!row->family[0] && !untouched(s, row->output) && output_count < GG_MAX_OUTPUTS)
            outputs[output_count++] = row->output;
    }
    open_figures(page);
    fputs("<tr><th></th>", page->out);
    for (int o = 0; o < output_count; o++) {
        fputs("<th><code>", page->out);
        gg_markup(page->out, outputs[o]);
        fputs("</code></th>", page->out);
    }
    fputs("</tr>\n", page->out);
    for (int i = first; i < first + count; i++) {
        fputs("<tr><th>", page->out);
        gg_markup(page->out, s->ablation[i].family[0] ? s->ablation[i].family : "all");
        fputs("</th>", page->out);
        for (int o = 0; o < output_count; o++)
            ablation_cell(page, outputs[o], s->ablation[i].family);
        fputs("</tr>\n", page->out);
    }
    close_figures(page, count > 1 ? all - count : 0);
}

static void ablation_intro(const gg_page *page)
{
    const gg_summary *s = page->summary;
    const char *before = "";
    fputs("<p class=\"soft\">Mean of 1 \xe2\x88\x92 RMSE(on) / RMSE(off) on the same inputs, with "
          "its 95 % interval; the thin line is zero. <span class=\"tag passed\">earned</span>: the "
          "interval lies above it, <span class=\"tag failed\">collapsed</span>: nowhere above, "
          "<span class=\"tag open\">unclear</span>: on both sides, or fewer than 5 pairs.",
          page->out);
    for (int i = 0; i < s->ablation_count; i++) {
        const gg_ablation_row *row = &s->ablation[i];
        if (row->family[0] || !untouched(s, row->output)) continue;
        fputs(before[0] ? before : " Untouched, equal in every pair: ", page->out);
        fputs("<code>", page->out);
        gg_markup(page->out, row->output);
        fputs("</code>", page->out);
        before = ", ";
    }
    fputs("</p>\n", page->out);
}

void gg_html_ablation(const gg_page *page)
{
    const gg_summary *s = page->summary;
    int reached = -1;
    fputs("<h2>Ablation: error saved by ", page->out);
    gg_markup(page->out, page->run->ablation[0] ? page->run->ablation : "a feature");
    fputs("</h2>\n", page->out);
    if (!s->ablation_count) {
        fputs("<p class=\"soft\">not run</p>\n", page->out);
        return;
    }
    ablation_intro(page);
    fputs("<div class=\"cards charts\">\n", page->out);
    for (int i = 0; i < s->ablation_count; i++) {
        if (s->ablation[i].family[0] || untouched(s, s->ablation[i].output)) continue;
        if (reached < 0) reached = i;
        ablation_chart(page, &s->ablation[i], ablation_rows(s, i));
    }
    fputs("</div>\n", page->out);
    gg_chart_tell(page->drawing, page->out);
    if (reached >= 0) ablation_table(page, reached);
}
