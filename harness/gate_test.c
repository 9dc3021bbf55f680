/* SPDX-License-Identifier: Apache-2.0 */
#include <cjson/cJSON.h>

#include "harness/gate.h"
#include "harness/judge.h"
#include "reports/fixture_test.h"

enum { CASES = 40 };

static gg_run_record was, is;
static gg_gate gate;

static void clean(gg_run_record *run)
{
    SET(run->commit, "0123abcd4567");
    SET(run->limits_note, "measured");
}

static void begin(void)
{
    was = make_run(CASES), is = make_run(CASES);
    clean(&was);
    clean(&is);
    is.place.seconds = 61;
}

static void end(void)
{
    gg_gate_free(&gate);
    gg_run_free(&was);
    gg_run_free(&is);
}

TestSuite(gate, .init = begin, .fini = end);

static gg_output_record *output_of(gg_run_record *run, int index, int output)
{
    return &run->cases[index].outputs[output];
}

/* A number in [-1, 1) that depends on `i` alone. */
static double wobble(unsigned i)
{
    i = (i ^ (i >> 16)) * 0x45d9f3bu;
    i = (i ^ (i >> 16)) * 0x45d9f3bu;
    return (double)((i ^ (i >> 16)) & 0xffffu) / 32768.0 - 1;
}

/* Runs the gate: the whole and one rule have these outcomes, every other rule passed. */
static void expect(bool exact, gg_rule rule, gg_verdict verdict)
{
    cr_assert_eq(gg_gate_make(&was, &is, exact, NULL, &gate), GG_OK, "%s", gg_message());
    for (int r = 0; r < gate.rule_count; r++) {
        gg_verdict wanted = r == (int)rule ? verdict : GG_PASSED;
        cr_assert_eq(gate.rules[r].verdict, wanted, "%s is %s, %d findings: %s %s",
                     gg_rule_name((gg_rule)r), gg_verdict_name(gate.rules[r].verdict),
                     gate.rules[r].findings, gate.findings[r][0].text, gate.rules[r].text);
    }
    cr_assert_eq(gate.verdict, verdict);
}

static void says(gg_rule rule, const char *text)
{
    for (int i = 0; i < gate.rules[rule].findings && i < GG_GATE_KEPT; i++)
        if (strstr(gate.findings[rule][i].text, text)) return;
    if (strstr(gate.rules[rule].text, text)) return;
    cr_assert_fail("no finding of %s says '%s': %s", gg_rule_name(rule), text,
                   gate.rules[rule].text);
}

Test(gate, equal_reports_pass)
{
    expect(true, GG_RULE_BITS, GG_PASSED);
    says(GG_RULE_BITS, "equal in all 40 cases");
    cr_assert_eq(gate.rules[GG_RULE_RMSE].compared, 6); /* 2 outputs, 2 families and all */
    cr_assert_eq(gate.rules[GG_RULE_DETERMINISM].compared, CASES);
    cr_assert_gt(gate.rules[GG_RULE_COMPENSATION].compared, 0);
}

Test(gate, noise_passes_and_changed_bits_are_announced)
{
    for (int i = 0; i < CASES; i++)
        for (int o = 0; o < 2; o++) {
            output_of(&is, i, o)->rmse *= 1 + 0.01 * wobble((unsigned)(2 * i + o));
            output_of(&is, i, o)->digest ^= 1;
        }
    expect(false, GG_RULE_BITS, GG_PASSED);
    says(GG_RULE_BITS, "changed in 40 of 40 cases");
    gg_gate_free(&gate);
    expect(true, GG_RULE_BITS, GG_FAILED);
}

