/* SPDX-License-Identifier: Apache-2.0
 * One member of a suite's "cases": read and checked, each fault with its place. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases/suite_parse.h"

typedef struct spot {
    char text[160];
} spot;

static spot inside(const char *place, const char *name)
{
    spot s;
    snprintf(s.text, sizeof s.text, "%.80s.%.60s", place, name);
    return s;
}

static spot nth(const char *place, int64_t index)
{
    spot s;
    snprintf(s.text, sizeof s.text, "%.120s[%lld]", place, (long long)index);
    return s;
}

/* A whole number in [least, most], as JSON numbers hold them (exact up to 2^53). */
static gg_status read_whole(const gg_suite_reader *r, const char *place,
                            const cJSON *json, double least, double most,
                            int64_t *value)
{
    if (!cJSON_IsNumber(json))
        return gg_suite_refuse(r, place, "must be a whole number from %.0f to %.0f",
                               least, most);
    double d = json->valuedouble;
    if (!(d >= least && d <= most) || floor(d) != d)
        return gg_suite_refuse(r, place,
                               "must be a whole number from %.0f to %.0f, not %.15g",
                               least, most, d);
    *value = (int64_t)d;
    return GG_OK;
}

static gg_status read_extent_list(const gg_suite_reader *r, const char *place,
                                  const cJSON *json, int64_t *count)
{
    const cJSON *item = json->child;
    int64_t value;
    *count = 0;
    if (item == NULL)
        return gg_suite_refuse(r, place, "is an empty list; give at least one extent");
    for (; item != NULL; item = item->next, (*count)++)
        GG_TRY(read_whole(r, nth(place, *count).text, item, 1, (double)GG_MAX_EXTENT,
                          &value));
    return GG_OK;
}

/* A number, a list of numbers, or the name of another symbol that is one of these. */
static gg_status read_extent(const gg_suite_reader *r, const char *place,
                             const cJSON *extents, const cJSON *json, int symbol,
                             gg_suite_group *group, int64_t *count)
{
    int64_t value;
    *count = 1;
    group->tied[symbol] = -1;
    if (cJSON_IsString(json)) {
        int other = gg_suite_symbol(r->op, json->valuestring);
        if (other < 0)
            return gg_suite_refuse(r, place, "no symbol named %.40s; %s has %s",
                                   json->valuestring, r->op->name, r->op->symbols);
        const cJSON *target = cJSON_GetObjectItemCaseSensitive(extents,
                                                               json->valuestring);
        if (other == symbol || cJSON_IsString(target))
            return gg_suite_refuse(
                r, place,
                "follows %s, which has no number; give one of them a "
                "number or a list",
                json->valuestring);
        group->tied[symbol] = other;
        return GG_OK;
    }
    group->extent[symbol] = json;
    if (cJSON_IsArray(json)) return read_extent_list(r, place, json, count);
    if (!cJSON_IsNumber(json))
        return gg_suite_refuse(r, place,
                               "must be a number, a list of numbers or the name of "
                               "another symbol");
    return read_whole(r, place, json, 1, (double)GG_MAX_EXTENT, &value);
}

/* `total` times `count`, as long as it is no more cases than a suite may have. */
static gg_status multiply(const gg_suite_reader *r, const char *place, int64_t count,
                          int64_t *total)
{
    if (count > GG_SUITE_MAX_CASES / *total)
        return gg_suite_refuse(r, place, "makes more than %d cases; split the suite",
                               (int)GG_SUITE_MAX_CASES);
    *total *= count;
    return GG_OK;
}

