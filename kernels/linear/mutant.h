/* SPDX-License-Identifier: Apache-2.0
 * Planted faults of the linear layer's twin. */
#ifndef KERNELS_LINEAR_MUTANT_H
#define KERNELS_LINEAR_MUTANT_H

#include "kernels/arithmetic/lanes.h"
#include "kernels/mutant.h"

typedef enum gg_linear_slip {
    GG_LINEAR_SLIP_NONE = 0,     /* the contract */
    GG_LINEAR_SLIP_TAIL_DROPPED, /* terms beyond the last multiple of 16 are left out */
    GG_LINEAR_SLIP_SPLIT_BF16,   /* partial sums of 256 terms rounded to BF16 */
    GG_LINEAR_SLIP_BF16_SUM,     /* sums kept in BF16 */
    GG_LINEAR_SLIP_TRUNCATED,    /* BF16 outputs cut, not rounded */
    GG_LINEAR_SLIP_W_TRANSPOSED, /* w read as [K,N] */
    GG_LINEAR_SLIP_SCATTERED,    /* sums start at any of their 16-term steps */
    GG_LINEAR_SLIP_DW_OPERAND    /* dw pairs every row of dy with row 0 of x */
} gg_linear_slip;

/* The twin's two halves, with a fault. */
int gg_linear_forward(const gg_call *call, gg_linear_slip slip);
int gg_linear_backward(const gg_call *call, gg_linear_slip slip);
/* One step of a chain whose sum is kept in BF16. */
void gg_linear_bf16_step(float *c, size_t ldc, const gg_decoded *a, const gg_decoded *b,
                         size_t k, size_t rows, size_t columns);

extern const gg_mutant_set gg_linear_mutants;

#endif
