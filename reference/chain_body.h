/* SPDX-License-Identifier: Apache-2.0
 * Body of chain.c, included once an instruction set, without an include guard. The
 * includer defines
 *   CHAIN(name)           name with the set's suffix
 *   VEC, WIDTH            vector type and its elements; WIDTH divides GG_LANES
 *   LOAD STORE SPREAD FMA ZERO   unaligned load and store, broadcast, fma, +0
 *   TALL, WIDE            rows and vectors of a register tile (TALL divisible by 3) */

/* One register tile: rows m.. and columns n.. of C, all of K. `tall`, `wide` and `row`
 * are constants where this is inlined, so the accumulators stay in registers. */
static inline __attribute__((always_inline)) void
CHAIN(tile)(const gg_chain *t, int64_t m, int64_t n, const int tall, const int wide,
            const int64_t row)
{
    VEC sum[TALL][WIDE];
    double *c = t->c + m * t->c_row + n;
#pragma GCC unroll 16
    for (int i = 0; i < tall; i++)
#pragma GCC unroll 16
        for (int j = 0; j < wide; j++)
            sum[i][j] = t->resume ? LOAD(c + i * t->c_row + j * WIDTH) : ZERO;
    const double *a = t->a + m * row, *b = t->b + n;
    const int64_t a_step = t->a_step, b_step = t->b_step;
    for (int64_t k = 0; k < t->k; k++, a += a_step, b += b_step) {
        VEC right[WIDE];
#pragma GCC unroll 16
        for (int j = 0; j < wide; j++) right[j] = LOAD(b + j * WIDTH);
#pragma GCC unroll 16
        for (int i = 0; i < tall; i++) {
            VEC left = SPREAD(a[i * row]);
#pragma GCC unroll 16
            for (int j = 0; j < wide; j++) sum[i][j] = FMA(left, right[j], sum[i][j]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < tall; i++)
#pragma GCC unroll 16
        for (int j = 0; j < wide; j++) STORE(c + i * t->c_row + j * WIDTH, sum[i][j]);
}

static inline __attribute__((always_inline)) void
CHAIN(column)(const gg_chain *t, int64_t n, const int wide, const int64_t row)
{
    int64_t m = 0;
    for (; m + TALL <= t->m; m += TALL) CHAIN(tile)(t, m, n, TALL, wide, row);
    for (; m + TALL / 3 <= t->m; m += TALL / 3)
        CHAIN(tile)(t, m, n, TALL / 3, wide, row);
    for (; m < t->m; m++) CHAIN(tile)(t, m, n, 1, wide, row);
}

static inline __attribute__((always_inline)) void
CHAIN(all)(const gg_chain *t, const int64_t row)
{
    int64_t n = 0;
    for (; n + WIDE * WIDTH <= t->n; n += WIDE * WIDTH)
        CHAIN(column)(t, n, WIDE, row);
    for (; n < t->n; n += WIDTH) CHAIN(column)(t, n, 1, row);
}

static void CHAIN(run)(const gg_chain *t)
{
    if (t->a_row == 1)
        CHAIN(all)(t, 1);
    else
        CHAIN(all)(t, GG_BLOCK);
}
