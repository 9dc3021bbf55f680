/* SPDX-License-Identifier: Apache-2.0
 * gradgate case: runs one case, prints its checks, and with --why the element that
 * explains the verdict. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/commands.h"
#include "harness/nearest.h"
#include "harness/run.h"
#include "harness/serve.h"
#include "harness/why.h"
#include "reports/budget.h"
#include "reports/view.h"

static const gg_option options[] = {
    GG_OPTION_SUITE,
    GG_OPTION_KERNEL,
    GG_OPTION_DEVICE,
    {"why", 'w', NULL, "the element that explains the verdict: error, MPFR, largest terms"},
    {"output", 'u', "NAME", "explain this output"},
    {"element", 'e', "I,J,...", "explain this element of it"},
    {"budget", 'b', "FILE", "say which roundings its error comes from, by this budget"},
    GG_OPTION_REPEATS,
    {"out", 'o', "FILE", "a report too"},
    GG_OPTION_GOLDEN,
    GG_OPTION_LIMITS_OF,
    GG_OPTION_THREADS,
    GG_OPTIONS_END};

typedef struct request {
    gg_run_options run;
    const char *id, *output, *element, *budget;
    bool why;
} request;

static gg_status parse(int argc, char **argv, request *r)
{
    gg_run_options *o = &r->run;
    for (int c; (c = gg_next_option(argc, argv, options)) != -1;) {
        switch (c) {
        case 's': o->suite = optarg; break;
        case 'k': o->kernel = optarg; break;
        case 'd': o->device = optarg; break;
        case 'o': o->out = optarg; break;
        case 'g': o->golden = optarg; break;
        case 'u': r->output = optarg; break;
        case 'e': r->element = optarg; break;
        case 'b': r->budget = optarg; break;
        case 'l': o->limits_of = optarg; break;
        case 'w': r->why = true; break;
        case 'n': GG_TRY(gg_parse_int("repeats", optarg, 1, 1000000, &o->repeats)); break;
        case 't': GG_TRY(gg_parse_int("threads", optarg, 1, 256, &o->threads)); break;
        default: return GG_BAD_INPUT;
        }
    }
    if (argc - optind != 1)
        return gg_fail(GG_BAD_INPUT, "case takes one ID, not %d: see 'gradgate help'",
                       argc - optind);
    r->id = argv[optind];
    if (o->suite == NULL)
        return gg_fail(GG_BAD_INPUT, "case needs --suite: see 'gradgate list suites'");
    if (o->kernel == NULL)
        return gg_fail(GG_BAD_INPUT, "case needs --kernel: see 'gradgate list kernels'");
    if (r->element != NULL && r->output == NULL)
        return gg_fail(GG_BAD_INPUT, "--element needs --output: of which output?");
    r->why = r->why || r->output != NULL || r->budget != NULL;
    return GG_OK;
}

static gg_status find_case(const gg_suite *suite, const char *id, const gg_case **found)
{
    char nearest[400];
    for (int i = 0; i < suite->count; i++)
        if (strcmp(suite->cases[i].id, id) == 0) {
            *found = &suite->cases[i];
            return GG_OK;
        }
    gg_nearest_cases(suite, id, nearest, sizeof nearest);
    return gg_fail(GG_BAD_INPUT, "suite %s has no case '%s': the nearest are %s",
                   suite->name, id, nearest);
}

static gg_status find_output(const gg_operator *op, const char *name, int *output)
{
    char known[160] = "";
    size_t used = 0;
    *output = gg_tensor_find(op->outputs, name);
    if (*output >= 0) return GG_OK;
    for (int o = 0; op->outputs[o].name != NULL && used < sizeof known; o++)
        used += (size_t)snprintf(known + used, sizeof known - used, " %s",
                                 op->outputs[o].name);
    return gg_fail(GG_BAD_INPUT, "operator %s has no output '%s': choose one of%s",
                   op->name, name, known);
}

/* "dq[B=1,R=24,H=4,N=24,D=16]" */
static void print_shape(const gg_operator *op, int output, const gg_tensor *t, char *text,
                        size_t size)
{
    const gg_tensor_decl *decl = &op->outputs[output];
    size_t used = (size_t)snprintf(text, size, "%s[", decl->name);
    for (int i = 0; i < t->ndim && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%c=%" PRId64, i ? "," : "",
                                 decl->shape[i], t->shape[i]);
    if (used < size) snprintf(text + used, size - used, "]");
}

