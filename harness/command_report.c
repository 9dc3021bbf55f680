/* SPDX-License-Identifier: Apache-2.0
 * gradgate report and gradgate golden: other shapes of stored evidence. */
#include <stdio.h>
#include <unistd.h>

#include "harness/commands.h"
#include "harness/golden.h"
#include "harness/rejudge.h"
#include "reports/file_out.h"
#include "reports/report.h"

static gg_status one_path(int argc, char **argv, const char *what, const char **path)
{
    if (optind != argc - 1)
        return gg_fail(GG_BAD_INPUT, "%s takes one %s, not %d", argv[0], what, argc - optind);
    *path = argv[optind];
    return GG_OK;
}

static gg_status markdown_file(const void *run, FILE *file)
{
    gg_report_markdown(run, file);
    return GG_OK;
}

static gg_status junit_file(const void *run, FILE *file)
{
    gg_report_junit(run, file);
    return GG_OK;
}

static gg_status html_file(const void *run, FILE *file)
{
    return gg_report_html(run, file);
}

typedef struct report_options {
    const char *markdown, *junit, *html; /* files; NULL: not asked for */
    bool print_markdown, judge;
} report_options;

static gg_status parse_report(int argc, char **argv, report_options *o)
{
    static const struct option options[] = {{"markdown", optional_argument, NULL, 'm'},
                                            {"junit", required_argument, NULL, 'u'},
                                            {"html", required_argument, NULL, 'h'},
                                            {"judge", no_argument, NULL, 'j'},
                                            {NULL, 0, NULL, 0}};
    for (int c; (c = gg_next_option(argc, argv, options)) != -1;) {
        switch (c) {
        case 'm':
            o->markdown = optarg;
            o->print_markdown = optarg == NULL;
            break;
        case 'u': o->junit = optarg; break;
        case 'h': o->html = optarg; break;
        case 'j': o->judge = true; break;
        default: return GG_BAD_INPUT;
        }
    }
    return GG_OK;
}

/* The files that were asked for, each named on standard output once it is there. */
static gg_status write_files(const report_options *o, const gg_run_record *run,
                             int *written)
{
    const struct {
        const char *path, *what;
        gg_file_fill fill;
    } files[] = {{o->markdown, "Markdown", markdown_file}, {o->junit, "JUnit", junit_file},
                 {o->html, "HTML", html_file}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (files[i].path == NULL) continue;
        GG_TRY(gg_file_write(files[i].path, files[i].what, files[i].fill, run));
        printf("%s: %s, %s\n", files[i].path, files[i].what,
               gg_verdict_name(gg_run_verdict(run)));
        ++*written;
    }
    return GG_OK;
}

int gg_command_report(int argc, char **argv)
{
    gg_run_record run = {.count = 0};
    report_options o = {.judge = false};
    const char *path = NULL;
    int written = 0;
    gg_status status = parse_report(argc, argv, &o);
    if (status == GG_OK) status = one_path(argc, argv, "REPORT", &path);
    if (status == GG_OK) status = gg_report_read(path, &run);
    if (status == GG_OK && o.judge) {
        gg_rejudgement outcome;
        status = gg_rejudge(&run, &outcome);
        if (status == GG_OK) gg_rejudgement_print(&run, &outcome, stdout);
    }
    if (status == GG_OK) status = write_files(&o, &run, &written);
    if (status == GG_OK && o.print_markdown) gg_report_markdown(&run, stdout);
    else if (status == GG_OK && written == 0)
        gg_report_table(&run, stdout, gg_terminal_width());
    int code = gg_verdict_exit(gg_run_verdict(&run));
    gg_run_free(&run);
    return status == GG_OK ? code : gg_complain(status);
}

int gg_command_golden(int argc, char **argv)
{
    static const struct option options[] = {{"out", required_argument, NULL, 'o'},
                                            {NULL, 0, NULL, 0}};
    gg_run_record run = {.count = 0};
    const char *path = NULL, *out = NULL;
    for (int c; (c = gg_next_option(argc, argv, options)) != -1;) {
        if (c != 'o') return gg_complain(GG_BAD_INPUT);
        out = optarg;
    }
    gg_status status = one_path(argc, argv, "REPORT", &path);
    if (status == GG_OK && out == NULL)
        status = gg_fail(GG_BAD_INPUT, "golden needs --out FILE");
    if (status == GG_OK) status = gg_report_read(path, &run);
    if (status == GG_OK) status = gg_golden_write(&run, out);
    if (status != GG_OK) return gg_complain(status);
    printf("%s: digests of %d cases of %s\n", out, run.count, run.suite);
    gg_run_free(&run);
    return GG_EXIT_PASSED;
}
