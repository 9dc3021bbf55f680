/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>

#include "harness/judge.h"

/* An honest output: each test breaks one field and names the check that must turn. */
static gg_output_record honest(void)
{
    return (gg_output_record){.name = "dq", .dtype = GG_BF16, .ndim = 2, .shape = {400, 8},
        .count = 3200, .rmse = 1.2e-4, .truth_rms = 0.1, .floor_rmse = 1e-4,
        .allowance_rms = 1e-3, .gauge_max = 0.5, .gauge_p99 = 0.1, .gauge_max_at = 9,
        .pattern_first = -1, .repeat_first = -1, .certified = 3, .certificate = 1e-12,
        .certified_error = 0.05, .certified_elements = "0,7,9", .ablated_rmse = NAN};
}

static const gg_limit_record limit = {"dq", 1.5, 0.3, 1.0};

static gg_verdict verdict_of(const gg_output_record *o, const char *check)
{
    for (int i = 0; i < o->check_count; i++)
        if (strcmp(o->checks[i].name, check) == 0) return o->checks[i].verdict;
    cr_assert_fail("no check %s", check);
    return GG_NOT_VERIFIED;
}

/* Judges `o` and demands that `check`, and no other, has `want`. */
static void only(gg_output_record o, const char *check, gg_verdict want)
{
    gg_judge_output(&o, &limit, 5);
    for (int i = 0; i < o.check_count; i++)
        if (strcmp(o.checks[i].name, check) != 0)
            cr_assert_eq(o.checks[i].verdict, GG_PASSED, "%s", o.checks[i].name);
    cr_assert_eq(verdict_of(&o, check), want);
}

Test(judge, honest_output_passes) { only(honest(), "rmse", GG_PASSED); }

Test(judge, each_fault_turns_its_own_check)
{
    gg_output_record o = honest();
    o.rmse = 1.6e-4;
    only(o, "rmse", GG_FAILED);
    o = honest(), o.gauge_p99 = 0.31;
    only(o, "gauge_p99", GG_FAILED);
    o = honest(), o.gauge_max = 1.01;
    only(o, "gauge_max", GG_FAILED);
    o = honest(), o.pattern_mismatch = 1, o.pattern_first = 0;
    only(o, "pattern", GG_FAILED);
    o = honest(), o.repeat_differing = 1, o.repeat_first = 31;
    only(o, "repeat", GG_FAILED);
    o = honest(), o.unwritten = 1;
    only(o, "written", GG_FAILED);
}

Test(judge, error_is_held_to_the_stated_roundings)
{
    gg_output_record o = honest();
    o.stated_rmse = 1.1e-4, o.stated_rough = 1.5e-6;
    only(o, "roundings", GG_PASSED);
    o.stated_rmse = 1.08e-4;
    only(o, "roundings", GG_FAILED);
    o.stated_rmse = 5e-4; /* a kernel may be more exact than it states */
    only(o, "roundings", GG_PASSED);
    o.stated_rmse = o.stated_rough = NAN;
    only(o, "roundings", GG_NOT_VERIFIED);
    o = honest(), o.stated_rmse = INFINITY;
    only(o, "roundings", GG_PASSED);
}

Test(judge, stated_roundings_are_no_check_where_they_tell_nothing)
{
    gg_output_record few = honest(), rough = honest(), none = honest();
    few.stated_rmse = rough.stated_rmse = 1e-5;
    few.count = GG_JUDGE_FEW - 1;
    rough.stated_rough = 1.5e-7; /* a share of 2.25e-4 */
    gg_output_record *all[] = {&few, &rough, &none};
    for (int i = 0; i < 3; i++) {
        gg_judge_output(all[i], &limit, 5);
        for (int c = 0; c < all[i]->check_count; c++)
            cr_assert_str_neq(all[i]->checks[c].name, "roundings");
    }
}

/* Without a truth nothing that needs it passes or fails; the bits are judged all the same. */
static void refused(gg_output_record o)
{
    gg_judge_output(&o, &limit, 5);
    for (int i = 0; i < o.check_count; i++) {
        const char *name = o.checks[i].name;
        bool bits = strcmp(name, "repeat") == 0 || strcmp(name, "written") == 0;
        cr_assert_eq(o.checks[i].verdict, bits ? GG_PASSED : GG_NOT_VERIFIED, "%s", name);
    }
    cr_assert_eq(verdict_of(&o, "gauge_max"), GG_NOT_VERIFIED);
}

