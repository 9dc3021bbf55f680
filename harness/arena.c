/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/arena.h"

void *gg_arena_take(gg_arena *arena, size_t bytes)
{
    char *memory = arena->base != NULL ? arena->base + arena->used : NULL;
    size_t whole = (bytes + GG_GUARD_BYTES + GG_ARENA_ALIGN - 1) / GG_ARENA_ALIGN;
    arena->used += whole * GG_ARENA_ALIGN;
    if (arena->used > arena->peak) arena->peak = arena->used;
    if (memory != NULL && arena->piece_count < GG_MAX_PIECES)
        arena->pieces[arena->piece_count++] =
            (gg_piece){memory, bytes, whole * GG_ARENA_ALIGN - bytes};
    return memory;
}

void gg_arena_rewind(gg_arena *arena, size_t mark)
{
    arena->used = mark;
    while (arena->piece_count > 0 &&
           arena->pieces[arena->piece_count - 1].memory >= arena->base + mark)
        arena->piece_count--;
}

gg_status gg_arena_reserve(gg_arena *arena, size_t bytes)
{
    arena->used = arena->peak = 0;
    arena->piece_count = 0;
    if (arena->base != NULL && arena->capacity >= bytes) return GG_OK;
    gg_arena_free(arena);
    void *memory = NULL;
    GG_TRY(arena->backend->alloc(bytes, &memory));
    arena->base = memory;
    arena->capacity = bytes;
    return GG_OK;
}

void gg_arena_free(gg_arena *arena)
{
    if (arena->base != NULL) arena->backend->free(arena->base);
    arena->base = NULL;
    arena->capacity = 0;
}

/* No tensor's padding looks like this by chance: bytes of one run of a generator. */
enum { MOST = GG_GUARD_BYTES + GG_ARENA_ALIGN };

static void guard_bytes(unsigned char guard[MOST])
{
    for (int i = 0; i < MOST; i++) guard[i] = (unsigned char)(i * 37 + 101);
}

gg_status gg_arena_arm(const gg_arena *arena)
{
    unsigned char guard[MOST];
    guard_bytes(guard);
    for (int i = 0; i < arena->piece_count; i++)
        GG_TRY(arena->backend->upload(arena->pieces[i].memory + arena->pieces[i].bytes,
                                      guard, arena->pieces[i].guard));
    return GG_OK;
}

gg_status gg_arena_intact(const gg_arena *arena, const void *memory, bool *intact)
{
    unsigned char guard[MOST], found[MOST];
    *intact = true;
    for (int i = 0; i < arena->piece_count; i++) {
        const gg_piece *p = &arena->pieces[i];
        if (p->memory != memory) continue;
        guard_bytes(guard);
        GG_TRY(arena->backend->download(found, p->memory + p->bytes, p->guard));
        *intact = memcmp(guard, found, p->guard) == 0;
        return GG_OK;
    }
    return gg_fail(GG_INTERNAL, "no guard band behind this memory");
}

gg_status gg_arena_rest_intact(const gg_arena *arena, const void *const *except, int count,
                               bool *intact)
{
    *intact = true;
    for (int i = 0; i < arena->piece_count && *intact; i++) {
        int e = 0;
        while (e < count && except[e] != arena->pieces[i].memory) e++;
        if (e == count) GG_TRY(gg_arena_intact(arena, arena->pieces[i].memory, intact));
    }
    return GG_OK;
}
