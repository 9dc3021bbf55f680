/* SPDX-License-Identifier: Apache-2.0
 * A bench read back from its file is the bench that was written, or is refused; on its page
 * every point and bar stands where its figure says, and nothing wrong is ranked. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/bench.h"
#include "reports/file_out.h"
#include "reports/gnuplot.h"

static char folder[] = "/tmp/gradgate-page-XXXXXX", path[64];
static gg_bench made, seen;
static char *page;
static size_t page_size;

/* ms = 0.01 * (N / 64)^exponent for these kernels at N = 64, 128 and 512, with dq at so
 * many floors: the first four are right, of which one is a peer. */
static const struct {
    const char *name;
    double exponent, floors;
    gg_verdict verdict;
    bool peer;
} kernels[] = {{"slow", 3, 1.5, GG_PASSED, false},    {"exact", 2.5, 1, GG_PASSED, false},
               {"quick", 2, 1.6, GG_PASSED, false},   {"a <peer>", 2.25, 2.5, GG_PASSED, true},
               {"liar", 1.5, 1.5, GG_FAILED, false},  {"open", 2, 1.5, GG_NOT_VERIFIED, false}};
enum { KERNELS = sizeof kernels / sizeof kernels[0], SIZES = 3 };

static void set_times(gg_times *t, double median, bool peer)
{
    t->count = peer ? 0 : 3;
    t->sample[0] = 0.99 * median;
    t->sample[1] = 1.02 * median;
    t->sample[2] = median;
    gg_times_settle(t);
    if (peer) t->median = t->least = t->most = median;
}

static void add_entry(int at, int k, double n)
{
    gg_bench_entry *e = gg_bench_add(&made, at, kernels[k].name);
    cr_assert_not_null(e);
    e->verdict = kernels[k].verdict;
    e->peer = kernels[k].peer;
    if (e->verdict != GG_PASSED) snprintf(e->reason, sizeof e->reason, "<i>%d</i>", k);
    set_times(&e->total, 0.01 * pow(n / 64, kernels[k].exponent), e->peer);
    set_times(&e->forward, e->total.median / 4, e->peer);
    e->workspace_bytes = e->peer ? 0 : INT64_C(1) << (20 + k);
    e->extra_bytes = e->peer ? 3e6 : (double)e->workspace_bytes;
    e->same_bits = 1;
    e->graded = kernels[k].floors;
    for (int o = 0; made.op->outputs[o].name != NULL; o++, e->output_count++) {
        e->outputs[o] = (gg_bench_output){.dtype = made.op->outputs[o].dtype,
                                          .rmse = 1e-4 * kernels[k].floors, .floor = 1e-4,
                                          .truth_rms = 0.1, .gauge_p99 = 0.2, .gauge_max = 0.5};
        snprintf(e->outputs[o].name, sizeof e->outputs[o].name, "%s", made.op->outputs[o].name);
    }
}

static void begin(void)
{
    static const int sizes[SIZES] = {64, 128, 512};
    made = (gg_bench){.op = gg_operator_find("triangle_attention"), .suite = "s", .reps = 3,
                      .device = "host", .clocks = {"at <start>", "at end"}, .cache_bytes = 1 << 20,
                      .peak_flops = 1e14, .peak_source = "stated"};
    made.cases = calloc(SIZES, sizeof *made.cases);
    cr_assert(made.cases != NULL && made.op != NULL);
    for (int i = 0; i < SIZES; i++) {
        gg_bench_case *c = &made.cases[made.case_count++];
        *c = (gg_bench_case){.family = "normal", .extent = {1, sizes[i], 2, sizes[i], 16},
                             .seed = UINT64_MAX, .cost = {{1e9, 2e9 * (i + 1)}, {1, 2}},
                             .sets = 2, .set_bytes = 1 << 20};
        snprintf(c->id, sizeof c->id, "case-%d", sizes[i]);
        for (int k = 0; k < KERNELS; k++) add_entry(i, k, sizes[i]);
    }
    cr_assert_eq(gg_bench_derive(&made), GG_OK);
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/bench.json", folder);
    cr_assert_eq(gg_file_write(path, "bench", gg_bench_json, &made), GG_OK);
}

static void end(void)
{
    gg_bench_free(&made);
    gg_bench_free(&seen);
    free(page);
    unlink(path);
    rmdir(folder);
}

TestSuite(bench_page, .init = begin, .fini = end, .timeout = 60);

static gg_status read_back(void)
{
    bool is_bench = false;
    gg_status status = gg_bench_read(path, &seen, &is_bench);
    cr_expect(is_bench);
    return status;
}

