/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/json_memory.h"

#include <stdlib.h>

static _Thread_local bool refused;

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL) refused = true;
    return memory;
}

cJSON *gg_json_parse(const char *text, size_t length, bool whole, const char **end,
                     bool *starved)
{
    cJSON_Hooks hooks = {.malloc_fn = allocate, .free_fn = free};
    cJSON_InitHooks(&hooks); /* the same each time, so no harm among threads */
    refused = false;
    cJSON *json = cJSON_ParseWithLengthOpts(text, whole ? length + 1 : length, end, whole);
    *starved = json == NULL && refused;
    return json;
}
