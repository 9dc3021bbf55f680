/* SPDX-License-Identifier: Apache-2.0
 * The levels of determinism in a report: kept to the last bit, absent where nobody asked,
 * and refused where they say more than they have. */
#include "reports/fixture_test.h"
#include "reports/consistent.h"
#include "reports/gnuplot.h"
#include "reports/summary.h"

TestSuite(level_records, .fini = remove_folder);

static gg_level_record passed_level(const char *name)
{
    gg_level_record level = {.verdict = GG_PASSED, .runs = 200, .control_differed = 1,
                             .control_runs = 3, .overlap_least = (double)NAN,
                             .overlap = (double)NAN};
    SET(level.name, "%s", name);
    SET(level.control, "atomic");
    return level;
}

static gg_level_record failed_level(const char *name)
{
    gg_level_record level = passed_level(name);
    level.verdict = GG_FAILED;
    level.differed = 7;
    level.overlap_least = 0.5;
    level.overlap = 0.75;
    SET(level.note, "7 of 199 runs differed");
    level.differences[0] = (gg_level_difference){.runs = 7, .run = 2, .differing = 5,
        .first = 31, .bits = {0x3f800000u, 0xffffffffu}, .ulps = INT64_MAX};
    SET(level.differences[0].output, "dq");
    level.difference_count = 1;
    return level;
}

static gg_run_record leveled_run(void)
{
    gg_run_record run = make_run(3);
    SET(run.levels, "idle load");
    run.level_runs = 200;
    run.cases[0].levels[0] = passed_level("idle");
    run.cases[0].level_count = 1;
    run.cases[1].levels[0] = passed_level("idle");
    run.cases[1].levels[1] = failed_level("load");
    run.cases[1].level_count = 2;
    run.cases[1].verdict = GG_FAILED;
    SET(run.cases[1].reason, "level load: 7 of 199 runs differed");
    return run;
}

Test(level_records, are_read_as_they_were_written)
{
    gg_run_record run = leveled_run(), back;
    const char *a = temporary("a.json"), *b = temporary("b.json");
    cr_assert_eq(gg_report_write(&run, a), GG_OK, "%s", gg_message());
    cr_assert_eq(gg_report_read(a, &back), GG_OK, "%s", gg_message());
    cr_assert_eq(gg_report_write(&back, b), GG_OK, "%s", gg_message());
    same_files(a, b, true);
    const gg_level_record *level = &back.cases[1].levels[1];
    cr_assert_eq(back.cases[0].level_count, 1);
    cr_assert_eq(back.cases[1].level_count, 2);
    cr_assert_eq(back.cases[2].level_count, 0);
    cr_assert_eq(level->verdict, GG_FAILED);
    cr_assert_eq(level->overlap, 0.75);
    cr_assert_eq(level->differences[0].bits[1], 0xffffffffu);
    cr_assert_eq(level->differences[0].ulps, INT64_MAX);
    cr_assert_str_eq(back.levels, "idle load");
    cr_assert_eq(back.level_runs, 200);
    gg_run_free(&run);
    gg_run_free(&back);
}

Test(level_records, leave_no_trace_when_nobody_asked)
{
    gg_run_record run = make_run(2);
    size_t size;
    const char *path = temporary("plain.json");
    cr_assert_eq(gg_report_write(&run, path), GG_OK, "%s", gg_message());
    char *text = read_all(path, &size);
    cr_assert_null(strstr(text, "level"));
    free(text);
    gg_run_free(&run);
}

/* What was achieved is time: the evidence of equal runs is equal. */
Test(level_records, what_was_achieved_is_no_evidence)
{
    gg_run_record run = leveled_run();
    uint64_t then, now;
    cr_assert_eq(gg_report_evidence(&run, &then), GG_OK);
    run.cases[1].levels[1].overlap = 0.9;
    run.cases[1].levels[1].control_runs = 9;
    cr_assert_eq(gg_report_evidence(&run, &now), GG_OK);
    cr_assert_eq(then, now);
    run.cases[1].levels[1].differences[0].ulps--;
    cr_assert_eq(gg_report_evidence(&run, &now), GG_OK);
    cr_assert_neq(then, now);
    gg_run_free(&run);
}

/* The fault of a case whose first level is `level`, or "". */
static const char *fault_of(gg_level_record level, gg_verdict verdict)
{
    static char text[GG_FAULT_SIZE];
    gg_case_record *record = malloc(sizeof *record);
    cr_assert_not_null(record);
    *record = make_case(0);
    record->levels[0] = level;
    record->level_count = 1;
    record->verdict = verdict;
    if (!gg_case_fault(record, "BRHND", text)) text[0] = 0;
    free(record);
    return text;
}

