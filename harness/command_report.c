/* SPDX-License-Identifier: Apache-2.0
 * gradgate report and gradgate golden: other shapes of stored evidence. */
#include <stdio.h>
#include <unistd.h>

#include "harness/bench.h"
#include "harness/commands.h"
#include "harness/golden.h"
#include "harness/rejudge.h"
#include "harness/source.h"
#include "reports/annotations.h"
#include "reports/budget.h"
#include "reports/file_out.h"
#include "reports/report.h"
#include "reports/view.h"

static gg_status one_path(int argc, char **argv, const char *what, const char **path)
{
    if (optind != argc - 1)
        return gg_fail(GG_BAD_INPUT, "%s takes one %s, not %d", argv[0], what, argc - optind);
    *path = argv[optind];
    return GG_OK;
}

static gg_status junit_file(const void *run, FILE *file)
{
    gg_report_junit(run, file);
    return GG_OK;
}

enum { MOST_BESIDE = 16 };

/* A report, and what is shown in it: a budget, claims held against other kernels. */
typedef struct page {
    const gg_run_record *run;
    gg_budget budget;
    bool has_budget;
    gg_run_record beside[MOST_BESIDE];
    int beside_count;
} page;

static gg_status markdown_file(const void *context, FILE *file)
{
    const page *p = context;
    const gg_view_context shown = {p->beside, p->beside_count, NULL};
    gg_view view;
    GG_TRY(gg_view_make(p->run, &shown, &view));
    gg_status status = gg_view_markdown(&view, file);
    gg_view_free(&view);
    return status;
}

static gg_status print_table(const page *p)
{
    const gg_view_context shown = {p->beside, p->beside_count, NULL};
    gg_view view;
    GG_TRY(gg_view_make(p->run, &shown, &view));
    gg_status status = gg_view_table(&view, stdout, gg_terminal_width());
    gg_view_free(&view);
    return status;
}

static gg_status html_file(const void *context, FILE *file)
{
    const page *p = context;
    return gg_report_html_with(p->run, p->has_budget ? &p->budget : NULL, p->beside,
                               p->beside_count, file);
}

typedef struct report_options {
    const char *markdown, *junit, *html; /* files; NULL: not asked for */
    const char *source, *budget;
    const char *beside[MOST_BESIDE];
    int beside_count;
    bool print_markdown, judge, annotations;
} report_options;

static const gg_option report_table[] = {
    {"markdown", 'm', "[FILE]", "as Markdown, to standard output or FILE"},
    {"junit", 'u', "FILE", "as JUnit XML, for a CI server"},
    {"html", 'h', "FILE", "as one HTML page, for a browser"},
    {"budget", 'b', "FILE", "show this error budget ('gradgate budget --out') in the page"},
    {"beside", 'k', "REPORT", "of another kernel, for claims that compare kernels; repeatable"},
    {"judge", 'j', NULL, "judge again, under the limits that this build has"},
    GG_OPTION_ANNOTATIONS,
    GG_OPTION_SOURCE,
    GG_OPTIONS_END};

static gg_status parse_report(int argc, char **argv, report_options *o)
{
    for (int c; (c = gg_next_option(argc, argv, report_table)) != -1;) {
        switch (c) {
        case 'm':
            o->markdown = optarg;
            o->print_markdown = optarg == NULL;
            break;
        case 'u': o->junit = optarg; break;
        case 'h': o->html = optarg; break;
        case 'b': o->budget = optarg; break;
        case 'k':
            if (o->beside_count == MOST_BESIDE)
                return gg_fail(GG_BAD_INPUT, "--beside: at most %d reports", MOST_BESIDE);
            o->beside[o->beside_count++] = optarg;
            break;
        case 'f': o->source = optarg; break;
        case 'a': GG_TRY(gg_parse_annotations(optarg, &o->annotations)); break;
        case 'j': o->judge = true; break;
        default: return GG_BAD_INPUT;
        }
    }
    GG_TRY(gg_distinct_files((const char *const[]){o->markdown, o->junit, o->html}, 3));
    if (o->source != NULL && !o->annotations)
        return gg_fail(GG_BAD_INPUT, "--source needs --annotations: it is the file named there");
    if (o->budget != NULL && o->html == NULL)
        return gg_fail(GG_BAD_INPUT, "--budget needs --html: it is shown in the page");
    return GG_OK;
}

