/* SPDX-License-Identifier: Apache-2.0
 * What a truth is, for any operator: one problem in, wide values and allowances out.
 *
 * A truth has the same bits on every machine: each sum is one chain of fused
 * multiply-adds in ascending index order, and exp is our own (exp64.h). Vector width,
 * thread count and host or GPU change the speed and nothing else. */
#ifndef REFERENCE_TRUTH_H
#define REFERENCE_TRUTH_H

#include <stdbool.h>

#include "reference/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call of an operator. Inputs and extents stand in the operator's declared order
 * (its header in this folder); an optional input that is absent has data == NULL. */
typedef struct gg_problem {
    int64_t extent[GG_MAX_SYMBOLS];
    gg_tensor input[GG_MAX_INPUTS];
} gg_problem;

/* Where the truth goes, in the order of the operator's outputs. Each array has the
 * shape of its output, is allocated by the caller (device memory for a CUDA truth),
 * and may be NULL: not wanted.
 *   value      the exact result to binary64 accuracy
 *   allowance  the absolute error that one honest rounding of each intermediate may
 *              cause in this element: a sum of absolute terms, never of a cancelled
 *              difference. Rounding of the output itself is not in it. */
typedef struct gg_truth {
    double *value[GG_MAX_OUTPUTS];
    double *allowance[GG_MAX_OUTPUTS];
} gg_truth;

/* One element computed in MPFR. `value` is the exact result rounded once to binary64;
 * `agreed` says that two working precisions gave that same value, the larger of which
 * is `precision_bits`. */
typedef struct gg_point {
    int output;
    int64_t element;
    double value;
    int precision_bits;
    bool agreed;
} gg_point;

/* One term of the sum that makes an element, and what it is a product of. */
enum { GG_TERMS = 8, GG_TERM_FACTORS = 4 };

typedef struct gg_term {
    int64_t index;                  /* of the summed symbol */
    double value;                   /* rounded once to binary64, but for a few ulp */
    double factor[GG_TERM_FACTORS]; /* named by gg_terms.factor_name */
} gg_term;

/* The sum behind one element, for people who ask why it came out as it did. Masked terms
 * are none. The exact value of the element is that of gg_reference.exact; `sum` differs
 * from it by no more than the roundings of its terms. */
typedef struct gg_terms {
    const char *formula;  /* of one term: "sc P[i,j] (dP[i,j] - delta[i]) k[j,d]" */
    const char *axes;     /* letters of the element's index: "brhjd"; NULL: those that
                             its declared shape gives */
    char letter;          /* of the summed index: 'j' */
    const char *factor_name[GG_TERM_FACTORS]; /* NULL after the last */
    gg_term largest[GG_TERMS]; /* NaN first, then by |value|; equal ones by index */
    int count;            /* of largest */
    int64_t total;        /* terms in the sum */
    double sum, sum_abs;  /* of all terms, in ascending order of the index */
} gg_terms;

/* Which roundings an evaluation in binary64 makes: bits in the order of the operator's
 * table of rounding points. `has` is what a kernel has, which gives the arithmetic its
 * shape; `on`, a part of it, is what rounds. */
typedef struct gg_roundings {
    unsigned has, on;
    gg_dtype output[GG_MAX_OUTPUTS]; /* types of the outputs */
} gg_roundings;

/* What the MPFR of one element costs, and who shares that work: all points of one call
 * with the same `group`, in any output, are paid once. In this output these are the
 * elements first .. first + count - 1. */
typedef struct gg_exact_share {
    int64_t group, first, count;
    double cost; /* in exponentials at the first precisions, some microseconds each */
} gg_exact_share;

/* Takes elements first .. first + count - 1 of an input. */
typedef gg_status gg_reader(void *context, int input, int64_t first, int64_t count);

typedef struct gg_reference {
    /* Host truth; problem and truth in host memory. threads >= 1. */
    gg_status (*host)(const gg_problem *, const gg_truth *, int threads);
    /* GPU truth; problem and truth in device memory, `scratch` of cuda_scratch() bytes.
     * Work is queued on `stream` (a cudaStream_t). NULL in a build without CUDA. */
    gg_status (*cuda)(const gg_problem *, const gg_truth *, void *scratch, void *stream);
    size_t (*cuda_scratch)(const gg_problem *);
    /* MPFR; problem in host memory. Fills value, precision_bits and agreed. */
    gg_status (*exact)(const gg_problem *, gg_point *points, int count, int threads);
    /* So that a caller can choose points that pay for each other. */
    gg_exact_share (*exact_share)(const gg_problem *, int output, int64_t element);
    /* What `exact` reads for these points, in the inputs that are there; a part may come
     * twice. Looks at no data. NULL: everything. */
    gg_status (*exact_reads)(const gg_problem *, const gg_point *points, int count,
                             gg_reader *visit, void *context);
    /* The terms of one element; problem in host memory. NULL: not told. */
    gg_status (*terms)(const gg_problem *, int output, int64_t element, gg_terms *terms,
                       int threads);
    /* Values, in truth->value alone, with chosen roundings; memory, threads and stream as
     * in host, cuda and cuda_scratch. NULL: the operator has no rounding points. */
    gg_status (*rounded)(const gg_problem *, const gg_roundings *, const gg_truth *,
                         int threads);
    gg_status (*rounded_cuda)(const gg_problem *, const gg_roundings *, const gg_truth *,
                              void *scratch, void *stream);
    size_t (*rounded_scratch)(const gg_problem *);
} gg_reference;

#ifdef __cplusplus
}
#endif
#endif
