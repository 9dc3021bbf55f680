/* SPDX-License-Identifier: Apache-2.0
 * Reads a budget whose origin is not trusted. Rows are not read: they are derived. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reports/budget.h"
#include "reports/exact.h"
#include "reports/json_in.h"
#include "reports/json_scan.h"

enum { MOST_CASES = 100000 };

static const char *const document_keys[] = {
    "schema", "verdict", "operator", "kernel", "device", "suite", "suite_digest",
    "selection", "points_from", "environment", "points", "variants", "outputs", "rows",
    "cases", NULL};
static const char *const place_keys[] = {
    "version", "commit", "compiler", "program_digest", "host_cpu", "gpu", "driver",
    "started", "finished", "seconds", "seconds_decimal", NULL};
static const char *const entry_keys[] = {
    "kernel", "kernel_decimal", "all", "all_decimal", "other", "other_decimal",
    "floor", "floor_decimal", "mismatch", "?elements", "points", NULL};

/* A mean square: finite and not negative. */
static gg_status square(gg_json_in *in, const char *key, double value)
{
    if (value >= 0 && isfinite(value)) return GG_OK;
    return gg_in_refuse(in, "%s is no mean square", key);
}

static gg_status read_square(gg_json_in *in, const cJSON *entry, const char *key,
                             double *value)
{
    GG_TRY(gg_in_exact(in, entry, key, value));
    return square(in, key, *value);
}

static int points_of(const gg_budget *b, int variant)
{
    int count = 0;
    for (int p = 0; p < b->point_count; p++) count += (b->variants[variant].points >> p & 1u) != 0;
    return count;
}

static gg_status read_entry(gg_json_in *in, const cJSON *item, const gg_budget *b,
                            int variant, gg_budget_entry *e)
{
    int count = 0, p = 0, wanted = points_of(b, variant);
    GG_TRY(gg_in_keys(in, item, entry_keys));
    GG_TRY(read_square(in, item, "kernel", &e->kernel));
    GG_TRY(read_square(in, item, "all", &e->all));
    GG_TRY(read_square(in, item, "other", &e->other));
    GG_TRY(read_square(in, item, "floor", &e->floor));
    GG_TRY(gg_in_integer(in, item, "mismatch", 0, INT64_C(1) << 50, &e->mismatch));
    if (gg_in_get(item, "elements") != NULL)
        GG_TRY(gg_in_integer(in, item, "elements", 1, INT64_C(1) << 40, &e->elements));
    GG_TRY(gg_in_array(in, item, "points", wanted, wanted, &count));
    const cJSON *point;
    cJSON_ArrayForEach(point, gg_in_get(item, "points")) {
        while (!(b->variants[variant].points >> p & 1u)) p++;
        if (!cJSON_IsString(point) || !gg_exact_parse(point->valuestring, &e->point[p]))
            return gg_in_fault(in, "points", point, "hexadecimal floats as text");
        GG_TRY(square(in, "points", e->point[p++]));
    }
    return GG_OK;
}

static gg_status read_case(gg_json_in *in, const cJSON *item, const gg_budget *b,
                           gg_budget_case *c)
{
    static const char *const keys[] = {"id", "family", "reason", "entries", NULL};
    int count = 0, i = 0;
    GG_TRY(gg_in_keys(in, item, keys));
    GG_TRY(gg_in_text(in, item, "id", c->id, sizeof c->id));
    GG_TRY(gg_in_text(in, item, "family", c->family, sizeof c->family));
    GG_TRY(gg_in_text(in, item, "reason", c->reason, sizeof c->reason));
    if (c->family[0] == '\0') return gg_in_refuse(in, "family is empty");
    int wanted = c->reason[0] ? 0 : b->variant_count * b->output_count;
    GG_TRY(gg_in_array(in, item, "entries", wanted, wanted, &count));
    const cJSON *entry;
    size_t mark = gg_in_enter(in, "entries", 0);
    cJSON_ArrayForEach(entry, gg_in_get(item, "entries")) {
        size_t inner = gg_in_enter(in, NULL, i);
        int variant = i / b->output_count;
        GG_TRY(read_entry(in, entry, b, variant, &c->entry[variant][i % b->output_count]));
        gg_in_leave(in, inner);
        i++;
    }
    gg_in_leave(in, mark);
    return GG_OK;
}