static gg_status load_budget(const report_options *o, page *p)
{
    if (o->budget == NULL) return GG_OK;
    GG_TRY(gg_budget_read(o->budget, &p->budget));
    p->has_budget = true;
    return gg_budget_fits(&p->budget, o->budget, p->run->operator_name, p->run->kernel);
}

static gg_status load_beside(const report_options *o, page *p)
{
    for (int b = 0; b < o->beside_count; b++) {
        GG_TRY(gg_report_read(o->beside[b], &p->beside[b]));
        p->beside_count++;
    }
    return GG_OK;
}

/* Where files that were written are named: not into the Markdown that is asked for. */
static FILE *notes(const report_options *o) { return o->print_markdown ? stderr : stdout; }

/* The files that were asked for, each named once it is there. */
static gg_status write_files(const report_options *o, const page *p, int *written)
{
    const gg_run_record *run = p->run;
    const struct {
        const char *path, *what;
        gg_file_fill fill;
        const void *from;
    } files[] = {{o->markdown, "Markdown", markdown_file, p},
                 {o->junit, "JUnit", junit_file, run},
                 {o->html, "HTML", html_file, p}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (files[i].path == NULL) continue;
        GG_TRY(gg_file_write(files[i].path, files[i].what, files[i].fill, files[i].from));
        fprintf(notes(o), "%s: %s, %s\n", files[i].path, files[i].what,
                gg_verdict_name(gg_run_verdict(run)));
        ++*written;
    }
    return GG_OK;
}

/* What is stored and is no report of a run, in the forms that it has. */
typedef struct stored {
    const char *what;
    const void *from;
    gg_verdict verdict;
    gg_file_fill table, markdown, html;
} stored;

static gg_status bench_table(const void *bench, FILE *file)
{
    return gg_bench_table(bench, file, gg_terminal_width());
}

static gg_status budget_table(const void *budget, FILE *file)
{
    gg_budget_table(budget, file, gg_terminal_width());
    return GG_OK;
}

static gg_status show_stored(const stored *s, const report_options *o)
{
    const struct {
        const char *path, *what;
        gg_file_fill fill;
    } files[] = {{o->markdown, "Markdown", s->markdown}, {o->html, "HTML", s->html}};
    int written = 0;
    if (o->junit != NULL || o->judge || o->annotations || o->budget != NULL || o->beside_count > 0)
        return gg_fail(GG_BAD_INPUT, "of a %s, report makes --html and --markdown alone", s->what);
    for (int i = 0; i < 2; i++) {
        if (files[i].path == NULL) continue;
        GG_TRY(gg_file_write(files[i].path, files[i].what, files[i].fill, s->from));
        fprintf(notes(o), "%s: %s, %s\n", files[i].path, files[i].what,
                gg_verdict_name(s->verdict));
        written++;
    }
    if (o->print_markdown) return s->markdown(s->from, stdout);
    return written == 0 ? s->table(s->from, stdout) : GG_OK;
}

static int show_bench(gg_bench *bench, const report_options *o, gg_status status)
{
    const stored s = {"bench", bench, gg_bench_verdict(bench), bench_table, gg_bench_markdown,
                      gg_bench_html};
    if (status == GG_OK) status = show_stored(&s, o);
    gg_bench_free(bench);
    return status == GG_OK ? gg_verdict_exit(s.verdict) : gg_complain(status);
}

static int show_budget(gg_budget *budget, const report_options *o, gg_status status)
{
    const stored s = {"budget", budget, gg_budget_verdict(budget), budget_table,
                      gg_budget_markdown, gg_budget_html};
    if (status == GG_OK) status = show_stored(&s, o);
    gg_budget_free(budget);
    return status == GG_OK ? gg_verdict_exit(s.verdict) : gg_complain(status);
}

