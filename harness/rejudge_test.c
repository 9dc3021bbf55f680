/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/rejudge.h"
#include "kernels/registry.h"
#include "reports/fixture_test.h"

/* A run of the first kernel that is built in, with its own outputs and limits. */
static gg_run_record run_of(const gg_kernel *kernel, int count)
{
    gg_run_record run = make_run(count);
    SET(run.operator_name, "%s", kernel->operator_name);
    SET(run.kernel, "%s", kernel->name);
    SET(run.device, "%s", kernel->device == kDLCPU ? "host" : "cuda");
    SET(run.limits[0].output, "%s", kernel->outputs[0]);
    for (int i = 0; i < count; i++) {
        gg_output_record *o = &run.cases[i].outputs[0];
        SET(o->name, "%s", kernel->outputs[0]);
        o->gauge_max = o->gauge_p99 = 0.01;
        o->rmse = o->floor_rmse;
        o->certificate = 1e-12;
        run.cases[i].output_count = 1;
    }
    return run;
}

static gg_rejudgement outcome;

Test(rejudge, honest_run_stays_passed)
{
    gg_run_record run = run_of(gg_kernels[0], 4);
    cr_assert_eq(gg_rejudge(&run, &outcome), GG_OK, "%s", gg_message());
    cr_assert_eq(outcome.is[GG_PASSED], 4, "%s", run.cases[0].reason);
    cr_assert_eq(outcome.changed, 0);
    cr_assert_eq(run.limits[0].gauge_p99, gg_kernels[0]->limits[0].gauge_p99);
    char path[] = "/tmp/gradgate-rejudge-XXXXXX";
    close(mkstemp(path));
    cr_assert_eq(gg_report_write(&run, path), GG_OK, "%s", gg_message());
    unlink(path);
    gg_run_free(&run);
}

Test(rejudge, what_exceeds_the_limits_of_now_fails)
{
    gg_run_record run = run_of(gg_kernels[0], 4);
    run.cases[2].outputs[0].gauge_max = 2 * gg_kernels[0]->limits[0].gauge_max;
    cr_assert_eq(gg_rejudge(&run, &outcome), GG_OK);
    cr_assert_eq(outcome.was[GG_PASSED], 4);
    cr_assert_eq(outcome.is[GG_FAILED], 1);
    cr_assert_eq(outcome.changed, 1);
    cr_assert_str_eq(outcome.first, run.cases[2].id);
    cr_assert_not_null(strstr(run.cases[2].reason, "gauge_max"));
    gg_run_free(&run);
}

Test(rejudge, what_the_old_limits_failed_may_pass)
{
    gg_run_record run = run_of(gg_kernels[0], 1);
    gg_check *check = &run.cases[0].outputs[0].checks[1];
    check->verdict = run.cases[0].verdict = GG_FAILED;
    SET(run.cases[0].reason, "old");
    cr_assert_eq(gg_rejudge(&run, &outcome), GG_OK);
    cr_assert_eq(run.cases[0].verdict, GG_PASSED, "%s", run.cases[0].reason);
    cr_assert_str_eq(run.cases[0].reason, "");
    gg_run_free(&run);
}

Test(rejudge, checks_of_the_run_itself_keep_their_outcome)
{
    gg_run_record run = run_of(gg_kernels[0], 1);
    gg_output_record *o = &run.cases[0].outputs[0];
    o->checks[2] = make_check("guard", 1, 0);
    run.cases[0].verdict = GG_FAILED;
    cr_assert_eq(gg_rejudge(&run, &outcome), GG_OK);
    cr_assert_eq(run.cases[0].verdict, GG_FAILED);
    cr_assert_eq(strcmp(o->checks[o->check_count - 1].name, "guard"), 0);
    gg_run_free(&run);
}

Test(rejudge, not_measured_stays_not_verified_and_nan_fails)
{
    gg_run_record run = run_of(gg_kernels[0], 2);
    run.cases[0].output_count = 0;
    run.cases[0].verdict = GG_NOT_VERIFIED;
    run.cases[1].outputs[0].gauge_max = (double)NAN;
    cr_assert_eq(gg_rejudge(&run, &outcome), GG_OK);
    cr_assert_eq(run.cases[0].verdict, GG_NOT_VERIFIED);
    cr_assert_eq(run.cases[1].verdict, GG_FAILED);
    gg_run_free(&run);
}

Test(rejudge, unknown_kernel_or_output_is_refused)
{
    gg_run_record run = run_of(gg_kernels[0], 1);
    SET(run.cases[0].outputs[0].name, "nosuch");
    cr_assert_eq(gg_rejudge(&run, &outcome), GG_BAD_INPUT);
    SET(run.kernel, "nosuch");
    cr_assert_eq(gg_rejudge(&run, &outcome), GG_BAD_INPUT);
    gg_run_free(&run);
}
