/* SPDX-License-Identifier: Apache-2.0
 * A bench for programs. Figures that must be exact are hexadecimal text with a decimal
 * beside it; times are decimals, with digits enough that a page made of them later is the same. */
#include <math.h>

#include "harness/bench.h"
#include "reports/json_out.h"

/* Left out when it is not known: JSON has no NaN. */
static void known(gg_json_out *out, const char *key, double value)
{
    if (isfinite(value)) gg_out_decimal(out, key, value);
}

static void write_times(gg_json_out *out, const char *key, const gg_times *t)
{
    if (!(t->median > 0)) return;
    gg_out_open_line(out, key, '{');
    gg_out_precise(out, "median_ms", t->median);
    if (t->count > 1) {
        gg_out_precise(out, "min_ms", t->least);
        gg_out_precise(out, "max_ms", t->most);
        gg_out_decimal(out, "spread", gg_times_spread(t));
        gg_out_open(out, "samples_ms", '[');
        for (int i = 0; i < t->count; i++) gg_out_precise(out, NULL, t->sample[i]);
        gg_out_close(out);
    }
    gg_out_close(out);
}

static void write_case(gg_json_out *out, const gg_bench *b, const gg_bench_case *c)
{
    gg_out_open(out, NULL, '{');
    gg_out_text(out, "id", c->id, sizeof c->id);
    gg_out_text(out, "family", c->family, sizeof c->family);
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)c->seed);
    gg_out_name(out, "seed", seed);
    gg_out_open_line(out, "extents", '{');
    for (int s = 0; b->op->symbols[s] != '\0'; s++) {
        const char key[2] = {b->op->symbols[s], '\0'};
        gg_out_integer(out, key, c->extent[s]);
    }
    gg_out_close(out);
    gg_out_open_line(out, "dtypes", '{');
    for (int i = 0; b->op->inputs[i].name != NULL; i++)
        gg_out_name(out, b->op->inputs[i].name, gg_dtype_name(c->input_dtype[i]));
    for (int o = 0; b->op->outputs[o].name != NULL; o++)
        gg_out_name(out, b->op->outputs[o].name, gg_dtype_name(c->output_dtype[o]));
    gg_out_close(out);
    gg_out_open_line(out, "cost", '{');
    gg_out_precise(out, "forward_flop", c->cost.flops[0]);
    gg_out_precise(out, "backward_flop", c->cost.flops[1]);
    gg_out_precise(out, "forward_exponentials", c->cost.exponentials[0]);
    gg_out_precise(out, "backward_exponentials", c->cost.exponentials[1]);
    gg_out_close(out);
    gg_out_open_line(out, "rotation", '{');
    gg_out_integer(out, "sets", c->sets);
    gg_out_integer(out, "set_bytes", c->set_bytes);
    gg_out_bool(out, "exceeds_cache_twice",
                b->cache_bytes > 0 && c->sets * c->set_bytes > 2 * b->cache_bytes);
    gg_out_close(out);
    gg_out_close(out);
}

static void write_outputs(gg_json_out *out, const gg_bench_entry *e)
{
    gg_out_open(out, "outputs", '[');
    for (int o = 0; o < e->output_count; o++) {
        const gg_bench_output *from = &e->outputs[o];
        if (isnan(from->rmse) && e->peer) continue;
        gg_out_open_line(out, NULL, '{');
        gg_out_text(out, "name", from->name, sizeof from->name);
        gg_out_name(out, "dtype", gg_dtype_name(from->dtype));
        gg_out_exact(out, "rmse", from->rmse);
        gg_out_exact(out, "floor_rmse", from->floor);
        known(out, "rmse_over_floor", from->rmse / from->floor);
        if (!e->peer || isfinite(from->truth_rms))
            gg_out_exact(out, "truth_rms", from->truth_rms);
        if (!e->peer) {
            gg_out_exact(out, "gauge_p99", from->gauge_p99);
            gg_out_exact(out, "gauge_max", from->gauge_max);
        }
        gg_out_close(out);
    }
    gg_out_close(out);
}

static const char *outcome(const gg_bench_entry *e)
{
    if (e->declined) return "declined";
    if (e->verdict == GG_FAILED) return "wrong";
    if (!(e->total.median > 0)) return "not timed";
    return e->verdict == GG_PASSED ? "right" : "not verified";
}

static void write_rates(gg_json_out *out, const gg_bench *b, const gg_bench_entry *e)
{
    const gg_cost *cost = &b->cases[e->at].cost;
    double rate = gg_bench_rate(b, e, 1);
    known(out, "forward_tflops", 1e-12 * gg_bench_rate(b, e, 0));
    known(out, "total_tflops", 1e-12 * rate);
    if (cost->exponentials[0] > 0)
        known(out, "total_gexp_per_s",
              1e-6 * (cost->exponentials[0] + cost->exponentials[1]) / e->total.median);
    if (b->peak_flops > 0) known(out, "fraction_of_peak", rate / b->peak_flops);
}

