/* SPDX-License-Identifier: Apache-2.0
 * A digest that host and GPU both compute fast: XXH64 (seed 0) of each block of
 * GG_DIGEST_BLOCK bytes, then XXH64 of those values in order (little endian), with the
 * number of bytes as seed. The host uses libxxhash; the GPU uses gg_xxh64 below, written
 * from the XXH64 specification and tested against the library. */
#ifndef HARNESS_DIGEST_H
#define HARNESS_DIGEST_H

#include "reference/tensor.h"

enum { GG_DIGEST_BLOCK = 4096 };

#ifdef __cplusplus
extern "C" {
#endif

/* Host memory. */
gg_status gg_digest_host(const void *data, size_t bytes, int threads, uint64_t *digest);
/* The second level: from the digests of the blocks. */
uint64_t gg_digest_blocks(const uint64_t *digests, size_t blocks, size_t bytes);

#ifdef __cplusplus
}
#endif

#define GG_XXH_P1 0x9E3779B185EBCA87ull
#define GG_XXH_P2 0xC2B2AE3D27D4EB4Full
#define GG_XXH_P3 0x165667B19E3779F9ull
#define GG_XXH_P4 0x85EBCA77C2B2AE63ull
#define GG_XXH_P5 0x27D4EB2F165667C5ull

static inline GG_BOTH uint64_t gg_rotl64(uint64_t x, int r)
{
    return (x << r) | (x >> (64 - r));
}

static inline GG_BOTH uint64_t gg_xxh_round(uint64_t acc, uint64_t input)
{
    return gg_rotl64(acc + input * GG_XXH_P2, 31) * GG_XXH_P1;
}

/* XXH64 with seed 0; data is 8-byte aligned (a block of a tensor always is). */
static inline GG_BOTH uint64_t gg_xxh64(const unsigned char *data, size_t bytes)
{
    const uint64_t *word = (const uint64_t *)(const void *)data;
    size_t stripes = bytes / 32, done = stripes * 32;
    uint64_t hash = GG_XXH_P5;
    if (stripes > 0) {
        uint64_t acc[4] = {GG_XXH_P1 + GG_XXH_P2, GG_XXH_P2, 0, 0 - GG_XXH_P1};
        for (size_t s = 0; s < stripes; s++)
            for (int i = 0; i < 4; i++) acc[i] = gg_xxh_round(acc[i], word[4 * s + (size_t)i]);
        hash = gg_rotl64(acc[0], 1) + gg_rotl64(acc[1], 7) + gg_rotl64(acc[2], 12) +
               gg_rotl64(acc[3], 18);
        for (int i = 0; i < 4; i++)
            hash = (hash ^ gg_xxh_round(0, acc[i])) * GG_XXH_P1 + GG_XXH_P4;
    }
    hash += bytes;
    for (; done + 8 <= bytes; done += 8)
        hash = gg_rotl64(hash ^ gg_xxh_round(0, word[done / 8]), 27) * GG_XXH_P1 + GG_XXH_P4;
    if (done + 4 <= bytes) {
        uint32_t half;
        memcpy(&half, data + done, sizeof half);
        hash = gg_rotl64(hash ^ half * GG_XXH_P1, 23) * GG_XXH_P2 + GG_XXH_P3;
        done += 4;
    }
    for (; done < bytes; done++)
        hash = gg_rotl64(hash ^ data[done] * GG_XXH_P5, 11) * GG_XXH_P1;
    hash = (hash ^ (hash >> 33)) * GG_XXH_P2;
    hash = (hash ^ (hash >> 29)) * GG_XXH_P3;
    return hash ^ (hash >> 32);
}

#endif
