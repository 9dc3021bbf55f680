/* SPDX-License-Identifier: Apache-2.0
 * Records for the tests of this folder: plausible figures, and the awkward ones. */
#ifndef REPORTS_FIXTURE_TEST_H
#define REPORTS_FIXTURE_TEST_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reports/report.h"

#define SET(field, ...) snprintf(field, sizeof field, __VA_ARGS__)

static inline gg_check make_check(const char *name, double value, double limit)
{
    gg_check check = {
        .verdict = gg_judge(value, limit), .value = value, .limit = limit};
    SET(check.name, "%s", name);
    return check;
}

/* Values vary with the case so that means, maxima and places can be told apart. */
static inline gg_output_record make_output(const char *name, int index)
{
    gg_output_record output = {
        .dtype = GG_F32, .ndim = 2, .shape = {4, 8}, .count = 32};
    SET(output.name, "%s", name);
    output.rmse = 1e-3 * (1 + 0.1 * (index % 7));
    output.truth_rms = 0.5;
    output.floor_rmse = 0.9e-3;
    output.allowance_rms = 3e-3;
    output.gauge_max = 0.3 + 0.01 * index;
    output.gauge_p99 = 0.1;
    output.gauge_max_at = index % 32;
    output.output_there = 0.1;
    output.truth_there = -0.0;
    output.pattern_first = output.repeat_first = -1;
    output.digest = 0xfedcba9876543210u + (unsigned)index;
    output.certified = 3;
    output.certificate = 1e-3;
    output.ablated_rmse = 1.5e-3 * (1 + 0.05 * (index % 5));
    output.checks[0] = make_check("written", 0, 0);
    output.checks[1] = make_check("gauge_p99", output.gauge_p99, 0.12);
    output.checks[2] = make_check("rmse", output.rmse, (double)INFINITY);
    output.check_count = 3;
    return output;
}

static inline gg_case_record make_case(int index)
{
    gg_case_record record = {.index = index, .runs = 5, .verdict = GG_PASSED};
    const char *family = index % 2 ? "shifted" : "normal";
    int64_t extent[5] = {1, 2, 3, index % 4 < 2 ? 128 : 256, 32};
    SET(record.id, "%s-N%d-s%03d", family, (int)extent[3], index);
    SET(record.family, "%s", family);
    memcpy(record.extent, extent, sizeof extent);
    record.seed = 0xffffffffffffffffu - (unsigned)index;
    record.input_digest = (unsigned)index;
    record.seconds = 0.25;
    record.outputs[0] = make_output("dq", index);
    record.outputs[1] = make_output("dbias", index + 1);
    record.output_count = 2;
    return record;
}

static inline gg_run_record make_run(int count)
{
    gg_run_record run = {.suite_count = count, .shard = 1, .shards = 1, .repeats = 5};
    SET(run.version, "0.1.0");
    SET(run.commit, "0123abc+dirty");
    SET(run.compiler, "gcc 12 \"quoted\" \\ and \t tab");
    SET(run.operator_name, "triangle_attention");
    SET(run.symbols, "BRHND");
    SET(run.kernel, "turbo");
    SET(run.device, "cuda");
    SET(run.suite, "paper600");
    SET(run.promise, "run to run");
    SET(run.features, "compensation=on");
    SET(run.ablation, "compensation");
    run.kernel_digest = 0xffffffffffffffffu;
    run.limit_count = 1;
    SET(run.limits[0].output, "dbias");
    run.limits[0] = (gg_limit_record){"dbias", 1.1, 0.12, (double)INFINITY};
    SET(run.place.started, "2026-01-02T03:04:05Z");
    SET(run.place.finished, "2026-01-02T03:05:05.250Z");
    SET(run.place.host_cpu, "caf\xc3\xa9 cpu");
    run.place.seconds = 60.25;
    run.cases = calloc((size_t)count + 1, sizeof *run.cases);
    cr_assert_not_null(run.cases);
    for (int i = 0; i < count; i++) run.cases[i] = make_case(i);
    run.count = count;
    return run;
}

/* A folder of its own for each test (Criterion runs them side by side, each in its own
 * process); the suite's .fini removes it. */
static char test_folder[64];

static inline void remove_folder(void)
{
    char command[80];
    if (!test_folder[0]) return;
    SET(command, "rm -rf '%s'", test_folder);
    if (system(command) != 0) fprintf(stderr, "%s is left\n", test_folder);
}

static inline const char *temporary(const char *name)
{
    static char path[2][128];
    static int turn;
    if (!test_folder[0]) {
        SET(test_folder, "/tmp/gradgate-test-XXXXXX");
        cr_assert_not_null(mkdtemp(test_folder));
    }
    turn = !turn;
    SET(path[turn], "%s/%s", test_folder, name);
    return path[turn];
}

static inline char *read_all(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    cr_assert_eq(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(*size + 1, 1);
    cr_assert_not_null(text);
    cr_assert_eq(fread(text, 1, *size, file), *size);
    fclose(file);
    return text;
}

static inline void write_bytes(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(text, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

static inline void same_files(const char *a, const char *b, bool wanted)
{
    size_t size_a, size_b;
    char *text_a = read_all(a, &size_a), *text_b = read_all(b, &size_b);
    bool same = size_a == size_b && memcmp(text_a, text_b, size_a) == 0;
    cr_assert_eq(same, wanted, "%s and %s", a, b);
    free(text_a);
    free(text_b);
}

/* A copy of `text` with the first `from` after the first `after` replaced. */
static inline char *edited(const char *text, const char *after, const char *from,
                           const char *to)
{
    const char *at = strstr(text, after);
    at = at ? strstr(at, from) : NULL;
    cr_assert_not_null(at, "no %s after %s", from, after);
    size_t size = strlen(text) + strlen(to) + 1, head = (size_t)(at - text);
    char *result = calloc(size, 1);
    cr_assert_not_null(result);
    snprintf(result, size, "%.*s%s%s", (int)head, text, to, at + strlen(from));
    return result;
}

#endif
