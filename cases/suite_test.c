/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* mkdtemp, mkfifo */
#include "cases/suite.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases/suite_parse.h"

/* A suite with one thing replaced: see `good` for what the parts are. */
#define TOP "{\"gradgate_suite\":1,\"name\":\"t\",\"operator\":\"triangle_attention\","
#define GROUP(extents, families, seeds)                                                \
    TOP "\"cases\":[{\"extents\":" extents ",\"families\":" families                   \
        ",\"seeds\":" seeds "}]}"
#define SIZES "{\"B\":1,\"R\":\"N\",\"H\":2,\"N\":[8,16],\"D\":16}"
#define SIZES_N(n) "{\"B\":1,\"R\":2,\"H\":2,\"N\":" n ",\"D\":16}"
#define NORMAL "[\"normal\"]"
#define SEEDS "{\"first\":0,\"count\":3}"
#define DTYPES(dtypes)                                                                 \
    TOP "\"cases\":[{\"extents\":" SIZES ",\"families\":" NORMAL ",\"seeds\":" SEEDS   \
        ",\"dtypes\":" dtypes "}]}"

static const char good[] = GROUP(SIZES, NORMAL, SEEDS);

/* What may be wrong in the text of a suite, and what the message must hold. */
static const struct {
    const char *text, *place, *why;
} hostile[] = {
    {"", "x", "is empty"},
    {" \n\t ", "x", "is empty"},
    {"{\"gradgate_suite\":1,\"na", "line 1, column 24", "truncated"},
    {TOP "\"cases\":[{", "line 1", "truncated"},
    {"not json", "line 1, column 1", "not valid JSON"},
    {"{\"gradgate_suite\":1,}\n", "line 1", "not valid JSON"},
    {"{\n  'name': 1}", "line 2", "not valid JSON"},
    {GROUP(SIZES, NORMAL, SEEDS) "x", "line 1", "not valid JSON"},
    {"[1]", "top level", "must be an object"},
    {"3", "top level", "must be an object"},
    {"[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]", "column 17", "nested too deeply"},
    {"{\"name\":\"a\\u0000b\"}", "column 11", "\\u0000"},
    {"{}", "gradgate_suite", "is missing"},
    {"{\"gradgate_suite\":2,\"name\":\"t\",\"operator\":\"linear\",\"cases\":[]}",
     "gradgate_suite", "must be 1"},
    {"{\"gradgate_suite\":\"1\",\"name\":\"t\",\"operator\":\"linear\",\"cases\":[]}",
     "gradgate_suite", "must be 1"},
    {TOP "\"cases\":[],\"extra\":0}", "extra", "unknown key"},
    {TOP "\"name\":\"u\",\"cases\":[]}", "name", "given twice"},
    {TOP "\"cases\":[]}", "cases", "at least one group"},
    {TOP "\"cases\":{}}", "cases", "must be a list"},
    {TOP "\"cases\":[3]}", "cases[0]", "must be an object"},
    {TOP "\"summary\":7,\"cases\":[]}", "summary", "must be a string"},
    {TOP "\"id\":7,\"cases\":[]}", "id", "must be a string"},
    {TOP "\"id\":\"NQ\",\"cases\":[]}", "id", "Q is no symbol"},
    {TOP "\"id\":\"NN\",\"cases\":[]}", "id", "N is given twice"},
    {"{\"gradgate_suite\":1,\"name\":\"Bad "
     "Name\",\"operator\":\"linear\",\"cases\":[]}",
     "name", "a-z, 0-9 and _"},
    {"{\"gradgate_suite\":1,\"name\":\"\",\"operator\":\"linear\",\"cases\":[]}",
     "name", "1 to 63"},
    {"{\"gradgate_suite\":1,\"name\":\"t\",\"operator\":\"nothing\",\"cases\":[]}",
     "operator", "no operator nothing"},
    {"{\"gradgate_suite\":1,\"name\":\"t\",\"operator\":3,\"cases\":[]}", "operator",
     "must be the name"},
    {TOP "\"cases\":[{\"families\":" NORMAL ",\"seeds\":" SEEDS "}]}", "cases[0]",
     "extents is missing"},
    {TOP "\"cases\":[{\"extents\":" SIZES ",\"seeds\":" SEEDS "}]}", "cases[0]",
     "families is missing"},
    {TOP "\"cases\":[{\"extents\":" SIZES ",\"families\":" NORMAL "}]}", "cases[0]",
     "seeds is missing"},
    {TOP "\"cases\":[{\"size\":1}]}", "cases[0].size", "unknown key"},
    {TOP "\"cases\":[{\"extents\":" SIZES ",\"extents\":" SIZES "}]}",
     "cases[0].extents", "given twice"},
    {GROUP("[1,2]", NORMAL, SEEDS), "cases[0].extents", "must be an object"},
    {GROUP("{\"B\":1,\"R\":1,\"H\":1,\"N\":8}", NORMAL, SEEDS), "cases[0].extents",
     "symbol D is missing"},
    {GROUP("{\"Z\":1}", NORMAL, SEEDS), "cases[0].extents.Z", "no such symbol"},
    {GROUP("{\"BR\":1}", NORMAL, SEEDS), "cases[0].extents.BR", "no such symbol"},
    {GROUP("{\"\":1}", NORMAL, SEEDS), "cases[0].extents.", "no such symbol"},
    {GROUP("{\"B\":1,\"B\":1}", NORMAL, SEEDS), "cases[0].extents.B", "given twice"},
    {GROUP(SIZES_N("0"), NORMAL, SEEDS), "cases[0].extents.N", "from 1 to 16777216"},
    {GROUP(SIZES_N("-8"), NORMAL, SEEDS), "cases[0].extents.N", "not -8"},
    {GROUP(SIZES_N("8.5"), NORMAL, SEEDS), "cases[0].extents.N", "not 8.5"},
    {GROUP(SIZES_N("1e400"), NORMAL, SEEDS), "cases[0].extents.N",
     "from 1 to 16777216"},
    {GROUP(SIZES_N("16777217"), NORMAL, SEEDS), "cases[0].extents.N", "16777216, not 16777217"},
    {GROUP(SIZES_N("16777216"), NORMAL, SEEDS), "cases[0]", "elements; lower"},
    {GROUP(SIZES_N("true"), NORMAL, SEEDS), "cases[0].extents.N", "must be a number"},
    {GROUP(SIZES_N("null"), NORMAL, SEEDS), "cases[0].extents.N", "must be a number"},
    {GROUP(SIZES_N("[]"), NORMAL, SEEDS), "cases[0].extents.N", "is an empty list"},
    {GROUP(SIZES_N("[8,\"x\"]"), NORMAL, SEEDS), "cases[0].extents.N[1]",
     "whole number"},
    {GROUP(SIZES_N("\"Q\""), NORMAL, SEEDS), "cases[0].extents.N", "no symbol named Q"},
    {GROUP(SIZES_N("\"N\""), NORMAL, SEEDS), "cases[0].extents.N", "follows N"},
    {GROUP("{\"B\":1,\"R\":\"N\",\"H\":1,\"N\":\"R\",\"D\":8}", NORMAL, SEEDS),
     "cases[0].extents.R", "follows N"},
    {GROUP(SIZES, "[]", SEEDS), "cases[0].families", "at least one family"},
    {GROUP(SIZES, "\"normal\"", SEEDS), "cases[0].families", "must be a list"},
    {GROUP(SIZES, "[\"normal\",1]", SEEDS), "cases[0].families[1]", "name of a family"},
    {GROUP(SIZES, "[\"gauss\"]", SEEDS), "cases[0].families[0]", "no family gauss"},
    {GROUP(SIZES, "[\"normal\",\"normal\"]", SEEDS), "cases",
     "two cases are both normal-"},
    {GROUP(SIZES, NORMAL, "5"), "cases[0].seeds", "must be an object"},
    {GROUP(SIZES, NORMAL, "{\"first\":0}"), "cases[0].seeds", "count is missing"},
    {GROUP(SIZES, NORMAL, "{\"count\":1}"), "cases[0].seeds", "first is missing"},
    {GROUP(SIZES, NORMAL, "{\"first\":0,\"count\":0}"), "cases[0].seeds.count",
     "from 1 to 100000"},
    {GROUP(SIZES, NORMAL, "{\"first\":-1,\"count\":1}"), "cases[0].seeds.first",
     "not -1"},
    {GROUP(SIZES, NORMAL, "{\"first\":9007199254740993,\"count\":1}"),
     "cases[0].seeds.first", "from 0 to 9007199254740991"},
    {GROUP(SIZES, NORMAL, "{\"first\":\"-1\",\"count\":1}"), "cases[0].seeds.first",
     "no 64-bit seed"},
    {GROUP(SIZES, NORMAL, "{\"first\":\"0x1ffffffffffffffff\",\"count\":1}"),
     "cases[0].seeds.first", "no 64-bit seed"},
    {GROUP(SIZES, NORMAL, "{\"first\":\"0xffffffffffffffff\",\"count\":2}"),
     "cases[0].seeds", "beyond 64 bits"},
    {GROUP(SIZES, NORMAL, "{\"first\":0,\"count\":1,\"step\":2}"),
     "cases[0].seeds.step", "unknown key"},
    {GROUP(SIZES, NORMAL, "{\"first\":0,\"first\":0}"), "cases[0].seeds.first",
     "given twice"},
    {GROUP(SIZES, NORMAL, "{\"first\":0,\"count\":60000}"), "cases[0].seeds",
     "more than 100000 cases"},
    {DTYPES("[]"), "cases[0].dtypes", "must be an object"},
    {DTYPES("{\"p\":\"f32\"}"), "cases[0].dtypes.p", "no such tensor"},
    {DTYPES("{\"q\":\"f32\"}"), "cases[0].dtypes.q", "choose from bf16"},
    {DTYPES("{\"bias\":\"f16\"}"), "cases[0].dtypes.bias", "choose from bf16 f32"},
    {DTYPES("{\"bias\":3}"), "cases[0].dtypes.bias", "name of a type"},
    {DTYPES("{\"dbias\":\"f32\",\"dbias\":\"f32\"}"), "cases[0].dtypes.dbias",
     "given twice"},
};

