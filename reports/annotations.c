/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/annotations.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

/* A workflow command is one line; its properties end at ',' and ':'. Controls would
 * command the terminal. */
static void escape(const char *text, bool property, FILE *out)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '%' || (property && (c == ':' || c == ','))) fprintf(out, "%%%02X", c);
        else fputc(c < ' ' || c == 0x7f ? '?' : c, out);
    }
}

typedef struct annotator {
    FILE *out;
    const char *source;
    gg_verdict whole; /* what the lines explain */
} annotator;

static void line(const annotator *a, gg_verdict verdict, const char *title,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

static void line(const annotator *a, gg_verdict verdict, const char *title,
                 const char *format, ...)
{
    char text[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fputs(verdict == a->whole ? "::error " : "::warning ", a->out);
    if (a->source[0]) {
        fputs("file=", a->out);
        escape(a->source, true, a->out);
        fputc(',', a->out);
    }
    fputs("title=", a->out);
    escape(title, true, a->out);
    fputs("::", a->out);
    escape(text, false, a->out);
    fputc('\n', a->out);
}

void gg_report_annotations(const gg_run_record *run, const char *source, FILE *out)
{
    annotator a = {out, source, gg_run_verdict(run)};
    char title[160];
    if (a.whole == GG_PASSED) return;
    snprintf(title, sizeof title, "gradgate: %s on %s: %s", run->kernel, run->device,
             gg_verdict_name(a.whole));
    int shown = 0, left = 0;
    for (int pass = 0; pass < 2; pass++) /* failed cases first */
        for (int i = 0; i < run->count; i++) {
            const gg_case_record *c = &run->cases[i];
            if (c->verdict != (pass ? GG_NOT_VERIFIED : GG_FAILED)) continue;
            if (shown + 1 < GG_ANNOTATIONS) {
                line(&a, c->verdict, title, "%s %s: %s", run->suite, c->id, c->reason);
                shown++;
            } else left++;
        }
    if (left > 0)
        line(&a, a.whole, title, "%d more case%s of %s did not pass", left, GG_S(left),
             run->suite);
    if (shown == 0)
        line(&a, a.whole, title, "%d of %d cases of suite %s were run", run->count,
             run->suite_count, run->suite);
}

void gg_gate_annotations(const gg_gate *gate, const char *source, FILE *out)
{
    annotator a = {out, source, gate->verdict};
    for (int r = 0; r < gate->rule_count; r++) {
        const gg_rule_record *rule = &gate->rules[r];
        const gg_finding *first = &gate->findings[r][0];
        char title[160];
        if (rule->verdict == GG_PASSED) continue;
        snprintf(title, sizeof title, "gradgate gate: %s %s: %s on %s", gg_rule_name((gg_rule)r),
                 gg_verdict_name(rule->verdict), gate->report->kernel, gate->report->device);
        if (rule->findings > 0)
            line(&a, rule->verdict, title, "%s; %s%s%s%s%s", rule->text, first->output,
                 first->output[0] ? " " : "", first->family, first->family[0] ? ": " : "",
                 first->text);
        else line(&a, rule->verdict, title, "%s", rule->text);
    }
}
