/* SPDX-License-Identifier: Apache-2.0
 * What somebody may have meant by a name that does not exist. */
#ifndef HARNESS_NEAREST_H
#define HARNESS_NEAREST_H

#include "cases/suite.h"

/* Insertions, deletions and replacements of characters between two texts (Levenshtein);
 * what lies beyond the first 127 characters does not count. */
int gg_edit_distance(const char *a, const char *b);

/* "id, id, id": the cases whose ids are nearest, nearest first, then in suite order. */
void gg_nearest_cases(const gg_suite *suite, const char *id, char *text, size_t size);

#endif
