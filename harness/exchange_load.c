/* SPDX-License-Identifier: Apache-2.0
 * The manifest of an export, read by one who trusts nobody. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/backend.h"
#include "harness/exchange.h"
#include "harness/given.h"
#include "reference/parallel.h"
#include "reports/exact.h"
#include "reports/json_in.h"
#include "reports/json_scan.h"
#include "reports/safetensors.h"

enum { MOST_BYTES = 64 << 20, MOST_CASES = 100000 };

static gg_status read_text(const char *path, char **text, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return gg_fail(GG_BAD_INPUT, "%s: cannot be opened: give a folder that 'gradgate export' "
                       "wrote", path);
    *text = malloc(MOST_BYTES + 1);
    *size = *text != NULL ? fread(*text, 1, MOST_BYTES + 1, file) : 0;
    bool good = !ferror(file);
    fclose(file);
    if (*text == NULL) return gg_fail(GG_NO_MEMORY, "%s: no memory", path);
    if (!good) return gg_fail(GG_IO, "%s: cannot be read", path);
    if (*size > MOST_BYTES) return gg_fail(GG_BAD_INPUT, "%s: is larger than 64 MiB", path);
    return GG_OK;
}

/* The id becomes part of paths. */
static gg_status read_id(gg_json_in *in, const cJSON *item, gg_case *what)
{
    GG_TRY(gg_in_text(in, item, "id", what->id, sizeof what->id));
    bool good = what->id[0] != '\0' && what->id[0] != '.';
    for (const char *c = what->id; *c != '\0'; c++)
        good = good && (isalnum((unsigned char)*c) || strchr("_.+-", *c) != NULL);
    return good ? GG_OK : gg_in_refuse(in, "id '%s' is no name of a file", what->id);
}

static gg_status read_outputs(gg_json_in *in, const cJSON *item, const gg_operator *op,
                              gg_case *what)
{
    const cJSON *outputs = gg_in_get(item, "outputs");
    const char *keys[GG_MAX_OUTPUTS + 1] = {NULL};
    for (int o = 0; op->outputs[o].name != NULL; o++) keys[o] = op->outputs[o].name;
    size_t mark = gg_in_enter(in, "outputs", 0);
    GG_TRY(gg_in_keys(in, outputs, keys));
    for (int o = 0; op->outputs[o].name != NULL; o++) {
        const cJSON *type = gg_in_get(outputs, keys[o]);
        int d = 0;
        while (d < GG_DTYPES && !(op->outputs[o].dtypes >> d & 1u && cJSON_IsString(type) &&
                                  strcmp(type->valuestring,
                                         gg_safetensors_type((gg_dtype)d)) == 0))
            d++;
        if (d == GG_DTYPES) return gg_in_fault(in, keys[o], type, "a type of that output");
        what->output_dtype[o] = (gg_dtype)d;
    }
    gg_in_leave(in, mark);
    return GG_OK;
}

static gg_status read_extents(gg_json_in *in, const cJSON *item, const gg_operator *op,
                              gg_case *what)
{
    const cJSON *extents = gg_in_get(item, "extents");
    char names[GG_MAX_SYMBOLS][2];
    const char *keys[GG_MAX_SYMBOLS + 1] = {NULL};
    for (int s = 0; op->symbols[s] != '\0'; s++) {
        names[s][0] = op->symbols[s];
        names[s][1] = '\0';
        keys[s] = names[s];
    }
    size_t mark = gg_in_enter(in, "extents", 0);
    GG_TRY(gg_in_keys(in, extents, keys));
    for (int s = 0; keys[s] != NULL; s++)
        GG_TRY(gg_in_integer(in, extents, keys[s], 1, GG_MAX_EXTENT, &what->extent[s]));
    gg_in_leave(in, mark);
    return GG_OK;
}

/* The file must be the one that was written. */
static gg_status check_inputs(const gg_operator *op, const char *folder, uint64_t digest,
                              gg_case *what)
{
    char path[GG_EXCHANGE_PATH];
    int64_t extent[GG_MAX_SYMBOLS];
    uint64_t found = 0;
    gg_problem host;
    memcpy(extent, what->extent, sizeof extent);
    GG_TRY(gg_exchange_path(folder, what->id, ".safetensors", path));
    what->source = strdup(path);
    if (what->source == NULL) return gg_fail(GG_NO_MEMORY, "no memory for a case");
    GG_TRY(gg_given_describe(op, what));
    if (memcmp(extent, what->extent, sizeof extent) != 0)
        return gg_fail(GG_BAD_INPUT, "%s: its shapes are not those of the manifest", path);
    gg_status status = gg_given_read(op, what, &host);
    if (status == GG_OK) status = gg_given_digest(op, &host, gg_processors(), &found);
    gg_problem_release(&host);
    if (status == GG_OK && found != digest)
        status = gg_fail(GG_BAD_INPUT, "%s: these are not the inputs that were exported (digest "
                         "%016llx, the manifest has %016llx)", path, (unsigned long long)found,
                         (unsigned long long)digest);
    return status;
}

