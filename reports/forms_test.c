/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/file_out.h"
#include "reports/fixture_test.h"
#include "reports/markup.h"

#define HOSTILE "\"><script>alert(1)</script>'&\x01\xff\xef\xbf\xbf]]>"

static char *form(const gg_run_record *run, int which)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    cr_assert_not_null(file);
    if (which == 0) gg_report_junit(run, file);
    else cr_assert_eq(gg_report_html(run, file), GG_OK);
    fclose(file);
    return text;
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part)) count++;
    return count;
}

Test(forms, markup_keeps_text_text)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    gg_markup(file, "<a b=\"c\" d='e'>&\x01\x7f\xff\xc2\x85\xef\xbf\xbe \xc3\xa9 "
                    "\xed\xa0\x80");
    fclose(file);
    cr_assert_str_eq(text, "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;????? \xc3\xa9 "
                           "???");
    free(text);
}

Test(forms, junit_counts_cases)
{
    gg_run_record run = make_run(6);
    run.cases[1].verdict = GG_FAILED;
    SET(run.cases[1].reason, "dq rmse: bad");
    run.cases[1].outputs[0].checks[1].verdict = GG_FAILED;
    run.cases[2].verdict = GG_NOT_VERIFIED;
    char *text = form(&run, 0);
    cr_assert_eq(count_of(text, "<testcase "), 6);
    cr_assert_eq(count_of(text, "<failure type=\"gauge_p99\" message=\"dq rmse: bad\">"),
                 1);
    cr_assert_eq(count_of(text, "<error type=\"not verified\""), 1);
    cr_assert_eq(count_of(text, "tests=\"6\" failures=\"1\" errors=\"1\""), 2);
    free(text);
    gg_run_free(&run);
}

Test(forms, junit_is_red_when_cases_are_missing)
{
    gg_run_record run = make_run(6);
    run.count = 4;
    char *text = form(&run, 0);
    cr_assert_eq(count_of(text, "tests=\"5\" failures=\"0\" errors=\"1\""), 2);
    cr_assert_not_null(strstr(text, "2 of 6 cases of suite paper600 were not run"));
    run.count = 0;
    free(text);
    text = form(&run, 0);
    cr_assert_eq(count_of(text, "errors=\"1\""), 2);
    free(text);
    gg_run_free(&run);
}

/* Every text of a record, in every form. */
Test(forms, hostile_text_stays_text)
{
    gg_run_record run = make_run(3);
    SET(run.cases[0].id, HOSTILE);
    SET(run.cases[0].reason, HOSTILE);
    SET(run.cases[0].family, "%.31s", HOSTILE);
    SET(run.cases[0].outputs[0].name, "%.15s", HOSTILE);
    SET(run.cases[0].outputs[0].checks[0].note, HOSTILE);
    SET(run.cases[0].outputs[0].checks[0].name, "%.20s", HOSTILE);
    run.cases[0].outputs[0].checks[0].verdict = GG_FAILED;
    run.cases[0].verdict = GG_FAILED;
    SET(run.kernel, HOSTILE);
    SET(run.suite, HOSTILE);
    SET(run.commit, HOSTILE);
    SET(run.compiler, HOSTILE);
    SET(run.features, HOSTILE);
    SET(run.ablation, "%.31s", HOSTILE);
    SET(run.limits_note, HOSTILE);
    SET(run.place.gpu, HOSTILE);
    SET(run.place.host_cpu, HOSTILE);
    SET(run.limits[0].output, "%.15s", HOSTILE);
    for (int which = 0; which < 2; which++) {
        char *text = form(&run, which);
        cr_assert_null(strstr(text, "<script"));
        cr_assert_null(strstr(text, "\x01"));
        cr_assert_null(strstr(text, "\xff"));
        free(text);
    }
    gg_run_free(&run);
}

Test(forms, html_puts_the_verdict_first)
{
    gg_run_record run = make_run(6);
    char *text = form(&run, 1);
    cr_assert_not_null(strstr(text, "<title>passed: turbo on cuda, paper600</title>"));
    cr_assert_lt(strstr(text, "<h1>"), strstr(text, "<h2>"));
    cr_assert_null(strstr(text, "http:"));
    cr_assert_null(strstr(text, "https:"));
    cr_assert_null(strstr(text, "<script"));
    cr_assert_eq(count_of(text, "<section"), count_of(text, "</section>"));
    cr_assert_eq(count_of(text, "<table"), count_of(text, "</table>"));
    free(text);
    gg_run_free(&run);
}

Test(forms, html_of_nan_and_of_nothing)
{
    gg_run_record run = make_run(6);
    for (int i = 0; i < 6; i++) {
        run.cases[i].outputs[0].rmse = run.cases[i].outputs[0].gauge_max = (double)NAN;
        run.cases[i].outputs[0].floor_rmse = run.cases[i].outputs[0].truth_rms = 0;
        run.cases[i].outputs[1].rmse = (double)INFINITY;
        run.cases[i].runs = 1;
    }
    char *text = form(&run, 1);
    cr_assert_null(strstr(text, "width=\"nan"));
    cr_assert_null(strstr(text, "width=\"-nan"));
    cr_assert_null(strstr(text, "\"inf"));
    free(text);
    run.count = 0;
    text = form(&run, 1);
    cr_assert_not_null(strstr(text, "? not verified"));
    free(text);
    gg_run_free(&run);
}

static gg_status fill_half(const void *context, FILE *file)
{
    fputs("half", file);
    return context ? GG_OK : gg_fail(GG_NO_MEMORY, "no memory in the middle");
}

Test(forms, a_file_is_whole_or_not_there)
{
    char path[] = "/tmp/gradgate-forms-XXXXXX", content[16] = "";
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    cr_assert_eq(write(fd, "old", 3), 3);
    close(fd);
    cr_assert_eq(gg_file_write(path, "form", fill_half, NULL), GG_NO_MEMORY);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(fgets(content, sizeof content, file));
    fclose(file);
    cr_assert_str_eq(content, "old");
    cr_assert_eq(gg_file_write(path, "form", fill_half, path), GG_OK);
    cr_assert_eq(gg_file_write("/dev/full", "form", fill_half, path), GG_IO);
    cr_assert(strstr(gg_message(), "form /dev/full: cannot be written"), "%s",
              gg_message());
    unlink(path);
}
