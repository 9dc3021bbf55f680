/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/case_json.h"

#include <math.h>
#include <string.h>

#include "cases/json_memory.h"
#include "reports/consistent.h"
#include "reports/fields.h"
#include "reports/map_json.h"

/* Far above any run, and far below what milliseconds in a double lose. */
#define MILLISECONDS_MAX (INT64_C(1) << 45)

const char *gg_ctrf_status(gg_verdict verdict)
{
    return verdict == GG_NOT_VERIFIED ? "other" : gg_verdict_name(verdict);
}

static int64_t milliseconds(double seconds)
{
    double value = seconds * 1000;
    if (!(value > 0)) return 0;
    return value < (double)MILLISECONDS_MAX ? llround(value) : MILLISECONDS_MAX;
}

static void write_list(gg_json_out *out, const char *key, const int64_t *values,
                       int count)
{
    gg_out_open_line(out, key, '[');
    for (int i = 0; i < count; i++) gg_out_integer(out, NULL, values[i]);
    gg_out_close(out);
}

static void write_output(gg_json_out *out, const gg_output_record *output)
{
    gg_out_open(out, NULL, '{');
    gg_fields_write(out, gg_output_fields, output);
    write_list(out, "shape", output->shape, output->ndim);
    gg_map_write(out, "bits_map", &output->bits_map);
    gg_map_write(out, "error_map", &output->error_map);
    gg_out_open(out, "checks", '[');
    for (int i = 0; i < output->check_count; i++) {
        gg_out_open_line(out, NULL, '{');
        gg_fields_write(out, gg_check_fields, &output->checks[i]);
        gg_out_close(out);
    }
    gg_out_close(out);
    gg_out_close(out);
}

static void write_level(gg_json_out *out, const gg_level_record *level, bool time)
{
    gg_out_open(out, NULL, '{');
    gg_fields_write(out, gg_level_fields, level);
    if (time) {
        gg_out_open_line(out, "achieved", '{');
        gg_fields_write(out, gg_level_time_fields, level);
        gg_out_close(out);
    }
    gg_out_open(out, "differences", '[');
    for (int i = 0; i < level->difference_count; i++) {
        gg_out_open_line(out, NULL, '{');
        gg_fields_write(out, gg_level_difference_fields, &level->differences[i]);
        gg_out_close(out);
    }
    gg_out_close(out);
    gg_out_close(out);
}

static void write_levels(gg_json_out *out, const gg_case_record *record, bool time)
{
    if (record->level_count == 0) return; /* as before there were levels */
    gg_out_open(out, "levels", '[');
    for (int i = 0; i < record->level_count; i++)
        write_level(out, &record->levels[i], time);
    gg_out_close(out);
}

void gg_case_write(gg_json_out *out, const char *symbols, const gg_case_record *record,
                   bool time)
{
    bool packed = out->packed;
    out->packed = true;
    gg_out_open(out, NULL, '{');
    gg_out_text(out, "name", record->id, sizeof record->id);
    gg_out_name(out, "status", gg_ctrf_status(record->verdict));
    gg_out_name(out, "rawStatus", gg_verdict_name(record->verdict));
    if (record->reason[0])
        gg_out_text(out, "message", record->reason, sizeof record->reason);
    if (time) gg_out_integer(out, "duration", milliseconds(record->seconds));
    if (time && record->device[0])
        gg_out_text(out, "device", record->device, sizeof record->device);
    gg_out_open(out, "extra", '{');
    gg_fields_write(out, gg_case_fields, record);
    if (time && record->across > 0) gg_out_integer(out, "across", record->across);
    write_list(out, "extent", record->extent, (int)strlen(symbols));
    gg_out_open(out, "outputs", '[');
    for (int i = 0; i < record->output_count; i++)
        write_output(out, &record->outputs[i]);
    gg_out_close(out);
    write_levels(out, record, time);
    gg_out_close(out);
    gg_out_close(out);
    out->packed = packed;
}

static gg_status read_list(gg_json_in *in, const cJSON *object, const char *key,
                           int64_t *values, int most, int *count)
{
    GG_TRY(gg_in_array(in, object, key, 0, most, count));
    const cJSON *item;
    int i = 0;
    cJSON_ArrayForEach(item, gg_in_get(object, key)) {
        if (!gg_in_whole(item, 0, GG_COUNT_MAX, &values[i++]))
            return gg_in_fault(in, key, item, "whole numbers from 0 to 2^53");
    }
    return GG_OK;
}

static gg_status read_checks(gg_json_in *in, const cJSON *object,
                             gg_output_record *output)
{
    GG_TRY(gg_in_array(in, object, "checks", 0, GG_MAX_CHECKS, &output->check_count));
    const cJSON *item;
    int i = 0;
    size_t mark = gg_in_enter(in, "checks", 0);
    cJSON_ArrayForEach(item, gg_in_get(object, "checks")) {
        size_t inner = gg_in_enter(in, NULL, i);
        GG_TRY(gg_fields_read(in, item, gg_check_fields, NULL, &output->checks[i++]));
        gg_in_leave(in, inner);
    }
    gg_in_leave(in, mark);
    return GG_OK;
}

