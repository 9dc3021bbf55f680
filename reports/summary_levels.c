/* SPDX-License-Identifier: Apache-2.0
 * The levels of determinism over many cases. */
#include <math.h>
#include <string.h>

#include "reports/summary.h"

static gg_level_row *row_of(gg_summary *summary, const gg_level_record *level)
{
    gg_level_row *row = summary->levels;
    while (row < summary->levels + summary->level_count &&
           strcmp(row->name, level->name) != 0)
        row++;
    if (row < summary->levels + summary->level_count) return row;
    if (summary->level_count == GG_MAX_LEVELS) return NULL;
    *row = (gg_level_row){.runs = level->runs, .overlap = NAN};
    memcpy(row->name, level->name, sizeof row->name);
    memcpy(row->control, level->control, sizeof row->control);
    summary->level_count++;
    return row;
}

void gg_summary_levels(const gg_run_record *run, gg_summary *summary)
{
    for (int i = 0; i < run->count; i++)
        for (int l = 0; l < run->cases[i].level_count; l++) {
            const gg_level_record *level = &run->cases[i].levels[l];
            gg_level_row *row = row_of(summary, level);
            if (!row) continue;
            row->cases++;
            row->passed += level->verdict == GG_PASSED;
            row->failed += level->verdict == GG_FAILED;
            row->unverified += level->verdict == GG_NOT_VERIFIED;
            if (level->runs < row->runs) row->runs = level->runs;
            if (isnan(row->overlap) || level->overlap < row->overlap)
                row->overlap = level->overlap;
        }
    for (int l = 0; l < summary->level_count; l++)
        summary->levels[l].excluded = gg_excluded_rate(summary->levels[l].runs);
}
