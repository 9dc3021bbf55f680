/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/case_json.h"
#include "reports/consistent.h"
#include "reports/document.h"
#include "reports/fields.h"
#include "reports/file_out.h"
#include "reports/report.h"

gg_status gg_report_evidence(const gg_run_record *run, uint64_t *digest)
{
    gg_json_out out = {.hash = XXH3_createState()};
    if (!out.hash) return gg_fail(GG_NO_MEMORY, "no memory for a digest");
    XXH3_64bits_reset(out.hash);
    gg_out_open(&out, NULL, '{');
    gg_identity_write(&out, run);
    gg_out_open(&out, "tests", '[');
    for (int i = 0; i < run->count; i++)
        gg_case_write(&out, run->symbols, &run->cases[i], false);
    gg_out_close(&out);
    gg_out_close(&out);
    *digest = XXH3_64bits_digest(out.hash);
    XXH3_freeState(out.hash);
    return GG_OK;
}

static void write_counts(gg_json_out *out, const gg_run_record *run)
{
    gg_out_open(out, "summary", '{');
    gg_out_integer(out, "tests", run->count);
    gg_out_integer(out, "passed", gg_run_count(run, GG_PASSED));
    gg_out_integer(out, "failed", gg_run_count(run, GG_FAILED));
    gg_out_integer(out, "skipped", 0);
    gg_out_integer(out, "pending", 0);
    gg_out_integer(out, "other", gg_run_count(run, GG_NOT_VERIFIED));
    gg_out_integer(out, "start", gg_epoch_milliseconds(run->place.started));
    gg_out_integer(out, "stop", gg_epoch_milliseconds(run->place.finished));
    gg_out_close(out);
}

static void write_results(gg_json_out *out, const gg_run_record *run,
                          const gg_summary *summary, uint64_t evidence)
{
    gg_out_open(out, "tool", '{');
    gg_out_name(out, "name", "gradgate");
    gg_out_text(out, "version", run->version, sizeof run->version);
    gg_out_close(out);
    write_counts(out, run);
    gg_out_open(out, "environment", '{');
    gg_out_open(out, "extra", '{');
    gg_place_write(out, &run->place);
    gg_out_close(out);
    gg_out_close(out);
    gg_out_open(out, "extra", '{');
    gg_out_name(out, "schema", GG_REPORT_SCHEMA);
    gg_out_name(out, "verdict", gg_verdict_name(gg_run_verdict(run)));
    gg_out_digest(out, "evidence", evidence);
    gg_identity_write(out, run);
    gg_summary_write(out, run, summary);
    gg_out_close(out);
    gg_out_open(out, "tests", '[');
    for (int i = 0; i < run->count; i++)
        gg_case_write(out, run->symbols, &run->cases[i], true);
    gg_out_close(out);
}

static void write_document(FILE *file, const gg_run_record *run,
                           const gg_summary *summary, uint64_t evidence)
{
    gg_json_out out = {.file = file};
    gg_out_open(&out, NULL, '{');
    gg_out_name(&out, "reportFormat", "CTRF");
    gg_out_name(&out, "specVersion", GG_CTRF_VERSION);
    gg_out_open(&out, "results", '{');
    write_results(&out, run, summary, evidence);
    gg_out_close(&out);
    gg_out_close(&out);
    fputc('\n', file);
}

/* What write_document needs, for gg_file_write. */
typedef struct content {
    const gg_run_record *run;
    const gg_summary *summary;
    uint64_t evidence;
} content;

static gg_status fill(const void *context, FILE *file)
{
    const content *c = context;
    write_document(file, c->run, c->summary, c->evidence);
    return GG_OK;
}

gg_status gg_report_write(const gg_run_record *run, const char *path)
{
    char fault[GG_FAULT_SIZE];
    if (gg_run_fault(run, fault))
        return gg_fail(GG_INTERNAL, "report %s not written: %s", path, fault);
    gg_summary summary;
    content c = {.run = run, .summary = &summary};
    GG_TRY(gg_report_evidence(run, &c.evidence));
    GG_TRY(gg_summary_make(run, &summary));
    gg_status status = gg_file_write(path, "report", fill, &c);
    gg_summary_free(&summary);
    return status;
}
