/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/claims.h"
#include "reports/fixture_test.h"

TestSuite(claims, .fini = remove_folder);

/* A run of turbo at N = 384 whose compensation saves `saved` of each RMSE (and a little
 * more or less from case to case) in the family normal, and half in the other. */
static gg_run_record claimed(int count, double saved)
{
    gg_run_record run = make_run(count);
    for (int i = 0; i < count; i++) {
        run.cases[i].extent[3] = 384;
        double part = (i % 2 ? 0.5 : saved) + 0.01 * (i % 3 - 1);
        for (int o = 0; o < 2; o++)
            run.cases[i].outputs[o].ablated_rmse = run.cases[i].outputs[o].rmse / (1 - part);
    }
    return run;
}

static gg_claims made(const gg_run_record *run, const gg_run_record *beside, int count)
{
    gg_summary summary;
    gg_claims claims;
    cr_assert_eq(gg_summary_make(run, &summary), GG_OK);
    cr_assert_eq(gg_claims_make(run, &summary, beside, count, &claims), GG_OK);
    gg_summary_free(&summary);
    return claims;
}

/* The row of a kind, output and family, and with `what` of that claim. */
static gg_claim_row found(const gg_run_record *run, const gg_run_record *beside, int count,
                          gg_claim_kind kind, const char *output, const char *family)
{
    gg_claims claims = made(run, beside, count);
    gg_claim_row row = {.claim = NULL};
    for (int i = 0; i < claims.count && row.claim == NULL; i++)
        if (claims.rows[i].claim->kind == kind && strcmp(claims.rows[i].output, output) == 0 &&
            strcmp(claims.rows[i].family, family) == 0)
            row = claims.rows[i];
    gg_claims_free(&claims);
    cr_assert_not_null(row.claim, "no row of kind %d, %s, %s", (int)kind, output, family);
    return row;
}

static void expect(const gg_run_record *run, gg_claim_kind kind, const char *output,
                   const char *family, gg_claim_verdict verdict)
{
    gg_claim_row row = found(run, NULL, 0, kind, output, family);
    cr_expect_eq(row.verdict, verdict, "kind %d, %s in '%s': %s, %s", (int)kind, output, family,
                 gg_claim_verdict_name(row.verdict), row.basis);
}

Test(claims, savings_are_judged_family_by_family_by_their_interval)
{
    gg_run_record run = claimed(40, 0.02);
    expect(&run, GG_CLAIM_SAVED, "dq", "normal", GG_CLAIM_REFUTED);
    expect(&run, GG_CLAIM_SAVED, "dq", "shifted", GG_CLAIM_REPRODUCED);
    gg_claims claims = made(&run, NULL, 0);
    int group = 0;
    while (strcmp(claims.rows[group].output, "dq") != 0)
        group = gg_claims_group(&claims, group);
    char text[64];
    cr_expect_eq(gg_claims_group(&claims, group), group + 3);
    cr_expect_eq(gg_claims_headline(&claims, group, text), GG_CLAIM_UNRESOLVED);
    cr_expect_str_eq(text, "reproduced in 1 of 2 families");
    gg_claims_free(&claims);
    gg_run_free(&run);
    run = claimed(40, 0.28); /* the bound is in the interval */
    expect(&run, GG_CLAIM_SAVED, "dq", "normal", GG_CLAIM_UNRESOLVED);
    gg_run_free(&run);
}

Test(claims, few_pairs_other_features_sizes_and_kernels_measure_nothing)
{
    gg_run_record run = claimed(8, 0.4); /* four of a family */
    expect(&run, GG_CLAIM_SAVED, "dq", "normal", GG_CLAIM_UNMEASURED);
    gg_run_free(&run);
    run = claimed(40, 0.4);
    expect(&run, GG_CLAIM_SAVED, "dq", "normal", GG_CLAIM_REPRODUCED);
    run.cases[7].extent[3] = 383;
    expect(&run, GG_CLAIM_SAVED, "", "", GG_CLAIM_UNMEASURED);
    run.cases[7].extent[3] = 384;
    SET(run.ablation, "compensations");
    expect(&run, GG_CLAIM_SAVED, "", "", GG_CLAIM_UNMEASURED);
    SET(run.ablation, "compensation");
    SET(run.kernel, "turbo2");
    expect(&run, GG_CLAIM_SAVED, "", "", GG_CLAIM_UNMEASURED);
    gg_run_free(&run);
}

Test(claims, a_nan_reproduces_nothing)
{
    gg_run_record run = claimed(40, 0.4);
    run.cases[2].outputs[0].rmse = (double)NAN;
    gg_claim_row row = found(&run, NULL, 0, GG_CLAIM_SAVED, "dq", "normal");
    cr_expect_neq(row.verdict, GG_CLAIM_REPRODUCED, "%s", row.interval);
    SET(run.kernel, "split");
    for (int i = 0; i < run.count; i++) {
        run.cases[i].outputs[0].rmse = run.cases[i].outputs[0].floor_rmse;
        run.cases[i].outputs[1].repeat_differing = 0;
    }
    expect(&run, GG_CLAIM_FLOOR, "dq", "normal", GG_CLAIM_REPRODUCED);
    run.cases[2].outputs[0].rmse = (double)NAN;
    row = found(&run, NULL, 0, GG_CLAIM_FLOOR, "dq", "normal");
    cr_expect_neq(row.verdict, GG_CLAIM_REPRODUCED, "%s", row.interval);
    gg_run_free(&run);
}

