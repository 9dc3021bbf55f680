/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/bench.h"
#include "harness/commands.h"
#include "kernels/registry.h"
#include "reports/file_out.h"

static const char suite[] =
    "{\"gradgate_suite\":1,\"name\":\"small\",\"operator\":\"triangle_attention\","
    "\"id\":\"ND\",\"cases\":[{\"extents\":{\"B\":1,\"R\":\"N\",\"H\":2,\"N\":[8,16,24],"
    "\"D\":16},\"families\":[\"normal\"],\"seeds\":{\"first\":0,\"count\":1}}]}";

static char folder[] = "/tmp/gradgate-bench-XXXXXX";
static char path[4][64];
static gg_bench bench;

static void put(const char *file, const char *text)
{
    FILE *out = fopen(file, "w");
    cr_assert_not_null(out);
    fputs(text, out);
    fclose(out);
}

static void begin(void)
{
    static const char *const names[] = {"suite.json", "peers.jsonl", "out.json", "out.md"};
    cr_assert_not_null(mkdtemp(folder));
    for (int i = 0; i < 4; i++)
        snprintf(path[i], sizeof path[i], "%s/%s", folder, names[i]);
    put(path[0], suite);
}

static void end(void)
{
    gg_bench_free(&bench);
    for (int i = 0; i < 4; i++) unlink(path[i]);
    rmdir(folder);
}

TestSuite(bench, .init = begin, .fini = end);

static gg_status run(const gg_kernel *const *trial, const char *peers)
{
    gg_bench_options o = {.suite = path[0], .kernels = "turbo", .device = "host",
                          .reps = 3, .threads = 2, .peers = peers};
    return gg_bench_run(&o, trial, &bench);
}

static char *slurp(const char *file)
{
    static char text[1 << 18];
    FILE *in = fopen(file, "r");
    cr_assert_not_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    return text;
}

static int command(const char *const *arguments)
{
    char *argv[24] = {(char *)(uintptr_t)"bench"};
    int argc = 1;
    for (; arguments[argc - 1] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)arguments[argc - 1];
    optind = 1;
    cr_assert_not_null(freopen("/dev/null", "w", stdout));
    cr_assert_not_null(freopen("/dev/null", "w", stderr));
    return gg_command_bench.run(argc, argv);
}

#define COMMAND(...) command((const char *const[]){__VA_ARGS__, NULL})

/* Kernels that are fast, or seem to be. */
static int nothing(const gg_call *call) { return call == NULL; }

static int half_wrong(const gg_call *call)
{
    int error = gg_ta_turbo_twin.backward(call);
    uint16_t *dq = call->outputs[1]->data;
    dq[7] ^= 0x0040u;
    return error;
}

static int drifting(const gg_call *call)
{
    static int calls;
    int error = gg_ta_turbo_twin.backward(call);
    ((float *)call->outputs[4]->data)[3] *= 1 + 1e-6f * (float)(calls++ & 1);
    return error;
}

/* Remembers the first inputs it saw: right on them, stale on all others. */
static int stale(const gg_call *call)
{
    static int calls;
    return calls++ == 0 ? gg_ta_turbo_twin.forward(call) : 0;
}

static int greedy(const gg_call *call)
{
    ((uint16_t *)call->inputs[0]->data)[0] ^= 1u;
    return gg_ta_turbo_twin.backward(call);
}

static const char *refuse(const gg_call *call)
{
    return call->inputs[0]->shape[3] == 16 ? "not 16" : gg_ta_turbo_twin.supports(call);
}

static int broken(const gg_call *call) { return call != NULL ? 5 : 0; }

static gg_kernel made_of_turbo(const char *name)
{
    gg_kernel k = gg_ta_turbo_twin;
    k.name = name;
    return k;
}

static const gg_bench_entry *entry(int at, const char *kernel)
{
    for (int i = 0; i < bench.entry_count; i++)
        if (bench.entries[i].at == at && strcmp(bench.entries[i].kernel, kernel) == 0)
            return &bench.entries[i];
    cr_assert_fail("no entry %s", kernel);
    return NULL;
}

