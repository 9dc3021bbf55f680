/* SPDX-License-Identifier: Apache-2.0
 * Which relations are checked of which kernel, and that each can fail: on the host, with
 * kernels that are right but for the one thing. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "harness/plan.h"
#include "kernels/registry.h"

TestSuite(relations, .timeout = 120);

#define PLAIN (&gg_linear_plain_twin)

/* The first case of the operator's self-test. */
static gg_case_record *measured(const gg_kernel *kernel)
{
    gg_suite suite;
    gg_backend backend;
    gg_case_record *record = malloc(sizeof *record);
    cr_assert_not_null(record);
    cr_assert_eq(gg_backend_open("host", 1, &backend), GG_OK);
    cr_assert_eq(gg_suite_load("selftest_linear", &suite), GG_OK, "%s", gg_message());
    gg_plan plan = {.backend = &backend, .suite = &suite, .kernel = kernel, .ablated = -1,
                    .repeats = 2, .certify = -1};
    gg_arena arena = {.backend = &backend};
    gg_case_run(&plan, 0, &arena, record);
    gg_arena_free(&arena);
    gg_suite_free(&suite);
    cr_assert_gt(record->output_count, 0, "%s", record->reason);
    return record;
}

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
