/* SPDX-License-Identifier: Apache-2.0
 * The top of a suite file. A file may come from anyone: its size is bounded before it
 * is parsed, its depth and its NULs are looked at before cJSON sees it, and the number
 * of cases is known before any is made. */
#include "cases/suite_parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "cases/json_memory.h"

gg_status gg_suite_refuse(const gg_suite_reader *reader, const char *place,
                          const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return gg_fail(GG_BAD_INPUT, "%.300s: %s: %s", reader->file, place, text);
}

static gg_status refuse_at(const char *file, const char *text, size_t at,
                           const char *why)
{
    int line = 1, column = 1;
    for (size_t i = 0; i < at; i++) {
        column = text[i] == '\n' ? 1 : column + 1;
        line += text[i] == '\n';
    }
    return gg_fail(GG_BAD_INPUT, "%.300s: line %d, column %d: %s", file, line, column,
                   why);
}

/* Depth of brackets and NUL characters, outside of cJSON, which would recurse on the
 * one and cut strings at the other. *open: the text ends inside a string or bracket. */
static gg_status scan(const char *file, const char *text, size_t bytes, bool *open)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < bytes; i++) {
        char c = text[i];
        if (c == '\0')
            return refuse_at(file, text, i,
                             "a NUL byte; a suite is a text file of JSON");
        if (quoted && c == '\\') {
            i++; /* the escaped character, which is no quote */
            if (bytes - i > 4 && memcmp(text + i, "u0000", 5) == 0)
                return refuse_at(file, text, i - 1, "\\u0000 in a string; remove it");
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == '{' || c == '[')) {
            if (++depth > GG_SUITE_MAX_DEPTH)
                return refuse_at(file, text, i,
                                 "nested too deeply; a suite needs 5 levels");
        } else if (!quoted && (c == '}' || c == ']')) {
            depth--;
        }
    }
    *open = quoted || depth > 0;
    return GG_OK;
}

static gg_status parse_json(const char *file, const char *text, size_t bytes,
                            cJSON **json)
{
    size_t blank = strspn(text, " \t\r\n");
    *json = NULL;
    if (blank >= bytes)
        return gg_fail(GG_BAD_INPUT,
                       "%.300s: is empty; a suite is a JSON object (see "
                       "cases/README.md)",
                       file);
    bool open = false;
    GG_TRY(scan(file, text, bytes, &open));
    const char *end = NULL;
    bool starved;
    *json = gg_json_parse(text, bytes, true, &end, &starved);
    if (*json != NULL) return GG_OK;
    if (starved) return gg_fail(GG_NO_MEMORY, "no memory to read %.300s", file);
    if (open)
        return refuse_at(file, text, bytes,
                         "the file ends in mid-value; is it truncated?");
    size_t at = end == NULL ? bytes : (size_t)(end - text);
    return refuse_at(file, text, at, "not valid JSON up to here; mend the syntax");
}

static bool good_name(const char *name)
{
    size_t good = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return good >= 1 && good <= 63 && name[good] == '\0';
}

enum { VERSION, NAME, SUMMARY, OPERATOR, ID, RELATIONS, CASES, KEYS };
static const char *const keys[KEYS] = {
    "gradgate_suite", "name", "summary", "operator", "id", "relations", "cases"};

/* Sorts the members of the top object; item[key] is NULL where one is missing. */
static gg_status read_keys(const gg_suite_reader *r, const cJSON *json,
                           const cJSON **item)
{
    if (!cJSON_IsObject(json))
        return gg_suite_refuse(r, "top level",
                               "must be an object (see cases/README.md)");
    for (const cJSON *member = json->child; member != NULL; member = member->next) {
        char place[64];
        snprintf(place, sizeof place, "%.60s", member->string);
        int key = 0;
        while (key < KEYS && strcmp(keys[key], member->string) != 0) key++;
        if (key == KEYS)
            return gg_suite_refuse(r, place,
                                   "unknown key; known: gradgate_suite name summary "
                                   "operator id relations cases");
        if (item[key] != NULL)
            return gg_suite_refuse(r, place, "is given twice; keep one");
        item[key] = member;
    }
    for (int key = 0; key < KEYS; key++)
        if (item[key] == NULL && key != SUMMARY && key != ID && key != RELATIONS)
            return gg_suite_refuse(r, keys[key], "is missing; add it");
    return GG_OK;
}

static gg_status read_id(gg_suite_reader *r, const cJSON *json)
{
    if (json == NULL) return GG_OK;
    if (!cJSON_IsString(json))
        return gg_suite_refuse(r, "id", "must be a string of symbols, such as \"%s\"",
                               r->op->symbols);
    for (const char *c = json->valuestring; *c != '\0'; c++) {
        int symbol = gg_suite_symbol(r->op, (char[2]){*c, '\0'});
        if (symbol < 0 || r->shown[symbol])
            return gg_suite_refuse(r, "id", "%c is %s; %s has %s", *c,
                                   symbol < 0 ? "no symbol" : "given twice",
                                   r->op->name, r->op->symbols);
        r->shown[symbol] = true;
    }
    r->shown_given = true;
    return GG_OK;
}

