/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/gradgate.h"

#include <stdlib.h>
#include <string.h>

#include "build_identity.h"
#include "harness/commands.h"
#include "harness/gate.h"
#include "harness/run.h"
#include "reports/file_out.h"
#include "reports/report.h"

struct gg_evidence {
    gg_run_record run;
};

static int exit_of(gg_status status)
{
    if (status == GG_OK) return GG_EXIT_PASSED;
    return status == GG_BAD_INPUT || status == GG_IO ? GG_EXIT_USAGE : GG_EXIT_NOT_VERIFIED;
}

static int refuse(const char *what) { return exit_of(gg_fail(GG_BAD_INPUT, "%s", what)); }

/* The status of what filled `evidence`: hands it out, or frees it. */
static int hand_out(gg_status status, gg_evidence *filled, gg_evidence **evidence)
{
    if (status != GG_OK) {
        gg_evidence_free(filled);
        return exit_of(status);
    }
    *evidence = filled;
    return gg_evidence_verdict(filled);
}

static gg_status check_range(const char *name, int value, int high)
{
    return value >= 0 && value <= high
               ? GG_OK
               : gg_fail(GG_BAD_INPUT, "gg_settings.%s is %d, not between 0 and %d", name, value,
                         high);
}

/* `bytes` tells which fields a program knows: what it does not is left at the default. */
static gg_status take_settings(const gg_settings *given, gg_settings *settings)
{
    *settings = (gg_settings){.bytes = sizeof *settings};
    if (given == NULL || given->bytes < offsetof(gg_settings, device))
        return gg_fail(GG_BAD_INPUT, "gg_settings.bytes is not sizeof(gg_settings)");
    size_t known = given->bytes < sizeof *settings ? given->bytes : sizeof *settings;
    memcpy(settings, given, known);
    if (settings->suite == NULL)
        return gg_fail(GG_BAD_INPUT, "gg_settings.suite is NULL: name a suite");
    GG_TRY(check_range("repeats", settings->repeats, 1000000));
    return check_range("threads", settings->threads, 256);
}

int gg_judge_kernel(const gg_kernel *kernel, const gg_settings *given, gg_evidence **evidence)
{
    gg_settings s;
    if (evidence == NULL) return refuse("gg_judge_kernel: evidence is NULL");
    *evidence = NULL;
    if (kernel == NULL) return refuse("gg_judge_kernel: kernel is NULL");
    gg_status status = take_settings(given, &s);
    if (status != GG_OK) return exit_of(status);
    gg_evidence *filled = calloc(1, sizeof *filled);
    if (filled == NULL) return exit_of(gg_fail(GG_NO_MEMORY, "no memory for the evidence"));
    gg_run_options options = {
        .suite = s.suite,
        .own = kernel,
        .device = s.device != NULL ? s.device : kernel->device == kDLCUDA ? "cuda" : "host",
        .glob = s.cases,
        .ablate = s.ablate,
        .golden = s.golden,
        .repeats = s.repeats > 0 ? s.repeats : GG_DEFAULT_REPEATS,
        .certify = s.certify == 0 ? GG_CERTIFY_EVERY : s.certify < 0 ? 0 : s.certify,
        .threads = s.threads,
        .shard = 1,
        .shards = 1};
    return hand_out(gg_run(&options, &filled->run), filled, evidence);
}

int gg_evidence_read(const char *path, gg_evidence **evidence)
{
    if (evidence == NULL) return refuse("gg_evidence_read: evidence is NULL");
    *evidence = NULL;
    if (path == NULL) return refuse("gg_evidence_read: path is NULL");
    gg_evidence *filled = calloc(1, sizeof *filled);
    if (filled == NULL) return exit_of(gg_fail(GG_NO_MEMORY, "no memory for the evidence"));
    return hand_out(gg_report_read(path, &filled->run), filled, evidence);
}

void gg_evidence_free(gg_evidence *evidence)
{
    if (evidence == NULL) return;
    gg_run_free(&evidence->run);
    free(evidence);
}

int gg_evidence_verdict(const gg_evidence *evidence)
{
    if (evidence == NULL) return refuse("no evidence: it is NULL");
    return gg_verdict_exit(gg_run_verdict(&evidence->run));
}

static gg_status fill_junit(const void *run, FILE *file)
{
    gg_report_junit(run, file);
    return GG_OK;
}