Test(claims, the_floor_is_a_bound)
{
    gg_run_record run = claimed(40, 0.4);
    SET(run.kernel, "split");
    for (int i = 0; i < run.count; i++)
        run.cases[i].outputs[0].rmse = run.cases[i].outputs[0].floor_rmse * (i % 2 ? 1.02 : 1.001);
    expect(&run, GG_CLAIM_FLOOR, "dq", "normal", GG_CLAIM_REPRODUCED);
    expect(&run, GG_CLAIM_FLOOR, "dq", "shifted", GG_CLAIM_REFUTED);
    gg_run_free(&run);
}

Test(claims, bits_need_all_cases_and_one_refutes)
{
    gg_run_record run = claimed(599, 0.4);
    expect(&run, GG_CLAIM_BITS, "", "", GG_CLAIM_UNMEASURED);
    gg_run_free(&run);
    run = claimed(600, 0.4);
    expect(&run, GG_CLAIM_BITS, "", "", GG_CLAIM_REPRODUCED);
    run.cases[3].runs = 4; /* not the claimed five */
    expect(&run, GG_CLAIM_BITS, "", "", GG_CLAIM_UNMEASURED);
    run.cases[3].outputs[1].repeat_differing = 1;
    expect(&run, GG_CLAIM_BITS, "", "", GG_CLAIM_REFUTED);
    run.cases[3].outputs[1].repeat_differing = 0;
    run.cases[3].runs = 5;
    SET(run.device, "host");
    expect(&run, GG_CLAIM_BITS, "", "", GG_CLAIM_UNMEASURED);
    gg_run_free(&run);
}

Test(claims, lowest_needs_the_others)
{
    gg_run_record run = claimed(20, 0.4), other = claimed(20, 0.4);
    SET(other.kernel, "naive");
    expect(&run, GG_CLAIM_LOWEST, "", "", GG_CLAIM_UNMEASURED);
    for (int i = 0; i < 20; i++) other.cases[i].outputs[0].rmse *= 1.01 + 0.001 * (i % 3);
    gg_claim_row row = found(&run, &other, 1, GG_CLAIM_LOWEST, "dq", "normal");
    cr_expect_eq(row.verdict, GG_CLAIM_REPRODUCED, "%s", row.interval);
    cr_expect_str_eq(row.against, "naive");
    row = found(&other, &run, 1, GG_CLAIM_LOWEST, "", "");
    cr_expect_eq(row.verdict, GG_CLAIM_UNMEASURED, "the claim is about turbo");
    for (int i = 0; i < 20; i++) other.cases[i].outputs[0].rmse /= 1.05;
    row = found(&run, &other, 1, GG_CLAIM_LOWEST, "dq", "normal");
    cr_expect_eq(row.verdict, GG_CLAIM_REFUTED, "%s", row.interval);
    gg_summary summary;
    gg_claims claims;
    cr_assert_eq(gg_summary_make(&run, &summary), GG_OK);
    SET(other.operator_name, "linear");
    cr_expect_eq(gg_claims_make(&run, &summary, &other, 1, &claims), GG_BAD_INPUT);
    cr_expect_eq(claims.count, 0);
    gg_summary_free(&summary);
    gg_run_free(&run);
    gg_run_free(&other);
}

Test(claims, a_check_shows_its_claim_where_it_is_made)
{
    gg_run_record run = claimed(5, 0.4);
    expect(&run, GG_CLAIM_CHECK, "", "", GG_CLAIM_UNMEASURED);
    for (int i = 0; i < 4; i++) run.cases[i].outputs[0].checks[2] = make_check("slice", 0, 0);
    expect(&run, GG_CLAIM_CHECK, "", "", GG_CLAIM_UNMEASURED); /* four show little */
    gg_check *check = &run.cases[4].outputs[0].checks[2];
    *check = make_check("slice", 0, 0);
    expect(&run, GG_CLAIM_CHECK, "", "", GG_CLAIM_REPRODUCED);
    check->verdict = GG_NOT_VERIFIED;
    expect(&run, GG_CLAIM_CHECK, "", "", GG_CLAIM_UNMEASURED);
    *check = make_check("slice", 3, 0);
    expect(&run, GG_CLAIM_CHECK, "", "", GG_CLAIM_REFUTED);
    gg_run_free(&run);
}

Test(claims, a_family_a_case_costs_no_square)
{
    gg_run_record run = claimed(20000, 0.4);
    for (int i = 0; i < run.count; i++) SET(run.cases[i].family, "f%d", i / 5);
    gg_claims claims = made(&run, NULL, 0);
    cr_expect_lt(claims.count, 100);
    gg_claims_free(&claims);
    expect(&run, GG_CLAIM_SAVED, "dq", "", GG_CLAIM_REPRODUCED);
    gg_run_free(&run);
}

Test(claims, an_operator_may_have_none)
{
    gg_run_record run = claimed(4, 0.4);
    SET(run.operator_name, "linear");
    gg_claims claims = made(&run, NULL, 0);
    cr_expect_eq(claims.count, 0);
    SET(run.operator_name, "nobody's");
    claims = made(&run, NULL, 0);
    cr_expect_eq(claims.count, 0);
    gg_run_free(&run);
}

Test(claims, the_page_has_them_and_text_stays_text)
{
    gg_run_record run = claimed(40, 0.02);
    size_t size;
    for (int i = 1; i < 40; i += 2) SET(run.cases[i].family, "<i>shift");
    const char *path = temporary("page.html");
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(gg_report_html(&run, file), GG_OK);
    fclose(file);
    char *text = read_all(path, &size);
    static const char *const wanted[] = {
        "<h2>Claims</h2>", "TurboPairFormer", "reproduced in 1 of 2 families",
        "not measured here", "<span class=\"failed\">\xe2\x9c\x97 +2.0 %", "&lt;i&gt;shift"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        cr_expect_not_null(strstr(text, wanted[i]), "no %s", wanted[i]);
    cr_expect_null(strstr(text, "<i>shift"));
    free(text);
    gg_run_free(&run);
}
