/* SPDX-License-Identifier: Apache-2.0
 * A bench for people: the same lines and grids on a terminal and as Markdown. */
#include <math.h>

#include "harness/bench.h"
#include "reports/grid.h"

typedef struct cell {
    char text[48];
} cell;

#define CELL ((cell){.text = ""}.text)

static const char *figure(const char *format, double value, char *text)
{
    if (isnan(value)) snprintf(text, 48, "-");
    else snprintf(text, 48, format, value);
    return text;
}

static const char *times(const gg_times *t, char *text)
{
    if (t->count < 2) return figure("%.4g", t->median, text);
    snprintf(text, 48, "%.4g (%.4g-%.4g)", t->median, t->least, t->most);
    return text;
}

static const char *percent(double fraction, char *text)
{
    return figure("%.1f %%", 100 * fraction, text);
}

static const char *name(const gg_bench_entry *e, char *text)
{
    snprintf(text, 48, "%.36s%s", e->kernel, e->peer ? " (peer)" : "");
    return text;
}

const char *gg_bench_outcome(const gg_bench_entry *e)
{
    if (e->declined) return "declines";
    if (e->verdict == GG_FAILED) return "wrong";
    if (!(e->total.median > 0)) return "not timed";
    if (e->verdict != GG_PASSED) return "not verified";
    return e->peer ? "as its script says" : "right";
}

static const char *place(const gg_bench_entry *e, char *text)
{
    if (e->rank == 0) snprintf(text, 48, "-");
    else snprintf(text, 48, "%d of %d", e->rank, e->ranked);
    return text;
}

static void lines(const gg_bench *b, gg_view *view)
{
    int timed = 0;
    for (int i = 0; i < b->entry_count; i++) timed += b->entries[i].total.median > 0;
    snprintf(view->lines[0], sizeof view->lines[0],
             "%s  bench of suite %s%s%s on %s: %d case%s, %d timings of %d runs a "
             "direction", gg_verdict_name(gg_bench_verdict(b)), b->suite,
             b->selection[0] ? ", only " : "", GG_CLEAN(b->selection), b->device,
             b->case_count, GG_S(b->case_count), timed, b->reps);
    snprintf(view->lines[1], sizeof view->lines[1], "%s; build %s, %s",
             GG_CLEAN(b->made.place.gpu[0] ? b->made.place.gpu : b->made.place.host_cpu),
             GG_CLEAN(b->made.commit), b->made.place.started);
    snprintf(view->lines[2], sizeof view->lines[2],
             "clocks at start: %s; at end: %s", GG_CLEAN(b->clocks[0]),
             GG_CLEAN(b->clocks[1]));
    view->line_count = 3;
    if (b->peers_about[0] || b->peers_unmatched > 0)
        snprintf(view->lines[view->line_count++], sizeof view->lines[0],
                 "peers: %s (%d lines fit no case)", GG_CLEAN(b->peers_about),
                 b->peers_unmatched);
}

static void speed(const gg_bench *b, gg_view *view)
{
    gg_grid *g = gg_grid_start(view, 2);
    snprintf(g->title, sizeof g->title,
             "Times in ms: median (least-most); TFLOP/s of the least work");
    gg_grid_add(g, "case\tkernel\tforward\tforward + backward\tspread\tTFLOP/s\tof peak\t"
                "extra MiB\tsame bits\t%s / floor\tprecision\trank\toutcome",
                b->op->graded ? b->op->graded : "RMSE");
    for (int i = 0; i < b->entry_count; i++) {
        const gg_bench_entry *e = &b->entries[i];
        double rate = gg_bench_rate(b, e, 1);
        double peak = b->peak_flops > 0 ? rate / b->peak_flops : NAN;
        gg_grid_add(g, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s",
                    GG_CLEAN(b->cases[e->at].id), GG_CLEAN(name(e, CELL)),
                    times(&e->forward, CELL), times(&e->total, CELL),
                    e->total.count < 2 ? "-" : percent(gg_times_spread(&e->total), CELL),
                    figure("%.3g", 1e-12 * rate, CELL), percent(peak, CELL),
                    figure("%.1f", e->extra_bytes / 0x1p20, CELL),
                    e->same_bits < 0 ? "-" : e->same_bits ? "yes" : "no",
                    figure("%.3f", e->graded, CELL), gg_precision_name(e->precision),
                    place(e, CELL), gg_bench_outcome(e));
    }
    if (b->peak_flops > 0)
        snprintf(g->note, sizeof g->note, "peak: %.0f TFLOP/s, %s. Rank: by forward + "
                 "backward, among right kernels of the same precision.",
                 1e-12 * b->peak_flops, b->peak_source);
    else
        snprintf(g->note, sizeof g->note, "peak of this machine: unknown. Rank: by forward "
                 "+ backward, among right kernels of the same precision.");
}

