/* SPDX-License-Identifier: Apache-2.0
 * Planted evidence for the harness's own parts. Each probe gives the real function
 * something that it must not let pass, after showing that it lets the honest form pass. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/arena.h"
#include "harness/commands.h"
#include "harness/digest.h"
#include "harness/golden.h"
#include "harness/judge.h"
#include "harness/selftest.h"
#include "harness/selftest_across.h"
#include "harness/selftest_files.h"
#include "harness/selftest_levels.h"
#include "reports/report.h"
#include "reports/summary.h"

enum { ELEMENTS = 4099 }; /* one more than three short chunks of the comparator */

static gg_backend host(void)
{
    gg_backend backend;
    gg_backend_open("host", 1, &backend);
    return backend;
}

/* The comparator. */

static gg_difference compared(gg_dtype dtype, const void *first, const void *again)
{
    gg_backend b = host();
    gg_tensor tensor = {.dtype = dtype, .ndim = 1, .shape = {ELEMENTS}};
    gg_difference d = {.differing = -1};
    tensor.data = (void *)(uintptr_t)first;
    b.compare(&b, &tensor, again, 0xffffffffu, 0x7f7f7f7fu, &d);
    return d;
}

static bool sees_bits(uint32_t one, uint32_t other)
{
    static uint32_t a[ELEMENTS], c[ELEMENTS];
    memset(a, 0, sizeof a);
    memset(c, 0, sizeof c);
    if (compared(GG_F32, a, c).differing != 0) return false;
    a[ELEMENTS - 1] = one;
    c[ELEMENTS - 1] = other;
    gg_difference d = compared(GG_F32, a, c);
    return d.differing == 1 && d.first == ELEMENTS - 1;
}

static bool last_bit(void) { return sees_bits(0x3f800000u, 0x3f800001u); }
static bool zero_sign(void) { return sees_bits(0, 0x80000000u); }
static bool nan_payload(void) { return sees_bits(0x7fffffffu, 0x7fc00001u); }

static bool unwritten(void)
{
    static uint16_t a[ELEMENTS], c[ELEMENTS];
    memset(a, 0, sizeof a);
    memset(c, 0, sizeof c);
    if (compared(GG_BF16, a, c).unwritten != 0) return false;
    a[ELEMENTS - 1] = 0xffff;
    c[ELEMENTS - 1] = 0x7f7f;
    return compared(GG_BF16, a, c).unwritten == 1;
}

/* The measures: element `at` of a right output becomes `value`, its allowance `allowed`. */
static gg_measures measured(float value, double allowed)
{
    static float output[ELEMENTS];
    static double truth[ELEMENTS], allowance[ELEMENTS];
    gg_backend b = host();
    gg_tensor tensor = {.dtype = GG_F32, .ndim = 1, .shape = {ELEMENTS}, .data = output};
    gg_measures m = {.ratio_p99 = -1};
    for (int i = 0; i < ELEMENTS; i++) {
        truth[i] = output[i] = 1;
        allowance[i] = 1e-3;
    }
    output[ELEMENTS - 1] = value;
    allowance[ELEMENTS - 1] = allowed;
    b.measure(&b, &tensor, truth, allowance, &m);
    return m;
}

static bool honest_measures(void)
{
    gg_measures m = measured(1, 1e-3);
    return m.sums.mismatch == 0 && m.sums.ratio == 0 && m.sums.finite == ELEMENTS;
}

static bool nan_output(void)
{
    return honest_measures() && measured(NAN, 1e-3).sums.mismatch == 1;
}

static bool infinite_output(void)
{
    return honest_measures() && measured(INFINITY, 1e-3).sums.mismatch == 1;
}

static bool nan_allowance(void)
{
    double ratio = measured(1, (double)NAN).sums.ratio;
    return honest_measures() && gg_judge(ratio, 1) == GG_FAILED;
}

static bool one_wrong(void)
{
    gg_measures m = measured(1.01f, 1e-3);
    return honest_measures() && m.sums.ratio > 9 && m.sums.ratio_at == ELEMENTS - 1;
}

