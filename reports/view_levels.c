/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "reports/grid.h"

void gg_view_levels(const gg_run_record *run, const gg_summary *summary, gg_view *view)
{
    if (summary->level_count == 0) return;
    gg_grid *grid = gg_grid_start(view, 1);
    snprintf(grid->title, sizeof grid->title, "Determinism by level");
    gg_grid_add(grid, "level\tcases\tpassed\tfailed\tnot verified\truns\trate excluded above"
                "\tleast overlap\tcontrol");
    for (int i = 0; i < summary->level_count; i++) {
        const gg_level_row *row = &summary->levels[i];
        char rate[32] = "-", overlap[32] = "-";
        if (row->passed == row->cases) snprintf(rate, sizeof rate, "%.2g %%", 100 * row->excluded);
        if (!isnan(row->overlap)) snprintf(overlap, sizeof overlap, "%.0f %%", 100 * row->overlap);
        gg_grid_add(grid, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s", GG_CLEAN(row->name), row->cases,
                    row->passed, row->failed, row->unverified, row->runs, rate, overlap,
                    row->control[0] ? GG_CLEAN(row->control) : "none");
    }
    snprintf(grid->note, sizeof grid->note,
             "each run against one that had the device to itself; asked for: %.95s; overlap: "
             "share of the runs' time during which the load, or other calls, really ran; the "
             "control must differ under the same condition", GG_CLEAN(run->levels));
}
