/* SPDX-License-Identifier: Apache-2.0
 * The report as one HTML file: verdict first, no scripts, no network (a policy in the
 * head forbids both), all text of the record escaped. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/budget.h"
#include "reports/claims.h"
#include "reports/html_page.h"
#include "reports/html_style.h"
#include "reports/report.h"

enum { OPEN_FAILURES = 8, MOST_FAILURES = 500 };

const char *gg_html_class(gg_verdict verdict)
{
    return verdict == GG_PASSED ? "passed" : verdict == GG_FAILED ? "failed" : "open";
}

const char *gg_html_figure(double value, char text[32])
{
    snprintf(text, 32, isnan(value) ? "undefined" : "%.3g", value);
    return text;
}

void gg_html_begin(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" "
          "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, "
          "initial-scale=1\">\n<title>",
          out);
    gg_markup(out, title);
    fprintf(out, "</title>\n<style>\n%s%s</style>\n</head>\n<body>\n<main>\n",
            gg_html_style, gg_html_style_more);
}

void gg_html_end(FILE *out) { fputs("</main>\n</body>\n</html>\n", out); }

#define FIGURE(value) gg_html_figure(value, (char[32]){0})

static void head(const gg_page *page)
{
    const gg_run_record *run = page->run;
    char title[400];
    snprintf(title, sizeof title, "%s: %s on %s, %s", gg_verdict_name(gg_run_verdict(run)),
             run->kernel, run->device, run->suite);
    gg_html_begin(page->out, title);
}

void gg_html_verdict(FILE *out, gg_verdict verdict)
{
    fprintf(out, "<header class=\"hero %s\">\n<h1>%s</h1>\n", gg_html_class(verdict),
            verdict == GG_PASSED   ? "\xe2\x9c\x93 passed"
            : verdict == GG_FAILED ? "\xe2\x9c\x97 failed"
                                   : "? not verified");
}

static void hero(const gg_page *page)
{
    const gg_run_record *run = page->run;
    int open = gg_run_count(run, GG_NOT_VERIFIED), absent = run->suite_count - run->count;
    int uncertain = gg_run_uncertified(run);
    gg_html_verdict(page->out, gg_run_verdict(run));
    fputs("<p><b>", page->out);
    gg_markup(page->out, run->kernel);
    fputs("</b> on <b>", page->out);
    gg_markup(page->out, run->place.gpu[0] ? run->place.gpu : run->device);
    fputs("</b> \xc2\xb7 suite <b>", page->out);
    gg_markup(page->out, run->suite);
    fprintf(page->out, "</b></p>\n<p>%d of %d cases passed, %d failed, %d not verified",
            gg_run_count(run, GG_PASSED), run->count, gg_run_count(run, GG_FAILED), open);
    if (absent > 0)
        fprintf(page->out, "; %d more of the suite were %s", absent,
                run->selection[0] || run->shards > 1 ? "not asked for" : "not run");
    if (uncertain > 0) fprintf(page->out, "; truth of %d not certified by MPFR", uncertain);
    fputs("</p>\n<p class=\"soft\">", page->out);
    gg_markup_format(page->out, "%s \xc2\xb7 %s%s commit %s", run->operator_name,
                     run->features, run->features[0] ? " \xc2\xb7" : "", run->commit);
    if (run->shards > 1)
        gg_markup_format(page->out, " \xc2\xb7 shard %d of %d", run->shard, run->shards);
    if (run->selection[0])
        gg_markup_format(page->out, " \xc2\xb7 cases %s", run->selection);
    gg_markup_format(page->out, " \xc2\xb7 %s", run->place.started);
    fputs("</p>\n</header>\n", page->out);
}

void gg_html_tile(FILE *out, const char *title, const char *class, const char *answer,
                  const char *basis)
{
    fprintf(out, "<section class=\"card\"><h3>%s", title);
    if (class != NULL)
        fprintf(out, " <span class=\"tag %s\">%s</span>", class,
                strcmp(class, "passed") == 0   ? "yes"
                : strcmp(class, "failed") == 0 ? "no"
                : strcmp(class, "open") == 0   ? "not verified"
                                               : "not asked");
    fputs("</h3><b>", out);
    gg_markup(out, answer);
    fputs("</b><p class=\"soft\">", out);
    gg_markup(out, basis);
    fputs("</p></section>\n", out);
}

static void tile(const gg_page *page, const char *title, const char *class,
                 const char *answer, const char *basis)
{
    gg_html_tile(page->out, title, class, answer, basis);
}

/* Cases that fail the repeat check, or else any other check. */
static int cases_failing(const gg_run_record *run, bool repeat)
{
    int count = 0;
    for (int i = 0; i < run->count; i++) {
        bool bad = false;
        for (int o = 0; o < run->cases[i].output_count; o++)
            for (int c = 0; c < run->cases[i].outputs[o].check_count; c++) {
                const gg_check *check = &run->cases[i].outputs[o].checks[c];
                if ((strcmp(check->name, "repeat") == 0) == repeat)
                    bad = bad || check->verdict == GG_FAILED;
            }
        count += bad;
    }
    return count;
}

