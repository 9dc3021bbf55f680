/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/document.h"
#include "reports/gate.h"
#include "reports/report.h"

static gg_status write_run(gg_json_out *out, const char *key, const gg_run_record *run)
{
    uint64_t evidence;
    GG_TRY(gg_report_evidence(run, &evidence));
    gg_out_open(out, key, '{');
    gg_out_digest(out, "evidence", evidence);
    gg_out_text(out, "commit", run->commit, sizeof run->commit);
    gg_out_text(out, "kernel", run->kernel, sizeof run->kernel);
    gg_out_digest(out, "kernel_digest", run->kernel_digest);
    gg_out_text(out, "device", run->device, sizeof run->device);
    gg_out_text(out, "suite", run->suite, sizeof run->suite);
    gg_out_digest(out, "suite_digest", run->suite_digest);
    gg_out_name(out, "verdict", gg_verdict_name(gg_run_verdict(run)));
    gg_out_integer(out, "cases", run->count);
    gg_out_text(out, "started", run->place.started, sizeof run->place.started);
    gg_out_close(out);
    return GG_OK;
}

static void write_rules(gg_json_out *out, const gg_gate *gate)
{
    gg_out_open(out, "rules", '[');
    for (int r = 0; r < gate->rule_count; r++) {
        const gg_rule_record *rule = &gate->rules[r];
        gg_out_open(out, NULL, '{');
        gg_out_name(out, "rule", gg_rule_name((gg_rule)r));
        gg_out_name(out, "verdict", gg_verdict_name(rule->verdict));
        gg_out_integer(out, "compared", rule->compared);
        gg_out_text(out, "text", rule->text, sizeof rule->text);
        gg_out_integer(out, "findings_total", rule->findings);
        gg_out_open(out, "findings", '[');
        for (int i = 0; i < rule->findings && i < GG_GATE_KEPT; i++) {
            const gg_finding *f = &gate->findings[r][i];
            gg_out_open_line(out, NULL, '{');
            gg_out_name(out, "verdict", gg_verdict_name(f->verdict));
            gg_out_text(out, "output", f->output, sizeof f->output);
            gg_out_text(out, "family", f->family, sizeof f->family);
            gg_out_text(out, "text", f->text, sizeof f->text);
            gg_out_close(out);
        }
        gg_out_close(out);
        gg_out_close(out);
    }
    gg_out_close(out);
}

static void write_rows(gg_json_out *out, const gg_pairing *pairing)
{
    gg_out_open(out, "pairs", '[');
    for (int i = 0; i < pairing->row_count; i++) {
        const gg_pair_row *row = &pairing->rows[i];
        gg_out_open_line(out, NULL, '{');
        gg_out_text(out, "output", row->output, sizeof row->output);
        gg_out_text(out, "family", row->family, sizeof row->family);
        gg_out_integer(out, "pairs", row->pairs);
        gg_out_decimal(out, "baseline_mean_rmse", row->rmse[0]);
        gg_out_decimal(out, "mean_rmse", row->rmse[1]);
        gg_out_decimal(out, "log_ratio_mean", row->mean);
        gg_out_decimal(out, "log_ratio_low", row->low);
        gg_out_decimal(out, "log_ratio_high", row->high);
        gg_out_decimal(out, "log_ratio_least", row->least);
        gg_out_decimal(out, "log_ratio_most", row->most);
        gg_out_integer(out, "equal_bits", row->equal_bits);
        gg_out_close(out);
    }
    gg_out_close(out);
}

gg_status gg_gate_json(const void *context, FILE *file)
{
    const gg_gate *gate = context;
    gg_json_out out = {.file = file};
    gg_out_open(&out, NULL, '{');
    gg_out_name(&out, "schema", GG_GATE_SCHEMA);
    gg_out_name(&out, "verdict", gg_verdict_name(gate->verdict));
    gg_out_name(&out, "bits", gate->exact ? "exact" : "announced");
    GG_TRY(write_run(&out, "report", gate->report));
    GG_TRY(write_run(&out, "baseline", gate->baseline));
    gg_out_open(&out, "cases", '{');
    gg_out_integer(&out, "compared", gate->pairing.count);
    gg_out_integer(&out, "lost", gate->pairing.lost.count);
    gg_out_integer(&out, "not_comparable", gate->pairing.foreign.count);
    gg_out_integer(&out, "new", gate->pairing.added.count);
    gg_out_close(&out);
    write_rules(&out, gate);
    write_rows(&out, &gate->pairing);
    gg_out_close(&out);
    fputc('\n', file);
    return GG_OK;
}
