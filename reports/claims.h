/* SPDX-License-Identifier: Apache-2.0
 * What is claimed of an operator's kernels (cases/operator.h), held against a run. */
#ifndef REPORTS_CLAIMS_H
#define REPORTS_CLAIMS_H

#include <stdio.h>

#include "cases/operator.h"
#include "reports/summary.h"

/* Zeroed memory reads "not measured here". */
typedef enum gg_claim_verdict {
    GG_CLAIM_UNMEASURED = 0, /* of another kernel, size or device, or too little of it */
    GG_CLAIM_UNRESOLVED,     /* measured; the claimed bound lies in the interval */
    GG_CLAIM_REPRODUCED,     /* the whole interval keeps the claimed bound */
    GG_CLAIM_REFUTED         /* the whole interval lies on the wrong side of it */
} gg_claim_verdict;
/* "not measured here", "not resolved here", "reproduced", "not reproduced" */
const char *gg_claim_verdict_name(gg_claim_verdict verdict);

/* A claim about one output in one family, or about all. */
typedef struct gg_claim_row {
    const gg_claim *claim;
    char output[16];  /* "" for all that it names */
    char against[64]; /* the other kernel, "" where there is none */
    char family[32];  /* "" for all */
    gg_claim_verdict verdict;
    char value[64];   /* measured, with its unit; "" when nothing was */
    char interval[64]; /* 95 %; "" when there is none */
    char basis[160];  /* what it rests on, or why it is not measured */
} gg_claim_row;

typedef struct gg_claims {
    gg_claim_row *rows; /* claim by claim, output by output, all first, then by family */
    int count, room;
} gg_claims;

/* Holds a run against the claims of its operator (none: count 0). `beside` are reports of
 * other kernels on the same suite, for claims that compare kernels; they must be runs of
 * the same operator, GG_BAD_INPUT otherwise. */
gg_status gg_claims_make(const gg_run_record *run, const gg_summary *summary,
                         const gg_run_record *beside, int beside_count, gg_claims *claims);
void gg_claims_free(gg_claims *claims);

/* Rows come in groups: one over all families, then those by family, of one claim, output
 * and other kernel. One past the last row of the group that begins at `first`. */
int gg_claims_group(const gg_claims *claims, int first);
/* The verdict of a group in words, "reproduced in 4 of 10 families" where they differ, and
 * the verdict that all share (GG_CLAIM_UNRESOLVED where they differ). */
gg_claim_verdict gg_claims_headline(const gg_claims *claims, int first, char text[64]);

/* html_claims.c, view_claims.c: the claims as a section of the page; of the terminal's
 * table and Markdown, where anything was measured. */
void gg_html_claims(const gg_claims *claims, FILE *out);

#endif