static gg_status read_cases(gg_json_in *in, const cJSON *document, gg_budget *b)
{
    int count = 0;
    GG_TRY(gg_in_array(in, document, "cases", 0, MOST_CASES, &count));
    b->cases = calloc((size_t)count + 1, sizeof *b->cases);
    if (b->cases == NULL)
        return gg_fail(GG_NO_MEMORY, "%s: no memory for %d cases", in->file, count);
    const cJSON *item;
    size_t mark = gg_in_enter(in, "cases", 0);
    cJSON_ArrayForEach(item, gg_in_get(document, "cases")) {
        size_t inner = gg_in_enter(in, NULL, b->case_count);
        GG_TRY(read_case(in, item, b, &b->cases[b->case_count]));
        gg_in_leave(in, inner);
        b->case_count++;
    }
    gg_in_leave(in, mark);
    return GG_OK;
}

static gg_status read_points(gg_json_in *in, const cJSON *document, gg_budget *b)
{
    static const char *const keys[] = {"name", "summary", "rough", NULL};
    int count = 0;
    GG_TRY(gg_in_array(in, document, "points", 1, GG_BUDGET_POINTS, &count));
    const cJSON *item;
    size_t mark = gg_in_enter(in, "points", 0);
    cJSON_ArrayForEach(item, gg_in_get(document, "points")) {
        gg_budget_point *p = &b->points[b->point_count];
        size_t inner = gg_in_enter(in, NULL, b->point_count++);
        GG_TRY(gg_in_keys(in, item, keys));
        GG_TRY(gg_in_text(in, item, "name", p->name, sizeof p->name));
        GG_TRY(gg_in_text(in, item, "summary", p->summary, sizeof p->summary));
        const cJSON *rough = gg_in_get(item, "rough");
        if (!cJSON_IsBool(rough)) return gg_in_fault(in, "rough", rough, "true or false");
        p->rough = cJSON_IsTrue(rough);
        gg_in_leave(in, inner);
    }
    gg_in_leave(in, mark);
    return GG_OK;
}

/* Names of points, in their order. */
static gg_status read_names(gg_json_in *in, const cJSON *variant, const gg_budget *b,
                            unsigned *points)
{
    const cJSON *name;
    int count = 0, p = 0;
    GG_TRY(gg_in_array(in, variant, "points", 0, b->point_count, &count));
    cJSON_ArrayForEach(name, gg_in_get(variant, "points")) {
        while (p < b->point_count && (!cJSON_IsString(name) ||
                                      strcmp(name->valuestring, b->points[p].name) != 0))
            p++;
        if (p == b->point_count)
            return gg_in_fault(in, "points", name, "names of the points above, in order");
        *points |= 1u << p++;
    }
    return GG_OK;
}

static gg_status read_variants(gg_json_in *in, const cJSON *document, gg_budget *b)
{
    static const char *const keys[] = {"name", "points", NULL};
    int count = 0;
    GG_TRY(gg_in_array(in, document, "variants", 1, GG_BUDGET_VARIANTS, &count));
    const cJSON *item;
    size_t mark = gg_in_enter(in, "variants", 0);
    cJSON_ArrayForEach(item, gg_in_get(document, "variants")) {
        gg_budget_variant *v = &b->variants[b->variant_count];
        size_t inner = gg_in_enter(in, NULL, b->variant_count++);
        GG_TRY(gg_in_keys(in, item, keys));
        GG_TRY(gg_in_text(in, item, "name", v->name, sizeof v->name));
        GG_TRY(read_names(in, item, b, &v->points));
        gg_in_leave(in, inner);
    }
    gg_in_leave(in, mark);
    GG_TRY(gg_in_array(in, document, "outputs", 1, GG_MAX_OUTPUTS, &count));
    cJSON_ArrayForEach(item, gg_in_get(document, "outputs")) {
        char *name = b->outputs[b->output_count++];
        if (!cJSON_IsString(item) || strlen(item->valuestring) >= sizeof b->outputs[0])
            return gg_in_fault(in, "outputs", item, "names of outputs");
        memcpy(name, item->valuestring, strlen(item->valuestring));
    }
    return GG_OK;
}

