/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cases/json_memory.h"
#include "reports/case_json.h"
#include "reports/consistent.h"
#include "reports/document.h"
#include "reports/exact.h"
#include "reports/fields.h"
#include "reports/json_scan.h"
#include "reports/report.h"

/* Cases as they arrive; the array doubles. */
typedef struct arrival {
    gg_json_in in;
    gg_run_record *run;
    int room;
} arrival;

static gg_status on_test(void *context, int index, const char *text, size_t length)
{
    arrival *a = context;
    gg_run_record *run = a->run;
    if (run->count == a->room) {
        int room = a->room ? 2 * a->room : 2; /* a record is large */
        gg_case_record *cases = NULL;
        if (room > a->room) cases = realloc(run->cases, (size_t)room * sizeof *cases);
        if (!cases)
            return gg_fail(GG_NO_MEMORY, "%s: no memory for %d cases", a->in.file,
                           room);
        run->cases = cases;
        a->room = room;
    }
    a->in.path[0] = 0;
    gg_in_enter(&a->in, "results.tests", 0);
    gg_in_enter(&a->in, NULL, index);
    GG_TRY(gg_case_read(&a->in, text, length, &run->cases[run->count]));
    a->in.path[0] = 0;
    run->count++;
    return GG_OK;
}

static gg_status read_counts(gg_json_in *in, const cJSON *summary,
                             const gg_run_record *run)
{
    const struct {
        const char *key;
        int64_t value;
    } wanted[] = {
        {"tests", run->count},
        {"passed", gg_run_count(run, GG_PASSED)},
        {"failed", gg_run_count(run, GG_FAILED)},
        {"skipped", 0},
        {"pending", 0},
        {"other", gg_run_count(run, GG_NOT_VERIFIED)},
        {"start", gg_epoch_milliseconds(run->place.started)},
        {"stop", gg_epoch_milliseconds(run->place.finished)},
    };
    const char *keys[9] = {NULL};
    for (int i = 0; i < 8; i++) keys[i] = wanted[i].key;
    size_t mark = gg_in_enter(in, "summary", 0);
    GG_TRY(gg_in_keys(in, summary, keys));
    for (int i = 0; i < 8; i++) {
        int64_t found = 0;
        GG_TRY(gg_in_integer(in, summary, keys[i], 0, GG_COUNT_MAX, &found));
        if (found == wanted[i].value) continue;
        return gg_in_refuse(in, "report says %s %lld but its cases give %lld", keys[i],
                            (long long)found, (long long)wanted[i].value);
    }
    gg_in_leave(in, mark);
    return GG_OK;
}

/* Whether two values are the same, numbers in the six digits that were written: that
 * leaves the math library (pow) out of it. On a difference the path leads to it. */
static bool same(gg_json_in *in, const cJSON *found, const cJSON *own)
{
    if (!found) return false;
    if (cJSON_IsNumber(found) && cJSON_IsNumber(own)) {
        char x[GG_EXACT_SIZE], y[GG_EXACT_SIZE];
        gg_decimal_format(found->valuedouble, x);
        gg_decimal_format(own->valuedouble, y);
        return strcmp(x, y) == 0;
    }
    if (cJSON_IsString(found) && cJSON_IsString(own))
        return strcmp(found->valuestring, own->valuestring) == 0;
    if ((found->type & 0xff) != (own->type & 0xff)) return false;
    bool object = cJSON_IsObject(own);
    const cJSON *item, *next = found->child;
    int i = 0;
    cJSON_ArrayForEach(item, own) {
        const cJSON *other = object ? gg_in_get(found, item->string) : next;
        size_t mark = gg_in_enter(in, item->string, i++);
        if (!other || !same(in, other, item)) return false;
        gg_in_leave(in, mark);
        next = next ? next->next : NULL;
    }
    return next == NULL; /* neither more elements nor more keys */
}

static gg_status summary_text(const gg_run_record *run, char **text, size_t *size)
{
    gg_summary summary;
    GG_TRY(gg_summary_make(run, &summary));
    FILE *file = open_memstream(text, size);
    if (file) {
        gg_json_out out = {.file = file};
        gg_out_open(&out, NULL, '{');
        gg_summary_write(&out, run, &summary);
        gg_out_close(&out);
    }
    gg_summary_free(&summary);
    if (!file || fclose(file) != 0) return gg_fail(GG_NO_MEMORY, "no memory to read");
    return GG_OK;
}

/* The summary follows from the cases, so a summary that says something else is refused.
 */
static gg_status read_summary(gg_json_in *in, const cJSON *found,
                              const gg_run_record *run)
{
    char *text = NULL;
    size_t size = 0;
    gg_status status = summary_text(run, &text, &size);
    bool starved = false;
    cJSON *own = status == GG_OK ? gg_json_parse(text, size, false, NULL, &starved) : NULL;
    free(text);
    if (status == GG_OK && !own) status = gg_fail(GG_NO_MEMORY, "no memory to read");
    if (status != GG_OK) return status;
    size_t mark = gg_in_enter(in, "summary", 0);
    if (!same(in, found, gg_in_get(own, "summary")))
        status = gg_in_refuse(in, "report says something else than its cases give");
    else gg_in_leave(in, mark);
    cJSON_Delete(own);
    return status;
}

