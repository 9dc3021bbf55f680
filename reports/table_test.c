/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/fixture_test.h"

static char *table_of(const gg_run_record *run, int width, bool markdown)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    cr_assert_not_null(file);
    if (markdown) gg_report_markdown(run, file);
    else gg_report_table(run, file, width);
    fclose(file);
    return text;
}

static void expect(const char *text, const char *words, bool there)
{
    cr_assert_eq(strstr(text, words) != NULL, there, "%s \"%s\" in:\n%s",
                 there ? "no" : "unwanted", words, text);
}

Test(table, verdict_comes_first)
{
    gg_run_record run = make_run(12);
    char *text = table_of(&run, 0, false);
    cr_assert_eq(strncmp(text, "passed  turbo on cuda  paper600  12 of 12 cases\n", 47),
                 0, "%s", text);
    expect(text, "53 %", true);
    expect(text, "6 of 6", true);
    expect(text, "earned", true);
    expect(text, "N=128", true);
    expect(text, "(B=1 R=2 H=3 D=32)", true);
    expect(text, "Not passed", false);
    free(text);
    gg_run_free(&run);
}

Test(table, what_did_not_run_says_so)
{
    gg_run_record run = make_run(6);
    run.count = 4;
    run.ablation[0] = 0;
    for (int i = 0; i < run.count; i++)
        for (int o = 0; o < 2; o++) {
            run.cases[i].runs = 1;
            run.cases[i].outputs[o].certified = 0;
            run.cases[i].outputs[o].ablated_rmse = (double)NAN;
        }
    for (int form = 0; form < 2; form++) {
        char *text = table_of(&run, 0, form);
        expect(text, "not verified  turbo on cuda  paper600  4 of 6 cases  truth of 4 not cer",
               true);
        expect(text, "2 not run although the whole suite was asked for", true);
        expect(text, "not run: no case has two runs (asked for: 5)", true);
        expect(text, "earned", false);
        expect(text, "95 %", false);
        free(text);
    }
    run.cases[0].outputs[1].certified = 1, run.cases[1].outputs[0].certified = 1;
    run.cases[0].outputs[0].certified = 1;
    char *text = table_of(&run, 0, false);
    expect(text, "4 of 6 cases  truth of 3 not certified", true);
    free(text);
    run.count = 0;
    text = table_of(&run, 0, false);
    expect(text, "not verified  turbo", true);
    expect(text, "not certified", false);
    free(text);
    run.count = 4;
    gg_run_free(&run);
}

Test(table, failures_are_listed_and_bounded)
{
    gg_run_record run = make_run(30);
    for (int i = 5; i < 30; i++) {
        run.cases[i].verdict = i < 9 ? GG_NOT_VERIFIED : GG_FAILED;
        SET(run.cases[i].reason, "reason %d", i);
    }
    char *text = table_of(&run, 0, false);
    expect(text, "failed  turbo on cuda  paper600  5 of 30 cases", true);
    expect(text, "5 passed, 21 failed, 4 not verified", true);
    expect(text, "reason 9\n", true);
    expect(text, "reason 18\n", true);
    expect(text, "reason 19\n", false);
    expect(text, "reason 5\n", false);
    expect(text,
           "why: gradgate case shifted-N128-s009 --suite paper600 --kernel turbo --device "
           "cuda --why; 15 more",
           true);
    free(text);
    gg_run_free(&run);
}

/* An id or reason from a stored report must not steer a terminal or open a row. */
Test(table, hostile_text_stays_text)
{
    gg_run_record run = make_run(2);
    run.cases[0].verdict = GG_FAILED;
    SET(run.cases[0].id, "a|b\x1b[31m\n\t<script>");
    SET(run.cases[0].reason, "x\ty\r\x9b|`");
    char *text = table_of(&run, 0, false);
    cr_assert_null(strpbrk(text, "\x1b\r\t"));
    free(text);
    text = table_of(&run, 0, true);
    expect(text, "<script>", false);
    expect(text, "a\\|b?\\[31m??&lt;script>", true);
    free(text);
    gg_run_free(&run);
}

Test(table, long_reasons_are_cut_at_the_width)
{
    gg_run_record run = make_run(2);
    run.cases[0].verdict = GG_FAILED;
    memset(run.cases[0].reason, 'r', sizeof run.cases[0].reason - 1);
    char *text = table_of(&run, 80, false);
    const char *row = strstr(text, "rrrr");
    cr_assert_not_null(row);
    while (row > text && row[-1] != '\n') row--;
    cr_assert_eq(strcspn(row, "\n"), 80);
    expect(text, "rrr...\n", true);
    free(text);
    gg_run_free(&run);
}
