/* SPDX-License-Identifier: Apache-2.0
 * A gate as JUnit XML: a testcase a rule. As in junit.c, "not verified" is an error. */
#include "reports/gate.h"
#include "reports/markup.h"

static void put_findings(const gg_gate *gate, int r, FILE *out)
{
    int shown = gate->rules[r].findings < GG_GATE_KEPT ? gate->rules[r].findings : GG_GATE_KEPT;
    gg_markup(out, gate->rules[r].text);
    for (int i = 0; i < shown; i++) {
        const gg_finding *f = &gate->findings[r][i];
        fputc('\n', out);
        gg_markup_format(out, "%s%s%s%s%s: %s", gg_verdict_name(f->verdict),
                         f->output[0] ? " " : "", f->output, f->family[0] ? " " : "", f->family,
                         f->text);
    }
}

static void put_rule(const gg_gate *gate, int r, FILE *out)
{
    const gg_rule_record *rule = &gate->rules[r];
    const char *tag = rule->verdict == GG_FAILED ? "failure" : "error";
    fputs("    <testcase classname=\"", out);
    gg_markup_format(out, "gate.%s.%s", gate->report->kernel, gate->report->device);
    fprintf(out, "\" name=\"%s\" time=\"0\"", gg_rule_name((gg_rule)r));
    if (rule->verdict == GG_PASSED) {
        fputs("/>\n", out);
        return;
    }
    fprintf(out, ">\n      <%s type=\"%s\" message=\"", tag, gg_verdict_name(rule->verdict));
    gg_markup(out, rule->text);
    fputs("\">", out);
    put_findings(gate, r, out);
    fprintf(out, "</%s>\n    </testcase>\n", tag);
}

gg_status gg_gate_junit(const void *context, FILE *out)
{
    const gg_gate *gate = context;
    int failures = 0, errors = 0;
    for (int r = 0; r < gate->rule_count; r++) {
        failures += gate->rules[r].verdict == GG_FAILED;
        errors += gate->rules[r].verdict == GG_NOT_VERIFIED;
    }
    char counts[96];
    snprintf(counts, sizeof counts, " tests=\"%d\" failures=\"%d\" errors=\"%d\" time=\"0\"",
             gate->rule_count, failures, errors);
    fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gradgate\"%s>\n"
            "  <testsuite name=\"", counts);
    gg_markup_format(out, "gate %s %s %s", gate->report->suite, gate->report->kernel,
                     gate->report->device);
    fprintf(out, "\"%s skipped=\"0\">\n", counts);
    for (int r = 0; r < gate->rule_count; r++) put_rule(gate, r, out);
    fputs("  </testsuite>\n</testsuites>\n", out);
    return GG_OK;
}
