/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <xxhash.h>

#include "harness/digest.h"

static uint64_t storage[4096];

static unsigned char *filled(void)
{
    for (size_t i = 0; i < 4096; i++) storage[i] = i * 0x9e3779b97f4a7c15ull + 1;
    return (unsigned char *)storage;
}

/* The GPU's XXH64 runs here on the host, against the library, at every tail length. */
Test(digest, own_xxh64_equals_the_library)
{
    unsigned char *data = filled();
    for (size_t bytes = 0; bytes <= 300; bytes++)
        cr_assert_eq(gg_xxh64(data, bytes), XXH64(data, bytes, 0), "%zu bytes", bytes);
    cr_assert_eq(gg_xxh64(data, 4096), XXH64(data, 4096, 0));
    cr_assert_eq(gg_xxh64(data, 0), 0xef46db3751d8e999ull, "published value of no bytes");
}

Test(digest, every_byte_counts)
{
    unsigned char *data = filled();
    uint64_t whole, other;
    gg_digest_host(data, 20001, 1, &whole);
    gg_digest_host(data, 20001, 2, &other);
    cr_assert_eq(whole, other);
    for (size_t at = 0; at < 20001; at += 997) {
        data[at] ^= 1;
        gg_digest_host(data, 20001, 1, &other);
        cr_assert_neq(whole, other, "byte %zu", at);
        data[at] ^= 1;
    }
    gg_digest_host(data, 20000, 1, &other);
    cr_assert_neq(whole, other);
}
