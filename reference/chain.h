/* SPDX-License-Identifier: Apache-2.0
 * The one inner loop of every binary64 truth on the host: many independent chains of
 * fused multiply-adds side by side.
 *
 *   C[m][n] = fma(A[m,K-1], B[K-1,n], ... fma(A[m,0], B[0,n], start))
 *
 * Vector lanes hold different n, so no chain is ever split: AVX-512, AVX2 and portable
 * code give the same bits. Internal to reference/. */
#ifndef REFERENCE_CHAIN_H
#define REFERENCE_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

/* Every row of B and C is padded to a multiple of this many elements. */
enum { GG_LANES = 8 };

/* Queries handled side by side by triangle attention; the second row distance of A for
 * which the loop is compiled with constant addresses (the first is 1). */
enum { GG_BLOCK = 16 };

typedef enum gg_instructions {
    GG_PORTABLE = 0, /* fma() of the C library: slow where the machine has none */
    GG_AVX2,         /* AVX2 and FMA */
    GG_AVX512,       /* AVX-512F */
    GG_INSTRUCTIONS
} gg_instructions;

/* The best set that this processor has, at most the limit set by a test. */
gg_instructions gg_instructions_used(void);
void gg_instructions_limit(gg_instructions highest);

typedef struct gg_chain {
    int64_t m, n, k; /* n: a multiple of GG_LANES */
    const double *a; /* A[m,k] = a[m * a_row + k * a_step], a_row 1 or GG_BLOCK */
    int64_t a_row, a_step;
    const double *b; /* B[k,n] = b[k * b_step + n] */
    int64_t b_step;
    double *c;       /* C[m,n] = c[m * c_row + n] */
    int64_t c_row;
    bool resume;     /* chains start from what c holds, otherwise from +0 */
} gg_chain;

void gg_chain_run(const gg_chain *chain);

static inline int64_t gg_round_up(int64_t count, int64_t multiple)
{
    return (count + multiple - 1) / multiple * multiple;
}

#endif