Test(bench, right_kernels_are_timed_ranked_and_fitted)
{
    const gg_kernel *kernels[] = {&gg_ta_turbo_twin, &gg_ta_recompute_twin, NULL};
    cr_assert_eq(run(kernels, NULL), GG_OK, "%s", gg_message());
    cr_assert_eq(gg_bench_verdict(&bench), GG_PASSED);
    cr_assert_eq(bench.case_count, 3);
    cr_assert_eq(bench.entry_count, 6);
    int ranks = 0;
    for (int i = 0; i < 6; i++) {
        const gg_bench_entry *e = &bench.entries[i];
        cr_expect(e->verdict == GG_PASSED && e->same_bits == 1, "%s", e->reason);
        cr_expect(e->forward.median > 0 && e->total.median > 0);
        cr_expect_eq(e->total.count, 3);
        cr_expect(e->output_count == 5 && e->graded > 1 && e->graded < 3);
        cr_expect_eq(e->extra_bytes, (double)(e->saved_bytes + e->workspace_bytes));
        ranks += e->rank;
    }
    cr_expect(ranks >= 6 && ranks <= 9);
    cr_assert_eq(bench.growth_count, 2);
    cr_expect_eq(bench.growth[0].sizes, 3);
    cr_expect(isfinite(bench.growth[0].total));
    cr_expect_str_eq(bench.growth[0].group, "normal B=1 H=2 D=16");
    cr_expect_gt(bench.cases[0].sets, 1);
    cr_expect_eq(bench.cases[0].cost.flops[0], 4.0 * 8 * 8 * 8 * 2 * 16);
    cr_expect_eq(bench.cases[0].cost.exponentials[1], 8.0 * 8 * 8 * 2);
}

Test(bench, wrong_kernels_are_caught_and_not_ranked)
{
    gg_kernel lazy = made_of_turbo("lazy"), wrong = made_of_turbo("wrong");
    gg_kernel old = made_of_turbo("old"), drift = made_of_turbo("drift");
    lazy.forward = lazy.backward = nothing;
    wrong.backward = half_wrong;
    old.forward = stale;
    drift.backward = drifting;
    const gg_kernel *kernels[] = {&gg_ta_turbo_twin, &lazy, &wrong, &old, &drift, NULL};
    cr_assert_eq(run(kernels, NULL), GG_OK, "%s", gg_message());
    cr_assert_eq(gg_bench_verdict(&bench), GG_FAILED);
    static const char *const names[] = {"lazy", "wrong", "old", "drift"};
    for (int i = 0; i < 4; i++) {
        const gg_bench_entry *e = entry(2, names[i]);
        cr_expect_eq(e->verdict, GG_FAILED, "%s passed", names[i]);
        cr_expect_eq(e->rank, 0);
        cr_expect_str_eq(gg_bench_caveat(e, entry(2, "turbo")), "wrong: no ratio");
        cr_expect_str_neq(e->reason, "");
    }
    cr_expect_eq(entry(2, "drift")->same_bits, 0);
    cr_expect_eq(entry(2, "turbo")->rank, 1);
    cr_expect_eq(entry(2, "turbo")->ranked, 1);
    cr_expect_eq(bench.growth_count, 1);
}

Test(bench, bits_may_differ_where_none_were_promised)
{
    gg_kernel drift = made_of_turbo("drift");
    drift.backward = drifting;
    drift.repeat = GG_REPEAT_NOT_GUARANTEED;
    const gg_kernel *kernels[] = {&drift, NULL};
    cr_assert_eq(run(kernels, NULL), GG_OK);
    cr_expect_eq(entry(0, "drift")->verdict, GG_PASSED, "%s", entry(0, "drift")->reason);
    cr_expect_eq(entry(0, "drift")->same_bits, 0);
}

Test(bench, changed_inputs_spoil_what_follows)
{
    gg_kernel eater = made_of_turbo("eater");
    eater.backward = greedy;
    const gg_kernel *kernels[] = {&eater, &gg_ta_turbo_twin, NULL};
    cr_assert_eq(run(kernels, NULL), GG_OK);
    cr_expect_eq(entry(0, "eater")->verdict, GG_FAILED);
    cr_expect_eq(entry(0, "turbo")->verdict, GG_NOT_VERIFIED);
    cr_expect_eq(gg_bench_verdict(&bench), GG_FAILED);
}

