/* SPDX-License-Identifier: Apache-2.0
 * Checks of the tensors of a call, for the refusals of every operator. */
#ifndef KERNELS_CHECK_H
#define KERNELS_CHECK_H

#include "kernels/abi.h"

/* Element types a tensor may have: a set. */
enum { GG_TYPE_BF16 = 1, GG_TYPE_F32 = 2, GG_TYPE_I32 = 4, GG_TYPE_U8 = 8 };

/* The type of a tensor as one of the above, 0 for any other. */
int gg_tensor_type(const DLTensor *tensor);

/* NULL when the tensor has this shape, one of these types and dense row-major strides,
 * and starts at a multiple of 16 bytes; else why not, with `name` in it. The text lives
 * until the next refusal on the same thread. */
const char *gg_check_tensor(const char *name, const DLTensor *tensor, int ndim,
                            const int64_t *shape, int types);

/* NULL when 1 <= extent <= 2^24 for each and their product is at most 2^40. */
const char *gg_check_extents(const int64_t *extents, int count);

/* First element, or NULL for an absent tensor. */
void *gg_tensor_data(const DLTensor *tensor);

#endif