Test(judge, uncertain_truth_is_refused)
{
    gg_output_record o = honest();
    o.certificate = 1e-5;
    refused(o);
    o.gauge_max = o.gauge_p99 = o.rmse = 1e3; /* it may be the truth that is wrong */
    refused(o);
    o = honest(), o.certificate = NAN;
    refused(o);
    o = honest(), o.certificate = INFINITY, o.certified_error = INFINITY;
    refused(o);
    o.repeat_differing = 1, o.repeat_first = 0;
    gg_judge_output(&o, &limit, 5);
    cr_assert_eq(verdict_of(&o, "repeat"), GG_FAILED);
}

Test(judge, truth_is_100_times_closer_than_the_kernel)
{
    gg_output_record o = honest();
    o.certified_error = 1e-5, o.certificate = 1e-7; /* a kernel of FP32 output */
    only(o, "certificate", GG_PASSED);
    o = honest(), o.certified_error = 1e-5, o.certificate = 1.1e-7;
    refused(o);
    o = honest(), o.certified_error = 1e9, o.certificate = 1.1e-6;
    refused(o);
    o = honest(), o.certified_error = 0, o.certificate = 1e-10; /* exact everywhere */
    only(o, "certificate", GG_PASSED);
    o = honest(), o.certified_error = 0, o.certificate = 1.1e-10;
    refused(o);
    o = honest(), o.certified_error = 0, o.certificate = 1e-6; /* an old report */
    o.certified_elements[0] = '\0';
    only(o, "certificate", GG_PASSED);
}

Test(judge, nan_figures_never_pass)
{
    gg_output_record o = honest();
    o.rmse = NAN;
    only(o, "rmse", GG_FAILED);
    o = honest(), o.gauge_max = NAN;
    only(o, "gauge_max", GG_FAILED);
    o = honest(), o.gauge_p99 = NAN;
    only(o, "gauge_p99", GG_FAILED);
    o = honest(), o.floor_rmse = NAN;
    only(o, "rmse", GG_FAILED);
}

Test(judge, few_elements_have_no_statistics_but_a_bound)
{
    gg_output_record o = honest();
    o.ndim = 1, o.shape[0] = o.count = GG_JUDGE_FEW - 1;
    o.rmse = NAN, o.gauge_p99 = 9;
    gg_judge_output(&o, &limit, 5);
    for (int i = 0; i < o.check_count; i++)
        cr_assert_eq(o.checks[i].verdict, GG_PASSED, "%s", o.checks[i].name);
    o = honest();
    o.ndim = 1, o.shape[0] = o.count = GG_JUDGE_FEW - 1;
    o.gauge_max = 1.01;
    gg_judge_output(&o, &limit, 5);
    cr_assert_eq(verdict_of(&o, "gauge_max"), GG_FAILED);
}

Test(judge, limit_is_inclusive)
{
    gg_output_record o = honest();
    o.gauge_max = 1.0;
    only(o, "gauge_max", GG_PASSED);
}

Test(judge, one_run_cannot_show_determinism)
{
    gg_output_record o = honest();
    gg_judge_output(&o, &limit, 1);
    cr_assert_eq(verdict_of(&o, "repeat"), GG_NOT_VERIFIED);
}

Test(judge, case_takes_the_worst_and_says_why)
{
    gg_case_record c = {.output_count = 2};
    c.outputs[0] = honest();
    c.outputs[1] = honest();
    c.outputs[1].unwritten = 7;
    for (int i = 0; i < 2; i++) gg_judge_output(&c.outputs[i], &limit, 5);
    gg_judge_case(&c);
    cr_assert_eq(c.verdict, GG_FAILED);
    cr_assert(strstr(c.reason, "dq written: 7 elements") != NULL, "%s", c.reason);
}

Test(judge, nothing_compared_is_not_verified)
{
    gg_case_record c = {.output_count = 0};
    gg_judge_case(&c);
    cr_assert_eq(c.verdict, GG_NOT_VERIFIED);
    c = (gg_case_record){.output_count = 1}; /* an output without a check */
    gg_judge_case(&c);
    cr_assert_eq(c.verdict, GG_NOT_VERIFIED);
}

