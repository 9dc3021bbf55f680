/* SPDX-License-Identifier: Apache-2.0
 * gradgate budget: which share of each output's error comes from which rounding. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/budget.h"
#include "harness/commands.h"
#include "reports/file_out.h"

static const gg_option options[] = {
    GG_OPTION_SUITE,
    GG_OPTION_KERNEL,
    GG_OPTION_DEVICE,
    {"case", 'c', "GLOB", "only the cases whose id matches"},
    {"points", 'p', "P,P...", "rounding points to account with (default: the kernel's own)"},
    {"ablate", 'a', "FEATURE", "also with this feature switched (default: the first); none"},
    {"out", 'o', "FILE", "the outcome as JSON"},
    {"markdown", 'm', "FILE", "the outcome as Markdown"},
    {"html", 'h', "FILE", "the outcome as a page with bars"},
    GG_OPTION_THREADS,
    GG_OPTIONS_END};

typedef struct request {
    gg_budget_options budget;
    const char *out, *markdown, *html;
} request;

static gg_status parse(int argc, char **argv, request *r)
{
    gg_budget_options *o = &r->budget;
    for (int c; (c = gg_next_option(argc, argv, options)) != -1;) {
        switch (c) {
        case 's': o->suite = optarg; break;
        case 'k': o->kernel = optarg; break;
        case 'd': o->device = optarg; break;
        case 'c': o->glob = optarg; break;
        case 'p': o->points = optarg; break;
        case 'a': o->ablate = optarg; break;
        case 'o': r->out = optarg; break;
        case 'm': r->markdown = optarg; break;
        case 'h': r->html = optarg; break;
        case 't': GG_TRY(gg_parse_int("threads", optarg, 1, 256, &o->threads)); break;
        default: return GG_BAD_INPUT;
        }
    }
    if (optind < argc)
        return gg_fail(GG_BAD_INPUT, "'%s' is not an option of budget: see 'gradgate help'",
                       argv[optind]);
    if (o->suite == NULL)
        return gg_fail(GG_BAD_INPUT, "budget needs --suite: see 'gradgate list suites'");
    if (o->kernel == NULL)
        return gg_fail(GG_BAD_INPUT, "budget needs --kernel: see 'gradgate list kernels'");
    return GG_OK;
}

/* Found now, not after hours of measuring. */
static gg_status check_place(const char *path)
{
    struct stat there;
    char folder[4096];
    if (path == NULL) return GG_OK;
    if (stat(path, &there) == 0 && S_ISDIR(there.st_mode))
        return gg_fail(GG_BAD_INPUT, "'%s' is a folder: name a file", path);
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    if (path[0] != '\0' && access(folder, W_OK) == 0) return GG_OK;
    return gg_fail(GG_IO, "cannot write '%s': name a file in a folder that can be written",
                   path);
}

static gg_status write_files(const request *r, const gg_budget *budget)
{
    const struct {
        const char *path;
        gg_file_fill fill;
    } files[] = {{r->out, gg_budget_json},
                 {r->markdown, gg_budget_markdown},
                 {r->html, gg_budget_html}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (files[i].path != NULL)
            GG_TRY(gg_file_write(files[i].path, "budget", files[i].fill, budget));
    return GG_OK;
}

static int make_budget(int argc, char **argv)
{
    request r = {.budget = {.device = "host"}};
    gg_budget budget = {.case_count = 0};
    gg_status status = parse(argc, argv, &r);
    const char *const files[] = {r.out, r.markdown, r.html};
    if (status == GG_OK) status = gg_distinct_files(files, 3);
    if (status == GG_OK) status = check_place(r.out);
    if (status == GG_OK) status = check_place(r.markdown);
    if (status == GG_OK) status = check_place(r.html);
    if (status == GG_OK) status = gg_budget_run(&r.budget, NULL, &budget);
    int code = GG_EXIT_NOT_VERIFIED;
    if (status == GG_OK) {
        gg_budget_table(&budget, stdout, gg_terminal_width());
        code = gg_verdict_exit(gg_budget_verdict(&budget));
        status = write_files(&r, &budget);
    }
    gg_budget_free(&budget);
    return status == GG_OK ? code : gg_complain(status);
}

const gg_command gg_command_budget = {
    .name = "budget",
    .usage = "--suite SUITE --kernel KERNEL",
    .summary = "says which share of each error comes from which rounding",
    .options = options,
    .details =
        "Each rounding point ('gradgate list roundings') is switched on alone in an evaluation\n"
        "that is exact otherwise, then all that the kernel states. Per family and output: the\n"
        "shares of the mean square error; sum, what independent points would add up to over all\n"
        "of them together (1: independent); ratio, the kernel's RMSE over that of all points;\n"
        "other, the share of the kernel's mean square error that does not coincide with theirs,\n"
        "element by element. A ratio outside 0.9 to 1.1 is not explained: the kernel has an error\n"
        "source that it does not state, or lacks one that it states. --points tries another\n"
        "account.\n",
    .run = make_budget,
};