static bool two_percent_wrong(void)
{
    int64_t bins[GG_RATIO_BINS] = {980}, fewer[GG_RATIO_BINS] = {995};
    bins[gg_ratio_bin(5.0)] = 20;
    fewer[gg_ratio_bin(5.0)] = 5;
    return gg_ratio_p99(bins, 1000) > 4 && gg_ratio_p99(fewer, 1000) < 1;
}

/* The judge. */

static gg_output_record right_output(void)
{
    return (gg_output_record){.name = "x", .dtype = GG_BF16, .ndim = 1, .shape = {2000},
        .count = 2000, .rmse = 1.2e-4, .truth_rms = 0.1, .floor_rmse = 1e-4,
        .allowance_rms = 1e-3, .gauge_max = 0.5, .gauge_p99 = 0.1, .gauge_max_at = 9,
        .pattern_first = -1, .repeat_first = -1, .certified = 3, .certificate = 1e-12,
        .certified_error = 0.05, .certified_elements = "0,7,9", .ablated_rmse = NAN};
}

static gg_verdict judged_by(gg_output_record o, int runs, gg_limit_record limit)
{
    static gg_case_record record;
    record = (gg_case_record){.runs = runs, .output_count = 1};
    gg_judge_output(&o, &limit, runs);
    record.outputs[0] = o;
    gg_judge_case(&record);
    return record.verdict;
}

static gg_verdict judged(gg_output_record o, int runs)
{
    return judged_by(o, runs, (gg_limit_record){"x", 1.5, 0.3, 1.0});
}

/* A right output passes and `o` does not. */
static bool refuses(gg_output_record o, gg_verdict want)
{
    return judged(right_output(), 5) == GG_PASSED && judged(o, 5) == want;
}

static bool nan_rmse(void)
{
    gg_output_record o = right_output();
    o.rmse = NAN;
    return refuses(o, GG_FAILED);
}

static bool nan_gauge(void)
{
    gg_output_record o = right_output();
    o.gauge_max = o.gauge_p99 = NAN;
    return refuses(o, GG_FAILED);
}

/* Within the kernel's limits, and a fifth more than the roundings that it states make. */
static bool coarser_than_stated(void)
{
    gg_output_record o = right_output();
    o.stated_rmse = 1.15e-4;
    bool right = judged(o, 5) == GG_PASSED;
    o.stated_rmse = 1e-4;
    return right && refuses(o, GG_FAILED);
}

static bool nan_stated(void)
{
    gg_output_record o = right_output();
    o.stated_rmse = NAN;
    return refuses(o, GG_NOT_VERIFIED);
}

static bool one_pattern(void)
{
    gg_output_record o = right_output();
    o.pattern_mismatch = 1;
    o.pattern_first = 0;
    return refuses(o, GG_FAILED);
}

static bool one_difference(void)
{
    gg_output_record o = right_output();
    o.repeat_differing = 1;
    o.repeat_first = 31;
    return refuses(o, GG_FAILED);
}

static bool truth_uncertain(void)
{
    gg_output_record o = right_output();
    o.certificate = 1e-3;
    return refuses(o, GG_NOT_VERIFIED);
}

/* A truth near enough for one kernel is not so for one that is 1000 times better. */
static bool truth_too_near(void)
{
    gg_output_record o = right_output();
    o.certificate = 1e-7;
    bool passed = judged(o, 5) == GG_PASSED;
    o.certified_error = 5e-6;
    return passed && judged(o, 5) == GG_NOT_VERIFIED;
}

static bool one_run(void)
{
    return judged(right_output(), 5) == GG_PASSED &&
           judged(right_output(), 1) == GG_NOT_VERIFIED;
}

static bool nan_limit(void)
{
    return gg_judge(1, 1) == GG_PASSED && gg_judge(1, (double)NAN) == GG_FAILED &&
           gg_judge((double)NAN, (double)INFINITY) == GG_FAILED;
}

