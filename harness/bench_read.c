/* SPDX-License-Identifier: Apache-2.0
 * A bench from its file, whose origin is not trusted. What follows from other figures
 * (classes, ranks, ratios, growth, the verdict) is derived again, never read. */
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cases/json_memory.h"
#include "harness/bench.h"
#include "reports/json_in.h"
#include "reports/json_scan.h"

enum { MOST_CASES = 2000, MOST_ENTRIES = 20000 };
#define MOST_BYTES (INT64_C(1) << 50)
/* Times have six digits in the file. */
#define ROUNDED 2e-5

/* A finite number >= 0; NaN when the key is missing. */
static gg_status number(gg_json_in *in, const cJSON *object, const char *key, double *value)
{
    const cJSON *item = gg_in_get(object, key);
    *value = NAN;
    if (item == NULL) return GG_OK;
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < 1e30))
        return gg_in_fault(in, key, item, "a number >= 0");
    *value = item->valuedouble;
    return GG_OK;
}

static bool agree(double a, double b) { return fabs(a - b) <= ROUNDED * fabs(b); }

/* Milliseconds: a femtosecond to thirty years. */
static bool is_time(double ms) { return ms >= 1e-9 && ms <= 1e12; }

static gg_status read_samples(gg_json_in *in, const cJSON *times, gg_times *t)
{
    const cJSON *sample;
    int count = 0;
    if (gg_in_get(times, "samples_ms") == NULL) return GG_OK; /* a peer's, or a single run */
    GG_TRY(gg_in_array(in, times, "samples_ms", 2, GG_BENCH_REPS, &count));
    cJSON_ArrayForEach(sample, gg_in_get(times, "samples_ms")) {
        if (!cJSON_IsNumber(sample) || !is_time(sample->valuedouble))
            return gg_in_fault(in, "samples_ms", sample, "milliseconds from 1e-9 to 1e12");
        t->sample[t->count++] = sample->valuedouble;
    }
    double told[3] = {t->median, NAN, NAN};
    GG_TRY(number(in, times, "min_ms", &told[1]));
    GG_TRY(number(in, times, "max_ms", &told[2]));
    gg_times_settle(t);
    if (agree(told[0], t->median) && agree(told[1], t->least) && agree(told[2], t->most))
        return GG_OK;
    return gg_in_refuse(in, "median, min or max are not those of the samples");
}

static gg_status read_times(gg_json_in *in, const cJSON *entry, const char *key, gg_times *t)
{
    const cJSON *times = gg_in_get(entry, key);
    *t = (gg_times){.median = NAN, .least = NAN, .most = NAN};
    if (times == NULL) return GG_OK;
    size_t mark = gg_in_enter(in, key, 0);
    GG_TRY(number(in, times, "median_ms", &t->median));
    if (!is_time(t->median)) return gg_in_refuse(in, "median_ms is no time from 1e-9 to 1e12");
    t->least = t->most = t->median;
    t->count = 0;
    GG_TRY(read_samples(in, times, t));
    if (t->count == 0) t->count = cJSON_IsTrue(gg_in_get(entry, "peer")) ? 0 : 1;
    if (t->count == 1) t->sample[0] = t->median;
    gg_in_leave(in, mark);
    return GG_OK;
}

static gg_status read_output(gg_json_in *in, const cJSON *item, const gg_operator *op,
                             gg_bench_entry *e)
{
    char name[16], dtype[16];
    GG_TRY(gg_in_text(in, item, "name", name, sizeof name));
    int o = gg_tensor_find(op->outputs, name);
    if (o < 0) return gg_in_refuse(in, "%s has no output '%s'", op->name, name);
    gg_bench_output *to = &e->outputs[o];
    GG_TRY(gg_in_text(in, item, "dtype", dtype, sizeof dtype));
    to->dtype = gg_dtype_parse(dtype);
    if (to->dtype == GG_DTYPES)
        return gg_in_fault(in, "dtype", gg_in_get(item, "dtype"), "a type of elements");
    GG_TRY(gg_in_exact(in, item, "rmse", &to->rmse));
    GG_TRY(gg_in_exact(in, item, "floor_rmse", &to->floor));
    if (e->peer && gg_in_get(item, "truth_rms") == NULL) return GG_OK;
    GG_TRY(gg_in_exact(in, item, "truth_rms", &to->truth_rms));
    if (e->peer) return GG_OK;
    GG_TRY(gg_in_exact(in, item, "gauge_p99", &to->gauge_p99));
    return gg_in_exact(in, item, "gauge_max", &to->gauge_max);
}

