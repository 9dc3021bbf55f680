/* SPDX-License-Identifier: Apache-2.0
 * The element that explains a verdict: what the kernel wrote there, what is true, and of
 * which terms it is the sum. */
#ifndef HARNESS_WHY_H
#define HARNESS_WHY_H

#include <stdio.h>

#include "harness/plan.h"

typedef struct gg_why {
    /* asked for */
    int output;          /* -1: that of the first failed check, else of the worst gauge */
    int64_t element;     /* flat index; -1: the one that the check is about */

    /* found: of that element, once a case was observed */
    bool seen;
    gg_status status;    /* other than GG_OK: `message` says why there is no more */
    char message[256];
    char cause[96];      /* why this element */
    const gg_operator *op;
    gg_tensor tensor;    /* shape and type of the output; data NULL */
    uint32_t bits;       /* of the kernel's first run */
    double value, truth, allowance; /* the same; FP64; reference/truth.h */
    bool repeated;       /* another run of the kernel gave other_bits */
    uint32_t other_bits;
    gg_point point;      /* MPFR */
    bool has_terms;
    gg_terms terms;
} gg_why;

/* The observer (gg_plan.observe) that fills a gg_why. */
void gg_why_observe(void *why, const gg_sight *sight, const gg_case_record *record);

void gg_why_print(const gg_why *why, FILE *out);

/* One line on the shape of the sum: cancelled, dominated, spread; and on an error that
 * equals one of its terms. */
void gg_why_reading(const gg_why *why, char *text, size_t size);

/* |error| over what is allowed (harness/measure_core.h), the error from MPFR. */
double gg_why_gauge(const gg_why *why);

/* Letters of an output's index: its symbols in lower case, but i and then j for a symbol
 * of which the operator has a square ("BHNN" gives "bhij", and "BRHND" beside it
 * "brhid"). */
void gg_axis_letters(const gg_operator *op, const gg_tensor_decl *decl,
                     char letters[GG_MAX_DIMS + 1]);

#endif
