/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/arithmetic/threads.h"

#include <criterion/criterion.h>
#include <stdatomic.h>

TestSuite(threads, .timeout = 60);

enum { COUNT = 1000, THREADS = 7 };

typedef struct tally {
    atomic_int done[COUNT], busy[THREADS], clashes;
} tally;

static void work(void *context, int64_t index, int worker)
{
    tally *t = context;
    if (worker < 0 || worker >= THREADS || atomic_fetch_add(&t->busy[worker], 1))
        atomic_fetch_add(&t->clashes, 1);
    atomic_fetch_add(&t->done[index], 1);
    atomic_fetch_sub(&t->busy[worker], 1);
}

static void check(int count, int threads)
{
    static tally t;
    gg_threads_run(count, threads, work, &t);
    for (int i = 0; i < COUNT; i++) {
        cr_assert_eq(t.done[i], i < count, "%d", i);
        t.done[i] = 0;
    }
    cr_assert_eq(t.clashes, 0);
}

Test(threads, each_piece_runs_once)
{
    check(COUNT, THREADS);
    check(COUNT, 1);
    check(3, THREADS);
    check(0, THREADS);
}
