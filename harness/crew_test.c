/* SPDX-License-Identifier: Apache-2.0
 * The crew with workers that are shell scripts: what real ones do seldom. */
#include "harness/crew.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/wire.h"

enum { CASES = 40 };

static char folder[64], script[96];
static gg_suite suite;
static gg_run_record run;
static gg_crew *crew;
static int indices[CASES];
static gg_case_record finished[CASES];
static int finish_count;

static gg_status take(void *context, const gg_case_record *record)
{
    (void)context;
    cr_assert_lt(finish_count, CASES);
    finished[finish_count++] = *record;
    return GG_OK;
}

static void put(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    cr_assert_eq(fclose(file), 0);
}

static gg_case_record answer_of(int index)
{
    gg_case_record r = {.index = index, .runs = 5, .verdict = GG_PASSED, .output_count = 1};
    snprintf(r.id, sizeof r.id, "%s", suite.cases[index].id);
    snprintf(r.outputs[0].name, sizeof r.outputs[0].name, "dq");
    r.outputs[0].count = 1;
    r.outputs[0].digest = 7000u + (unsigned)index;
    r.outputs[0].check_count = 1;
    r.outputs[0].checks[0] = (gg_check){.name = "rmse", .verdict = GG_PASSED, .limit = 1};
    return r;
}

static void begin(void)
{
    gg_run_record who = {.suite_count = CASES, .repeats = 5, .shard = 1, .shards = 1};
    snprintf(folder, sizeof folder, "/tmp/gradgate-test-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(script, sizeof script, "%s/worker", folder);
    snprintf(who.symbols, sizeof who.symbols, "BRHND");
    cr_assert_eq(gg_suite_load("smoke600", &suite), GG_OK, "%s", gg_message());
    char *hello = gg_wire_hello(GG_OK, "", &who, 0);
    put("hello", hello);
    free(hello);
    for (int i = 0; i < CASES; i++) {
        char name[16];
        gg_case_record r = answer_of(i);
        char *line = gg_wire_case(&who, &r);
        snprintf(name, sizeof name, "%d", i);
        put(name, line);
        free(line);
        indices[i] = i;
    }
}

static void end(void)
{
    char command[96];
    gg_crew_end(crew);
    gg_suite_free(&suite);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) fprintf(stderr, "%s is left\n", folder);
}

TestSuite(crew, .init = begin, .fini = end);

/* Works with `workers` scripts, each of which does `body` with a task: $verb $i. */
static gg_status work(const char *body, int workers, int timeout)
{
    char text[1024], verb[] = "run", *argv[] = {verb, NULL};
    gg_run_options options = {.suite = "smoke600", .device = "host", .argc = 1, .argv = argv,
                              .program = script, .workers = workers, .timeout = timeout};
    snprintf(text, sizeof text, "#!/bin/sh\ncd %s\n[ -e no ] && exit 3\ncat hello >&3\n"
             "while echo ready >&3 && read verb i <&3; do\n%s\ndone\n", folder, body);
    put("worker", text);
    cr_assert_eq(chmod(script, 0755), 0);
    GG_TRY(gg_crew_start(&options, &suite, &crew, &run));
    return gg_crew_work(crew, indices, CASES, take, NULL);
}

static int count(gg_verdict verdict, const char *reason)
{
    int n = 0;
    for (int i = 0; i < finish_count; i++)
        n += finished[i].verdict == verdict && strstr(finished[i].reason, reason) != NULL;
    return n;
}

Test(crew, all_is_well)
{
    cr_assert_eq(work("cat $i >&3", 1, 0), GG_OK, "%s", gg_message());
    cr_assert_eq(count(GG_PASSED, ""), CASES);
    for (int i = 0; i < CASES; i++) cr_expect_str_eq(finished[i].device, "");
}

Test(crew, three_share)
{
    cr_assert_eq(work("cat $i >&3", 3, 0), GG_OK, "%s", gg_message());
    cr_assert_eq(count(GG_PASSED, ""), CASES);
    cr_assert_eq(run.place.device_count, 3);
    cr_assert_str_eq(run.place.devices[2].name, "host:2");
}

/* As after a CUDA error that stays: the record comes, and the worker ends. */
Test(crew, a_broken_device_loses_its_worker_and_no_case)
{
    cr_assert_eq(work("cat $i >&3; case $i in *[02468]) exit 0 ;; esac", 1, 0), GG_OK);
    cr_assert_eq(count(GG_PASSED, ""), CASES);
}

