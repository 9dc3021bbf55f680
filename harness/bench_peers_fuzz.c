/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer: what a peer script says, and the tables that show it.
 * plant: reports/json_in.c s/ || strlen(item->valuestring) >= size// */
#define _GNU_SOURCE
#include "harness/bench.h"
#include "reports/file_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static gg_bench_case cases[2];
    gg_bench bench = {.op = gg_operators[0], .cases = cases, .case_count = 2};
    for (int c = 0; c < 2; c++) {
        snprintf(cases[c].id, sizeof cases[c].id, "case%d", c);
        snprintf(cases[c].family, sizeof cases[c].family, "%s", bench.op->families[0].name);
        for (int s = 0; bench.op->symbols[s] != '\0'; s++) cases[c].extent[s] = 8 << c;
    }
    gg_status status = gg_bench_peers(fuzz_file(data, size), &bench);
    if (status == GG_OK && gg_bench_derive(&bench) == GG_OK) {
        gg_bench_table(&bench, fuzz_sink(), 100);
        gg_bench_markdown(&bench, fuzz_sink());
        gg_bench_json(&bench, fuzz_sink());
    }
    bench.cases = NULL; /* ours */
    gg_bench_free(&bench);
    return 0;
}
