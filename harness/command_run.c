/* SPDX-License-Identifier: Apache-2.0
 * gradgate run: measures a suite, writes the report, prints the table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/commands.h"
#include "harness/crew.h"
#include "harness/levels.h"
#include "harness/ranks.h"
#include "harness/serve.h"
#include "reports/view.h"

static const gg_option options[] = {
    GG_OPTION_SUITE,
    {"inputs", 'u', "FILE", "safetensors of your own as a case, instead of a suite; repeatable"},
    {"operator", 'p', "OPERATOR", "of --inputs"},
    GG_OPTION_KERNEL,
    {"device", 'd', "DEVICE", "host (default), cuda, cuda:I, cuda:I,J or cuda:all"},
    GG_OPTION_REPEATS,
    GG_OPTION_LEVELS,
    {"case", 'c', "GLOB", "only the cases whose id matches"},
    {"out", 'o', "FILE", "the report (default gradgate-report.json)"},
    {"resume", 'r', NULL, "go on where a killed run with the same --out stopped"},
    {"shard", 'i', "I/N", "only the I-th of N equal parts; 'gradgate merge' joins them"},
    {"ablate", 'a', "FEATURE", "feature for the paired ablation (default: the first); none"},
    {"certify", 'm', "N", "of the cases chosen, whose truth MPFR certifies (default all)"},
    {"roundings", 'R', "N", "of them, held to the roundings that the kernel states (default 12)"},
    GG_OPTION_GOLDEN,
    GG_OPTION_LIMITS_OF,
    GG_OPTION_THREADS,
    {"workers", 'w', "N", "on the host: N processes share the cases (default: this one alone)"},
    {"timeout", 'x', "SECONDS", "for one call (default: by what the case costs; a command 300)"},
    {"kernel-name", 'e', "NAME", "what the report calls the kernel"},
    {"mpi", 'M', NULL, "the ranks of an MPI job share the cases, one GPU each (make MPI=1)"},
    GG_OPTIONS_END};

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

/* N cases, or all. */
static gg_status parse_cases(const char *option, const char *text, int *to)
{
    *to = GG_CERTIFY_EVERY;
    if (strcmp(text, "all") == 0) return GG_OK;
    return gg_parse_int(option, text, 0, GG_CERTIFY_EVERY, to);
}

/* Room for as many files as there are arguments; kept until the end of the process. */
static gg_status add_inputs(int argc, const char *path, gg_run_options *o)
{
    static const char **files;
    const char **room = realloc(files, (size_t)argc * sizeof *files);
    if (room == NULL) return gg_fail(GG_NO_MEMORY, "no memory for the arguments");
    files = room;
    files[o->input_count++] = path;
    o->inputs = files;
    return GG_OK;
}

static gg_status check(const gg_run_options *o)
{
    if (o->input_count > 0 && o->suite != NULL)
        return gg_fail(GG_BAD_INPUT, "--inputs takes the place of --suite: give one of the two");
    if (o->input_count > 0 && o->operator_name == NULL)
        return gg_fail(GG_BAD_INPUT, "--inputs needs --operator: see 'gradgate list operators'");
    if (o->input_count == 0 && o->operator_name != NULL)
        return gg_fail(GG_BAD_INPUT, "--operator is of --inputs: a suite names its own");
    if (o->input_count == 0 && o->suite == NULL)
        return gg_fail(GG_BAD_INPUT, "run needs --suite: see 'gradgate list suites'");
    if (o->kernel == NULL)
        return gg_fail(GG_BAD_INPUT, "run needs --kernel: see 'gradgate list kernels'");
    return GG_OK;
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
        case 'u': GG_TRY(add_inputs(argc, optarg, o)); break;
        case 'p': o->operator_name = optarg; break;
        case 'e': o->kernel_name = optarg; break;
        case 'l': o->limits_of = optarg; break;
        case 'r': o->resume = true; break;
        case 'n': GG_TRY(gg_parse_int("repeats", optarg, 1, 1000000, &o->repeats)); break;
        case 't': GG_TRY(gg_parse_int("threads", optarg, 1, 256, &o->threads)); break;
        case 'm': GG_TRY(parse_cases("certify", optarg, &o->certify)); break;
        case 'R': GG_TRY(parse_cases("roundings", optarg, &o->roundings)); break;
        case 'w': GG_TRY(gg_parse_int("workers", optarg, 1, GG_MAX_WORKERS, &o->workers)); break;
        case 'M': o->mpi = true; break;
        case 'x': GG_TRY(gg_parse_int("timeout", optarg, 1, 1000000, &o->timeout)); break;
        case 'L': GG_TRY(gg_levels_parse(optarg, &o->levels)); break;
        case 'i': GG_TRY(parse_shard(optarg, o)); break;
        default: return GG_BAD_INPUT;
        }
    }
    if (optind < argc)
        return gg_fail(GG_BAD_INPUT, "'%s' is not an option of run: see 'gradgate help'",
                       argv[optind]);
    return check(o);
}