static gg_status fill_html(const void *run, FILE *file) { return gg_report_html(run, file); }

static gg_status fill_markdown(const void *run, FILE *file)
{
    return gg_report_markdown(run, file);
}

int gg_evidence_write(const gg_evidence *evidence, const char *form, const char *path)
{
    static const struct {
        const char *form;
        gg_file_fill fill;
    } forms[] = {{"junit", fill_junit}, {"html", fill_html}, {"markdown", fill_markdown}};
    if (evidence == NULL || form == NULL || path == NULL)
        return refuse("gg_evidence_write: an argument is NULL");
    if (strcmp(form, "json") == 0) return exit_of(gg_report_write(&evidence->run, path));
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (strcmp(form, forms[i].form) == 0)
            return exit_of(gg_file_write(path, "report", forms[i].fill, &evidence->run));
    return exit_of(gg_fail(GG_BAD_INPUT, "no form '%s': choose json, junit, html or markdown",
                           form));
}

int gg_evidence_print(const gg_evidence *evidence, FILE *out)
{
    if (evidence == NULL || out == NULL) return refuse("gg_evidence_print: an argument is NULL");
    return exit_of(gg_report_table(&evidence->run, out, 0));
}

int gg_evidence_gate(const gg_evidence *evidence, const gg_evidence *baseline, int exact,
                     FILE *out)
{
    if (evidence == NULL || baseline == NULL)
        return refuse("gg_evidence_gate: evidence or baseline is NULL");
    gg_gate *gate = calloc(1, sizeof *gate);
    if (gate == NULL) return exit_of(gg_fail(GG_NO_MEMORY, "no memory for the gate"));
    gg_status status = gg_gate_make(&baseline->run, &evidence->run, exact != 0, NULL, gate);
    int code = gg_verdict_exit(gate->verdict);
    if (status == GG_OK && out != NULL) status = gg_gate_table(gate, out, 0);
    if (status != GG_OK) code = exit_of(status);
    gg_gate_free(gate);
    free(gate);
    return code;
}

int gg_evidence_cases(const gg_evidence *evidence)
{
    return evidence != NULL ? evidence->run.count : 0;
}

/* Copies what the program knows of a result; its `bytes` stays. */
static int give(const void *result, size_t whole, void *to, size_t bytes)
{
    if (bytes < sizeof bytes) return refuse("the result's bytes is not its sizeof");
    memcpy(to, result, bytes < whole ? bytes : whole);
    memcpy(to, &bytes, sizeof bytes);
    return GG_EXIT_PASSED;
}

int gg_evidence_case(const gg_evidence *evidence, int index, gg_case_result *result)
{
    if (index < 0 || index >= gg_evidence_cases(evidence) || result == NULL)
        return refuse("gg_evidence_case: no such case");
    const gg_case_record *c = &evidence->run.cases[index];
    gg_case_result whole = {.bytes = sizeof whole,
                            .id = c->id,
                            .family = c->family,
                            .reason = c->reason,
                            .verdict = gg_verdict_exit(c->verdict),
                            .runs = c->runs,
                            .outputs = c->output_count,
                            .seconds = c->seconds};
    return give(&whole, sizeof whole, result, result->bytes);
}

int gg_evidence_output(const gg_evidence *evidence, int index, int output,
                       gg_output_result *result)
{
    if (index < 0 || index >= gg_evidence_cases(evidence) || result == NULL || output < 0 ||
        output >= evidence->run.cases[index].output_count)
        return refuse("gg_evidence_output: no such output");
    const gg_output_record *o = &evidence->run.cases[index].outputs[output];
    gg_output_result whole = {.bytes = sizeof whole,
                              .name = o->name,
                              .count = o->count,
                              .rmse = o->rmse,
                              .floor_rmse = o->floor_rmse,
                              .truth_rms = o->truth_rms,
                              .gauge_p99 = o->gauge_p99,
                              .gauge_max = o->gauge_max,
                              .gauge_max_at = o->gauge_max_at,
                              .pattern_mismatch = o->pattern_mismatch,
                              .unwritten = o->unwritten,
                              .repeat_differing = o->repeat_differing,
                              .ablated_rmse = o->ablated_rmse,
                              .digest = o->digest};
    return give(&whole, sizeof whole, result, result->bytes);
}

const char *gg_error(void) { return gg_message(); }

const char *gg_version(void) { return GG_VERSION " (" GG_COMMIT ")"; }