Test(crew, twenty_lost_in_a_row_are_enough)
{
    cr_assert_eq(work("kill -SEGV $$", 1, 0), GG_OK);
    cr_assert_eq(finish_count, CASES);
    cr_assert_eq(count(GG_NOT_VERIFIED, "harness's process ended with SIGSEGV"), CASES);
    cr_assert_eq(count(GG_NOT_VERIFIED, "not run: 20 worker processes in a row were lost"),
                 CASES - GG_LOSSES_IN_A_ROW);
}

Test(crew, nineteen_lost_in_a_row_are_not)
{
    cr_assert_eq(work("case $i in 19 | 39) cat $i >&3 ;; *) echo kernel forward >&3; exit 4 ;; "
                      "esac", 1, 0), GG_OK);
    cr_assert_eq(count(GG_FAILED, "kernel's process ended with exit code 4 in forward"), 38);
    cr_assert_eq(count(GG_PASSED, ""), 2);
}

Test(crew, a_worker_that_cannot_start_again_is_given_up)
{
    cr_assert_eq(work("touch no; exit 0", 1, 0), GG_OK);
    cr_assert_eq(finish_count, CASES);
    cr_assert_eq(count(GG_NOT_VERIFIED, "ended with exit code 3"), CASES - 1);
}

Test(crew, nonsense_is_a_breakdown_of_the_harness)
{
    cr_assert_eq(work("case $i in 7) echo '{\"name\"' >&3 ;; 8) cat 9 >&3 ;; "
                      "9) echo hello >&3 ;; *) cat $i >&3 ;; esac", 1, 0), GG_OK);
    cr_assert_eq(count(GG_PASSED, ""), CASES - 3);
    cr_assert_eq(count(GG_NOT_VERIFIED, ""), 3);
    cr_assert_eq(count(GG_NOT_VERIFIED, "which it was not asked"), 1);
}

Test(crew, silence_in_the_kernel_is_a_hang)
{
    cr_assert_eq(work("case $i in 3) echo kernel forward >&3; sleep 30 ;; *) cat $i >&3 ;; "
                      "esac", 2, 1), GG_OK);
    cr_assert_eq(count(GG_FAILED, "no answer from the kernel's forward within 1 s"), 1);
    cr_assert_eq(count(GG_PASSED, ""), CASES - 1);
}

Test(crew, a_first_worker_that_ends_is_no_run)
{
    put("no", "");
    cr_assert_eq(work("cat $i >&3", 2, 0), GG_DEVICE_FAULT);
    cr_assert(strstr(gg_message(), "the worker on host:0 ended with exit code 3"), "%s",
              gg_message());
}

Test(crew, workers_of_other_builds_are_refused)
{
    gg_run_record other = {.suite_count = CASES, .repeats = 6, .shard = 1, .shards = 1};
    char *hello = gg_wire_hello(GG_OK, "", &other, 0);
    put("other", hello);
    free(hello);
    cr_assert_eq(work("cat $i >&3", 1, 0), GG_OK);
    gg_crew_end(crew);
    /* the second of two greets with another record */
    char text[512], verb[] = "run", *argv[] = {verb, NULL};
    gg_run_options options = {.suite = "smoke600", .device = "host", .argc = 1, .argv = argv,
                              .program = script, .workers = 2};
    snprintf(text, sizeof text, "#!/bin/sh\ncd %s\nif mkdir first 2>/dev/null; then cat hello >&3; "
             "else cat other >&3; fi\necho ready >&3\nread i <&3\n", folder);
    put("worker", text);
    cr_assert_eq(gg_crew_start(&options, &suite, &crew, &run), GG_BAD_INPUT);
    cr_assert(strstr(gg_message(), "differ"), "%s", gg_message());
}

Test(crew, patience_follows_the_cost)
{
    gg_run_options host = {.device = "host"}, cuda = {.device = "cuda:1"};
    gg_run_options own = {.device = "host", .timeout = 7};
    gg_suite paper;
    cr_assert_eq(gg_suite_load("paper600", &paper), GG_OK);
    double small = gg_crew_patience(&host, &suite, 0);
    cr_expect_gt(small, 60);
    cr_expect_lt(small, 600);
    cr_expect_gt(gg_crew_patience(&host, &paper, 599), 600);
    cr_expect_lt(gg_crew_patience(&cuda, &paper, 599), 600);
    cr_expect_eq(gg_crew_patience(&own, &paper, 599), 7);
    gg_suite_free(&paper);
}
