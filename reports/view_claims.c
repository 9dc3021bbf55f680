/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/claims.h"
#include "reports/grid.h"

void gg_view_claims(const gg_claims *claims, gg_view *view)
{
    gg_grid *grid = NULL;
    int unmeasured = 0;
    for (int g = 0; g < claims->count; g = gg_claims_group(claims, g)) {
        const gg_claim_row *row = &claims->rows[g];
        char headline[64];
        gg_claim_verdict verdict = gg_claims_headline(claims, g, headline);
        if (verdict == GG_CLAIM_UNMEASURED) {
            unmeasured++;
            continue;
        }
        if (grid == NULL) {
            grid = gg_grid_start(view, 3);
            snprintf(grid->title, sizeof grid->title, "Claims");
            gg_grid_add(grid, "verdict\tof\tagainst\tmeasured\t95 %% interval\tclaim");
        }
        gg_grid_add(grid, "%s\t%s\t%s\t%s\t%s\t%s", headline,
                    row->output[0] ? GG_CLEAN(row->output) : "-",
                    row->against[0] ? GG_CLEAN(row->against) : "-", row->value,
                    row->interval[0] ? row->interval : "-", row->claim->text);
    }
    if (grid != NULL)
        snprintf(grid->note, sizeof grid->note,
                 "reproduced: the whole interval keeps the claimed bound; not measured "
                 "here: %d more (gradgate list claims)", unmeasured);
}