static gg_status read_outputs(gg_json_in *in, const cJSON *extra,
                              gg_case_record *record)
{
    static const char *const others[] = {"shape", "?bits_map", "?error_map", "checks", NULL};
    GG_TRY(gg_in_array(in, extra, "outputs", 0, GG_MAX_OUTPUTS, &record->output_count));
    const cJSON *item;
    int i = 0;
    size_t mark = gg_in_enter(in, "outputs", 0);
    cJSON_ArrayForEach(item, gg_in_get(extra, "outputs")) {
        gg_output_record *output = &record->outputs[i];
        size_t inner = gg_in_enter(in, NULL, i++);
        GG_TRY(gg_fields_read(in, item, gg_output_fields, others, output));
        GG_TRY(read_list(in, item, "shape", output->shape, GG_MAX_DIMS, &output->ndim));
        GG_TRY(gg_map_read(in, item, "bits_map", &output->bits_map));
        GG_TRY(gg_map_read(in, item, "error_map", &output->error_map));
        GG_TRY(read_checks(in, item, output));
        gg_in_leave(in, inner);
    }
    gg_in_leave(in, mark);
    return GG_OK;
}

static gg_status read_differences(gg_json_in *in, const cJSON *object,
                                  gg_level_record *level)
{
    GG_TRY(gg_in_array(in, object, "differences", 0, GG_MAX_OUTPUTS,
                       &level->difference_count));
    const cJSON *item;
    int i = 0;
    size_t mark = gg_in_enter(in, "differences", 0);
    cJSON_ArrayForEach(item, gg_in_get(object, "differences")) {
        size_t inner = gg_in_enter(in, NULL, i);
        GG_TRY(gg_fields_read(in, item, gg_level_difference_fields, NULL,
                              &level->differences[i++]));
        gg_in_leave(in, inner);
    }
    gg_in_leave(in, mark);
    return GG_OK;
}

static gg_status read_levels(gg_json_in *in, const cJSON *extra, gg_case_record *record)
{
    static const char *const others[] = {"achieved", "differences", NULL};
    if (!gg_in_get(extra, "levels")) return GG_OK;
    GG_TRY(gg_in_array(in, extra, "levels", 1, GG_MAX_LEVELS, &record->level_count));
    const cJSON *item;
    int i = 0;
    size_t mark = gg_in_enter(in, "levels", 0);
    cJSON_ArrayForEach(item, gg_in_get(extra, "levels")) {
        gg_level_record *level = &record->levels[i];
        size_t inner = gg_in_enter(in, NULL, i++);
        GG_TRY(gg_fields_read(in, item, gg_level_fields, others, level));
        size_t time = gg_in_enter(in, "achieved", 0);
        GG_TRY(gg_fields_read(in, gg_in_get(item, "achieved"), gg_level_time_fields, NULL,
                              level));
        gg_in_leave(in, time);
        GG_TRY(read_differences(in, item, level));
        gg_in_leave(in, inner);
    }
    gg_in_leave(in, mark);
    return GG_OK;
}

static gg_status read_verdict(gg_json_in *in, const cJSON *test, gg_verdict *verdict)
{
    const cJSON *raw = gg_in_get(test, "rawStatus");
    for (int v = GG_NOT_VERIFIED; v <= GG_FAILED; v++)
        if (cJSON_IsString(raw) &&
            strcmp(raw->valuestring, gg_verdict_name((gg_verdict)v)) == 0) {
            *verdict = (gg_verdict)v;
            return gg_in_constant(in, test, "status", gg_ctrf_status(*verdict));
        }
    return gg_in_fault(in, "rawStatus", raw,
                       "\"passed\", \"failed\" or \"not verified\"");
}

static gg_status read_test(gg_json_in *in, const cJSON *test, gg_case_record *record)
{
    static const char *const keys[] = {"name",     "status",   "rawStatus", "?message",
                                       "duration", "?device",  "extra", NULL};
    static const char *const others[] = {"extent", "outputs", "?levels", "?across", NULL};
    GG_TRY(gg_in_keys(in, test, keys));
    GG_TRY(gg_in_text(in, test, "name", record->id, sizeof record->id));
    GG_TRY(read_verdict(in, test, &record->verdict));
    if (gg_in_get(test, "message"))
        GG_TRY(gg_in_text(in, test, "message", record->reason, sizeof record->reason));
    int64_t duration = 0;
    GG_TRY(gg_in_integer(in, test, "duration", 0, MILLISECONDS_MAX, &duration));
    record->seconds = (double)duration / 1000;
    if (gg_in_get(test, "device"))
        GG_TRY(gg_in_text(in, test, "device", record->device, sizeof record->device));
    const cJSON *extra = gg_in_get(test, "extra");
    size_t mark = gg_in_enter(in, "extra", 0);
    GG_TRY(gg_fields_read(in, extra, gg_case_fields, others, record));
    int64_t across = 0;
    if (gg_in_get(extra, "across"))
        GG_TRY(gg_in_integer(in, extra, "across", 2, GG_MAX_DEVICES, &across));
    record->across = (int)across;
    int extents = 0;
    GG_TRY(read_list(in, extra, "extent", record->extent, GG_MAX_SYMBOLS, &extents));
    GG_TRY(read_outputs(in, extra, record));
    GG_TRY(read_levels(in, extra, record));
    gg_in_leave(in, mark);
    return GG_OK;
}

gg_status gg_case_read(gg_json_in *in, const char *text, size_t length,
                       gg_case_record *record)
{
    char fault[GG_FAULT_SIZE];
    memset(record, 0, sizeof *record);
    bool starved;
    cJSON *test = gg_json_parse(text, length, true, NULL, &starved);
    if (starved) return gg_fail(GG_NO_MEMORY, "%s: no memory to read it", in->file);
    if (!test) return gg_in_refuse(in, "cannot be parsed as JSON");
    gg_status status = read_test(in, test, record);
    cJSON_Delete(test);
    if (status != GG_OK) return status;
    if (gg_case_fault(record, NULL, fault))
        return gg_in_refuse(in, "report case %s %s", record->id, fault);
    return GG_OK;
}
