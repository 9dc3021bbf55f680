/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/deal.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 60 };

static gg_suite suite;
static gg_deal *deal;
static int indices[CASES];
static gg_case_record finished[CASES];
static int finish_count;
static const char *const names[] = {"cuda:0", "cuda:1", "cuda:2"};

static gg_status take(void *context, const gg_case_record *record)
{
    (void)context;
    cr_assert_lt(finish_count, CASES);
    for (int i = 0; i < finish_count; i++)
        cr_assert_neq(finished[i].index, record->index, "case %d twice", record->index);
    finished[finish_count++] = *record;
    return GG_OK;
}

static void begin(void)
{
    cr_assert_eq(gg_suite_load("smoke600", &suite), GG_OK, "%s", gg_message());
    for (int i = 0; i < CASES; i++) indices[i] = 2 * i + 1;
}

static void end(void)
{
    gg_deal_close(deal);
    gg_suite_free(&suite);
}

TestSuite(deal, .init = begin, .fini = end);

static void start(int count, int places)
{
    cr_assert_eq(gg_deal_open(&suite, indices, count, names, places, take, NULL, &deal), GG_OK);
}

/* What a place that passes says of a case; the bits follow from the case alone. */
static gg_case_record answer_of(int index)
{
    gg_case_record r = {.index = index, .runs = 5, .verdict = GG_PASSED, .output_count = 2,
                        .input_digest = 1000u + (unsigned)index};
    snprintf(r.id, sizeof r.id, "%s", suite.cases[index].id);
    for (int o = 0; o < 2; o++) {
        gg_output_record *out = &r.outputs[o];
        snprintf(out->name, sizeof out->name, "%s", o ? "dbias" : "dq");
        out->digest = 7000u + (unsigned)index + (unsigned)o;
        out->check_count = 1;
        out->checks[0] = (gg_check){.name = "gauge_max", .verdict = GG_PASSED, .limit = 1};
    }
    return r;
}

/* The next task of a place, answered with `flip` in the last digest. */
static bool step(int place, uint64_t flip)
{
    int index;
    bool digests;
    int task = gg_deal_next(deal, place, &index, &digests);
    if (task < 0) return false;
    gg_case_record r = answer_of(index);
    r.outputs[1].digest ^= flip;
    cr_assert_eq(gg_deal_answer(deal, place, task, &r), GG_OK);
    return true;
}

Test(deal, one_place_runs_all_in_order_and_is_not_named)
{
    start(CASES, 1);
    while (step(0, 0)) continue;
    cr_assert(gg_deal_done(deal));
    cr_assert_eq(finish_count, CASES);
    for (int i = 0; i < CASES; i++) {
        cr_expect_eq(finished[i].index, indices[i]);
        cr_expect_eq(finished[i].across, 0);
        cr_expect_str_eq(finished[i].device, "");
    }
}

Test(deal, a_spread_runs_everywhere_and_leaves_its_number_alone)
{
    int across = 0;
    start(CASES, 3);
    for (bool more = true; more;) more = step(0, 0) | step(1, 0) | step(2, 0);
    cr_assert(gg_deal_done(deal));
    cr_assert_eq(finish_count, CASES);
    for (int i = 0; i < CASES; i++) {
        gg_case_record want = answer_of(finished[i].index);
        across += finished[i].across == 3;
        cr_expect(finished[i].across == 3 || finished[i].across == 0);
        cr_expect_eq(finished[i].verdict, GG_PASSED);
        cr_expect_eq(finished[i].outputs[1].check_count, 1);
        cr_expect_eq(finished[i].outputs[1].digest, want.outputs[1].digest);
        cr_expect_str_neq(finished[i].device, "");
    }
    cr_assert_eq(across, GG_SPREAD_LEAST);
}

Test(deal, few_cases_all_run_everywhere_and_many_every_twentieth)
{
    start(4, 2);
    for (bool more = true; more;) more = step(0, 0) | step(1, 0);
    for (int i = 0; i < 4; i++) cr_expect_eq(finished[i].across, 2);
    gg_deal_close(deal);
    finish_count = 0;
    int many[200], across = 0, index;
    bool digests;
    for (int i = 0; i < 200; i++) many[i] = i;
    cr_assert_eq(gg_deal_open(&suite, many, 200, names, 2, take, NULL, &deal), GG_OK);
    for (int task; (task = gg_deal_next(deal, 0, &index, &digests)) >= 0;) cr_expect_not(digests);
    while (gg_deal_next(deal, 1, &index, &digests) >= 0) across += digests;
    cr_assert_eq(across, 200 / GG_SPREAD_STEP);
}