static void make_page(const gg_bench *bench)
{
    FILE *out = open_memstream(&page, &page_size);
    cr_assert_not_null(out);
    cr_assert_eq(gg_bench_html(bench, out), GG_OK);
    fclose(out);
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-5 * fabs(b); }

Test(bench_page, what_was_written_is_read)
{
    cr_assert_eq(read_back(), GG_OK, "%s", gg_message());
    cr_assert_eq(seen.entry_count, KERNELS * SIZES);
    for (int i = 0; i < made.entry_count; i++) {
        const gg_bench_entry *a = &made.entries[i], *b = &seen.entries[i];
        cr_expect(a->at == b->at && strcmp(a->kernel, b->kernel) == 0 && a->peer == b->peer);
        cr_expect(a->verdict == b->verdict && a->rank == b->rank && a->ranked == b->ranked);
        cr_expect(a->precision == b->precision && near(b->total.median, a->total.median));
        cr_expect(near(b->forward.most, a->forward.most) && a->total.count == b->total.count);
        cr_expect(a->graded == b->graded && near(b->extra_bytes, a->extra_bytes));
    }
    for (int g = 0; g < made.growth_count; g++) {
        cr_expect_str_eq(made.growth[g].kernel, seen.growth[g].kernel);
        cr_expect_float_eq(made.growth[g].total, seen.growth[g].total, 1e-4);
    }
    cr_expect_eq(seen.growth_count, made.growth_count);
    cr_expect_eq(seen.cases[0].seed, UINT64_MAX);
    cr_expect_str_eq(seen.clocks[0], "at <start>");
}

/* The file with the first `was` behind `after` replaced; whether it is then refused. */
static bool refused(const char *after, const char *was, const char *is)
{
    static char text[1 << 18], edited[1 << 18];
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    char *at = strstr(text, after);
    at = at != NULL ? strstr(at, was) : NULL;
    cr_assert_not_null(at, "no '%s' behind '%s'", was, after);
    snprintf(edited, sizeof edited, "%.*s%s%s", (int)(at - text), text, is, at + strlen(was));
    for (int i = 0; i < 2; i++) {
        bool is_bench = false;
        file = fopen(path, "w");
        fputs(i ? text : edited, file);
        fclose(file);
        gg_status status = gg_bench_read(path, &seen, &is_bench);
        gg_bench_free(&seen);
        if (i == 0 && (status != GG_BAD_INPUT || !is_bench)) at = NULL;
        cr_expect(i == 0 || status == GG_OK, "%s", gg_message()); /* unedited */
    }
    return at != NULL;
}

Test(bench_page, what_was_edited_is_refused)
{
    static const struct {
        const char *after, *was, *is;
    } edits[] = {
        {"\"schema\"", "\"failed\"", "\"passed\""},
        {"liar", "\"wrong\"", "\"right\""},
        {"slow", "\"right\"", "\"fine\""},
        {"slow", "\"right\"", "\"not timed\""},
        {"\"total\": {", "\"median_ms\": 0", "\"median_ms\": 9"},
        {"\"total\": {", "\"max_ms\": 0", "\"max_ms\": 9"},
        {"\"total\": {", "\"samples_ms\": [", "\"samples_ms\": [-1, "},
        {"\"entries\"", "case-64", "case-65"},
        {"\"entries\"", "exact", "slow"},
        {"\"cases\"", "case-128", "case-64"},
        {"\"kernel\": \"slow\"", "floor\": 1.5", "floor\": 1.0"},
        {"\"outputs\"", "\"dq\"", "\"dw\""},
        {"\"extents\"", "64", "0"},
        {"\"dtypes\"", "bf16", "bf17"},
        {"\"cost\"", "1000000000", "-1"},
        {"\"seed\"", "184", "x184"},
        {"\"operator\"", "triangle_", "square_"},
        {"\"entries\"", "workspace_bytes\": 1", "workspace_bytes\": 9"},
        {"a <peer>", "\"median_ms\": 0", "\"median_ms\": 1e-300, \"old\": 0"},
        {"a <peer>", "\"median_ms\": 0", "\"median_ms\": 1e13, \"old\": 0"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++)
        cr_expect(refused(edits[i].after, edits[i].was, edits[i].is), "%s behind %s", edits[i].is,
                  edits[i].after);
}

Test(bench_page, other_files_are_no_bench)
{
    static const char *const other[] = {"", "{", "[]", "{\"schema\": \"gradgate-bench-0\"}",
                                        "null"};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        bool is_bench = true;
        FILE *file = fopen(path, "w");
        fputs(other[i], file);
        fclose(file);
        cr_expect_eq(gg_bench_read(path, &seen, &is_bench), GG_OK);
        cr_expect(!is_bench, "%s", other[i]);
    }
    bool is_bench = true;
    cr_expect_eq(gg_bench_read("/nowhere", &seen, &is_bench), GG_OK);
    cr_expect(!is_bench);
}

