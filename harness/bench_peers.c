/* SPDX-License-Identifier: Apache-2.0
 * Reads what a peer script says: one JSON object a line (scripts/peers/README.md). */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cases/json_memory.h"
#include "harness/bench.h"
#include "reports/json_in.h"
#include "reports/json_scan.h"

enum { MOST_LINE = 1 << 16 };

/* A peer whose graded output is this many floors away computes something else. */
#define PEER_ALARM 20.0

/* A positive finite number; NaN when the key is missing or null. */
static gg_status number(gg_json_in *in, const cJSON *object, const char *key, double *value)
{
    const cJSON *item = gg_in_get(object, key);
    *value = NAN;
    if (item == NULL || cJSON_IsNull(item)) return GG_OK;
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || isinf(item->valuedouble))
        return gg_in_fault(in, key, item, "a number >= 0");
    *value = item->valuedouble;
    return GG_OK;
}

static gg_status milliseconds(gg_json_in *in, const cJSON *line, const char *key,
                              gg_times *times)
{
    double value;
    GG_TRY(number(in, line, key, &value));
    if (value == 0) return gg_in_fault(in, key, gg_in_get(line, key), "a time above 0");
    times->median = times->least = times->most = value;
    return GG_OK;
}

/* {"dq": 2.2e-4, ...} under `key`: into that figure of the outputs. */
static gg_status figures(gg_json_in *in, const gg_operator *op, const cJSON *line,
                         const char *key, gg_bench_entry *e)
{
    const cJSON *object = gg_in_get(line, key);
    if (object == NULL) return GG_OK;
    if (!cJSON_IsObject(object)) return gg_in_fault(in, key, object, "an object");
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        int o = gg_tensor_find(op->outputs, item->string);
        double value;
        if (o < 0) return gg_in_fault(in, item->string, item, "an output of the operator");
        GG_TRY(number(in, object, item->string, &value));
        if (key[0] == 't') e->outputs[o].truth_rms = value;
        else if (key[0] == 'f') e->outputs[o].floor = value;
        else e->outputs[o].rmse = value;
    }
    return GG_OK;
}

static gg_status read_entry(gg_json_in *in, const gg_operator *op, const cJSON *line,
                            gg_bench_entry *e)
{
    const cJSON *same = gg_in_get(line, "same_bits");
    GG_TRY(gg_in_text(in, line, "kernel", e->kernel, sizeof e->kernel));
    e->peer = true;
    for (int o = 0; op->outputs[o].name != NULL; o++, e->output_count++) {
        e->outputs[o] = (gg_bench_output){.dtype = op->outputs[o].dtype, .rmse = NAN,
                                          .floor = NAN, .truth_rms = NAN,
                                          .gauge_p99 = NAN, .gauge_max = NAN};
        snprintf(e->outputs[o].name, sizeof e->outputs[o].name, "%s", op->outputs[o].name);
    }
    if (gg_in_get(line, "reason") != NULL)
        GG_TRY(gg_in_text(in, line, "reason", e->reason, sizeof e->reason));
    GG_TRY(milliseconds(in, line, "forward_ms", &e->forward));
    GG_TRY(milliseconds(in, line, "total_ms", &e->total));
    GG_TRY(number(in, line, "peak_extra_bytes", &e->extra_bytes));
    if (same != NULL && !cJSON_IsNull(same) && !cJSON_IsBool(same))
        return gg_in_fault(in, "same_bits", same, "true, false or null");
    if (cJSON_IsBool(same)) e->same_bits = cJSON_IsTrue(same);
    GG_TRY(figures(in, op, line, "rmse", e));
    GG_TRY(figures(in, op, line, "floor", e));
    GG_TRY(figures(in, op, line, "truth_rms", e));
    if (isnan(e->total.median) && e->reason[0] == '\0')
        return gg_in_refuse(in, "neither total_ms nor a reason why it was not timed");
    return GG_OK;
}

/* Grades the peer and raises the alarm when it cannot be the same operator. */
static void grade(const gg_operator *op, gg_bench_entry *e)
{
    int o = op->graded != NULL ? gg_tensor_find(op->outputs, op->graded) : -1;
    if (isnan(e->total.median)) return;
    e->verdict = GG_PASSED;
    if (o < 0 || isnan(e->outputs[o].rmse) || isnan(e->outputs[o].floor)) return;
    e->graded = e->outputs[o].rmse / e->outputs[o].floor;
    if (e->graded <= PEER_ALARM) return;
    e->verdict = GG_FAILED;
    snprintf(e->reason, sizeof e->reason, "%s is %.3g floors from the truth: not the same "
             "operator, or wrong", op->graded, e->graded);
}