static gg_status read_extra(gg_json_in *in, const cJSON *extra, gg_run_record *run)
{
    static const char *const keys[] = {"schema", "verdict", "evidence", "run",
                                       "limits", "summary", NULL};
    size_t mark = gg_in_enter(in, "extra", 0);
    GG_TRY(gg_in_constant(in, extra, "schema", GG_REPORT_SCHEMA));
    GG_TRY(gg_in_keys(in, extra, keys));
    GG_TRY(gg_identity_read(in, extra, run));
    char fault[GG_FAULT_SIZE];
    if (gg_run_fault(run, fault))
        return gg_fail(GG_BAD_INPUT, "%s: report contradicts itself: %s", in->file,
                       fault);
    const cJSON *verdict = gg_in_get(extra, "verdict");
    const char *follows = gg_verdict_name(gg_run_verdict(run));
    if (!cJSON_IsString(verdict) || strcmp(verdict->valuestring, follows) != 0)
        return gg_in_fault(in, "verdict", verdict, follows);
    GG_TRY(read_summary(in, gg_in_get(extra, "summary"), run));
    uint64_t stated, own;
    GG_TRY(gg_in_digest(in, extra, "evidence", &stated));
    GG_TRY(gg_report_evidence(run, &own));
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION /* no mutation could survive it */
    if (stated != own)
        return gg_in_refuse(in, "report was changed after it was written: its evidence "
                                "digest is %016llx, its content gives %016llx",
                            (unsigned long long)stated, (unsigned long long)own);
#endif
    gg_in_leave(in, mark);
    return GG_OK;
}

static gg_status read_place(gg_json_in *in, const cJSON *environment, gg_place *place)
{
    static const char *const keys[] = {"extra", NULL};
    size_t mark = gg_in_enter(in, "environment", 0);
    GG_TRY(gg_in_keys(in, environment, keys));
    size_t inner = gg_in_enter(in, "extra", 0);
    GG_TRY(gg_place_read(in, gg_in_get(environment, "extra"), place));
    gg_in_leave(in, inner);
    gg_in_leave(in, mark);
    return GG_OK;
}

/* What this program writes besides reports of a run. */
static gg_status refuse_other_kinds(gg_json_in *in, const cJSON *document)
{
    const cJSON *schema = gg_in_get(document, "schema");
    if (cJSON_IsString(schema) && strncmp(schema->valuestring, "gradgate-", 9) == 0)
        return gg_in_refuse(in, "is a %.40s, not a report of a run ('run --out')",
                            schema->valuestring);
    if (gg_in_get(document, "gradgate_selftest") != NULL)
        return gg_in_refuse(in, "is a self-test's, not a report of a run ('run --out')");
    if (gg_in_get(document, "gradgate_suite") != NULL)
        return gg_in_refuse(in, "is a suite, not a report: run it with 'run --suite'");
    return GG_OK;
}

static gg_status read_document(gg_json_in *in, const cJSON *document,
                               gg_run_record *run)
{
    static const char *const root_keys[] = {"reportFormat", "specVersion", "results",
                                            NULL};
    static const char *const keys[] = {"tool",  "summary", "environment",
                                       "extra", "tests",   NULL};
    static const char *const tool_keys[] = {"name", "version", NULL};
    GG_TRY(refuse_other_kinds(in, document));
    GG_TRY(gg_in_keys(in, document, root_keys));
    GG_TRY(gg_in_constant(in, document, "reportFormat", "CTRF"));
    GG_TRY(gg_in_constant(in, document, "specVersion", GG_CTRF_VERSION));
    const cJSON *results = gg_in_get(document, "results");
    const cJSON *tool = gg_in_get(results, "tool");
    gg_in_enter(in, "results", 0);
    GG_TRY(gg_in_keys(in, results, keys));
    int none = 0; /* the list was read already and stands here empty */
    GG_TRY(gg_in_array(in, results, "tests", 0, 0, &none));
    GG_TRY(read_place(in, gg_in_get(results, "environment"), &run->place));
    GG_TRY(read_counts(in, gg_in_get(results, "summary"), run));
    GG_TRY(read_extra(in, gg_in_get(results, "extra"), run));
    size_t mark = gg_in_enter(in, "tool", 0);
    GG_TRY(gg_in_keys(in, tool, tool_keys));
    GG_TRY(gg_in_constant(in, tool, "name", "gradgate"));
    GG_TRY(gg_in_constant(in, tool, "version", run->version));
    gg_in_leave(in, mark);
    return GG_OK;
}

gg_status gg_report_read(const char *path, gg_run_record *run)
{
    memset(run, 0, sizeof *run);
    arrival a = {.in.file = path, .run = run};
    char *rest = NULL;
    size_t length = 0;
    gg_status status = gg_scan_file(path, on_test, &a, &rest, &length);
    cJSON *document = NULL;
    if (status == GG_OK) {
        a.in.path[0] = 0;
        bool starved;
        document = gg_json_parse(rest, length, true, NULL, &starved);
        if (document) status = read_document(&a.in, document, run);
        else if (starved) status = gg_fail(GG_NO_MEMORY, "%s: no memory to read it", path);
        else status = gg_in_refuse(&a.in, "cannot be parsed as JSON");
    }
    cJSON_Delete(document);
    free(rest);
    if (status != GG_OK) {
        gg_run_free(run);
        memset(run, 0, sizeof *run);
    }
    return status;
}
