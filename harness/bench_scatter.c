/* SPDX-License-Identifier: Apache-2.0
 * Time against precision: a point a kernel, with its name where it covers no point and no
 * other name. */
#include <math.h>
#include <string.h>

#include "harness/bench_page.h"

#define LETTER 6.4 /* letters of the charts are so wide */
/* RMSE / floor above which nothing is drawn, only told. */
#define MOST_FLOORS 100.0

typedef struct box {
    double left, right, top, bottom; /* in units of the plot */
} box;

typedef struct scatter {
    gg_chart chart;
    const gg_bench_entry *of[GG_BENCH_ROWS];
    box taken[2 * GG_BENCH_ROWS]; /* points, then names */
    int count, taken_count;
} scatter;

static double overlap(box a, box b)
{
    double x = fmin(a.right, b.right) - fmax(a.left, b.left);
    double y = fmin(a.bottom, b.bottom) - fmax(a.top, b.top);
    return x > 0 && y > 0 ? x * y : 0;
}

/* "* flex" of a peer, or why it is not ranked. */
static const char *signed_name(const gg_bench_entry *e, char text[80])
{
    snprintf(text, 80, "%s%s",
             e->verdict == GG_FAILED   ? "\xe2\x9c\x97 "
             : e->verdict != GG_PASSED ? "? "
             : e->peer                 ? "* "
                                       : "",
             e->kernel);
    return text;
}

static void put_name(scatter *s, const gg_bench_entry *e)
{
    char name[80];
    static const struct {
        gg_mark_kind kind;
        double below; /* in lines */
    } tries[] = {{GG_MARK_BESIDE, 0}, {GG_MARK_NAME, 0}, {GG_MARK_WITHIN, -1}, {GG_MARK_WITHIN, 1},
                 {GG_MARK_BESIDE, -1}, {GG_MARK_BESIDE, 1}, {GG_MARK_NAME, -1}, {GG_MARK_NAME, 1},
                 {GG_MARK_WITHIN, -2}, {GG_MARK_WITHIN, 2}, {GG_MARK_BESIDE, -2},
                 {GG_MARK_BESIDE, 2}, {GG_MARK_NAME, -2}, {GG_MARK_NAME, 2}, {GG_MARK_WITHIN, -3},
                 {GG_MARK_WITHIN, 3}, {GG_MARK_BESIDE, -3}, {GG_MARK_BESIDE, 3}};
    double width = gg_chart_plot_width(&s->chart), height = s->chart.height, least = INFINITY;
    double x = width * gg_chart_share(&s->chart.x, e->total.median);
    double y = height * gg_chart_share(&s->chart.y, e->graded);
    double length = LETTER * fmin((double)strlen(signed_name(e, name)), GG_CHART_LETTERS);
    box best = {0, 0, 0, 0};
    size_t chosen = 0;
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        double left = x + (tries[i].kind == GG_MARK_BESIDE ? 6
                           : tries[i].kind == GG_MARK_NAME ? -6 - length
                                                           : -length / 2);
        double middle = y + GG_BENCH_LINE * tries[i].below;
        box b = {left, left + length, middle - GG_BENCH_LINE / 2, middle + GG_BENCH_LINE / 2};
        bool inside = b.left >= 0 && b.right <= width && b.top >= 0 && b.bottom <= height;
        double cost = inside ? 0 : 1e9;
        for (int t = 0; t < s->taken_count; t++) cost += overlap(b, s->taken[t]);
        if (!(cost < least)) continue;
        least = cost;
        best = b;
        chosen = i;
    }
    s->taken[s->taken_count++] = best;
    double at = (best.top + best.bottom) / 2 / height;
    gg_chart_text(&s->chart, tries[chosen].kind, e->total.median,
                  s->chart.y.low * pow(s->chart.y.high / s->chart.y.low, at),
                  e->verdict == GG_PASSED ? GG_PAINT_INK : gg_bench_paint(e), name);
}

static bool placed(const gg_bench_entry *e)
{
    return gg_bench_timed(e) && e->graded > 0 && e->graded <= MOST_FLOORS;
}

