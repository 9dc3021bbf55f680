/* SPDX-License-Identifier: Apache-2.0
 * The certificate end to end: a right truth is judged by, and a planted one, off by what
 * one FP32 rounding of each term loses (2^-24 of the absolute sum of which the allowance is
 * 2^-8), turns the case "not verified", however right or wrong the kernel looks. */
#include <criterion/criterion.h>
#include <math.h>

#include "cases/operator.h"
#include "harness/certify.h"
#include "kernels/registry.h"

TestSuite(certify, .timeout = 60);

static double planted_error; /* of the truth, in allowances */

static gg_status planted(const gg_problem *problem, const gg_truth *truth, int threads)
{
    const gg_operator *op = gg_operator_find("triangle_attention");
    gg_status status = op->reference.host(problem, truth, threads);
    for (int o = 0; op->outputs[o].name != NULL && status == GG_OK; o++) {
        gg_tensor t = gg_tensor_make(op, &op->outputs[o], problem->extent, GG_F64);
        int64_t count = gg_tensor_count(&t);
        for (int64_t i = 0; truth->value[o] && i < count; i++)
            truth->value[o][i] += (i % 2 ? planted_error : -planted_error) *
                                  truth->allowance[o][i];
    }
    return status;
}

/* Case `id` of smoke600 through a kernel, by a truth with that error. */
static gg_case_record run(const char *kernel, const char *id, double error)
{
    gg_backend backend;
    gg_suite suite;
    gg_case_record record;
    cr_assert_eq(gg_backend_open("host", 2, &backend), GG_OK);
    cr_assert_eq(gg_suite_load("smoke600", &suite), GG_OK);
    gg_operator op = *suite.op;
    if (error != 0) op.reference.host = planted;
    planted_error = error;
    suite.op = &op;
    gg_plan plan = {.backend = &backend, .suite = &suite, .repeats = 2, .ablated = -1,
                    .kernel = gg_kernel_find("triangle_attention", kernel, kDLCPU)};
    cr_assert_not_null(plan.kernel);
    for (int f = 0; plan.kernel->features && plan.kernel->features[f].name; f++)
        plan.features |= (uint64_t)plan.kernel->features[f].on << f;
    plan.certify = suite.count;
    int index = 0;
    while (index < suite.count && strcmp(suite.cases[index].id, id) != 0) index++;
    cr_assert_lt(index, suite.count);
    gg_arena arena = {.backend = &backend};
    gg_case_run(&plan, index, &arena, &record);
    gg_arena_free(&arena);
    gg_suite_free(&suite);
    return record;
}

static const char one[] = "normal-N40-D16-s000";

Test(certify, right_truth_is_far_closer_than_the_kernel)
{
    static const char *const kernels[] = {"recompute", "split"};
    for (int k = 0; k < 2; k++) {
        gg_case_record r = run(kernels[k], one, 0);
        cr_assert_eq(r.verdict, GG_PASSED, "%s", r.reason);
        for (int o = 0; o < r.output_count; o++) {
            cr_assert_geq(r.outputs[o].certified, 20);
            cr_assert_lt(r.outputs[o].certificate, 1e-4 * r.outputs[o].certified_error);
            cr_assert_gt(r.outputs[o].certificate_at + 1, 0);
        }
    }
}

Test(certify, truth_of_fp32_accumulation_is_refused)
{
    gg_case_record r = run("recompute", one, 0x1p-16);
    cr_assert_eq(r.verdict, GG_NOT_VERIFIED, "%s", r.reason);
    cr_assert_not_null(strstr(r.reason, "no truth to judge by"), "%s", r.reason);
    r = run("recompute", one, 100); /* far beyond every limit, and not the kernel's fault */
    cr_assert_eq(r.verdict, GG_NOT_VERIFIED, "%s", r.reason);
    for (int o = 0; o < r.output_count; o++)
        for (int c = 0; c < r.outputs[o].check_count; c++)
            cr_assert_neq(r.outputs[o].checks[c].verdict, GG_FAILED);
}

/* dbias in FP32, of a kernel that errs by some 1e-5 of the gauge. */
Test(certify, better_kernel_needs_a_better_truth)
{
    cr_assert_eq(run("recompute", one, 3e-7).verdict, GG_PASSED);
    gg_case_record r = run("split", one, 3e-7);
    cr_assert_eq(r.verdict, GG_NOT_VERIFIED, "%s", r.reason);
    cr_assert_not_null(strstr(r.reason, "dbias certificate"), "%s", r.reason);
}

/* Every element of the choice is there, none comes twice, and the seed changes them. */
Test(certify, elements_are_told)
{
    gg_case_record a = run("recompute", one, 0), b = run("recompute", one, 0);
    gg_case_record c = run("recompute", "normal-N40-D16-s001", 0);
    for (int o = 0; o < a.output_count; o++) {
        const char *text = a.outputs[o].certified_elements;
        long last[64];
        int count = 0;
        cr_assert_str_eq(text, b.outputs[o].certified_elements);
        cr_assert_str_neq(text, c.outputs[o].certified_elements);
        for (char *end; *text && count < 64; text = *end == ',' ? end + 1 : end, count++) {
            last[count] = strtol(text, &end, 10);
            cr_assert(end > text && last[count] >= 0 && last[count] < a.outputs[o].count);
            for (int k = 0; k < count; k++) cr_assert_neq(last[k], last[count]);
        }
        cr_assert_eq(count, a.outputs[o].certified);
    }
}
