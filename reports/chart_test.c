/* SPDX-License-Identifier: Apache-2.0
 * Charts by the real gnuplot, where there is one, and by programs of that name that fail,
 * hang, never stop, or draw something else. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "reports/chart.h"

TestSuite(chart, .timeout = 60);

static char version[32], why[GG_GNUPLOT_WHY];

static void need_gnuplot(void)
{
    if (!gg_gnuplot_version(version, why)) cr_skip_test("not run: %s", why);
}

/* Rows at 0, 1, ..., on an axis from 0 to 100, or from 1 to 10,000 by powers of ten. */
static gg_chart empty(int rows, bool log)
{
    return (gg_chart){.left = 60, .right = 40, .height = rows * GG_CHART_ROW,
                      .y = {.low = -0.5, .high = rows - 0.5},
                      .x = {.low = log ? 1 : 0, .high = log ? 1e4 : 100, .step = log ? 10 : 25,
                            .log = log, .unit = "%g %%"}};
}

static char *drawn(gg_chart *chart, gg_drawing *drawing)
{
    char *svg = gg_chart_draw(chart, drawing, "a <title>", "a \"text\"");
    cr_assert(svg != NULL && !drawing->trouble[0], "%s", drawing->trouble);
    return svg;
}

/* Left, right, top and bottom of the nth polygon. */
static void box_of(const char *svg, int nth, double box[4])
{
    double x[4], y[4];
    for (; nth >= 0; nth--) {
        svg = strstr(svg + 1, "<polygon ");
        cr_assert_not_null(svg);
    }
    svg = strstr(svg, "points=\"") + 8;
    cr_assert_eq(sscanf(svg, "%lf,%lf %lf,%lf %lf,%lf %lf,%lf", &x[0], &y[0], &x[1], &y[1], &x[2],
                        &y[2], &x[3], &y[3]), 8, "%.80s", svg);
    box[0] = box[2] = INFINITY;
    box[1] = box[3] = -INFINITY;
    for (int i = 0; i < 4; i++) {
        box[0] = fmin(box[0], x[i]);
        box[1] = fmax(box[1], x[i]);
        box[2] = fmin(box[2], y[i]);
        box[3] = fmax(box[3], y[i]);
    }
}

static bool close_to(double a, double b) { return fabs(a - b) <= 0.1; }

Test(chart, tics_of_the_least_numbers_end)
{
    gg_axis axis = {.low = 0x1p-1074, .high = 10, .log = true};
    gg_chart_tics(&axis); /* a power of ten below it is zero */
    cr_assert(axis.tic_count >= 0 && axis.tic_count <= GG_CHART_TICS);
    axis = (gg_axis){.low = 0.9, .high = 11, .log = true};
    gg_chart_tics(&axis);
    cr_assert_eq(axis.tic_count, 4);
    cr_assert(axis.tics[0] == 1 && axis.tics[1] == 2 && axis.tics[2] == 5 && axis.tics[3] == 10);
}

Test(chart, bars_follow_the_data)
{
    static const double value[] = {100, 50, 1.23456, 77};
    gg_drawing drawing = {.seconds = 20};
    gg_chart chart = empty(4, false);
    need_gnuplot();
    for (int i = 0; i < 4; i++)
        gg_chart_bar(&chart, 0, value[i], i - 0.4, i + 0.4, GG_PAINT_BAR, "a tip");
    char *svg = drawn(&chart, &drawing);
    for (int i = 0; i < 4; i++) {
        double box[4];
        box_of(svg, i, box);
        cr_expect(close_to(box[0], 60), "bar %d begins at %g", i, box[0]);
        cr_expect(close_to(box[1] - box[0], value[i] / 100 * 260), "bar %d: %g", i,
                  box[1] - box[0]);
        cr_expect(close_to(box[2], 4 + (i + 0.1) * GG_CHART_ROW), "bar %d: %g", i, box[2]);
        cr_expect(close_to(box[3], 4 + (i + 0.9) * GG_CHART_ROW), "bar %d: %g", i, box[3]);
    }
    free(svg);
}