static gg_status read_extents(const gg_suite_reader *r, const char *place,
                              const cJSON *json, gg_suite_group *group)
{
    bool seen[GG_MAX_SYMBOLS] = {false};
    if (!cJSON_IsObject(json))
        return gg_suite_refuse(r, place,
                               "must be an object with an extent for each symbol of %s",
                               r->op->symbols);
    for (const cJSON *item = json->child; item != NULL; item = item->next) {
        spot here = inside(place, item->string);
        int symbol = gg_suite_symbol(r->op, item->string);
        int64_t count;
        if (symbol < 0)
            return gg_suite_refuse(r, here.text, "no such symbol; %s has %s",
                                   r->op->name, r->op->symbols);
        if (seen[symbol])
            return gg_suite_refuse(r, here.text, "is given twice; keep one");
        seen[symbol] = true;
        GG_TRY(read_extent(r, here.text, json, item, symbol, group, &count));
        GG_TRY(multiply(r, here.text, count, &group->cases));
    }
    for (int s = 0; s < gg_suite_symbols(r->op); s++)
        if (!seen[s])
            return gg_suite_refuse(r, place, "symbol %c is missing; %s needs %s",
                                   r->op->symbols[s], r->op->name, r->op->symbols);
    return GG_OK;
}

static gg_status read_families(const gg_suite_reader *r, const char *place,
                               const cJSON *json, gg_suite_group *group)
{
    if (!cJSON_IsArray(json) || json->child == NULL)
        return gg_suite_refuse(r, place, "must be a list of at least one family");
    int64_t count = 0;
    for (const cJSON *item = json->child; item != NULL; item = item->next, count++) {
        spot here = nth(place, count);
        if (!cJSON_IsString(item))
            return gg_suite_refuse(r, here.text, "must be the name of a family");
        if (gg_family_find(r->op, item->valuestring) == NULL)
            return gg_suite_refuse(r, here.text,
                                   "%s has no family %.40s; see gradgate list families",
                                   r->op->name, item->valuestring);
    }
    group->families = json;
    return multiply(r, place, count, &group->cases);
}

/* A JSON number below 2^53 (from there on another one may have been meant), or a string for
 * the rest of the 64 bits ("0x..." or decimal). */
static gg_status read_seed(const gg_suite_reader *r, const char *place,
                           const cJSON *json, uint64_t *seed)
{
    if (!cJSON_IsString(json)) {
        int64_t value = 0;
        if (!cJSON_IsNumber(json))
            return gg_suite_refuse(r, place,
                                   "must be a whole number or a string of one");
        GG_TRY(read_whole(r, place, json, 0, 0x1p53 - 1, &value));
        *seed = (uint64_t)value;
        return GG_OK;
    }
    const char *text = json->valuestring;
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
        return gg_suite_refuse(
            r, place,
            "%.40s is no 64-bit seed; write decimal digits or 0x and "
            "hexadecimal ones",
            text);
    *seed = value;
    return GG_OK;
}

static gg_status read_seeds(const gg_suite_reader *r, const char *place,
                            const cJSON *json, gg_suite_group *group)
{
    bool first = false, count = false;
    if (!cJSON_IsObject(json))
        return gg_suite_refuse(r, place, "must be an object with first and count");
    for (const cJSON *item = json->child; item != NULL; item = item->next) {
        spot here = inside(place, item->string);
        bool is_first = strcmp(item->string, "first") == 0;
        if (!is_first && strcmp(item->string, "count") != 0)
            return gg_suite_refuse(r, here.text,
                                   "unknown key; seeds has first and count");
        if (is_first ? first : count)
            return gg_suite_refuse(r, here.text, "is given twice; keep one");
        if (is_first)
            GG_TRY(read_seed(r, here.text, item, &group->first_seed));
        else
            GG_TRY(
                read_whole(r, here.text, item, 1, GG_SUITE_MAX_SEEDS, &group->seeds));
        *(is_first ? &first : &count) = true;
    }
    if (!first || !count)
        return gg_suite_refuse(r, place, "%s is missing; seeds needs first and count",
                               first ? "count" : "first");
    if (group->first_seed > UINT64_MAX - (uint64_t)(group->seeds - 1))
        return gg_suite_refuse(r, place,
                               "the last seed is beyond 64 bits; lower first");
    return multiply(r, place, group->seeds, &group->cases);
}

