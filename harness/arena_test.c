/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "harness/arena.h"

Test(arena, counting_and_taking_agree)
{
    gg_backend host;
    cr_assert_eq(gg_backend_open("host", 1, &host), GG_OK);
    gg_arena count = {.backend = &host}, real = {.backend = &host};
    const size_t sizes[] = {1, 255, 256, 4096, 0, 77};
    for (int i = 0; i < 6; i++) cr_assert_null(gg_arena_take(&count, sizes[i]));
    cr_assert_eq(gg_arena_reserve(&real, count.peak), GG_OK);
    for (int i = 0; i < 6; i++) {
        char *memory = gg_arena_take(&real, sizes[i]);
        cr_assert_eq((uintptr_t)memory % 256, 0);
        memset(memory, 1, sizes[i]);
    }
    cr_assert_eq(real.used, count.used);
    cr_assert_leq(real.used, real.capacity);
    gg_arena_free(&real);
}

Test(arena, one_byte_past_the_end_is_seen)
{
    gg_backend host;
    bool intact;
    cr_assert_eq(gg_backend_open("host", 1, &host), GG_OK);
    gg_arena arena = {.backend = &host};
    cr_assert_eq(gg_arena_reserve(&arena, 1 << 16), GG_OK);
    char *a = gg_arena_take(&arena, 101), *b = gg_arena_take(&arena, 5);
    cr_assert_eq(gg_arena_arm(&arena), GG_OK);
    memset(a, 0, 101);
    gg_arena_intact(&arena, a, &intact);
    cr_assert(intact);
    a[101] = 0;
    gg_arena_intact(&arena, a, &intact);
    cr_assert_not(intact);
    gg_arena_intact(&arena, b, &intact);
    cr_assert(intact);
    cr_assert_eq(gg_arena_intact(&arena, a + 1, &intact), GG_INTERNAL);
    gg_arena_free(&arena);
}

Test(arena, rewinding_forgets_the_pieces_behind)
{
    gg_backend host;
    bool intact;
    cr_assert_eq(gg_backend_open("host", 1, &host), GG_OK);
    gg_arena arena = {.backend = &host};
    cr_assert_eq(gg_arena_reserve(&arena, 1 << 16), GG_OK);
    char *a = gg_arena_take(&arena, 10);
    size_t mark = arena.used;
    char *b = gg_arena_take(&arena, 10000), *c;
    gg_arena_rewind(&arena, mark);
    c = gg_arena_take(&arena, 20);
    cr_assert_eq(b, c);
    cr_assert_eq(arena.piece_count, 2);
    cr_assert_eq(gg_arena_arm(&arena), GG_OK);
    gg_arena_intact(&arena, a, &intact);
    cr_assert(intact);
    gg_arena_free(&arena);
}