/* Lines at the bounds of the classes, named at the axis. */
static void draw_classes(gg_chart *chart)
{
    static const double bounds[] = {1.02, 1.3, 2, 5, 10, 20, 50, 100};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        char text[16];
        snprintf(text, sizeof text, "%g\xc3\x97", bounds[i]);
        if (bounds[i] > chart->y.low) break;
        if (bounds[i] <= 2)
            gg_chart_line(chart, chart->x.low, bounds[i], chart->x.high, bounds[i]);
        gg_chart_text(chart, GG_MARK_NAME, chart->x.low, bounds[i], GG_PAINT_SOFT, text);
    }
}

static void scale_scatter(scatter *s)
{
    double least = 1, most = 2.2;
    for (int i = 0; i < s->count; i++) {
        least = fmin(least, s->of[i]->graded);
        most = fmax(most, s->of[i]->graded);
    }
    s->chart.y = (gg_axis){.low = most * 1.12, .high = least / 1.08, .log = true};
    double from = INFINITY, to = 0;
    for (int i = 0; i < s->count; i++) {
        from = fmin(from, s->of[i]->total.median);
        to = fmax(to, s->of[i]->total.median);
    }
    s->chart.x = (gg_axis){.low = from / 1.4, .high = to * 1.4, .log = true, .unit = "%g"};
    gg_chart_tics(&s->chart.x);
}

static void scatter_chart(const gg_bench_page *page, int at)
{
    const gg_bench *b = page->bench;
    scatter s = {.chart = {.left = GG_BENCH_AXIS, .right = 16, .height = GG_BENCH_HEIGHT}};
    const gg_bench_entry *all[GG_BENCH_ROWS];
    char text[200], tip[160];
    int count = gg_bench_entries(b, at, all);
    for (int i = 0; i < count; i++)
        if (placed(all[i])) s.of[s.count++] = all[i];
    if (s.count == 0) return;
    s.chart.height = fmax(s.chart.height, 24.0 * s.count);
    scale_scatter(&s);
    double width = gg_chart_plot_width(&s.chart), height = s.chart.height;
    draw_classes(&s.chart);
    for (int i = 0; i < s.count; i++) {
        const gg_bench_entry *e = s.of[i];
        double x = width * gg_chart_share(&s.chart.x, e->total.median);
        double y = height * gg_chart_share(&s.chart.y, e->graded);
        snprintf(tip, sizeof tip, "%s%s: %.4g ms, %s at %.3f floors", e->kernel,
                 e->verdict == GG_FAILED ? " (wrong)" : "", e->total.median, b->op->graded,
                 e->graded);
        gg_chart_point(&s.chart, e->total.median, e->total.least, e->total.most, e->graded,
                       gg_bench_paint(e), tip);
        s.taken[s.taken_count++] = (box){x - 5, x + 5, y - 5, y + 5};
    }
    for (int i = 0; i < s.count; i++) put_name(&s, s.of[i]);
    snprintf(text, sizeof text, "A point for each of %d kernels: time on the x axis, RMSE of %s "
             "over its rounding floor on the y axis, both logarithmic.", s.count, b->op->graded);
    gg_chart_card(&s.chart, page->drawing, b->cases[at].id, "RMSE / floor over ms", text,
                  page->out);
}

void gg_bench_chart_precision(const gg_bench_page *page)
{
    const gg_bench *b = page->bench;
    int hidden = 0;
    fprintf(page->out, "<p class=\"soft\">Right: slower; up: less exact (RMSE of <code>%s</code> "
            "over its rounding floor). The lines at 1.02, 1.3 and 2 part the classes of precision: "
            "two kernels with a line between them do not do the same work, and the ratio of their "
            "times is <b>confounded by precision</b>. *: a peer; \xe2\x9c\x97: wrong.</p>\n",
            b->op->graded);
    gg_bench_each(page, scatter_chart);
    for (int i = 0; i < b->entry_count; i++)
        hidden += gg_bench_timed(&b->entries[i]) && !placed(&b->entries[i]);
    if (hidden > 0)
        fprintf(page->out, "<p class=\"soft\">Not drawn: %d whose precision is not known, is "
                "exact, or is off by more than %g floors.</p>\n", hidden, MOST_FLOORS);
}
