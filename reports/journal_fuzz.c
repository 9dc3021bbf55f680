/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer: a journal that a run with --resume finds. The run is the one that the first
 * line describes, when it can be read: so the lines after it are reached.
 * plant: reports/json_scan.c s/ || length == GG_SCAN_MAX_KEY// */
#define _GNU_SOURCE
#include <string.h>

#include "reports/consistent.h"
#include "reports/document.h"
#include "reports/file_fuzz.h"
#include "reports/json_scan.h"
#include "reports/report.h"

static void identify(const char *text, size_t size, gg_run_record *run)
{
    const char *end = memchr(text, '\n', size);
    size_t length = end == NULL ? size : (size_t)(end - text);
    gg_json_in in = {.file = "fuzz"};
    if (gg_scan_text("fuzz", 1, text, length) != GG_OK) return;
    cJSON *header = cJSON_ParseWithLength(text, length);
    if (header == NULL || gg_identity_read(&in, header, run) != GG_OK)
        *run = (gg_run_record){.count = 0};
    cJSON_Delete(header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static gg_run_record run;
    gg_journal *journal = NULL;
    char fault[GG_FAULT_SIZE];
    run = (gg_run_record){.count = 0};
    identify((const char *)data, size, &run);
    gg_status status = gg_journal_open(fuzz_file(data, size), true, &run, &journal);
    if (status == GG_OK && gg_run_fault(&run, fault)) __builtin_trap();
    if (status != GG_OK && (journal != NULL || run.count != 0)) __builtin_trap();
    if (run.count > 0 && gg_journal_append(journal, &run, &run.cases[0]) != GG_OK)
        __builtin_trap();
    gg_journal_close(journal, false);
    gg_run_free(&run);
    return 0;
}