Test(suite, every_fault_is_refused_with_place_and_reason)
{
    gg_suite suite;
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        const char *text = hostile[i].text;
        gg_status status = gg_suite_parse("x.json", text, strlen(text), &suite);
        const char *message = gg_message();
        cr_expect_eq(status, GG_BAD_INPUT, "accepted: %s", text);
        cr_expect(strncmp(message, "x.json: ", 8) == 0, "%s", message);
        cr_expect_not_null(strstr(message, hostile[i].place), "%s\n%s", text, message);
        cr_expect_not_null(strstr(message, hostile[i].why), "%s\n%s", text, message);
        cr_expect(suite.cases == NULL && suite.count == 0);
    }
}

/* No prefix and no single wrong byte of a suite may crash, or leave cases behind. */
Test(suite, survives_every_truncation_and_byte)
{
    char text[sizeof good];
    gg_suite suite;
    for (size_t n = 0; n + 1 < sizeof good; n++) {
        memcpy(text, good, sizeof good);
        text[n] = '\0';
        cr_assert_eq(gg_suite_parse("x", text, n, &suite), GG_BAD_INPUT, "%zu bytes",
                     n);
    }
    for (size_t n = 0; n + 1 < sizeof good; n++)
        for (int c = 0; c < 256; c += 3) {
            memcpy(text, good, sizeof good);
            text[n] = (char)c;
            if (gg_suite_parse("x", text, sizeof good - 1, &suite) == GG_OK)
                gg_suite_free(&suite);
            else
                cr_assert(suite.cases == NULL && gg_message()[0] != '\0');
        }
}

