/* SPDX-License-Identifier: Apache-2.0
 * Marks and axes as a script for gnuplot. */
#include "reports/chart.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/markup.h"

enum { TOP = 4, AXIS = 20 };
#define THINNEST 0.001 /* of the plot's width: less cannot be seen, and gnuplot drops it */

double gg_chart_plot_width(const gg_chart *chart)
{
    return GG_CHART_WIDTH - chart->left - chart->right;
}

double gg_chart_margin(const char *name)
{
    double width = 10;
    for (int i = 0; name[i] != '\0' && i < GG_CHART_LETTERS; i++)
        width += islower((unsigned char)name[i]) || name[i] == '_' ? 6.6 : 7.6;
    return width;
}

double gg_chart_step(double range)
{
    double power = pow(10, floor(log10(range / 5)));
    for (int i = 0; i < 3; i++) {
        static const int factors[] = {1, 2, 5};
        if (range / 5 <= factors[i] * power * 1.001) return factors[i] * power;
    }
    return 10 * power;
}

static void add(gg_chart *chart, gg_chart_mark mark, const char *text)
{
    if (chart->count == chart->room) {
        int room = chart->room ? 2 * chart->room : 64;
        gg_chart_mark *more = realloc(chart->marks, (size_t)room * sizeof *more);
        if (more == NULL) {
            chart->broken = true;
            return;
        }
        chart->marks = more;
        chart->room = room;
    }
    if (text != NULL && (mark.text = strdup(text)) == NULL) chart->broken = true;
    chart->marks[chart->count++] = mark;
}

double gg_chart_share(const gg_axis *axis, double value)
{
    return axis->log ? log(value / axis->low) / log(axis->high / axis->low)
                     : (value - axis->low) / (axis->high - axis->low);
}

void gg_chart_tics(gg_axis *axis)
{
    static const int factors[] = {1, 2, 5};
    double low = fmin(axis->low, axis->high), high = fmax(axis->low, axis->high);
    int most = high / low < 300 ? 3 : 1;
    axis->tic_count = 0;
    for (double power = pow(10, floor(log10(low))); power > 0 && power <= high; power *= 10)
        for (int f = 0; f < most; f++) {
            double value = factors[f] * power;
            if (value >= low && value <= high && axis->tic_count < GG_CHART_TICS)
                axis->tics[axis->tic_count++] = value;
        }
}

static bool within(const gg_axis *axis, double value)
{
    return value >= fmin(axis->low, axis->high) && value <= fmax(axis->low, axis->high);
}

void gg_chart_bar(gg_chart *chart, double low, double high, double top, double bottom,
                  gg_paint paint, const char *tip)
{
    if (!within(&chart->x, low) || !within(&chart->x, high)) return;
    if (!(gg_chart_share(&chart->x, high) - gg_chart_share(&chart->x, low) > THINNEST)) return;
    add(chart, (gg_chart_mark){.kind = GG_MARK_BAR, .paint = paint, .x = low, .y = top, .low = low,
                         .high = high, .top = top, .bottom = bottom}, tip);
}

void gg_chart_point(gg_chart *chart, double x, double low, double high, double y,
                    gg_paint paint, const char *tip)
{
    if (!within(&chart->x, x)) return;
    if (!within(&chart->x, low) || !within(&chart->x, high)) low = high = x;
    add(chart, (gg_chart_mark){.kind = GG_MARK_POINT, .paint = paint, .x = x, .y = y, .low = low,
                         .high = high}, tip);
}

void gg_chart_rule(gg_chart *chart, double x, gg_paint paint)
{
    if (within(&chart->x, x))
        add(chart, (gg_chart_mark){.kind = GG_MARK_RULE, .paint = paint, .x = x}, NULL);
}

void gg_chart_line(gg_chart *chart, double from_x, double from_y, double to_x, double to_y)
{
    const gg_axis *x = &chart->x, *y = &chart->y;
    if (within(x, from_x) && within(x, to_x) && within(y, from_y) && within(y, to_y) &&
        (fabs(gg_chart_share(x, to_x) - gg_chart_share(x, from_x)) > THINNEST ||
         fabs(gg_chart_share(y, to_y) - gg_chart_share(y, from_y)) > THINNEST))
        add(chart, (gg_chart_mark){.kind = GG_MARK_LINE, .paint = GG_PAINT_LINE, .low = from_x,
                             .high = to_x, .bottom = from_y, .top = to_y}, NULL);
}

