/* SPDX-License-Identifier: Apache-2.0
 * gradgate merge: the parts of one run become its report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/commands.h"
#include "reports/merge.h"
#include "reports/report.h"

/* Whoever leaves OUT out must not lose the first part: a report is replaced only by one
 * that has all of its cases. Both are in the order of the suite. */
static gg_status spares(const char *out, const gg_run_record *merged)
{
    gg_run_record old;
    int at = 0;
    if (access(out, F_OK) != 0 || gg_report_read(out, &old) != GG_OK) return GG_OK;
    gg_status status = GG_OK;
    for (int i = 0; status == GG_OK && i < old.count; i++) {
        while (at < merged->count && merged->cases[at].index < old.cases[i].index) at++;
        if (at == merged->count || strcmp(merged->cases[at].id, old.cases[i].id) != 0)
            status = gg_fail(GG_BAD_INPUT, "%s is a report whose case %s is not among those to "
                             "be merged: name a new FILE first, then the parts", out,
                             old.cases[i].id);
    }
    gg_run_free(&old);
    return status;
}

static int merge_parts(int argc, char **argv)
{
    if (gg_next_option(argc, argv, NULL) != -1) return gg_complain(GG_BAD_INPUT);
    int count = argc - optind - 1, read = 0;
    if (count < 1) {
        gg_fail(GG_BAD_INPUT, "merge takes OUT and at least one report: merge OUT IN...");
        return gg_complain(GG_BAD_INPUT);
    }
    const char *out = argv[optind];
    const char *const *paths = (const char *const *)&argv[optind + 1];
    gg_run_record merged = {.count = 0}, *parts = calloc((size_t)count, sizeof *parts);
    gg_status status = parts ? GG_OK
                             : gg_fail(GG_NO_MEMORY, "no memory for %d parts", count);
    for (; read < count && status == GG_OK; read++)
        status = gg_report_read(paths[read], &parts[read]);
    if (status == GG_OK) status = gg_merge(parts, paths, count, &merged);
    if (status == GG_OK) status = spares(out, &merged);
    if (status == GG_OK) status = gg_report_write(&merged, out);
    int code = gg_verdict_exit(gg_run_verdict(&merged));
    if (status == GG_OK)
        printf("%s: %d part%s, %d case%s: %s\n", out, count, GG_S(count), merged.count,
               GG_S(merged.count),
               gg_verdict_name(gg_run_verdict(&merged)));
    for (int i = 0; i < read; i++) gg_run_free(&parts[i]);
    free(parts);
    gg_run_free(&merged);
    return status == GG_OK ? code : gg_complain(status);
}

const gg_command gg_command_merge = {
    .name = "merge",
    .usage = "FILE REPORT...",
    .summary = "joins the parts of one run into FILE",
    .details =
        "The parts of --shard, or of --case, of one build. Mixed builds, missing and doubled\n"
        "parts are refused, and named. The outcome equals that of the whole run.\n",
    .run = merge_parts,
};
