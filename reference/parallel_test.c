/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdatomic.h>

#include "reference/parallel.h"

TestSuite(parallel, .timeout = 20);

enum { COUNT = 5000, THREADS = 4 };

typedef struct record {
    atomic_int calls[COUNT];
    atomic_int busy[THREADS];
    atomic_int wrong;
} record;

static void work(void *context, int64_t index, int worker)
{
    record *r = context;
    if (worker < 0 || worker >= THREADS || atomic_fetch_add(&r->busy[worker], 1) != 0) {
        atomic_fetch_add(&r->wrong, 1);
        return;
    }
    atomic_fetch_add(&r->calls[index], 1);
    atomic_fetch_sub(&r->busy[worker], 1);
}

static void check(int64_t count, int threads)
{
    static record r;
    memset((void *)&r, 0, sizeof r);
    gg_parallel(count, threads, work, &r);
    cr_assert_eq(atomic_load(&r.wrong), 0);
    for (int64_t i = 0; i < COUNT; i++)
        cr_assert_eq(atomic_load(&r.calls[i]), i < count ? 1 : 0);
}

Test(parallel, each_index_once_and_workers_are_unique)
{
    check(COUNT, 1);
    check(COUNT, THREADS);
    check(3, THREADS);
    check(1, THREADS);
    check(0, THREADS);
    check(COUNT, 0);
}

Test(parallel, there_is_a_processor) { cr_assert(gg_processors() >= 1); }
