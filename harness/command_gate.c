/* SPDX-License-Identifier: Apache-2.0
 * gradgate gate and gradgate compare: two reports against each other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/commands.h"
#include "harness/gate_speed.h"
#include "harness/source.h"
#include "reports/annotations.h"
#include "reports/file_out.h"
#include "reports/report.h"

static gg_status markdown_file(const void *context, FILE *file)
{
    return gg_gate_markdown(context, file);
}

typedef struct gate_options {
    const char *report, *baseline, *json, *markdown, *junit, *commit, *source;
    const char *bench, *bench_baseline, *against;
    bool exact, annotations;
} gate_options;

static const gg_option gate_table[] = {
    {"baseline", 'b', "REPORT", "the report to be kept up with"},
    {"bits", 'x', "exact", "a changed bit fails (without: it is announced)"},
    {"bench", 's', "FILE", "of the report's build ('gradgate bench --out'): judge speed, memory"},
    {"bench-baseline", 'S', "FILE", "of the baseline's build"},
    {"against", 'g', "KERNEL", "speed relative to this kernel (default: all others timed)"},
    {"commit", 'c', "COMMIT", "the report must be of this commit"},
    {"json", 'j', "FILE", "the outcome for programs"},
    {"markdown", 'm', "FILE", "the outcome for people"},
    {"junit", 'u', "FILE", "the outcome as JUnit XML, a testcase a rule"},
    GG_OPTION_ANNOTATIONS,
    GG_OPTION_SOURCE,
    GG_OPTIONS_END};

static gg_status parse_gate(int argc, char **argv, gate_options *o)
{
    for (int c; (c = gg_next_option(argc, argv, gate_table)) != -1;) {
        switch (c) {
        case 'b': o->baseline = optarg; break;
        case 'c': o->commit = optarg; break;
        case 's': o->bench = optarg; break;
        case 'S': o->bench_baseline = optarg; break;
        case 'g': o->against = optarg; break;
        case 'j': o->json = optarg; break;
        case 'm': o->markdown = optarg; break;
        case 'u': o->junit = optarg; break;
        case 'f': o->source = optarg; break;
        case 'a': GG_TRY(gg_parse_annotations(optarg, &o->annotations)); break;
        case 'x':
            if (strcmp(optarg, "exact") != 0)
                return gg_fail(GG_BAD_INPUT, "--bits takes exact, not '%s'", optarg);
            o->exact = true;
            break;
        default: return GG_BAD_INPUT;
        }
    }
    if (optind != argc - 1)
        return gg_fail(GG_BAD_INPUT, "gate takes one REPORT, not %d", argc - optind);
    o->report = argv[optind];
    GG_TRY(gg_distinct_files((const char *const[]){o->json, o->markdown, o->junit}, 3));
    if (o->baseline == NULL) return gg_fail(GG_BAD_INPUT, "gate needs --baseline REPORT");
    if ((o->bench == NULL) != (o->bench_baseline == NULL))
        return gg_fail(GG_BAD_INPUT, "--bench and --bench-baseline go together: name both files");
    if (o->against != NULL && o->bench == NULL)
        return gg_fail(GG_BAD_INPUT, "--against needs --bench and --bench-baseline");
    return GG_OK;
}

/* The rules of speed and memory, where benches were given. */
static gg_status judge_benches(const gate_options *o, gg_gate *gate)
{
    gg_timings was = {.count = 0}, is = {.count = 0};
    if (o->bench == NULL) return GG_OK;
    gg_status status = gg_timings_read(o->bench_baseline, &was);
    if (status == GG_OK) status = gg_timings_read(o->bench, &is);
    if (status == GG_OK && strcmp(is.operator_name, gate->report->operator_name) != 0)
        status = gg_fail(GG_BAD_INPUT, "%s times kernels of %s, the report is of %s", o->bench,
                         is.operator_name, gate->report->operator_name);
    if (status == GG_OK) gg_gate_speed(gate, &was, &is, o->against);
    gg_timings_free(&was);
    gg_timings_free(&is);
    return status;
}