static void parse(const char *text, gg_suite *suite)
{
    cr_assert_eq(gg_suite_parse("x.json", text, strlen(text), suite), GG_OK, "%s",
                 gg_message());
}

Test(suite, order_is_family_extents_seed)
{
    static const char *const ids[] = {
        "normal-B1-H2-N8-D16-s000",  "normal-B1-H2-N8-D16-s001",
        "normal-B1-H2-N8-D16-s002",  "normal-B1-H2-N16-D16-s000",
        "normal-B1-H2-N16-D16-s001", "normal-B1-H2-N16-D16-s002",
    };
    gg_suite suite;
    parse(good, &suite);
    cr_assert_eq(suite.count, 6);
    for (int i = 0; i < 6; i++) {
        const gg_case *c = &suite.cases[i];
        cr_assert_str_eq(c->id, ids[i]);
        cr_assert_eq(c->extent[1], c->extent[3]); /* R follows N */
        cr_assert_eq(c->seed, (uint64_t)(i % 3));
        cr_assert_eq(c->family, gg_family_find(suite.op, "normal"));
    }
    gg_suite_free(&suite);
    cr_assert_null(suite.cases);
}

Test(suite, types_and_wide_seeds)
{
    gg_suite suite;
    parse(DTYPES("{\"bias\":\"f32\",\"dbias\":\"bf16\",\"dq\":\"f32\"}"), &suite);
    const gg_case *c = &suite.cases[0];
    cr_assert_str_eq(c->id, "normal-B1-H2-N8-D16-bias_f32-dq_f32-dbias_bf16-s000");
    cr_assert_eq(c->input_dtype[gg_tensor_find(suite.op->inputs, "bias")], GG_F32);
    cr_assert_eq(c->input_dtype[gg_tensor_find(suite.op->inputs, "q")], GG_BF16);
    cr_assert_eq(c->output_dtype[gg_tensor_find(suite.op->outputs, "dbias")], GG_BF16);
    cr_assert_eq(c->output_dtype[gg_tensor_find(suite.op->outputs, "dk")], GG_BF16);
    gg_suite_free(&suite);
    parse(GROUP(SIZES, NORMAL, "{\"first\":\"0xfffffffffffffffe\",\"count\":2}"),
          &suite);
    cr_assert_eq(suite.cases[1].seed, UINT64_MAX);
    cr_assert_str_eq(suite.cases[1].id, "normal-B1-H2-N8-D16-s18446744073709551615");
    gg_suite_free(&suite);
}