/* Those that the file lacks are "not told". The graded one grades, not the file's word. */
static gg_status read_outputs(gg_json_in *in, const cJSON *entry, const gg_operator *op,
                              gg_bench_entry *e)
{
    const cJSON *item;
    int count = 0, at = 0, all = 0;
    for (; op->outputs[all].name != NULL; all++) {
        e->outputs[all] = (gg_bench_output){.dtype = op->outputs[all].dtype, .rmse = NAN,
                                            .floor = NAN, .truth_rms = NAN, .gauge_p99 = NAN,
                                            .gauge_max = NAN};
        snprintf(e->outputs[all].name, sizeof e->outputs[all].name, "%s", op->outputs[all].name);
    }
    GG_TRY(gg_in_array(in, entry, "outputs", 0, all, &count));
    size_t mark = gg_in_enter(in, "outputs", 0);
    cJSON_ArrayForEach(item, gg_in_get(entry, "outputs")) {
        size_t inner = gg_in_enter(in, NULL, at++);
        GG_TRY(read_output(in, item, op, e));
        gg_in_leave(in, inner);
    }
    gg_in_leave(in, mark);
    e->output_count = count > 0 || e->peer ? all : 0;
    int o = op->graded != NULL ? gg_tensor_find(op->outputs, op->graded) : -1;
    double told = NAN;
    GG_TRY(number(in, entry, "graded_rmse_over_floor", &told));
    if (o >= 0 && e->output_count > 0)
        e->graded = e->outputs[o].rmse == 0 ? 0 : e->outputs[o].rmse / e->outputs[o].floor;
    if (isnan(told) ? !isfinite(e->graded) : agree(told, e->graded)) return GG_OK;
    return gg_in_refuse(in, "graded_rmse_over_floor is not that of its outputs");
}

static gg_status read_outcome(gg_json_in *in, const cJSON *item, gg_bench_entry *e)
{
    char outcome[16];
    bool timed = e->total.median > 0;
    GG_TRY(gg_in_text(in, item, "outcome", outcome, sizeof outcome));
    GG_TRY(gg_in_text(in, item, "reason", e->reason, sizeof e->reason));
    e->declined = strcmp(outcome, "declined") == 0;
    if (strcmp(outcome, "right") == 0) e->verdict = GG_PASSED;
    else if (strcmp(outcome, "wrong") == 0) e->verdict = GG_FAILED;
    else if (!e->declined && strcmp(outcome, timed ? "not verified" : "not timed") != 0)
        return gg_in_refuse(in, "the outcome '%s' does not fit the times", outcome);
    if (e->verdict == GG_PASSED && (!timed || (!e->peer && e->output_count == 0)))
        return gg_in_refuse(in, "is called right without times and outputs");
    if (e->verdict == GG_PASSED && !e->peer && e->reason[0])
        return gg_in_refuse(in, "is called right, and has a reason why not");
    return GG_OK;
}

