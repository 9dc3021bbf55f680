/* SPDX-License-Identifier: Apache-2.0
 * Row chunks of `twopass` and `split`: the plan against clusters started one by one, and the
 * twin's dbias against rows added up as README.md has them. */
#include "kernels/triangle_attention/twin_fixture.h"
#include "kernels/triangle_attention/twopass_plan.h"

TestSuite(twopass_plan, .timeout = 120);

/* A shape, its clusters of a chunk, and how many run at a time. */
typedef struct plan {
    int B, R, H, N, D, rows, chunks;
    int64_t work, slots;
} plan;

static plan plan_of(int B, int R, int H, int N, int D)
{
    plan p = {B, R, H, N, D, 0, 0, (int64_t)B * H * ((N + 63) / 64), 0};
    p.rows = gg_ta_twopass_chunk_rows(B, R, H, N, D);
    p.chunks = gg_ta_twopass_chunk_count(B, R, H, N, D);
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

/* When the last cluster ends, if each starts where one ended first; chunks of `rows`. */
static int64_t end_of(const plan *p, int rows)
{
    int64_t time[132] = {0}, last = 0;
    for (int r = 0; r < p->R; r += rows)
        for (int64_t i = 0; i < p->work; i++)
            delay_first(time, (int)p->slots, (p->R - r < rows ? p->R - r : rows) + 4);
    for (int i = 0; i < p->slots; i++) last = time[i] > last ? time[i] : last;
    return last;
}

static int64_t waves_of(const plan *p, int chunks)
{
    return (chunks * p->work + p->slots - 1) / p->slots;
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

Test(twopass_plan, chunks_cover_the_rows)
{
    for (int n = 0; n < 100000; n++) {
        plan p = nth_shape(n);
        cr_assert(p.rows >= 1 && p.chunks >= 1 && p.chunks <= 16, "R %d N %d", p.R, p.N);
        cr_assert((p.chunks - 1) * p.rows < p.R && p.R <= p.chunks * p.rows, "R %d N %d", p.R,
                  p.N);
    }
}

/* Equal chunks end no later than their waves, long ones with a short one behind with them. */
Test(twopass_plan, ends_when_it_says)
{
    int uneven = 0;
    for (int n = 0; n < 2000; n++) {
        plan p = nth_shape(n);
        int64_t end = end_of(&p, p.rows), most = waves_of(&p, p.chunks) * (p.rows + 4);
        int64_t with = waves_of(&p, p.chunks - 1) * (p.rows + 4);
        cr_assert(end <= most, "R %d N %d", p.R, p.N);
        if (with == most || p.chunks == 1) continue;
        if (gg_ta_twopass_long_rows(p.R, p.chunks - 1, p.work, p.slots) != p.rows) continue;
        cr_assert_eq(end, with, "R %d N %d: %d, not %d", p.R, p.N, (int)end, (int)with);
        uneven++;
    }
    cr_assert(uneven > 500, "%d", uneven);
}

/* By clusters started one by one, what the plan costs is no more than what equal chunks would. */
Test(twopass_plan, costs_no_more_than_equal_chunks)
{
    for (int n = 0; n < 2000; n++) {
        plan p = nth_shape(n);
        int64_t cost = p.slots * end_of(&p, p.rows) + 2 * p.work * p.chunks;
        for (int chunks = 1; chunks <= 16; chunks++) {
            int rows = (p.R + chunks - 1) / chunks, used = (p.R + rows - 1) / rows;
            int64_t other = p.slots * waves_of(&p, used) * (rows + 4) + 2 * p.work * used;
            cr_assert(cost <= other, "R %d N %d: %d chunks", p.R, p.N, used);
        }
    }
}

/* One row less in the long chunks, and the short one's clusters end later than they. */
Test(twopass_plan, long_chunks_are_as_short_as_they_can_be)
{
    int found = 0;
    for (int n = 0; n < 2000; n++) {
        plan p = nth_shape(n);
        for (int chunks = 1; chunks < 16; chunks++) {
            int rows = (int)gg_ta_twopass_long_rows(p.R, chunks, p.work, p.slots);
            if (rows < 2 || p.R - chunks * (rows - 1) >= rows) continue; /* else one chunk more */
            int64_t waves = waves_of(&p, chunks);
            cr_assert_eq(end_of(&p, rows), waves * (rows + 4), "R %d N %d", p.R, p.N);
            cr_assert(end_of(&p, rows - 1) > waves * (rows + 3), "R %d N %d", p.R, p.N);
            found++;
        }
    }
    cr_assert(found > 500, "%d", found);
}

/* G as README.md has it, the short chunk's by trial; 0: it does not exist. */
static int64_t long_by_trial(const plan *p, int n)
{
    int64_t places = waves_of(p, n - 1) * p->slots - (n - 1) * p->work, G = 1;
    if (places == 0) return 0;
    int64_t q = (p->work + places - 1) / places;
    while (q * (p->R - (n - 1) * G + 4) > G + 4) G++;
    return (n - 1) * G < p->R ? G : 0;
}

static int64_t rows_by_trial(const plan *p)
{
    int64_t best = 0, least = INT64_MAX;
    for (int n = 1; n <= 16; n++)
        for (int equal = 0; equal < 2; equal++) {
            int64_t G = equal ? (p->R + n - 1) / n : long_by_trial(p, n);
            int u = G > 0 ? (int)((p->R + G - 1) / G) : 0;
            int64_t end = waves_of(p, equal ? u : u - 1) * (G + 4);
            int64_t cost = p->slots * end + 2 * p->work * u;
            if (G > 0 && cost < least) {
                least = cost;
                best = G;
            }
        }
    return best;
}

Test(twopass_plan, is_what_the_contract_says)
{
    for (int n = 0; n < 20000; n++) {
        plan p = nth_shape(n);
        cr_assert_eq(rows_by_trial(&p), p.rows, "B %d R %d H %d N %d D %d", p.B, p.R, p.H, p.N,
                     p.D);
    }
}

/* By hand from the contract. */
Test(twopass_plan, rows_of_some_shapes)
{
    static const int some[][6] = {{1, 4, 256, 32, 32, 8},  {1, 4, 384, 32, 71, 6},
                                  {1, 4, 512, 32, 251, 3}, {1, 4, 640, 32, 198, 4},
                                  {1, 4, 768, 32, 188, 5}, {2, 8, 384, 32, 290, 2},
                                  {1, 1, 1, 8, 1, 1},      {1, 4, 2048, 32, 2048, 1}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        const int *x = some[i];
        plan p = plan_of(x[0], x[2], x[1], x[2], x[3]);
        cr_assert(p.rows == x[4] && p.chunks == x[5], "N %d: %d rows, %d chunks", x[2], p.rows,
                  p.chunks);
    }
}

/* dbias of one row is its dS: added up in the plan's chunks, it is the twin's dbias of all. */
static void check_slabs(const gg_kernel *kernel)
{
    enum { SQUARE = 8 * 8 };
    const shape all = {3, 49, 5, 8, 16, GG_TA_KEYS_ALL, 1, 1};
    plan p = plan_of(all.B, all.R, all.H, all.N, all.D);
    cr_assert(p.rows == 6 && p.chunks == 9); /* eight of 6, one of 1 */
    shape one = all;
    one.R = 1;
    fixture f, row;
    fixture_init(&f, &all, 5);
    fixture_init(&row, &one, 6);
    fixture_run(&f, kernel, 2);
    size_t B = 3, planes = 15, count = planes * SQUARE, bytes = 5 * 8 * 16 * 2;
    float *slab = calloc(2 * count, sizeof *slab), *sum = slab + count;
    const float *ds = row.out[OUT_DBIAS].data, *dbias = f.out[OUT_DBIAS].data;
    memcpy(row.in[IN_BIAS].data, f.in[IN_BIAS].data, tensor_bytes(&f.in[IN_BIAS]));
    for (size_t r = 0; r < 49; r++) {
        for (int i = 0; i <= IN_DOUT; i++)
            for (size_t b = 0; i != IN_BIAS && b < B; b++)
                memcpy((char *)row.in[i].data + b * bytes,
                       (char *)f.in[i].data + (b * 49 + r) * bytes, bytes);
        fixture_run(&row, kernel, 1);
        for (size_t i = 0; i < count; i++) {
            slab[i] = (r % 6 == 0 ? 0 : slab[i]) + ds[i];
            if (r % 6 == 5 || r == 48) sum[i] = (r < 6 ? 0 : sum[i]) + slab[i];
        }
    }
    cr_assert_eq(memcmp(sum, dbias, count * sizeof *sum), 0, "%s", kernel->name);
    free(slab);
    fixture_free(&row);
    fixture_free(&f);
}

Test(twopass_plan, twins_add_up_chunk_by_chunk)
{
    check_slabs(&gg_ta_twopass_twin);
    check_slabs(&gg_ta_split_twin);
}
