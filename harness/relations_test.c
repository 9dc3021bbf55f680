/* SPDX-License-Identifier: Apache-2.0
 * Which relations are checked of which kernel, and that each can fail: on the host, with
 * kernels that are right but for the one thing. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/plan.h"
#include "kernels/registry.h"

TestSuite(relations, .timeout = 120);

#define PLAIN (&gg_linear_plain_twin)

/* The first case of the operator's self-test, with balances of a test's own. */
static gg_case_record *balanced(const gg_kernel *kernel, const gg_balance *balances)
{
    gg_suite suite;
    gg_backend backend;
    gg_case_record *record = malloc(sizeof *record);
    cr_assert_not_null(record);
    cr_assert_eq(gg_backend_open("host", 1, &backend), GG_OK);
    cr_assert_eq(gg_suite_load("selftest_linear", &suite), GG_OK, "%s", gg_message());
    gg_operator op = *suite.op;
    op.balances = balances;
    suite.op = &op;
    gg_plan plan = {.backend = &backend, .suite = &suite, .kernel = kernel, .ablated = -1,
                    .repeats = 2, .certify = -1};
    gg_arena arena = {.backend = &backend};
    gg_case_run(&plan, 0, &arena, record);
    gg_arena_free(&arena);
    gg_suite_free(&suite);
    cr_assert_gt(record->output_count, 0, "%s", record->reason);
    return record;
}

static gg_case_record *measured(const gg_kernel *kernel) { return balanced(kernel, NULL); }

/* Its worst verdict over the outputs, or -1: no output has it. */
static int verdict_of(const gg_case_record *record, const char *check)
{
    int verdict = -1;
    for (int o = 0; o < record->output_count; o++)
        for (int c = 0; c < record->outputs[o].check_count; c++) {
            const gg_check *is = &record->outputs[o].checks[c];
            if (strcmp(is->name, check) != 0) continue;
            verdict = verdict < 0 ? (int)is->verdict
                                  : (int)gg_verdict_worse((gg_verdict)verdict, is->verdict);
        }
    return verdict;
}

/* The twin, which is right, under a promise; with strides, which it does not read. */
static const char *takes_all(const gg_call *call)
{
    (void)call;
    return NULL;
}

Test(relations, all_are_checked_of_a_kernel_that_promises_bits)
{
    gg_case_record *r = measured(PLAIN);
    static const char *const checks[] = {"wanted", "views", "slice", "order", "fresh"};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        cr_expect_eq(verdict_of(r, checks[i]), (int)GG_PASSED, "%s", checks[i]);
    free(r);
}

Test(relations, a_kernel_that_promises_no_bits_must_read_views_rightly)
{
    gg_kernel kernel = *PLAIN;
    kernel.repeat = GG_REPEAT_NOT_GUARANTEED;
    gg_case_record *r = measured(&kernel);
    static const char *const checks[] = {"wanted", "views", "order", "fresh"};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        cr_expect_eq(verdict_of(r, checks[i]), (int)GG_PASSED, "%s", checks[i]);
    cr_expect_eq(verdict_of(r, "slice"), -1, "bits are promised to nobody");
    free(r);
    kernel.supports = takes_all;
    r = measured(&kernel);
    cr_expect_eq(verdict_of(r, "gauge_max"), (int)GG_PASSED);
    cr_expect_eq(verdict_of(r, "views"), (int)GG_FAILED);
    cr_expect_eq(r->verdict, GG_FAILED);
    free(r);
}

/* dw is not made unless dx is wanted. */
static int needs_dx(const gg_call *call)
{
    DLTensor *outputs[3] = {call->outputs[0], call->outputs[1], call->outputs[2]};
    gg_call less = *call;
    less.outputs = outputs;
    if (outputs[1] == NULL) outputs[2] = NULL;
    return PLAIN->backward(&less);
}

Test(relations, a_gradient_that_another_is_needed_for_shows_without_a_promise_too)
{
    for (int promise = GG_REPEAT_NOT_GUARANTEED; promise <= GG_REPEAT_RUN_TO_RUN; promise++) {
        gg_kernel kernel = *PLAIN;
        kernel.repeat = (gg_repeat)promise;
        kernel.backward = needs_dx;
        gg_case_record *r = measured(&kernel);
        cr_expect_eq(verdict_of(r, "repeat"), (int)GG_PASSED);
        cr_expect_eq(verdict_of(r, "wanted"), (int)GG_FAILED);
        free(r);
    }
}

/* y summed over n is x times w summed over n: y [M,N], x [M,K], w [N,K]. */
static gg_status sums_of_y(const gg_problem *p, double *sums)
{
    const gg_tensor *x = &p->input[0], *w = &p->input[1];
    const int64_t M = x->shape[0], K = x->shape[1], N = w->shape[0];
    for (int64_t m = 0; m < M; m++) {
        sums[m] = 0;
        for (int64_t n = 0; n < N; n++)
            for (int64_t k = 0; k < K; k++)
                sums[m] += gg_value_at(x->data, x->dtype, m * K + k) *
                           gg_value_at(w->data, w->dtype, n * K + k);
    }
    return GG_OK;
}

static gg_status last_sum_off(const gg_problem *p, double *sums)
{
    gg_status status = sums_of_y(p, sums);
    sums[p->input[0].shape[0] - 1] += 1;
    return status;
}

static gg_status no_number(const gg_problem *p, double *sums)
{
    gg_status status = sums_of_y(p, sums);
    sums[0] = (double)NAN;
    return status;
}

static gg_status no_memory(const gg_problem *p, double *sums)
{
    (void)p, (void)sums;
    return gg_fail(GG_NO_MEMORY, "no memory for sums");
}

Test(relations, a_sum_that_the_inputs_decide_is_held_against_them)
{
    static const struct {
        gg_status (*sums)(const gg_problem *, double *);
        gg_verdict verdict;
    } tries[] = {{sums_of_y, GG_PASSED}, {last_sum_off, GG_FAILED}, {no_number, GG_FAILED}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        const gg_balance balances[] = {{"y_sums", "", "y", 'N', tries[i].sums}, {0}};
        gg_case_record *r = balanced(PLAIN, balances);
        cr_expect_eq(verdict_of(r, "y_sums"), (int)tries[i].verdict, "try %zu", i);
        cr_expect_eq(verdict_of(r, "gauge_max"), (int)GG_PASSED);
        cr_expect_eq(r->verdict, tries[i].verdict);
        free(r);
    }
}

Test(relations, sums_that_cannot_be_had_are_no_pass)
{
    const gg_balance balances[] = {{"y_sums", "", "y", 'N', no_memory}, {0}};
    gg_suite suite;
    gg_backend backend;
    gg_case_record *r = malloc(sizeof *r);
    cr_assert_not_null(r);
    cr_assert_eq(gg_backend_open("host", 1, &backend), GG_OK);
    cr_assert_eq(gg_suite_load("selftest_linear", &suite), GG_OK);
    gg_operator op = *suite.op;
    op.balances = balances;
    suite.op = &op;
    gg_plan plan = {.backend = &backend, .suite = &suite, .kernel = PLAIN, .ablated = -1,
                    .repeats = 2, .certify = -1};
    gg_arena arena = {.backend = &backend};
    gg_case_run(&plan, 0, &arena, r);
    cr_expect_eq(r->verdict, GG_NOT_VERIFIED);
    cr_expect_str_eq(r->reason, "no memory for sums");
    gg_arena_free(&arena);
    gg_suite_free(&suite);
    free(r);
}