static gg_status read_header(gg_suite_reader *r, const cJSON *const *item,
                             gg_suite *suite)
{
    const cJSON *version = item[VERSION], *name = item[NAME], *summary = item[SUMMARY];
    if (!cJSON_IsNumber(version) || !(version->valuedouble == 1))
        return gg_suite_refuse(r, keys[VERSION],
                               "must be 1, the format that this program reads");
    if (!cJSON_IsString(name) || !good_name(name->valuestring))
        return gg_suite_refuse(r, keys[NAME],
                               "must be 1 to 63 of the characters a-z, 0-9 and _");
    if (summary != NULL && (!cJSON_IsString(summary) ||
                            strlen(summary->valuestring) >= sizeof suite->summary))
        return gg_suite_refuse(r, keys[SUMMARY], "must be a string of at most %d bytes",
                               (int)sizeof suite->summary - 1);
    if (!cJSON_IsString(item[OPERATOR]))
        return gg_suite_refuse(r, keys[OPERATOR], "must be the name of an operator");
    if (item[RELATIONS] != NULL && !cJSON_IsBool(item[RELATIONS]))
        return gg_suite_refuse(r, keys[RELATIONS], "must be true or false");
    r->op = gg_operator_find(item[OPERATOR]->valuestring);
    if (r->op == NULL)
        return gg_suite_refuse(r, keys[OPERATOR],
                               "no operator %.40s; see gradgate list operators",
                               item[OPERATOR]->valuestring);
    strcpy(suite->name, name->valuestring);
    if (summary != NULL) strcpy(suite->summary, summary->valuestring);
    suite->op = r->op;
    suite->relations = cJSON_IsTrue(item[RELATIONS]);
    return read_id(r, item[ID]);
}

static int by_id(const void *a, const void *b)
{
    return strcmp((*(const gg_case *const *)a)->id, (*(const gg_case *const *)b)->id);
}

static gg_status check_unique(const gg_suite_reader *r, const gg_suite *suite)
{
    const gg_case **sorted = malloc((size_t)suite->count * sizeof *sorted);
    if (sorted == NULL) return gg_fail(GG_NO_MEMORY, "no memory to compare case ids");
    for (int i = 0; i < suite->count; i++) sorted[i] = &suite->cases[i];
    qsort(sorted, (size_t)suite->count, sizeof *sorted, by_id);
    gg_status status = GG_OK;
    for (int i = 1; i < suite->count && status == GG_OK; i++)
        if (strcmp(sorted[i - 1]->id, sorted[i]->id) == 0)
            status = gg_suite_refuse(r, "cases",
                                     "two cases are both %s; remove one, or name the "
                                     "extents that differ in id",
                                     sorted[i]->id);
    free(sorted);
    return status;
}

/* Reads each group twice: once to know the number of cases, once to make them. */
static gg_status read_cases(const gg_suite_reader *r, const cJSON *json,
                            gg_suite *suite)
{
    gg_suite_group group;
    int64_t total = 0;
    int index = 0;
    if (!cJSON_IsArray(json) || json->child == NULL)
        return gg_suite_refuse(r, "cases",
                               "must be a list of at least one group of cases");
    for (const cJSON *item = json->child; item != NULL; item = item->next, index++) {
        GG_TRY(gg_suite_read_group(r, item, index, &group));
        total += group.cases;
        if (total > GG_SUITE_MAX_CASES)
            return gg_suite_refuse(r, "cases", "more than %d cases; split the suite",
                                   (int)GG_SUITE_MAX_CASES);
    }
    suite->cases = malloc((size_t)total * sizeof *suite->cases);
    if (suite->cases == NULL)
        return gg_fail(GG_NO_MEMORY, "no memory for %lld cases", (long long)total);
    index = 0;
    for (const cJSON *item = json->child; item != NULL; item = item->next, index++) {
        GG_TRY(gg_suite_read_group(r, item, index, &group));
        GG_TRY(gg_suite_expand(r, &group, index, suite));
    }
    return check_unique(r, suite);
}

static gg_status read_top(const char *file, const cJSON *json, gg_suite *suite)
{
    gg_suite_reader reader = {.file = file};
    const cJSON *item[KEYS] = {NULL};
    GG_TRY(read_keys(&reader, json, item));
    GG_TRY(read_header(&reader, item, suite));
    return read_cases(&reader, item[CASES], suite);
}

gg_status gg_suite_parse(const char *file, const char *text, size_t bytes,
                         gg_suite *suite)
{
    cJSON *json;
    memset(suite, 0, sizeof *suite);
    GG_TRY(parse_json(file, text, bytes, &json));
    gg_status status = read_top(file, json, suite);
    cJSON_Delete(json);
    if (status != GG_OK)
        gg_suite_free(suite);
    else
        suite->digest = XXH3_64bits(text, bytes);
    return status;
}