static void write_entry(gg_json_out *out, const gg_bench *b, const gg_bench_entry *e)
{
    const gg_bench_entry *base = gg_bench_base(b, e->at);
    gg_out_open(out, NULL, '{');
    gg_out_text(out, "case", b->cases[e->at].id, sizeof b->cases[e->at].id);
    gg_out_text(out, "kernel", e->kernel, sizeof e->kernel);
    gg_out_bool(out, "peer", e->peer);
    gg_out_name(out, "outcome", outcome(e));
    gg_out_text(out, "reason", e->reason, sizeof e->reason);
    write_times(out, "forward", &e->forward);
    write_times(out, "total", &e->total);
    write_rates(out, b, e);
    if (!e->peer && e->total.count > 0) {
        gg_out_integer(out, "saved_bytes", e->saved_bytes);
        gg_out_integer(out, "workspace_bytes", e->workspace_bytes);
    }
    if (isfinite(e->extra_bytes)) gg_out_precise(out, "extra_bytes", e->extra_bytes);
    if (e->same_bits >= 0) gg_out_bool(out, "same_bits", e->same_bits == 1);
    if (isfinite(e->graded)) gg_out_precise(out, "graded_rmse_over_floor", e->graded);
    gg_out_name(out, "precision", gg_precision_name(e->precision));
    gg_out_integer(out, "rank", e->rank);
    gg_out_integer(out, "ranked", e->ranked);
    if (base != NULL && base != e && e->verdict == GG_PASSED && e->total.median > 0) {
        gg_out_open_line(out, "ratio", '{');
        gg_out_text(out, "against", base->kernel, sizeof base->kernel);
        known(out, "forward", e->forward.median / base->forward.median);
        known(out, "total", e->total.median / base->total.median);
        gg_out_name(out, "caveat", gg_bench_caveat(e, base));
        gg_out_close(out);
    }
    write_outputs(out, e);
    gg_out_close(out);
}

static void write_place(gg_json_out *out, const gg_bench *b)
{
    const gg_run_record *m = &b->made;
    gg_out_open(out, "environment", '{');
    gg_out_text(out, "version", m->version, sizeof m->version);
    gg_out_text(out, "commit", m->commit, sizeof m->commit);
    gg_out_text(out, "compiler", m->compiler, sizeof m->compiler);
    gg_out_digest(out, "program_digest", m->kernel_digest);
    gg_out_text(out, "host_cpu", m->place.host_cpu, sizeof m->place.host_cpu);
    gg_out_integer(out, "host_threads", m->place.host_threads);
    gg_out_text(out, "gpu", m->place.gpu, sizeof m->place.gpu);
    gg_out_text(out, "driver", m->place.driver, sizeof m->place.driver);
    gg_out_text(out, "started", m->place.started, sizeof m->place.started);
    gg_out_text(out, "finished", m->place.finished, sizeof m->place.finished);
    gg_out_text(out, "clocks_at_start", b->clocks[0], sizeof b->clocks[0]);
    gg_out_text(out, "clocks_at_end", b->clocks[1], sizeof b->clocks[1]);
    gg_out_integer(out, "cache_bytes", b->cache_bytes);
    if (b->peak_flops > 0) gg_out_decimal(out, "peak_tflops", 1e-12 * b->peak_flops);
    gg_out_text(out, "peak_source", b->peak_source, sizeof b->peak_source);
    gg_out_close(out);
}

static void write_growth(gg_json_out *out, const gg_bench *b)
{
    gg_out_open(out, "growth", '[');
    for (int i = 0; i < b->growth_count; i++) {
        const gg_growth *g = &b->growth[i];
        gg_out_open_line(out, NULL, '{');
        gg_out_text(out, "kernel", g->kernel, sizeof g->kernel);
        gg_out_text(out, "cases", g->group, sizeof g->group);
        gg_out_integer(out, "sizes", g->sizes);
        known(out, "forward_exponent", g->forward);
        known(out, "total_exponent", g->total);
        gg_out_close(out);
    }
    gg_out_close(out);
}

gg_status gg_bench_json(const void *context, FILE *file)
{
    const gg_bench *b = context;
    gg_json_out out = {.file = file};
    gg_out_open(&out, NULL, '{');
    gg_out_name(&out, "schema", GG_BENCH_SCHEMA);
    gg_out_name(&out, "verdict", gg_verdict_name(gg_bench_verdict(b)));
    gg_out_name(&out, "operator", b->op->name);
    gg_out_text(&out, "suite", b->suite, sizeof b->suite);
    gg_out_digest(&out, "suite_digest", b->suite_digest);
    gg_out_text(&out, "selection", b->selection, sizeof b->selection);
    gg_out_text(&out, "device", b->device, sizeof b->device);
    gg_out_integer(&out, "reps", b->reps);
    gg_out_name(&out, "graded_output", b->op->graded ? b->op->graded : "");
    write_place(&out, b);
    gg_out_text(&out, "peers_about", b->peers_about, sizeof b->peers_about);
    gg_out_integer(&out, "peers_unmatched", b->peers_unmatched);
    gg_out_open(&out, "cases", '[');
    for (int i = 0; i < b->case_count; i++) write_case(&out, b, &b->cases[i]);
    gg_out_close(&out);
    gg_out_open(&out, "entries", '[');
    for (int i = 0; i < b->entry_count; i++) write_entry(&out, b, &b->entries[i]);
    gg_out_close(&out);
    write_growth(&out, b);
    gg_out_close(&out);
    fputc('\n', file);
    return GG_OK;
}
