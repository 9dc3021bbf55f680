/* SPDX-License-Identifier: Apache-2.0
 * The charts of a bench: times and memory of a case, growth. (Time against precision:
 * bench_scatter.c.) The tables of the page have every figure. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/bench_page.h"

/* Room for a figure at the right, and for names at the left, in units of the drawing. */
enum { FIGURE_ROOM = 74, NAME_ROOM = 118 };

bool gg_bench_timed(const gg_bench_entry *e)
{
    return e->total.median > 0 && e->forward.median > 0;
}

gg_paint gg_bench_paint(const gg_bench_entry *e)
{
    if (e->verdict == GG_FAILED) return GG_PAINT_BAD;
    if (e->verdict != GG_PASSED) return GG_PAINT_OPEN;
    return e->peer ? GG_PAINT_INK : GG_PAINT_BAR;
}

/* Right ones by class of precision and time, then what cannot be ranked. */
static int order(const void *a, const void *b)
{
    const gg_bench_entry *x = *(const gg_bench_entry *const *)a;
    const gg_bench_entry *y = *(const gg_bench_entry *const *)b;
    bool right[2] = {x->verdict == GG_PASSED, y->verdict == GG_PASSED};
    if (right[0] != right[1]) return right[0] ? -1 : 1;
    if (right[0] && x->precision != y->precision)
        return x->precision < y->precision ? -1 : 1;
    if (x->total.median != y->total.median) return x->total.median < y->total.median ? -1 : 1;
    return x < y ? -1 : x > y;
}

int gg_bench_entries(const gg_bench *b, int at, const gg_bench_entry *of[GG_BENCH_ROWS])
{
    int count = 0;
    for (int i = 0; i < b->entry_count && count < GG_BENCH_ROWS; i++)
        if (b->entries[i].at == at && gg_bench_timed(&b->entries[i])) of[count++] = &b->entries[i];
    if (count > 1) qsort(of, (size_t)count, sizeof *of, order);
    return count;
}

/* "3.59", "3.59 peer", "3.59 wrong". */
static const char *marked(const gg_bench_entry *e, double value, char text[40])
{
    snprintf(text, 40, value < 1000 ? "%.3g%s" : "%.0f%s", value,
             e->verdict == GG_FAILED   ? " wrong"
             : e->verdict != GG_PASSED ? " ?"
             : e->peer                 ? " peer"
                                       : "");
    return text;
}

void gg_bench_class(const gg_bench *b, const gg_bench_entry *e, char text[64])
{
    const char *graded = b->op->graded ? b->op->graded : "precision";
    if (e->verdict != GG_PASSED) snprintf(text, 64, "not ranked");
    else if (e->precision == GG_PRECISION_UNKNOWN) snprintf(text, 64, "precision unknown");
    else if (e->precision == GG_PRECISION_COARSE) snprintf(text, 64, "%.8s > 2", graded);
    else snprintf(text, 64, "%.8s %s", graded,
                  e->precision == GG_PRECISION_FLOOR ? "on the floor"
                  : e->precision == GG_PRECISION_FINE ? "\xe2\x89\xa4 1.3" : "\xe2\x89\xa4 2");
}

static bool same_group(const gg_bench_entry *a, const gg_bench_entry *b)
{
    return (a->verdict == GG_PASSED) == (b->verdict == GG_PASSED) &&
           (a->verdict != GG_PASSED || a->precision == b->precision);
}

static void scale_times(const gg_bench_entry *const *of, int count, gg_axis *x)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < count; i++) {
        least = fmin(least, fmin(of[i]->forward.least, of[i]->total.least));
        most = fmax(most, fmax(of[i]->forward.most, of[i]->total.most));
    }
    *x = (gg_axis){.low = least / 1.15, .high = most * 1.15, .log = true, .unit = "%g"};
    gg_chart_tics(x);
}