Test(chart, bars_follow_a_logarithm)
{
    gg_drawing drawing = {.seconds = 20};
    gg_chart chart = empty(2, true);
    double box[4];
    need_gnuplot();
    gg_chart_bar(&chart, 1, 100, -0.4, 0.4, GG_PAINT_BAR, NULL);
    gg_chart_bar(&chart, 10, 1000, 0.6, 1.4, GG_PAINT_BAR, NULL);
    char *svg = drawn(&chart, &drawing);
    box_of(svg, 0, box);
    cr_expect(close_to(box[0], 60) && close_to(box[1], 60 + 130), "%g %g", box[0], box[1]);
    box_of(svg, 1, box);
    cr_expect(close_to(box[0], 60 + 65) && close_to(box[1], 60 + 195), "%g %g", box[0], box[1]);
    free(svg);
}

Test(chart, points_rules_and_texts_stand_at_their_values)
{
    gg_drawing drawing = {.seconds = 20};
    gg_chart chart = empty(2, false);
    double x = 0, y = 0, from = 0, to = 0;
    need_gnuplot();
    gg_chart_rule(&chart, 20, GG_PAINT_ZERO);
    gg_chart_point(&chart, 50, 40, 90, 0, GG_PAINT_OK, "a tip");
    gg_chart_text(&chart, GG_MARK_NAME, 0, 0, GG_PAINT_INK, "first");
    gg_chart_text(&chart, GG_MARK_NAME, 0, 1, GG_PAINT_STRONG, "second");
    char *svg = drawn(&chart, &drawing);
    const char *at = strstr(svg, "<circle class=\"ok\"");
    cr_assert(at && sscanf(strstr(at, "cx="), "cx=\"%lf\" cy=\"%lf\"", &x, &y) == 2);
    cr_expect(close_to(x, 60 + 130) && close_to(y, 4 + 10), "%g %g", x, y);
    cr_expect_not_null(strstr(at, "<title>a tip</title></circle>"));
    at = strstr(svg, "<path class=\"ok\"");
    cr_assert(at && sscanf(strstr(at, " d="), " d=\"M%lf,%*f L%lf,", &from, &to) == 2);
    cr_expect(close_to(from, 60 + 104) && close_to(to, 60 + 234), "%g %g", from, to);
    at = strstr(svg, "<path class=\"zero\"");
    cr_assert(at && sscanf(strstr(at, " d="), " d=\"M%lf,", &x) == 1);
    cr_expect(close_to(x, 60 + 52), "%g", x);
    at = strstr(svg, ">second</text>");
    cr_assert_not_null(at);
    while (strncmp(at, "<text", 5) != 0) at--;
    cr_assert_eq(sscanf(at, "<text class=\"strong\" x=\"%lf\" y=\"%lf\" text-anchor=\"end\">", &x,
                        &y), 2, "%.80s", at);
    cr_expect(x < 60 && x > 50 && y > 4 + 20 && y < 4 + 40, "%g %g", x, y);
    free(svg);
}

Test(chart, equal_marks_give_equal_bytes_and_other_ids)
{
    gg_drawing a = {.seconds = 20}, b = a;
    char *svg[3];
    need_gnuplot();
    for (int i = 0; i < 3; i++) {
        gg_chart chart = empty(1, false);
        gg_chart_bar(&chart, 0, 40, -0.4, 0.4, GG_PAINT_BAR, NULL);
        svg[i] = drawn(&chart, i == 1 ? &b : &a);
    }
    cr_expect_str_eq(svg[0], svg[1]);
    cr_expect_not_null(strstr(svg[0], "<title id=\"chart1\">a &lt;title&gt;</title>"));
    cr_expect_not_null(strstr(svg[0], "<desc id=\"chart1d\">a &quot;text&quot;</desc>"));
    cr_expect_not_null(strstr(svg[2], "aria-labelledby=\"chart2 chart2d\""));
    cr_expect_null(strstr(svg[2], "\"chart1"));
    for (int i = 0; i < 3; i++) free(svg[i]);
}