static gg_status write_gate(const gate_options *o, const gg_gate *gate)
{
    const struct {
        const char *path;
        gg_file_fill fill;
    } files[] = {{o->json, gg_gate_json}, {o->markdown, markdown_file}, {o->junit, gg_gate_junit}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (files[i].path != NULL)
            GG_TRY(gg_file_write(files[i].path, "gate", files[i].fill, gate));
    return GG_OK;
}

static int judge_report(int argc, char **argv)
{
    gate_options o = {.exact = false};
    gg_run_record report = {.count = 0}, baseline = {.count = 0};
    gg_gate *gate = calloc(1, sizeof *gate);
    gg_status status = parse_gate(argc, argv, &o);
    if (gate == NULL && status == GG_OK)
        status = gg_fail(GG_NO_MEMORY, "no memory for the gate");
    if (status == GG_OK) status = gg_report_read(o.report, &report);
    if (status == GG_OK) status = gg_report_read(o.baseline, &baseline);
    if (status == GG_OK) status = gg_gate_make(&baseline, &report, o.exact, o.commit, gate);
    if (status == GG_OK) status = judge_benches(&o, gate);
    int code = GG_EXIT_NOT_VERIFIED;
    char source[256];
    if (status == GG_OK) {
        status = gg_gate_table(gate, stdout, gg_terminal_width());
        code = gg_verdict_exit(gate->verdict);
        gg_kernel_source(&report, source);
        if (o.annotations)
            gg_gate_annotations(gate, o.source != NULL ? o.source : source, stdout);
        if (status == GG_OK) status = write_gate(&o, gate);
    }
    if (gate != NULL) gg_gate_free(gate);
    free(gate);
    gg_run_free(&report);
    gg_run_free(&baseline);
    return status == GG_OK ? code : gg_complain(status);
}

const gg_command gg_command_gate = {
    .name = "gate",
    .usage = "REPORT --baseline REPORT",
    .summary = "judges a report against a baseline and against its own limits",
    .options = gate_table,
    .details =
        "Paired by case: a loss of RMSE of 5 % in an output and family is caught and noise is\n"
        "not; determinism, compensation and class of precision must be kept; changed bits are\n"
        "announced. A report of a stale or unclean build, or one that lacks cases of the\n"
        "baseline, is not verified.\n"
        "\n"
        "With benches of the two builds, speed is judged relative to the other kernels of the\n"
        "same run: 5 % slower fails, and so do 5 % more memory and a speed-up that was bought\n"
        "with precision.\n",
    .run = judge_report,
};

static const gg_option compare_table[] = {{"markdown", 'm', NULL, "as Markdown"},
                                          GG_OPTIONS_END};

static int put_side_by_side(int argc, char **argv)
{
    gg_run_record run[2] = {{.count = 0}, {.count = 0}};
    gg_pairing pairing = {.count = 0};
    bool markdown = false;
    for (int c; (c = gg_next_option(argc, argv, compare_table)) != -1;) {
        if (c != 'm') return gg_complain(GG_BAD_INPUT);
        markdown = true;
    }
    gg_status status = GG_OK;
    if (argc - optind != 2)
        status = gg_fail(GG_BAD_INPUT, "compare takes two reports, not %d", argc - optind);
    for (int i = 0; i < 2 && status == GG_OK; i++)
        status = gg_report_read(argv[optind + i], &run[i]);
    if (status == GG_OK) status = gg_pairing_make(&run[0], &run[1], &pairing);
    int code = pairing.count > 0 ? GG_EXIT_PASSED : GG_EXIT_NOT_VERIFIED;
    if (status == GG_OK && markdown)
        status = gg_compare_markdown(&run[0], &run[1], &pairing, stdout);
    else if (status == GG_OK)
        status = gg_compare_table(&run[0], &run[1], &pairing, stdout, gg_terminal_width());
    gg_pairing_free(&pairing);
    for (int i = 0; i < 2; i++) gg_run_free(&run[i]);
    return status == GG_OK ? code : gg_complain(status);
}

const gg_command gg_command_compare = {
    .name = "compare",
    .usage = "REPORT REPORT",
    .summary = "shows two reports side by side, pair by pair",
    .options = compare_table,
    .run = put_side_by_side,
};