static void time_row(gg_chart *chart, const gg_bench_entry *e, int row)
{
    const gg_times *times[2] = {&e->forward, &e->total};
    char tip[160], figure[40];
    gg_chart_line(chart, e->forward.median, row, e->total.median, row);
    for (int d = 0; d < 2; d++) {
        snprintf(tip, sizeof tip, "%s, %s: %.4g ms (%.4g to %.4g)", e->kernel,
                 d ? "forward + backward" : "forward", times[d]->median, times[d]->least,
                 times[d]->most);
        gg_chart_point(chart, times[d]->median, times[d]->least, times[d]->most, row,
                       gg_bench_paint(e), tip);
    }
    gg_chart_text(chart, GG_MARK_NAME, chart->x.low, row, GG_PAINT_INK, e->kernel);
    gg_chart_text(chart, GG_MARK_BESIDE, chart->x.high, row,
                  e->verdict == GG_PASSED ? GG_PAINT_INK : gg_bench_paint(e),
                  marked(e, e->total.median, figure));
}

static void time_chart(const gg_bench_page *page, int at)
{
    const gg_bench_entry *of[GG_BENCH_ROWS];
    int count = gg_bench_entries(page->bench, at, of), rows = count;
    char name[64], text[240];
    double margin = 0;
    if (count == 0) return;
    for (int i = 0; i < count; i++) {
        gg_bench_class(page->bench, of[i], name);
        margin = fmax(margin, fmax(gg_chart_margin(of[i]->kernel), gg_chart_margin(name)));
        rows += i == 0 || !same_group(of[i], of[i - 1]);
    }
    gg_chart chart = {.left = margin, .right = FIGURE_ROOM, .height = rows * GG_CHART_ROW,
                      .y = {.low = -0.5, .high = rows - 0.5}};
    scale_times(of, count, &chart.x);
    for (int i = 0, row = 0; i < count; i++) {
        if (i == 0 || !same_group(of[i], of[i - 1])) {
            gg_bench_class(page->bench, of[i], name);
            gg_chart_text(&chart, GG_MARK_NAME, chart.x.low, row++, GG_PAINT_SOFT, name);
        }
        time_row(&chart, of[i], row++);
    }
    snprintf(text, sizeof text, "Forward and, right of it, forward and backward for each of %d "
             "kernels, on a logarithmic axis. First: %s, %.4g ms. The table has every figure.",
             count, of[0]->kernel, of[0]->total.median);
    gg_chart_card(&chart, page->drawing, page->bench->cases[at].id, "ms, logarithmic axis", text,
                  page->out);
}

static int cases_drawn(const gg_bench *b)
{
    return b->case_count < GG_BENCH_CHARTS ? b->case_count : GG_BENCH_CHARTS;
}

void gg_bench_each(const gg_bench_page *page, void (*chart)(const gg_bench_page *, int))
{
    const gg_bench *b = page->bench;
    fputs("<div class=\"cards charts\">\n", page->out);
    for (int i = 0; i < cases_drawn(b); i++) chart(page, i);
    fputs("</div>\n", page->out);
    if (b->case_count > GG_BENCH_CHARTS)
        fprintf(page->out, "<p class=\"soft\">%d more cases are in the table.</p>\n",
                b->case_count - GG_BENCH_CHARTS);
    gg_chart_tell(page->drawing, page->out);
}

void gg_bench_chart_times(const gg_bench_page *page)
{
    fputs("<p class=\"soft\">Left point: forward, right point: forward + backward, with the "
          "least and the most of its runs; beside it the median. "
          "<span class=\"key\"></span> this program's kernels; in the colour of the text, "
          "<b>peer</b>: other people's, timed by their own script; red, <b>wrong</b>: "
          "outputs that failed their checks. Kernels of one class of precision stand together: "
          "ranks are within it.</p>\n", page->out);
    gg_bench_each(page, time_chart);
}

/* Growth: the points of a kernel and the power law through them. */

typedef struct law {
    const gg_growth *growth;
    double factor, exponent; /* ms = factor * size^exponent */
    double last;             /* at the largest size */
    double label;            /* where its name stands, as a share of the height from above */
} law;

static double size_of(const gg_bench *b, const gg_bench_entry *e)
{
    return (double)b->cases[e->at].extent[strchr(b->op->symbols, b->op->size) - b->op->symbols];
}

static double time_of(const gg_bench_entry *e, int both)
{
    return both ? e->total.median : e->forward.median;
}

static law fit(const gg_bench *b, const gg_growth *g, int both, double largest)
{
    law l = {.growth = g, .exponent = both ? g->total : g->forward};
    double sum = 0;
    int n = 0;
    for (int i = 0; i < b->entry_count; i++) {
        const gg_bench_entry *e = &b->entries[i];
        if (!gg_bench_grows(b, g, e)) continue;
        sum += log(time_of(e, both)) - l.exponent * log(size_of(b, e));
        n++;
    }
    l.factor = exp(sum / n);
    l.last = l.factor * pow(largest, l.exponent);
    return l;
}

