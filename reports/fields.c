/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/fields.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/exact.h"

#define PLAIN(type, member, kind)                                                      \
    #member, GG_FIELD_##kind, offsetof(type, member), sizeof(((type *)0)->member)
#define FIELD(type, member, kind) {PLAIN(type, member, kind), false}
#define LATER(type, member, kind) {PLAIN(type, member, kind), true}
#define RUN(member, kind) FIELD(gg_run_record, member, kind)
#define PLACE(member, kind) FIELD(gg_place, member, kind)
#define LIMIT(member, kind) FIELD(gg_limit_record, member, kind)
#define CASE(member, kind) FIELD(gg_case_record, member, kind)
#define OUTPUT(member, kind) FIELD(gg_output_record, member, kind)
#define LATER_OUTPUT(member, kind) LATER(gg_output_record, member, kind)
#define CHECK(member, kind) FIELD(gg_check, member, kind)
#define LEVEL(member, kind) FIELD(gg_level_record, member, kind)
#define DIFFERENCE(member, kind) FIELD(gg_level_difference, member, kind)
#define MAP(member, kind) FIELD(gg_map, member, kind)
#define BITS(key, type, member, which)                                                 \
    {key, GG_FIELD_BITS, offsetof(type, member) + (which) * sizeof(uint32_t),          \
     sizeof(uint32_t), false}
#define END {NULL, GG_FIELD_TEXT, 0, 0, false}

const gg_field gg_run_fields[] = {
    RUN(version, TEXT), RUN(commit, TEXT), RUN(compiler, TEXT),
    RUN(operator_name, TEXT), RUN(symbols, TEXT), RUN(kernel, TEXT),
    RUN(kernel_summary, TEXT), RUN(kernel_digest, DIGEST), RUN(device, TEXT),
    RUN(suite, TEXT), RUN(suite_digest, DIGEST), RUN(suite_count, INT),
    RUN(selection, TEXT), RUN(shard, INT), RUN(shards, INT), RUN(repeats, INT),
    RUN(promise, TEXT), RUN(features, TEXT), RUN(ablation, TEXT), RUN(golden, TEXT),
    RUN(certify, INT), LATER(gg_run_record, roundings, INT), LATER(gg_run_record, levels, TEXT),
    LATER(gg_run_record, level_runs, INT), RUN(limits_note, TEXT), END};

const gg_field gg_place_fields[] = {
    PLACE(started, TEXT), PLACE(finished, TEXT), PLACE(seconds, EXACT),
    PLACE(host_cpu, TEXT), PLACE(host_threads, INT), PLACE(gpu, TEXT),
    PLACE(gpu_uuid, TEXT), PLACE(driver, TEXT), END};

const gg_field gg_device_fields[] = {
    FIELD(gg_device_record, name, TEXT), FIELD(gg_device_record, gpu_uuid, TEXT), END};

const gg_field gg_limit_fields[] = {
    LIMIT(output, TEXT), LIMIT(rmse_over_floor, EXACT), LIMIT(gauge_p99, EXACT),
    LIMIT(gauge_max, EXACT), END};

/* id, verdict, reason and seconds stand in CTRF's own fields of a test. */
const gg_field gg_case_fields[] = {
    CASE(index, INT), CASE(family, TEXT), CASE(seed, SEED),
    CASE(input_digest, DIGEST), CASE(runs, INT), END};

const gg_field gg_output_fields[] = {
    OUTPUT(name, TEXT), OUTPUT(dtype, DTYPE), OUTPUT(count, COUNT),
    OUTPUT(rmse, EXACT), OUTPUT(truth_rms, EXACT), OUTPUT(floor_rmse, EXACT),
    OUTPUT(allowance_rms, EXACT), OUTPUT(gauge_max, EXACT),
    OUTPUT(gauge_p99, EXACT), OUTPUT(gauge_max_at, COUNT),
    OUTPUT(output_there, EXACT), OUTPUT(truth_there, EXACT),
    OUTPUT(unwritten, COUNT), OUTPUT(pattern_mismatch, COUNT),
    OUTPUT(pattern_first, COUNT), OUTPUT(repeat_differing, COUNT),
    OUTPUT(repeat_first, COUNT),
    BITS("repeat_bits_first", gg_output_record, repeat_bits, 0),
    BITS("repeat_bits_other", gg_output_record, repeat_bits, 1),
    OUTPUT(repeat_ulps, WIDE), OUTPUT(digest, DIGEST), OUTPUT(certified, INT),
    OUTPUT(certificate, EXACT), LATER_OUTPUT(certificate_at, COUNT),
    LATER_OUTPUT(certified_error, EXACT), LATER_OUTPUT(certified_elements, TEXT),
    LATER_OUTPUT(stated_rmse, EXACT), LATER_OUTPUT(stated_rough, EXACT),
    OUTPUT(ablated_rmse, EXACT), END};

const gg_field gg_check_fields[] = {
    CHECK(name, TEXT), CHECK(verdict, VERDICT), CHECK(value, EXACT),
    CHECK(limit, EXACT), CHECK(note, TEXT), END};