static void right_tile(const gg_page *page)
{
    const gg_run_record *run = page->run;
    int wrong = cases_failing(run, false), measured = 0;
    for (int i = 0; i < run->count; i++) measured += run->cases[i].output_count > 0;
    double worst = 0;
    const char *id = "";
    for (int i = 0; i < page->summary->row_count; i++)
        if (!(page->summary->rows[i].gauge_max <= worst)) {
            worst = page->summary->rows[i].gauge_max;
            id = run->cases[page->summary->rows[i].gauge_max_case].id;
        }
    char answer[120], basis[200];
    snprintf(answer, sizeof answer, "%d of %d cases passed these checks", measured - wrong,
             measured);
    snprintf(basis, sizeof basis, "largest error: %.3g times its allowance%s%s", worst,
             id[0] ? ", in " : "", id);
    tile(page, "Right?",
         wrong                                ? "failed"
         : measured == run->count && measured ? "passed"
                                              : "open",
         answer, basis);
}

/* The worst level of determinism, in words; NULL when none was asked for. */
static const gg_level_row *worst_level(const gg_summary *s)
{
    const gg_level_row *worst = NULL;
    for (int i = 0; i < s->level_count; i++) {
        const gg_level_row *row = &s->levels[i];
        if (!worst || row->failed > worst->failed ||
            (worst->failed == 0 && row->failed == 0 && row->unverified > worst->unverified))
            worst = row;
    }
    return worst;
}

static void bits_tile(const gg_page *page)
{
    int repeated = 0, identical = 0, runs = 0;
    for (int i = 0; i < page->summary->determinism_count; i++) {
        const gg_determinism_row *row = &page->summary->determinism[i];
        if (row->runs < 2) continue;
        repeated += row->cases;
        identical += row->identical;
        if (!runs || row->runs < runs) runs = row->runs;
    }
    char answer[120], basis[200];
    snprintf(answer, sizeof answer, "%d of %d cases gave equal bits", identical, repeated);
    bool equal = identical == repeated;
    if (!repeated)
        snprintf(basis, sizeof basis, "one run shows no difference; promised: %s",
                 page->run->promise);
    else if (equal)
        snprintf(basis, sizeof basis,
                 "%d runs each exclude, at 95 %%, a mismatch rate above %.2g %% for a "
                 "case; "
                 "promised: %s",
                 runs, 100 * gg_excluded_rate(runs), page->run->promise);
    else
        snprintf(basis, sizeof basis, "%d case%s differed within %d runs; promised: %s",
                 repeated - identical, GG_S(repeated - identical), runs, page->run->promise);
    const gg_level_row *level = worst_level(page->summary);
    bool fails = level && level->failed > 0, open = level && level->unverified > 0;
    if (equal && (fails || open)) /* they say more than a few runs in a row */
        snprintf(basis, sizeof basis, "level %s: %d of %d cases failed, %d not verified; "
                 "promised: %s", level->name, level->failed, level->cases, level->unverified,
                 page->run->promise);
    tile(page, "Same bits?",
         fails || (repeated && !equal) ? "failed"
         : !repeated || open           ? "open"
                                       : "passed",
         repeated ? answer : "no case ran twice", basis);
}

static void worth_tile(const gg_page *page)
{
    const gg_summary *s = page->summary;
    int earned = 0, tried = 0, collapsed = 0;
    char answer[200] = "", basis[200] = "";
    size_t used = 0;
    for (int i = 0; i < s->ablation_count; i++) {
        const gg_ablation_row *row = &s->ablation[i];
        if (row->family[0] || row->equal) continue;
        tried++;
        collapsed += row->outcome == GG_COLLAPSED;
        if (row->outcome != GG_EARNED) continue;
        earned++;
        if (used < sizeof answer)
            used += (size_t)snprintf(answer + used, sizeof answer - used,
                                     "%s%s \xe2\x88\x92%.1f %%", used ? ", " : "",
                                     row->output, 100 * row->mean);
    }
    if (tried == 0)
        snprintf(basis, sizeof basis, "%s changed no figure; 'gradgate budget' judges whether the "
                 "kernel has it", page->run->ablation);
    else
        snprintf(basis, sizeof basis,
                 "RMSE saved by %s: earned for %d of %d outputs that it reaches",
                 page->run->ablation, earned, tried);
    if (!s->ablation_count)
        tile(page, "Worth it?", "none", "no feature was switched off",
             "the ablation was not run");
    else
        tile(page, "Worth it?",
             earned == tried && tried ? "passed"
             : collapsed              ? "failed"
                                      : "open",
             earned ? answer : "nothing earned", basis);
}

