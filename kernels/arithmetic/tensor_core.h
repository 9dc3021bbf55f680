/* SPDX-License-Identifier: Apache-2.0
 * One step of a Hopper tensor core (mma.sync m16n8k16 and wgmma k16, BF16 in, FP32
 * sum), bit for bit. The step adds c and 16 products in one fixed-point sum:
 *
 *   a zero term is left out; the exponent of a product is the sum of its operands'
 *     exponents, not renormalised (its significand lies in [1, 4)); a subnormal keeps
 *     the exponent -126 and a significand below 1; nothing is flushed
 *   E = the largest exponent of the terms, at least -133
 *   each term is cut (toward zero) to a multiple of 2^(E - 25); their sum is exact
 *   the sum is rounded toward zero to FP32, subnormals kept, infinity from 2^128
 *   a result of zero is +0
 *   NaN, infinity * 0 or infinities of both signs give 0x7fffffff; else an infinity
 *     wins
 *
 * Order within a step does not matter. Longer sums are chains of steps. */
#ifndef KERNELS_ARITHMETIC_TENSOR_CORE_H
#define KERNELS_ARITHMETIC_TENSOR_CORE_H

#include <stddef.h>
#include <stdint.h>

enum { GG_TC_TERMS = 16, GG_TC_FLOOR = -133, GG_TC_FRACTION = 25 };

/* The step itself, in integers: what the vector forms (lanes.h) must equal. a and b are
 * BF16, c and the result FP32 bits. */
uint32_t gg_tc_step(const uint16_t a[GG_TC_TERMS], const uint16_t b[GG_TC_TERMS],
                    uint32_t c);

/* Chain of steps over n terms, the tail padded with zero products. */
uint32_t gg_tc_chain(uint32_t c, const uint16_t *a, const uint16_t *b, size_t n);

#endif