Test(level_records, cannot_say_more_than_they_have)
{
    gg_level_record level = passed_level("idle");
    cr_assert_str_eq(fault_of(level, GG_PASSED), "");
    cr_assert_str_eq(fault_of(failed_level("load"), GG_FAILED), "");
    cr_assert_neq(fault_of(failed_level("load"), GG_PASSED)[0], 0);
    level.control_differed = 0;
    cr_assert_neq(fault_of(level, GG_PASSED)[0], 0, "no control differed");
    level = passed_level("idle"), level.runs = 1;
    cr_assert_neq(fault_of(level, GG_PASSED)[0], 0, "nothing was compared");
    level = passed_level("load"), level.overlap_least = 0.5;
    cr_assert_neq(fault_of(level, GG_PASSED)[0], 0, "the overlap is NaN");
    level.overlap = 0.49;
    cr_assert_neq(fault_of(level, GG_PASSED)[0], 0, "the load was not there");
    level.overlap = 0.5;
    cr_assert_str_eq(fault_of(level, GG_PASSED), "");
    level = failed_level("load"), level.verdict = GG_NOT_VERIFIED;
    cr_assert_neq(fault_of(level, GG_NOT_VERIFIED)[0], 0, "outputs differed");
    level = failed_level("load"), SET(level.differences[0].output, "nosuch");
    cr_assert_neq(fault_of(level, GG_FAILED)[0], 0, "no such output");
    level = failed_level("load"), level.differences[0].first = 32;
    cr_assert_neq(fault_of(level, GG_FAILED)[0], 0, "outside the output");
    level = failed_level("load"), level.differences[0].runs = 8;
    cr_assert_neq(fault_of(level, GG_FAILED)[0], 0, "more runs than differed");
}

Test(level_records, add_up)
{
    gg_run_record run = leveled_run();
    gg_summary summary;
    run.cases[1].levels[1].runs = 150;
    cr_assert_eq(gg_summary_make(&run, &summary), GG_OK);
    cr_assert_eq(summary.level_count, 2);
    cr_assert_str_eq(summary.levels[0].name, "idle");
    cr_assert_eq(summary.levels[0].cases, 2);
    cr_assert_eq(summary.levels[0].passed, 2);
    cr_assert_eq(summary.levels[1].failed, 1);
    cr_assert_eq(summary.levels[1].overlap, 0.75);
    cr_assert_eq(summary.levels[1].runs, 150);
    cr_assert_float_eq(summary.levels[0].excluded, 0.01494, 1e-5);
    gg_summary_free(&summary);
    gg_run_free(&run);
}

Test(level_records, of_a_file_are_checked)
{
    static const struct {
        const char *after, *from, *to, *words;
    } edits[] = {
        {"\"levels\": [", "\"runs\": 200", "\"runs\": -1", "negative count"},
        {"\"levels\": [", "\"differed\": 0", "\"extra\": 0", "extra"},
        {"\"levels\": [", "\"control_runs\"", "\"control_run\"", "control_run"},
        {"\"differences\": [\n", "\"first\": 31", "\"first\": 310", "cannot be"},
        {"\"differences\": [\n", "\"ulps\": \"", "\"ulps\": \"x", "ulps"},
        {"\"levels\": [", "\"verdict\": \"passed\"", "\"verdict\": \"failed\"", "says passed"},
    };
    gg_run_record run = leveled_run(), back;
    size_t size;
    const char *path = temporary("edited.json");
    cr_assert_eq(gg_report_write(&run, path), GG_OK, "%s", gg_message());
    char *text = read_all(path, &size);
    const char *tests = strstr(text, "\"tests\": [");
    cr_assert_not_null(tests);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        char *changed = edited(tests, edits[i].after, edits[i].from, edits[i].to);
        char *whole = calloc(size + 100, 1);
        cr_assert_not_null(whole);
        snprintf(whole, size + 100, "%.*s%s", (int)(tests - text), text, changed);
        write_bytes(path, whole, strlen(whole));
        cr_assert_eq(gg_report_read(path, &back), GG_BAD_INPUT, "edit %zu", i);
        cr_assert_not_null(strstr(gg_message(), edits[i].words), "%s", gg_message());
        free(changed);
        free(whole);
    }
    free(text);
    gg_run_free(&run);
}

static gg_map some_map(const gg_output_record *output, double value)
{
    gg_map map = gg_map_of(output);
    map.value = value;
    map.full = (double)INFINITY;
    for (int i = 0; i < map.rows * map.columns; i++) map.cells[i] = (uint8_t)(i * 37);
    return map;
}