static gg_status read_case(gg_json_in *in, const cJSON *item, const char *folder,
                           gg_suite *suite)
{
    static const char *const keys[] = {"id", "index", "family", "seed", "input_digest",
                                       "outputs", "extents", NULL};
    gg_case what = {.source = NULL};
    char family[64], seed[24];
    int64_t index;
    uint64_t digest;
    GG_TRY(gg_in_keys(in, item, keys));
    GG_TRY(read_id(in, item, &what));
    GG_TRY(gg_in_integer(in, item, "index", 0, suite->count - 1, &index));
    GG_TRY(gg_in_text(in, item, "family", family, sizeof family));
    GG_TRY(gg_in_text(in, item, "seed", seed, sizeof seed));
    GG_TRY(gg_in_digest(in, item, "input_digest", &digest));
    GG_TRY(read_outputs(in, item, suite->op, &what));
    GG_TRY(read_extents(in, item, suite->op, &what));
    what.family = gg_family_find(suite->op, family);
    if (what.family == NULL) return gg_in_refuse(in, "there is no family '%s'", family);
    if (!gg_u64_parse(seed, &what.seed)) return gg_in_refuse(in, "'%s' is no seed", seed);
    if (suite->cases[index].source != NULL) return gg_in_refuse(in, "this index comes twice");
    for (int i = 0; i < suite->count; i++)
        if (strcmp(suite->cases[i].id, what.id) == 0)
            return gg_in_refuse(in, "the id %s comes twice", what.id);
    gg_status status = check_inputs(suite->op, folder, digest, &what);
    suite->cases[index] = what; /* the suite owns its source now */
    return status;
}

static gg_status read_manifest(gg_json_in *in, const cJSON *root, const char *folder,
                               gg_suite *suite, char glob[96])
{
    static const char *const keys[] = {"gradgate_exchange", "version", "commit", "operator",
                                       "suite", "suite_digest", "suite_count", "selection",
                                       "cases", NULL};
    char operator_name[64];
    int64_t version, count;
    int cases = 0;
    const cJSON *item, *list = gg_in_get(root, "cases");
    GG_TRY(gg_in_keys(in, root, keys));
    GG_TRY(gg_in_integer(in, root, "gradgate_exchange", 1, 1, &version));
    GG_TRY(gg_in_text(in, root, "operator", operator_name, sizeof operator_name));
    GG_TRY(gg_in_text(in, root, "suite", suite->name, sizeof suite->name));
    GG_TRY(gg_in_digest(in, root, "suite_digest", &suite->digest));
    GG_TRY(gg_in_integer(in, root, "suite_count", 1, MOST_CASES, &count));
    GG_TRY(gg_in_text(in, root, "selection", glob, 96));
    GG_TRY(gg_in_array(in, root, "cases", 1, (int)count, &cases));
    suite->op = gg_operator_find(operator_name);
    if (suite->op == NULL) return gg_in_refuse(in, "there is no operator '%s'", operator_name);
    if (glob[0] == '\0' && cases != count)
        return gg_in_refuse(in, "has %d of %d cases and no selection", cases, (int)count);
    suite->cases = calloc((size_t)count, sizeof *suite->cases);
    if (suite->cases == NULL) return gg_fail(GG_NO_MEMORY, "no memory for %d cases", (int)count);
    suite->count = (int)count;
    int i = 0;
    cJSON_ArrayForEach(item, list) {
        size_t mark = gg_in_enter(in, "cases", 0);
        size_t inner = gg_in_enter(in, NULL, i++);
        GG_TRY(read_case(in, item, folder, suite));
        gg_in_leave(in, inner);
        gg_in_leave(in, mark);
    }
    return GG_OK;
}

/* A case that the selection does not match would be left out in silence. */
static gg_status check_selection(const gg_suite *suite, const char *path, const char *glob)
{
    for (int i = 0; i < suite->count; i++)
        if (suite->cases[i].source != NULL && glob[0] != '\0' &&
            !gg_case_matches(&suite->cases[i], glob))
            return gg_fail(GG_BAD_INPUT, "%s: case %s is not of the selection '%s'", path,
                           suite->cases[i].id, glob);
    return GG_OK;
}

gg_status gg_exchange_load(const char *folder, gg_suite *suite, char glob[96])
{
    char path[GG_EXCHANGE_PATH], *text = NULL;
    size_t size = 0;
    cJSON *root = NULL;
    *suite = (gg_suite){.count = 0};
    GG_TRY(gg_exchange_path(folder, "manifest", ".json", path));
    gg_json_in in = {.file = path};
    gg_status status = read_text(path, &text, &size);
    if (status == GG_OK) status = gg_scan_text(path, 1, text, size);
    if (status == GG_OK) {
        root = cJSON_ParseWithLengthOpts(text, size, NULL, 0);
        status = root != NULL ? read_manifest(&in, root, folder, suite, glob)
                              : gg_in_refuse(&in, "cannot be parsed as JSON");
    }
    if (status == GG_OK) status = check_selection(suite, path, glob);
    cJSON_Delete(root);
    free(text);
    return status;
}