Test(gate, loss_of_5_percent_in_one_family_fails)
{
    for (int i = 0; i < CASES; i++)
        if (strcmp(is.cases[i].family, "shifted") == 0)
            output_of(&is, i, 1)->rmse *= 1.05 * (1 + 0.01 * wobble((unsigned)i));
    expect(false, GG_RULE_RMSE, GG_FAILED);
    const gg_finding *f = &gate.findings[GG_RULE_RMSE][0];
    cr_assert(strcmp(f->output, "dbias") == 0 && strcmp(f->family, "shifted") == 0,
              "%s %s: %s", f->output, f->family, f->text);
}

Test(gate, too_few_pairs_to_exclude_a_loss_is_not_verified)
{
    for (int i = 0; i < CASES; i++) /* half 35 % worse, half 20 % better */
        if (i % 2) output_of(&is, i, 0)->rmse *= i % 4 == 1 ? 1.35 : 0.8;
    expect(false, GG_RULE_RMSE, GG_NOT_VERIFIED);
    says(GG_RULE_RMSE, "cannot exclude");
}

Test(gate, gain_is_a_remark)
{
    for (int i = 0; i < CASES; i++) output_of(&is, i, 0)->rmse *= 0.9;
    expect(false, GG_RULE_RMSE, GG_PASSED);
    says(GG_RULE_RMSE, "improved: -10.00 %");
}

Test(gate, one_changed_digest)
{
    output_of(&is, 7, 1)->digest ^= 1;
    expect(false, GG_RULE_BITS, GG_PASSED);
    says(GG_RULE_BITS, "changed in 1 of 40 cases, the first is shifted-N256-s007");
    gg_gate_free(&gate);
    expect(true, GG_RULE_BITS, GG_FAILED);
}

Test(gate, one_case_no_longer_deterministic)
{
    output_of(&is, 3, 0)->repeat_differing = 1;
    expect(false, GG_RULE_DETERMINISM, GG_FAILED);
    says(GG_RULE_DETERMINISM, "shifted-N256-s003: 1 elements differ");
}

Test(gate, never_deterministic_is_nothing_to_keep)
{
    output_of(&is, 3, 0)->repeat_differing = output_of(&was, 3, 0)->repeat_differing = 9;
    expect(false, GG_RULE_DETERMINISM, GG_PASSED);
    cr_assert_eq(gate.rules[GG_RULE_DETERMINISM].compared, CASES - 1);
}

/* Level 0 of case 3. */
static void set_level(gg_run_record *run, gg_verdict verdict)
{
    gg_level_record *level = &run->cases[3].levels[0];
    *level = (gg_level_record){.verdict = verdict, .runs = 200,
                               .control_differed = verdict == GG_PASSED,
                               .overlap_least = (double)NAN, .overlap = (double)NAN};
    SET(level->name, "load");
    SET(level->note, "%s", verdict == GG_PASSED ? "" : "the reason");
    run->cases[3].level_count = 1;
}

Test(gate, a_level_that_passed_must_pass_still)
{
    set_level(&was, GG_PASSED);
    set_level(&is, GG_PASSED);
    expect(false, GG_RULE_DETERMINISM, GG_PASSED);
    gg_gate_free(&gate);
    is.cases[3].level_count = 0;
    expect(false, GG_RULE_DETERMINISM, GG_NOT_VERIFIED);
    says(GG_RULE_DETERMINISM, "level load was passed and is not there any more");
    gg_gate_free(&gate);
    set_level(&was, GG_NOT_VERIFIED);
    expect(false, GG_RULE_DETERMINISM, GG_PASSED);
}

Test(gate, a_level_that_fails_now_is_named)
{
    set_level(&was, GG_PASSED);
    set_level(&is, GG_FAILED);
    cr_assert_eq(gg_gate_make(&was, &is, false, NULL, &gate), GG_OK, "%s", gg_message());
    cr_assert_eq(gate.rules[GG_RULE_DETERMINISM].verdict, GG_FAILED);
    says(GG_RULE_DETERMINISM, "level load was passed: the reason");
}

Test(gate, one_run_shows_no_determinism)
{
    is.cases[5].runs = 1;
    expect(false, GG_RULE_DETERMINISM, GG_NOT_VERIFIED);
}