/* Limits that no error exceeds, for outputs of many elements and of few. */
static bool blind_limits(void)
{
    const gg_limit_record one = {"x", 1e30, 0.3, 1e30}, all = {"x", 1e30, 1e30, 1e30};
    gg_output_record many = right_output(), few = right_output();
    few.shape[0] = few.count = GG_JUDGE_FEW - 1;
    return judged_by(many, 5, one) == GG_PASSED &&
           judged_by(many, 5, all) == GG_NOT_VERIFIED && judged(few, 5) == GG_PASSED &&
           judged_by(few, 5, one) == GG_NOT_VERIFIED;
}

static bool no_check(void)
{
    static gg_case_record record;
    record = (gg_case_record){.output_count = 1};
    gg_judge_case(&record);
    return record.verdict == GG_NOT_VERIFIED;
}

static bool no_room(void)
{
    static gg_case_record record;
    record = (gg_case_record){.output_count = 1};
    for (int i = 0; i < GG_MAX_CHECKS; i++)
        gg_check_add(&record.outputs[0], "right", 0, 0, "");
    gg_judge_case(&record);
    bool passed = record.verdict == GG_PASSED;
    gg_check_add(&record.outputs[0], "wrong", 1, 0, "");
    gg_judge_case(&record);
    return passed && record.verdict != GG_PASSED;
}

/* Verdict of a run and exit codes. */

static bool empty_run(void)
{
    gg_run_record run = {.count = 0, .shard = 1, .shards = 1};
    return gg_run_verdict(&run) == GG_NOT_VERIFIED;
}

static bool missing_case(void)
{
    static gg_case_record record;
    record = (gg_case_record){.verdict = GG_PASSED};
    gg_run_record run = {.cases = &record, .count = 1, .suite_count = 1, .shard = 1,
                         .shards = 1};
    bool whole = gg_run_verdict(&run) == GG_PASSED;
    run.suite_count = 2;
    return whole && gg_run_verdict(&run) == GG_NOT_VERIFIED;
}

static bool one_failed(void)
{
    static gg_case_record records[2];
    records[0] = (gg_case_record){.verdict = GG_FAILED};
    records[1] = (gg_case_record){.verdict = GG_PASSED};
    gg_run_record run = {.cases = records, .count = 2, .suite_count = 2, .shard = 1,
                         .shards = 1};
    return gg_run_verdict(&run) == GG_FAILED;
}

static bool failed_exit(void)
{
    return gg_verdict_exit(GG_PASSED) == 0 && gg_verdict_exit(GG_FAILED) == 1;
}

static bool unverified_exit(void)
{
    return gg_verdict_exit(GG_PASSED) == 0 && gg_verdict_exit(GG_NOT_VERIFIED) == 2 &&
           gg_verdict_exit((gg_verdict)7) == 2;
}

/* The digest. */

static bool digest_byte(void)
{
    static unsigned char data[GG_DIGEST_BLOCK * 2 + 5];
    uint64_t before, same, after, shorter;
    memset(data, 1, sizeof data);
    gg_digest_host(data, sizeof data, 1, &before);
    gg_digest_host(data, sizeof data, 2, &same);
    gg_digest_host(data, sizeof data - 1, 1, &shorter);
    data[sizeof data - 1] ^= 1;
    gg_digest_host(data, sizeof data, 1, &after);
    return before == same && before != after && before != shorter;
}

/* The paired ablation. */

static bool ablation_equal(void)
{
    double honest[8], equal[8], scratch[2000];
    gg_ablation_row earned, lost;
    for (int i = 0; i < 8; i++) {
        honest[i] = 0.3 + 0.01 * i;
        equal[i] = 0;
    }
    gg_ablation_judge(&earned, honest, 8, scratch);
    gg_ablation_judge(&lost, equal, 8, scratch);
    return earned.outcome == GG_EARNED && lost.outcome == GG_COLLAPSED;
}

static bool ablation_negative(void)
{
    double values[8], scratch[2000];
    gg_ablation_row row;
    for (int i = 0; i < 8; i++) values[i] = -0.1 - 0.01 * i;
    gg_ablation_judge(&row, values, 8, scratch);
    return row.outcome == GG_COLLAPSED;
}

