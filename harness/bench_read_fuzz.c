/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer: a stored bench, and all that is made of it.
 * plant: harness/bench_read.c s/if (at == b->case_count)/if (at > b->case_count)/ */
#define _GNU_SOURCE
#include "harness/bench.h"
#include "reports/file_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gg_bench bench;
    bool is_bench = false;
    gg_status status = gg_bench_read(fuzz_file(data, size), &bench, &is_bench);
    if (status != GG_OK && bench.cases != NULL) __builtin_trap();
    if (status == GG_OK && is_bench &&
        (gg_bench_table(&bench, fuzz_sink(), 80) != GG_OK ||
         gg_bench_html(&bench, fuzz_sink()) != GG_OK ||
         gg_bench_json(&bench, fuzz_sink()) != GG_OK))
        __builtin_trap();
    gg_bench_free(&bench);
    return 0;
}
