/* SPDX-License-Identifier: Apache-2.0
 * The levels of determinism on small cases of the host: what passes, what fails, and what
 * proves nothing. Fresh processes are for harness/determinism_test.sh: a test program
 * that starts itself would run its tests again. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/levels.h"
#include "kernels/registry.h"

TestSuite(levels, .timeout = 120);

#define ONLY(level) (1u << (level))

/* The level of a linear case, measured with this kernel and control. */
static gg_level_record measured(const gg_kernel *kernel, const gg_kernel *control,
                                gg_level level, gg_backend *backend)
{
    gg_suite suite;
    gg_case_record *record = malloc(sizeof *record);
    cr_assert_eq(gg_suite_load("determinism_linear", &suite), GG_OK, "%s", gg_message());
    gg_plan plan = {.backend = backend, .suite = &suite, .kernel = kernel, .ablated = -1,
                    .repeats = 2, .certify = -1, .levels = ONLY(level), .level_runs = 12,
                    .control = control};
    gg_arena arena = {.backend = backend};
    cr_assert_not_null(record);
    gg_case_run(&plan, 0, &arena, record);
    cr_assert_eq(record->level_count, 1, "%s", record->reason);
    gg_level_record result = record->levels[0];
    cr_assert_eq(gg_verdict_worse(record->verdict, result.verdict), record->verdict);
    gg_arena_free(&arena);
    gg_suite_free(&suite);
    free(record);
    return result;
}

static gg_backend host(void)
{
    gg_backend backend;
    cr_assert_eq(gg_backend_open("host", 2, &backend), GG_OK);
    return backend;
}

#define PLAIN (&gg_linear_plain_twin)
#define SCATTERED (&gg_linear_scattered_host)

Test(levels, an_honest_kernel_passes)
{
    gg_backend b = host();
    for (int level = GG_LEVEL_IDLE; level <= GG_LEVEL_PLACEMENT; level++) {
        if (level == GG_LEVEL_LOAD) b.overlap_least = 0; /* the machine may be busy */
        gg_level_record r = measured(PLAIN, SCATTERED, (gg_level)level, &b);
        cr_expect_eq(r.verdict, GG_PASSED, "%s: %s", r.name, r.note);
        cr_expect_eq(r.runs, 12);
        cr_expect_eq(r.control_differed, 1);
        cr_expect_str_eq(r.control, "scattered");
        cr_expect_str_eq(r.note, "");
    }
}

Test(levels, sums_in_any_order_fail_and_are_located)
{
    gg_backend b = host();
    for (int level = GG_LEVEL_IDLE; level <= GG_LEVEL_PLACEMENT; level++) {
        gg_level_record r = measured(SCATTERED, SCATTERED, (gg_level)level, &b);
        cr_expect_eq(r.verdict, GG_FAILED, "%s: %s", r.name, r.note);
        cr_assert_geq(r.difference_count, 1);
        cr_expect_geq(r.differed, r.differences[0].runs);
        cr_expect_geq(r.differences[0].differing, 1);
        cr_expect_geq(r.differences[0].ulps, 1);
        cr_expect_neq(r.differences[0].bits[0], r.differences[0].bits[1]);
        cr_expect_not_null(strstr(r.note, "0x"), "%s", r.note);
    }
}

Test(levels, a_control_that_never_differs_proves_nothing)
{
    gg_backend b = host();
    gg_level_record r = measured(PLAIN, PLAIN, GG_LEVEL_IDLE, &b);
    cr_assert_eq(r.verdict, GG_NOT_VERIFIED);
    cr_assert_eq(r.control_differed, 0);
    cr_assert_eq(r.control_runs, 20);
    cr_assert_not_null(strstr(r.note, "cannot show a race"), "%s", r.note);
    r = measured(PLAIN, NULL, GG_LEVEL_IDLE, &b);
    cr_assert_eq(r.verdict, GG_NOT_VERIFIED);
    cr_assert_not_null(strstr(r.note, "no control"), "%s", r.note);
}

