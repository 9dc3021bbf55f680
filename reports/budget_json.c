/* SPDX-License-Identifier: Apache-2.0
 * A budget for programs. What is measured stands per case as exact text; rows are derived
 * from it, decimals for eyes. */
#include <math.h>
#include <stdlib.h>

#include "reports/budget.h"
#include "reports/exact.h"
#include "reports/json_out.h"

/* In a list, where no decimal can stand beside it. */
static void exact(gg_json_out *out, double value)
{
    char text[GG_EXACT_SIZE];
    gg_exact_format(value, text);
    gg_out_name(out, NULL, text);
}

static void write_place(gg_json_out *out, const gg_run_record *m)
{
    gg_out_open(out, "environment", '{');
    gg_out_text(out, "version", m->version, sizeof m->version);
    gg_out_text(out, "commit", m->commit, sizeof m->commit);
    gg_out_text(out, "compiler", m->compiler, sizeof m->compiler);
    gg_out_digest(out, "program_digest", m->kernel_digest);
    gg_out_text(out, "host_cpu", m->place.host_cpu, sizeof m->place.host_cpu);
    gg_out_text(out, "gpu", m->place.gpu, sizeof m->place.gpu);
    gg_out_text(out, "driver", m->place.driver, sizeof m->place.driver);
    gg_out_text(out, "started", m->place.started, sizeof m->place.started);
    gg_out_text(out, "finished", m->place.finished, sizeof m->place.finished);
    gg_out_exact(out, "seconds", m->place.seconds);
    gg_out_close(out);
}

static void write_points(gg_json_out *out, const gg_budget *b)
{
    gg_out_open(out, "points", '[');
    for (int p = 0; p < b->point_count; p++) {
        gg_out_open_line(out, NULL, '{');
        gg_out_text(out, "name", b->points[p].name, sizeof b->points[p].name);
        gg_out_text(out, "summary", b->points[p].summary, sizeof b->points[p].summary);
        gg_out_bool(out, "rough", b->points[p].rough);
        gg_out_close(out);
    }
    gg_out_close(out);
    gg_out_open(out, "variants", '[');
    for (int v = 0; v < b->variant_count; v++) {
        gg_out_open_line(out, NULL, '{');
        gg_out_text(out, "name", b->variants[v].name, sizeof b->variants[v].name);
        gg_out_open(out, "points", '[');
        for (int p = 0; p < b->point_count; p++)
            if (b->variants[v].points >> p & 1u)
                gg_out_text(out, NULL, b->points[p].name, sizeof b->points[p].name);
        gg_out_close(out);
        gg_out_close(out);
    }
    gg_out_close(out);
    gg_out_open_line(out, "outputs", '[');
    for (int o = 0; o < b->output_count; o++)
        gg_out_text(out, NULL, b->outputs[o], sizeof b->outputs[o]);
    gg_out_close(out);
}

static void write_entry(gg_json_out *out, const gg_budget *b, int variant,
                        const gg_budget_entry *e)
{
    gg_out_open_line(out, NULL, '{');
    gg_out_exact(out, "kernel", e->kernel);
    gg_out_exact(out, "all", e->all);
    gg_out_exact(out, "other", e->other);
    gg_out_exact(out, "floor", e->floor);
    gg_out_integer(out, "mismatch", e->mismatch);
    if (e->elements > 0) gg_out_integer(out, "elements", e->elements);
    gg_out_open(out, "points", '[');
    for (int p = 0; p < b->point_count; p++)
        if (b->variants[variant].points >> p & 1u) exact(out, e->point[p]);
    gg_out_close(out);
    gg_out_close(out);
}

/* entries: by variant, then output */
static void write_case(gg_json_out *out, const gg_budget *b, const gg_budget_case *c)
{
    gg_out_open(out, NULL, '{');
    gg_out_text(out, "id", c->id, sizeof c->id);
    gg_out_text(out, "family", c->family, sizeof c->family);
    gg_out_text(out, "reason", c->reason, sizeof c->reason);
    gg_out_open(out, "entries", '[');
    for (int v = 0; v < b->variant_count && c->reason[0] == '\0'; v++)
        for (int o = 0; o < b->output_count; o++) write_entry(out, b, v, &c->entry[v][o]);
    gg_out_close(out);
    gg_out_close(out);
}

static void write_row(gg_json_out *out, const gg_budget *b, const gg_budget_row *r)
{
    const gg_budget_variant *v = &b->variants[r->variant];
    gg_out_open_line(out, NULL, '{');
    gg_out_text(out, "variant", v->name, sizeof v->name);
    gg_out_text(out, "output", b->outputs[r->output], sizeof b->outputs[r->output]);
    gg_out_text(out, "family", r->family, sizeof r->family);
    gg_out_integer(out, "cases", r->cases);
    gg_out_name(out, "outcome", gg_budget_outcome(r));
    gg_out_decimal(out, "rmse", sqrt(r->mean.kernel));
    gg_out_decimal(out, "rmse_all_points", sqrt(r->mean.all));
    gg_out_decimal(out, "floor", sqrt(r->mean.floor));
    gg_out_decimal(out, "sum", r->sum);
    gg_out_decimal(out, "ratio", r->ratio);
    gg_out_decimal(out, "ratio_low", r->low);
    gg_out_decimal(out, "ratio_high", r->high);
    gg_out_decimal(out, "other", r->other);
    gg_out_open(out, "shares", '{');
    for (int p = 0; p < b->point_count; p++)
        if (v->points >> p & 1u)
            gg_out_decimal(out, b->points[p].name, gg_budget_share(r, p));
    gg_out_close(out);
    gg_out_close(out);
}

gg_status gg_budget_json(const void *context, FILE *file)
{
    const gg_budget *b = context;
    const gg_run_record *m = &b->made;
    gg_json_out out = {.file = file};
    gg_budget_row *rows = NULL;
    int count = 0;
    GG_TRY(gg_budget_rows(b, &rows, &count));
    gg_out_open(&out, NULL, '{');
    gg_out_name(&out, "schema", GG_BUDGET_SCHEMA);
    gg_out_name(&out, "verdict", gg_verdict_name(gg_budget_verdict(b)));
    gg_out_text(&out, "operator", m->operator_name, sizeof m->operator_name);
    gg_out_text(&out, "kernel", m->kernel, sizeof m->kernel);
    gg_out_text(&out, "device", m->device, sizeof m->device);
    gg_out_text(&out, "suite", m->suite, sizeof m->suite);
    gg_out_digest(&out, "suite_digest", m->suite_digest);
    gg_out_text(&out, "selection", m->selection, sizeof m->selection);
    gg_out_name(&out, "points_from", b->assumed ? "user" : "kernel");
    write_place(&out, m);
    write_points(&out, b);
    gg_out_open(&out, "rows", '[');
    for (int i = 0; i < count; i++) write_row(&out, b, &rows[i]);
    gg_out_close(&out);
    gg_out_open(&out, "cases", '[');
    for (int i = 0; i < b->case_count; i++) write_case(&out, b, &b->cases[i]);
    gg_out_close(&out);
    gg_out_close(&out);
    fputc('\n', file);
    free(rows);
    return GG_OK;
}
