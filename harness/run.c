/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/crew.h"
#include "harness/environment.h"
#include "harness/exec.h"
#include "harness/plugin.h"
#include "harness/progress.h"
#include "harness/session.h"
#include "reports/file_out.h"
#include "reports/report.h"

/* Indices of the cases to run, in suite order. */
static gg_status choose_cases(const gg_run_options *options, const gg_suite *suite,
                              int *chosen, int *count)
{
    *count = 0;
    for (int i = 0; i < suite->count; i++)
        if (options->glob == NULL || gg_case_matches(&suite->cases[i], options->glob))
            chosen[(*count)++] = i;
    if (*count == 0)
        return gg_fail(GG_BAD_INPUT, "no case of suite %s matches '%s': its first is %s",
                       suite->name, options->glob, suite->cases[0].id);
    int kept = 0; /* shard s of n takes every n-th case: equal work for each */
    for (int i = options->shard - 1; i < *count; i += options->shards) chosen[kept++] = chosen[i];
    *count = kept;
    return GG_OK;
}

static int by_index(const void *a, const void *b)
{
    int x = ((const gg_case_record *)a)->index, y = ((const gg_case_record *)b)->index;
    return (x > y) - (x < y);
}

static bool is_done(const gg_run_record *run, int resumed, int index)
{
    for (int i = 0; i < resumed; i++)
        if (run->cases[i].index == index) return true;
    return false;
}

/* Where finished cases go. */
typedef struct sink {
    gg_run_record *run;
    gg_journal *journal; /* NULL: none */
    gg_progress progress;
} sink;

static gg_status keep(void *context, const gg_case_record *record)
{
    sink *s = context;
    gg_case_record *place = &s->run->cases[s->run->count];
    if (place != record) *place = *record;
    s->run->count++;
    gg_progress_step(&s->progress, place);
    return s->journal != NULL ? gg_journal_append(s->journal, s->run, place) : GG_OK;
}

/* In this process. */
static gg_status work_here(const gg_plan *plan, const int *indices, int count, sink *s)
{
    gg_arena arena = {.backend = plan->backend};
    gg_status status = GG_OK;
    for (int i = 0; i < count && status == GG_OK; i++) {
        gg_case_record *record = &s->run->cases[s->run->count];
        gg_case_run(plan, indices[i], &arena, record);
        status = keep(s, record);
    }
    gg_arena_free(&arena);
    return status;
}

/* What a journal has must be cases of this suite: another name, family or seed would stand in
 * the report for a case that was not run. */
static gg_status check_resumed(const char *path, const gg_suite *suite, const gg_run_record *run)
{
    for (int i = 0; i < run->count; i++) {
        const gg_case_record *c = &run->cases[i];
        const gg_case *is = c->index < suite->count ? &suite->cases[c->index] : NULL;
        if (is == NULL || strcmp(c->id, is->id) != 0 || strcmp(c->family, is->family->name) != 0 ||
            c->seed != is->seed || memcmp(c->extent, is->extent, sizeof c->extent) != 0)
            return gg_fail(GG_BAD_INPUT, "journal %s: case %s is not case %d of suite %s: it was "
                           "edited; remove it to start anew", path, c->id, c->index, suite->name);
    }
    return GG_OK;
}

/* Those of the chosen cases that a journal does not have, with room for their records. */
static gg_status leave_out_done(gg_run_record *run, int *chosen, int *count)
{
    int resumed = run->count, left = 0;
    gg_case_record *cases = realloc(run->cases, ((size_t)resumed + (size_t)*count) *
                                                    sizeof *cases);
    if (cases == NULL) return gg_fail(GG_NO_MEMORY, "no memory for %d case records", *count);
    run->cases = cases;
    for (int i = 0; i < *count; i++)
        if (!is_done(run, resumed, chosen[i])) chosen[left++] = chosen[i];
    *count = left;
    return GG_OK;
}

/* Who does the work: this process, or a crew. One of the two. */
typedef struct doer {
    gg_session *session;
    gg_crew *crew;
} doer;