/* The case has the line's family and each extent that the line tells. */
static bool fits(const gg_operator *op, const gg_bench_case *c, const char *family,
                 const int64_t *extent)
{
    if (strcmp(c->family, family) != 0) return false;
    for (int s = 0; op->symbols[s] != '\0'; s++)
        if (extent[s] > 0 && extent[s] != c->extent[s]) return false;
    return true;
}

static gg_status read_extents(gg_json_in *in, const gg_operator *op, const cJSON *line,
                              int64_t *extent)
{
    int told = 0;
    for (int s = 0; op->symbols[s] != '\0'; s++) {
        const char key[2] = {op->symbols[s], '\0'};
        extent[s] = 0;
        if (gg_in_get(line, key) == NULL) continue;
        GG_TRY(gg_in_integer(in, line, key, 1, GG_MAX_EXTENT, &extent[s]));
        told++;
    }
    return told > 0 ? GG_OK : gg_in_refuse(in, "no extent of %s (of %s)", op->name,
                                           op->symbols);
}

static bool known_key(const gg_operator *op, const char *key)
{
    static const char *const keys[] = {"kernel", "family", "forward_ms", "total_ms",
                                       "same_bits", "peak_extra_bytes", "rmse", "floor",
                                       "truth_rms", "rmse_rows", "reason", "about"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(key, keys[i]) == 0) return true;
    return key[0] != '\0' && key[1] == '\0' && strchr(op->symbols, key[0]) != NULL;
}

static gg_status read_line(gg_json_in *in, const cJSON *line, gg_bench *bench)
{
    const gg_operator *op = bench->op;
    gg_bench_entry entry = {.same_bits = -1, .graded = NAN, .extra_bytes = NAN};
    char family[32];
    int64_t extent[GG_MAX_SYMBOLS];
    int fitted = 0;
    if (!cJSON_IsObject(line)) return gg_in_refuse(in, "not an object");
    for (const cJSON *item = line->child; item != NULL; item = item->next)
        if (!known_key(op, item->string))
            return gg_in_refuse(in, "unknown key '%.40s'", item->string);
    if (gg_in_get(line, "kernel") == NULL && gg_in_get(line, "about") != NULL)
        return gg_in_text(in, line, "about", bench->peers_about, sizeof bench->peers_about);
    snprintf(family, sizeof family, "%s", op->families[0].name);
    if (gg_in_get(line, "family") != NULL)
        GG_TRY(gg_in_text(in, line, "family", family, sizeof family));
    GG_TRY(read_extents(in, op, line, extent));
    GG_TRY(read_entry(in, op, line, &entry));
    grade(op, &entry);
    for (int i = 0; i < bench->case_count; i++) {
        if (!fits(op, &bench->cases[i], family, extent)) continue;
        gg_bench_entry *e = gg_bench_add(bench, i, entry.kernel);
        if (e == NULL) return GG_NO_MEMORY;
        *e = entry;
        e->at = i;
        fitted++;
    }
    bench->peers_unmatched += fitted == 0;
    return GG_OK;
}

static gg_status read_text(const char *path, int number_of, const char *text,
                           gg_bench *bench)
{
    gg_json_in in = {.file = path};
    size_t length = strlen(text);
    GG_TRY(gg_scan_text(path, number_of, text, length));
    bool starved;
    cJSON *line = gg_json_parse(text, length, false, NULL, &starved);
    if (starved) return gg_fail(GG_NO_MEMORY, "no memory to read %s", path);
    if (line == NULL)
        return gg_fail(GG_BAD_INPUT, "%s: line %d is not valid JSON", path, number_of);
    snprintf(in.path, sizeof in.path, "line %d", number_of);
    gg_status status = read_line(&in, line, bench);
    cJSON_Delete(line);
    return status;
}

gg_status gg_bench_peers(const char *path, gg_bench *bench)
{
    char *text = malloc(MOST_LINE);
    FILE *file = fopen(path, "r");
    gg_status status = GG_OK;
    int lines = 0, told = 0;
    if (text == NULL || file == NULL)
        status = text == NULL || errno == ENOMEM
                     ? gg_fail(GG_NO_MEMORY, "no memory to read %s", path)
                     : gg_fail(GG_IO, "peers %s: cannot be read", path);
    while (status == GG_OK && fgets(text, MOST_LINE, file) != NULL) {
        size_t length = strlen(text);
        lines++;
        if (length + 1 == MOST_LINE || length == 0)
            status = gg_fail(GG_BAD_INPUT, "%s: line %d is no line of text, or too long",
                             path, lines);
        else if (strspn(text, " \t\r\n") < length) {
            told++;
            status = read_text(path, lines, text, bench);
        }
    }
    if (status == GG_OK && ferror(file))
        status = gg_fail(GG_IO, "peers %s: cannot be read", path);
    if (status == GG_OK && told == 0)
        status = gg_fail(GG_BAD_INPUT, "%s: no peer in it", path);
    if (file != NULL) fclose(file);
    free(text);
    return status;
}