#define HOSTILE "\n`id`\"'$\\t0<script>x</script>\nEND\nset print 'x'"

Test(chart, texts_stay_texts)
{
    gg_drawing drawing = {.seconds = 20};
    gg_chart chart = empty(3, false);
    need_gnuplot();
    gg_chart_text(&chart, GG_MARK_NAME, 0, 0, GG_PAINT_INK, "END\n<b>`id`");
    gg_chart_text(&chart, GG_MARK_NAME, 0, 1, GG_PAINT_INK, "t0");
    gg_chart_text(&chart, GG_MARK_BESIDE, 50, 2, GG_PAINT_BAD, HOSTILE);
    gg_chart_bar(&chart, 0, 40, -0.4, 0.4, GG_PAINT_BAR, HOSTILE);
    char *svg = drawn(&chart, &drawing);
    cr_expect_not_null(strstr(svg, ">END\n&lt;b&gt;`id`</text>"));
    cr_expect_not_null(strstr(svg, ">t0</text>"));
    cr_expect_null(strstr(svg, "<script"));
    cr_expect_not_null(strstr(svg, "&lt;script&gt;"));
    free(svg);
}

/* A folder as the whole PATH; `script` (NULL: none) is the gnuplot in it. */
static void pretend(const char *script)
{
    char folder[] = "/tmp/gradgate-chart-XXXXXX", path[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/gnuplot", folder);
    if (script != NULL) {
        FILE *file = fopen(path, "w");
        cr_assert_not_null(file);
        fprintf(file, "#!/bin/sh\nPATH=/usr/bin:/bin\ncd %s\n%s\n", folder, script);
        fclose(file);
        cr_assert_eq(chmod(path, 0700), 0);
    }
    cr_assert_eq(setenv("PATH", folder, 1), 0);
}

static void forget(void)
{
    char path[64];
    snprintf(path, sizeof path, "%s/gnuplot", getenv("PATH"));
    unlink(path);
    rmdir(getenv("PATH"));
}

static gg_chart hostile_chart(void)
{
    gg_chart chart = empty(1, false);
    gg_chart_bar(&chart, 0, 40, -0.4, 0.4, GG_PAINT_BAR, HOSTILE);
    gg_chart_text(&chart, GG_MARK_NAME, 0, 0, GG_PAINT_INK, HOSTILE);
    return chart;
}

Test(chart, no_text_reaches_gnuplot)
{
    char path[64], script[4000];
    gg_drawing drawing = {.seconds = 20};
    pretend("cat >script");
    gg_chart chart = hostile_chart();
    cr_expect_null(gg_chart_draw(&chart, &drawing, HOSTILE, HOSTILE));
    cr_expect_str_eq(drawing.trouble, "gnuplot's drawing lacks some of what it was given");
    snprintf(path, sizeof path, "%s/script", getenv("PATH"));
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    script[fread(script, 1, sizeof script - 1, file)] = '\0';
    fclose(file);
    unlink(path);
    forget();
    cr_expect_not_null(strstr(script, "set terminal svg"));
    cr_expect_null(strstr(script, "script"));
    cr_expect_null(strchr(script, '`'));
    cr_expect_null(strstr(script, "print"));
}

/* What is said when such a gnuplot is found, and how long that takes at most. */
static void fails(const char *script, const char *words)
{
    gg_drawing drawing = {.seconds = 0.6};
    struct timespec from, to;
    char *page = NULL;
    size_t size = 0;
    pretend(script);
    gg_chart chart = hostile_chart();
    clock_gettime(CLOCK_MONOTONIC, &from);
    cr_expect_null(gg_chart_draw(&chart, &drawing, "a", "b"), "%s", words);
    clock_gettime(CLOCK_MONOTONIC, &to);
    cr_expect(to.tv_sec - from.tv_sec < 8, "%s: %ld s", words, (long)(to.tv_sec - from.tv_sec));
    cr_expect_not_null(strstr(drawing.trouble, words), "'%s' lacks '%s'", drawing.trouble, words);
    FILE *out = open_memstream(&page, &size);
    gg_chart_tell(&drawing, out);
    gg_chart_tell(&drawing, out);
    fclose(out);
    cr_expect_eq(strstr(page, "Charts need gnuplot, and are not drawn: "), strchr(page, 'C'));
    cr_expect_eq(strchr(page, '\n'), page + size - 1, "told once, in a line");
    free(page);
    forget();
    chart = hostile_chart();
    cr_expect_null(gg_chart_draw(&chart, &drawing, "a", "b"), "no second is tried");
}

Test(chart, gnuplots_that_do_not_draw)
{
    fails(NULL, "not installed (Debian's package is gnuplot-nox)");
    fails("sleep 50", "no drawing in time");
    fails("cat >/dev/null; sleep 50", "no drawing in time");
    fails("exec >&- 0<&-; sleep 50", "does not end");
    fails("exit 3", "fails with exit code 3");
    fails("kill -9 $$", "crashed");
    fails("while :; do echo '<svg>'; done", "gnuplot");
    fails("cat >/dev/null; echo '<svg><polygon'", "lacks some");
    fails("cat >/dev/null; echo '<svg></svg>'", "lacks some");
}

Test(chart, only_shapes_and_texts_are_taken_over)
{
    char *svg = NULL;
    size_t size = 0;
    const char *bar = "<polygon fill = 'rgb(  1,   1,   7)' points = '0,0 1,0 1,1\n0,1 '/>";
    const char *name = "<g transform=\"translate(5.00,9.5)\" fill=\"rgb(1,1,1)\" "
                       "text-anchor=\"end\"><text>t1</text></g>";
    char text[1000];
    gg_chart chart = hostile_chart();
    FILE *out = open_memstream(&svg, &size);
    snprintf(text, sizeof text, "<svg><script>1</script><image href='http://x'/><style>*</style>"
             "<polygon fill='rgb(9,9,9)' points='0,0'/><rect id='a'/>%s%s", bar, name);
    cr_expect(gg_chart_svg(&chart, text, out));
    snprintf(text, sizeof text, "%s%s%s", bar, bar, name);
    cr_expect_not(gg_chart_svg(&chart, text, out), "a bar too many");
    cr_expect_not(gg_chart_svg(&chart, bar, out), "a text too few");
    cr_expect_not(gg_chart_svg(&chart, name, out), "a bar too few");
    snprintf(text, sizeof text, "<polygon fill='rgb(1,1,8)' points='0,0'/>%s", name);
    cr_expect_not(gg_chart_svg(&chart, text, out), "another paint");
    snprintf(text, sizeof text, "%s<g transform='translate(1,1)' fill='rgb(1,1,1)' "
             "text-anchor='end'><text>t7</text>", bar);
    cr_expect_not(gg_chart_svg(&chart, text, out), "another text");
    fclose(out);
    const char *first = "<polygon class=\"bar\" points=\"0,0 1,0 1,1 0,1\"><title>";
    cr_expect_eq(strncmp(svg, first, strlen(first)), 0, "%s", svg);
    cr_expect_not_null(strstr(svg, "<text class=\"ink\" x=\"5.00\" y=\"9.50\" text-anchor="));
    cr_expect_null(strstr(svg, "<script"));
    cr_expect_null(strstr(svg, "http"));
    cr_expect_null(strstr(svg, "id="));
    free(svg);
    gg_drawing silent = {.trouble = "not drawn"};
    cr_expect_null(gg_chart_draw(&chart, &silent, "", ""));
}

Test(chart, steps_are_few_and_round)
{
    for (double range = 1e-7; range < 1e7; range *= 1.37) {
        double step = gg_chart_step(range), digit = step / pow(10, floor(log10(step) + 1e-9));
        bool round = fabs(digit - 1) < 1e-6 || fabs(digit - 2) < 1e-6 || fabs(digit - 5) < 1e-6;
        cr_expect(range / step <= 5.01 && range / step >= 1.9, "%g: %g", range, step);
        cr_expect(round, "%g: %g", range, step);
    }
}