Test(deal, other_bits_on_one_device_fail_and_name_device_and_output)
{
    start(1, 3);
    for (int place = 0; place < 3; place++) cr_assert(step(place, place == 2 ? 1 : 0));
    cr_assert_eq(finish_count, 1);
    const gg_case_record *r = &finished[0];
    cr_expect_eq(r->verdict, GG_FAILED);
    cr_expect(gg_case_has_failed(r, "across"));
    cr_expect_eq(r->outputs[0].check_count, 1);
    cr_expect_eq(r->outputs[1].check_count, 2);
    cr_expect(strstr(r->reason, "dbias across: bits differ on 1 of 3 devices: cuda:0") ==
              r->reason, "%s", r->reason);
    cr_expect(strstr(r->reason, "cuda:2"));
    cr_expect_eq(r->across, 3);
}

Test(deal, other_inputs_are_no_comparison)
{
    int index;
    bool digests;
    start(1, 2);
    cr_assert(step(0, 0));
    cr_assert_eq(finish_count, 0);
    int task = gg_deal_next(deal, 1, &index, &digests);
    cr_assert(digests);
    gg_case_record r = answer_of(index);
    r.input_digest++;
    cr_assert_eq(gg_deal_answer(deal, 1, task, &r), GG_OK);
    cr_assert_eq(finished[0].verdict, GG_NOT_VERIFIED);
    cr_assert_eq(finished[0].across, 0);
}

/* The second place gives no answer. */
static void loses(gg_verdict verdict)
{
    int index;
    bool digests;
    start(1, 2);
    cr_assert(step(0, 0));
    int task = gg_deal_next(deal, 1, &index, &digests);
    cr_assert_eq(gg_deal_lost(deal, 1, task, 1, verdict, "it broke"), GG_OK);
    cr_assert_eq(finish_count, 1);
    cr_expect_eq(finished[0].verdict, verdict);
    cr_expect(strstr(finished[0].reason, "no bits on cuda:1: it broke"));
}

Test(deal, a_crash_of_the_kernel_on_another_device_fails) { loses(GG_FAILED); }
Test(deal, a_breakdown_on_another_device_is_not_verified) { loses(GG_NOT_VERIFIED); }

Test(deal, a_lost_case_has_its_name_and_is_not_compared)
{
    int index;
    bool digests;
    start(1, 2);
    int task = gg_deal_next(deal, 1, &index, &digests);
    cr_assert_eq(gg_deal_lost(deal, 1, task, 2.5, GG_FAILED, "it crashed"), GG_OK);
    cr_assert_eq(finish_count, 1);
    cr_expect_str_eq(finished[0].id, suite.cases[index].id);
    cr_expect_str_eq(finished[0].reason, "it crashed");
    cr_expect_str_eq(finished[0].device, "cuda:1");
    cr_expect_eq(finished[0].verdict, GG_FAILED);
    cr_expect_eq(finished[0].seconds, 2.5);
    cr_assert_lt(gg_deal_next(deal, 0, &index, &digests), 0);
}

Test(deal, a_place_that_leaves_holds_nothing_up)
{
    start(CASES, 2);
    for (int i = 0; i < 10; i++) step(0, 0);
    cr_assert_eq(gg_deal_leave(deal, 1, "broken for good"), GG_OK);
    while (step(0, 0)) continue;
    cr_assert(gg_deal_done(deal));
    int open = 0;
    for (int i = 0; i < CASES; i++) {
        open += finished[i].verdict == GG_NOT_VERIFIED;
        cr_expect_neq(finished[i].verdict, GG_FAILED);
    }
    cr_assert_eq(open, GG_SPREAD_LEAST); /* what cannot be compared is not green */
}

Test(deal, giving_up_finishes_everything_once)
{
    start(CASES, 2);
    for (int i = 0; i < 20; i++) step(i % 2, 0);
    gg_deal_leave(deal, 0, "gone");
    gg_deal_leave(deal, 1, "gone");
    cr_assert_eq(gg_deal_give_up(deal, "nobody is left"), GG_OK);
    cr_assert(gg_deal_done(deal));
    cr_assert_eq(finish_count, CASES);
    int passed = 0;
    for (int i = 0; i < CASES; i++) passed += finished[i].verdict == GG_PASSED;
    cr_assert_gt(passed, 0);
    cr_assert_lt(passed, 21);
}
