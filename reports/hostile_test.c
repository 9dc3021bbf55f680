/* SPDX-License-Identifier: Apache-2.0
 * Files that are not what they say. Each must give GG_BAD_INPUT and one line, and under
 * the sanitizers nothing else. */
#include "reports/fixture_test.h"
#include "reports/json_scan.h"

TestSuite(hostile, .fini = remove_folder);

static char *valid_text(size_t *size)
{
    gg_run_record run = make_run(2);
    run.cases[1].verdict = GG_FAILED;
    run.cases[1].outputs[0].checks[1] = make_check("gauge_p99", 0.3, 0.12);
    SET(run.cases[1].reason, "dq gauge_p99");
    const char *path = temporary("valid.json");
    cr_assert_eq(gg_report_write(&run, path), GG_OK, "%s", gg_message());
    gg_run_free(&run);
    return read_all(path, size);
}

static void refuse_bytes(const char *text, size_t size, const char *words)
{
    const char *path = temporary("hostile.json");
    gg_run_record run;
    write_bytes(path, text, size);
    gg_status status = gg_report_read(path, &run);
    cr_assert_eq(status, GG_BAD_INPUT, "status %d for %s", (int)status, words);
    cr_assert_null(run.cases);
    cr_assert_not_null(strstr(gg_message(), "hostile.json"), "%s", gg_message());
    cr_assert_not_null(strstr(gg_message(), words), "\"%s\" lacks \"%s\"", gg_message(),
                       words);
    cr_assert_null(strchr(gg_message(), '\n'));
}

Test(hostile, cut_anywhere)
{
    size_t size;
    char *text = valid_text(&size);
    for (size_t cut = 0; cut < size - 2; cut += 97)
        refuse_bytes(text, cut, "ends early");
    refuse_bytes(text, size - 2, "ends early");
    free(text);
}

/* Any byte of the evidence, changed: never accepted unless it is in time or place. */
Test(hostile, one_changed_byte_is_refused)
{
    size_t size;
    char *text = valid_text(&size);
    const char *path = temporary("hostile.json");
    size_t from = (size_t)(strstr(text, "\"schema\"") - text);
    for (size_t i = from; i < size - 4; i += 61) {
        char old = text[i];
        if (old == ' ' || old == '\n') continue;
        const char *time = strstr(text, "\"duration\": ");
        for (; time && !(text + i >= time && text + i < time + 15);)
            time = strstr(time + 1, "\"duration\": ");
        if (time) continue;
        text[i] = old == '7' ? '8' : '7';
        write_bytes(path, text, size);
        gg_run_record run;
        cr_assert_eq(gg_report_read(path, &run), GG_BAD_INPUT, "byte %zu: %.60s", i,
                     text + i);
        text[i] = old;
    }
    free(text);
}

