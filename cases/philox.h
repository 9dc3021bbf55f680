/* SPDX-License-Identifier: Apache-2.0
 * Philox4x32-10: 128 random bits from a 128-bit counter and a 64-bit key, by integer
 * operations only (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
 * 1, 2, 3", SC 2011). The published known answers are in philox_test.c. */
#ifndef CASES_PHILOX_H
#define CASES_PHILOX_H

#include "reference/tensor.h"

typedef struct gg_philox {
    uint32_t word[4];
} gg_philox;

static inline GG_BOTH gg_philox gg_philox4x32_10(uint32_t c0, uint32_t c1, uint32_t c2,
                                                 uint32_t c3, uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < 10; round++) {
        uint64_t product_0 = (uint64_t)0xD2511F53u * c0;
        uint64_t product_1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t next_0 = (uint32_t)(product_1 >> 32) ^ c1 ^ k0;
        uint32_t next_2 = (uint32_t)(product_0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)product_1;
        c3 = (uint32_t)product_0;
        c0 = next_0;
        c2 = next_2;
        k0 += 0x9E3779B9u; /* the golden ratio */
        k1 += 0xBB67AE85u; /* sqrt(3) - 1 */
    }
    gg_philox out = {{c0, c1, c2, c3}};
    return out;
}

/* The block of a case: key = seed, counter = (block low, block high, tensor, stream).
 */
static inline GG_BOTH gg_philox gg_philox_block(uint64_t seed, uint64_t block,
                                                uint32_t tensor, uint32_t stream)
{
    return gg_philox4x32_10((uint32_t)block, (uint32_t)(block >> 32), tensor, stream,
                            (uint32_t)seed, (uint32_t)(seed >> 32));
}

#endif
