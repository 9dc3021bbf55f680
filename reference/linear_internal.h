/* SPDX-License-Identifier: Apache-2.0
 * What the host truths of the linear layer share. Internal to reference/. */
#ifndef REFERENCE_LINEAR_INTERNAL_H
#define REFERENCE_LINEAR_INTERNAL_H

#include "reference/linear.h"

/* One output as a product, out[row, column] = sum over t of left[row, t]
 * right[t, column], with the distances that walk through the stored matrices. */
typedef struct gg_linear_product {
    int64_t rows, columns, terms;
    const uint16_t *left, *right; /* bf16 bits */
    int64_t left_row, left_term, right_term, right_column;
} gg_linear_product;

gg_linear_product gg_linear_product_of(const gg_problem *problem, int output);

/* Refuses extents, types or shapes that contradict each other; looks at no element. dy
 * is needed for dx and dw, x for y and dw, w for y and dx. */
gg_status gg_linear_check(const gg_problem *problem,
                          const bool wanted[GG_LINEAR_OUTPUTS]);

#endif