/* The flat index of "0,3,1,17,5", in brackets or not (reasons print them in brackets). */
static gg_status find_element(const gg_operator *op, int output, const gg_tensor *t,
                              const char *text, int64_t *element)
{
    char shape[160];
    const char *at = *text == '[' ? text + 1 : text;
    bool inside = true;
    int count = 0;
    *element = 0;
    print_shape(op, output, t, shape, sizeof shape);
    for (; count < t->ndim && *at >= '0' && *at <= '9'; count++) {
        char *end;
        long long index = strtoll(at, &end, 10);
        inside = inside && index < t->shape[count];
        if (inside) *element = *element * t->shape[count] + index;
        at = *end == ',' && count + 1 < t->ndim ? end + 1 : end;
    }
    bool closed = *text != '[' || *at == ']';
    if (*text == '[' && closed) at++;
    if (count != t->ndim || !closed || *at != '\0')
        return gg_fail(GG_BAD_INPUT, "--element takes %d numbers, an index of %s, not '%s'",
                       t->ndim, shape, text);
    if (!inside)
        return gg_fail(GG_BAD_INPUT, "element %s is outside %s", text, shape);
    return GG_OK;
}

/* Refuses what does not exist before anything is measured. */
static gg_status resolve(request *r, const gg_suite *suite, gg_why *why)
{
    const gg_case *what = NULL;
    *why = (gg_why){.output = -1, .element = -1};
    GG_TRY(find_case(suite, r->id, &what));
    r->run.glob = r->id; /* ids hold no * ? [ */
    r->run.certify = suite->count;
    r->run.roundings = -1; /* where they are stated */
    if (r->output == NULL) return GG_OK;
    GG_TRY(find_output(suite->op, r->output, &why->output));
    if (r->element == NULL) return GG_OK;
    gg_tensor t = gg_tensor_make(suite->op, &suite->op->outputs[why->output], what->extent,
                                 what->output_dtype[why->output]);
    return find_element(suite->op, why->output, &t, r->element, &why->element);
}

static void print_head(const gg_run_record *run, const gg_case_record *c)
{
    printf("%s  %s on %s  %s  %s\n ", gg_verdict_name(c->verdict), run->kernel, run->device,
           run->suite, c->id);
    for (int i = 0; run->symbols[i] != '\0'; i++)
        printf(" %c=%" PRId64, run->symbols[i], c->extent[i]);
    printf("  seed %" PRIu64 "  %d run%s  %.2f s\n", c->seed, c->runs,
           c->runs == 1 ? "" : "s", c->seconds);
    if (c->verdict != GG_PASSED) printf("  %s\n", c->reason);
}

static void print_number(double value)
{
    if (isinf(value) && value > 0) printf("  %12s", "unlimited");
    else if (isnan(value)) printf("  %12s", "-");
    else printf("  %12.6g", value);
}

static void print_checks(const gg_case_record *c)
{
    int wide = 5;
    if (c->output_count == 0) return;
    for (int o = 0; o < c->output_count; o++)
        for (int k = 0; k < c->outputs[o].check_count; k++) {
            int length = (int)strlen(c->outputs[o].checks[k].name);
            if (length > wide) wide = length;
        }
    printf("\n  %-8s  %-*s  %12s  %12s  %s\n", "output", wide, "check", "value", "limit",
           "verdict");
    for (int o = 0; o < c->output_count; o++)
        for (int k = 0; k < c->outputs[o].check_count; k++) {
            const gg_check *check = &c->outputs[o].checks[k];
            printf("  %-8s  %-*s", k == 0 ? c->outputs[o].name : "", wide, check->name);
            print_number(check->value);
            print_number(check->limit);
            printf("  %s%s%s\n", gg_verdict_name(check->verdict),
                   check->note[0] ? ": " : "", check->note);
        }
}

