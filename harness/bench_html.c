/* SPDX-License-Identifier: Apache-2.0
 * A bench for a browser: one page in the look of a report, the verdict first. Charts stand
 * before their tables, which are open where no chart could be drawn. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "harness/bench_page.h"
#include "reports/grid.h"

static void hero(const gg_bench_page *page)
{
    const gg_bench *b = page->bench;
    int timed = 0;
    for (int i = 0; i < b->entry_count; i++) timed += b->entries[i].total.median > 0;
    gg_html_verdict(page->out, gg_bench_verdict(b));
    fputs("<p>", page->out);
    gg_markup_format(page->out, "bench of suite %s%s%s on %s: %d case%s, %d timings of %d runs a "
                     "direction", b->suite, b->selection[0] ? ", only " : "", b->selection,
                     b->made.place.gpu[0] ? b->made.place.gpu : b->device, b->case_count,
                     GG_S(b->case_count), timed, b->reps);
    fputs("</p>\n<p class=\"soft\">", page->out);
    gg_markup_format(page->out, "%s \xc2\xb7 commit %s \xc2\xb7 %s", b->op->name, b->made.commit,
                     b->made.place.started);
    fputs("</p>\n</header>\n", page->out);
}

static void right_tile(const gg_bench_page *page)
{
    const gg_bench *b = page->bench;
    int asked = 0, right = 0, wrong = 0, declined = 0, peers = 0;
    char answer[120], basis[200];
    for (int i = 0; i < b->entry_count; i++) {
        const gg_bench_entry *e = &b->entries[i];
        peers += e->peer && e->total.median > 0;
        declined += e->declined;
        if (e->peer || e->declined) continue;
        asked++;
        right += e->verdict == GG_PASSED;
        wrong += e->verdict == GG_FAILED;
    }
    snprintf(answer, sizeof answer, "%d of %d timings are of right kernels", right, asked);
    snprintf(basis, sizeof basis, "judged by the outputs of the last timed run; %d wrong, %d not "
             "verified, %d declined; %d of peers by what their script says", wrong,
             asked - right - wrong, declined, peers);
    gg_html_tile(page->out, "Right?", gg_html_class(gg_bench_verdict(b)), answer, basis);
}

/* The fastest of each class in the case with the most work, or else the last. */
static void fastest_tile(const gg_bench_page *page)
{
    const gg_bench *b = page->bench;
    int at = b->case_count - 1;
    char answer[300] = "", basis[200], class[64];
    size_t used = 0;
    for (int i = 0; i < b->case_count; i++)
        if (b->cases[i].cost.flops[1] > b->cases[at].cost.flops[1]) at = i;
    for (int p = GG_PRECISION_FLOOR; p <= GG_PRECISION_COARSE; p++)
        for (int i = 0; i < b->entry_count && used < sizeof answer; i++) {
            const gg_bench_entry *e = &b->entries[i];
            if (e->at != at || e->precision != (gg_precision)p || e->rank != 1) continue;
            gg_bench_class(b, e, class);
            used += (size_t)snprintf(answer + used, sizeof answer - used, "%s%s %.3g ms (%s)",
                                     used ? ", " : "", e->kernel, e->total.median, class);
        }
    snprintf(basis, sizeof basis, "forward + backward in %s, first of each class of precision "
             "(RMSE / floor of %s)", b->cases[at].id, b->op->graded ? b->op->graded : "nothing");
    gg_html_tile(page->out, "Fastest", NULL, answer[0] ? answer : "nothing is ranked", basis);
}

static void steady_tile(const gg_bench_page *page)
{
    const gg_bench *b = page->bench;
    const gg_bench_entry *worst = NULL;
    int cold = 0;
    char answer[120] = "one run each shows no spread", basis[200];
    for (int i = 0; i < b->case_count; i++)
        cold += b->cache_bytes > 0 &&
                b->cases[i].sets * b->cases[i].set_bytes > 2 * b->cache_bytes;
    for (int i = 0; i < b->entry_count; i++) {
        const gg_bench_entry *e = &b->entries[i];
        if (e->total.count > 1 &&
            (worst == NULL || gg_times_spread(&e->total) > gg_times_spread(&worst->total)))
            worst = e;
    }
    if (worst != NULL)
        snprintf(answer, sizeof answer, "largest spread %.1f %%",
                 100 * gg_times_spread(&worst->total));
    snprintf(basis, sizeof basis, "(most \xe2\x88\x92 least) / median of forward + backward%s%.60s"
             "%s%.90s; inputs rotate beyond twice the last cache in %d of %d cases",
             worst ? ": " : "", worst ? worst->kernel : "", worst ? " in " : "",
             worst ? b->cases[worst->at].id : "", cold, b->case_count);
    gg_html_tile(page->out, "Steady", NULL, answer, basis);
}

