/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer: a stored budget, and every form made of it.
 * plant: reports/budget_read.c s/calloc((size_t)count + 1/calloc(1/ */
#define _GNU_SOURCE
#include "reports/budget.h"
#include "reports/file_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gg_budget budget;
    char text[200];
    gg_status status = gg_budget_read(fuzz_file(data, size), &budget);
    if (status == GG_OK) {
        gg_budget_table(&budget, fuzz_sink(), 100);
        gg_budget_markdown(&budget, fuzz_sink());
        gg_budget_json(&budget, fuzz_sink());
        gg_budget_html(&budget, fuzz_sink());
        gg_budget_reading(&budget, "dq", "normal", text, sizeof text);
    } else if (budget.cases != NULL) {
        __builtin_trap();
    }
    gg_budget_free(&budget);
    return 0;
}