Test(level_records, maps_are_read_as_they_were_written)
{
    gg_run_record run = make_run(2), back;
    const char *a = temporary("a.json"), *b = temporary("b.json");
    gg_output_record *o = &run.cases[1].outputs[1];
    o->bits_map = some_map(o, 0.25);
    o->error_map = some_map(o, (double)NAN);
    cr_assert_eq(gg_report_write(&run, a), GG_OK, "%s", gg_message());
    cr_assert_eq(gg_report_read(a, &back), GG_OK, "%s", gg_message());
    cr_assert_eq(gg_report_write(&back, b), GG_OK, "%s", gg_message());
    same_files(a, b, true);
    cr_assert_eq(back.cases[1].outputs[1].bits_map.rows, 4);
    cr_assert_arr_eq(back.cases[1].outputs[1].error_map.cells, o->error_map.cells,
                     sizeof o->error_map.cells);
    cr_assert_eq(back.cases[0].outputs[0].bits_map.rows, 0);
    o->bits_map.columns++;
    cr_assert_eq(gg_report_write(&run, a), GG_INTERNAL, "another shape");
    gg_run_free(&run);
    gg_run_free(&back);
}

Test(level_records, the_worst_map_of_each_output_is_kept)
{
    gg_run_record run = make_run(4);
    const double values[4] = {0.5, 0.75, 0.75, 0.25};
    for (int i = 0; i < 4; i++) {
        gg_output_record *o = run.cases[i].outputs;
        o[0].bits_map = some_map(&o[0], values[i]);
        if (i > 1) o[1].error_map = some_map(&o[1], i == 2 ? (double)NAN : 9);
    }
    gg_maps_keep_worst(&run);
    for (int i = 0; i < 4; i++) {
        cr_expect_eq(run.cases[i].outputs[0].bits_map.rows, i == 1 ? 4 : 0, "case %d", i);
        cr_expect_eq(run.cases[i].outputs[1].error_map.rows, i == 2 ? 4 : 0, "case %d", i);
    }
    gg_run_free(&run);
}

/* Area of the boxes of a class, in units of a drawing's. */
static double area_of(const char *page, const char *class)
{
    char start[64];
    double area = 0, left, bottom, right, top;
    snprintf(start, sizeof start, "<polygon class=\"%s\" points=\"", class);
    for (const char *at = page; (at = strstr(at, start)) != NULL;) {
        at += strlen(start);
        cr_assert_eq(sscanf(at, "%lf,%lf %*f,%*f %lf,%lf", &left, &bottom, &right, &top), 4);
        area += (right - left) * (bottom - top);
    }
    return area;
}

/* Each step of the map has the share of its cells. */
static void boxes_follow(const gg_map *map, const char *page, const char *class)
{
    char version[32], why[GG_GNUPLOT_WHY], name[32];
    int cells[9] = {0};
    double area[9] = {0}, total = 0;
    if (!gg_gnuplot_version(version, why)) cr_skip_test("not run: %s", why);
    for (int i = 0; i < map->rows * map->columns; i++) cells[(map->cells[i] * 8 + 254) / 255]++;
    for (int step = 1; step <= 8; step++) {
        snprintf(name, sizeof name, "%s s%d", class, step);
        total += area[step] = area_of(page, name);
    }
    for (int step = 1; step <= 8; step++) {
        double share = area[step] / total * (map->rows * map->columns - cells[0]);
        cr_expect(share > cells[step] - 0.01 && share < cells[step] + 0.01,
                  "%s: step %d has %g cells, not %d", class, step, share, cells[step]);
    }
}

Test(level_records, are_drawn_and_stay_text)
{
    gg_run_record run = leveled_run();
    const char *path = temporary("page.html");
    size_t size;
    gg_output_record *o = &run.cases[1].outputs[0];
    o->bits_map = some_map(o, 0.25);
    o->error_map = some_map(o, 3);
    SET(run.cases[1].levels[1].control, "<b>atomic");
    SET(run.cases[0].levels[0].control, "<b>atomic");
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(gg_report_html(&run, file), GG_OK);
    fclose(file);
    char *text = read_all(path, &size);
    static const char *const wanted[] = {"Determinism by level",
        "Same bits? <span class=\"tag failed\">", "level load: 1 of 1 cases failed",
        "75 %", "&lt;b&gt;atomic",
        "Where bits differ", "25 % of its elements", "class=\"steps bits\"", "Where errors are",
        "class=\"steps errors\""};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        cr_expect_not_null(strstr(text, wanted[i]), "no %s", wanted[i]);
    cr_expect_null(strstr(text, "<b>atomic"));
    boxes_follow(&o->bits_map, text, "bad");
    boxes_follow(&o->error_map, strstr(text, "Where errors are"), "bar");
    free(text);
    gg_run_free(&run);
}