Test(bench, declined_and_broken)
{
    gg_kernel choosy = made_of_turbo("choosy"), dead = made_of_turbo("dead");
    choosy.supports = refuse;
    dead.backward = broken;
    const gg_kernel *kernels[] = {&choosy, &gg_ta_turbo_twin, NULL, NULL};
    cr_assert_eq(run(kernels, NULL), GG_OK);
    cr_expect(entry(1, "choosy")->declined && !entry(0, "choosy")->declined);
    cr_expect_not_null(strstr(entry(1, "choosy")->reason, "not 16"));
    cr_expect_eq(gg_bench_verdict(&bench), GG_PASSED);
    gg_bench_free(&bench);
    kernels[2] = &dead;
    cr_assert_eq(run(kernels, NULL), GG_OK);
    cr_expect_eq(entry(0, "dead")->verdict, GG_NOT_VERIFIED);
    cr_expect_eq(gg_bench_verdict(&bench), GG_NOT_VERIFIED);
}

Test(bench, exponent_of_a_power_law)
{
    double x[] = {384, 640, 768, 384}, y[4];
    for (int i = 0; i < 4; i++) y[i] = 3e-9 * pow(x[i], 2.75);
    cr_expect_float_eq(gg_fit_exponent(x, y, 4), 2.75, 1e-12);
    cr_expect(isnan(gg_fit_exponent(x, y, 1)));
    x[1] = x[2] = 384;
    cr_expect(isnan(gg_fit_exponent(x, y, 4)));
}

Test(bench, median_and_spread)
{
    gg_times t = {.count = 4, .sample = {4, 1, 3, 2}};
    gg_times_settle(&t);
    cr_expect(t.median == 2.5 && t.least == 1 && t.most == 4);
    cr_expect_eq(gg_times_spread(&t), 3 / 2.5);
    t.count = 3;
    gg_times_settle(&t);
    cr_expect_eq(t.median, 3);
    t.count = 0;
    gg_times_settle(&t);
    cr_expect(isnan(t.median));
}

Test(bench, classes_of_precision)
{
    cr_expect_eq(gg_precision_of(1.0), GG_PRECISION_FLOOR);
    cr_expect_eq(gg_precision_of(1.02), GG_PRECISION_FLOOR);
    cr_expect_eq(gg_precision_of(1.0201), GG_PRECISION_FINE);
    cr_expect_eq(gg_precision_of(2), GG_PRECISION_FAIR);
    cr_expect_eq(gg_precision_of(2.01), GG_PRECISION_COARSE);
    cr_expect_eq(gg_precision_of(NAN), GG_PRECISION_COARSE);
    gg_bench_entry a = {.verdict = GG_PASSED, .precision = GG_PRECISION_FLOOR,
                        .total.median = 1}, b = a;
    cr_expect_str_eq(gg_bench_caveat(&a, &b), "");
    b.precision = GG_PRECISION_FAIR;
    cr_expect_str_eq(gg_bench_caveat(&a, &b), "confounded by precision");
    b.precision = GG_PRECISION_UNKNOWN;
    cr_expect_str_eq(gg_bench_caveat(&a, &b), "precision not known");
}

Test(bench, peaks_by_name)
{
    const char *source;
    cr_expect_eq(gg_bench_peak("NVIDIA H200, 132 multiprocessors", &source), 790e12);
    cr_expect_eq(gg_bench_peak("NVIDIA Z9000", &source), 0);
    cr_expect_str_eq(source, "unknown");
}

Test(bench, clocks_as_the_tool_tells_them)
{
    gg_backend gpu = {.device = kDLCUDA, .uuid = "00112233445566778899aabbccddeeff"};
    gg_backend host = {.device = kDLCPU};
    char tool[80], text[200];
    snprintf(tool, sizeof tool, "%s/nvidia-smi", folder);
    setenv("PATH", folder, 1);
    gg_bench_clocks(&gpu, text, sizeof text);
    cr_expect_str_eq(text, "not read"); /* no tool */
    put(tool, "#!/bin/sh\n[ \"$2\" = GPU-00112233-4455-6677-8899-aabbccddeeff ] || exit 1\n"
              "echo '1785, 1980, 3201, 41, 512.30'\n");
    chmod(tool, 0700);
    gg_bench_clocks(&gpu, text, sizeof text);
    cr_expect_str_eq(text, "SM 1785 of 1980 MHz, memory 3201 MHz, 41 C, 512.30 W");
    gpu.uuid[0] = '7';
    gg_bench_clocks(&gpu, text, sizeof text);
    cr_expect_str_eq(text, "not read"); /* another card */
    gg_bench_clocks(&host, text, sizeof text);
    cr_expect_str_eq(text, "not read");
    unlink(tool);
}

