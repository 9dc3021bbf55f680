/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "reference/triangle_attention_fixture.h"

TestSuite(triangle_attention_problem, .timeout = 20);

static void assert_refused(const fixture *f, const char *part)
{
    gg_status status = gg_triangle_attention_host(&f->problem, &f->truth, 1);
    cr_assert_eq(status, GG_BAD_INPUT, "accepted: %s", part);
    cr_assert_neq(strstr(gg_message(), part), NULL, "'%s' lacks '%s'", gg_message(),
                  part);
    cr_assert_eq(strncmp(gg_message(), "triangle_attention: ", 20), 0);
}

Test(triangle_attention_problem, refusals_name_the_tensor_and_what_was_expected)
{
    shape s = {1, 3, 2, 6, 4, LENGTHS, GG_F32, 1.0};
    fixture good = fixture_open(&s, 3), f = good;

    f.problem.input[GG_TA_K].dtype = GG_F32;
    assert_refused(&f, "k is f32 [1,3,2,6,4], expected bf16 [1,3,2,6,4]");
    f = good;
    f.problem.input[GG_TA_V].shape[4] = 5;
    assert_refused(&f, "v is bf16 [1,3,2,6,5], expected bf16 [1,3,2,6,4]");
    f = good;
    f.problem.input[GG_TA_BIAS].ndim = 3;
    assert_refused(&f, "bias is f32 [1,2,6], expected bf16 or f32 [1,2,6,6]");
    f = good;
    f.problem.input[GG_TA_BIAS].dtype = GG_F64;
    assert_refused(&f, "bias is f64");
    f = good;
    f.problem.input[GG_TA_Q].data = NULL;
    assert_refused(&f, "q is missing");
    f = good;
    f.problem.input[GG_TA_DOUT].data = NULL;
    assert_refused(&f, "dout is missing");
    f = good;
    f.problem.extent[GG_TA_N] = 0;
    assert_refused(&f, "N = 0");
    f = good;
    f.problem.extent[GG_TA_R] = INT64_MAX;
    assert_refused(&f, "beyond what can be addressed");
    f = good;
    f.problem.input[GG_TA_MASK] = (gg_tensor){&s, GG_U8, 3, {1, 3, 6}};
    assert_refused(&f, "both mask and key_lengths");
    fixture_close(&good);
}

Test(triangle_attention_problem, key_lengths_outside_the_keys_are_refused)
{
    shape s = {1, 3, 1, 6, 4, LENGTHS, GG_F32, 1.0};
    fixture f = fixture_open(&s, 3);
    int32_t *length = f.problem.input[GG_TA_KEY_LENGTHS].data;
    length[2] = 7;
    assert_refused(&f, "key_lengths[0,2] = 7 is outside [0, N = 6]");
    length[2] = -1;
    assert_refused(&f, "key_lengths[0,2] = -1");
    gg_point point = {.output = GG_TA_O};
    cr_assert_eq(gg_triangle_attention_exact(&f.problem, &point, 1, 1), GG_BAD_INPUT);
    length[2] = 6;
    cr_assert_eq(gg_triangle_attention_host(&f.problem, &f.truth, 1), GG_OK);
    fixture_close(&f);
}

Test(triangle_attention_problem, points_that_do_not_exist_are_refused)
{
    shape s = {1, 3, 1, 6, 4, ALL_KEYS, GG_F32, 1.0};
    fixture f = fixture_open(&s, 3);
    gg_point points[] = {{.output = GG_TA_DBIAS, .element = 36}, {.output = 5},
                         {.output = GG_TA_O, .element = -1}};
    for (int p = 0; p < 3; p++)
        cr_assert_eq(gg_triangle_attention_exact(&f.problem, &points[p], 1, 1),
                     GG_BAD_INPUT);
    points[0].element = 35;
    cr_assert_eq(gg_triangle_attention_exact(&f.problem, points, 1, 1), GG_OK);
    fixture_close(&f);
}
