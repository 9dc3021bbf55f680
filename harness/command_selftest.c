/* SPDX-License-Identifier: Apache-2.0
 * gradgate selftest: the harness on trial. */
#include <stdio.h>
#include <string.h>

#include "build_identity.h"
#include "harness/commands.h"
#include "harness/selftest.h"
#include "reference/parallel.h"
#include "reports/file_out.h"
#include "reports/json_out.h"

static const gg_option options[] = {
    GG_OPTION_DEVICE,
    {"json", 'j', "FILE", "the outcome for programs"},
    {"list", 'l', NULL, "the kinds of fault, their checks and mutants, as a table"},
    {"control", 'c', "survivor|alarm", "proof that the self-test can fail"},
    GG_OPTION_THREADS,
    GG_OPTIONS_END};

typedef struct request {
    const char *device, *json;
    int threads;
    bool list;
    gg_selftest_options trial;
} request;

static gg_status parse_control(const char *text, gg_selftest_control *control)
{
    if (strcmp(text, "survivor") == 0) *control = GG_CONTROL_SURVIVOR;
    else if (strcmp(text, "alarm") == 0) *control = GG_CONTROL_ALARM;
    else
        return gg_fail(GG_BAD_INPUT, "--control takes survivor or alarm, not '%s'", text);
    return GG_OK;
}

static gg_status parse(int argc, char **argv, request *r)
{
    for (int c; (c = gg_next_option(argc, argv, options)) != -1;) {
        switch (c) {
        case 'd': r->device = optarg; break;
        case 'j': r->json = optarg; break;
        case 'l': r->list = true; break;
        case 't': GG_TRY(gg_parse_int("threads", optarg, 1, 256, &r->threads)); break;
        case 'c': GG_TRY(parse_control(optarg, &r->trial.control)); break;
        default: return GG_BAD_INPUT;
        }
    }
    if (optind < argc)
        return gg_fail(GG_BAD_INPUT, "'%s' is not an option of selftest: see 'gradgate "
                       "help'", argv[optind]);
    return GG_OK;
}

static const char *subject_name(gg_subject subject)
{
    static const char *const names[] = {"mutant", "probe", "honest"};
    return names[subject];
}

/* "K4   s_tf32 ...   scores cut ...   caught: gauge_max rmse" */
static void show(const gg_trial_line *line)
{
    printf("%-10s %-23s %-72s ", line->kind[0] ? line->kind : "honest", line->name,
           line->fault);
    if (line->subject == GG_SUBJECT_HONEST && line->good)
        printf("passed %d case%s\n", line->cases, GG_S(line->cases));
    else if (line->subject == GG_SUBJECT_HONEST)
        printf("FALSE ALARM: %s %s\n", line->red, line->reason);
    else if (line->good)
        printf("caught: %s\n", line->red);
    else
        printf("SURVIVED: %s is not red (red: %s)\n", line->expected,
               line->red[0] ? line->red : "nothing");
    fflush(stdout);
}

static void list_kind(const gg_fault_kind *kind)
{
    char checks[512] = "", mutants[4096] = "";
    int count = 0;
    for (int s = 0; gg_mutant_sets[s] != NULL; s++)
        for (const gg_mutant *m = gg_mutant_sets[s]->mutants; m->name != NULL; m++) {
            char word[32];
            if (strcmp(m->kind, kind->kind) != 0) continue;
            size_t used = strlen(mutants);
            snprintf(mutants + used, sizeof mutants - used, "%s%s", count++ ? ", " : "",
                     m->name);
            snprintf(word, sizeof word, "`%s`", m->check);
            used = strlen(checks);
            if (strstr(checks, word) != NULL) continue;
            snprintf(checks + used, sizeof checks - used, "%s%s", used ? " " : "", word);
        }
    printf("| %s | %s | %s | %d: %s |\n", kind->kind, kind->title, checks, count, mutants);
}

static void list_probes(void)
{
    for (const gg_probe *p = gg_probes; p->name != NULL; p++) {
        bool first = p == gg_probes || strcmp(p[-1].part, p->part) != 0;
        bool last = p[1].name == NULL || strcmp(p[1].part, p->part) != 0;
        if (first) printf("| harness | %s | its own | ", p->part);
        printf("%s%s", first ? "" : ", ", p->name);
        if (last) printf(" |\n");
    }
}