static void failure(const gg_page *page, const gg_case_record *c)
{
    fputs("<tr><td class=\"id\">", page->out);
    gg_markup(page->out, c->id);
    fprintf(page->out, "</td><td><span class=\"tag %s\">%s</span></td><td>",
            gg_html_class(c->verdict), gg_verdict_name(c->verdict));
    gg_markup(page->out, c->reason[0] ? c->reason : "no reason given");
    fputs("</td></tr>\n", page->out);
}

/* The first dozen stands open, the others fold. Failed ones first. */
static void failures(const gg_page *page)
{
    static const char table[] = "<div class=\"wide\"><table class=\"stack\"><tr>"
                                "<th>case</th><th>verdict</th><th>reason</th></tr>\n";
    const gg_run_record *run = page->run;
    int total = run->count - gg_run_count(run, GG_PASSED), shown = 0;
    if (!total) return;
    fprintf(page->out, "<h2>Not passed: %d</h2>\n%s", total, table);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < run->count && shown < MOST_FAILURES; i++) {
            if (run->cases[i].verdict != (pass ? GG_NOT_VERIFIED : GG_FAILED)) continue;
            if (shown++ == OPEN_FAILURES)
                fprintf(page->out, "</table></div>\n<details><summary>%d more</summary>%s",
                        (total < MOST_FAILURES ? total : MOST_FAILURES) - OPEN_FAILURES,
                        table);
            failure(page, &run->cases[i]);
        }
    fputs(shown > OPEN_FAILURES ? "</table></div></details>\n" : "</table></div>\n",
          page->out);
    if (shown < total)
        fprintf(page->out, "<p class=\"soft\">%d more are in the JSON report.</p>\n",
                total - shown);
    fputs("<p class=\"soft\">Why: <code>gradgate case ID --why</code>, with the suite, kernel "
          "and device of the run, names the element and its largest terms.</p>\n", page->out);
}

static void quote(const gg_page *page, const char *what, const char *value,
                  const char *basis)
{
    fputs("<tr><td>", page->out);
    gg_markup(page->out, what);
    fputs("</td><td><b>", page->out);
    gg_markup(page->out, value);
    fputs("</b></td><td class=\"soft\">", page->out);
    gg_markup(page->out, basis);
    fputs("</td></tr>\n", page->out);
}

static void accuracy_figures(const gg_page *page)
{
    char what[80], value[80], basis[120];
    for (int i = 0; i < page->summary->row_count; i++) {
        const gg_summary_row *row = &page->summary->rows[i];
        if (row->family[0]) continue;
        snprintf(what, sizeof what, "Mean RMSE of %s", row->output);
        snprintf(value, sizeof value, "%.4g (%s \xc3\x97 the floor)", row->rmse,
                 FIGURE(row->ratio));
        snprintf(basis, sizeof basis,
                 "%d case%s; rms of the truth %.4g; truth certified at %lld "
                 "points",
                 row->cases, GG_S(row->cases), row->truth_rms, (long long)row->certified);
        quote(page, what, value, basis);
    }
}

