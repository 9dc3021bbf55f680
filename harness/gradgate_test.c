/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/gradgate.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/registry.h"

static gg_settings small(void)
{
    return (gg_settings){.bytes = sizeof(gg_settings), .suite = "linear60",
                         .cases = "normal-M1-*", .repeats = 2, .certify = -1};
}

Test(gradgate, judges_a_right_kernel)
{
    gg_evidence *evidence;
    gg_settings settings = small();
    cr_assert_eq(gg_judge_kernel(&gg_linear_plain_twin, &settings, &evidence), GG_EXIT_PASSED);
    cr_assert_eq(gg_evidence_verdict(evidence), GG_EXIT_PASSED);
    cr_assert_eq(gg_evidence_cases(evidence), 4);
    gg_case_result c = {.bytes = sizeof c};
    gg_output_result o = {.bytes = sizeof o};
    cr_assert_eq(gg_evidence_case(evidence, 0, &c), GG_EXIT_PASSED);
    cr_assert_str_eq(c.id, "normal-M1-N3-K15-s000");
    cr_assert_eq(c.runs, 2);
    cr_assert_eq(c.outputs, 3);
    cr_assert_eq(gg_evidence_output(evidence, 0, 2, &o), GG_EXIT_PASSED);
    cr_assert_str_eq(o.name, "dw");
    cr_assert_eq(o.count, 45);
    cr_assert_eq(o.repeat_differing, 0);
    cr_assert(o.rmse >= o.floor_rmse * 0.99 && o.rmse <= o.floor_rmse * 1.05);
    gg_evidence_free(evidence);
}

static int doubled(const gg_call *call)
{
    int code = gg_linear_plain_twin.forward(call);
    uint16_t *y = call->outputs[0]->data;
    if (call->outputs[0]->dtype.bits == 16) y[0] = (uint16_t)(y[0] + 0x80); /* times 2 */
    return code;
}

Test(gradgate, fails_a_wrong_kernel)
{
    gg_evidence *evidence;
    gg_settings settings = small();
    gg_kernel wrong = gg_linear_plain_twin;
    wrong.forward = doubled;
    cr_assert_eq(gg_judge_kernel(&wrong, &settings, &evidence), GG_EXIT_FAILED);
    gg_case_result c = {.bytes = sizeof c};
    cr_assert_eq(gg_evidence_case(evidence, 0, &c), GG_EXIT_PASSED);
    cr_assert_eq(c.verdict, GG_EXIT_FAILED);
    cr_assert(strstr(c.reason, "y") != NULL);
    gg_evidence_free(evidence);
}

Test(gradgate, one_run_shows_no_determinism)
{
    gg_evidence *evidence;
    gg_settings settings = small();
    settings.repeats = 1;
    cr_assert_eq(gg_judge_kernel(&gg_linear_plain_twin, &settings, &evidence),
                 GG_EXIT_NOT_VERIFIED);
    cr_assert_neq(evidence, NULL);
    gg_evidence_free(evidence);
}

Test(gradgate, stored_evidence_says_the_same)
{
    gg_evidence *evidence, *again;
    gg_settings settings = small();
    char path[] = "/tmp/gradgate-api-XXXXXX";
    close(mkstemp(path));
    gg_judge_kernel(&gg_linear_plain_twin, &settings, &evidence);
    cr_assert_eq(gg_evidence_write(evidence, "json", path), GG_EXIT_PASSED);
    cr_assert_eq(gg_evidence_read(path, &again), GG_EXIT_PASSED);
    gg_output_result a = {.bytes = sizeof a}, b = {.bytes = sizeof b};
    gg_evidence_output(evidence, 3, 1, &a);
    gg_evidence_output(again, 3, 1, &b);
    cr_assert_eq(a.digest, b.digest);
    cr_assert_eq(a.rmse, b.rmse);
    /* the same run is no baseline of itself */
    cr_assert_eq(gg_evidence_gate(again, evidence, 1, NULL), GG_EXIT_NOT_VERIFIED);
    cr_assert_eq(gg_evidence_write(evidence, "xml", path), GG_EXIT_USAGE);
    cr_assert(strstr(gg_error(), "'xml'") != NULL);
    cr_assert_eq(gg_evidence_write(evidence, "html", "/nonexistent/r.html"), GG_EXIT_USAGE);
    gg_evidence_free(evidence);
    gg_evidence_free(again);
    unlink(path);
}