void gg_chart_text(gg_chart *chart, gg_mark_kind kind, double x, double y, gg_paint paint,
                   const char *text)
{
    if (within(&chart->x, x))
        add(chart, (gg_chart_mark){.kind = kind, .paint = paint, .x = x, .y = y}, text);
}

/* The colour by which chart_svg.c knows a paint again. */
static int colour(gg_paint paint) { return 0x010100 + (int)paint; }

static bool has_figures(const gg_axis *a) { return a->step > 0 || a->tic_count > 0; }

static double drawn_height(const gg_chart *chart)
{
    return TOP + chart->height + (has_figures(&chart->x) ? AXIS : TOP);
}

static void axis(const gg_axis *a, char name, FILE *script)
{
    /* gnuplot's logarithms drop texts on an edge at 10 or 100; its steps begin at the edge */
    double edge = !a->log || a->tic_count == 0 ? 1 : a->low < a->high ? 1 + 1e-9 : 1 - 1e-9;
    double low = a->low / edge, high = a->high * edge;
    if (name == 'y') fprintf(script, "set yrange [%.12g:%.12g]\n", high, low);
    else fprintf(script, "set xrange [%.12g:%.12g]\n", low, high);
    if (a->log) fprintf(script, "set logscale %c\n", name);
    if (!has_figures(a)) {
        fprintf(script, "unset %ctics\n", name);
        return;
    }
    fprintf(script, "set format %c \"%s\"\nset %ctics ", name, a->unit, name);
    for (int i = 0; i < a->tic_count; i++)
        fprintf(script, "%s%.12g", i ? "," : "(", a->tics[i]);
    if (a->tic_count > 0) fputs(")", script);
    else fprintf(script, "%.12g", a->step);
    fprintf(script, " nomirror scale 0 offset %s textcolor rgb \"#%06x\"\n",
            name == 'x' ? "0,0.4" : "0.4,0", colour(GG_PAINT_SOFT));
}

static void frame(const gg_chart *chart, FILE *script)
{
    double height = drawn_height(chart);
    fprintf(script, "set terminal svg size %d,%.0f dynamic noenhanced butt\n"
            "set datafile separator \"\\t\"\nunset key\nset style fill solid 1 noborder\n"
            "set errorbars 0.7\nset border %d lc rgb \"#%06x\"\n",
            GG_CHART_WIDTH, height, chart->framed ? 31 : 0, colour(GG_PAINT_GRID));
    fprintf(script, "set lmargin at screen %.6f\nset rmargin at screen %.6f\n"
            "set tmargin at screen %.6f\nset bmargin at screen %.6f\n",
            chart->left / GG_CHART_WIDTH, 1 - chart->right / GG_CHART_WIDTH, 1 - TOP / height,
            1 - (TOP + chart->height) / height);
    axis(&chart->x, 'x', script);
    axis(&chart->y, 'y', script);
    if (!chart->framed)
        fprintf(script, "set grid xtics %slt 1 lc rgb \"#%06x\"\n",
                has_figures(&chart->y) ? "ytics " : "", colour(GG_PAINT_GRID));
}

/* One block of data a kind of mark, in their order. A text is named by its place. */
static bool block(const gg_chart *chart, gg_mark_kind kind, FILE *script)
{
    int count = 0;
    for (int i = 0; i < chart->count; i++) {
        const gg_chart_mark *m = &chart->marks[i];
        if (m->kind != kind) continue;
        if (kind == GG_MARK_RULE) {
            fprintf(script, "set arrow from first %.12g, graph 0 to first %.12g, graph 1 nohead "
                    "front lc rgb \"#%06x\"\n", m->x, m->x, colour(m->paint));
            continue;
        }
        if (count++ == 0) fprintf(script, "$k%d << END\n", (int)kind);
        fprintf(script, "%.12g\t%.12g\t%d\t", m->x, m->y, colour(m->paint));
        if (kind == GG_MARK_BAR || kind == GG_MARK_LINE)
            fprintf(script, "%.12g\t%.12g\t%.12g\t%.12g\n", m->low, m->high, m->top, m->bottom);
        else if (kind == GG_MARK_POINT) fprintf(script, "%.12g\t%.12g\n", m->low, m->high);
        else fprintf(script, "t%d\n", i);
    }
    if (count > 0) fputs("END\n", script);
    return count > 0;
}

