/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer: the command line, one argument a line. What would measure, read other
 * people's files or write is replaced below by a refusal, so only the parsing runs.
 * plant: harness/command_run.c s/ || (size_t)(slash - text) >= sizeof first// */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/bench.h"
#include "harness/budget.h"
#include "harness/fresh.h"
#include "harness/run.h"
#include "harness/selftest.h"
#include "reports/file_out.h"
#include "reports/report.h"

#define main gg_fuzzed_main
#include "harness/main.c"
#undef main

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { MOST_ARGUMENTS = 32, MOST_BYTES = 2000 };

/* The linker takes the first definition, which is here. */
static gg_status refuse(void) { return gg_fail(GG_NO_DEVICE, "not while fuzzing"); }

gg_status gg_run(const gg_run_options *options, gg_run_record *run)
{
    *run = (gg_run_record){.count = 0};
    bool given = options->inputs != NULL && options->operator_name != NULL;
    if ((options->suite == NULL) != given || options->kernel == NULL || options->device == NULL ||
        options->repeats < 1 || options->threads < 0 || options->shard < 1 ||
        options->shard > options->shards || options->certify < -1)
        __builtin_trap();
    return refuse();
}

gg_status gg_bench_run(const gg_bench_options *options, const gg_kernel *const *trial,
                       gg_bench *bench)
{
    (void)trial, (void)bench;
    if (options->reps < 1 || options->reps > GG_BENCH_REPS) __builtin_trap();
    return refuse();
}

gg_status gg_selftest_run(const gg_backend *backend, const gg_selftest_options *options,
                          gg_selftest *result)
{
    (void)backend, (void)options, (void)result;
    return refuse();
}

gg_status gg_budget_run(const gg_budget_options *options, const gg_kernel *trial,
                        gg_budget *budget)
{
    (void)trial, (void)budget;
    if (options->suite == NULL || options->kernel == NULL) __builtin_trap();
    return refuse();
}

gg_status gg_budget_read(const char *path, gg_budget *budget)
{
    (void)path;
    *budget = (gg_budget){.case_count = 0};
    return refuse();
}

gg_status gg_report_read(const char *path, gg_run_record *run)
{
    (void)path;
    *run = (gg_run_record){.count = 0};
    return refuse();
}

gg_status gg_file_write(const char *path, const char *what, gg_file_fill fill,
                        const void *context)
{
    (void)path, (void)what, (void)fill, (void)context;
    return refuse();
}

gg_status gg_suite_load(const char *name, gg_suite *suite)
{
    static gg_case only = {.id = "normal-N24", .extent = {1, 2, 3, 4, 5}};
    (void)name;
    *suite = (gg_suite){.name = "fuzz", .op = gg_operators[0], .count = 1};
    suite->cases = malloc(sizeof only);
    if (suite->cases == NULL) return refuse();
    only.family = &suite->op->families[0];
    *suite->cases = only;
    return GG_OK;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv; /* libFuzzer writes to its own copy of stderr */
    if (freopen("/dev/null", "w", stdout) == NULL) __builtin_trap();
    return 0;
}

/* Commands that are known to do nothing more with the replacements above. */
static int harmless(const char *name)
{
    static const char *const other[] = {"check", "export", GG_FRESH_COMMAND};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (strcmp(name, other[i]) == 0) return 0;
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[MOST_BYTES + 1], program[] = "gradgate", *argv[MOST_ARGUMENTS + 2] = {program};
    int argc = 1;
    if (size > MOST_BYTES) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *at = text; argc <= MOST_ARGUMENTS && *at != '\0'; argc++) {
        argv[argc] = at;
        at += strcspn(at, "\n");
        if (*at != '\0') *at++ = '\0';
    }
    argv[argc] = NULL;
    if (argc > 1 && !harmless(argv[1])) return 0;
    optind = 0; /* start over */
    int code = gg_fuzzed_main(argc, argv);
    if (code < 0 || code > 3) __builtin_trap();
    return 0;
}