const gg_field gg_level_fields[] = {
    LEVEL(name, TEXT), LEVEL(verdict, VERDICT), LEVEL(runs, INT), LEVEL(differed, INT),
    LEVEL(overlap_least, EXACT), LEVEL(control, TEXT), LEVEL(control_differed, INT),
    LEVEL(note, TEXT), END};

const gg_field gg_level_time_fields[] = {LEVEL(overlap, EXACT), LEVEL(control_runs, INT),
                                         END};

const gg_field gg_level_difference_fields[] = {
    DIFFERENCE(output, TEXT), DIFFERENCE(runs, INT), DIFFERENCE(run, INT),
    DIFFERENCE(differing, COUNT), DIFFERENCE(first, COUNT),
    BITS("bits_first", gg_level_difference, bits, 0),
    BITS("bits_other", gg_level_difference, bits, 1), DIFFERENCE(ulps, WIDE), END};

/* The cells stand beside them, as hexadecimal text. */
const gg_field gg_map_fields[] = {MAP(rows, INT), MAP(columns, INT),
                                  MAP(cell_rows, COUNT), MAP(cell_columns, COUNT),
                                  MAP(value, EXACT), MAP(full, EXACT), END};

/* One value of any kind; memcpy because a field table knows offsets, not types. */
typedef union gg_any {
    int i;
    int64_t i64;
    uint64_t u64;
    uint32_t u32;
    double number;
    gg_verdict verdict;
    gg_dtype dtype;
} gg_any;

static gg_any any_of(const gg_field *field, const void *record)
{
    gg_any any = {0};
    if (field->kind != GG_FIELD_TEXT)
        memcpy(&any, (const char *)record + field->offset, field->size);
    return any;
}

/* The text of every kind that is written as text. */
static void text_of(const gg_field *field, gg_any any, char text[32])
{
    switch (field->kind) {
    case GG_FIELD_WIDE: snprintf(text, 32, "%" PRId64, any.i64); break;
    case GG_FIELD_SEED: snprintf(text, 32, "%" PRIu64, any.u64); break;
    case GG_FIELD_DIGEST: gg_digest_format(any.u64, text); break;
    case GG_FIELD_EXACT: gg_exact_format(any.number, text); break;
    case GG_FIELD_BITS: snprintf(text, 32, "0x%08" PRIx32, any.u32); break;
    case GG_FIELD_VERDICT:
        snprintf(text, 32, "%s", gg_verdict_name(any.verdict));
        break;
    case GG_FIELD_DTYPE: snprintf(text, 32, "%s", gg_dtype_name(any.dtype)); break;
    case GG_FIELD_INT: snprintf(text, 32, "%d", any.i); break;
    case GG_FIELD_COUNT: snprintf(text, 32, "%" PRId64, any.i64); break;
    case GG_FIELD_TEXT: text[0] = 0; break;
    }
}

/* As it was before the field was thought of. */
static bool is_empty(const gg_field *field, const void *record)
{
    const char *bytes = (const char *)record + field->offset;
    size_t size = field->kind == GG_FIELD_TEXT ? 1 : field->size;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0) return false;
    return true;
}

void gg_fields_write(gg_json_out *out, const gg_field *fields, const void *record)
{
    for (const gg_field *f = fields; f->key; f++) {
        gg_any any = any_of(f, record);
        char text[32];
        if (f->optional && is_empty(f, record)) continue;
        if (f->kind == GG_FIELD_TEXT)
            gg_out_text(out, f->key, (const char *)record + f->offset, f->size);
        else if (f->kind == GG_FIELD_INT) gg_out_integer(out, f->key, any.i);
        else if (f->kind == GG_FIELD_COUNT) gg_out_integer(out, f->key, any.i64);
        else if (f->kind == GG_FIELD_EXACT) gg_out_exact(out, f->key, any.number);
        else {
            text_of(f, any, text);
            gg_out_name(out, f->key, text);
        }
    }
}

static bool parse_verdict(const char *text, gg_verdict *verdict)
{
    for (int v = GG_NOT_VERIFIED; v <= GG_FAILED; v++)
        if (strcmp(text, gg_verdict_name((gg_verdict)v)) == 0)
            return *verdict = (gg_verdict)v, true;
    return false;
}

static bool parse_bits(const char *text, uint32_t *bits)
{
    char again[16], *end = NULL;
    if (strlen(text) != 10 || strncmp(text, "0x", 2) != 0) return false;
    *bits = (uint32_t)strtoul(text, &end, 16);
    snprintf(again, sizeof again, "0x%08" PRIx32, *bits);
    return strcmp(text, again) == 0;
}

