/* SPDX-License-Identifier: Apache-2.0
 * gradgate bench: times kernels, verifies what was timed, prints and writes the report. */
#include <stdio.h>

#include "harness/bench.h"
#include "harness/commands.h"
#include "reports/file_out.h"

static const struct option options[] = {
    {"suite", required_argument, NULL, 's'},    {"kernel", required_argument, NULL, 'k'},
    {"device", required_argument, NULL, 'd'},   {"case", required_argument, NULL, 'c'},
    {"reps", required_argument, NULL, 'n'},     {"out", required_argument, NULL, 'o'},
    {"markdown", required_argument, NULL, 'm'}, {"peers", required_argument, NULL, 'p'},
    {"threads", required_argument, NULL, 't'},  {NULL, 0, NULL, 0}};

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
        case 'p': o->peers = optarg; break;
        case 'n': GG_TRY(gg_parse_int("reps", optarg, 1, GG_BENCH_REPS, &o->reps)); break;
        case 't': GG_TRY(gg_parse_int("threads", optarg, 1, 256, &o->threads)); break;
        default: return GG_BAD_INPUT;
        }
    }
    if (optind < argc)
        return gg_fail(GG_BAD_INPUT, "'%s' is not an option of bench: see 'gradgate help'",
                       argv[optind]);
    if (o->suite == NULL)
        return gg_fail(GG_BAD_INPUT, "bench needs --suite: see 'gradgate list suites'");
    if (o->kernels == NULL)
        return gg_fail(GG_BAD_INPUT, "bench needs --kernel: see 'gradgate list kernels'");
    return GG_OK;
}

int gg_command_bench(int argc, char **argv)
{
    gg_bench_options o = {.device = "host", .reps = 15};
    gg_bench bench = {.case_count = 0};
    gg_status status = parse(argc, argv, &o);
    if (status == GG_OK) status = gg_bench_run(&o, NULL, &bench);
    int code = GG_EXIT_NOT_VERIFIED;
    if (status == GG_OK) {
        gg_bench_table(&bench, stdout, gg_terminal_width());
        code = gg_verdict_exit(gg_bench_verdict(&bench));
        if (o.out != NULL) status = gg_file_write(o.out, "bench", gg_bench_json, &bench);
        if (status == GG_OK && o.markdown != NULL)
            status = gg_file_write(o.markdown, "bench", gg_bench_markdown, &bench);
    }
    gg_bench_free(&bench);
    return status == GG_OK ? code : gg_complain(status);
}