Test(gradgate, refuses_bad_arguments)
{
    gg_evidence *evidence = (gg_evidence *)&evidence;
    gg_settings settings = small();
    gg_kernel other = gg_linear_plain_twin;
    cr_assert_eq(gg_judge_kernel(NULL, &settings, &evidence), GG_EXIT_USAGE);
    cr_assert_eq(evidence, NULL);
    cr_assert_eq(gg_judge_kernel(&other, NULL, &evidence), GG_EXIT_USAGE);
    cr_assert_eq(gg_judge_kernel(&other, &settings, NULL), GG_EXIT_USAGE);
    settings.bytes = 3;
    cr_assert_eq(gg_judge_kernel(&other, &settings, &evidence), GG_EXIT_USAGE);
    settings = small();
    settings.repeats = -1;
    cr_assert_eq(gg_judge_kernel(&other, &settings, &evidence), GG_EXIT_USAGE);
    cr_assert(strstr(gg_error(), "repeats") != NULL);
    settings = small();
    settings.suite = "nosuch";
    cr_assert_eq(gg_judge_kernel(&other, &settings, &evidence), GG_EXIT_USAGE);
    settings = small();
    other.forward = NULL;
    cr_assert_eq(gg_judge_kernel(&other, &settings, &evidence), GG_EXIT_USAGE);
    other = gg_linear_plain_twin;
    other.abi_version++;
    cr_assert_eq(gg_judge_kernel(&other, &settings, &evidence), GG_EXIT_USAGE);
    other = gg_linear_plain_twin;
    other.operator_name = "nosuch";
    cr_assert_eq(gg_judge_kernel(&other, &settings, &evidence), GG_EXIT_USAGE);
    other = gg_linear_plain_twin;
    settings.device = "gpu";
    cr_assert_eq(gg_judge_kernel(&other, &settings, &evidence), GG_EXIT_USAGE);
    cr_assert_eq(gg_evidence_read("/nonexistent", &evidence), GG_EXIT_USAGE);
    cr_assert_eq(gg_evidence_verdict(NULL), GG_EXIT_USAGE);
    cr_assert_eq(gg_evidence_cases(NULL), 0);
    cr_assert_eq(gg_evidence_case(NULL, 0, NULL), GG_EXIT_USAGE);
    cr_assert_eq(gg_evidence_output(NULL, 0, 0, NULL), GG_EXIT_USAGE);
    gg_evidence_free(NULL);
}

/* A program built against a shorter struct gets what it knows, and not a byte more. */
Test(gradgate, an_older_program_is_served)
{
    gg_evidence *evidence;
    gg_settings settings = small();
    union {
        gg_case_result result;
        unsigned char byte[sizeof(gg_case_result)];
    } old;
    memset(&old, 0xaa, sizeof old);
    old.result.bytes = offsetof(gg_case_result, reason);
    settings.bytes = offsetof(gg_settings, threads);
    cr_assert_eq(gg_judge_kernel(&gg_linear_plain_twin, &settings, &evidence), GG_EXIT_PASSED);
    cr_assert_eq(gg_evidence_case(evidence, 0, &old.result), GG_EXIT_PASSED);
    cr_assert_eq(old.result.bytes, offsetof(gg_case_result, reason));
    cr_assert_str_eq(old.result.family, "normal");
    for (size_t i = offsetof(gg_case_result, reason); i < sizeof old.byte; i++)
        cr_assert_eq(old.byte[i], 0xaa);
    gg_evidence_free(evidence);
}