static void figures(const gg_page *page)
{
    char what[80], value[80], basis[120];
    fputs("<h2>Figures to quote</h2>\n<div class=\"wide\"><table "
          "class=\"stack\"><tr><th>figure"
          "</th><th>value</th><th>basis</th></tr>\n",
          page->out);
    accuracy_figures(page);
    int cases = 0, identical = 0;
    for (int i = 0; i < page->summary->determinism_count; i++) {
        if (page->summary->determinism[i].runs < 2) continue;
        cases += page->summary->determinism[i].cases;
        identical += page->summary->determinism[i].identical;
    }
    snprintf(value, sizeof value, "%d of %d cases", identical, cases);
    snprintf(basis, sizeof basis,
             "%d runs a case, same process, same device; excludes rates above "
             "%.2g %% at 95 %%",
             page->run->repeats, 100 * gg_excluded_rate(page->run->repeats));
    quote(page, "Bitwise equal from run to run", value, basis);
    for (int i = 0; i < page->summary->ablation_count; i++) {
        const gg_ablation_row *row = &page->summary->ablation[i];
        if (row->family[0] || row->equal) continue;
        snprintf(what, sizeof what, "RMSE of %s saved by %s", row->output,
                 page->run->ablation);
        snprintf(value, sizeof value, "%.2f %% (%.2f to %.2f %%)", 100 * row->mean,
                 100 * row->low, 100 * row->high);
        snprintf(basis, sizeof basis, "%d pairs, 95 %% interval: %s", row->pairs,
                 gg_outcome_name(row->outcome));
        quote(page, what, value, basis);
    }
    fputs("</table></div>\n", page->out);
}

void gg_html_fact(FILE *out, const char *name, const char *value)
{
    if (!value[0]) return;
    fprintf(out, "<dt>%s</dt><dd>", name);
    gg_markup(out, value);
    fputs("</dd>\n", out);
}

static void fact(const gg_page *page, const char *name, const char *value)
{
    gg_html_fact(page->out, name, value);
}

static void environment(const gg_page *page)
{
    const gg_run_record *run = page->run;
    char text[200];
    uint64_t evidence = 0;
    bool known = gg_report_evidence(run, &evidence) == GG_OK;
    fputs("<h2>Environment</h2>\n<div class=\"cards\"><section class=\"card\"><dl>\n",
          page->out);
    fact(page, "kernel", run->kernel_summary);
    snprintf(text, sizeof text, "xxh:%016" PRIx64, run->kernel_digest);
    fact(page, "program", text);
    snprintf(text, sizeof text, "%s, commit %s", run->version, run->commit);
    fact(page, "gradgate", text);
    fact(page, "compiler", run->compiler);
    snprintf(text, sizeof text, "%s, xxh:%016" PRIx64, run->suite, run->suite_digest);
    fact(page, "suite", text);
    fact(page, "golden", run->golden);
    snprintf(text, sizeof text, "xxh:%016" PRIx64 " (equal for equal runs)", evidence);
    fact(page, "evidence", known ? text : "");
    fputs("</dl></section>\n<section class=\"card\"><dl>\n", page->out);
    fact(page, "device", run->device);
    fact(page, "GPU", run->place.gpu);
    fact(page, "GPU id", run->place.gpu_uuid);
    fact(page, "driver", run->place.driver);
    snprintf(text, sizeof text, "%s, %d threads", run->place.host_cpu,
             run->place.host_threads);
    fact(page, "processor", text);
    fact(page, "started", run->place.started);
    fact(page, "finished", run->place.finished);
    snprintf(text, sizeof text, "%.1f s, %d runs a case", run->place.seconds, run->repeats);
    fact(page, "took", text);
    fputs("</dl></section></div>\n", page->out);
}

gg_status gg_report_html(const gg_run_record *run, FILE *out)
{
    return gg_report_html_with(run, NULL, NULL, 0, out);
}

static gg_status body(const gg_page *page, const gg_budget *budget, const gg_claims *claims)
{
    gg_status status = GG_OK;
    head(page);
    hero(page);
    fputs("<div class=\"cards\">\n", page->out);
    right_tile(page);
    bits_tile(page);
    worth_tile(page);
    fputs("</div>\n", page->out);
    failures(page);
    gg_html_accuracy(page);
    gg_html_ablation(page);
    gg_html_claims(claims, page->out);
    if (budget != NULL) status = gg_budget_section(budget, page->drawing, page->out);
    gg_html_determinism(page);
    gg_html_levels(page);
    gg_html_maps(page);
    gg_html_limits(page);
    figures(page);
    environment(page);
    gg_html_end(page->out);
    return status;
}

gg_status gg_report_html_with(const gg_run_record *run, const gg_budget *budget,
                              const gg_run_record *beside, int beside_count, FILE *out)
{
    gg_summary summary;
    gg_claims claims;
    gg_drawing drawing = {.seconds = GG_CHART_SECONDS};
    GG_TRY(gg_summary_make(run, &summary));
    gg_status status = gg_claims_make(run, &summary, beside, beside_count, &claims);
    if (status == GG_OK) {
        status = body(&(gg_page){run, &summary, out, &drawing}, budget, &claims);
        gg_claims_free(&claims);
    }
    gg_summary_free(&summary);
    return status;
}