static int show_report(int argc, char **argv)
{
    gg_run_record run = {.count = 0};
    report_options o = {.judge = false};
    page p = {.run = &run};
    const char *path = NULL;
    int written = 0;
    gg_bench bench = {.case_count = 0};
    bool is_bench = false, is_budget = false;
    gg_status status = parse_report(argc, argv, &o);
    if (status == GG_OK) status = one_path(argc, argv, "REPORT", &path);
    if (status == GG_OK) status = gg_bench_read(path, &bench, &is_bench);
    if (is_bench) return show_bench(&bench, &o, status);
    if (status == GG_OK) status = gg_budget_try(path, &p.budget, &is_budget);
    if (is_budget) return show_budget(&p.budget, &o, status);
    if (status == GG_OK) status = gg_report_read(path, &run);
    if (status == GG_OK) status = load_budget(&o, &p);
    if (status == GG_OK) status = load_beside(&o, &p);
    if (status == GG_OK && o.judge) {
        gg_rejudgement outcome;
        status = gg_rejudge(&run, &outcome);
        if (status == GG_OK) gg_rejudgement_print(&run, &outcome, notes(&o));
    }
    if (status == GG_OK) status = write_files(&o, &p, &written);
    if (status == GG_OK && o.print_markdown) status = markdown_file(&p, stdout);
    else if (status == GG_OK && written == 0 && !o.annotations)
        status = print_table(&p);
    if (status == GG_OK && o.annotations) {
        char source[256];
        gg_kernel_source(&run, source);
        gg_report_annotations(&run, o.source != NULL ? o.source : source, stdout);
    }
    int code = gg_verdict_exit(gg_run_verdict(&run));
    gg_budget_free(&p.budget);
    for (int b = 0; b < p.beside_count; b++) gg_run_free(&p.beside[b]);
    gg_run_free(&run);
    return status == GG_OK ? code : gg_complain(status);
}

const gg_command gg_command_report = {
    .name = "report",
    .usage = "REPORT",
    .summary = "prints stored evidence in other forms, exits with its verdict",
    .options = report_table,
    .details =
        "Needs no device and no kernel. With a file asked for, only the file is written;\n"
        "otherwise the table is printed. A report that was edited is refused. The page's\n"
        "charts are drawn by gnuplot; without it the page has tables alone. REPORT may be a\n"
        "stored bench or budget ('bench --out', 'budget --out') too, for the table, --markdown\n"
        "and --html.\n"
        "\n"
        "What is claimed of the operator's kernels ('gradgate list claims') is held against\n"
        "the run: reproduced, not reproduced, not measured here. A claim that compares\n"
        "kernels needs their reports on the same suite, each as --beside REPORT.\n",
    .run = show_report,
};

static const gg_option golden_table[] = {{"out", 'o', "FILE", "where they go"},
                                         GG_OPTIONS_END};

static int keep_golden(int argc, char **argv)
{
    gg_run_record run = {.count = 0};
    const char *path = NULL, *out = NULL;
    for (int c; (c = gg_next_option(argc, argv, golden_table)) != -1;) {
        if (c != 'o') return gg_complain(GG_BAD_INPUT);
        out = optarg;
    }
    gg_status status = one_path(argc, argv, "REPORT", &path);
    if (status == GG_OK && out == NULL)
        status = gg_fail(GG_BAD_INPUT, "golden needs --out FILE");
    if (status == GG_OK) status = gg_report_read(path, &run);
    if (status == GG_OK) status = gg_golden_write(&run, out);
    if (status != GG_OK) return gg_complain(status);
    printf("%s: digests of %d case%s of %s\n", out, run.count, GG_S(run.count), run.suite);
    gg_run_free(&run);
    return GG_EXIT_PASSED;
}

const gg_command gg_command_golden = {
    .name = "golden",
    .usage = "REPORT --out FILE",
    .summary = "keeps the output digests of a run, for --golden",
    .options = golden_table,
    .run = keep_golden,
};