/* The chart whose card names the case and says so. */
static const char *chart_of(const char *name, const char *what)
{
    char begin[200];
    snprintf(begin, sizeof begin, "<code>%s</code> <span class=\"soft\">%s</span>", name, what);
    const char *at = strstr(page, begin);
    cr_assert_not_null(at, "no chart '%s'", begin);
    return at;
}

/* Whether `place` is a linear function of `value`, with such a sign of its slope. */
static bool linear(const double *value, const double *place, int count, int sign)
{
    int low = 0, high = 0;
    for (int i = 0; i < count; i++) {
        if (value[i] < value[low]) low = i;
        if (value[i] > value[high]) high = i;
    }
    double slope = (place[high] - place[low]) / (value[high] - value[low]);
    bool good = slope * sign > 0;
    for (int i = 0; i < count; i++)
        good = good && fabs(place[low] + slope * (value[i] - value[low]) - place[i]) <= 0.1;
    return good;
}

/* The circle whose tip begins so. */
static void circle(const char *chart, const char *tip, char class[8], double *x, double *y)
{
    char text[100];
    const char *end = strstr(chart, "</svg>"), *at;
    snprintf(text, sizeof text, "<title>%s", tip);
    at = strstr(chart, text);
    cr_assert(at != NULL && at < end, "no point '%s'", tip);
    while (strncmp(at, "<circle", 7) != 0) at--;
    cr_assert_eq(sscanf(at, "<circle class=\"%7[a-z]\" cx=\"%lf\" cy=\"%lf\"", class, x, y), 3);
}

static void need_gnuplot(void)
{
    char version[32], why[GG_GNUPLOT_WHY];
    if (!gg_gnuplot_version(version, why)) cr_skip_test("not run: %s", why);
}

static const char *const classes[KERNELS] = {"bar", "bar", "bar", "ink", "bad", "open"};
static const char *const tips[KERNELS] = {"slow", "exact", "quick", "a &lt;peer&gt;", "liar",
                                          "open"};

Test(bench_page, times_stand_at_their_logarithms)
{
    double value[2 * KERNELS], x[2 * KERNELS], y[2 * KERNELS], wrong[2 * KERNELS];
    need_gnuplot();
    make_page(&made);
    const char *chart = chart_of("case-512", "ms, logarithmic axis");
    for (int i = 0; i < 2 * KERNELS; i++) {
        char tip[80], class[8];
        const gg_bench_entry *e = &made.entries[2 * KERNELS + i / 2];
        value[i] = log(i % 2 ? e->total.median : e->forward.median);
        wrong[i] = exp(value[i]);
        snprintf(tip, sizeof tip, "%s, forward%s:", tips[i / 2], i % 2 ? " + backward" : "");
        circle(chart, tip, class, &x[i], &y[i]);
        cr_expect_str_eq(class, classes[i / 2], "%s", tip);
        cr_expect(i % 2 == 0 || fabs(y[i] - y[i - 1]) < 0.1, "%s: one row", tip);
    }
    cr_expect(linear(value, x, 2 * KERNELS, 1));
    cr_expect_not(linear(wrong, x, 2 * KERNELS, 1), "this check cannot fail");
    for (int k = 0; k < 4; k++) /* what is not ranked stands below what is */
        cr_expect(y[2 * k] < y[8] && y[2 * k] < y[10], "%s", tips[k]);
    cr_expect_not_null(strstr(chart, " wrong</text>"));
}

Test(bench_page, precision_stands_over_time)
{
    double time[KERNELS], x[KERNELS], floors[KERNELS], y[KERNELS];
    char class[8];
    need_gnuplot();
    make_page(&made);
    const char *chart = chart_of("case-512", "RMSE / floor over ms");
    for (int k = 0; k < KERNELS; k++) {
        char tip[80];
        time[k] = log(made.entries[2 * KERNELS + k].total.median);
        floors[k] = log(kernels[k].floors);
        snprintf(tip, sizeof tip, "%s%s: ", tips[k], k == 4 ? " (wrong)" : "");
        circle(chart, tip, class, &x[k], &y[k]);
        cr_expect_str_eq(class, classes[k], "%s", tip);
    }
    cr_expect(linear(time, x, KERNELS, 1));
    cr_expect(linear(floors, y, KERNELS, -1)); /* less exact is higher up */
    cr_expect_not_null(strstr(chart, ">\xe2\x9c\x97 liar</text>"));
}