/* A load whose threads or streams never run beside the kernel. */
static gg_status no_open(const gg_backend *b, gg_load **load)
{
    (void)b;
    *load = malloc(1);
    return GG_OK;
}
static gg_status no_start(gg_load *load, double seconds)
{
    (void)load, (void)seconds;
    return GG_OK;
}
static gg_status no_stop(gg_load *load, double *shared, double *seconds)
{
    (void)load;
    *shared = 0, *seconds = 1;
    return GG_OK;
}
static void no_close(gg_load *load) { free(load); }

Test(levels, a_load_that_was_not_there_proves_nothing)
{
    gg_backend b = host();
    b.load_open = no_open;
    b.load_start = no_start;
    b.load_stop = no_stop;
    b.load_close = no_close;
    unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
    gg_level_record r = measured(PLAIN, SCATTERED, GG_LEVEL_LOAD, &b);
    cr_assert_eq(r.verdict, GG_NOT_VERIFIED);
    cr_assert_eq(r.overlap, 0);
    cr_assert_eq(r.runs, 1, "a run without load does not count");
    cr_assert_not_null(strstr(r.note, "during 0 %"), "%s", r.note);
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
    r = measured(PLAIN, SCATTERED, GG_LEVEL_LOAD, &b);
    cr_assert_eq(r.verdict, GG_NOT_VERIFIED);
    cr_assert_not_null(strstr(r.note, "unset CUDA_DEVICE_MAX_CONNECTIONS=1"), "%s", r.note);
}

Test(levels, a_process_that_cannot_be_started_proves_nothing)
{
    gg_backend b = host();
    gg_level_record r = measured(PLAIN, SCATTERED, GG_LEVEL_PROCESS, &b);
    cr_assert_eq(r.verdict, GG_NOT_VERIFIED);
    cr_assert_eq(r.runs, 1);
    cr_assert_str_neq(r.note, "");
}

Test(levels, the_load_of_the_host_runs_and_stops)
{
    gg_backend b = host();
    gg_load *load;
    double shared, seconds, busy = 0;
    cr_assert_eq(b.load_open(&b, &load), GG_OK, "%s", gg_message());
    for (int turn = 0; turn < 3; turn++) {
        volatile double sum = 0;
        cr_assert_eq(b.load_start(load, 2), GG_OK);
        for (int i = 0; i < 20000000; i++) sum = sum + 1;
        cr_assert_eq(b.load_stop(load, &shared, &seconds), GG_OK);
        cr_assert(shared >= 0 && shared <= seconds);
        busy += shared;
    }
    cr_assert_gt(busy, 0);
    b.load_close(load);
    b.load_close(NULL);
}

Test(levels, are_named_on_the_command_line)
{
    unsigned set;
    char text[96];
    cr_assert_eq(gg_levels_parse("all", &set), GG_OK);
    cr_assert_eq(set, (1u << GG_LEVELS) - 1);
    gg_levels_text(set, text, sizeof text);
    cr_assert_str_eq(text, "idle load placement process twin");
    cr_assert_eq(gg_levels_parse("load,idle", &set), GG_OK);
    cr_assert_eq(set, ONLY(GG_LEVEL_IDLE) | ONLY(GG_LEVEL_LOAD));
    cr_assert_eq(gg_levels_parse("idle,load,placement,process,twin", &set), GG_OK);
    cr_assert_eq(set, (1u << GG_LEVELS) - 1);
    static const char *const wrong[] = {"", "idl", "idle,", "idle,,load", "idle load", ",idle",
                                        "all,idle", "IDLE"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect_eq(gg_levels_parse(wrong[i], &set), GG_BAD_INPUT, "'%s'", wrong[i]);
        cr_expect_not_null(strstr(gg_message(), "--levels takes"));
    }
}
