/* SPDX-License-Identifier: Apache-2.0
 * An error budget: which share of a kernel's error comes from which of its roundings.
 *
 * Each rounding point is switched on alone in an evaluation that is exact otherwise; then
 * all of them. Errors are mean squares over an output's elements, which add up when the
 * points' errors are independent. Three figures check the account:
 *   sum     root of the points' summed mean squares over the RMSE with all on: 1 when the
 *           points are independent
 *   ratio   the kernel's RMSE over the RMSE with all on: 1 when no other source is there
 *   other   mean square of (kernel - all on) over that of the kernel's error: what does
 *           not coincide element by element; 0 when the evaluation predicts every error
 * A row is explained when its ratio lies from GG_BUDGET_LOW to GG_BUDGET_HIGH. Errors of a
 * point that is `rough` are right in size only: as far as such points make the sum, the
 * mean square may be off by a factor of GG_BUDGET_ROUGH. An RMSE of fewer than GG_BUDGET_FEW
 * elements is no statistic: such a row is explained or not verified. */
#ifndef REPORTS_BUDGET_H
#define REPORTS_BUDGET_H

#include <stdio.h>

#include "reports/record.h"

#define GG_BUDGET_SCHEMA "gradgate-budget-1"
#define GG_BUDGET_LOW 0.9
#define GG_BUDGET_HIGH 1.1
#define GG_BUDGET_ROUGH 4.0
#define GG_BUDGET_FEW 1000
/* At most this much of `other`: the errors themselves are predicted, not only their size. */
#define GG_BUDGET_PREDICTED 0.01

enum { GG_BUDGET_POINTS = 32, GG_BUDGET_VARIANTS = 2 };

/* One output of one case: mean squares over its elements. */
typedef struct gg_budget_entry {
    double kernel, all, other;      /* error of the kernel, with all on, their difference */
    double floor;                   /* of the truth rounded to the output's type */
    double point[GG_BUDGET_POINTS]; /* that point alone; 0 where the variant lacks it */
    int64_t mismatch;               /* NaN or infinity of the kernel where the truth has
                                       none, or the reverse */
    int64_t elements;               /* of the output; 0: a file that does not say */
} gg_budget_entry;

typedef struct gg_budget_case {
    char id[96], family[32];
    char reason[256]; /* why it could not be measured; "": it was */
    gg_budget_entry entry[GG_BUDGET_VARIANTS][GG_MAX_OUTPUTS];
} gg_budget_case;

typedef struct gg_budget_variant {
    char name[48];   /* "compensation on", "" when there is one variant only */
    unsigned points; /* bits */
} gg_budget_variant;

typedef struct gg_budget_point {
    char name[24], summary[96];
    bool rough;
} gg_budget_point;

typedef struct gg_budget {
    gg_run_record made;    /* build, place, operator, kernel, device and suite; no cases */
    bool assumed;          /* the points are the user's, not the kernel's own statement */
    gg_budget_point points[GG_BUDGET_POINTS];
    int point_count;
    gg_budget_variant variants[GG_BUDGET_VARIANTS];
    int variant_count;
    char outputs[GG_MAX_OUTPUTS][16];
    int output_count;
    gg_budget_case *cases; /* in suite order */
    int case_count;
} gg_budget;

/* Of one variant, output and family: means over the cases that were measured. */
typedef struct gg_budget_row {
    char family[32]; /* "": all */
    int variant, output;
    int cases, missing; /* measured; not measured */
    gg_budget_entry mean; /* but mismatch and elements, which are sums */
    double sum, ratio, other; /* see above; 1, 1, 0 where both sides are zero */
    double low, high;         /* bounds of the ratio */
    gg_verdict verdict;       /* passed: explained */
} gg_budget_row;

/* Rows by variant, then output, then family in the order of the cases, "" first. The
 * caller frees them. */
gg_status gg_budget_rows(const gg_budget *budget, gg_budget_row **rows, int *count);
/* Share of a point in a row, of the points' sum; 0 when that is 0. */
double gg_budget_share(const gg_budget_row *row, int point);
/* "predicted", "explained", "not explained" or "not verified" */
const char *gg_budget_outcome(const gg_budget_row *row);
/* Failed when a family's row is not explained; not verified when nothing, or not all, was
 * measured, or there is nothing to judge by. */
gg_verdict gg_budget_verdict(const gg_budget *budget);
void gg_budget_free(gg_budget *budget);

/* For gg_file_write; the first two are for a terminal and for Markdown. */
void gg_budget_table(const gg_budget *budget, FILE *out, int width);
gg_status gg_budget_markdown(const void *budget, FILE *out);
gg_status gg_budget_json(const void *budget, FILE *out);
/* One page. */
gg_status gg_budget_html(const void *budget, FILE *out);
struct gg_drawing;
/* The section of a page, and the page of a report with that section (NULL: without) and
 * claims held against reports of other kernels. */
gg_status gg_budget_section(const gg_budget *budget, struct gg_drawing *drawing, FILE *out);
gg_status gg_report_html_with(const gg_run_record *run, const gg_budget *budget,
                              const gg_run_record *beside, int beside_count, FILE *out);

/* "ds 48.6 %, output 47.0 %, ...": the shares of an output in a family, largest first, by
 * the first variant; "" when the budget does not have them. */
void gg_budget_reading(const gg_budget *budget, const char *output, const char *family,
                       char *text, size_t size);
/* GG_BAD_INPUT unless the budget (read from `path`) is of that operator and kernel. */
gg_status gg_budget_fits(const gg_budget *budget, const char *path,
                         const char *operator_name, const char *kernel);

/* Reads what gg_budget_json wrote; free it whatever the status. */
gg_status gg_budget_read(const char *path, gg_budget *budget);
/* The same for a file that may be something else: then GG_OK, and `is_budget` is false. */
gg_status gg_budget_try(const char *path, gg_budget *budget, bool *is_budget);

#endif
