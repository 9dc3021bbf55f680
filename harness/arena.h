/* SPDX-License-Identifier: Apache-2.0
 * One block of backend memory, handed out in pieces. Each piece ends in a guard band that
 * shows a write past its end. An arena without memory only counts, so that a layout can
 * be sized before it is taken. */
#ifndef HARNESS_ARENA_H
#define HARNESS_ARENA_H

#include "harness/backend.h"

/* A guard band is at least this long; it ends where the next piece begins, so that a
 * write before a piece shows too. */
enum { GG_GUARD_BYTES = 512, GG_ARENA_ALIGN = 256, GG_MAX_PIECES = 64 };

typedef struct gg_piece {
    char *memory;
    size_t bytes, guard;
} gg_piece;

typedef struct gg_arena {
    const gg_backend *backend;
    char *base; /* NULL: counting only */
    size_t capacity, used, peak;
    gg_piece pieces[GG_MAX_PIECES];
    int piece_count;
} gg_arena;

/* A piece of `bytes`, aligned to GG_ARENA_ALIGN, or NULL while only counting. */
void *gg_arena_take(gg_arena *arena, size_t bytes);
/* Gives back every piece taken since `mark` (an earlier value of used). */
void gg_arena_rewind(gg_arena *arena, size_t mark);
/* Gives back all pieces and makes sure that `bytes` can be taken. */
gg_status gg_arena_reserve(gg_arena *arena, size_t bytes);
void gg_arena_free(gg_arena *arena);

/* Writes all guard bands; says whether the one behind `memory` is still whole. */
gg_status gg_arena_arm(const gg_arena *arena);
gg_status gg_arena_intact(const gg_arena *arena, const void *memory, bool *intact);
/* The same for all pieces but the `count` ones in `except`. */
gg_status gg_arena_rest_intact(const gg_arena *arena, const void *const *except, int count,
                               bool *intact);

#endif
