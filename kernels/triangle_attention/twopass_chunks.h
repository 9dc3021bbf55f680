/* SPDX-License-Identifier: Apache-2.0
 * How `twopass` and `split` cut the rows that dbias adds up: what README.md fixes as a function of
 * the shape alone. Shared by the CUDA kernels and their host twins. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_CHUNKS_H
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_CHUNKS_H

#include "kernels/arithmetic/both_sides.h"
#include "kernels/triangle_attention/twopass_plan.h"

enum {
    GG_TA_TWOPASS_CHUNKS = 16, /* the most row chunks of a dbias element */
    GG_TA_TWOPASS_PARTS = 3,   /* of which what is left behind long ones is cut into no more */
    GG_TA_TWOPASS_CTAS = 132   /* CTAs that the choice of chunks takes to run at a time */
};

/* How the rows of each query tile of 64 (of all b and h, `tiles` in all) are cut into chunks, each
 * a slab of dbias and a cluster's work: first `longs` of `rows` rows, then what is left, whole in
 * tiles below `whole`, in the others in parts of `part` rows. */
typedef struct gg_ta_chunks {
    int R, tiles;
    int rows, longs;
    int whole, part;
} gg_ta_chunks;

/* One of them: rows begin .. end - 1 of a tile, its number `chunk`; none if begin >= end. */
typedef struct gg_ta_piece {
    int tile, chunk, begin, end;
} gg_ta_piece;

/* The chunk that a tile's row r is in; of R - 1, the last one. */
static GG_BOTH_SIDES int gg_ta_twopass_chunk_of(const gg_ta_chunks *c, int tile, int r)
{
    int left = r - c->longs * c->rows;
    if (left < 0) return r / c->rows;
    return c->longs + (tile < c->whole ? 0 : left / c->part);
}

/* Slabs: as many as the last tile has chunks, which has the most. */
static inline int gg_ta_twopass_slabs(const gg_ta_chunks *c)
{
    return gg_ta_twopass_chunk_of(c, c->tiles - 1, c->R - 1) + 1;
}

/* Clusters are a grid of x < tiles, y < layers, taken with x fastest: each long chunk of all tiles,
 * then what is left of whole tiles and the first parts of the others, then their other parts. */
static inline int gg_ta_twopass_layers(const gg_ta_chunks *c)
{
    return c->longs + 1 + (c->whole < c->tiles);
}

static GG_BOTH_SIDES gg_ta_piece gg_ta_twopass_piece(const gg_ta_chunks *c, int x, int y)
{
    int kept = c->longs * c->rows, others = c->tiles - c->whole, part = 0;
    gg_ta_piece p = {x, y, y * c->rows, (y + 1) * c->rows};
    if (y < c->longs) return p;
    if (y > c->longs) part = x < others ? 1 : x < 2 * others ? 2 : GG_TA_TWOPASS_PARTS;
    if (part > 0) p.tile = c->whole + x - (part - 1) * others;
    p.chunk = c->longs + part;
    p.begin = kept + part * c->part, p.end = p.begin + c->part;
    if (p.tile < c->whole || p.end > c->R) p.end = c->R;
    return p;
}

/* The fewest rows of each of `longs` long chunks of a tile with which what is left is over in the
 * time of one of them, in each of the places that their last wave leaves: there `turns` tiles' rows
 * follow one another, then `part_turns` of the `parts` that other tiles' are cut into. A chunk pays
 * four rows' time to start. 0: no row would be left. */
static inline int64_t gg_ta_twopass_long_rows(int R, int64_t longs, int parts, int64_t turns,
                                              int64_t part_turns)
{
    /* From where it would be enough if parts came out even. */
    int64_t each = turns * parts + part_turns;
    int64_t rows = gg_ta_twopass_over(each * R + 4 * parts * (turns + part_turns - 1),
                                      parts + longs * each);
    for (rows = rows < 1 ? 1 : rows; longs * rows < R; rows++) {
        int64_t left = R - longs * rows, part = gg_ta_twopass_over(left, parts);
        if (turns * (left + 4) + part_turns * (part + 4) <= rows + 4) return rows;
    }
    return 0;
}

/* The cheapest of equal chunks, 1 to CHUNKS, and of long ones with what is left behind them, whole
 * or in 2 or 3 parts. The cost is the time until all is over, of the `slots` clusters that run at a
 * time, and what writing and reading a slab takes: two rows' time of the cluster that does. */
static inline gg_ta_chunks gg_ta_twopass_chunks(int B, int R, int H, int N, int D)
{
    int64_t T = (int64_t)B * H * ((N + GG_TA_TILE - 1) / GG_TA_TILE), least = INT64_MAX;
    int64_t slots = GG_TA_TWOPASS_CTAS / gg_ta_twopass_ranges(N, D);
    gg_ta_chunks best = {R, (int)T, R, 0, (int)T, R};
    for (int n = 1; n <= GG_TA_TWOPASS_CHUNKS; n++) {
        int64_t rows = gg_ta_twopass_over(R, n), used = gg_ta_twopass_over(R, rows);
        int64_t waves = gg_ta_twopass_over(used * T, slots);
        int64_t cost = slots * waves * (rows + 4) + 2 * T * used;
        if (cost >= least) continue;
        least = cost;
        best.rows = (int)rows, best.longs = (int)used - 1;
        best.part = R - best.longs * best.rows;
    }
    for (int longs = 1; longs < GG_TA_TWOPASS_CHUNKS; longs++) {
        int64_t waves = gg_ta_twopass_over(longs * T, slots), places = waves * slots - longs * T;
        if (places == 0) continue;
        int64_t turns = T / places, others = T % places;
        int most = others > 0 ? GG_TA_TWOPASS_PARTS : 1;
        for (int parts = 1; parts <= most && longs + parts <= GG_TA_TWOPASS_CHUNKS; parts++) {
            int64_t rows = gg_ta_twopass_long_rows(
                R, longs, parts, turns, gg_ta_twopass_over(others * parts, places));
            int64_t slabs = T * (longs + 1) + others * (parts - 1);
            int64_t cost = slots * waves * (rows + 4) + 2 * slabs;
            if (rows == 0 || cost >= least) continue;
            least = cost;
            best.rows = (int)rows, best.longs = longs;
            best.whole = (int)(parts > 1 ? T - others : T);
            best.part = (int)gg_ta_twopass_over(R - longs * rows, parts);
        }
    }
    return best;
}

#endif
