/* SPDX-License-Identifier: Apache-2.0
 * Shares, bounds and verdicts of made-up accounts; a written budget comes back as it was,
 * and an edited one is refused. */
#define _XOPEN_SOURCE 700 /* mkstemp */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reports/budget.h"
#include "reports/gnuplot.h"
#include "reports/file_out.h"

/* Two points, the second rough; one output; cases of the families a, b, a. */
static gg_budget small(void)
{
    static const char *const families[] = {"a", "b", "a"};
    gg_budget b = {.point_count = 2, .variant_count = 1, .output_count = 1, .case_count = 3};
    snprintf(b.made.kernel, sizeof b.made.kernel, "<k>&");
    snprintf(b.points[0].name, sizeof b.points[0].name, "fine");
    snprintf(b.points[1].name, sizeof b.points[1].name, "rough");
    snprintf(b.outputs[0], sizeof b.outputs[0], "y");
    b.points[1].rough = true;
    b.variants[0].points = 3;
    b.cases = calloc(3, sizeof *b.cases);
    for (int i = 0; i < 3; i++) {
        gg_budget_entry *e = &b.cases[i].entry[0][0];
        snprintf(b.cases[i].id, sizeof b.cases[i].id, "case%d", i);
        snprintf(b.cases[i].family, sizeof b.cases[i].family, "%s", families[i]);
        *e = (gg_budget_entry){.kernel = 4, .all = 4, .floor = 1, .point = {3, 1}};
    }
    return b;
}

static gg_budget_row row(const gg_budget *b, int at)
{
    gg_budget_row *rows, one;
    int count = 0;
    cr_assert_eq(gg_budget_rows(b, &rows, &count), GG_OK);
    cr_assert_eq(count, 3); /* all, a, b */
    one = rows[at];
    free(rows);
    return one;
}

Test(budget_record, shares_are_of_the_sum)
{
    gg_budget b = small();
    gg_budget_row all = row(&b, 0), a = row(&b, 1);
    cr_assert_str_eq(all.family, "");
    cr_assert_str_eq(a.family, "a");
    cr_assert_eq(a.cases, 2);
    cr_assert_eq(gg_budget_share(&all, 0), 0.75);
    cr_assert_eq(gg_budget_share(&all, 1), 0.25);
    cr_assert_eq(all.sum, 1);
    cr_assert_eq(all.ratio, 1);
    cr_assert_eq(gg_budget_verdict(&b), GG_PASSED);
    gg_budget_free(&b);
}

/* With a quarter rough: 0.75 0.81 + 0.25 / 4 = 0.67, 0.75 1.21 + 0.25 4 = 1.9075. */
Test(budget_record, bounds_widen_by_the_rough_share)
{
    gg_budget b = small();
    static const double inside[] = {4 * 0.671, 4 * 1.907}, outside[] = {4 * 0.669, 4 * 1.908};
    for (int i = 0; i < 2; i++) {
        b.cases[1].entry[0][0].kernel = inside[i];
        cr_assert_eq(row(&b, 2).verdict, GG_PASSED);
        b.cases[1].entry[0][0].kernel = outside[i];
        cr_assert_eq(row(&b, 2).verdict, GG_FAILED);
        cr_assert_eq(gg_budget_verdict(&b), GG_FAILED);
    }
    b.points[1].rough = false;
    b.cases[1].entry[0][0].kernel = 4 * 1.2;
    cr_assert_eq(row(&b, 2).verdict, GG_PASSED);
    b.cases[1].entry[0][0].kernel = 4 * 1.22;
    cr_assert_eq(row(&b, 2).verdict, GG_FAILED);
    b.cases[1].entry[0][0].kernel = 4 * 0.8;
    cr_assert_eq(row(&b, 2).verdict, GG_FAILED);
    gg_budget_free(&b);
}

Test(budget_record, zero_is_explained_by_zero_alone)
{
    gg_budget b = small();
    gg_budget_entry *e = &b.cases[1].entry[0][0];
    *e = (gg_budget_entry){.kernel = 0};
    cr_assert_eq(row(&b, 2).verdict, GG_PASSED);
    e->kernel = 1e-30;
    cr_assert_eq(row(&b, 2).verdict, GG_FAILED);
    *e = (gg_budget_entry){.kernel = 0, .all = 1, .point = {1, 0}};
    cr_assert_eq(row(&b, 2).verdict, GG_FAILED);
    gg_budget_free(&b);
}

Test(budget_record, few_elements_are_no_statistic)
{
    gg_budget b = small();
    gg_budget_entry *e = &b.cases[1].entry[0][0];
    e->kernel = 0, e->elements = GG_BUDGET_FEW - 1;
    cr_assert_eq(row(&b, 2).verdict, GG_NOT_VERIFIED);
    cr_assert_eq(gg_budget_verdict(&b), GG_NOT_VERIFIED);
    e->kernel = 4;
    cr_assert_eq(row(&b, 2).verdict, GG_PASSED);
    e->mismatch = 1;
    cr_assert_eq(row(&b, 2).verdict, GG_FAILED);
    e->mismatch = 0, e->kernel = NAN;
    cr_assert_eq(row(&b, 2).verdict, GG_FAILED);
    e->kernel = 40, e->elements = GG_BUDGET_FEW;
    cr_assert_eq(row(&b, 2).verdict, GG_FAILED);
    /* the elements of a family's cases add up */
    b.cases[0].entry[0][0] = (gg_budget_entry){.kernel = 9, .all = 1, .elements = 600};
    b.cases[2].entry[0][0] = (gg_budget_entry){.kernel = 9, .all = 1, .elements = 399};
    cr_assert_eq(row(&b, 1).verdict, GG_NOT_VERIFIED);
    b.cases[2].entry[0][0].elements = 400;
    cr_assert_eq(row(&b, 1).verdict, GG_FAILED);
    gg_budget_free(&b);
}

