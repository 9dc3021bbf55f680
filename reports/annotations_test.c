/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/annotations.h"

#include "reports/fixture_test.h"

static char *annotations(const gg_run_record *run, const char *source)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    cr_assert_not_null(file);
    gg_report_annotations(run, source, file);
    fclose(file);
    return text;
}

static int lines_of(const char *text)
{
    int count = 0;
    for (; *text; text++) count += *text == '\n';
    return count;
}

static void spoil(gg_run_record *run, int index, gg_verdict verdict, const char *reason)
{
    run->cases[index].verdict = verdict;
    SET(run->cases[index].reason, "%s", reason);
}

Test(annotations, nothing_when_all_passed)
{
    gg_run_record run = make_run(5);
    char *text = annotations(&run, "kernels/a.cu");
    cr_assert_str_eq(text, "");
    free(text);
    gg_run_free(&run);
}

Test(annotations, failed_cases_first_and_a_warning_decides_nothing)
{
    gg_run_record run = make_run(5);
    spoil(&run, 1, GG_NOT_VERIFIED, "it did not run");
    spoil(&run, 3, GG_FAILED, "dq is 5 % off");
    char *text = annotations(&run, "k,1:2.cu");
    cr_assert_eq(lines_of(text), 2);
    cr_assert(strncmp(text, "::error file=k%2C1%3A2.cu,title=", 32) == 0, "%s", text);
    cr_assert_not_null(strstr(text, "dq is 5 %25 off\n::warning file="));
    free(text);
    gg_run_free(&run);
}

Test(annotations, not_verified_is_an_error_when_it_is_the_verdict)
{
    gg_run_record run = make_run(5);
    spoil(&run, 0, GG_NOT_VERIFIED, "it did not run");
    char *text = annotations(&run, "");
    cr_assert(strncmp(text, "::error title=", 14) == 0, "%s", text);
    free(text);
    run.count--; /* a case that is missing is no case to name */
    spoil(&run, 0, GG_PASSED, "");
    text = annotations(&run, "");
    cr_assert_eq(lines_of(text), 1);
    cr_assert_not_null(strstr(text, "cases of suite"));
    free(text);
    gg_run_free(&run);
}

Test(annotations, a_record_gives_no_commands)
{
    gg_run_record run = make_run(5);
    spoil(&run, 2, GG_FAILED, "a\n::set-output name=x::y\r\x1b[2J");
    char *text = annotations(&run, "a\nb");
    cr_assert_eq(lines_of(text), 1);
    cr_assert_null(strchr(text, '\r'));
    cr_assert_null(strchr(text, 0x1b));
    free(text);
    gg_run_free(&run);
}

Test(annotations, many_are_counted)
{
    gg_run_record run = make_run(40);
    for (int i = 0; i < 40; i++) spoil(&run, i, GG_FAILED, "wrong");
    char *text = annotations(&run, "");
    cr_assert_eq(lines_of(text), GG_ANNOTATIONS);
    cr_assert_not_null(strstr(text, "31 more cases"));
    free(text);
    gg_run_free(&run);
}
