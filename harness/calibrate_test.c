/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/calibrate.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/mutant.h"

/* A run of one case with one BF16 output "dq" of that RMSE over its floor. */
static gg_run_record make_run(const char *kernel, double ratio)
{
    gg_run_record run = {.count = 1, .suite_count = 1, .shard = 1, .shards = 1, .repeats = 5};
    snprintf(run.operator_name, sizeof run.operator_name, "triangle_attention");
    snprintf(run.kernel, sizeof run.kernel, "%s", kernel);
    snprintf(run.device, sizeof run.device, "host");
    snprintf(run.kernel_summary, sizeof run.kernel_summary, "as planted");
    run.cases = calloc(1, sizeof *run.cases);
    cr_assert_not_null(run.cases);
    gg_case_record *c = &run.cases[0];
    *c = (gg_case_record){.runs = 5, .output_count = 1, .verdict = GG_PASSED};
    snprintf(c->id, sizeof c->id, "normal-N24");
    snprintf(c->family, sizeof c->family, "normal");
    c->outputs[0] = (gg_output_record){.name = "dq", .dtype = GG_BF16, .ndim = 1,
        .shape = {2000}, .count = 2000, .rmse = ratio * 1e-4, .floor_rmse = 1e-4,
        .gauge_max = 0.2, .gauge_p99 = 0.1, .pattern_first = -1, .repeat_first = -1,
        .ablated_rmse = NAN};
    return run;
}

static void add(gg_calibration *c, const char *kernel, double ratio)
{
    gg_run_record run = make_run(kernel, ratio);
    cr_assert_eq(gg_calibration_add(c, &run), GG_OK);
    gg_run_free(&run);
}

static const gg_limit_row *row_of(const gg_calibration *c, const char *kernel,
                                  const char *figure)
{
    for (int i = 0; i < c->limit_count; i++)
        if (strcmp(c->limits[i].kernel, kernel) == 0 &&
            strcmp(c->limits[i].figure, figure) == 0)
            return &c->limits[i];
    cr_assert_fail("no %s of %s", figure, kernel);
    return NULL;
}

Test(calibrate, bound_of_a_rate)
{
    cr_expect_float_eq(gg_rate_bound(0, 1000), 1 - pow(0.05, 1e-3), 1e-12);
    cr_expect_float_eq(gg_rate_bound(1, 1000), 0.0047353, 1e-6); /* Clopper and Pearson */
    cr_expect_eq(gg_rate_bound(0, 0), 1);
    cr_expect_eq(gg_rate_bound(3, 3), 1);
    cr_expect_gt(gg_rate_bound(2, 3), 0.98);
}

Test(calibrate, largest_figure_and_its_place)
{
    gg_calibration c = {.limit_count = 0};
    add(&c, "turbo", 1.5);
    add(&c, "turbo", 1.7);
    add(&c, "turbo", 1.6);
    cr_expect_float_eq(row_of(&c, "turbo", "rmse")->largest, 1.7, 1e-12);
    cr_expect_str_eq(row_of(&c, "turbo", "rmse")->id, "normal-N24");
    cr_expect_eq(c.honest[0].verdicts[GG_PASSED], 3);
    cr_expect_eq(gg_calibration_verdict(&c), GG_PASSED);
    gg_calibration_free(&c);
}

/* A right kernel beyond a limit of today is a false alarm, whatever its report says. */
Test(calibrate, honest_beyond_the_limit_fails)
{
    gg_calibration c = {.limit_count = 0};
    add(&c, "turbo", 1.5);
    gg_run_record again = make_run("turbo", 1.5);
    cr_expect_eq(gg_calibration_add(&c, &again), GG_BAD_INPUT); /* no evidence twice */
    gg_run_free(&again);
    add(&c, "turbo", 40);
    cr_expect_eq(c.honest[0].verdicts[GG_FAILED], 1);
    cr_expect_str_eq(c.honest[0].first, "normal-N24");
    cr_expect_eq(gg_calibration_verdict(&c), GG_FAILED);
    gg_calibration_free(&c);
    add(&c, "turbo", NAN);
    cr_expect(isnan(row_of(&c, "turbo", "rmse")->largest));
    cr_expect_eq(gg_calibration_verdict(&c), GG_FAILED);
    gg_calibration_free(&c);
    cr_expect_eq(gg_calibration_verdict(&c), GG_NOT_VERIFIED);
}

/* A limit keeps the fault that it rejects by the least; one that rejects none is told. */
Test(calibrate, faults_and_limits)
{
    gg_calibration c = {.limit_count = 0};
    add(&c, "turbo", 1.5);
    add(&c, "mutant:s_bf16", 9);
    add(&c, "mutant:dq_bf16", 5);
    add(&c, "mutant:s_tf32", 1.6);
    cr_expect_eq(c.mutants, 3);
    cr_expect_float_eq(row_of(&c, "turbo", "rmse")->largest, 1.5, 1e-12);
    cr_expect_str_eq(row_of(&c, "turbo", "rmse")->mutant, "s_bf16");
    cr_expect_eq(c.unseen_count, 1);
    cr_expect_str_eq(c.unseen[0].mutant, "s_tf32");
    cr_expect(isnan(row_of(&c, "turbo", "gauge_max")->mutant_figure));
    cr_expect_eq(gg_calibration_verdict(&c), GG_NOT_VERIFIED);
    gg_calibration_share(&c); /* dq_bf16 is a fault of recompute, whose limit is equal */
    cr_expect_str_eq(row_of(&c, "recompute", "rmse")->mutant, "dq_bf16");
    gg_calibration_free(&c);
}

Test(calibrate, unknown_names_are_refused)
{
    gg_calibration c = {.limit_count = 0};
    gg_run_record run = make_run("mutant:none_such", 1);
    cr_expect_eq(gg_calibration_add(&c, &run), GG_BAD_INPUT);
    cr_expect_not_null(strstr(gg_message(), "none_such"));
    gg_run_free(&run);
    run = make_run("none_such", 1);
    cr_expect_eq(gg_calibration_add(&c, &run), GG_BAD_INPUT);
    gg_run_free(&run);
    gg_calibration_free(&c);
}