Test(gate, truths_that_nobody_certified_are_not_verified)
{
    for (int i = 0; i < CASES; i++)
        for (int o = 0; o < was.cases[i].output_count; o++) {
            gg_output_record *c = output_of(&was, i, o);
            c->certified = 4;
            SET(c->certified_elements, "all");
            *output_of(&is, i, o) = *c;
        }
    expect(false, GG_RULE_LIMITS, GG_PASSED);
    cr_assert_eq(gate.rules[GG_RULE_LIMITS].findings, 0);
    gg_gate_free(&gate);
    for (int i = 1; i < CASES; i++)
        for (int o = 0; o < is.cases[i].output_count; o++) output_of(&is, i, o)->certified = 0;
    expect(false, GG_RULE_LIMITS, GG_PASSED);
    says(GG_RULE_LIMITS, "certified the truth of 1 case, of 40 before");
    gg_gate_free(&gate);
    for (int o = 0; o < is.cases[0].output_count; o++) output_of(&is, 0, o)->certified = 0;
    expect(false, GG_RULE_LIMITS, GG_NOT_VERIFIED);
}

Test(gate, fewer_cases_held_to_stated_roundings_are_a_remark)
{
    was.roundings = 12, is.roundings = 3;
    expect(false, GG_RULE_LIMITS, GG_PASSED);
    says(GG_RULE_LIMITS, "3 cases held to the stated roundings, 12 before");
}

Test(gate, lost_golden_digests_are_a_remark)
{
    SET(was.golden, "a card");
    expect(false, GG_RULE_LIMITS, GG_PASSED);
    says(GG_RULE_LIMITS, "not held to golden digests");
}

Test(gate, withdrawn_promise_fails)
{
    SET(is.promise, "not guaranteed");
    expect(false, GG_RULE_DETERMINISM, GG_FAILED);
}

Test(gate, compensation_collapsed)
{
    for (int i = 0; i < CASES; i++)
        output_of(&is, i, 1)->ablated_rmse = output_of(&is, i, 1)->rmse;
    expect(false, GG_RULE_COMPENSATION, GG_FAILED);
    cr_assert_str_eq(gate.findings[GG_RULE_COMPENSATION][0].output, "dbias");
    says(GG_RULE_COMPENSATION, "is collapsed");
}

Test(gate, compensation_no_longer_tried)
{
    for (int i = 0; i < CASES; i++) output_of(&is, i, 1)->ablated_rmse = (double)NAN;
    expect(false, GG_RULE_COMPENSATION, GG_NOT_VERIFIED);
}

Test(gate, missing_cases_are_not_verified)
{
    SET(is.selection, "*"); /* fewer were asked for: the report alone is whole */
    is.count = CASES - 3;
    expect(false, GG_RULE_CASES, GG_NOT_VERIFIED);
    says(GG_RULE_CASES, "lost: 3 cases of the baseline not measured, the first is "
                        "shifted-N128-s037");
}

Test(gate, unmeasured_case_is_lost)
{
    is.cases[2].output_count = 0;
    is.cases[2].verdict = GG_NOT_VERIFIED;
    cr_assert_eq(gg_gate_make(&was, &is, false, NULL, &gate), GG_OK);
    cr_assert_eq(gate.rules[GG_RULE_CASES].verdict, GG_NOT_VERIFIED);
    cr_assert_eq(gate.rules[GG_RULE_LIMITS].verdict, GG_NOT_VERIFIED);
}

Test(gate, new_cases_are_a_remark)
{
    was.count = CASES - 2;
    expect(false, GG_RULE_CASES, GG_PASSED);
    says(GG_RULE_CASES, "new: 2 cases");
}

Test(gate, other_inputs_are_not_comparable)
{
    is.cases[4].input_digest ^= 1;
    expect(false, GG_RULE_CASES, GG_NOT_VERIFIED);
    says(GG_RULE_CASES, "not comparable: 1 case ");
    cr_assert_eq(gate.pairing.count, CASES - 1);
}

