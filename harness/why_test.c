/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "harness/nearest.h"
#include "harness/why.h"

TestSuite(why, .timeout = 30);

Test(why, letters_of_an_index)
{
    static const gg_tensor_decl in[] = {{.name = "a", .shape = "BHNN"}, {0}};
    static const gg_tensor_decl out[] = {{.name = "b", .shape = "BRHND"}, {0}};
    const gg_operator square = {.symbols = "BRHND", .inputs = in, .outputs = out};
    const gg_operator plain = {.symbols = "BRHND", .inputs = out, .outputs = out};
    char letters[GG_MAX_DIMS + 1];
    gg_axis_letters(&square, in, letters);
    cr_assert_str_eq(letters, "bhij");
    gg_axis_letters(&square, out, letters);
    cr_assert_str_eq(letters, "brhid");
    gg_axis_letters(&plain, out, letters);
    cr_assert_str_eq(letters, "brhnd");
}

static gg_why make_why(double value, double exact, const double *terms, int count)
{
    gg_why why = {.value = value, .allowance = 1e-4, .point = {.value = exact},
                  .tensor = {.dtype = GG_F32}};
    why.terms.letter = 'j';
    why.terms.count = count < GG_TERMS ? count : GG_TERMS;
    why.terms.total = count;
    for (int i = 0; i < count; i++) {
        why.terms.sum += terms[i];
        why.terms.sum_abs += fabs(terms[i]);
        if (i < GG_TERMS) why.terms.largest[i] = (gg_term){.index = i, .value = terms[i]};
    }
    return why;
}

static void reads(const gg_why *why, const char *wanted)
{
    char text[400];
    gg_why_reading(why, text, sizeof text);
    cr_assert_str_eq(text, wanted);
}

Test(why, reading)
{
    const double cancelled[] = {10, -9.9}, one[] = {2, 0.5, 0.25}, zeros[] = {0, 0};
    const double nan[] = {(double)NAN, 1}, lost[] = {4, 3, 2, 1};
    double many[40];
    for (int i = 0; i < 40; i++) many[i] = 1;
    gg_why why = make_why(0.1, 0.1, cancelled, 2);
    reads(&why, "the result is 1/199 of its terms: cancellation; dominated by one term, "
                "j=0: 50 %");
    why = make_why(2.75, 2.75, one, 3);
    reads(&why, "dominated by one term, j=0: 73 %");
    why = make_why(40, 40, many, 40);
    reads(&why, "spread over 40 terms, the largest 2.5 %");
    why = make_why(0, 0, zeros, 2);
    reads(&why, "every term is 0");
    why = make_why(0, 0, NULL, 0);
    reads(&why, "there is no term, all are masked: the element must be 0");
    why = make_why((double)NAN, (double)NAN, nan, 2);
    reads(&why, "a term is not finite: j=0");
    why = make_why(8, 10, lost, 4);
    reads(&why, "the error is the term j=2, left out; 3 of 4 terms make 90 %");
    why = make_why(13, 10, lost, 4);
    reads(&why, "the error is the term j=1, added twice; 3 of 4 terms make 90 %");
    why = make_why((double)NAN, 10, lost, 4);
    reads(&why, "the kernel wrote nan where the truth is 10; 3 of 4 terms make 90 %");
}

Test(why, edit_distance)
{
    cr_assert_eq(gg_edit_distance("", ""), 0);
    cr_assert_eq(gg_edit_distance("kitten", "sitting"), 3);
    cr_assert_eq(gg_edit_distance("", "abc"), 3);
    cr_assert_eq(gg_edit_distance("abc", ""), 3);
    char text[300];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    cr_assert_eq(gg_edit_distance(text, "x"), 126);
}

Test(why, nearest_ids)
{
    gg_case cases[] = {{.id = "heavy-s000"}, {.id = "normal-s001"}, {.id = "normal-s010"},
                       {.id = "normal-s000"}, {.id = "flat-s000"}};
    gg_suite suite = {.cases = cases, .count = 5};
    char text[400];
    gg_nearest_cases(&suite, "normal-s00", text, sizeof text);
    cr_assert_str_eq(text, "normal-s001, normal-s010, normal-s000");
    suite.count = 1;
    gg_nearest_cases(&suite, "x", text, sizeof text);
    cr_assert_str_eq(text, "heavy-s000");
    suite.count = 0;
    gg_nearest_cases(&suite, "x", text, sizeof text);
    cr_assert_str_eq(text, "");
}
