/* SPDX-License-Identifier: Apache-2.0
 * The levels of determinism on small cases of the host: what passes, what fails, and what
 * proves nothing. Fresh processes are for harness/determinism_test.sh: a test program
 * that starts itself would run its tests again. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "harness/levels.h"
#include "kernels/mutant.h"
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

Test(levels, a_twin_that_is_named_and_cannot_be_tried_is_missed)
{
    gg_backend b = host();
    gg_level_record r = measured(PLAIN, SCATTERED, GG_LEVEL_TWIN, &b);
    cr_assert_eq(r.verdict, GG_NOT_VERIFIED);
    cr_assert_str_eq(r.name, "twin");
    cr_assert_not_null(strstr(r.note, "too long"), "%s", r.note);
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

Test(levels, a_kernel_beside_itself_passes)
{
    gg_backend b = host();
    b.overlap_least = 0; /* the machine may be busy */
    gg_level_record r = measured(PLAIN, SCATTERED, GG_LEVEL_TOGETHER, &b);
    cr_expect_eq(r.verdict, GG_PASSED, "%s", r.note);
    cr_expect_eq(r.runs, 12);
    cr_expect_str_eq(r.control, "plain sharing workspace");
    cr_expect_eq(r.control_differed, 1);
}

/* `plain`, with dx gathered in one place for all calls. */
static int gathers(const gg_call *call)
{
    static unsigned char place[1 << 16];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int error = PLAIN->backward(call);
    const DLTensor *dx = call->outputs[1];
    size_t bytes = (size_t)(dx->shape[0] * dx->shape[1]) * (dx->dtype.bits / 8u);
    cr_assert_leq(bytes, sizeof place);
    pthread_mutex_lock(&lock);
    memcpy(place, dx->data, bytes);
    pthread_mutex_unlock(&lock);
    gg_meet_another_call();
    pthread_mutex_lock(&lock);
    memcpy(dx->data, place, bytes);
    pthread_mutex_unlock(&lock);
    return error;
}

Test(levels, a_kernel_that_shares_memory_with_itself_fails_beside_itself_alone)
{
    gg_backend b = host();
    gg_kernel kernel = *PLAIN;
    kernel.backward = gathers;
    gg_level_record r = measured(&kernel, SCATTERED, GG_LEVEL_IDLE, &b);
    cr_expect_eq(r.verdict, GG_PASSED, "%s", r.note);
    r = measured(&kernel, SCATTERED, GG_LEVEL_TOGETHER, &b);
    cr_expect_eq(r.verdict, GG_FAILED, "%s", r.note);
    cr_expect_geq(r.overlap, b.overlap_least);
    cr_assert_eq(r.difference_count, 1);
    cr_expect_str_eq(r.differences[0].output, "dx");
}

static gg_status (*run_at_once)(gg_streams *, int, int, gg_half_call *, void *, gg_span *,
                                int *);

static gg_status run_in_turn(gg_streams *s, int first, int count, gg_half_call *half,
                             void *context, gg_span *spans, int *errors)
{
    for (int i = first; i < first + count; i++)
        cr_assert_eq(run_at_once(s, i, 1, half, context, spans, errors), GG_OK);
    return GG_OK;
}

Test(levels, calls_that_did_not_meet_prove_nothing)
{
    gg_backend b = host();
    run_at_once = b.streams_run;
    b.streams_run = run_in_turn;
    gg_level_record r = measured(PLAIN, SCATTERED, GG_LEVEL_TOGETHER, &b);
    cr_expect_eq(r.verdict, GG_NOT_VERIFIED);
    cr_expect_lt(r.overlap, b.overlap_least);
    cr_expect_eq(r.runs, 1, "a call that met no other does not count");
    cr_expect_not_null(strstr(r.note, "other calls were under way during"), "%s", r.note);
    b.overlap_least = 0; /* who looks away finds a control that is not disturbed */
    r = measured(PLAIN, SCATTERED, GG_LEVEL_TOGETHER, &b);
    cr_expect_eq(r.verdict, GG_NOT_VERIFIED);
    cr_expect_not_null(strstr(r.note, "did not differ"), "%s", r.note);
}

/* An error for whoever is not alone. */
static int refuses_company(const gg_call *call)
{
    static atomic_int inside;
    int error = atomic_fetch_add(&inside, 1) > 0 ? 5 : PLAIN->backward(call);
    gg_meet_another_call();
    atomic_fetch_sub(&inside, 1);
    return error;
}

Test(levels, a_call_that_fails_beside_others_proves_nothing)
{
    gg_backend b = host();
    gg_kernel kernel = *PLAIN;
    kernel.backward = refuses_company;
    gg_level_record r = measured(&kernel, SCATTERED, GG_LEVEL_IDLE, &b);
    cr_expect_eq(r.verdict, GG_PASSED, "%s", r.note);
    r = measured(&kernel, SCATTERED, GG_LEVEL_TOGETHER, &b);
    cr_expect_eq(r.verdict, GG_NOT_VERIFIED);
    cr_expect_not_null(strstr(r.note, "beside others failed with error 5"), "%s", r.note);
}

Test(levels, only_calls_that_there_are_can_be_made)
{
    gg_backend b = host();
    gg_streams *streams;
    gg_span spans[4];
    int errors[4];
    cr_expect_eq(b.streams_open(&b, 0, &streams), GG_INTERNAL);
    cr_expect_eq(b.streams_open(&b, 17, &streams), GG_INTERNAL);
    cr_assert_eq(b.streams_open(&b, 2, &streams), GG_OK);
    cr_expect_eq(b.streams_run(streams, 1, 2, NULL, NULL, spans, errors), GG_INTERNAL);
    cr_expect_eq(b.streams_run(streams, 0, 0, NULL, NULL, spans, errors), GG_INTERNAL);
    b.streams_close(streams);
    b.streams_close(NULL);
}

Test(levels, are_named_on_the_command_line)
{
    unsigned set;
    char text[96];
    cr_assert_eq(gg_levels_parse("all", &set), GG_OK);
    cr_assert_eq(set, (1u << GG_LEVELS) - 1);
    gg_levels_text(set, text, sizeof text);
    cr_assert_str_eq(text, "idle load placement process twin together");
    cr_assert_eq(gg_levels_parse("load,idle", &set), GG_OK);
    cr_assert_eq(set, ONLY(GG_LEVEL_IDLE) | ONLY(GG_LEVEL_LOAD));
    cr_assert_eq(gg_levels_parse("idle,load,placement,process,twin,together", &set), GG_OK);
    cr_assert_eq(set, (1u << GG_LEVELS) - 1);
    static const char *const wrong[] = {"", "idl", "idle,", "idle,,load", "idle load", ",idle",
                                        "all,idle", "IDLE"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect_eq(gg_levels_parse(wrong[i], &set), GG_BAD_INPUT, "'%s'", wrong[i]);
        cr_expect_not_null(strstr(gg_message(), "--levels takes"));
    }
}
