/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/selftest_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/golden.h"
#include "harness/judge.h"
#include "reports/report.h"

enum { TEXT_BYTES = 1 << 18, PATH_BYTES = 4096 };

/* A small report's record: one case of one output, judged. */
static gg_run_record record_of(gg_case_record *record, double gauge)
{
    gg_limit_record limit = {"x", 1.5, 0.3, 1.0};
    gg_run_record run = {.suite_count = 1, .shard = 1, .shards = 1, .repeats = 5,
        .version = "0", .commit = "0", .compiler = "cc", .operator_name = "probe",
        .symbols = "N", .kernel = "probe", .device = "host", .suite = "probe",
        .promise = "run to run", .cases = record, .count = 1,
        .place = {.started = "2026-01-02T03:04:05Z", .finished = "2026-01-02T03:04:06Z"}};
    *record = (gg_case_record){.id = "probe-s000", .family = "probe", .extent = {32},
                               .runs = 5, .output_count = 1};
    record->outputs[0] = (gg_output_record){.name = "x", .dtype = GG_BF16, .ndim = 1,
        .shape = {32}, .count = 32, .rmse = 1.2e-4, .truth_rms = 0.1, .floor_rmse = 1e-4,
        .allowance_rms = 1e-3, .gauge_max = gauge, .gauge_p99 = 0.1, .gauge_max_at = 9,
        .pattern_first = -1, .repeat_first = -1, .digest = 0x1234, .ablated_rmse = NAN};
    gg_judge_output(&record->outputs[0], &limit, 5);
    gg_judge_case(record);
    return run;
}

static bool temporary(char path[PATH_BYTES])
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, PATH_BYTES, "%.4000s/gradgate-selftest-XXXXXX",
             folder != NULL && folder[0] == '/' ? folder : "/tmp");
    int fd = mkstemp(path);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static bool rewrite(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) return false;
    bool good = fwrite(text, 1, bytes, file) == bytes;
    return fclose(file) == 0 && good;
}

/* The bytes of the file, ended by 0; how many, or 0. */
static size_t read_text(const char *path, char *text)
{
    FILE *file = fopen(path, "rb");
    size_t bytes = file == NULL ? 0 : fread(text, 1, TEXT_BYTES - 1, file);
    if (file != NULL) fclose(file);
    text[bytes] = '\0';
    return bytes;
}

typedef gg_status reader(const char *path);

static gg_status read_report(const char *path)
{
    gg_run_record run;
    gg_status status = gg_report_read(path, &run);
    if (status == GG_OK) gg_run_free(&run);
    return status;
}

static gg_status read_golden(const char *path)
{
    gg_golden golden;
    gg_status status = gg_golden_load(path, &golden);
    if (status == GG_OK) gg_golden_free(&golden);
    return status;
}

/* The file at `path` is read; then not, after the first `from` behind `after` became
 * `to` (NULL: the file was cut off there). */
static bool edit_is_refused(const char *path, reader *read, const char *after,
                            const char *from, const char *to)
{
    char *text = malloc(TEXT_BYTES + 64);
    bool refused = false;
    if (text != NULL && read(path) == GG_OK) {
        size_t bytes = read_text(path, text);
        char *at = strstr(text, after);
        at = at != NULL ? strstr(at, from) : NULL;
        if (at != NULL && to == NULL) bytes = (size_t)(at - text);
        if (at != NULL && to != NULL) {
            size_t shift = strlen(from);
            memmove(at + strlen(to), at + shift, bytes - (size_t)(at - text) - shift);
            memcpy(at, to, strlen(to));
            bytes = bytes + strlen(to) - shift;
        }
        refused = at != NULL && rewrite(path, text, bytes) && read(path) == GG_BAD_INPUT;
    }
    free(text);
    return refused;
}

static bool report_edit(double gauge, const char *after, const char *from, const char *to)
{
    static gg_case_record record;
    char path[PATH_BYTES];
    gg_run_record run = record_of(&record, gauge);
    if (!temporary(path)) return false;
    bool refused = gg_report_write(&run, path) == GG_OK &&
                   edit_is_refused(path, read_report, after, from, to);
    unlink(path);
    return refused;
}

bool gg_probe_report_verdict(void)
{
    return report_edit(2.0, "probe-s000", "\"failed\"", "\"passed\"");
}

bool gg_probe_report_figure(void)
{
    return report_edit(0.5, "gauge_max", "0x1p-1", "0x1p-2");
}

bool gg_probe_report_cut(void)
{
    return report_edit(0.5, "gauge_max", "0x1p-1", NULL);
}

/* An honest record is written and the one that `spoil` made of it is not. */
static bool is_not_written(void (*spoil)(gg_case_record *record))
{
    static gg_case_record record;
    char path[PATH_BYTES];
    gg_run_record run = record_of(&record, 2.0);
    if (!temporary(path)) return false;
    bool written = gg_report_write(&run, path) == GG_OK;
    spoil(&record);
    bool refused = gg_report_write(&run, path) == GG_INTERNAL;
    unlink(path);
    return written && refused;
}

static void call_it_passed(gg_case_record *record) { record->verdict = GG_PASSED; }

static void pass_nothing(gg_case_record *record)
{
    record->verdict = GG_PASSED;
    record->output_count = 0;
}

bool gg_probe_report_contradiction(void) { return is_not_written(call_it_passed); }

bool gg_probe_report_empty_pass(void) { return is_not_written(pass_nothing); }

bool gg_probe_golden_cut(void)
{
    static gg_case_record record;
    char path[PATH_BYTES];
    gg_run_record run = record_of(&record, 0.5);
    if (!temporary(path)) return false;
    bool refused = gg_golden_write(&run, path) == GG_OK &&
                   edit_is_refused(path, read_golden, "entries", "probe-s000", NULL);
    unlink(path);
    return refused;
}

bool gg_probe_golden_digest(void)
{
    static gg_case_record record;
    char path[PATH_BYTES], text[1024];
    gg_golden golden;
    gg_run_record run = record_of(&record, 0.5);
    bool differs = false;
    if (!temporary(path)) return false;
    if (gg_golden_write(&run, path) == GG_OK) {
        FILE *file = fopen(path, "rb");
        size_t bytes = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
        if (file != NULL) fclose(file);
        text[bytes] = '\0';
        char *at = strstr(text, "1234\n");
        if (at != NULL) at[3] = '5';
        if (at != NULL && rewrite(path, text, bytes) &&
            gg_golden_load(path, &golden) == GG_OK) {
            const gg_golden_entry *e = gg_golden_find(&golden, "probe-s000", "x");
            differs = e != NULL && e->digest == 0x1235 &&
                      gg_golden_find(&golden, "probe-s001", "x") == NULL;
            gg_golden_free(&golden);
        }
    }
    unlink(path);
    return differs;
}

bool gg_probe_golden_unrun(void)
{
    static gg_case_record record;
    char path[PATH_BYTES];
    gg_run_record run = record_of(&record, 0.5);
    if (!temporary(path)) return false;
    bool written = gg_golden_write(&run, path) == GG_OK;
    record.output_count = 0;
    bool refused = gg_golden_write(&run, path) == GG_BAD_INPUT;
    unlink(path);
    return written && refused;
}