Test(gate, changed_suite_file_compares_nothing)
{
    is.suite_digest ^= 1;
    cr_assert_eq(gg_gate_make(&was, &is, false, NULL, &gate), GG_OK);
    cr_assert_eq(gate.verdict, GG_NOT_VERIFIED);
    cr_assert_eq(gate.pairing.count, 0);
    says(GG_RULE_CASES, "make a new baseline");
}

Test(gate, other_suite_or_operator_is_refused)
{
    SET(is.suite, "other");
    cr_assert_eq(gg_gate_make(&was, &is, false, NULL, &gate), GG_BAD_INPUT);
    cr_assert(strstr(gg_message(), "paper600 and other"), "%s", gg_message());
    SET(is.operator_name, "other");
    cr_assert_eq(gg_gate_make(&was, &is, false, NULL, &gate), GG_BAD_INPUT);
}

Test(gate, builds_that_cannot_be_traced)
{
    static const char *const commits[] = {"0123abcd4567+dirty", "unknown", ""};
    for (int i = 0; i < 6; i++) {
        gg_run_record *run = i % 2 ? &was : &is;
        SET(run->commit, "%s", commits[i / 2]);
        expect(false, GG_RULE_BUILD, GG_NOT_VERIFIED);
        gg_gate_free(&gate);
        clean(run);
    }
}

Test(gate, stale_report)
{
    SET(was.place.started, "2026-01-02T03:04:06Z");
    expect(false, GG_RULE_BUILD, GG_NOT_VERIFIED);
    says(GG_RULE_BUILD, "older than its baseline");
}

Test(gate, baseline_that_is_the_report_itself)
{
    is.place.seconds = was.place.seconds;
    expect(false, GG_RULE_BUILD, GG_NOT_VERIFIED);
    says(GG_RULE_BUILD, "the same run");
}

Test(gate, baseline_that_failed_is_a_remark)
{
    was.cases[0].verdict = GG_FAILED;
    expect(false, GG_RULE_BUILD, GG_PASSED);
    says(GG_RULE_BUILD, "the baseline itself is failed");
}

Test(gate, report_of_another_commit_is_stale)
{
    cr_assert_eq(gg_gate_make(&was, &is, false, "0123abcd4567890123", &gate), GG_OK);
    cr_assert_eq(gate.verdict, GG_PASSED);
    gg_gate_free(&gate);
    cr_assert_eq(gg_gate_make(&was, &is, false, "fedcba987654", &gate), GG_OK);
    cr_assert_eq(gate.rules[GG_RULE_BUILD].verdict, GG_NOT_VERIFIED);
    gg_gate_free(&gate);
    cr_assert_eq(gg_gate_make(&was, &is, false, "", &gate), GG_OK);
    cr_assert_eq(gate.rules[GG_RULE_BUILD].verdict, GG_NOT_VERIFIED,
                 "an empty commit is none");
}

Test(gate, loosened_limit_needs_a_reason)
{
    is.limits[0].gauge_p99 = 0.2;
    expect(false, GG_RULE_LIMITS, GG_FAILED);
    says(GG_RULE_LIMITS, "loosened from 0.12 to 0.2 without a new reason");
    gg_gate_free(&gate);
    SET(is.limits_note, "a wider tile");
    expect(false, GG_RULE_LIMITS, GG_PASSED);
    says(GG_RULE_LIMITS, "reason: a wider tile");
    gg_gate_free(&gate);
    is.limits[0].gauge_p99 = (double)NAN;
    SET(is.limits_note, "measured");
    expect(false, GG_RULE_LIMITS, GG_FAILED);
}

