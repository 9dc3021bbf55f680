/* SPDX-License-Identifier: Apache-2.0
 * Row chunks of `twopass` and `split`: the plan against clusters started one by one, and the
 * twin's dbias against rows added up as README.md has them. */
#include "kernels/triangle_attention/twin_fixture.h"
#include "kernels/triangle_attention/twopass_chunks.h"

TestSuite(twopass_chunks, .timeout = 120);

/* A shape, its chunks, and how many clusters run at a time. */
typedef struct plan {
    int B, R, H, N, D;
    gg_ta_chunks c;
    int64_t slots;
} plan;

static plan plan_of(int B, int R, int H, int N, int D)
{
    plan p = {B, R, H, N, D, gg_ta_twopass_chunks(B, R, H, N, D), 0};
    p.slots = 132 / gg_ta_twopass_ranges(N, D);
    return p;
}

/* The earliest of a heap of times becomes `x` later. */
static void delay_first(int64_t *time, int count, int64_t x)
{
    int i = 0;
    time[0] += x;
    for (int child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && time[child + 1] < time[child]) child++;
        if (time[i] <= time[child]) return;
        int64_t other = time[i];
        time[i] = time[child];
        time[child] = other;
    }
}

/* When the last cluster ends, if each starts where one ended first, in the grid's order. */
static int64_t end_of(const plan *p)
{
    int64_t time[132] = {0}, last = 0;
    for (int y = 0; y < gg_ta_twopass_layers(&p->c); y++)
        for (int x = 0; x < p->c.tiles; x++) {
            gg_ta_piece piece = gg_ta_twopass_piece(&p->c, x, y);
            if (piece.begin < piece.end)
                delay_first(time, (int)p->slots, piece.end - piece.begin + 4);
        }
    for (int i = 0; i < p->slots; i++) last = time[i] > last ? time[i] : last;
    return last;
}

static int64_t waves_of(const plan *p, int64_t chunks)
{
    return (chunks * p->c.tiles + p->slots - 1) / p->slots;
}

/* Chunks of all tiles. */
static int64_t slabs_of(const gg_ta_chunks *c)
{
    int64_t sum = 0;
    for (int tile = 0; tile < c->tiles; tile++)
        sum += gg_ta_twopass_chunk_of(c, tile, c->R - 1) + 1;
    return sum;
}

/* Shapes from one on; more of small N and R, which have the odd plans. */
static plan nth_shape(int n)
{
    static const int heads[] = {1, 2, 3, 4, 8, 16};
    fixture_state = (uint64_t)n;
    for (int i = 0; i < 4; i++) fixture_uniform();
    int N = (int)exp(fixture_uniform() * log(3072)) + (n % 2), B = 1 + n % 3;
    int R = (int)exp(fixture_uniform() * log(4096)) + (n % 2);
    return plan_of(B, R, heads[n % 6], N > 3072 ? 3072 : N, 8 * (1 + n % 8));
}

/* Every row of every tile is in one piece of the grid, and chunks ascend. */
Test(twopass_chunks, pieces_cover_the_rows)
{
    int cut = 0;
    for (int n = 0; n < 4000; n++) {
        plan p = nth_shape(n);
        const gg_ta_chunks *c = &p.c;
        int layers = gg_ta_twopass_layers(c), *next = calloc((size_t)c->tiles, sizeof *next);
        cr_assert(gg_ta_twopass_slabs(c) >= 1 && gg_ta_twopass_slabs(c) <= 16);
        for (int y = 0; y < layers; y++)
            for (int x = 0; x < c->tiles; x++) {
                gg_ta_piece q = gg_ta_twopass_piece(c, x, y);
                if (q.begin >= q.end) continue;
                cr_assert(q.tile >= 0 && q.tile < c->tiles && q.chunk < gg_ta_twopass_slabs(c));
                cr_assert_eq(q.begin, next[q.tile], "R %d N %d tile %d", p.R, p.N, q.tile);
                for (int r = q.begin; r < q.end; r += q.end - 1 > r ? q.end - 1 - r : 1)
                    cr_assert_eq(gg_ta_twopass_chunk_of(c, q.tile, r), q.chunk);
                next[q.tile] = q.end;
            }
        for (int tile = 0; tile < c->tiles; tile++)
            cr_assert_eq(next[tile], p.R, "R %d N %d tile %d", p.R, p.N, tile);
        cut += c->whole < c->tiles;
        free(next);
    }
    cr_assert(cut > 100, "%d", cut);
}

