/* SPDX-License-Identifier: Apache-2.0
 * The figures of a run over many cases. Sums are taken in suite order, so equal records
 * give equal bits; NaN is never skipped: it shows that something was not measurable. */
#ifndef REPORTS_SUMMARY_H
#define REPORTS_SUMMARY_H

#include "reports/record.h"

/* One output over the cases of one family, of one shape, or of all. */
typedef struct gg_summary_row {
    char output[16];
    char family[32];              /* "" for all, and by shape */
    int64_t extent[GG_MAX_SYMBOLS]; /* by shape only */
    int cases;
    double rmse, truth_rms, floor_rmse; /* means over the cases */
    double ratio; /* mean rmse / mean floor; 1 when both are 0, NaN when undefined */
    double gauge_max;  /* largest, NaN counts as larger than any */
    int gauge_max_case; /* position in run->cases */
    double gauge_p99;
    int gauge_p99_case;
    int repeated;      /* cases with at least two runs */
    int identical;     /* of those: no bit differed */
    int64_t certified; /* points compared with MPFR */
    double certificate;
    int certificate_case;
} gg_summary_row;

/* Do equal inputs give equal bits? Over the cases of one family and one number of runs.
 */
typedef struct gg_determinism_row {
    char family[32];
    int runs;          /* of each case; below 2 nothing was compared */
    int cases;
    int identical;     /* cases in which no output differed */
    double excluded;   /* mismatch rates above this one are excluded at 95 % for a case
                          whose runs were all equal: 1 - 0.05^(1/(runs-1)). A case's own
                          rate: cases do not share one, so they are not pooled */
} gg_determinism_row;

/* One level of determinism over the cases that have it. */
typedef struct gg_level_row {
    char name[16];
    int cases, passed, failed, unverified;
    int runs;        /* fewest in a case */
    double excluded; /* as above, from `runs` */
    double overlap;  /* least, of the cases under load; NaN: no load belongs to it */
    char control[64]; /* of the first case */
} gg_level_row;

typedef enum gg_outcome {
    GG_NOT_RESOLVABLE = 0, /* the interval contains 0, or fewer than 5 pairs */
    GG_EARNED,             /* the interval lies above 0 */
    GG_COLLAPSED /* the interval is not above 0 anywhere, or all pairs equal */
} gg_outcome;
const char *gg_outcome_name(gg_outcome outcome);

/* Paired relative reduction 1 - rmse / ablated_rmse, mean over cases. */
typedef struct gg_ablation_row {
    char output[16];
    char family[32]; /* "" for all */
    int pairs;
    double mean, low, high; /* 95 % interval, see gg_mean_interval */
    bool equal;             /* rmse == ablated_rmse in every pair */
    gg_outcome outcome;
} gg_ablation_row;

typedef struct gg_summary {
    gg_summary_row *rows;   /* by output, and in it all first, then family by family */
    int row_count;
    gg_summary_row *shapes; /* by extents ascending, and in it by output */
    int shape_count;
    gg_determinism_row *determinism;
    int determinism_count;
    gg_level_row levels[GG_MAX_LEVELS]; /* in the order of the cases */
    int level_count;
    gg_ablation_row *ablation; /* in the order of rows; only where a pair exists */
    int ablation_count;
} gg_summary;

gg_status gg_summary_make(const gg_run_record *run, gg_summary *summary);
void gg_summary_levels(const gg_run_record *run, gg_summary *summary); /* its levels */
void gg_summary_free(gg_summary *summary);

/* The rate above; 1 when runs < 2. */
double gg_excluded_rate(int runs);

/* Mean and 95 % interval of the mean by bootstrap: 2,000 resamples with replacement,
 * the 50th smallest and largest mean. The draws are splitmix64 from a fixed seed, so
 * the interval is a function of the values and their order alone. Above 1,000 values
 * the normal interval mean +- 1.96 s/sqrt(n) stands in: it no longer differs and costs
 * nothing. `scratch` has room for 2,000 values. */
void gg_mean_interval(const double *values, int count, double *scratch, double *mean,
                      double *low, double *high);
/* Fills all of `row` but its names, from the reductions of its pairs. */
void gg_ablation_judge(gg_ablation_row *row, const double *values, int count,
                       double *scratch);

/* The largest value of one check of one output, NaN before any number, and its limit; of
 * so many cases that have the check. id: that case, NULL when there is none. */
typedef struct gg_worst_check {
    double value, limit;
    const char *id;
    int cases;
} gg_worst_check;

gg_worst_check gg_worst_check_of(const gg_run_record *run, const char *output, const char *check);

#endif