static gg_status read_made(gg_json_in *in, const cJSON *document, gg_budget *b)
{
    gg_run_record *m = &b->made;
    char from[16] = "";
    GG_TRY(gg_in_text(in, document, "operator", m->operator_name, sizeof m->operator_name));
    GG_TRY(gg_in_text(in, document, "kernel", m->kernel, sizeof m->kernel));
    GG_TRY(gg_in_text(in, document, "device", m->device, sizeof m->device));
    GG_TRY(gg_in_text(in, document, "suite", m->suite, sizeof m->suite));
    GG_TRY(gg_in_digest(in, document, "suite_digest", &m->suite_digest));
    GG_TRY(gg_in_text(in, document, "selection", m->selection, sizeof m->selection));
    GG_TRY(gg_in_text(in, document, "points_from", from, sizeof from));
    b->assumed = strcmp(from, "user") == 0;
    if (!b->assumed && strcmp(from, "kernel") != 0)
        return gg_in_refuse(in, "points_from is neither kernel nor user");
    const cJSON *place = gg_in_get(document, "environment");
    size_t mark = gg_in_enter(in, "environment", 0);
    GG_TRY(gg_in_keys(in, place, place_keys));
    GG_TRY(gg_in_text(in, place, "version", m->version, sizeof m->version));
    GG_TRY(gg_in_text(in, place, "commit", m->commit, sizeof m->commit));
    GG_TRY(gg_in_text(in, place, "compiler", m->compiler, sizeof m->compiler));
    GG_TRY(gg_in_digest(in, place, "program_digest", &m->kernel_digest));
    GG_TRY(gg_in_text(in, place, "host_cpu", m->place.host_cpu, sizeof m->place.host_cpu));
    GG_TRY(gg_in_text(in, place, "gpu", m->place.gpu, sizeof m->place.gpu));
    GG_TRY(gg_in_text(in, place, "driver", m->place.driver, sizeof m->place.driver));
    GG_TRY(gg_in_text(in, place, "started", m->place.started, sizeof m->place.started));
    GG_TRY(gg_in_text(in, place, "finished", m->place.finished, sizeof m->place.finished));
    GG_TRY(gg_in_exact(in, place, "seconds", &m->place.seconds));
    gg_in_leave(in, mark);
    return GG_OK;
}

static gg_status read_document(gg_json_in *in, const cJSON *document, gg_budget *b)
{
    const cJSON *schema = gg_in_get(document, "schema");
    if (cJSON_IsString(schema) && strcmp(schema->valuestring, GG_BUDGET_SCHEMA) != 0)
        return gg_in_refuse(in, "is a %.40s, not a budget ('gradgate budget --out' makes one)",
                            schema->valuestring);
    GG_TRY(gg_in_keys(in, document, document_keys));
    GG_TRY(gg_in_constant(in, document, "schema", GG_BUDGET_SCHEMA));
    GG_TRY(read_made(in, document, b));
    GG_TRY(read_points(in, document, b));
    GG_TRY(read_variants(in, document, b));
    GG_TRY(read_cases(in, document, b));
    return gg_in_constant(in, document, "verdict", gg_verdict_name(gg_budget_verdict(b)));
}

static gg_status no_tests(void *context, int index, const char *text, size_t length)
{
    const char *path = context;
    (void)index, (void)text, (void)length;
    return gg_fail(GG_BAD_INPUT, "%s: a report, not a budget ('gradgate budget --out' makes "
                   "one)", path);
}

gg_status gg_budget_read(const char *path, gg_budget *budget)
{
    gg_json_in in = {.file = path};
    char *rest = NULL, name[400];
    size_t length = 0;
    *budget = (gg_budget){.case_count = 0};
    snprintf(name, sizeof name, "%s", path);
    gg_status status = gg_scan_file(path, no_tests, name, &rest, &length);
    if (status != GG_OK) return status;
    cJSON *document = cJSON_ParseWithLengthOpts(rest, length + 1, NULL, 1);
    status = document ? read_document(&in, document, budget)
                      : gg_in_refuse(&in, "cannot be parsed as JSON");
    cJSON_Delete(document);
    free(rest);
    if (status != GG_OK) gg_budget_free(budget);
    return status;
}

gg_status gg_budget_try(const char *path, gg_budget *budget, bool *is_budget)
{
    struct stat what;
    char *rest = NULL, name[400];
    size_t length = 0;
    *budget = (gg_budget){.case_count = 0};
    *is_budget = false;
    snprintf(name, sizeof name, "%s", path);
    /* A pipe can be read once: it is left to whoever reads reports. */
    if (stat(path, &what) != 0 || !S_ISREG(what.st_mode)) return GG_OK;
    if (gg_scan_file(path, no_tests, name, &rest, &length) != GG_OK) return GG_OK;
    cJSON *document = cJSON_ParseWithLengthOpts(rest, length + 1, NULL, 1);
    const cJSON *schema = gg_in_get(document, "schema");
    *is_budget = cJSON_IsString(schema) && strcmp(schema->valuestring, GG_BUDGET_SCHEMA) == 0;
    cJSON_Delete(document);
    free(rest);
    return *is_budget ? gg_budget_read(path, budget) : GG_OK;
}
