/* SPDX-License-Identifier: Apache-2.0
 * gradgate calibrate: the evidence for the limits, from reports. */
#include <stdbool.h>
#include <stdio.h>

#include "harness/calibrate.h"
#include "harness/commands.h"
#include "reports/file_out.h"
#include "reports/report.h"

static const gg_option options[] = {
    {"families", 'f', NULL, "each family's largest figures too"},
    {"markdown", 'm', "FILE", "as Markdown, into FILE, all families included"},
    GG_OPTIONS_END};

static gg_status markdown_file(const void *calibration, FILE *file)
{
    return gg_calibration_print(calibration, true, true, file, 0);
}

static int calibrate(int argc, char **argv)
{
    gg_calibration c = {.limit_count = 0};
    const char *markdown = NULL;
    bool families = false;
    for (int o; (o = gg_next_option(argc, argv, options)) != -1;) {
        if (o == '?') return gg_complain(GG_BAD_INPUT);
        if (o == 'm') markdown = optarg;
        else families = true;
    }
    gg_status status = GG_OK;
    if (optind == argc)
        status = gg_fail(GG_BAD_INPUT, "calibrate takes reports of right kernels, and of planted "
                         "faults (run --kernel mutant:NAME)");
    for (int i = optind; i < argc && status == GG_OK; i++) {
        gg_run_record run = {.count = 0};
        status = gg_report_read(argv[i], &run);
        if (status == GG_OK) status = gg_calibration_add(&c, &run);
        gg_run_free(&run);
    }
    gg_calibration_share(&c);
    if (status == GG_OK)
        status = gg_calibration_print(&c, families, false, stdout, gg_terminal_width());
    if (status == GG_OK && markdown != NULL)
        status = gg_file_write(markdown, "calibration", markdown_file, &c);
    int code = gg_verdict_exit(gg_calibration_verdict(&c));
    gg_calibration_free(&c);
    return status == GG_OK ? code : gg_complain(status);
}

const gg_command gg_command_calibrate = {
    .name = "calibrate",
    .usage = "REPORT...",
    .summary = "shows the evidence for the limits, and the rate of false alarms",
    .options = options,
    .details =
        "Reports of right kernels give the largest honest figure of each output and family;\n"
        "reports of planted faults ('gradgate list mutants', run --kernel mutant:NAME) give the\n"
        "fault that each limit rejects by the least. Both are judged under this build's limits.\n"
        "Exits 1 when a right kernel failed, 2 when a limit rejects none of the faults given.\n",
    .run = calibrate,
};
