/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer: a stored report, plain or gzip, and every form and judgement made of it. The
 * fuzzing build does not compare its evidence digest, which no mutation could survive.
 * plant: reports/json_scan.c s/ || length == GG_SCAN_MAX_KEY// */
#define _GNU_SOURCE
#include "harness/gate.h"
#include "harness/rejudge.h"
#include "reports/consistent.h"
#include "reports/file_fuzz.h"
#include "reports/report.h"

static void show(const gg_run_record *run)
{
    gg_pairing pairing = {.count = 0};
    gg_report_table(run, fuzz_sink(), 100);
    gg_report_markdown(run, fuzz_sink());
    gg_report_junit(run, fuzz_sink());
    gg_report_html(run, fuzz_sink());
    if (gg_pairing_make(run, run, &pairing) == GG_OK)
        gg_compare_table(run, run, &pairing, fuzz_sink(), 0);
    gg_pairing_free(&pairing);
}

static void judge(gg_run_record *run)
{
    static gg_gate gate;
    gg_rejudgement outcome;
    gate = (gg_gate){.verdict = GG_NOT_VERIFIED};
    if (gg_gate_make(run, run, true, NULL, &gate) == GG_OK) {
        gg_gate_table(&gate, fuzz_sink(), 100);
        gg_gate_json(&gate, fuzz_sink());
    }
    gg_gate_free(&gate);
    if (gg_rejudge(run, &outcome) == GG_OK)
        gg_rejudgement_print(run, &outcome, fuzz_sink());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static gg_run_record run;
    char fault[GG_FAULT_SIZE];
    gg_status status = gg_report_read(fuzz_file(data, size), &run);
    if (status == GG_OK) {
        if (gg_run_fault(&run, fault)) __builtin_trap();
        show(&run);
        judge(&run);
    } else if (run.cases != NULL || gg_message()[0] == '\0') {
        __builtin_trap();
    }
    gg_run_free(&run);
    return 0;
}
