/* SPDX-License-Identifier: Apache-2.0
 * gradgate bench: times kernels, verifies what was timed, prints and writes the report. */
#include <stdio.h>

#include "harness/bench.h"
#include "harness/commands.h"
#include "reports/file_out.h"

static const gg_option options[] = {
    GG_OPTION_SUITE,
    {"kernel", 'k', "KERNEL", "kernels, separated by commas, or all"},
    GG_OPTION_DEVICE,
    {"case", 'c', "GLOB", "only the cases whose id matches"},
    {"reps", 'n', "N", "timed runs a direction (default 15)"},
    {"peers", 'p', "FILE", "lines of a script in scripts/peers/: other people's kernels"},
    {"out", 'o', "FILE", "the outcome as JSON"},
    {"markdown", 'm', "FILE", "the outcome as Markdown"},
    {"html", 'h', "FILE", "the outcome as one HTML page with charts"},
    GG_OPTION_THREADS,
    GG_OPTIONS_END};

static gg_status parse(int argc, char **argv, gg_bench_options *o)
{
    for (int c; (c = gg_next_option(argc, argv, options)) != -1;) {
        switch (c) {
        case 's': o->suite = optarg; break;
        case 'k': o->kernels = optarg; break;
        case 'd': o->device = optarg; break;
        case 'c': o->glob = optarg; break;
        case 'o': o->out = optarg; break;
        case 'm': o->markdown = optarg; break;
        case 'h': o->html = optarg; break;
        case 'p': o->peers = optarg; break;
        case 'n': GG_TRY(gg_parse_int("reps", optarg, 1, GG_BENCH_REPS, &o->reps)); break;
        case 't': GG_TRY(gg_parse_int("threads", optarg, 1, 256, &o->threads)); break;
        default: return GG_BAD_INPUT;
        }
    }
    if (optind < argc)
        return gg_fail(GG_BAD_INPUT, "'%s' is not an option of bench: see 'gradgate help'",
                       argv[optind]);
    GG_TRY(gg_distinct_files((const char *const[]){o->out, o->markdown, o->html}, 3));
    if (o->suite == NULL)
        return gg_fail(GG_BAD_INPUT, "bench needs --suite: see 'gradgate list suites'");
    if (o->kernels == NULL)
        return gg_fail(GG_BAD_INPUT, "bench needs --kernel: see 'gradgate list kernels'");
    return GG_OK;
}

static int time_kernels(int argc, char **argv)
{
    gg_bench_options o = {.device = "host", .reps = 15};
    gg_bench bench = {.case_count = 0};
    gg_status status = parse(argc, argv, &o);
    const struct {
        const char *path;
        gg_file_fill fill;
    } files[] = {{o.out, gg_bench_json}, {o.markdown, gg_bench_markdown}, {o.html, gg_bench_html}};
    for (int i = 0; i < 3 && status == GG_OK; i++)
        if (files[i].path != NULL) status = gg_file_check(files[i].path, "bench");
    if (status == GG_OK) status = gg_bench_run(&o, NULL, &bench);
    int code = GG_EXIT_NOT_VERIFIED;
    if (status == GG_OK) {
        status = gg_bench_table(&bench, stdout, gg_terminal_width());
        code = gg_verdict_exit(gg_bench_verdict(&bench));
        for (int i = 0; i < 3 && status == GG_OK; i++)
            if (files[i].path != NULL)
                status = gg_file_write(files[i].path, "bench", files[i].fill, &bench);
    }
    gg_bench_free(&bench);
    return status == GG_OK ? code : gg_complain(status);
}

const gg_command gg_command_bench = {
    .name = "bench",
    .usage = "--suite SUITE --kernel KERNEL[,KERNEL]|all",
    .summary = "times kernels, and judges what was timed",
    .options = options,
    .details =
        "CUDA events (a clock on the host), median of N after a warm-up, inputs that rotate\n"
        "beyond twice the last cache. The outputs of the last timed run are judged: a fast\n"
        "wrong kernel is printed as wrong. Ranks are within a class of precision.\n",
    .run = time_kernels,
};
