/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/philox.h"

#include <criterion/criterion.h>

/* Known answers published with Random123 (kat_vectors, philox4x32 10). */
static const struct {
    uint32_t counter[4], key[2], answer[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

Test(philox, known_answers)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const uint32_t *c = known[i].counter, *k = known[i].key;
        gg_philox out = gg_philox4x32_10(c[0], c[1], c[2], c[3], k[0], k[1]);
        for (int w = 0; w < 4; w++)
            cr_assert_eq(out.word[w], known[i].answer[w], "vector %zu word %d", i, w);
    }
}

Test(philox, block_places_seed_and_index_by_halves)
{
    gg_philox out = gg_philox_block(0x299f31d0a4093822u, 0x85a308d3243f6a88u,
                                    0x13198a2e, 0x03707344);
    for (int w = 0; w < 4; w++) cr_assert_eq(out.word[w], known[2].answer[w]);
}
