/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/merge.h"

#include "reports/fixture_test.h"

enum { CASES = 10, SHARDS = 3 };

static gg_run_record whole, part[4], merged;
static const char *const paths[] = {"a.json", "b.json", "c.json", "d.json"};

/* Every third case, as --shard I/3 gives. The suite's file is not there any more, so
 * gaps are found by shards and numbers. */
static void begin(void)
{
    whole = make_run(CASES);
    SET(whole.suite, "suite-that-is-gone");
    for (int s = 0; s < SHARDS; s++) {
        part[s] = make_run(CASES);
        SET(part[s].suite, "suite-that-is-gone");
        part[s].shard = s + 1;
        part[s].shards = SHARDS;
        part[s].count = 0;
        for (int i = s; i < CASES; i += SHARDS)
            part[s].cases[part[s].count++] = make_case(i);
    }
}

static void end(void)
{
    gg_run_free(&whole);
    for (int s = 0; s < 4; s++) gg_run_free(&part[s]);
    gg_run_free(&merged);
}

static void again(void)
{
    end();
    begin();
}

TestSuite(merge, .init = begin, .fini = end);

static void refused(int count, const char *text)
{
    cr_assert_eq(gg_merge(part, paths, count, &merged), GG_BAD_INPUT);
    cr_assert(strstr(gg_message(), text), "'%s' does not say '%s'", gg_message(), text);
    cr_assert_null(merged.cases);
}

Test(merge, shards_are_the_whole_run)
{
    uint64_t a, b;
    cr_assert_eq(gg_merge(part, paths, SHARDS, &merged), GG_OK, "%s", gg_message());
    cr_assert_eq(gg_report_evidence(&whole, &a), GG_OK);
    cr_assert_eq(gg_report_evidence(&merged, &b), GG_OK);
    cr_assert_eq(a, b);
    cr_assert_eq(merged.shards, 1);
}

Test(merge, order_of_the_parts_does_not_matter)
{
    uint64_t a, b;
    gg_run_record first = part[0];
    part[0] = part[2], part[2] = first;
    cr_assert_eq(gg_merge(part, paths, SHARDS, &merged), GG_OK, "%s", gg_message());
    cr_assert_eq(gg_report_evidence(&whole, &a), GG_OK);
    cr_assert_eq(gg_report_evidence(&merged, &b), GG_OK);
    cr_assert_eq(a, b);
}

Test(merge, place_is_the_span)
{
    SET(part[1].place.started, "2026-01-02T03:00:00Z");
    SET(part[2].place.finished, "2026-01-02T04:00:00Z");
    SET(part[2].place.gpu_uuid, "other");
    cr_assert_eq(gg_merge(part, paths, SHARDS, &merged), GG_OK);
    cr_assert_str_eq(merged.place.started, "2026-01-02T03:00:00Z");
    cr_assert_str_eq(merged.place.finished, "2026-01-02T04:00:00Z");
    cr_assert_str_eq(merged.place.gpu_uuid, "several");
    cr_assert_eq(merged.place.seconds, 3 * 60.25);
}

Test(merge, gaps_and_duplicates)
{
    refused(2, "1 of 3 shards are missing: 3");
    refused(1, "2 of 3 shards are missing: 2 3");
    part[2].shard = 2;
    refused(3, "shard 2 of 3 comes twice: b.json and c.json");
    part[2].shard = 3;
    part[2].shards = 4;
    refused(3, "a.json is one of 3 shards and c.json one of 4");
    part[2].shards = 3;
    part[2].cases[1] = part[0].cases[1];
    refused(3, "case shifted-N256-s003 comes twice: in a.json and in c.json");
}

Test(merge, lost_cases_of_a_whole_suite)
{
    part[2].count--;
    refused(3, "1 case of suite suite-that-is-gone in no part");
}

Test(merge, mixed_runs)
{
    SET(part[1].commit, "fedcba");
    refused(3, "a.json and b.json are not parts of one run: commit");
    again();
    part[2].kernel_digest = 1;
    refused(3, "kernel_digest");
    again();
    part[2].repeats = 6;
    refused(3, "repeats is 5 and 6");
    again();
    SET(part[1].device, "host");
    refused(3, "device");
    again();
    part[1].suite_digest ^= 1;
    refused(3, "suite_digest");
    again();
    part[1].limits[0].gauge_p99 = 0.2;
    refused(3, "gauge_p99 of dbias");
    again();
    part[1].limit_count = 0;
    refused(3, "limit_count");
    again();
    SET(part[1].place.gpu, "another card");
    refused(3, "gpu");
}

Test(merge, disjoint_selections)
{
    for (int s = 0; s < SHARDS; s++) {
        part[s].shard = part[s].shards = 1;
        SET(part[s].selection, "*-%d", s);
    }
    cr_assert_eq(gg_merge(part, paths, 2, &merged), GG_OK, "%s", gg_message());
    cr_assert_str_eq(merged.selection, "*-0 + *-1");
    gg_run_free(&merged);
    uint64_t a, b;
    cr_assert_eq(gg_merge(part, paths, 3, &merged), GG_OK, "%s", gg_message());
    cr_assert_str_eq(merged.selection, "");
    cr_assert_eq(gg_report_evidence(&whole, &a), GG_OK);
    cr_assert_eq(gg_report_evidence(&merged, &b), GG_OK);
    cr_assert_eq(a, b);
}

Test(merge, one_report_is_itself)
{
    part[0].shards = 1;
    SET(part[0].selection, "x");
    cr_assert_eq(gg_merge(part, paths, 1, &merged), GG_OK, "%s", gg_message());
    cr_assert_eq(merged.count, part[0].count);
    cr_assert_str_eq(merged.selection, "x");
}
