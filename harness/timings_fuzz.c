/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer: a stored bench.
 * plant: harness/timings.c s/calloc((size_t)count + 1/calloc(1/ */
#define _GNU_SOURCE
#include "harness/timings.h"
#include "reports/file_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gg_timings timings;
    gg_status status = gg_timings_read(fuzz_file(data, size), &timings);
    for (int i = 0; i < timings.count; i++) /* every row is the first of its name */
        if (gg_timings_find(&timings, timings.rows[i].id, timings.rows[i].kernel) !=
            &timings.rows[i])
            __builtin_trap();
    if (status != GG_OK && timings.rows != NULL) __builtin_trap();
    gg_timings_free(&timings);
    return 0;
}