/* Equal chunks end no later than their waves, and what is left behind long ones with these. */
Test(twopass_chunks, ends_when_it_says)
{
    int uneven = 0;
    for (int n = 0; n < 2000; n++) {
        plan p = nth_shape(n);
        int64_t equal = (p.R + p.c.rows - 1) / p.c.rows, end = end_of(&p);
        int64_t with = waves_of(&p, p.c.longs) * (p.c.rows + 4);
        if (end == with) uneven++;
        else cr_assert(end <= waves_of(&p, equal) * (p.c.rows + 4), "R %d N %d", p.R, p.N);
    }
    cr_assert(uneven > 500, "%d", uneven);
}

/* By clusters started one by one, what the plan costs is no more than what equal chunks would. */
Test(twopass_chunks, costs_no_more_than_equal_chunks)
{
    int less = 0;
    for (int n = 0; n < 2000; n++) {
        plan p = nth_shape(n);
        int64_t cost = p.slots * end_of(&p) + 2 * slabs_of(&p.c), least = INT64_MAX;
        for (int chunks = 1; chunks <= 16; chunks++) {
            int rows = (p.R + chunks - 1) / chunks, used = (p.R + rows - 1) / rows;
            int64_t other =
                p.slots * waves_of(&p, used) * (rows + 4) + 2 * (int64_t)p.c.tiles * used;
            least = other < least ? other : least;
        }
        cr_assert(cost <= least, "R %d N %d", p.R, p.N);
        less += cost < least;
    }
    cr_assert(less > 500, "%d", less);
}

/* G for k long chunks and p parts by trial, as README.md has it; 0: it does not exist. */
static int64_t long_by_trial(const plan *p, int k, int parts, int64_t *others)
{
    int64_t T = p->c.tiles, f = waves_of(p, k) * p->slots - k * T;
    if (f == 0) return 0;
    int64_t m = T / f, e = T - m * f, v = (e * parts + f - 1) / f;
    *others = e;
    if (parts > 1 && e == 0) return 0;
    for (int64_t G = 1; k * G < p->R; G++) {
        int64_t g = p->R - k * G;
        if (m * (g + 4) + v * ((g + parts - 1) / parts + 4) <= G + 4) return G;
    }
    return 0;
}

static gg_ta_chunks chunks_by_trial(const plan *p)
{
    int64_t T = p->c.tiles, least = INT64_MAX;
    gg_ta_chunks best = {p->R, (int)T, 0, 0, (int)T, p->R};
    for (int n = 1; n <= 16; n++) {
        int64_t G = (p->R + n - 1) / n, used = (p->R + G - 1) / G;
        int64_t cost = p->slots * waves_of(p, used) * (G + 4) + 2 * T * used;
        if (cost >= least) continue;
        least = cost;
        best.rows = (int)G, best.longs = (int)used - 1;
    }
    for (int k = 1; k < 16; k++)
        for (int parts = 1; parts <= 3 && k + parts <= 16; parts++) {
            int64_t e = 0, G = long_by_trial(p, k, parts, &e), g = p->R - k * G;
            int64_t u = T * (k + 1) + e * (parts - 1);
            int64_t cost = p->slots * waves_of(p, k) * (G + 4) + 2 * u;
            if (G == 0 || cost >= least) continue;
            least = cost;
            best.rows = (int)G, best.longs = k;
            best.whole = (int)(parts > 1 ? T - e : T), best.part = (int)((g + parts - 1) / parts);
        }
    return best;
}

Test(twopass_chunks, is_what_the_contract_says)
{
    for (int n = 0; n < 3000; n++) {
        plan p = nth_shape(n);
        gg_ta_chunks c = chunks_by_trial(&p);
        cr_assert(c.rows == p.c.rows && c.longs == p.c.longs && c.whole == p.c.whole,
                  "B %d R %d H %d N %d D %d", p.B, p.R, p.H, p.N, p.D);
        cr_assert(c.whole == c.tiles || c.part == p.c.part, "R %d N %d", p.R, p.N);
    }
}