Test(suite, too_long_an_id_is_refused)
{
    gg_suite suite;
    const char *text = TOP
        "\"cases\":[{\"extents\":{\"B\":1,\"R\":16777216,\"H\":1,\"N\":128,\"D\":128},"
        "\"families\":[\"nan_padding_lengths\"],"
        "\"seeds\":{\"first\":\"18446744073709551615\",\"count\":1},\"dtypes\":"
        "{\"bias\":\"f32\",\"dq\":\"f32\",\"dk\":\"f32\",\"dv\":\"f32\","
        "\"dbias\":\"bf16\"}}]}";
    cr_assert_eq(gg_suite_parse("x.json", text, strlen(text), &suite), GG_BAD_INPUT);
    cr_assert_not_null(strstr(gg_message(), "longer than 95 characters"), "%s",
                       gg_message());
}

Test(suite, as_many_cases_as_allowed)
{
    gg_suite suite;
    parse(GROUP(SIZES, NORMAL, "{\"first\":0,\"count\":50000}"), &suite);
    cr_assert_eq(suite.count, 100000);
    cr_assert_str_eq(suite.cases[99999].id, "normal-B1-H2-N16-D16-s49999");
    gg_suite_free(&suite);
}

static void write_file(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(text, 1, bytes, file), bytes);
    fclose(file);
}

static void refused(const char *path, const char *why)
{
    gg_suite suite;
    cr_expect_eq(gg_suite_load(path, &suite), GG_BAD_INPUT, "%s", path);
    cr_expect_not_null(strstr(gg_message(), why), "%s", gg_message());
}

