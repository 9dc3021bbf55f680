/* SPDX-License-Identifier: Apache-2.0
 * Two runs of one suite side by side, case by case: what can be compared, and the
 * paired statistics per output and family. The pair is what makes a small loss visible:
 * RMSE varies far more from case to case than between two kernels on the same inputs. */
#ifndef REPORTS_PAIR_H
#define REPORTS_PAIR_H

#include "reports/summary.h"

/* The same case in both runs: same id, same inputs, same tensors, measured in both. */
typedef struct gg_pair {
    const gg_case_record *was, *is;
} gg_pair;

/* Cases that are no pair, and the first of them. */
typedef struct gg_unpaired {
    int count;
    const char *first; /* id, NULL when count is 0 */
} gg_unpaired;

/* One output over the pairs of one family, or of all ("") */
typedef struct gg_pair_row {
    char output[16];
    char family[32];
    int pairs;
    int undefined[2];     /* pairs whose RMSE is NaN in the baseline, in the report */
    double rmse[2];       /* means over the pairs, baseline first */
    double floor[2];
    gg_dtype dtype[2];    /* of the first pair */
    double mean, low, high; /* log(rmse is / rmse was): mean and its 95 % interval */
    double least, most;     /* of a single pair */
    int equal_bits;       /* pairs whose output has the same digest */
    int unablated;        /* pairs that lack the ablated run in the report alone */
    gg_ablation_row ablation[2]; /* over pairs that have it in both; .pairs may be 0 */
} gg_pair_row;

typedef struct gg_pairing {
    gg_pair *pairs; /* in the order of the report */
    int count;
    gg_unpaired lost;     /* measured in the baseline, absent or unmeasured in the report */
    gg_unpaired added;    /* measured in the report alone */
    gg_unpaired foreign;  /* other inputs or tensors, or the suite's file changed */
    bool suite_changed;
    gg_pair_row *rows;    /* by output, and in it all first, then family by family */
    int row_count;
} gg_pairing;

/* Runs of two operators or two suites are GG_BAD_INPUT: there is nothing to compare. The
 * pairing points into both records. */
gg_status gg_pairing_make(const gg_run_record *was, const gg_run_record *is,
                          gg_pairing *pairing);
void gg_pairing_free(gg_pairing *pairing);

/* The output of that name, NULL when the case has none. */
const gg_output_record *gg_output_find(const gg_case_record *record, const char *name);

#endif