/* By hand from the contract: G, k, tiles whose rest is whole, rows of a part, slabs. */
Test(twopass_chunks, chunks_of_some_shapes)
{
    static const struct {
        int B, H, N, D, rows, longs, whole, part, slabs;
    } some[] = {{1, 4, 256, 32, 32, 7, 16, 0, 8},    {1, 4, 384, 32, 71, 5, 24, 0, 6},
                {1, 4, 512, 32, 251, 2, 32, 0, 3},   {1, 4, 640, 32, 196, 3, 36, 26, 5},
                {1, 4, 768, 32, 562, 1, 36, 69, 4},  {2, 8, 384, 32, 283, 1, 72, 34, 4},
                {1, 4, 896, 32, 287, 3, 56, 0, 4},   {1, 1, 1, 8, 1, 0, 1, 0, 1},
                {1, 4, 2048, 32, 2048, 0, 128, 0, 1}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        plan p = plan_of(some[i].B, some[i].N, some[i].H, some[i].N, some[i].D);
        cr_assert(p.c.rows == some[i].rows && p.c.longs == some[i].longs, "N %d", p.N);
        cr_assert_eq(p.c.whole, some[i].whole, "N %d", p.N);
        cr_assert(p.c.whole == p.c.tiles || p.c.part == some[i].part, "N %d", p.N);
        cr_assert_eq(gg_ta_twopass_slabs(&p.c), some[i].slabs, "N %d", p.N);
    }
}

/* dbias of one row is its dS: added up in the plan's chunks, it is the twin's dbias of all. Four
 * chunks of 7 rows, and two rows more, of the last eight planes each in a chunk of its own. */
static void check_slabs(const gg_kernel *kernel)
{
    enum { B = 2, H = 14, R = 30, PLANES = B * H, SQUARE = 8 * 8, COUNT = PLANES * SQUARE };
    const shape all = {B, R, H, 8, 16, GG_TA_KEYS_ALL, 1, 1};
    plan p = plan_of(all.B, all.R, all.H, all.N, all.D);
    cr_assert(p.c.rows == 7 && p.c.longs == 4 && p.c.whole == 20 && p.c.part == 1);
    shape one = all;
    one.R = 1;
    fixture f, row;
    fixture_init(&f, &all, 5);
    fixture_init(&row, &one, 6);
    fixture_run(&f, kernel, 2);
    size_t bytes = H * 8 * 16 * 2;
    float *slab = calloc(2 * COUNT, sizeof *slab), *sum = slab + COUNT;
    const float *ds = row.out[OUT_DBIAS].data, *dbias = f.out[OUT_DBIAS].data;
    memcpy(row.in[IN_BIAS].data, f.in[IN_BIAS].data, tensor_bytes(&f.in[IN_BIAS]));
    for (size_t r = 0; r < R; r++) {
        for (int i = 0; i <= IN_DOUT; i++)
            for (size_t b = 0; i != IN_BIAS && b < B; b++)
                memcpy((char *)row.in[i].data + b * bytes,
                       (char *)f.in[i].data + (b * R + r) * bytes, bytes);
        fixture_run(&row, kernel, 1);
        for (size_t i = 0; i < COUNT; i++) {
            int parts = i >= 20 * SQUARE;
            slab[i] = (r % 7 == 0 || (parts && r == 29) ? 0 : slab[i]) + ds[i];
            if (r % 7 == 6 || r == 29 || (parts && r == 28))
                sum[i] = (r < 7 ? 0 : sum[i]) + slab[i];
        }
    }
    cr_assert_eq(memcmp(sum, dbias, COUNT * sizeof *sum), 0, "%s", kernel->name);
    free(slab);
    fixture_free(&row);
    fixture_free(&f);
}

Test(twopass_chunks, twins_add_up_chunk_by_chunk)
{
    check_slabs(&gg_ta_twopass_twin);
    check_slabs(&gg_ta_split_twin);
}