/* An explanation that could not be given is said on stderr; it never turns into a pass. */
static int conclude(const request *r, const gg_why *why, gg_verdict verdict)
{
    int code = gg_verdict_exit(verdict);
    if (!r->why) return code;
    gg_why_print(why, stdout);
    if (why->status == GG_OK) return code;
    fflush(stdout);
    fprintf(stderr, "gradgate: no explanation: %s\n", why->message);
    return code == GG_EXIT_PASSED ? GG_EXIT_NOT_VERIFIED : code;
}

/* Which roundings the explained output's error comes from, in the case's family. */
static void print_roundings(const gg_budget *budget, const gg_why *why,
                            const gg_case_record *c)
{
    char text[300], clean[300];
    if (!why->seen || budget->case_count == 0) return;
    const char *output = why->op->outputs[why->output].name;
    gg_budget_reading(budget, output, c->family, text, sizeof text);
    printf("  roundings of %s in %s: %s\n", output, c->family,
           text[0] ? gg_clean(text, clean, sizeof clean) : "the budget has no such family");
}

/* The explanation needs the case's memory, so it is made in this process: after a worker
 * has shown that the kernel leaves its process alive. */
static gg_status measure(request *r, gg_why *why, gg_run_record *run)
{
    if (gg_run_is_isolated(&r->run)) {
        GG_TRY(gg_run(&r->run, run));
        if (!r->why) return GG_OK;
        if (run->cases[0].output_count == 0) {
            why->status = GG_DEVICE_FAULT;
            snprintf(why->message, sizeof why->message, "the kernel gave no outputs");
            return GG_OK;
        }
        gg_run_free(run);
    }
    r->run.argv = NULL;
    if (r->why) {
        r->run.observe = gg_why_observe;
        r->run.observer = why;
    }
    return gg_run(&r->run, run);
}

static int run_case(int argc, char **argv)
{
    char *order = gg_serve_take(&argc, &argv);
    request r = {.run = {.device = "host", .repeats = 5, .shard = 1, .shards = 1,
                         .argc = argc, .argv = argv}};
    gg_run_record run = {.count = 0};
    gg_suite suite = {.count = 0};
    gg_budget budget = {.case_count = 0};
    gg_why why;
    gg_status status = parse(argc, argv, &r);
    if (status == GG_OK && r.budget != NULL) status = gg_budget_read(r.budget, &budget);
    if (status == GG_OK) status = gg_suite_load(r.run.suite, &suite);
    if (status == GG_OK && r.budget != NULL)
        status = gg_budget_fits(&budget, r.budget, suite.op->name, r.run.kernel);
    if (status == GG_OK) status = resolve(&r, &suite, &why);
    gg_suite_free(&suite);
    if (status == GG_OK && order != NULL) status = gg_serve_apply(order, &r.run);
    if (status != GG_OK || order != NULL) {
        gg_budget_free(&budget);
        return status != GG_OK ? gg_complain(status) : gg_serve(&r.run);
    }
    status = measure(&r, &why, &run);
    if (status != GG_OK) {
        gg_budget_free(&budget);
        gg_run_free(&run);
        return gg_complain(status);
    }
    print_head(&run, &run.cases[0]);
    print_checks(&run.cases[0]);
    int code = conclude(&r, &why, gg_run_verdict(&run));
    if (r.budget != NULL) print_roundings(&budget, &why, &run.cases[0]);
    gg_budget_free(&budget);
    if (r.run.out != NULL) printf("report: %s\n", r.run.out);
    gg_run_free(&run);
    return code;
}

const gg_command gg_command_case = {
    .name = "case",
    .usage = "ID --suite SUITE --kernel KERNEL",
    .summary = "runs one case, prints its checks, and says why",
    .options = options,
    .details =
        "The table of a run ends with the command line that explains its first failed case.\n"
        "--why computes the element anew in MPFR at two precisions that must agree, and lists\n"
        "the largest terms of its sum: where the error comes from.\n",
    .run = run_case,
};
