/* SPDX-License-Identifier: Apache-2.0
 * Dot products of BF16 vectors without any rounding. Internal to reference/. */
#ifndef REFERENCE_EXACT_DOT_H
#define REFERENCE_EXACT_DOT_H

#include <mpfr.h>
#include <stdint.h>

/* A product of two BF16 is a multiple of 2^-266 and below 2^256: 522 bits, and 64 more
 * for the carries of up to 2^63 terms. */
enum { GG_EXACT_DOT_BITS = 640 };

/* sum = sum over t < n of a[t a_step] b[t b_step]. Both mpfr_t have GG_EXACT_DOT_BITS
 * of precision; `work` is overwritten. NaN and infinities propagate. */
void gg_exact_dot(mpfr_t sum, mpfr_t work, const uint16_t *a, int64_t a_step,
                  const uint16_t *b, int64_t b_step, int64_t n);

#endif