/* The kinds that are written as text other than names and exact values. */
static gg_status read_texts(gg_json_in *in, const cJSON *object, const gg_field *f,
                            gg_any *any)
{
    const cJSON *item = gg_in_get(object, f->key);
    const char *text = cJSON_IsString(item) ? item->valuestring : "", *expected = "";
    bool fits = false;
    if (f->kind == GG_FIELD_WIDE) {
        fits = gg_i64_parse(text, &any->i64);
        expected = "a whole number of 64 bits as text";
    } else if (f->kind == GG_FIELD_SEED) {
        fits = gg_u64_parse(text, &any->u64);
        expected = "a whole number from 0 to 2^64 - 1 as text";
    } else if (f->kind == GG_FIELD_BITS) {
        fits = parse_bits(text, &any->u32);
        expected = "32 bits as text, such as \"0x3f800000\"";
    } else if (f->kind == GG_FIELD_VERDICT) {
        fits = parse_verdict(text, &any->verdict);
        expected = "\"passed\", \"failed\" or \"not verified\"";
    } else if (f->kind == GG_FIELD_DTYPE) {
        any->dtype = gg_dtype_parse(text);
        fits = any->dtype != GG_DTYPES;
        expected = "a data type such as \"bf16\" or \"f32\"";
    }
    return fits ? GG_OK : gg_in_fault(in, f->key, item, expected);
}

static gg_status read_field(gg_json_in *in, const cJSON *object, const gg_field *f,
                            char *record)
{
    gg_any any = {0};
    int64_t whole = 0;
    switch (f->kind) {
    case GG_FIELD_TEXT:
        return gg_in_text(in, object, f->key, record + f->offset, f->size);
    case GG_FIELD_INT:
        GG_TRY(gg_in_integer(in, object, f->key, INT_MIN, INT_MAX, &whole));
        any.i = (int)whole;
        break;
    case GG_FIELD_COUNT:
        GG_TRY(
            gg_in_integer(in, object, f->key, -GG_COUNT_MAX, GG_COUNT_MAX, &any.i64));
        break;
    case GG_FIELD_DIGEST:
        GG_TRY(gg_in_digest(in, object, f->key, &any.u64));
        break;
    case GG_FIELD_EXACT:
        GG_TRY(gg_in_exact(in, object, f->key, &any.number));
        break;
    default:
        GG_TRY(read_texts(in, object, f, &any));
        break;
    }
    memcpy(record + f->offset, &any, f->size);
    return GG_OK;
}

gg_status gg_fields_read(gg_json_in *in, const cJSON *object, const gg_field *fields,
                         const char *const *others, void *record)
{
    enum { MOST = 63 };
    const char *keys[MOST + 1];
    char beside[MOST][40];
    int count = 0;
    for (const gg_field *f = fields; f->key && count < MOST - 1; f++) {
        if (f->optional) snprintf(beside[count], sizeof beside[count], "?%s", f->key);
        keys[count] = f->optional ? beside[count] : f->key;
        count++;
        if (f->kind != GG_FIELD_EXACT) continue;
        snprintf(beside[count], sizeof beside[count], "%s%s_decimal", f->optional ? "?" : "",
                 f->key);
        keys[count] = beside[count];
        count++;
    }
    for (; others && *others && count < MOST; others++) keys[count++] = *others;
    keys[count] = NULL;
    GG_TRY(gg_in_keys(in, object, keys));
    for (const gg_field *f = fields; f->key; f++)
        if (!f->optional || gg_in_get(object, f->key))
            GG_TRY(read_field(in, object, f, record));
    return GG_OK;
}

/* A text as it looks after it was written and read. */
static void clean_text(const char *from, size_t size, char text[256])
{
    size = strnlen(from, size < 256 ? size : 255);
    size_t length = 0;
    for (size_t i = 0; i < size;) {
        size_t bytes = gg_utf8_length(from + i, size - i);
        if (!bytes) text[length++] = '?', i++;
        while (bytes--) text[length++] = from[i++];
    }
    text[length] = 0;
}

const char *gg_fields_differ(const gg_field *fields, const void *a, const void *b,
                             char was[256], char is[256])
{
    for (const gg_field *f = fields; f->key; f++) {
        if (f->kind == GG_FIELD_TEXT) {
            clean_text((const char *)a + f->offset, f->size, was);
            clean_text((const char *)b + f->offset, f->size, is);
        } else {
            text_of(f, any_of(f, a), was);
            text_of(f, any_of(f, b), is);
        }
        if (strcmp(was, is) != 0) return f->key;
    }
    return NULL;
}

const char *gg_fields_unfit(const gg_field *fields, const void *record)
{
    for (const gg_field *f = fields; f->key; f++) {
        gg_any any = any_of(f, record);
        if (f->kind == GG_FIELD_COUNT &&
            (any.i64 > GG_COUNT_MAX || any.i64 < -GG_COUNT_MAX))
            return f->key;
        if (f->kind == GG_FIELD_DTYPE && (unsigned)any.dtype >= GG_DTYPES)
            return f->key;
        if (f->kind == GG_FIELD_VERDICT && (unsigned)any.verdict > GG_FAILED)
            return f->key;
        if (f->kind == GG_FIELD_TEXT &&
            strnlen((const char *)record + f->offset, f->size) == f->size)
            return f->key;
    }
    return NULL;
}
