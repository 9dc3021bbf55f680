/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/nearest.h"

#include <stdio.h>

enum { LONGEST = 127, NEAREST = 3 };

int gg_edit_distance(const char *a, const char *b)
{
    int row[LONGEST + 1];
    int n = (int)strnlen(a, LONGEST), m = (int)strnlen(b, LONGEST);
    for (int j = 0; j <= m; j++) row[j] = j;
    for (int i = 1; i <= n; i++) {
        int diagonal = row[0]; /* of the row above */
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

void gg_nearest_cases(const gg_suite *suite, const char *id, char *text, size_t size)
{
    int at[NEAREST], distance[NEAREST], count = 0;
    for (int c = 0; c < suite->count; c++) {
        int d = gg_edit_distance(id, suite->cases[c].id), to = count;
        while (to > 0 && d < distance[to - 1]) to--;
        if (to == NEAREST) continue;
        if (count < NEAREST) count++;
        for (int k = count - 1; k > to; k--) {
            at[k] = at[k - 1];
            distance[k] = distance[k - 1];
        }
        at[to] = c;
        distance[to] = d;
    }
    size_t used = 0;
    text[0] = '\0';
    for (int k = 0; k < count && used < size; k++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", k ? ", " : "",
                                 suite->cases[at[k]].id);
}