static const char peers[] =
    "{\"about\": \"torch, own inputs\"}\n\n"
    "{\"kernel\": \"fine\", \"N\": 24, \"D\": 16, \"forward_ms\": 1, \"total_ms\": 2,"
    " \"same_bits\": true, \"peak_extra_bytes\": 1048576,"
    " \"rmse\": {\"dq\": 1.0e-4}, \"floor\": {\"dq\": 1.0e-4}}\n"
    "{\"kernel\": \"absent\", \"N\": 24, \"D\": 16, \"reason\": \"no such module\"}\n"
    "{\"kernel\": \"other\", \"N\": 24, \"D\": 16, \"forward_ms\": 1, \"total_ms\": 2,"
    " \"rmse\": {\"dq\": 1}, \"floor\": {\"dq\": 1e-4}}\n"
    "{\"kernel\": \"fine\", \"N\": 25, \"D\": 16, \"forward_ms\": 1, \"total_ms\": 2}\n";

Test(bench, peers_stand_beside)
{
    const gg_kernel *kernels[] = {&gg_ta_turbo_twin, NULL};
    put(path[1], peers);
    cr_assert_eq(run(kernels, path[1]), GG_OK, "%s", gg_message());
    cr_assert_eq(bench.entry_count, 6);
    cr_expect_eq(bench.peers_unmatched, 1);
    const gg_bench_entry *fine = entry(2, "fine");
    cr_expect(fine->peer && fine->precision == GG_PRECISION_FLOOR && fine->rank == 1);
    cr_expect_str_eq(gg_bench_caveat(fine, entry(2, "turbo")), "confounded by precision");
    cr_expect_eq(entry(2, "absent")->verdict, GG_NOT_VERIFIED);
    cr_expect_eq(entry(2, "other")->verdict, GG_FAILED);
    cr_expect_eq(gg_bench_verdict(&bench), GG_PASSED); /* of our kernels */
    cr_assert_eq(gg_file_write(path[3], "bench", gg_bench_markdown, &bench), GG_OK);
    const char *text = slurp(path[3]);
    cr_expect_not_null(strstr(text, "fine (peer)"));
    cr_expect_not_null(strstr(text, "confounded by precision"));
    cr_expect_not_null(strstr(text, "torch, own inputs"));
}

Test(bench, json_has_what_it_should)
{
    static const char *const keys[] = {"schema", "verdict", "suite", "device", "reps",
                                       "environment", "cases", "entries", "growth"};
    static const char *const figures[] = {"case", "kernel", "peer", "outcome", "forward",
                                          "total", "total_tflops", "saved_bytes",
                                          "workspace_bytes", "same_bits", "precision",
                                          "rank", "outputs", "graded_rmse_over_floor"};
    int code = COMMAND("--suite", path[0], "--kernel", "turbo,naive", "--reps", "3",
                       "--out", path[2], "--markdown", path[3], "--case", "*-N24-*");
    cr_assert_eq(code, GG_EXIT_PASSED);
    cJSON *json = cJSON_Parse(slurp(path[2]));
    cr_assert_not_null(json);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        cr_expect_not_null(cJSON_GetObjectItem(json, keys[i]), "%s", keys[i]);
    const cJSON *entries = cJSON_GetObjectItem(json, "entries");
    cr_assert_eq(cJSON_GetArraySize(entries), 2);
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        cr_expect_not_null(cJSON_GetObjectItem(entries->child, figures[i]), "%s",
                           figures[i]);
    const cJSON *total = cJSON_GetObjectItem(entries->child, "total");
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(total, "samples_ms")), 3);
    cJSON_Delete(json);
}