static gg_status read_dtype(const gg_suite_reader *r, const char *place,
                            const cJSON *json, const gg_tensor_decl *decl,
                            gg_dtype *dtype)
{
    if (!cJSON_IsString(json))
        return gg_suite_refuse(r, place, "must be the name of a type, such as \"%s\"",
                               gg_dtype_name(decl->dtype));
    *dtype = gg_dtype_parse(json->valuestring);
    if (*dtype == GG_DTYPES || !(decl->dtypes >> *dtype & 1u)) {
        char allowed[64] = "";
        for (int t = 0; t < GG_DTYPES; t++)
            if (decl->dtypes >> t & 1u) {
                strcat(allowed, " ");
                strcat(allowed, gg_dtype_name((gg_dtype)t));
            }
        return gg_suite_refuse(r, place, "%.20s is not a type of it; choose from%s",
                               json->valuestring, allowed);
    }
    return GG_OK;
}

static gg_status read_dtypes(const gg_suite_reader *r, const char *place,
                             const cJSON *json, gg_suite_group *group)
{
    unsigned seen_inputs = 0, seen_outputs = 0;
    if (!cJSON_IsObject(json))
        return gg_suite_refuse(r, place, "must be an object: tensor name to type name");
    for (const cJSON *item = json->child; item != NULL; item = item->next) {
        spot here = inside(place, item->string);
        int in = gg_tensor_find(r->op->inputs, item->string);
        int out = gg_tensor_find(r->op->outputs, item->string);
        if (in < 0 && out < 0)
            return gg_suite_refuse(r, here.text, "%s has no such tensor", r->op->name);
        unsigned *seen = in >= 0 ? &seen_inputs : &seen_outputs;
        int at = in >= 0 ? in : out;
        if (*seen >> at & 1u)
            return gg_suite_refuse(r, here.text, "is given twice; keep one");
        *seen |= 1u << at;
        if (in >= 0)
            GG_TRY(read_dtype(r, here.text, item, &r->op->inputs[in],
                              &group->input_dtype[in]));
        else
            GG_TRY(read_dtype(r, here.text, item, &r->op->outputs[out],
                              &group->output_dtype[out]));
    }
    return GG_OK;
}

static void default_dtypes(const gg_operator *op, gg_suite_group *group)
{
    for (int i = 0; op->inputs[i].name != NULL; i++)
        group->input_dtype[i] = op->inputs[i].dtype;
    for (int i = 0; op->outputs[i].name != NULL; i++)
        group->output_dtype[i] = op->outputs[i].dtype;
}

gg_status gg_suite_read_group(const gg_suite_reader *r, const cJSON *json, int index,
                              gg_suite_group *group)
{
    enum { EXTENTS, FAMILIES, SEEDS, DTYPES, KEYS };
    static const char *const keys[KEYS] = {"extents", "families", "seeds", "dtypes"};
    static gg_status (*const read[KEYS])(const gg_suite_reader *, const char *,
                                         const cJSON *, gg_suite_group *) = {
        read_extents, read_families, read_seeds, read_dtypes};
    const spot place = nth("cases", index);
    bool seen[KEYS] = {false};
    *group = (gg_suite_group){.cases = 1};
    default_dtypes(r->op, group);
    if (!cJSON_IsObject(json))
        return gg_suite_refuse(r, place.text,
                               "must be an object with extents, families and seeds");
    for (const cJSON *item = json->child; item != NULL; item = item->next) {
        spot here = inside(place.text, item->string);
        int key = 0;
        while (key < KEYS && strcmp(keys[key], item->string) != 0) key++;
        if (key == KEYS)
            return gg_suite_refuse(r, here.text,
                                   "unknown key; known: extents families seeds dtypes");
        if (seen[key]) return gg_suite_refuse(r, here.text, "is given twice; keep one");
        seen[key] = true;
        GG_TRY(read[key](r, here.text, item, group));
    }
    for (int key = 0; key < DTYPES; key++)
        if (!seen[key])
            return gg_suite_refuse(
                r, place.text, "%s is missing; extents, families and seeds are needed",
                keys[key]);
    return GG_OK;
}
