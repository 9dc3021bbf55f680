/* SPDX-License-Identifier: Apache-2.0
 * JUnit XML, as Jenkins, GitLab and GitHub's reporters read it. JUnit has no third
 * state: "not verified" is an error, since a skipped test would show green. */
#include <string.h>

#include "reports/markup.h"
#include "reports/report.h"

static void attribute(FILE *out, const char *name, const char *text)
{
    fprintf(out, " %s=\"", name);
    gg_markup(out, text);
    fputc('"', out);
}

static void property(FILE *out, const char *name, const char *value)
{
    fputs("      <property", out);
    attribute(out, "name", name);
    attribute(out, "value", value);
    fputs("/>\n", out);
}

static void properties(const gg_run_record *run, FILE *out)
{
    fputs("    <properties>\n", out);
    property(out, "verdict", gg_verdict_name(gg_run_verdict(run)));
    property(out, "version", run->version);
    property(out, "commit", run->commit);
    property(out, "compiler", run->compiler);
    property(out, "features", run->features);
    property(out, "promise", run->promise);
    property(out, "limits", run->limits_note);
    property(out, "processor", run->place.host_cpu);
    if (run->place.gpu[0]) property(out, "gpu", run->place.gpu);
    if (run->place.driver[0]) property(out, "driver", run->place.driver);
    fputs("    </properties>\n", out);
}

/* All checks that did not pass, one a line. */
static void checks(const gg_case_record *record, FILE *out)
{
    for (int o = 0; o < record->output_count; o++)
        for (int c = 0; c < record->outputs[o].check_count; c++) {
            const gg_check *check = &record->outputs[o].checks[c];
            if (check->verdict == GG_PASSED) continue;
            fputc('\n', out);
            gg_markup_format(out, "%s %s %s: value %g, limit %g. %s",
                             record->outputs[o].name, check->name,
                             gg_verdict_name(check->verdict), check->value, check->limit,
                             check->note);
        }
}

/* The name of the first check that is as bad as the case. */
static const char *culprit(const gg_case_record *record)
{
    for (int o = 0; o < record->output_count; o++)
        for (int c = 0; c < record->outputs[o].check_count; c++)
            if (record->outputs[o].checks[c].verdict == record->verdict)
                return record->outputs[o].checks[c].name;
    return "case";
}

static void open_case(const gg_run_record *run, const char *family, const char *name,
                      double seconds, FILE *out)
{
    fputs("    <testcase classname=\"", out);
    gg_markup_format(out, "%s.%s.%s.%s", run->operator_name, run->kernel, run->device,
                     family);
    fputc('"', out);
    attribute(out, "name", name);
    fprintf(out, " time=\"%.3f\"", seconds);
}

static void put_case(const gg_run_record *run, const gg_case_record *record, FILE *out)
{
    open_case(run, record->family, record->id, record->seconds, out);
    if (record->verdict == GG_PASSED) {
        fputs("/>\n", out);
        return;
    }
    const char *tag = record->verdict == GG_FAILED ? "failure" : "error";
    fprintf(out, ">\n      <%s", tag);
    attribute(out, "type", record->verdict == GG_FAILED ? culprit(record) : "not verified");
    attribute(out, "message", record->reason[0] ? record->reason : "no reason given");
    fputc('>', out);
    gg_markup(out, record->reason);
    checks(record, out);
    fprintf(out, "</%s>\n    </testcase>\n", tag);
}

/* A run can be less than its cases: the cases that are not there show as one error. */
static bool incomplete(const gg_run_record *run)
{
    return gg_run_verdict(run) == GG_NOT_VERIFIED &&
           gg_run_count(run, GG_NOT_VERIFIED) == 0;
}

static void put_incomplete(const gg_run_record *run, FILE *out)
{
    open_case(run, "run", "every case was run", 0, out);
    fputs(">\n      <error type=\"not verified\" message=\"", out);
    gg_markup_format(out, "%d of %d cases of suite %s were not run",
                     run->suite_count - run->count, run->suite_count, run->suite);
    fputs("\"/>\n    </testcase>\n", out);
}

void gg_report_junit(const gg_run_record *run, FILE *out)
{
    bool missing = incomplete(run);
    int uncertain = gg_run_uncertified(run);
    int tests = run->count + missing, failures = gg_run_count(run, GG_FAILED);
    int errors = gg_run_count(run, GG_NOT_VERIFIED) + missing;
    char counts[160];
    snprintf(counts, sizeof counts,
             " tests=\"%d\" failures=\"%d\" errors=\"%d\" time=\"%.3f\"", tests, failures,
             errors, run->place.seconds);
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "
            "name=\"gradgate\"%s>\n",
            counts);
    fputs("  <testsuite name=\"", out);
    gg_markup_format(out, "%s %s %s", run->suite, run->kernel, run->device);
    if (uncertain > 0) fprintf(out, ", truth of %d not certified", uncertain);
    fprintf(out, "\"%s skipped=\"0\"", counts);
    attribute(out, "timestamp", run->place.started);
    fputs(">\n", out);
    properties(run, out);
    for (int i = 0; i < run->count; i++) put_case(run, &run->cases[i], out);
    if (missing) put_incomplete(run, out);
    fputs("  </testsuite>\n</testsuites>\n", out);
}