static int list(void)
{
    printf("| kind | fault | checks that must turn red | mutants |\n"
           "| --- | --- | --- | --- |\n");
    for (const gg_fault_kind *k = gg_fault_kinds; k->kind != NULL; k++) list_kind(k);
    list_probes();
    return GG_EXIT_PASSED;
}

/* One document: what `show` prints, and the figures below it. */
typedef struct document {
    const gg_backend *backend;
    const gg_selftest *result;
} document;

static void write_line(gg_json_out *out, const gg_trial_line *line)
{
    gg_out_open_line(out, NULL, '{');
    gg_out_name(out, "subject", subject_name(line->subject));
    gg_out_name(out, "operator", line->operator_name);
    gg_out_name(out, "kind", line->kind);
    gg_out_name(out, "name", line->name);
    gg_out_name(out, "fault", line->fault);
    gg_out_name(out, "expected", line->expected);
    gg_out_text(out, "red", line->red, sizeof line->red);
    gg_out_integer(out, "cases", line->cases);
    gg_out_text(out, "first", line->reason, sizeof line->reason);
    gg_out_bool(out, "good", line->good);
    gg_out_close(out);
}

static gg_status write_document(const void *context, FILE *file)
{
    const document *d = context;
    const gg_selftest *r = d->result;
    gg_json_out out = {.file = file, .line_depth = GG_JSON_DEPTH};
    gg_out_open(&out, NULL, '{');
    gg_out_integer(&out, "gradgate_selftest", 1);
    gg_out_name(&out, "version", GG_VERSION);
    gg_out_name(&out, "commit", GG_COMMIT);
    gg_out_name(&out, "device", d->backend->name);
    gg_out_text(&out, "gpu", d->backend->description, sizeof d->backend->description);
    gg_out_name(&out, "verdict", gg_verdict_name(gg_selftest_verdict(r)));
    gg_out_integer(&out, "planted", r->planted);
    gg_out_integer(&out, "caught", r->caught);
    gg_out_integer(&out, "honest_cases", r->honest_cases);
    gg_out_integer(&out, "false_alarms", r->false_alarms);
    gg_out_open(&out, "lines", '[');
    for (int i = 0; i < r->count; i++) write_line(&out, &r->lines[i]);
    gg_out_close(&out);
    gg_out_close(&out);
    fputc('\n', file);
    return GG_OK;
}

static void print_sum(const gg_selftest *r)
{
    int mutants = 0, kinds = 0;
    for (int i = 0; i < r->count; i++) mutants += r->lines[i].subject == GG_SUBJECT_MUTANT;
    for (const gg_fault_kind *k = gg_fault_kinds; k->kind != NULL; k++) kinds++;
    printf("\nplanted faults caught: %d of %d (%d kernels over %d kinds, %d probes of the "
           "harness)\nfalse alarms: %d in %d cases of honest kernels\n%s\n", r->caught,
           r->planted, mutants, kinds, r->planted - mutants, r->false_alarms,
           r->honest_cases, gg_verdict_name(gg_selftest_verdict(r)));
}

static int try_harness(int argc, char **argv)
{
    request r = {.device = "host", .trial.show = show};
    gg_backend backend;
    gg_selftest result = {.count = 0};
    gg_status status = parse(argc, argv, &r);
    if (status == GG_OK && r.list) return list();
    if (status == GG_OK && r.json != NULL) status = gg_file_check(r.json, "self-test");
    if (status == GG_OK)
        status = gg_backend_open(r.device, r.threads > 0 ? r.threads : gg_processors(),
                                 &backend);
    if (status == GG_OK) status = gg_selftest_run(&backend, &r.trial, &result);
    if (status == GG_OK) print_sum(&result);
    document d = {&backend, &result};
    if (status == GG_OK && r.json != NULL)
        status = gg_file_write(r.json, "self-test", write_document, &d);
    int code = status == GG_OK ? gg_verdict_exit(gg_selftest_verdict(&result))
                               : gg_complain(status);
    gg_selftest_free(&result);
    return code;
}

const gg_command gg_command_selftest = {
    .name = "selftest",
    .usage = "",
    .summary = "plants faults, which must all be caught, and accuses nobody",
    .options = options,
    .run = try_harness,
};