/* Sizes into the axis; least and most of the times into y, which grows upwards. */
static void scale_growth(const gg_bench *b, const gg_growth *g, int count, int both,
                         gg_chart *chart)
{
    gg_axis x = {.low = INFINITY, .high = 0, .log = true, .unit = "%g"}, y = x;
    for (int k = 0; k < count; k++)
        for (int i = 0; i < b->entry_count; i++) {
            const gg_bench_entry *e = &b->entries[i];
            if (!gg_bench_grows(b, &g[k], e)) continue;
            double size = size_of(b, e);
            bool seen = false;
            for (int t = 0; t < x.tic_count; t++) seen = seen || x.tics[t] == size;
            if (!seen && x.tic_count < GG_CHART_TICS) x.tics[x.tic_count++] = size;
            x.low = fmin(x.low, size);
            x.high = fmax(x.high, size);
            y.low = fmin(y.low, time_of(e, both));
            y.high = fmax(y.high, time_of(e, both));
        }
    x.low /= 1.05;
    x.high *= pow(x.high / x.low, 0.12); /* for the lines to the names */
    chart->x = x;
    chart->y = (gg_axis){.low = y.high * 1.6, .high = y.low / 1.6, .log = true, .unit = "%g"};
    gg_chart_tics(&chart->y);
}

static int by_last(const void *a, const void *b)
{
    const law *x = a, *y = b;
    if (x->last != y->last) return x->last > y->last ? -1 : 1;
    return x->growth < y->growth ? -1 : 1;
}

/* Names stand where their lines end, moved apart until none covers another. */
static void place_labels(const gg_chart *chart, law *laws, int count)
{
    double gap = GG_BENCH_LINE / chart->height, least = gap / 2;
    for (int i = 0; i < count; i++) {
        laws[i].label = fmax(gg_chart_share(&chart->y, laws[i].last), least);
        least = laws[i].label + gap;
    }
    double most = 1 - gap / 2;
    for (int i = count - 1; i >= 0; i--) {
        laws[i].label = fmin(laws[i].label, most);
        most = laws[i].label - gap;
    }
}

static void draw_law(const gg_bench *b, gg_chart *chart, const law *l, int both, double largest)
{
    double first = largest, at = chart->y.low * pow(chart->y.high / chart->y.low, l->label);
    char text[100];
    for (int i = 0; i < b->entry_count; i++) {
        const gg_bench_entry *e = &b->entries[i];
        if (!gg_bench_grows(b, l->growth, e)) continue;
        double size = size_of(b, e), time = time_of(e, both);
        first = fmin(first, size);
        snprintf(text, sizeof text, "%.60s: %.4g ms at %c = %g", e->kernel, time, b->op->size,
                 size);
        gg_chart_point(chart, size, size, size, time, gg_bench_paint(e), text);
    }
    gg_chart_line(chart, first, l->factor * pow(first, l->exponent), largest, l->last);
    gg_chart_line(chart, largest, l->last, chart->x.high, at);
    snprintf(text, sizeof text, "%.2f %.60s", l->exponent, l->growth->kernel);
    gg_chart_text(chart, GG_MARK_BESIDE, chart->x.high, at, GG_PAINT_INK, text);
}

static void growth_chart(const gg_bench_page *page, const gg_growth *g, int count, int both)
{
    const gg_bench *b = page->bench;
    law laws[GG_BENCH_ROWS];
    char what[100], text[200];
    double height = fmax(GG_BENCH_HEIGHT, GG_BENCH_LINE * (count + 1));
    gg_chart chart = {.left = GG_BENCH_AXIS, .right = NAME_ROOM, .height = height};
    scale_growth(b, g, count, both, &chart);
    double largest = 0;
    for (int t = 0; t < chart.x.tic_count; t++) largest = fmax(largest, chart.x.tics[t]);
    for (int k = 0; k < count; k++) laws[k] = fit(b, &g[k], both, largest);
    if (count > 1) qsort(laws, (size_t)count, sizeof *laws, by_last);
    place_labels(&chart, laws, count);
    for (int k = 0; k < count; k++) draw_law(b, &chart, &laws[k], both, largest);
    snprintf(what, sizeof what, "%s, ms over %c", both ? "forward + backward" : "forward",
             b->op->size);
    snprintf(text, sizeof text, "Points of %d kernels over %c with the power law through them, "
             "both axes logarithmic. The table has every exponent.", count, b->op->size);
    gg_chart_card(&chart, page->drawing, g->group, what, text, page->out);
}