/* After this text, replace this, by this: the message must say that. */
static const char *const edits[][4] = {
    {"\"tests\": [", "\"status\": \"failed\", \"rawStatus\": \"failed\"",
     "\"status\": \"passed\", \"rawStatus\": \"passed\"",
     "says passed but check gauge"},
    {"\"tests\": [", "\"rawStatus\": \"failed\"", "\"rawStatus\": \"passed\"",
     "results.tests[1].status: expected \"passed\""},
    {"\"tests\": [", "\"rawStatus\": \"failed\"", "\"rawStatus\": \"fine\"",
     "expected \"passed\", \"failed\" or \"not verified\", found \"fine\""},
    {"\"tests\": [", "\"verdict\": \"failed\"", "\"verdict\": \"passed\"",
     "says passed but 0.3 is not <= 0.12"},
    {"\"extra\": {\n   \"schema\"", "\"verdict\": \"failed\"",
     "\"verdict\": \"passed\"", "results.extra.verdict"},
    {"\"summary\"", "\"tests\": 2", "\"tests\": 3",
     "says tests 3 but its cases give 2"},
    {"\"summary\"", "\"failed\": 1", "\"failed\": 0", "says failed 0"},
    {"\"summary\"", "\"start\": 1", "\"start\": 2", "says start"},
    {"\"run\": {", "\"suite_count\": 2", "\"suite_count\": 1", "suite of 1"},
    {"\"run\": {", "turbo", "other", "evidence digest"},
    {"\"run\": {", "\"BRHND\"", "\"BRHNDXY\"", "more than 6 extents"},
    {"\"run\": {", "\"BRHND\"", "\"BR\"", "more extents"},
    {"\"run\": {", "\"repeats\": 5", "\"repeats\": 5.5",
     "run.repeats: expected a whole"},
    {"\"run\": {", "\"repeats\": 5", "\"repeats\": 1e999", "run.repeats: expected"},
    {"\"run\": {", "\"repeats\": 5", "\"repeats\": 99999999999", "run.repeats"},
    {"\"run\": {", "\"repeats\": 5", "\"repeats\": \"5\"", "found \"5\""},
    {"\"run\": {", "\"repeats\": 5", "\"repeats\": null", "found null"},
    {"\"run\": {", "\"repeats\": 5", "\"repeats\": [5]", "found a list"},
    {"\"run\": {", "\"repeats\": 5", "\"repeats\": 05", "expected ',' or '}'"},
    {"\"run\": {", "\"repeats\": 5", "\"repeats\": +5", "expected a value"},
    {"\"run\": {", "\"repeats\": 5", "\"repeats\": NaN", "expected a value"},
    {"\"run\": {", "\"repeats\": 5", "\"repeats\": 5, \"repeats\": 5", "twice"},
    {"\"run\": {", "\"repeats\": 5", "\"repeats\": 5, \"more\": 5",
     "does not know"},
    {"\"run\": {", "\"repeats\": 5,", "",
     "run.repeats: expected a value, found nothing"},
    {"\"run\": {", "\"paper600\"", "\"paper\\u0000\"", "NUL character"},
    {"\"run\": {", "\"paper600\"", "\"paper\\ud800\"", "surrogate"},
    {"\"run\": {", "\"paper600\"", "\"paper\\x\"", "unknown escape"},
    {"\"run\": {", "\"paper600\"", "\"paper\xff\"", "not UTF-8"},
    {"\"run\": {", "\"paper600\"", "\"paper\xc0\xaf\"", "not UTF-8"},
    {"\"run\": {", "\"paper600\"", "\"paper\xed\xa0\x80\"", "not UTF-8"},
    {"\"run\": {", "\"paper600\"", "\"paper\n600\"", "control character"},
    {"\"run\": {", "\"shard\"", "\"sh\\u0061rd\"", "a key that is long, escaped"},
    {"\"run\": {", "\"device\": \"cuda\"", "\"device\": \"cudacuda\"",
     "at most 7 bytes"},
    {"\"limits\"", "\"0x1.199999999999ap+0\"", "1.1",
     "expected a hexadecimal float"},
    {"\"limits\"", "\"0x1.199999999999ap+0\"", "\"0x1.1a0p+0\"",
     "hexadecimal float"},
    {"\"limits\"", "_decimal\": 1.1,", "_decimal\": 1.2,",
     "expected 1.1, found 1.2"},
    {"\"limits\"", "_decimal\": null", "_decimal\": 0", "expected null"},
    {"\"outputs\"", "\"mean_rmse\": 0.001", "\"mean_rmse\": 0.002",
     "results.extra.summary.outputs[0].mean_rmse"},
    {"\"ablation\": [", "\"outcome\": \"not resolvable\"",
     "\"outcome\": \"earned\"", "summary.ablation[0].outcome"},
    {"\"tests\": [", "\"seed\": \"18446744073709551615\"",
     "\"seed\": 18446744073709551615",
     "seed: expected a whole number from 0 to 2^64 - 1 as text"},
    {"\"tests\": [", "\"18446744073709551615\"", "\"18446744073709551616\"",
     "seed"},
    {"\"tests\": [", "\"shape\": [4, 8]", "\"shape\": [4, 9]",
     "36 elements by its shape"},
    {"\"tests\": [", "\"shape\": [4, 8]", "\"shape\": [1,1,1,1,1,4,8]",
     "list of 0 to 6"},
    {"\"tests\": [", "\"shape\": [4, 8]",
     "\"shape\": [9007199254740992, 9007199254740992]", "2^53"},
    {"\"tests\": [", "\"shape\": [4, 8]", "\"shape\": [-4, -8]", "whole numbers"},
    {"\"tests\": [", "\"dtype\": \"f32\"", "\"dtype\": \"f31\"", "data type"},
    {"\"tests\": [", "\"repeat_bits_first\": \"0x0", "\"repeat_bits_first\": \"0x",
     "bits"},
    {"\"tests\": [", "\"checks\": [", "\"checks\": [{}, ", "checks[0].name"},
    {"\"tests\": [", "\"index\": 1", "\"index\": 0", "not in suite order"},
    {"\"tests\": [", "\"extent\": [", "\"extent\": [[[[[[[[[[[[[[[[[[[[",
     "nested too deep"},
    {"\"tests\": [", "{", "7, {", "results.tests[0]: expected an object, found 7"},
    {"\"tests\": [", "[", "7, \"x\": [", "does not know"},
    {"\"reportFormat\"", "CTRF", "ctrf", "reportFormat: expected \"CTRF\""},
    {"\"extra\": {\n   \"schema\"", "gradgate-report-1", "gradgate-report-2",
     "schema"},
    {"\"specVersion\"", "\"results\"", "\"tests\"", "does not know"},
};

