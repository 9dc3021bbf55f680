/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/json_in.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "reports/exact.h"

#define EXACT_FORM                                                                     \
    "a hexadecimal float as text, such as \"0x1.8p-3\", \"nan\" or \"inf\""

size_t gg_in_enter(gg_json_in *in, const char *key, int index)
{
    size_t mark = strlen(in->path);
    size_t room = sizeof in->path - mark;
    if (key) snprintf(in->path + mark, room, "%s%s", mark ? "." : "", key);
    else snprintf(in->path + mark, room, "[%d]", index);
    return mark;
}

void gg_in_leave(gg_json_in *in, size_t mark) { in->path[mark] = 0; }

/* What stands there, short enough for one line. */
static void describe(const cJSON *item, char *text, size_t size)
{
    if (!item) snprintf(text, size, "nothing");
    else if (cJSON_IsString(item)) {
        bool whole = strlen(item->valuestring) <= 40;
        snprintf(text, size, "\"%.40s%s\"", item->valuestring, whole ? "" : "...");
    } else if (cJSON_IsNumber(item)) snprintf(text, size, "%.17g", item->valuedouble);
    else if (cJSON_IsBool(item)) snprintf(text, size, "true or false");
    else if (cJSON_IsNull(item)) snprintf(text, size, "null");
    else if (cJSON_IsArray(item)) snprintf(text, size, "a list");
    else snprintf(text, size, "an object");
}

gg_status gg_in_fault(gg_json_in *in, const char *key, const cJSON *found,
                      const char *expected)
{
    char text[64];
    describe(found, text, sizeof text);
    size_t mark = strlen(in->path);
    if (key) gg_in_enter(in, key, 0);
    gg_fail(GG_BAD_INPUT, "%s: %s: expected %s, found %s", in->file,
            *in->path ? in->path : "the document", expected, text);
    gg_in_leave(in, mark);
    return GG_BAD_INPUT;
}

gg_status gg_in_refuse(gg_json_in *in, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return gg_fail(GG_BAD_INPUT, "%s: %s%s%s", in->file, in->path,
                   *in->path ? ": " : "", text);
}

const cJSON *gg_in_get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

gg_status gg_in_keys(gg_json_in *in, const cJSON *object, const char *const *keys)
{
    if (!cJSON_IsObject(object)) return gg_in_fault(in, NULL, object, "an object");
    uint64_t seen = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, object) {
        int k = 0;
        while (keys[k] && strcmp(keys[k] + (keys[k][0] == '?'), item->string) != 0) k++;
        if (!keys[k])
            return gg_in_refuse(in,
                                "has a field \"%.40s\" that this version does not know",
                                item->string);
        if (seen >> k & 1)
            return gg_in_refuse(in, "has the field \"%.40s\" twice", item->string);
        seen |= UINT64_C(1) << k;
    }
    for (int k = 0; keys[k]; k++)
        if (keys[k][0] != '?' && !(seen >> k & 1))
            return gg_in_fault(in, keys[k], NULL, "a value");
    return GG_OK;
}

gg_status gg_in_text(gg_json_in *in, const cJSON *object, const char *key, char *text,
                     size_t size)
{
    const cJSON *item = gg_in_get(object, key);
    char expected[48];
    snprintf(expected, sizeof expected, "a text of at most %zu bytes", size - 1);
    if (!cJSON_IsString(item) || strlen(item->valuestring) >= size)
        return gg_in_fault(in, key, item, expected);
    memset(text, 0, size);
    memcpy(text, item->valuestring, strlen(item->valuestring));
    return GG_OK;
}

gg_status gg_in_constant(gg_json_in *in, const cJSON *object, const char *key,
                         const char *wanted)
{
    const cJSON *item = gg_in_get(object, key);
    char expected[192];
    snprintf(expected, sizeof expected, "\"%s\"", wanted);
    if (!cJSON_IsString(item) || strcmp(item->valuestring, wanted) != 0)
        return gg_in_fault(in, key, item, expected);
    return GG_OK;
}

bool gg_in_whole(const cJSON *item, int64_t low, int64_t high, int64_t *value)
{
    if (!cJSON_IsNumber(item)) return false;
    double number = item->valuedouble;
    if (!(number >= (double)low && number <= (double)high) || floor(number) != number)
        return false;
    *value = (int64_t)number;
    return true;
}

gg_status gg_in_integer(gg_json_in *in, const cJSON *object, const char *key,
                        int64_t low, int64_t high, int64_t *value)
{
    const cJSON *item = gg_in_get(object, key);
    char expected[80];
    snprintf(expected, sizeof expected, "a whole number from %" PRId64 " to %" PRId64,
             low, high);
    if (!gg_in_whole(item, low, high, value))
        return gg_in_fault(in, key, item, expected);
    return GG_OK;
}

gg_status gg_in_exact(gg_json_in *in, const cJSON *object, const char *key,
                      double *value)
{
    const cJSON *item = gg_in_get(object, key);
    if (!cJSON_IsString(item) || !gg_exact_parse(item->valuestring, value))
        return gg_in_fault(in, key, item, EXACT_FORM);
    char beside[64], wanted[GG_EXACT_SIZE], found[GG_EXACT_SIZE] = "null";
    snprintf(beside, sizeof beside, "%s_decimal", key);
    gg_decimal_format(*value, wanted);
    const cJSON *decimal = gg_in_get(object, beside);
    if (cJSON_IsNumber(decimal)) gg_decimal_format(decimal->valuedouble, found);
    bool number = cJSON_IsNumber(decimal) || cJSON_IsNull(decimal);
    /* people read this one, so it may not lie */
    if (!number || strcmp(wanted, found) != 0)
        return gg_in_fault(in, beside, decimal, wanted);
    return GG_OK;
}

gg_status gg_in_digest(gg_json_in *in, const cJSON *object, const char *key,
                       uint64_t *value)
{
    const cJSON *item = gg_in_get(object, key);
    if (!cJSON_IsString(item) || !gg_digest_parse(item->valuestring, value))
        return gg_in_fault(in, key, item, "\"xxh:\" and 16 hexadecimal digits");
    return GG_OK;
}

gg_status gg_in_array(gg_json_in *in, const cJSON *object, const char *key, int low,
                      int high, int *count)
{
    const cJSON *array = gg_in_get(object, key), *item;
    char expected[64];
    if (low == high) snprintf(expected, sizeof expected, "a list of %d", high);
    else snprintf(expected, sizeof expected, "a list of %d to %d", low, high);
    int found = 0;
    if (cJSON_IsArray(array))
        cJSON_ArrayForEach(item, array) if (++found > high) break;
    if (!cJSON_IsArray(array) || found < low || found > high)
        return gg_in_fault(in, key, array, expected);
    *count = found;
    return GG_OK;
}