void gg_bench_chart_growth(const gg_bench_page *page)
{
    const gg_bench *b = page->bench;
    fprintf(page->out, "<p class=\"soft\">Points: medians; line: time ~ %c<sup>exponent</sup>, "
            "least squares of logarithms; the exponent stands before the name.</p>\n"
            "<div class=\"cards charts\">\n", b->op->size);
    for (int i = 0, end; i < b->growth_count; i = end) {
        for (end = i; end < b->growth_count && end - i < GG_BENCH_ROWS &&
                      strcmp(b->growth[end].group, b->growth[i].group) == 0;)
            end++;
        for (int both = 0; both < 2; both++) growth_chart(page, &b->growth[i], end - i, both);
    }
    fputs("</div>\n", page->out);
    gg_chart_tell(page->drawing, page->out);
}

/* Memory: bars, on a logarithmic axis where they differ much. */

static void scale_memory(const gg_bench_entry *const *of, int count, gg_axis *x)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < count; i++) {
        double mebibytes = of[i]->extra_bytes / 0x1p20;
        most = fmax(most, mebibytes);
        if (mebibytes > 0) least = fmin(least, mebibytes);
    }
    *x = (gg_axis){.high = most > 0 ? 1.05 * most : 1, .unit = "%g"};
    x->step = gg_chart_step(x->high);
    if (!(most > 30 * least)) return;
    *x = (gg_axis){.low = pow(10, floor(log10(least) - 0.05)), .high = 1.1 * most, .log = true,
                   .unit = "%.0s%c"};
    for (double at = x->low; at <= x->high && x->tic_count < GG_CHART_TICS; at *= 10)
        x->tics[x->tic_count++] = at;
}

static void memory_chart(const gg_bench_page *page, int at)
{
    const gg_bench_entry *of[GG_BENCH_ROWS], *all[GG_BENCH_ROWS];
    int known = gg_bench_entries(page->bench, at, all), count = 0;
    char figure[40], tip[120];
    double margin = 0;
    for (int i = 0; i < known; i++)
        if (all[i]->extra_bytes >= 0) of[count++] = all[i];
    if (count == 0) return;
    for (int i = 0; i < count; i++) margin = fmax(margin, gg_chart_margin(of[i]->kernel));
    gg_chart chart = {.left = margin, .right = FIGURE_ROOM + 8, .height = count * GG_CHART_ROW,
                      .y = {.low = -0.5, .high = count - 0.5}};
    scale_memory(of, count, &chart.x);
    for (int i = 0; i < count; i++) {
        double mebibytes = of[i]->extra_bytes / 0x1p20;
        snprintf(tip, sizeof tip, "%s: %.1f MiB", of[i]->kernel, mebibytes);
        gg_chart_bar(&chart, chart.x.low, mebibytes, i - 0.32, i + 0.32, gg_bench_paint(of[i]),
                     tip);
        gg_chart_text(&chart, GG_MARK_NAME, chart.x.low, i, GG_PAINT_INK, of[i]->kernel);
        gg_chart_text(&chart, GG_MARK_BESIDE, chart.x.high, i,
                      of[i]->verdict == GG_PASSED ? GG_PAINT_INK : gg_bench_paint(of[i]),
                      marked(of[i], mebibytes, figure));
    }
    snprintf(tip, sizeof tip, "A bar for each of %d kernels. The table has every figure.", count);
    gg_chart_card(&chart, page->drawing, page->bench->cases[at].id,
                  chart.x.log ? "MiB, logarithmic axis" : "MiB", tip, page->out);
}

void gg_bench_chart_memory(const gg_bench_page *page)
{
    fputs("<p class=\"soft\">Memory beyond inputs and outputs: what is saved between the "
          "directions, and the workspace; of a peer, its peak beyond them. In the order of the "
          "times.</p>\n", page->out);
    gg_bench_each(page, memory_chart);
}