static void environment(const gg_bench_page *page)
{
    const gg_bench *b = page->bench;
    const gg_run_record *m = &b->made;
    FILE *out = page->out;
    char text[400];
    fputs("<h2>Environment</h2>\n<div class=\"cards\"><section class=\"card\"><dl>\n", out);
    gg_html_fact(out, "GPU", m->place.gpu);
    gg_html_fact(out, "clocks at start", b->clocks[0]);
    gg_html_fact(out, "clocks at end", b->clocks[1]);
    gg_html_fact(out, "driver", m->place.driver);
    snprintf(text, sizeof text, "%s, %d threads", m->place.host_cpu, m->place.host_threads);
    gg_html_fact(out, "processor", text);
    snprintf(text, sizeof text, "%.0f TFLOP/s, %s", 1e-12 * b->peak_flops, b->peak_source);
    gg_html_fact(out, "peak", b->peak_flops > 0 ? text : "unknown");
    snprintf(text, sizeof text, "%.1f MiB", (double)b->cache_bytes / 0x1p20);
    gg_html_fact(out, "last cache", b->cache_bytes > 0 ? text : "unknown");
    fputs("</dl></section>\n<section class=\"card\"><dl>\n", out);
    snprintf(text, sizeof text, "%s, commit %s", m->version, m->commit);
    gg_html_fact(out, "gradgate", text);
    snprintf(text, sizeof text, "xxh:%016" PRIx64, m->kernel_digest);
    gg_html_fact(out, "program", text);
    gg_html_fact(out, "compiler", m->compiler);
    snprintf(text, sizeof text, "%s, xxh:%016" PRIx64, b->suite, b->suite_digest);
    gg_html_fact(out, "suite", text);
    gg_html_fact(out, "started", m->place.started);
    gg_html_fact(out, "finished", m->place.finished);
    snprintf(text, sizeof text, "%s; %d lines fit no case", b->peers_about, b->peers_unmatched);
    gg_html_fact(out, "peers", b->peers_about[0] || b->peers_unmatched > 0 ? text : "");
    fputs("</dl></section></div>\n", out);
}

static void times_cells(FILE *out, const gg_times *t)
{
    if (!(t->median > 0)) fputs("<td class=\"n\">-</td><td class=\"n\">-</td>", out);
    else if (t->count < 2) fprintf(out, "<td class=\"n\"><b>%.4g</b></td><td class=\"n\">-</td>",
                                   t->median);
    else
        fprintf(out, "<td class=\"n\"><b>%.4g</b></td><td class=\"n\">%.4g\xe2\x80\x93%.4g</td>",
                t->median, t->least, t->most);
}

static void figure_cell(FILE *out, const char *format, double value)
{
    char text[40] = "-";
    if (isfinite(value)) snprintf(text, sizeof text, format, value);
    fprintf(out, "<td class=\"n\">%s</td>", text);
}

static void ratio_cell(const gg_bench_page *page, const gg_bench_entry *e)
{
    const gg_bench_entry *base = gg_bench_base(page->bench, e->at);
    bool any = base != NULL && e->verdict == GG_PASSED && e->total.median > 0;
    const char *caveat = any && base != e ? gg_bench_caveat(e, base) : "";
    fputs("<td class=\"n\">", page->out);
    if (!any) fputc('-', page->out);
    else if (!caveat[0]) fprintf(page->out, "%.3f", e->total.median / base->total.median);
    else
        fprintf(page->out, "<span class=\"tag open\" title=\"%s\">%.3f ?</span>", caveat,
                e->total.median / base->total.median);
    fputs("</td>", page->out);
}

static void speed_row(const gg_bench_page *page, const gg_bench_entry *e)
{
    const gg_bench *b = page->bench;
    FILE *out = page->out;
    double rate = gg_bench_rate(b, e, 1);
    fputs("<tr><td>", out);
    gg_markup(out, e->kernel);
    fprintf(out, "%s</td><td><span class=\"tag %s\">%s</span></td>", e->peer ? " (peer)" : "",
            e->declined || (e->peer && e->verdict == GG_PASSED) ? "none"
                                                                : gg_html_class(e->verdict),
            gg_bench_outcome(e));
    if (e->rank > 0) fprintf(out, "<td class=\"n\">%d of %d</td>", e->rank, e->ranked);
    else fputs("<td class=\"n\">-</td>", out);
    times_cells(out, &e->forward);
    times_cells(out, &e->total);
    figure_cell(out, "%.1f %%", e->total.count < 2 ? NAN : 100 * gg_times_spread(&e->total));
    ratio_cell(page, e);
    figure_cell(out, "%.3f", e->graded);
    fprintf(out, "<td>%s</td>", e->same_bits < 0 ? "-" : e->same_bits ? "yes" : "no");
    figure_cell(out, "%.1f", e->extra_bytes / 0x1p20);
    figure_cell(out, "%.3g", 1e-12 * rate);
    figure_cell(out, "%.1f %%", b->peak_flops > 0 ? 100 * rate / b->peak_flops : NAN);
    fputs("</tr>\n", out);
}