static gg_status read_memory(gg_json_in *in, const cJSON *item, gg_bench_entry *e)
{
    const cJSON *same = gg_in_get(item, "same_bits");
    if (gg_in_get(item, "saved_bytes") != NULL) {
        GG_TRY(gg_in_integer(in, item, "saved_bytes", 0, MOST_BYTES, &e->saved_bytes));
        GG_TRY(gg_in_integer(in, item, "workspace_bytes", 0, MOST_BYTES, &e->workspace_bytes));
    }
    GG_TRY(number(in, item, "extra_bytes", &e->extra_bytes));
    double own = (double)(e->saved_bytes + e->workspace_bytes);
    if (!e->peer && e->extra_bytes >= 0) {
        if (!agree(e->extra_bytes, own))
            return gg_in_refuse(in, "extra_bytes is not saved_bytes and workspace_bytes");
        e->extra_bytes = own;
    }
    if (same != NULL && !cJSON_IsBool(same))
        return gg_in_fault(in, "same_bits", same, "true or false");
    if (same != NULL) e->same_bits = cJSON_IsTrue(same);
    return GG_OK;
}

static gg_status read_entry(gg_json_in *in, const cJSON *item, gg_bench *b)
{
    char id[96], kernel[64];
    int at = 0;
    GG_TRY(gg_in_text(in, item, "case", id, sizeof id));
    GG_TRY(gg_in_text(in, item, "kernel", kernel, sizeof kernel));
    while (at < b->case_count && strcmp(b->cases[at].id, id) != 0) at++;
    if (at == b->case_count) return gg_in_refuse(in, "there is no case '%.90s'", id);
    gg_bench_entry *e = gg_bench_add(b, at, kernel);
    if (e == NULL) return GG_NO_MEMORY;
    e->peer = cJSON_IsTrue(gg_in_get(item, "peer"));
    GG_TRY(read_times(in, item, "forward", &e->forward));
    GG_TRY(read_times(in, item, "total", &e->total));
    GG_TRY(read_memory(in, item, e));
    GG_TRY(read_outputs(in, item, b->op, e));
    return read_outcome(in, item, e);
}

/* {"q": "bf16", ...}; a file of an older version lacks it. */
static gg_status read_dtypes(gg_json_in *in, const cJSON *item, const gg_operator *op,
                             gg_bench_case *c)
{
    const cJSON *object = gg_in_get(item, "dtypes");
    char text[16];
    if (object == NULL) return GG_OK;
    size_t mark = gg_in_enter(in, "dtypes", 0);
    for (int out = 0; out < 2; out++) {
        const gg_tensor_decl *t = out ? op->outputs : op->inputs;
        gg_dtype *to = out ? c->output_dtype : c->input_dtype;
        for (int i = 0; t[i].name != NULL; i++) {
            GG_TRY(gg_in_text(in, object, t[i].name, text, sizeof text));
            to[i] = gg_dtype_parse(text);
            if (to[i] == GG_DTYPES)
                return gg_in_refuse(in, "%s: '%s' is no type of elements", t[i].name, text);
        }
    }
    gg_in_leave(in, mark);
    return GG_OK;
}

static gg_status read_cost(gg_json_in *in, const cJSON *item, gg_cost *cost)
{
    static const char *const keys[2][2] = {{"forward_flop", "backward_flop"},
                                           {"forward_exponentials", "backward_exponentials"}};
    for (int d = 0; d < 2; d++) {
        GG_TRY(number(in, gg_in_get(item, "cost"), keys[0][d], &cost->flops[d]));
        GG_TRY(number(in, gg_in_get(item, "cost"), keys[1][d], &cost->exponentials[d]));
        if (isnan(cost->flops[d]) || isnan(cost->exponentials[d]))
            return gg_in_refuse(in, "cost is not told");
    }
    return GG_OK;
}

