/* SPDX-License-Identifier: Apache-2.0
 * cJSON answers NULL both to a text that is no JSON and to memory that ran out; people
 * must not be told to mend a file that is whole. */
#ifndef CASES_JSON_MEMORY_H
#define CASES_JSON_MEMORY_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* text[length] must be NUL, and with `whole` nothing else may follow the value. *end
 * (NULL allowed): how far it was understood. On NULL *starved tells which of the two. */
cJSON *gg_json_parse(const char *text, size_t length, bool whole, const char **end,
                     bool *starved);

#endif