/* Case by case; the ratio is that to the first right kernel of the case. */
static void speed_table(const gg_bench_page *page)
{
    const gg_bench *b = page->bench;
    FILE *out = page->out;
    fprintf(out, "<details%s><summary>the figures as a table</summary><div class=\"wide\"><table>"
            "<tr><th>kernel</th><th>outcome</th><th class=\"n\">rank</th>"
            "<th class=\"n\">forward, ms</th><th class=\"n\">least\xe2\x80\x93most"
            "</th><th class=\"n\">both, ms</th><th class=\"n\">least\xe2\x80\x93most</th>"
            "<th class=\"n\">spread</th><th class=\"n\">ratio</th><th class=\"n\">%s / floor</th>"
            "<th>same bits</th><th class=\"n\">extra MiB</th><th class=\"n\">TFLOP/s</th>"
            "<th class=\"n\">of peak</th></tr>\n",
            page->drawing->trouble[0] ? " open" : "", b->op->graded ? b->op->graded : "RMSE");
    for (int i = 0; i < b->entry_count; i++) {
        if (i == 0 || b->entries[i].at != b->entries[i - 1].at) {
            fputs("<tr><th colspan=\"14\">", out);
            gg_markup(out, b->cases[b->entries[i].at].id);
            fputs("</th></tr>\n", out);
        }
        speed_row(page, &b->entries[i]);
    }
    fputs("</table></div>\n<p class=\"soft\">both: forward + backward. Ratio: both, over that of "
          "the first right kernel of the case; <span class=\"tag open\">?</span> confounded by "
          "precision, or precision not known. Rank: by both, among right kernels of the same "
          "precision.</p></details>\n", out);
}

static void folded(const gg_bench_page *page, const gg_grid *grid)
{
    fprintf(page->out, "<details%s><summary>the figures as a table</summary>",
            page->drawing->trouble[0] ? " open" : "");
    gg_html_grid(grid, page->out);
    fputs("</details>\n", page->out);
}

static void sections(const gg_bench_page *page, const gg_view *view)
{
    const gg_bench *b = page->bench;
    if (view->grid_count > GG_BENCH_REASONS) {
        fputs("<h2>Wrong, declined or not timed</h2>\n", page->out);
        gg_html_grid(&view->grids[GG_BENCH_REASONS], page->out);
    }
    fputs("<h2>Times</h2>\n", page->out);
    gg_bench_chart_times(page);
    speed_table(page);
    if (b->op->graded != NULL) {
        fputs("<h2>Time against precision</h2>\n", page->out);
        gg_bench_chart_precision(page);
        folded(page, &view->grids[GG_BENCH_ACCURACY]);
    }
    if (b->growth_count > 0) {
        fprintf(page->out, "<h2>Growth with %c</h2>\n", b->op->size);
        gg_bench_chart_growth(page);
        folded(page, &view->grids[GG_BENCH_GROWTH]);
    }
    fputs("<h2>Extra memory</h2>\n", page->out);
    gg_bench_chart_memory(page);
}

gg_status gg_bench_html(const void *context, FILE *out)
{
    const gg_bench *b = context;
    gg_drawing drawing = {.seconds = GG_CHART_SECONDS};
    const gg_bench_page page = {b, out, &drawing};
    gg_view view;
    char title[300];
    gg_bench_view(b, &view);
    snprintf(title, sizeof title, "%s: bench of %s on %s", gg_verdict_name(gg_bench_verdict(b)),
             b->suite, b->made.place.gpu[0] ? b->made.place.gpu : b->device);
    gg_html_begin(out, title);
    hero(&page);
    fputs("<div class=\"cards\">\n", out);
    right_tile(&page);
    fastest_tile(&page);
    steady_tile(&page);
    fputs("</div>\n", out);
    sections(&page, &view);
    environment(&page);
    gg_html_end(out);
    gg_status status = gg_view_whole(&view);
    gg_view_free(&view);
    return status;
}