static void write_script(const gg_chart *chart, FILE *script)
{
    static const char *const plots[GG_MARK_KINDS] = {
        "using 1:2:4:5:6:7:3 with boxxyerror lc rgb variable",
        "using 4:7:($5-$4):($6-$7):3 with vectors nohead lc rgb variable",
        "using 1:2:4:5:3 with xerrorbars pt 7 ps 1 lc rgb variable",
        NULL,
        "using 1:2:4:3 with labels right offset -0.7,0 tc rgb variable",
        "using 1:2:4:3 with labels left offset 0.7,0 tc rgb variable",
        "using 1:2:4:3 with labels center tc rgb variable"};
    bool used[GG_MARK_KINDS];
    const char *before = "plot ";
    frame(chart, script);
    for (int k = 0; k < GG_MARK_KINDS; k++) used[k] = block(chart, (gg_mark_kind)k, script);
    for (int k = 0; k < GG_MARK_KINDS; k++) {
        if (!used[k]) continue;
        fprintf(script, "%s$k%d %s", before, k, plots[k]);
        before = ", ";
    }
    fputc('\n', script);
}

static void refuse(gg_drawing *drawing, const char *why)
{
    snprintf(drawing->trouble, sizeof drawing->trouble, "%s", why);
}

/* What gnuplot made of it, between our own tags. */
static bool embed(const gg_chart *chart, const char *drawn, int number, const char *title,
                  const char *description, FILE *out)
{
    fprintf(out, "<svg class=\"chart\" viewBox=\"0 0 %d %.0f\" role=\"img\" "
            "aria-labelledby=\"chart%d chart%dd\">\n<title id=\"chart%d\">", GG_CHART_WIDTH,
            drawn_height(chart), number, number, number);
    gg_markup(out, title);
    fprintf(out, "</title><desc id=\"chart%dd\">", number);
    gg_markup(out, description);
    fputs("</desc>\n", out);
    bool whole = gg_chart_svg(chart, drawn, out);
    fputs("</svg>\n", out);
    return whole;
}

/* NULL when gnuplot gives no drawing. */
static char *run_gnuplot(const gg_chart *chart, gg_drawing *drawing)
{
    char *script = NULL, *drawn = NULL;
    size_t size = 0;
    FILE *text = chart->broken ? NULL : open_memstream(&script, &size);
    if (text != NULL) write_script(chart, text);
    if (text == NULL || fclose(text) != 0) refuse(drawing, "no memory for a chart");
    else gg_gnuplot(script, drawing->seconds, &drawn, drawing->trouble);
    free(script);
    return drawn;
}

static char *draw(const gg_chart *chart, gg_drawing *drawing, const char *title,
                  const char *description)
{
    char *svg = NULL;
    size_t size = 0;
    bool whole = false;
    if (drawing->trouble[0]) return NULL;
    char *drawn = run_gnuplot(chart, drawing);
    if (drawn == NULL) return NULL;
    FILE *text = open_memstream(&svg, &size);
    if (text != NULL) whole = embed(chart, drawn, drawing->count + 1, title, description, text);
    free(drawn);
    if (text == NULL || fclose(text) != 0) refuse(drawing, "no memory for a chart");
    else if (!whole) refuse(drawing, "gnuplot's drawing lacks some of what it was given");
    if (!drawing->trouble[0]) {
        drawing->count++;
        return svg;
    }
    free(svg);
    return NULL;
}

char *gg_chart_draw(gg_chart *chart, gg_drawing *drawing, const char *title,
                    const char *description)
{
    char *svg = draw(chart, drawing, title, description);
    for (int i = 0; i < chart->count; i++) free(chart->marks[i].text);
    free(chart->marks);
    *chart = (gg_chart){.count = 0};
    return svg;
}

void gg_chart_card(gg_chart *chart, gg_drawing *drawing, const char *output, const char *what,
                   const char *description, FILE *out)
{
    char title[120];
    snprintf(title, sizeof title, "%.40s: %s", output, what);
    char *svg = gg_chart_draw(chart, drawing, title, description);
    if (svg == NULL) return;
    fputs("<section class=\"card\"><h3><code>", out);
    gg_markup(out, output);
    fputs("</code> <span class=\"soft\">", out);
    gg_markup(out, what);
    fprintf(out, "</span></h3>\n%s</section>\n", svg);
    free(svg);
}

void gg_chart_tell(gg_drawing *drawing, FILE *out)
{
    if (!drawing->trouble[0] || drawing->told) return;
    drawing->told = true;
    fputs("<p class=\"soft\">Charts need gnuplot, and are not drawn: ", out);
    gg_markup(out, drawing->trouble);
    fputs(". The tables have every figure.</p>\n", out);
}