static gg_status read_case(gg_json_in *in, const cJSON *item, const gg_operator *op,
                           gg_bench_case *c)
{
    char seed[24], *end;
    int64_t sets = 0;
    GG_TRY(gg_in_text(in, item, "id", c->id, sizeof c->id));
    GG_TRY(gg_in_text(in, item, "family", c->family, sizeof c->family));
    GG_TRY(gg_in_text(in, item, "seed", seed, sizeof seed));
    c->seed = strtoull(seed, &end, 10);
    if (seed[0] < '0' || seed[0] > '9' || *end != '\0')
        return gg_in_fault(in, "seed", gg_in_get(item, "seed"), "digits as text");
    for (int s = 0; op->symbols[s] != '\0'; s++) {
        const char key[2] = {op->symbols[s], '\0'};
        GG_TRY(gg_in_integer(in, gg_in_get(item, "extents"), key, 1, GG_MAX_EXTENT,
                             &c->extent[s]));
    }
    GG_TRY(read_dtypes(in, item, op, c));
    GG_TRY(read_cost(in, item, &c->cost));
    const cJSON *rotation = gg_in_get(item, "rotation");
    GG_TRY(gg_in_integer(in, rotation, "sets", 0, GG_BENCH_SETS, &sets));
    c->sets = (int)sets;
    return gg_in_integer(in, rotation, "set_bytes", 0, MOST_BYTES, &c->set_bytes);
}

static gg_status read_cases(gg_json_in *in, const cJSON *document, gg_bench *b)
{
    const cJSON *item;
    int count = 0;
    GG_TRY(gg_in_array(in, document, "cases", 1, MOST_CASES, &count));
    b->cases = calloc((size_t)count, sizeof *b->cases);
    if (b->cases == NULL) return gg_fail(GG_NO_MEMORY, "%s: no memory to read it", in->file);
    size_t mark = gg_in_enter(in, "cases", 0);
    cJSON_ArrayForEach(item, gg_in_get(document, "cases")) {
        gg_bench_case *c = &b->cases[b->case_count];
        size_t inner = gg_in_enter(in, NULL, b->case_count);
        GG_TRY(read_case(in, item, b->op, c));
        for (int i = 0; i < b->case_count; i++)
            if (strcmp(b->cases[i].id, c->id) == 0)
                return gg_in_refuse(in, "%.90s comes twice", c->id);
        b->case_count++;
        gg_in_leave(in, inner);
    }
    gg_in_leave(in, mark);
    return GG_OK;
}

static gg_status read_entries(gg_json_in *in, const cJSON *document, gg_bench *b)
{
    const cJSON *item;
    int count = 0;
    GG_TRY(gg_in_array(in, document, "entries", 0, MOST_ENTRIES, &count));
    size_t mark = gg_in_enter(in, "entries", 0);
    cJSON_ArrayForEach(item, gg_in_get(document, "entries")) {
        size_t inner = gg_in_enter(in, NULL, b->entry_count);
        GG_TRY(read_entry(in, item, b));
        const gg_bench_entry *e = &b->entries[b->entry_count - 1];
        for (int i = 0; i < b->entry_count - 1 && !e->peer; i++)
            if (b->entries[i].at == e->at && !b->entries[i].peer &&
                strcmp(b->entries[i].kernel, e->kernel) == 0)
                return gg_in_refuse(in, "%.40s comes twice for its case", e->kernel);
        gg_in_leave(in, inner);
    }
    gg_in_leave(in, mark);
    return GG_OK;
}

