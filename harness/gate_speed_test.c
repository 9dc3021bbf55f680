/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/gate_speed.h"
#include "reports/fixture_test.h"

enum { CASES = 4 };

static gg_run_record was, is;
static gg_gate gate;
static gg_timing rows[2][2 * CASES];
static gg_timings then, now;

/* Two clean runs of turbo, and benches of both with another kernel beside it: 1 ms and
 * 2 ms, 1 % of noise, 1 MiB. */
static void prepare(void)
{
    was = make_run(8), is = make_run(8);
    SET(was.commit, "0123456789ab");
    SET(is.commit, "abcdef012345");
    SET(is.place.started, "2026-01-03T03:04:05Z");
    SET(is.place.finished, "2026-01-03T03:05:05Z");
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 2 * CASES; i++) {
            gg_timing *t = &rows[side][i];
            *t = (gg_timing){.right = true, .median = {1, 2}, .error = {0.01, 0.01},
                             .bytes = 0x1p20, .graded = 1.4};
            SET(t->id, "case%d", i / 2);
            SET(t->kernel, "%s", i % 2 ? "other" : "turbo");
        }
    then = (gg_timings){.rows = rows[0], .count = 2 * CASES, .suite_digest = 7};
    now = (gg_timings){.rows = rows[1], .count = 2 * CASES, .suite_digest = 7};
    SET(then.commit, "0123456789ab");
    SET(now.commit, "abcdef012345");
    SET(then.gpu, "card");
    SET(now.gpu, "card");
}

static void finish(void)
{
    gg_gate_free(&gate);
    gg_run_free(&was);
    gg_run_free(&is);
}

TestSuite(gate_speed, .init = prepare, .fini = finish);

/* Multiplies the times of a kernel in the newer bench. */
static void scale(const char *kernel, double factor)
{
    for (int i = 0; i < 2 * CASES; i++)
        for (int way = 0; way < 2; way++)
            if (strcmp(rows[1][i].kernel, kernel) == 0) rows[1][i].median[way] *= factor;
}

static void expect(const char *against, gg_verdict speed, gg_verdict memory)
{
    cr_assert_eq(gg_gate_make(&was, &is, false, NULL, &gate), GG_OK, "%s", gg_message());
    cr_assert_eq(gate.verdict, GG_PASSED, "%s", gate.findings[0][0].text);
    gg_gate_speed(&gate, &then, &now, against);
    cr_expect_eq(gate.rules[GG_RULE_SPEED].verdict, speed, "%s; %s",
                 gate.rules[GG_RULE_SPEED].text, gate.findings[GG_RULE_SPEED][0].text);
    cr_expect_eq(gate.rules[GG_RULE_MEMORY].verdict, memory, "%s",
                 gate.rules[GG_RULE_MEMORY].text);
    cr_expect_eq(gate.verdict, gg_verdict_worse(speed, memory));
    cr_expect_eq(gate.rule_count, GG_RULES);
}

Test(gate_speed, the_rule_has_three_outcomes)
{
    cr_expect_eq(gg_gate_slower(log(1.03), 0.005), GG_PASSED);
    cr_expect_eq(gg_gate_slower(log(1.08), 0.005), GG_FAILED);
    cr_expect_eq(gg_gate_slower(log(1.08), 0.1), GG_NOT_VERIFIED);
    cr_expect_eq(gg_gate_slower(log(1.03), 0.1), GG_NOT_VERIFIED);
    cr_expect_eq(gg_gate_slower(log(0.5), 0.1), GG_PASSED);
    cr_expect_neq(gg_gate_slower((double)NAN, 0.1), GG_PASSED);
    cr_expect_neq(gg_gate_slower(0, (double)NAN), GG_PASSED);
}

Test(gate_speed, equal_times_pass) { expect(NULL, GG_PASSED, GG_PASSED); }

Test(gate_speed, a_slower_kernel_fails)
{
    scale("turbo", 1.08);
    expect(NULL, GG_FAILED, GG_PASSED);
    cr_expect_not_null(strstr(gate.findings[GG_RULE_SPEED][0].text, "+8.0 % time"), "%s",
                       gate.findings[GG_RULE_SPEED][0].text);
}

Test(gate_speed, a_slower_clock_is_no_slower_kernel)
{
    scale("turbo", 1.3);
    scale("other", 1.3);
    expect(NULL, GG_PASSED, GG_PASSED);
}

Test(gate_speed, a_faster_card_hides_no_slower_kernel)
{
    scale("turbo", 0.8);
    scale("other", 0.7);
    expect(NULL, GG_FAILED, GG_PASSED);
}

Test(gate_speed, noise_is_not_verified)
{
    scale("turbo", 1.08);
    for (int i = 0; i < 2 * CASES; i++) rows[1][i].error[0] = rows[1][i].error[1] = 0.2;
    expect(NULL, GG_NOT_VERIFIED, GG_PASSED);
}

Test(gate_speed, needs_another_kernel_of_both_runs)
{
    for (int i = 1; i < 2 * CASES; i += 2) SET(rows[0][i].kernel, "third");
    expect(NULL, GG_NOT_VERIFIED, GG_PASSED);
}

Test(gate_speed, against_chooses_the_other)
{
    expect("nobody", GG_NOT_VERIFIED, GG_PASSED);
    gg_gate_free(&gate);
    expect("other", GG_PASSED, GG_PASSED);
}

Test(gate_speed, a_fast_wrong_kernel_fails)
{
    scale("turbo", 0.5);
    rows[1][2].right = false;
    expect(NULL, GG_FAILED, GG_PASSED);
}

Test(gate_speed, a_speed_up_bought_with_precision_is_named)
{
    scale("turbo", 0.6);
    for (int i = 0; i < 2 * CASES; i += 2) rows[1][i].graded = 3;
    expect(NULL, GG_FAILED, GG_PASSED);
    cr_expect_not_null(strstr(gate.findings[GG_RULE_SPEED][0].text, "bought with precision"));
}

Test(gate_speed, a_case_that_is_not_timed_again_is_not_verified)
{
    SET(rows[1][0].id, "renamed");
    expect(NULL, GG_NOT_VERIFIED, GG_PASSED);
}

Test(gate_speed, more_memory_fails)
{
    rows[1][4].bytes *= 1.06;
    expect(NULL, GG_PASSED, GG_FAILED);
}

Test(gate_speed, memory_from_nothing_fails)
{
    rows[0][4].bytes = 0;
    expect(NULL, GG_PASSED, GG_FAILED);
}

Test(gate_speed, untold_memory_is_not_verified)
{
    for (int i = 0; i < 2 * CASES; i++) rows[1][i].bytes = (double)NAN;
    expect(NULL, GG_PASSED, GG_NOT_VERIFIED);
}

Test(gate_speed, stale_and_foreign_benches_are_not_verified)
{
    SET(now.commit, "fffffffffff");
    expect(NULL, GG_NOT_VERIFIED, GG_PASSED);
    gg_gate_free(&gate);
    SET(now.commit, "abcdef012345");
    SET(now.gpu, "another");
    expect(NULL, GG_NOT_VERIFIED, GG_PASSED);
    gg_gate_free(&gate);
    SET(now.gpu, "card");
    now.suite_digest++;
    expect(NULL, GG_NOT_VERIFIED, GG_PASSED);
}
