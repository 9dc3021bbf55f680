/* SPDX-License-Identifier: Apache-2.0
 * gradgate export: draws the inputs of cases as a run does, and writes them to files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "build_identity.h"
#include "harness/candidate.h"
#include "harness/exchange.h"
#include "harness/trial.h"
#include "reference/parallel.h"
#include "reports/file_out.h"
#include "reports/json_out.h"
#include "reports/safetensors.h"

typedef struct exported {
    const gg_case *what;
    int index;
    uint64_t digest;
} exported;

typedef struct export_run {
    const gg_export_options *options;
    const gg_suite *suite;
    exported *cases;
    int count;
} export_run;

static int nothing(const gg_call *call)
{
    (void)call;
    return ENOSYS;
}

gg_status gg_exchange_path(const char *folder, const char *name, const char *ending,
                           char path[GG_EXCHANGE_PATH])
{
    int size = snprintf(path, GG_EXCHANGE_PATH, "%s/%s%s", folder, name, ending);
    if (size >= 0 && size < GG_EXCHANGE_PATH) return GG_OK;
    return gg_fail(GG_BAD_INPUT, "the path of %s is too long: give a shorter folder", name);
}

static gg_status write_inputs(const gg_trial *t, const char *path)
{
    gg_safetensor_out tensors[GG_MAX_INPUTS];
    const char *const notes[] = {"operator", t->op->name, "case", t->what->id, NULL};
    gg_problem host;
    int count = 0;
    gg_status status = gg_problem_fetch(t->plan->backend, &t->problem, &host);
    for (int i = 0; i < t->inputs; i++)
        if (host.input[i].data != NULL)
            tensors[count++] = (gg_safetensor_out){t->op->inputs[i].name, host.input[i]};
    if (status == GG_OK) status = gg_safetensors_write(path, tensors, count, notes);
    gg_problem_release(&host);
    return status;
}

/* The inputs of a case as a trial of a kernel that asks for nothing has them. */
static gg_status export_case(const gg_plan *plan, int index, gg_arena *arena,
                             const char *folder, exported *e)
{
    const gg_case *what = &plan->suite->cases[index];
    char path[GG_EXCHANGE_PATH];
    void *scratch = NULL;
    gg_trial t = {.plan = plan, .op = plan->suite->op, .what = what, .arena = arena};
    *e = (exported){.what = what, .index = index};
    gg_trial_describe(&t, what->extent, gg_trial_present(what, t.op));
    GG_TRY(gg_exchange_path(folder, what->id, ".safetensors", path));
    GG_TRY(gg_trial_allocate(&t, true, &scratch));
    GG_TRY(gg_trial_draw(&t, what->seed, scratch));
    GG_TRY(gg_trial_digest_inputs(&t, &e->digest));
    return write_inputs(&t, path);
}

static void put_case(gg_json_out *out, const gg_operator *op, const exported *e)
{
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)e->what->seed);
    gg_out_open(out, NULL, '{');
    gg_out_name(out, "id", e->what->id);
    gg_out_integer(out, "index", e->index);
    gg_out_name(out, "family", e->what->family->name);
    gg_out_name(out, "seed", seed);
    gg_out_digest(out, "input_digest", e->digest);
    gg_out_open_line(out, "outputs", '{');
    for (int o = 0; op->outputs[o].name != NULL; o++)
        gg_out_name(out, op->outputs[o].name, gg_safetensors_type(e->what->output_dtype[o]));
    gg_out_close(out);
    gg_out_open_line(out, "extents", '{');
    for (int s = 0; op->symbols[s] != '\0'; s++) {
        const char name[2] = {op->symbols[s], '\0'};
        gg_out_integer(out, name, e->what->extent[s]);
    }
    gg_out_close(out);
    gg_out_close(out);
}

static gg_status put_manifest(const void *context, FILE *file)
{
    const export_run *run = context;
    gg_json_out out = {.file = file};
    gg_out_open(&out, NULL, '{');
    gg_out_integer(&out, "gradgate_exchange", 1);
    gg_out_name(&out, "version", GG_VERSION);
    gg_out_name(&out, "commit", GG_COMMIT);
    gg_out_name(&out, "operator", run->suite->op->name);
    gg_out_name(&out, "suite", run->suite->name);
    gg_out_digest(&out, "suite_digest", run->suite->digest);
    gg_out_integer(&out, "suite_count", run->suite->count);
    gg_out_name(&out, "selection", run->options->glob ? run->options->glob : "");
    gg_out_open(&out, "cases", '[');
    for (int i = 0; i < run->count; i++) put_case(&out, run->suite->op, &run->cases[i]);
    gg_out_close(&out);
    gg_out_close(&out);
    fputc('\n', file);
    return GG_OK;
}

static gg_status make_folder(const char *folder, char manifest[GG_EXCHANGE_PATH])
{
    struct stat there;
    GG_TRY(gg_exchange_path(folder, "manifest", ".json", manifest));
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return gg_fail(GG_IO, "%s: %s", folder, strerror(errno));
    if (stat(manifest, &there) != 0) return GG_OK;
    return gg_fail(GG_BAD_INPUT, "%s holds an export already: name another folder", folder);
}

static gg_status export_all(const gg_plan *plan, export_run *run)
{
    gg_arena arena = {.backend = plan->backend};
    char manifest[GG_EXCHANGE_PATH];
    const gg_suite *suite = run->suite;
    gg_status status = make_folder(run->options->folder, manifest);
    for (int i = 0; i < suite->count && status == GG_OK; i++)
        if (run->options->glob == NULL || gg_case_matches(&suite->cases[i], run->options->glob))
            status = export_case(plan, i, &arena, run->options->folder,
                                 &run->cases[run->count++]);
    gg_arena_free(&arena);
    if (status == GG_OK && run->count == 0)
        status = gg_fail(GG_BAD_INPUT, "no case of suite %s matches '%s': its first is %s",
                         suite->name, run->options->glob, suite->cases[0].id);
    if (status == GG_OK) status = gg_file_write(manifest, "manifest", put_manifest, run);
    return status;
}

gg_status gg_exchange_export(const gg_export_options *options, int *count)
{
    gg_suite suite = {.count = 0};
    gg_backend backend;
    gg_kernel asks_nothing = {.name = "export", .forward = nothing, .backward = nothing};
    gg_candidate candidate;
    gg_plan plan = {.backend = &backend, .suite = &suite, .repeats = 1, .ablated = -1};
    export_run run = {.options = options, .suite = &suite};
    if (options->glob != NULL && strlen(options->glob) >= 96)
        return gg_fail(GG_BAD_INPUT, "--case takes a pattern of at most 95 characters");
    gg_status status = gg_suite_load(options->suite, &suite);
    if (status == GG_OK)
        status = gg_backend_open(options->device,
                                 options->threads > 0 ? options->threads : gg_processors(),
                                 &backend);
    if (status == GG_OK) {
        gg_candidate_whole(&asks_nothing, &candidate);
        plan.kernel = &candidate.kernel;
        run.cases = calloc((size_t)suite.count, sizeof *run.cases);
        if (run.cases == NULL) status = gg_fail(GG_NO_MEMORY, "no memory for the cases");
    }
    if (status == GG_OK) status = export_all(&plan, &run);
    *count = run.count;
    free(run.cases);
    gg_suite_free(&suite);
    return status;
}