static gg_status read_place(gg_json_in *in, const cJSON *document, gg_bench *b)
{
    const cJSON *item = gg_in_get(document, "environment");
    gg_run_record *m = &b->made;
    int64_t threads = 0;
    double peak = NAN;
    size_t mark = gg_in_enter(in, "environment", 0);
    const struct {
        const char *key;
        char *text;
        size_t size;
    } texts[] = {{"version", m->version, sizeof m->version},
                 {"commit", m->commit, sizeof m->commit},
                 {"compiler", m->compiler, sizeof m->compiler},
                 {"host_cpu", m->place.host_cpu, sizeof m->place.host_cpu},
                 {"gpu", m->place.gpu, sizeof m->place.gpu},
                 {"driver", m->place.driver, sizeof m->place.driver},
                 {"started", m->place.started, sizeof m->place.started},
                 {"finished", m->place.finished, sizeof m->place.finished},
                 {"clocks_at_start", b->clocks[0], sizeof b->clocks[0]},
                 {"clocks_at_end", b->clocks[1], sizeof b->clocks[1]},
                 {"peak_source", b->peak_source, sizeof b->peak_source}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        GG_TRY(gg_in_text(in, item, texts[i].key, texts[i].text, texts[i].size));
    GG_TRY(gg_in_digest(in, item, "program_digest", &m->kernel_digest));
    GG_TRY(gg_in_integer(in, item, "host_threads", 0, 1 << 20, &threads));
    GG_TRY(gg_in_integer(in, item, "cache_bytes", 0, MOST_BYTES, &b->cache_bytes));
    GG_TRY(number(in, item, "peak_tflops", &peak));
    m->place.host_threads = (int)threads;
    b->peak_flops = isnan(peak) ? 0 : 1e12 * peak;
    gg_in_leave(in, mark);
    return GG_OK;
}

static gg_status read_document(gg_json_in *in, const cJSON *document, gg_bench *b)
{
    char name[32];
    int64_t reps = 0, unmatched = 0;
    GG_TRY(gg_in_text(in, document, "operator", name, sizeof name));
    b->op = gg_operator_find(name);
    if (b->op == NULL)
        return gg_in_refuse(in, "this version knows no operator '%s'", name);
    GG_TRY(gg_in_text(in, document, "suite", b->suite, sizeof b->suite));
    GG_TRY(gg_in_digest(in, document, "suite_digest", &b->suite_digest));
    GG_TRY(gg_in_text(in, document, "selection", b->selection, sizeof b->selection));
    GG_TRY(gg_in_text(in, document, "device", b->device, sizeof b->device));
    GG_TRY(gg_in_integer(in, document, "reps", 1, GG_BENCH_REPS, &reps));
    GG_TRY(gg_in_constant(in, document, "graded_output", b->op->graded ? b->op->graded : ""));
    GG_TRY(gg_in_text(in, document, "peers_about", b->peers_about, sizeof b->peers_about));
    GG_TRY(gg_in_integer(in, document, "peers_unmatched", 0, 1 << 30, &unmatched));
    b->reps = (int)reps;
    b->peers_unmatched = (int)unmatched;
    GG_TRY(read_place(in, document, b));
    GG_TRY(read_cases(in, document, b));
    GG_TRY(read_entries(in, document, b));
    GG_TRY(gg_bench_derive(b));
    return gg_in_constant(in, document, "verdict", gg_verdict_name(gg_bench_verdict(b)));
}

static gg_status a_test(void *context, int index, const char *text, size_t length)
{
    (void)context, (void)index, (void)text, (void)length;
    return GG_BAD_INPUT;
}

gg_status gg_bench_read(const char *path, gg_bench *bench, bool *is_bench)
{
    gg_json_in in = {.file = path};
    struct stat what;
    char *rest = NULL;
    size_t length = 0;
    bool starved = false;
    gg_status status = GG_OK;
    *bench = (gg_bench){.case_count = 0};
    *is_bench = false;
    /* A pipe can be read once: it is left to whoever reads reports. */
    if (stat(path, &what) != 0 || !S_ISREG(what.st_mode)) return GG_OK;
    if (gg_scan_file(path, a_test, NULL, &rest, &length) != GG_OK) return GG_OK;
    cJSON *document = gg_json_parse(rest, length, true, NULL, &starved);
    const cJSON *schema = gg_in_get(document, "schema");
    *is_bench = cJSON_IsString(schema) && strcmp(schema->valuestring, GG_BENCH_SCHEMA) == 0;
    if (starved) status = gg_fail(GG_NO_MEMORY, "%s: no memory to read it", path);
    else if (*is_bench) status = read_document(&in, document, bench);
    cJSON_Delete(document);
    free(rest);
    if (status != GG_OK) gg_bench_free(bench);
    return status;
}