static gg_status run_cases(const doer *who, int *chosen, int count, gg_journal *journal,
                           gg_run_record *run)
{
    bool quiet = who->session != NULL && who->session->plan.quiet;
    sink s = {.run = run, .journal = journal};
    GG_TRY(leave_out_done(run, chosen, &count));
    gg_progress_start(&s.progress, count);
    s.progress.visible = s.progress.visible && !quiet;
    gg_status status = who->crew != NULL
                           ? gg_crew_work(who->crew, chosen, count, keep, &s)
                           : work_here(&who->session->plan, chosen, count, &s);
    gg_progress_end(&s.progress);
    qsort(run->cases, (size_t)run->count, sizeof *run->cases, by_index);
    return status;
}

/* Found now, not after hours of measuring. */
static gg_status check_out(const char *out)
{
    struct stat there;
    if (out != NULL && strcmp(out, "-") == 0)
        return gg_fail(GG_BAD_INPUT, "--out names a file, not '-': /dev/stdout is standard output");
    if (out == NULL ||
        (out[0] != '\0' && !gg_file_is_lost_link(out) &&
         (stat(out, &there) != 0 || S_ISREG(there.st_mode))))
        return GG_OK;
    return gg_fail(GG_BAD_INPUT, "--out '%s' is not a file that a report can replace: name "
                   "a file", out);
}

/* From the first case to the report. */
static gg_status run_suite(const gg_run_options *options, const gg_suite *suite,
                           const doer *who, gg_run_record *run)
{
    char path[4200] = "";
    int count = 0, *chosen = malloc((size_t)suite->count * sizeof *chosen);
    gg_journal *journal = NULL;
    double start = gg_seconds();
    bool keeps = options->out != NULL;
    if (chosen == NULL) return gg_fail(GG_NO_MEMORY, "no memory for the list of cases");
    if (keeps) snprintf(path, sizeof path, "%s.journal", options->out);
    gg_status status = check_out(options->out);
    if (status == GG_OK) status = choose_cases(options, suite, chosen, &count);
    if (status == GG_OK && keeps)
        status = gg_journal_open(path, options->resume, run, &journal);
    if (status == GG_OK) status = check_resumed(path, suite, run);
    if (status == GG_OK) status = run_cases(who, chosen, count, journal, run);
    run->place.seconds = gg_seconds() - start;
    gg_environment_time(run->place.finished);
    gg_maps_keep_worst(run);
    if (status == GG_OK && keeps) status = gg_report_write(run, options->out);
    gg_journal_close(journal, status == GG_OK);
    free(chosen);
    return status;
}

/* A device can break for good, and a foreign kernel can do anything. A command is another
 * process already: with one device to share, it needs no other. */
bool gg_run_is_isolated(const gg_run_options *options)
{
    bool several = strcmp(options->device, "cuda:all") == 0 || strchr(options->device, ',');
    if (options->argv == NULL) return false;
    if (options->mpi || options->workers > 0 || several) return true;
    return !gg_exec_named(options->kernel) && (strcmp(options->device, "host") != 0 ||
                                               gg_plugin_named(options->kernel));
}

static gg_status run_isolated(const gg_run_options *options, gg_run_record *run)
{
    gg_suite suite = {.count = 0};
    doer who = {.crew = NULL};
    char glob[96];
    gg_status status = gg_session_suite(options, &suite, glob);
    if (status == GG_OK) status = gg_crew_start(options, &suite, &who.crew, run);
    if (status == GG_OK) status = run_suite(options, &suite, &who, run);
    gg_crew_end(who.crew);
    gg_suite_free(&suite);
    return status;
}

gg_status gg_run(const gg_run_options *options, gg_run_record *run)
{
    gg_session session;
    doer who = {.session = &session};
    *run = (gg_run_record){.count = 0};
    if (gg_run_is_isolated(options)) return run_isolated(options, run);
    gg_status status = gg_session_open(options, &session, run);
    gg_run_options chosen = *options;
    if (status == GG_OK && session.glob[0] != '\0') chosen.glob = session.glob;
    if (status == GG_OK) status = run_suite(&chosen, &session.suite, &who, run);
    gg_session_close(&session);
    return status;
}
