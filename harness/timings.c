/* SPDX-License-Identifier: Apache-2.0
 * Reads a bench whose origin is not trusted. Ranks and ratios are not read: the samples
 * say more. */
#include "harness/timings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/json_memory.h"
#include "harness/bench.h"
#include "reports/json_in.h"
#include "reports/json_scan.h"

enum { MOST_ENTRIES = 20000 };

static gg_status read_times(gg_json_in *in, const cJSON *entry, const char *key, double *median,
                            double *error)
{
    const cJSON *times = gg_in_get(entry, key), *sample;
    gg_times read = {.count = 0};
    int most = 0;
    *median = *error = NAN;
    if (times == NULL || gg_in_get(times, "samples_ms") == NULL) return GG_OK;
    size_t mark = gg_in_enter(in, key, 0);
    GG_TRY(gg_in_array(in, times, "samples_ms", 0, GG_BENCH_REPS, &most));
    cJSON_ArrayForEach(sample, gg_in_get(times, "samples_ms")) {
        if (!cJSON_IsNumber(sample) || !(sample->valuedouble > 0 && sample->valuedouble < 1e12))
            return gg_in_fault(in, "samples_ms", sample, "milliseconds above 0");
        read.sample[read.count++] = sample->valuedouble;
    }
    gg_in_leave(in, mark);
    gg_times_settle(&read);
    *median = read.median;
    *error = gg_times_error(&read);
    return GG_OK;
}

static gg_status read_entry(gg_json_in *in, const cJSON *item, gg_timing *t, bool *peer)
{
    char outcome[32];
    int64_t saved = 0, workspace = 0;
    *peer = cJSON_IsTrue(gg_in_get(item, "peer"));
    *t = (gg_timing){.bytes = NAN, .graded = NAN};
    GG_TRY(gg_in_text(in, item, "case", t->id, sizeof t->id));
    GG_TRY(gg_in_text(in, item, "kernel", t->kernel, sizeof t->kernel));
    GG_TRY(gg_in_text(in, item, "outcome", outcome, sizeof outcome));
    t->right = strcmp(outcome, "right") == 0;
    GG_TRY(read_times(in, item, "forward", &t->median[0], &t->error[0]));
    GG_TRY(read_times(in, item, "total", &t->median[1], &t->error[1]));
    if (gg_in_get(item, "saved_bytes") != NULL) {
        GG_TRY(gg_in_integer(in, item, "saved_bytes", 0, INT64_C(1) << 50, &saved));
        GG_TRY(gg_in_integer(in, item, "workspace_bytes", 0, INT64_C(1) << 50, &workspace));
        t->bytes = (double)(saved + workspace);
    }
    const cJSON *graded = gg_in_get(item, "graded_rmse_over_floor");
    if (graded != NULL && !cJSON_IsNumber(graded))
        return gg_in_fault(in, "graded_rmse_over_floor", graded, "a number");
    if (graded != NULL) t->graded = graded->valuedouble;
    return GG_OK;
}

static gg_status read_document(gg_json_in *in, const cJSON *document, gg_timings *t)
{
    const cJSON *place = gg_in_get(document, "environment"), *item;
    int count = 0;
    GG_TRY(gg_in_constant(in, document, "schema", GG_BENCH_SCHEMA));
    GG_TRY(gg_in_text(in, document, "operator", t->operator_name, sizeof t->operator_name));
    GG_TRY(gg_in_text(in, document, "device", t->device, sizeof t->device));
    GG_TRY(gg_in_digest(in, document, "suite_digest", &t->suite_digest));
    GG_TRY(gg_in_text(in, place, "commit", t->commit, sizeof t->commit));
    GG_TRY(gg_in_text(in, place, "gpu", t->gpu, sizeof t->gpu));
    GG_TRY(gg_in_array(in, document, "entries", 0, MOST_ENTRIES, &count));
    t->rows = calloc((size_t)count + 1, sizeof *t->rows);
    if (t->rows == NULL) return gg_fail(GG_NO_MEMORY, "%s: no memory to read it", in->file);
    count = 0;
    cJSON_ArrayForEach(item, gg_in_get(document, "entries")) {
        bool peer;
        size_t mark = gg_in_enter(in, NULL, count++);
        GG_TRY(read_entry(in, item, &t->rows[t->count], &peer));
        if (gg_timings_find(t, t->rows[t->count].id, t->rows[t->count].kernel) != NULL && !peer)
            return gg_in_refuse(in, "%.40s comes twice for %.90s", t->rows[t->count].kernel,
                                t->rows[t->count].id);
        if (!peer) t->count++;
        gg_in_leave(in, mark);
    }
    return GG_OK;
}

static gg_status no_tests(void *context, int index, const char *text, size_t length)
{
    const char *path = context;
    (void)index, (void)text, (void)length;
    return gg_fail(GG_BAD_INPUT, "%s: a report, not a bench ('gradgate bench --out' makes one)",
                   path);
}

gg_status gg_timings_read(const char *path, gg_timings *timings)
{
    gg_json_in in = {.file = path};
    char *rest = NULL, name[400];
    size_t length = 0;
    bool starved;
    *timings = (gg_timings){.count = 0};
    snprintf(name, sizeof name, "%s", path);
    GG_TRY(gg_scan_file(path, no_tests, name, &rest, &length));
    cJSON *document = gg_json_parse(rest, length, true, NULL, &starved);
    gg_status status = document  ? read_document(&in, document, timings)
                       : starved ? gg_fail(GG_NO_MEMORY, "%s: no memory to read it", path)
                                 : gg_in_refuse(&in, "cannot be parsed as JSON");
    cJSON_Delete(document);
    free(rest);
    if (status != GG_OK) gg_timings_free(timings);
    return status;
}

void gg_timings_free(gg_timings *timings)
{
    free(timings->rows);
    *timings = (gg_timings){.count = 0};
}

const gg_timing *gg_timings_find(const gg_timings *timings, const char *id, const char *kernel)
{
    for (int i = 0; i < timings->count; i++)
        if (strcmp(timings->rows[i].id, id) == 0 &&
            strcmp(timings->rows[i].kernel, kernel) == 0)
            return &timings->rows[i];
    return NULL;
}