/* Appends " --option value" as one word of a shell, where there is room for all of it. */
static void add_given(char *given, size_t size, const char *option, const char *value)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./:,+@%=-";
    size_t used = strlen(given), start = used;
    if (value == NULL) return;
    bool quoted = value[strspn(value, plain)] != '\0' || value[0] == '\0';
    used += (size_t)snprintf(given + used, size - used, "%s--%s %s", used ? " " : "", option,
                             quoted ? "'" : "");
    for (const char *c = value; *c != '\0' && used + 8 < size; c++)
        used += (size_t)snprintf(given + used, size - used, quoted && *c == '\'' ? "'\\''" : "%c",
                                 *c);
    if (used + 8 >= size) given[start] = '\0';
    else if (quoted) snprintf(given + used, size - used, "'");
}

/* How to ask for a case of this run: names as they were typed, which a report does not hold. */
static gg_status print_table(const gg_run_options *o, const gg_run_record *run)
{
    char given[600] = "";
    const gg_view_context context = {.given = o->suite != NULL ? given : NULL};
    gg_view view;
    add_given(given, sizeof given, "suite", o->suite);
    add_given(given, sizeof given, "kernel", o->kernel);
    add_given(given, sizeof given, "device", run->device);
    add_given(given, sizeof given, "limits-of", o->limits_of);
    GG_TRY(gg_view_make(run, &context, &view));
    gg_status status = gg_view_table(&view, stdout, gg_terminal_width());
    gg_view_free(&view);
    return status;
}

static int run_and_print(const gg_run_options *o)
{
    gg_run_record run;
    gg_status status = gg_run(o, &run);
    if (status != GG_OK) {
        gg_run_free(&run);
        return gg_complain(status);
    }
    status = print_table(o, &run);
    printf("report: %s\n", o->out);
    int code = gg_verdict_exit(gg_run_verdict(&run));
    gg_run_free(&run);
    return status == GG_OK ? code : gg_complain(status);
}

/* The same as a rank of an MPI job. */
static int run_as_rank(const gg_run_options *o)
{
    gg_status status = gg_ranks_open();
    if (status != GG_OK) return gg_complain(status);
    if (gg_ranks_rank() > 0) return gg_ranks_serve(o);
    int code = run_and_print(o);
    gg_ranks_close(code);
    return code;
}

static int run_suite(int argc, char **argv)
{
    gg_run_options o = {.device = "host", .out = "gradgate-report.json",
                        .repeats = GG_DEFAULT_REPEATS, .certify = GG_CERTIFY_EVERY,
                        .roundings = -1,
                        .shard = 1, .shards = 1, .argc = argc, .argv = argv};
    char *order = gg_serve_take(&argc, &argv);
    gg_status status = parse(argc, argv, &o);
    if (status == GG_OK && order != NULL) status = gg_serve_apply(order, &o);
    if (status != GG_OK) return gg_complain(status);
    if (order != NULL) return gg_serve(&o);
    return o.mpi ? run_as_rank(&o) : run_and_print(&o);
}

const gg_command gg_command_run = {
    .name = "run",
    .usage = "--suite SUITE --kernel KERNEL",
    .summary = "measures a suite, writes the report, exits with the verdict",
    .options = options,
    .details =
        "Every case is measured against the truth and run several times on the same input.\n"
        "The table says what was found, the report holds the evidence. Each finished case is\n"
        "kept in FILE.journal until the report is there: after a crash or kill, --resume goes\n"
        "on. On a GPU, or with --workers, the cases run in a process of their own: a kernel\n"
        "that crashes, ends its process or hangs loses the case that it was running and no\n"
        "other. With several GPUs or workers, whoever is free gets the next case; at least six\n"
        "cases and every twentieth run on each of them and must give equal bits. Two runs of\n"
        "one build on one kind of device give equal reports, but for the fields of time and\n"
        "place.\n",
    .run = run_suite,
};