/* The cases say that nothing was judged by it; nothing was loosened. */
Test(gate, limit_that_neither_states_is_not_loosened)
{
    was.limits[0].gauge_p99 = is.limits[0].gauge_p99 = (double)NAN;
    expect(false, GG_RULE_LIMITS, GG_PASSED);
    gg_gate_free(&gate);
    is.limits[0].gauge_p99 = 0.2;
    expect(false, GG_RULE_LIMITS, GG_PASSED);
}

/* The limit of FP32 outputs is in their checks alone; loosening it shows all the same. */
Test(gate, loosened_fp32_limit_needs_a_reason)
{
    for (int i = 0; i < CASES; i++) {
        gg_output_record *then = output_of(&was, i, 0), *now = output_of(&is, i, 0);
        then->check_count = now->check_count = 0;
        then->dtype = now->dtype = GG_F32;
        gg_check_add(then, "rmse", 0.1, 3.8, "");
        gg_check_add(now, "rmse", 0.1, 5.9, "");
    }
    expect(false, GG_RULE_LIMITS, GG_FAILED);
    says(GG_RULE_LIMITS, "loosened from 3.8 to 5.9 without a new reason");
    gg_gate_free(&gate);
    SET(is.limits_note, "single rows");
    expect(false, GG_RULE_LIMITS, GG_PASSED);
}

Test(gate, failed_case_fails)
{
    is.cases[9].verdict = GG_FAILED;
    SET(is.cases[9].reason, "dq gauge_max: too much");
    expect(false, GG_RULE_LIMITS, GG_FAILED);
    says(GG_RULE_LIMITS, "dq gauge_max: too much");
}

Test(gate, narrower_type_is_named)
{
    for (int i = 0; i < CASES; i++) output_of(&is, i, 0)->dtype = GG_BF16;
    cr_assert_eq(gg_gate_make(&was, &is, false, NULL, &gate), GG_OK);
    cr_assert_eq(gate.rules[GG_RULE_PRECISION].verdict, GG_FAILED);
    says(GG_RULE_PRECISION, "type bf16, was f32");
}

Test(gate, lower_class_is_named)
{
    for (int i = 0; i < CASES; i++) {
        output_of(&is, i, 0)->rmse *= 40;
        output_of(&is, i, 0)->ablated_rmse *= 40;
    }
    cr_assert_eq(gg_gate_make(&was, &is, false, NULL, &gate), GG_OK);
    cr_assert_eq(gate.rules[GG_RULE_RMSE].verdict, GG_FAILED);
    cr_assert_eq(gate.rules[GG_RULE_PRECISION].verdict, GG_FAILED);
    says(GG_RULE_PRECISION, "precision given up: within 64 x the floor, was within 2 x");
}

Test(gate, nan_never_passes)
{
    output_of(&is, 11, 1)->rmse = (double)NAN;
    cr_assert_eq(gg_gate_make(&was, &is, false, NULL, &gate), GG_OK);
    cr_assert_eq(gate.verdict, GG_FAILED);
    says(GG_RULE_RMSE, "RMSE is NaN in 1 of 20 cases of the report");
    gg_gate_free(&gate);
    output_of(&is, 11, 1)->rmse = output_of(&was, 11, 1)->rmse;
    output_of(&was, 11, 1)->rmse = (double)NAN;
    cr_assert_eq(gg_gate_make(&was, &is, false, NULL, &gate), GG_OK);
    cr_assert_eq(gate.verdict, GG_NOT_VERIFIED, "a baseline that is NaN measures nothing");
    gg_gate_free(&gate);
    for (int i = 0; i < CASES; i++)
        for (int o = 0; o < 2; o++)
            output_of(&was, i, o)->rmse = output_of(&is, i, o)->rmse = (double)NAN;
    cr_assert_eq(gg_gate_make(&was, &is, false, NULL, &gate), GG_OK);
    cr_assert_eq(gate.rules[GG_RULE_RMSE].verdict, GG_FAILED);
    gg_gate_free(&gate);
    for (int i = 0; i < CASES; i++) /* infinitely worse and infinitely better */
        for (int o = 0; o < 2; o++) {
            output_of(&was, i, o)->rmse = i % 4 < 2 ? 0 : 1e-3;
            output_of(&is, i, o)->rmse = i % 4 < 2 ? 1e-3 : 0;
        }
    cr_assert_eq(gg_gate_make(&was, &is, false, NULL, &gate), GG_OK);
    cr_assert_neq(gate.rules[GG_RULE_RMSE].verdict, GG_PASSED);
}