Test(suite, what_is_no_suite_file_is_refused)
{
    char folder[] = "/tmp/gradgate_suite_XXXXXX", path[64];
    cr_assert_not_null(mkdtemp(folder));
    refused(folder, "is not a file");
    snprintf(path, sizeof path, "%s/none.json", folder);
    refused(path, "No such file");
    snprintf(path, sizeof path, "%s/fifo.json", folder);
    cr_assert_eq(mkfifo(path, 0600), 0);
    refused(path, "is not a file"); /* and does not wait for a writer */
    unlink(path);
    snprintf(path, sizeof path, "%s/big.json", folder);
    char *big = malloc(GG_SUITE_MAX_BYTES + 1);
    cr_assert_not_null(big);
    memset(big, ' ', GG_SUITE_MAX_BYTES + 1);
    write_file(path, big, GG_SUITE_MAX_BYTES + 1);
    refused(path, "larger than 1048576 bytes");
    write_file(path, big, GG_SUITE_MAX_BYTES);
    refused(path, "is empty");
    write_file(path, "{\0}", 3);
    refused(path, "a NUL byte");
    unlink(path);
    rmdir(folder);
    free(big);
}

Test(suite, own_folder_comes_first)
{
    char folder[] = "/tmp/gradgate_suite_XXXXXX", path[64];
    gg_suite suite;
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/paper600.json", folder);
    write_file(path, good, sizeof good - 1);
    setenv("GRADGATE_SUITES", folder, 1);
    cr_assert_eq(gg_suite_load("paper600", &suite), GG_OK, "%s", gg_message());
    cr_expect_eq(suite.count, 6);
    gg_suite_free(&suite);
    cr_expect_eq(gg_suite_load("smoke600", &suite), GG_OK, "%s", gg_message());
    gg_suite_free(&suite);
    unlink(path);
    rmdir(folder);
}

Test(suite, unknown_name_lists_the_known)
{
    refused("paper60", "no suite named 'paper60'; known: bench determinism "
                       "determinism_host determinism_linear edges families600 honest200 linear60 "
                       "paper600");
    refused("", "no suite named ''; known");
    refused("..", "no suite named '..'");
}

/* Built-in suites: their size is what their name says, and each loads. */
Test(suite, built_in_suites)
{
    static const struct {
        const char *name;
        int least, most;
    } built_in[] = {
        {"bench", 8, 8},           {"determinism", 12, 20},
        {"determinism_host", 8, 20}, {"determinism_linear", 4, 8},
        {"edges", 84, 84},         {"families600", 600, 600}, {"honest200", 200, 200},
        {"linear60", 60, 60},      {"paper600", 600, 600},
        {"probes", 150, 400},      {"selftest", 60, 120},       {"selftest_linear", 10, 40},
        {"smoke600", 600, 600},    {"twin300", 300, 360},
        {"twin32", 300, 360},      {"twin64", 120, 160},       {"types", 552, 552},
    };
    char **names = gg_suite_names();
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++) {
        gg_suite suite;
        cr_assert_str_eq(names[i], built_in[i].name);
        cr_assert_eq(gg_suite_load(names[i], &suite), GG_OK, "%s", gg_message());
        cr_expect_str_eq(suite.name, names[i]);
        cr_expect(suite.count >= built_in[i].least && suite.count <= built_in[i].most,
                  "%s has %d cases", names[i], suite.count);
        cr_expect(suite.summary[0] != '\0' && suite.digest != 0);
        gg_suite_free(&suite);
    }
    cr_assert_null(names[sizeof built_in / sizeof built_in[0]]);
    gg_suite_names_free(names);
}

Test(suite, paper_ids_and_globs)
{
    gg_suite suite;
    int matched = 0;
    cr_assert_eq(gg_suite_load("paper600", &suite), GG_OK);
    cr_assert_str_eq(suite.cases[7].id, "normal-N384-D16-s007");
    cr_assert_str_eq(suite.cases[100].id, "normal-N384-D32-s000"); /* D goes first */
    cr_assert_str_eq(suite.cases[200].id, "normal-N640-D16-s000");
    cr_assert_str_eq(suite.cases[599].id, "normal-N768-D32-s099");
    for (int i = 0; i < suite.count; i++)
        matched += gg_case_matches(&suite.cases[i], "*-N640-D[13]?-s0?5");
    cr_assert_eq(matched, 20);
    cr_assert(!gg_case_matches(&suite.cases[0], "normal"));
    gg_suite_free(&suite);
}