Test(hostile, edited_values)
{
    size_t size;
    char *text = valid_text(&size);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        char *other = edited(text, edits[i][0], edits[i][1], edits[i][2]);
        refuse_bytes(other, strlen(other), edits[i][3]);
        free(other);
    }
    free(text);
}

Test(hostile, not_even_a_report)
{
    const struct {
        const char *text, *words;
    } files[] = {
        {"", "ends early"},
        {"   ", "ends early"},
        {"null", "expected an object"},
        {"[]", "expected an object"},
        {"{}", "expected a value, found nothing"},
        {"{\"results\": 1}", "reportFormat"},
        {"{\"results\": {\"tests\": 1}}", "report"},
        {"{\"results\": {\"tests\": []}, \"results\": {\"tests\": []}}", "twice"},
        {"{\"a\": 1,}", "expected a key"},
        {"{\"a\" 1}", "expected ':'"},
        {"{a: 1}", "key"},
        {"[1 2]", "expected ',' or ']'"},
        {"[1,]", "expected a value"},
        {"tru", "early"},
        {"{} {}", "after the end"},
        {"\xef\xbb\xbf{}", "expected a value"},
        {"-", "early"},
        {"[1.]", "digit"},
        {"[1e]", "digit"},
        {"[.5]", "value"},
        {"[11111111111111111111111111111111111111111111]", "many digits"},
        {"\x1f\x8b garbage", "gzip"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        refuse_bytes(files[i].text, strlen(files[i].text), files[i].words);
    refuse_bytes("{\"a\": \"x\0y\"}", 12, "control character");
    refuse_bytes("{}\0", 3, "after the end");
}

Test(hostile, sizes_are_bounded)
{
    size_t size = (size_t)2 << 20;
    char *text = malloc(size + 64);
    cr_assert_not_null(text);
    memset(text, '[', size);
    refuse_bytes(text, size, "nested too deep");
    int head = snprintf(text, 64, "{\"results\": {\"tests\": [\"");
    memset(text + head, 'x', size - (size_t)head);
    refuse_bytes(text, size, "a test of more than 1 MiB");
    free(text);
}

Test(hostile, a_missing_file_is_io)
{
    gg_run_record run;
    cr_assert_eq(gg_report_read(temporary("none.json"), &run), GG_IO);
    cr_assert_eq(gg_report_read("/", &run), GG_IO);
}