static void ratios(const gg_bench *b, gg_view *view)
{
    gg_grid *g = gg_grid_start(view, 3);
    snprintf(g->title, sizeof g->title, "Times as multiples of the first right kernel's");
    gg_grid_add(g, "case\tkernel\tagainst\tforward\tforward + backward\tnote");
    for (int i = 0; i < b->entry_count; i++) {
        const gg_bench_entry *e = &b->entries[i], *base = gg_bench_base(b, e->at);
        if (base == NULL || base == e) continue;
        const char *caveat = gg_bench_caveat(e, base);
        bool any = e->verdict == GG_PASSED && e->total.median > 0;
        double forward = any ? e->forward.median / base->forward.median : NAN;
        double total = any ? e->total.median / base->total.median : NAN;
        gg_grid_add(g, "%s\t%s\t%s\t%s\t%s\t%s", GG_CLEAN(b->cases[e->at].id),
                    GG_CLEAN(name(e, CELL)), base->kernel,
                    figure("%.3f", forward, CELL), figure("%.3f", total, CELL), caveat);
    }
    if (g->count == 1) snprintf(g->note, sizeof g->note, "nothing to compare");
}

/* RMSE / floor; in FP32, whose floor is out of reach, RMSE / rms of the truth. */
static const char *distance(const gg_bench_output *o, char *text)
{
    if (o->dtype != GG_F32)
        return figure("%.3f", o->rmse == 0 ? 0 : o->rmse / o->floor, text);
    if (o->truth_rms > 0) return figure("%.2e rel", o->rmse / o->truth_rms, text);
    return figure("%.2e abs", o->rmse, text);
}

static void accuracy(const gg_bench *b, gg_view *view)
{
    gg_grid *g = gg_grid_start(view, 2);
    char row[600];
    size_t used = (size_t)snprintf(row, sizeof row, "case\tkernel");
    snprintf(g->title, sizeof g->title,
             "Outputs of the last timed run: RMSE / floor, worst gauge of all");
    for (int o = 0; b->op->outputs[o].name != NULL && used < sizeof row; o++)
        used += (size_t)snprintf(row + used, sizeof row - used, "\t%s",
                                 b->op->outputs[o].name);
    gg_grid_add(g, "%s\tgauge p99\tgauge max", row);
    for (int i = 0; i < b->entry_count; i++) {
        const gg_bench_entry *e = &b->entries[i];
        double p99 = NAN, max = NAN;
        if (e->output_count == 0 || !(e->total.median > 0)) continue;
        used = (size_t)snprintf(row, sizeof row, "%s\t%s", GG_CLEAN(b->cases[e->at].id),
                                GG_CLEAN(name(e, CELL)));
        for (int o = 0; o < e->output_count && used < sizeof row; o++) {
            used += (size_t)snprintf(row + used, sizeof row - used, "\t%s",
                                     distance(&e->outputs[o], CELL));
            p99 = fmax(p99, e->outputs[o].gauge_p99);
            max = fmax(max, e->outputs[o].gauge_max);
        }
        gg_grid_add(g, "%s\t%s\t%s", row, figure("%.3g", p99, CELL),
                    figure("%.3g", max, CELL));
    }
    snprintf(g->note, sizeof g->note, "rel: FP32, RMSE / rms of the truth. A peer's "
             "figures are those of its script and inputs.");
}

static void growth(const gg_bench *b, gg_view *view)
{
    gg_grid *g = gg_grid_start(view, 2);
    snprintf(g->title, sizeof g->title, "Growth: time ~ %c^exponent, least squares of logs",
             b->op->size ? b->op->size : '?');
    gg_grid_add(g, "kernel\tcases\tsizes\tforward\tforward + backward");
    for (int i = 0; i < b->growth_count; i++) {
        const gg_growth *f = &b->growth[i];
        gg_grid_add(g, "%s\t%s\t%d\t%s\t%s", GG_CLEAN(f->kernel), f->group, f->sizes,
                    figure("%.2f", f->forward, CELL), figure("%.2f", f->total, CELL));
    }
    if (b->growth_count == 0)
        snprintf(g->note, sizeof g->note, "no two sizes of anything");
}

static void reasons(const gg_bench *b, gg_view *view)
{
    gg_grid *g = NULL;
    for (int i = 0; i < b->entry_count; i++) {
        const gg_bench_entry *e = &b->entries[i];
        if (e->reason[0] == '\0') continue;
        if (g == NULL) {
            g = gg_grid_start(view, 4);
            snprintf(g->title, sizeof g->title, "Wrong, declined or not timed");
            gg_grid_add(g, "case\tkernel\toutcome\twhy");
        }
        gg_grid_add(g, "%s\t%s\t%s\t%s", GG_CLEAN(b->cases[e->at].id),
                    GG_CLEAN(name(e, CELL)), gg_bench_outcome(e), GG_CLEAN(e->reason));
    }
}

void gg_bench_view(const gg_bench *b, gg_view *view)
{
    *view = (gg_view){.line_count = 0};
    lines(b, view);
    speed(b, view);
    ratios(b, view);
    accuracy(b, view);
    growth(b, view);
    reasons(b, view);
}

gg_status gg_bench_table(const gg_bench *bench, FILE *out, int width)
{
    gg_view view;
    gg_bench_view(bench, &view);
    gg_status status = gg_view_table(&view, out, width);
    gg_view_free(&view);
    return status;
}

gg_status gg_bench_markdown(const void *bench, FILE *out)
{
    gg_view view;
    gg_bench_view(bench, &view);
    gg_status status = gg_view_markdown(&view, out);
    gg_view_free(&view);
    return status;
}