Test(budget_record, nan_mismatch_and_missing_cases_never_pass)
{
    gg_budget b = small();
    gg_budget_entry *e = &b.cases[1].entry[0][0];
    e->kernel = NAN;
    cr_assert_eq(row(&b, 2).verdict, GG_FAILED);
    e->kernel = 4;
    e->all = NAN;
    cr_assert_eq(row(&b, 2).verdict, GG_NOT_VERIFIED);
    e->all = 4;
    e->mismatch = 1;
    cr_assert_eq(row(&b, 2).verdict, GG_FAILED);
    e->mismatch = 0;
    snprintf(b.cases[0].reason, sizeof b.cases[0].reason, "no");
    cr_assert_eq(row(&b, 1).verdict, GG_NOT_VERIFIED);
    cr_assert_eq(gg_budget_verdict(&b), GG_NOT_VERIFIED);
    b.case_count = 0;
    cr_assert_eq(gg_budget_verdict(&b), GG_NOT_VERIFIED);
    gg_budget_free(&b);
}

static char path[] = "/tmp/gradgate-budget-XXXXXX";

static void make_file(void)
{
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    close(fd);
}

static void drop_file(void) { unlink(path); }

static char *text_of(const gg_budget *b, gg_file_fill fill)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert_eq(fill(b, out), GG_OK);
    fclose(out);
    return text;
}

static gg_status read_text(const char *text, gg_budget *b)
{
    FILE *out = fopen(path, "w");
    fputs(text, out);
    fclose(out);
    return gg_budget_read(path, b);
}

Test(budget_record, comes_back_as_it_was, .init = make_file, .fini = drop_file)
{
    gg_budget b = small(), again;
    b.cases[2].entry[0][0].point[1] = 0x1.23456789abcdep-40;
    b.cases[2].entry[0][0].elements = 12;
    snprintf(b.cases[1].reason, sizeof b.cases[1].reason, "a \"reason\"");
    memset(b.cases[1].entry, 0, sizeof b.cases[1].entry);
    char *text = text_of(&b, gg_budget_json);
    cr_assert_eq(read_text(text, &again), GG_OK, "%s", gg_message());
    char *more = text_of(&again, gg_budget_json);
    cr_assert_str_eq(text, more);
    cr_assert_eq(gg_budget_verdict(&again), gg_budget_verdict(&b));
    free(text);
    free(more);
    gg_budget_free(&again);
    gg_budget_free(&b);
}

Test(budget_record, edited_files_are_refused, .init = make_file, .fini = drop_file)
{
    static const char *const edits[][2] = {
        {"\"verdict\": \"passed\"", "\"verdict\": \"failed\""},
        {"gradgate-budget-1", "gradgate-budget-2"},
        {"\"all\": \"0x1p+2\"", "\"all\": \"nan\""},
        {"\"all\": \"0x1p+2\"", "\"all\": \"-0x1p+2\""},
        {"\"all\": \"0x1p+2\"", "\"all\": 4"},
        {"\"all\": \"0x1p+2\"", "\"all\": \"0x1p+9\""},
        {"\"mismatch\": 0", "\"mismatch\": -1"},
        {"[\"fine\", \"rough\"]", "[\"rough\", \"fine\"]"},
        {"[\"fine\", \"rough\"]", "[\"fine\"]"},
        {"\"rough\": true", "\"rough\": 1"},
        {"\"outputs\": [\"y\"]", "\"outputs\": []"},
        {"\"outputs\": [\"y\"]", "\"outputs\": [\"a_name_of_sixteen\"]"},
        {"\"points_from\": \"kernel\"", "\"points_from\": \"me\""},
        {"\"family\": \"b\",\n   \"reason\": \"\"", "\"family\": \"b\",\n   \"reason\": \"x\""},
        {"\"id\": \"case1\"", "\"id\": 1"},
    };
    gg_budget b = small(), again;
    char *text = text_of(&b, gg_budget_json), *edited = malloc(strlen(text) + 100);
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        const char *at = strstr(text, edits[i][0]);
        cr_assert_not_null(at, "nothing to edit: %s", edits[i][0]);
        sprintf(edited, "%.*s%s%s", (int)(at - text), text, edits[i][1],
                at + strlen(edits[i][0]));
        cr_expect_eq(read_text(edited, &again), GG_BAD_INPUT, "%s is accepted", edits[i][1]);
        cr_expect_eq(again.case_count, 0);
    }
    for (size_t length = 0; length < strlen(text) - 1; length += 97) {
        sprintf(edited, "%.*s", (int)length, text);
        cr_expect_eq(read_text(edited, &again), GG_BAD_INPUT, "%zu bytes are accepted",
                     length);
    }
    free(text);
    free(edited);
    gg_budget_free(&b);
}

Test(budget_record, page_escapes_what_it_shows)
{
    gg_budget b = small();
    char *page = text_of(&b, gg_budget_html);
    cr_assert_null(strstr(page, "<k>"));
    cr_assert_not_null(strstr(page, "&lt;k&gt;&amp;"));
    cr_assert_not_null(strstr(page, "<td class=\"n\">75.0 %</td><td class=\"n\">25.0 %</td>"));
    char version[32], why[GG_GNUPLOT_WHY];
    if (gg_gnuplot_version(version, why)) {
        cr_assert_not_null(strstr(page, "<title>rough: 25.0 %</title></polygon>"));
        cr_assert_null(strstr(page, "<details open>"));
    } else {
        cr_assert_not_null(strstr(page, "Charts need gnuplot"));
        cr_assert_not_null(strstr(page, "<details open>"));
    }
    free(page);
    gg_budget_free(&b);
}