Test(bench_page, growth_follows_its_exponent)
{
    double size[4 * SIZES], x[4 * SIZES], time[4 * SIZES], y[4 * SIZES], from[2], to[2];
    char class[8];
    need_gnuplot();
    make_page(&made);
    const char *chart = chart_of("normal B=1 H=2 D=16", "forward + backward, ms over N");
    for (int i = 0; i < 4 * SIZES; i++) {
        char tip[80];
        const gg_bench_entry *e = &made.entries[i % SIZES * KERNELS + i / SIZES];
        double n = (double)made.cases[e->at].extent[3];
        size[i] = log(n);
        time[i] = log(e->total.median);
        snprintf(tip, sizeof tip, "%s: %.4g ms at N = %g", tips[i / SIZES], e->total.median, n);
        circle(chart, tip, class, &x[i], &y[i]);
    }
    cr_expect(linear(size, x, 4 * SIZES, 1));
    cr_expect(linear(time, y, 4 * SIZES, -1));
    /* the first line is the slowest kernel's, through its first and last point */
    const char *line = strstr(chart, "<path class=\"line\" d=\"M");
    cr_assert(line && sscanf(line, "<path class=\"line\" d=\"M%lf,%lf L%lf,%lf", &from[0], &from[1],
                             &to[0], &to[1]) == 4);
    cr_expect(fabs(from[0] - x[0]) < 0.1 && fabs(from[1] - y[0]) < 0.1, "%g %g", from[0], from[1]);
    cr_expect(fabs(to[0] - x[2]) < 0.1 && fabs(to[1] - y[2]) < 0.1, "%g %g", to[0], to[1]);
    cr_expect_not_null(strstr(chart, ">3.00 slow</text>"));
    cr_expect_not_null(strstr(chart, ">2.00 quick</text>"));
    cr_expect_null(strstr(chart, "1.50 liar"));
}

Test(bench_page, memory_bars_follow_the_bytes)
{
    double value[KERNELS], right[KERNELS], box[8];
    need_gnuplot();
    make_page(&made);
    const char *chart = chart_of("case-64", "MiB, logarithmic axis");
    for (int k = 0; k < KERNELS; k++) {
        char tip[80];
        double bytes = made.entries[k].extra_bytes;
        snprintf(tip, sizeof tip, "<title>%s: %.1f MiB</title>", tips[k], bytes / 0x1p20);
        const char *at = strstr(chart, tip);
        cr_assert_not_null(at, "%s", tip);
        while (strncmp(at, "points", 6) != 0) at--;
        cr_assert_eq(sscanf(at, "points=\"%lf,%lf %lf,%lf %lf,%lf %lf,%lf", &box[0], &box[1],
                            &box[2], &box[3], &box[4], &box[5], &box[6], &box[7]), 8);
        value[k] = log(bytes);
        right[k] = fmax(fmax(box[0], box[2]), fmax(box[4], box[6]));
    }
    cr_expect(linear(value, right, KERNELS, 1));
}

Test(bench_page, tables_stand_alone_without_gnuplot)
{
    setenv("PATH", folder, 1);
    make_page(&made);
    cr_expect_null(strstr(page, "<svg"));
    cr_expect_not_null(strstr(page, "Charts need gnuplot"));
    cr_expect_null(strstr(page, "<details>")); /* all open */
    cr_expect_not_null(strstr(page, "<h1>\xe2\x9c\x97 failed</h1>"));
    cr_expect_not_null(strstr(page, "at &lt;start&gt;"));
    cr_expect_not_null(strstr(page, "&lt;i&gt;4&lt;/i&gt;"));
    const char *liar = strstr(page, "<td>liar</td><td><span class=\"tag failed\">wrong</span></td>"
                              "<td class=\"n\">-</td>"); /* no rank, and no ratio */
    cr_assert_not_null(liar);
    cr_expect(strstr(liar, "<td class=\"n\">3.0 %</td><td class=\"n\">-</td>") != NULL);
    cr_expect_not_null(strstr(page, "<td>quick</td><td><span class=\"tag passed\">right</span></td>"
                              "<td class=\"n\">1 of 2</td>"));
    cr_expect_not_null(strstr(page, "title=\"confounded by precision\""));
}
