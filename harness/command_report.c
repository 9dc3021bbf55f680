/* SPDX-License-Identifier: Apache-2.0
 * gradgate report and gradgate golden: other shapes of stored evidence. */
#include <stdio.h>
#include <unistd.h>

#include "harness/commands.h"
#include "harness/golden.h"
#include "reports/report.h"

static gg_status one_path(int argc, char **argv, const char *what, const char **path)
{
    if (optind != argc - 1)
        return gg_fail(GG_BAD_INPUT, "%s takes one %s, not %d", argv[0], what, argc - optind);
    *path = argv[optind];
    return GG_OK;
}

int gg_command_report(int argc, char **argv)
{
    static const struct option options[] = {{"markdown", no_argument, NULL, 'm'},
                                            {NULL, 0, NULL, 0}};
    gg_run_record run = {.count = 0};
    const char *path = NULL;
    bool markdown = false;
    for (int c; (c = gg_next_option(argc, argv, options)) != -1;) {
        if (c != 'm') return gg_complain(GG_BAD_INPUT);
        markdown = true;
    }
    gg_status status = one_path(argc, argv, "REPORT", &path);
    if (status == GG_OK) status = gg_report_read(path, &run);
    if (status != GG_OK) return gg_complain(status);
    if (markdown)
        gg_report_markdown(&run, stdout);
    else
        gg_report_table(&run, stdout, 0);
    int code = gg_verdict_exit(gg_run_verdict(&run));
    gg_run_free(&run);
    return code;
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