Test(gate, empty_report_is_not_verified)
{
    is.count = 0;
    cr_assert_eq(gg_gate_make(&was, &is, false, NULL, &gate), GG_OK);
    cr_assert_eq(gate.verdict, GG_NOT_VERIFIED);
    says(GG_RULE_CASES, "nothing was compared");
}

Test(gate, few_pairs_are_judged_one_by_one)
{
    gg_pair_row row = {
        .pairs = 2, .mean = log(1.05), .least = log(1.05), .most = log(1.05)};
    cr_assert_eq(gg_gate_rmse(&row), GG_FAILED);
    row.least = 0;
    cr_assert_eq(gg_gate_rmse(&row), GG_NOT_VERIFIED);
    row.most = log(1.01);
    cr_assert_eq(gg_gate_rmse(&row), GG_PASSED);
    row = (gg_pair_row){
        .pairs = 1, .mean = (double)NAN, .least = (double)NAN, .most = (double)NAN};
    cr_assert_neq(gg_gate_rmse(&row), GG_PASSED);
}

/* A kernel that is as good as before is not accused, one that lost 5 % never gets by. */
Test(gate, noise_and_loss_over_many_draws)
{
    int accused = 0, passed = 0;
    for (unsigned draw = 0; draw < 60; draw++)
        for (int lossy = 0; lossy < 2; lossy++) {
            for (int i = 0; i < CASES; i++)
                output_of(&is, i, 0)->rmse = output_of(&was, i, 0)->rmse *
                                             (lossy ? 1.05 : 1) *
                                             (1 + 0.03 * wobble(1000 * draw + (unsigned)i));
            cr_assert_eq(gg_gate_make(&was, &is, false, NULL, &gate), GG_OK);
            accused += !lossy && gate.rules[GG_RULE_RMSE].verdict == GG_FAILED;
            passed += lossy && gate.rules[GG_RULE_RMSE].verdict == GG_PASSED;
            gg_gate_free(&gate);
        }
    cr_assert_eq(accused, 0);
    cr_assert_eq(passed, 0);
}

Test(gate, every_form_shows_the_verdict)
{
    output_of(&is, 3, 0)->repeat_differing = 1;
    SET(is.cases[3].id, "<b>|x\tid");
    SET(was.cases[3].id, "<b>|x\tid");
    cr_assert_eq(gg_gate_make(&was, &is, false, NULL, &gate), GG_OK);
    char *text[3] = {NULL};
    size_t size;
    for (int form = 0; form < 3; form++) {
        FILE *file = open_memstream(&text[form], &size);
        if (form == 0) gg_gate_table(&gate, file, 0);
        else if (form == 1) gg_gate_markdown(&gate, file);
        else cr_assert_eq(gg_gate_json(&gate, file), GG_OK);
        fclose(file);
    }
    cr_assert(strncmp(text[0], "failed  gate of turbo", 21) == 0, "%s", text[0]);
    cr_assert(strstr(text[1], "# failed") && !strstr(text[1], "<b>"), "%s", text[1]);
    cJSON *json = cJSON_Parse(text[2]);
    cr_assert_not_null(json);
    cr_assert_str_eq(cJSON_GetObjectItem(json, "verdict")->valuestring, "failed");
    cr_assert_eq(cJSON_GetArraySize(cJSON_GetObjectItem(json, "rules")), GG_RULE_SPEED);
    cJSON_Delete(json);
    for (int form = 0; form < 3; form++) free(text[form]);
}