/* Digits that six places would round, and four then once more. */
Test(bench, a_page_made_later_is_the_same)
{
    gg_bench again;
    bool is_bench;
    cr_assert_eq(run(NULL, NULL), GG_OK);
    for (int i = 0; i < bench.entry_count; i++) {
        for (int s = 0; s < bench.entries[i].forward.count; s++)
            bench.entries[i].forward.sample[s] = 10.2649996;
        gg_times_settle(&bench.entries[i].forward);
    }
    cr_assert_eq(gg_bench_derive(&bench), GG_OK);
    cr_assert_eq(gg_file_write(path[2], "bench", gg_bench_json, &bench), GG_OK);
    cr_assert_eq(gg_file_write(path[3], "bench", gg_bench_markdown, &bench), GG_OK);
    char *then = strdup(slurp(path[3]));
    cr_assert_not_null(strstr(then, "10.26 ("));
    cr_assert_eq(gg_bench_read(path[2], &again, &is_bench), GG_OK, "%s", gg_message());
    cr_assert_eq(gg_file_write(path[3], "bench", gg_bench_markdown, &again), GG_OK);
    cr_expect_str_eq(slurp(path[3]), then);
    gg_bench_free(&again);
    free(then);
}

Test(bench, usage)
{
    cr_expect_eq(COMMAND("--suite", path[0]), GG_EXIT_USAGE);
    cr_expect_eq(COMMAND("--kernel", "turbo"), GG_EXIT_USAGE);
    cr_expect_eq(COMMAND("--suite", path[0], "--kernel", "turbo,,naive"), GG_EXIT_USAGE);
    cr_expect_eq(COMMAND("--suite", path[0], "--kernel", "turbo,"), GG_EXIT_USAGE);
    cr_expect_eq(COMMAND("--suite", path[0], "--kernel", "warp9"), GG_EXIT_USAGE);
    cr_expect_eq(COMMAND("--suite", path[0], "--kernel", "turbo", "--reps", "0"),
                 GG_EXIT_USAGE);
    cr_expect_eq(COMMAND("--suite", path[0], "--kernel", "turbo", "--case", "z*"),
                 GG_EXIT_USAGE);
    cr_expect_eq(COMMAND("--suite", path[0], "--kernel", "turbo", "--frob"), GG_EXIT_USAGE);
    cr_expect_eq(COMMAND("--suite", path[0], "--kernel", "turbo", "--peers", "/nowhere"),
                 GG_EXIT_USAGE);
}

Test(bench, bad_lines_of_peers)
{
    static const char *const bad[] = {
        "", "\n \n", "{", "[1]", "3", "{}", "not json",
        "{\"kernel\":\"a\",\"total_ms\":1}",                      /* no extent */
        "{\"kernel\":\"a\",\"N\":8}",                             /* no time, no reason */
        "{\"kernel\":\"a\",\"N\":8,\"total_ms\":0}",
        "{\"kernel\":\"a\",\"N\":8,\"total_ms\":-1}",
        "{\"kernel\":\"a\",\"N\":8,\"total_ms\":\"1\"}",
        "{\"kernel\":\"a\",\"N\":8,\"total_ms\":1e999}",
        "{\"kernel\":\"a\",\"N\":8,\"total_ms\":NaN}",
        "{\"kernel\":7,\"N\":8,\"total_ms\":1}",
        "{\"kernel\":\"a\",\"N\":8.5,\"total_ms\":1}",
        "{\"kernel\":\"a\",\"N\":8,\"total_ms\":1,\"same_bits\":1}",
        "{\"kernel\":\"a\",\"N\":8,\"total_ms\":1,\"rmse\":3}",
        "{\"kernel\":\"a\",\"N\":8,\"total_ms\":1,\"rmse\":{\"dx\":1}}",
        "{\"kernel\":\"a\",\"N\":8,\"total_ms\":1,\"speed\":9}",
        "{\"kernel\":\"a\",\"N\":8,\"total_ms\":1} {}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put(path[1], bad[i]);
        cr_expect_eq(COMMAND("--suite", path[0], "--kernel", "turbo", "--peers", path[1]),
                     GG_EXIT_USAGE, "accepted: %s", bad[i]);
    }
}
