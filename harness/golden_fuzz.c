/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer: a file of golden digests.
 * plant: harness/golden.c s/ || entries == 0// */
#define _GNU_SOURCE
#include "harness/golden.h"
#include "reports/file_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gg_golden golden;
    gg_status status = gg_golden_load(fuzz_file(data, size), &golden);
    if (status == GG_OK) {
        const gg_golden_entry *last = &golden.entries[golden.count - 1];
        if (gg_golden_find(&golden, last->id, last->output) == NULL) __builtin_trap();
    } else if (golden.entries != NULL || golden.count != 0) {
        __builtin_trap();
    }
    gg_golden_free(&golden);
    return 0;
}
