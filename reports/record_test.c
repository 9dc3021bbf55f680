/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/consistent.h"
#include "reports/fixture_test.h"

Test(record, judge_is_inclusive_and_nan_fails)
{
    cr_assert_eq(gg_judge(1.0, 1.0), GG_PASSED);
    cr_assert_eq(gg_judge(nextafter(1.0, 2.0), 1.0), GG_FAILED);
    cr_assert_eq(gg_judge((double)NAN, 1.0), GG_FAILED);
    cr_assert_eq(gg_judge(1.0, (double)NAN), GG_FAILED);
    cr_assert_eq(gg_judge((double)NAN, (double)INFINITY), GG_FAILED);
    cr_assert_eq(gg_judge((double)INFINITY, (double)INFINITY), GG_PASSED);
}

Test(record, zeroed_memory_is_not_verified)
{
    gg_run_record run;
    gg_check check;
    memset(&run, 0, sizeof run);
    memset(&check, 0, sizeof check);
    cr_assert_eq(check.verdict, GG_NOT_VERIFIED);
    cr_assert_eq(gg_run_verdict(&run), GG_NOT_VERIFIED);
    cr_assert_str_eq(gg_verdict_name((gg_verdict)0), "not verified");
}

Test(record, worse_is_failed_then_not_verified_then_passed)
{
    const gg_verdict order[] = {GG_PASSED, GG_NOT_VERIFIED, GG_FAILED};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            cr_assert_eq(gg_verdict_worse(order[i], order[j]), order[i > j ? i : j]);
}

Test(record, run_takes_the_worst_case)
{
    gg_run_record run = make_run(5);
    cr_assert_eq(gg_run_verdict(&run), GG_PASSED);
    run.cases[4].verdict = GG_NOT_VERIFIED;
    cr_assert_eq(gg_run_verdict(&run), GG_NOT_VERIFIED);
    run.cases[0].verdict = GG_FAILED;
    cr_assert_eq(gg_run_verdict(&run), GG_FAILED);
    cr_assert_eq(gg_run_count(&run, GG_PASSED), 3);
    gg_run_free(&run);
    cr_assert_eq(gg_run_verdict(&run), GG_NOT_VERIFIED);
}

Test(record, missing_cases_of_a_whole_suite_are_not_verified)
{
    gg_run_record run = make_run(5);
    run.suite_count = 6;
    cr_assert_eq(gg_run_verdict(&run), GG_NOT_VERIFIED);
    SET(run.selection, "normal*");
    cr_assert_eq(gg_run_verdict(&run), GG_PASSED, "a selection asked for fewer");
    run.selection[0] = 0;
    run.shards = 2;
    cr_assert_eq(gg_run_verdict(&run), GG_PASSED, "so did a shard");
    gg_run_free(&run);
}

static void expect_fault(gg_case_record record, const char *words)
{
    char text[GG_FAULT_SIZE] = "";
    cr_assert(gg_case_fault(&record, "BRHND", text), "accepted: %s", words);
    cr_assert_not_null(strstr(text, words), "\"%s\" lacks \"%s\"", text, words);
}

Test(record, a_case_cannot_be_milder_than_its_checks)
{
    char text[GG_FAULT_SIZE];
    gg_case_record good = make_case(0), c = good;
    cr_assert_not(gg_case_fault(&good, "BRHND", text), "%s", text);
    c.outputs[1].checks[2].verdict = GG_FAILED;
    expect_fault(c, "says passed but check rmse of output dbias is failed");
    c.verdict = GG_NOT_VERIFIED;
    expect_fault(c, "says not verified but check rmse of output dbias is failed");
    c = good;
    c.outputs[0].checks[1].value = (double)NAN;
    expect_fault(c, "check gauge_p99 of output dq says passed but nan is not <=");
    c = good;
    c.output_count = 0;
    expect_fault(c, "nothing was compared");
    c = good;
    c.outputs[0].check_count = 0;
    expect_fault(c, "has no check");
    c = good;
    c.runs = 0;
    expect_fault(c, "has no run");
}

Test(record, impossible_counts_are_faults)
{
    gg_case_record good = make_case(0), c = good;
    c.outputs[0].count = 33;
    expect_fault(c, "32 elements by its shape but count 33");
    c = good;
    c.outputs[0].repeat_differing = 33;
    expect_fault(c, "repeat_differing 33");
    c = good;
    c.outputs[0].check_count = GG_MAX_CHECKS + 1;
    expect_fault(c, "25 checks");
    c = good;
    c.output_count = -1;
    expect_fault(c, "-1 outputs");
    c = good;
    c.extent[5] = 1;
    expect_fault(c, "more extents");
    c = good;
    memset(c.family, 'x', sizeof c.family);
    expect_fault(c, "impossible family");
    c = good;
    SET(c.outputs[1].name, "dq");
    expect_fault(c, "dq twice");
}

Test(record, a_run_knows_its_order)
{
    char text[GG_FAULT_SIZE];
    gg_run_record run = make_run(4);
    cr_assert_not(gg_run_fault(&run, text), "%s", text);
    run.cases[2].index = 1;
    cr_assert(gg_run_fault(&run, text) && strstr(text, "suite order"), "%s", text);
    run.cases[2].index = 2;
    SET(run.cases[3].id, "%s", run.cases[0].id);
    cr_assert(gg_run_fault(&run, text) && strstr(text, "twice"), "%s", text);
    run.count = 3;
    run.suite_count = 2;
    cr_assert(gg_run_fault(&run, text) && strstr(text, "suite of 2"), "%s", text);
    gg_run_free(&run);
}
