/* SPDX-License-Identifier: Apache-2.0
 * A report against its baseline. Every rule has three outcomes; the worst decides.
 *   limits        the report's own verdict under the limits stored in it, and no limit
 *                 looser than the baseline's without a new reason (limits_note)
 *   build         both reports come from a known, clean commit, and the report is not
 *                 older than its baseline, nor the same run: else not verified
 *   cases         every case that the baseline measured was measured again, on the same
 *                 inputs: else not verified
 *   rmse          per output and family: see below
 *   determinism   a case whose bits were equal in every run still is; the promise stays
 *   bits          changed digests are announced; with `exact` they fail
 *   compensation  where the ablation was earned it still is, over the same pairs
 *   precision     the output's type and the class of rmse/floor; a worse class is named
 * NaN never passes: comparisons stand on the passing side.
 *
 * RMSE: the mean of log(rmse now / rmse then) over pairs with its 95 % interval. Failed
 * when the interval lies above 0 and the mean loss above 2.5 %; passed when a mean loss
 * of 5 % is excluded, or when no single pair lost 2.5 %; else not verified (too few
 * pairs to tell). Fewer than 5 pairs have no interval: failed when each lost over 4 %.
 * So a loss of 5 % is caught and rounding noise, far below 1 %, is not. */
#ifndef HARNESS_GATE_H
#define HARNESS_GATE_H

#include "reports/gate.h"

#define GG_GATE_LOSS 1.05
#define GG_GATE_HALF 1.025
#define GG_GATE_EACH 1.04

/* The gate points into both records; free with gg_gate_free. GG_BAD_INPUT when the two
 * are of different operators or suites. `commit`: what must have been built, a prefix of
 * it is enough; NULL when not asked. */
gg_status gg_gate_make(const gg_run_record *baseline, const gg_run_record *report,
                       bool exact, const char *commit, gg_gate *gate);
void gg_gate_free(gg_gate *gate);

/* The rmse rule for one row. */
gg_verdict gg_gate_rmse(const gg_pair_row *row);

#endif
