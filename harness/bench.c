/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/bench.h"

#include <stdlib.h>

#include "harness/arena.h"
#include "harness/candidate.h"
#include "harness/environment.h"
#include "harness/exec.h"
#include "harness/plugin.h"
#include "kernels/registry.h"
#include "reference/parallel.h"

/* Adds the kernels called `name` ("all": every one) that fit operator and device. */
static int add_kernels(const gg_operator *op, DLDeviceType device, const char *name,
                       const gg_kernel **chosen, int *count)
{
    int found = 0;
    for (int i = 0; gg_kernels[i] != NULL; i++) {
        const gg_kernel *k = gg_kernels[i];
        bool known = false;
        if (k->device != device || strcmp(k->operator_name, op->name) != 0) continue;
        if (strcmp(name, "all") != 0 && strcmp(name, k->name) != 0) continue;
        found++;
        for (int c = 0; c < *count; c++) known = known || chosen[c] == k;
        if (!known && *count < GG_BENCH_KERNELS) chosen[(*count)++] = k;
    }
    return found;
}

/* One of a shared object; it lives in `room`. */
static gg_status add_plugin(const gg_operator *op, const gg_backend *backend,
                            const char *name, gg_candidate *room, const gg_kernel **chosen,
                            int *count)
{
    if (*count == GG_BENCH_KERNELS)
        return gg_fail(GG_BAD_INPUT, "--kernel: more than %d kernels", GG_BENCH_KERNELS);
    GG_TRY(gg_candidate_find(name, NULL, op, backend, &room[*count]));
    chosen[*count] = &room[*count].kernel;
    ++*count;
    return GG_OK;
}

/* The chosen ones that are no built-in kernels live in `room`. */
static gg_status choose_kernels(const gg_operator *op, const gg_backend *backend,
                                const char *list, gg_candidate *room,
                                const gg_kernel **chosen)
{
    int count = 0;
    for (const char *at = list;; at++) {
        char name[1024];
        size_t length = strcspn(at, ",");
        if (length == 0 || length >= sizeof name)
            return gg_fail(GG_BAD_INPUT, "--kernel takes names parted by commas, not '%s'",
                           list);
        memcpy(name, at, length);
        name[length] = '\0';
        if (gg_exec_named(name))
            return gg_fail(GG_BAD_INPUT, "bench times kernels in this process; a command is "
                           "timed by a script of its own: see --peers");
        if (gg_plugin_named(name))
            GG_TRY(add_plugin(op, backend, name, room, chosen, &count));
        else if (add_kernels(op, backend->device, name, chosen, &count) == 0)
            return gg_fail(GG_BAD_INPUT, "operator %s has no kernel '%s' on this device: "
                           "see 'gradgate list kernels'", op->name, name);
        at += length;
        if (*at == '\0') break;
    }
    chosen[count] = NULL;
    return GG_OK;
}

static gg_status describe(const gg_bench_options *options, const gg_suite *suite,
                          const gg_backend *backend, gg_bench *bench)
{
    const char *source = "";
    GG_TRY(gg_environment_build(&bench->made));
    gg_environment_place(backend, &bench->made.place);
    gg_environment_time(bench->made.place.started);
    snprintf(bench->suite, sizeof bench->suite, "%s", suite->name);
    snprintf(bench->selection, sizeof bench->selection, "%s",
             options->glob ? options->glob : "");
    snprintf(bench->device, sizeof bench->device, "%s", backend->name);
    bench->op = suite->op;
    bench->suite_digest = suite->digest;
    bench->reps = options->reps;
    bench->cache_bytes = (int64_t)backend->cache_bytes;
    bench->peak_flops = gg_bench_peak(backend->description, &source);
    snprintf(bench->peak_source, sizeof bench->peak_source, "%s", source);
    gg_bench_clocks(backend, bench->clocks[0], sizeof bench->clocks[0]);
    bench->cases = calloc((size_t)suite->count, sizeof *bench->cases);
    return bench->cases != NULL ? GG_OK : gg_fail(GG_NO_MEMORY, "no memory for the cases");
}

static gg_status run_cases(const gg_bench_options *options, const gg_suite *suite,
                           const gg_backend *backend, const gg_kernel *const *kernels,
                           gg_bench *bench)
{
    gg_arena arena = {.backend = backend}, spare = {.backend = backend};
    for (int i = 0; i < suite->count; i++)
        if (options->glob == NULL || gg_case_matches(&suite->cases[i], options->glob))
            gg_bench_case_run(bench, backend, suite, i, kernels, &arena, &spare);
    gg_arena_free(&arena);
    gg_arena_free(&spare);
    gg_bench_clocks(backend, bench->clocks[1], sizeof bench->clocks[1]);
    gg_environment_time(bench->made.place.finished);
    if (bench->case_count == 0)
        return gg_fail(GG_BAD_INPUT, "no case of suite %s matches '%s': its first is %s",
                       suite->name, options->glob, suite->cases[0].id);
    return GG_OK;
}

/* A fault of the peers' file must not cost the time of the run: it is read once before,
 * against the cases as they will be, and merged after. */
static gg_status try_peers(const char *path, const gg_suite *suite)
{
    gg_bench trial = {.op = suite->op};
    if (path == NULL) return GG_OK;
    gg_status status = gg_bench_peers(path, &trial);
    gg_bench_free(&trial);
    return status;
}

gg_status gg_bench_run(const gg_bench_options *options, const gg_kernel *const *trial,
                       gg_bench *bench)
{
    gg_suite suite = {.count = 0};
    gg_backend backend;
    const gg_kernel *chosen[GG_BENCH_KERNELS + 1];
    gg_candidate room[GG_BENCH_KERNELS];
    int threads = options->threads > 0 ? options->threads : gg_processors();
    *bench = (gg_bench){.case_count = 0};
    GG_TRY(gg_suite_load(options->suite, &suite));
    gg_status status = try_peers(options->peers, &suite);
    if (status == GG_OK) status = gg_backend_open(options->device, threads, &backend);
    if (status == GG_OK && trial == NULL)
        status = choose_kernels(suite.op, &backend, options->kernels, room, chosen);
    if (status == GG_OK) status = describe(options, &suite, &backend, bench);
    if (status == GG_OK)
        status = run_cases(options, &suite, &backend, trial ? trial : chosen, bench);
    if (status == GG_OK && options->peers != NULL)
        status = gg_bench_peers(options->peers, bench);
    if (status == GG_OK) status = gg_bench_derive(bench);
    gg_suite_free(&suite);
    return status;
}