/* Guard bands. */

static bool guard(int64_t at)
{
    gg_backend b = host();
    gg_arena arena = {.backend = &b};
    bool before = false, after = true;
    if (gg_arena_reserve(&arena, 8192) != GG_OK) return false;
    char *first = gg_arena_take(&arena, 100), *second = gg_arena_take(&arena, 100);
    gg_arena_arm(&arena);
    gg_arena_intact(&arena, first, &before);
    (at < 0 ? second : first)[at] ^= 1;
    gg_arena_intact(&arena, first, &after);
    gg_arena_free(&arena);
    return before && !after;
}

static bool guard_behind(void) { return guard(100); }
static bool guard_before(void) { return guard(-1); }

const gg_probe gg_probes[] = {
    {"comparator", "last_bit", "the lowest bit of the last element differs", "1 differs",
     last_bit},
    {"comparator", "zero_sign", "-0 against +0", "1 differs", zero_sign},
    {"comparator", "nan_payload", "two NaN with other payloads", "1 differs", nan_payload},
    {"comparator", "unwritten", "the last element keeps both poisons", "1 unwritten",
     unwritten},
    {"measures", "nan_output", "one NaN among right values", "pattern", nan_output},
    {"measures", "infinite_output", "one infinity among right values", "pattern",
     infinite_output},
    {"measures", "nan_allowance", "an allowance that is NaN", "failed", nan_allowance},
    {"measures", "one_wrong", "the last of 4,099 elements is 1 % off", "gauge",
     one_wrong},
    {"measures", "two_percent", "2 % of the elements are wrong", "gauge_p99",
     two_percent_wrong},
    {"judge", "nan_rmse", "an RMSE that is NaN", "failed", nan_rmse},
    {"judge", "nan_gauge", "gauge figures that are NaN", "failed", nan_gauge},
    {"judge", "coarser_than_stated", "20 % more RMSE than the stated roundings make", "failed",
     coarser_than_stated},
    {"judge", "nan_stated", "an evaluation of them that is NaN", "not verified", nan_stated},
    {"judge", "one_pattern", "one element with another pattern", "failed", one_pattern},
    {"judge", "one_difference", "one element that changed between runs", "failed",
     one_difference},
    {"judge", "truth_uncertain", "FP64 and MPFR disagree", "not verified",
     truth_uncertain},
    {"judge", "truth_too_near", "a kernel nearer to MPFR than 100 times FP64's distance",
     "not verified", truth_too_near},
    {"judge", "one_run", "a single run, so nothing was repeated", "not verified", one_run},
    {"judge", "nan_limit", "a limit that is NaN", "failed", nan_limit},
    {"judge", "blind_limits", "limits that let any error pass", "not verified", blind_limits},
    {"judge", "no_check", "an output without a check", "not verified", no_check},
    {"judge", "no_room", "a failed check beyond the room of the record", "not passed",
     no_room},
    {"verdict", "empty_run", "a run without a case", "not verified", empty_run},
    {"verdict", "missing_case", "one of two cases is missing", "not verified",
     missing_case},
    {"verdict", "one_failed", "a failed case before a passed one", "failed", one_failed},
    {"exit code", "failed", "a failed run", "exit 1", failed_exit},
    {"exit code", "not_verified", "a run that is not verified", "exit 2",
     unverified_exit},
    {"digest", "one_byte", "the last byte changed, or cut off", "other digest",
     digest_byte},
    {"ablation", "all_equal", "on and off give equal figures", "collapsed",
     ablation_equal},
    {"ablation", "negative", "the feature makes things worse", "collapsed",
     ablation_negative},
    {"guard", "behind", "a byte written behind a piece", "not intact", guard_behind},
    {"guard", "before", "a byte written before a piece", "not intact", guard_before},
    GG_LEVEL_PROBES
    GG_ACROSS_PROBES
    GG_FILE_PROBES
    {NULL, NULL, NULL, NULL, NULL},
};
