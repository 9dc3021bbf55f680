/* SPDX-License-Identifier: Apache-2.0
 * exp of what a softmax asks for, from products and sums of MPFR: some four times as fast
 * as mpfr_exp(), whose last bit it does not promise. Internal to reference/. */
#ifndef REFERENCE_EXACT_EXP_H
#define REFERENCE_EXACT_EXP_H

#include <mpfr.h>

/* A relative error is below 2^-(bits - GG_EXACT_EXP_LOST). */
enum { GG_EXACT_EXP_LOST = 4 };

/* to = exp(x), with the precision of `to`, and of the scratch `z`. x <= 0, -infinity or
 * NaN, of any precision; to, x and z are three numbers. */
void gg_exact_exp(mpfr_t to, mpfr_srcptr x, mpfr_t z);

#endif