Test(judge, difference_is_located)
{
    gg_output_record o = honest();
    o.repeat_differing = 2, o.repeat_first = 17, o.repeat_bits[0] = 0x3f80;
    o.repeat_bits[1] = 0x3f81, o.repeat_ulps = 1;
    gg_judge_output(&o, &limit, 5);
    for (int i = 0; i < o.check_count; i++)
        if (strcmp(o.checks[i].name, "repeat") == 0)
            cr_assert_str_eq(o.checks[i].note,
                             "2 of 3200 elements changed between equal runs; first dq[2,1]: "
                             "0x3f80 then 0x3f81, up to 1 ulp");
}

Test(judge, a_limit_that_is_not_stated_is_never_green)
{
    gg_output_record o = {.name = "dq", .count = GG_JUDGE_FEW, .rmse = 0, .floor_rmse = 1};
    gg_limit_record none = {.rmse_over_floor = NAN, .gauge_p99 = NAN, .gauge_max = NAN};
    gg_judge_output(&o, &none, 2);
    int found = 0;
    for (int c = 0; c < o.check_count; c++) {
        const gg_check *check = &o.checks[c];
        if (strcmp(check->name, "rmse") != 0 && strncmp(check->name, "gauge", 5) != 0) continue;
        found++;
        cr_assert_eq(check->verdict, GG_NOT_VERIFIED, "%s", check->name);
        cr_assert(strstr(check->note, "states no limit") != NULL, "%s", check->note);
        cr_assert_eq(check->value, 0, "the figure is kept");
    }
    cr_assert_eq(found, 3);
}

/* Of these limits each lets any error pass; gauge_max says so. */
static gg_verdict by(gg_output_record o, double rmse, double p99, double max)
{
    gg_limit_record limits = {"dq", rmse, p99, max};
    gg_judge_output(&o, &limits, 5);
    return verdict_of(&o, "gauge_max");
}

Test(judge, limits_that_let_anything_pass_are_not_green)
{
    gg_output_record o = honest();
    cr_assert_eq(by(o, 1e30, 1e30, 1e30), GG_NOT_VERIFIED);
    cr_assert_eq(by(o, 998, 33, 33), GG_NOT_VERIFIED, "zeros have 997");
    cr_assert_eq(by(o, INFINITY, 1e30, INFINITY), GG_NOT_VERIFIED);
    /* one of them is enough, and what zeros do not pass is one */
    cr_assert_eq(by(o, 996, 33, 33), GG_PASSED);
    cr_assert_eq(by(o, 1e30, GG_JUDGE_BLIND, 1e30), GG_PASSED);
    cr_assert_eq(by(o, 1e30, 1e30, GG_JUDGE_BLIND), GG_PASSED);
    cr_assert_eq(by(o, 1.5, INFINITY, INFINITY), GG_PASSED);
    o.dtype = GG_F32, o.floor_rmse = 0; /* scale 7.8e-6: zeros have 12800 */
    cr_assert_eq(by(o, 1e5, 33, 33), GG_NOT_VERIFIED);
    cr_assert_eq(by(o, 12e3, 33, 33), GG_PASSED);
    o = honest(), o.truth_rms = o.rmse = 0; /* zeros are right here, and 1.5 sees it */
    cr_assert_eq(by(o, 1.5, INFINITY, INFINITY), GG_PASSED);
    cr_assert_eq(by(o, 1e30, INFINITY, INFINITY), GG_NOT_VERIFIED);
    o = honest(), o.gauge_max = NAN;
    cr_assert_eq(by(o, 1e30, 1e30, 1e30), GG_FAILED);
}

Test(judge, few_elements_are_judged_by_gauge_max_alone)
{
    gg_output_record o = honest();
    o.ndim = 1, o.shape[0] = o.count = GG_JUDGE_FEW - 1;
    cr_assert_eq(by(o, 1.5, 0.3, 33), GG_NOT_VERIFIED);
    cr_assert_eq(by(o, 1.5, 0.3, 32), GG_PASSED);
}
