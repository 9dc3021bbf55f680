/* SPDX-License-Identifier: Apache-2.0
 * gradgate run: measures a suite, writes the report, prints the table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/commands.h"
#include "harness/run.h"
#include "reports/report.h"

static const struct option options[] = {
    {"suite", required_argument, NULL, 's'},   {"kernel", required_argument, NULL, 'k'},
    {"device", required_argument, NULL, 'd'},  {"repeats", required_argument, NULL, 'n'},
    {"case", required_argument, NULL, 'c'},    {"out", required_argument, NULL, 'o'},
    {"resume", no_argument, NULL, 'r'},        {"shard", required_argument, NULL, 'i'},
    {"threads", required_argument, NULL, 't'}, {"ablate", required_argument, NULL, 'a'},
    {"certify", required_argument, NULL, 'm'}, {"golden", required_argument, NULL, 'g'},
    {NULL, 0, NULL, 0}};

static gg_status parse_shard(const char *text, gg_run_options *o)
{
    char first[16] = "";
    const char *slash = strchr(text, '/');
    if (slash == NULL || (size_t)(slash - text) >= sizeof first)
        return gg_fail(GG_BAD_INPUT, "--shard takes I/N, such as 1/4, not '%s'", text);
    memcpy(first, text, (size_t)(slash - text));
    GG_TRY(gg_parse_int("shard", slash + 1, 1, 100000, &o->shards));
    return gg_parse_int("shard", first, 1, o->shards, &o->shard);
}

static gg_status parse(int argc, char **argv, gg_run_options *o)
{
    for (int c; (c = gg_next_option(argc, argv, options)) != -1;) {
        switch (c) {
        case 's': o->suite = optarg; break;
        case 'k': o->kernel = optarg; break;
        case 'd': o->device = optarg; break;
        case 'c': o->glob = optarg; break;
        case 'o': o->out = optarg; break;
        case 'a': o->ablate = optarg; break;
        case 'g': o->golden = optarg; break;
        case 'r': o->resume = true; break;
        case 'n': GG_TRY(gg_parse_int("repeats", optarg, 1, 1000000, &o->repeats)); break;
        case 't': GG_TRY(gg_parse_int("threads", optarg, 1, 256, &o->threads)); break;
        case 'm': GG_TRY(gg_parse_int("certify", optarg, 0, 1000000, &o->certify)); break;
        case 'i': GG_TRY(parse_shard(optarg, o)); break;
        default: return GG_BAD_INPUT;
        }
    }
    if (optind < argc)
        return gg_fail(GG_BAD_INPUT, "'%s' is not an option of run: see 'gradgate help'",
                       argv[optind]);
    if (o->suite == NULL)
        return gg_fail(GG_BAD_INPUT, "run needs --suite: see 'gradgate list suites'");
    if (o->kernel == NULL)
        return gg_fail(GG_BAD_INPUT, "run needs --kernel: see 'gradgate list kernels'");
    return GG_OK;
}

int gg_command_run(int argc, char **argv)
{
    gg_run_options o = {.device = "host", .out = "gradgate-report.json", .repeats = 5,
                        .certify = 60, .shard = 1, .shards = 1};
    gg_run_record run;
    gg_status status = parse(argc, argv, &o);
    if (status != GG_OK) return gg_complain(status);
    status = gg_run(&o, &run);
    if (status != GG_OK) {
        gg_run_free(&run);
        return gg_complain(status);
    }
    gg_report_table(&run, stdout, gg_terminal_width());
    printf("report: %s\n", o.out);
    int code = gg_verdict_exit(gg_run_verdict(&run));
    gg_run_free(&run);
    return code;
}
