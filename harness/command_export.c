/* SPDX-License-Identifier: Apache-2.0
 * gradgate export and gradgate check: cases as files, for machines that gradgate does not
 * reach. */
#include <stdio.h>

#include "harness/commands.h"
#include "harness/exchange.h"
#include "harness/run.h"
#include "reports/report.h"

static const gg_option export_table[] = {
    GG_OPTION_SUITE,
    {"case", 'c', "GLOB", "only the cases whose id matches"},
    GG_OPTION_DEVICE,
    GG_OPTION_THREADS,
    GG_OPTIONS_END};

static gg_status parse_export(int argc, char **argv, gg_export_options *o)
{
    for (int c; (c = gg_next_option(argc, argv, export_table)) != -1;) {
        switch (c) {
        case 's': o->suite = optarg; break;
        case 'c': o->glob = optarg; break;
        case 'd': o->device = optarg; break;
        case 't': GG_TRY(gg_parse_int("threads", optarg, 1, 256, &o->threads)); break;
        default: return GG_BAD_INPUT;
        }
    }
    if (argc - optind != 1)
        return gg_fail(GG_BAD_INPUT, "export takes one DIR, not %d: see 'gradgate help'",
                       argc - optind);
    o->folder = argv[optind];
    if (o->suite == NULL)
        return gg_fail(GG_BAD_INPUT, "export needs --suite: see 'gradgate list suites'");
    return GG_OK;
}

static int export_cases(int argc, char **argv)
{
    gg_export_options o = {.device = "host"};
    int count = 0;
    gg_status status = parse_export(argc, argv, &o);
    if (status == GG_OK) status = gg_exchange_export(&o, &count);
    if (status != GG_OK) return gg_complain(status);
    printf("%d case%s in %s: write CASE.out.safetensors beside each, then gradgate check %s\n",
           count, count == 1 ? "" : "s", o.folder, o.folder);
    return GG_EXIT_PASSED;
}

const gg_command gg_command_export = {
    .name = "export",
    .usage = "--suite SUITE DIR",
    .summary = "writes the inputs of cases to files, for a machine that is out of reach",
    .options = export_table,
    .details =
        "DIR gets CASE.safetensors for each case, with the tensors by the operator's names, and\n"
        "manifest.json, which says what is wanted and holds the digests of the inputs. Run the\n"
        "kernel where it lives, put the outputs into DIR as CASE.out.safetensors, those of\n"
        "further runs on the same inputs as CASE.out.1.safetensors and so on, and let\n"
        "'gradgate check DIR' judge them. 'gradgate help exchange' has the details.\n",
    .run = export_cases,
};

static const gg_option check_table[] = {
    {"kernel-name", 'e', "NAME", "what the report calls the kernel (default: files)"},
    GG_OPTION_LIMITS_OF,
    GG_OPTION_DEVICE,
    {"out", 'o', "FILE", "the report (default gradgate-report.json)"},
    {"resume", 'r', NULL, "go on where a killed check with the same --out stopped"},
    {"certify", 'm', "N", "of the cases chosen, whose truth MPFR certifies (default all)"},
    GG_OPTION_GOLDEN,
    GG_OPTION_THREADS,
    GG_OPTIONS_END};

static gg_status parse_check(int argc, char **argv, gg_run_options *o)
{
    for (int c; (c = gg_next_option(argc, argv, check_table)) != -1;) {
        switch (c) {
        case 'e': o->kernel_name = optarg; break;
        case 'l': o->limits_of = optarg; break;
        case 'd': o->device = optarg; break;
        case 'o': o->out = optarg; break;
        case 'g': o->golden = optarg; break;
        case 't': GG_TRY(gg_parse_int("threads", optarg, 1, 256, &o->threads)); break;
        case 'r': o->resume = true; break;
        case 'm':
            if (strcmp(optarg, "all") != 0)
                GG_TRY(gg_parse_int("certify", optarg, 0, GG_CERTIFY_EVERY, &o->certify));
            break;
        default: return GG_BAD_INPUT;
        }
    }
    if (argc - optind != 1)
        return gg_fail(GG_BAD_INPUT, "check takes one DIR, not %d: see 'gradgate help'",
                       argc - optind);
    o->exchange = argv[optind];
    return GG_OK;
}

static int check_outputs(int argc, char **argv)
{
    gg_run_options o = {.device = "host", .out = "gradgate-report.json",
                        .certify = GG_CERTIFY_EVERY, .shard = 1, .shards = 1};
    gg_run_record run = {.count = 0};
    gg_status status = parse_check(argc, argv, &o);
    if (status == GG_OK) status = gg_run(&o, &run);
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

const gg_command gg_command_check = {
    .name = "check",
    .usage = "DIR",
    .summary = "judges outputs that were made elsewhere from exported inputs",
    .options = check_table,
    .details =
        "DIR is what 'gradgate export' wrote, with CASE.out.safetensors beside the inputs. An\n"
        "output that is missing is not verified, one of a wrong type or shape failed; inputs\n"
        "other than the exported ones are refused. The kernel states no limits: borrow those of\n"
        "a built-in one with --limits-of, else only bits, NaN and infinities are judged. Without\n"
        "a second file (CASE.out.1.safetensors) determinism is not verified.\n",
    .run = check_outputs,
};
