/* SPDX-License-Identifier: Apache-2.0
 * gradgate list and gradgate doctor: what there is, and what this machine can do. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "build_identity.h"
#include "cases/suite.h"
#include "harness/backend.h"
#include "harness/commands.h"
#include "harness/levels.h"
#include "harness/plugin.h"
#include "harness/relations.h"
#include "kernels/mutant.h"
#include "kernels/registry.h"
#include "reference/parallel.h"
#include "reports/gnuplot.h"

static const gg_option options[] = {
    {"kernel", 'k', "FILE", "kernels or limits of a shared object instead of the built-in ones"},
    GG_OPTIONS_END};

static void list_operators(void)
{
    for (int i = 0; gg_operators[i] != NULL; i++) {
        const gg_operator *op = gg_operators[i];
        printf("%-20s %s\n", op->name, op->summary);
        for (int side = 0; side < 2; side++) {
            const gg_tensor_decl *t = side ? op->outputs : op->inputs;
            printf("  %-7s", side ? "outputs" : "inputs");
            for (; t->name != NULL; t++) {
                printf(" %s[", t->name);
                for (const char *s = t->shape; *s; s++) printf("%s%c", s > t->shape ? "," : "", *s);
                printf("]%s", t->role == GG_ROLE_OPTIONAL ? "?" : "");
            }
            printf("\n");
        }
    }
}

static void list_kernels(const gg_kernel *const *kernels)
{
    for (int i = 0; kernels[i] != NULL; i++) {
        const gg_kernel *k = kernels[i];
        printf("%-20s %-12s %-5s %-15s %s\n", k->operator_name, k->name,
               k->device == kDLCPU ? "host" : "cuda",
               k->repeat == GG_REPEAT_RUN_TO_RUN ? "run to run" : "not guaranteed", k->summary);
        for (const gg_feature *f = k->features; f != NULL && f->name != NULL; f++)
            printf("%-20s   feature %s (%s): %s\n", "", f->name, f->on ? "on" : "off",
                   f->summary);
    }
}

/* A bad file is named on standard error and hides no other. */
static int list_suites(void)
{
    int code = GG_EXIT_PASSED;
    char **names = gg_suite_names();
    if (names == NULL) return gg_complain(GG_NO_MEMORY);
    for (int i = 0; names[i] != NULL; i++) {
        gg_suite suite;
        gg_status status = gg_suite_load(names[i], &suite);
        if (status != GG_OK) {
            fflush(stdout);
            code = gg_complain(status);
            if (status == GG_NO_MEMORY) break;
            continue;
        }
        printf("%-14s %5d cases  %-20s %s\n", suite.name, suite.count, suite.op->name,
               suite.summary);
        gg_suite_free(&suite);
    }
    gg_suite_names_free(names);
    return code;
}

static void list_families(void)
{
    for (int i = 0; gg_operators[i] != NULL; i++)
        for (const gg_family *f = gg_operators[i]->families; f->name != NULL; f++)
            printf("%-20s %-20s %s\n", gg_operators[i]->name, f->name, f->summary);
}

static void list_checks(void)
{
    printf("written      no element keeps the poison of every run\n"
           "pattern      NaN and infinity stand where the truth has them, and nowhere else\n"
           "rmse         RMSE against the truth over hypot(floor, allowance rms / 128)\n"
           "roundings    RMSE against an evaluation with the roundings that the kernel states\n"
           "             (run --roundings)\n"
           "gauge_p99    99th percentile of |error| over its allowance\n"
           "gauge_max    largest |error| over its allowance\n"
           "repeat       equal inputs give equal bits, run after run\n"
           "certificate  FP64 is 100 times closer to MPFR than the kernel; else nothing is judged\n"
           "answer       probes with a closed form: the truth agrees, the kernel hits it\n"
           "inputs       the kernel changed no input\n"
           "guard        the kernel wrote nothing past the end of an output\n"
           "scratch      nor past its saved tensors and workspace, nor before what it was given\n"
           "golden       the bits are those of the card that made the golden file\n"
           "across       every device that runs the case gives the same bits; noted when not\n"
           "error        a kernel that declines, or returns an error, is not verified\n"
           "ablation     over cases: what a feature earned it still earns (gradgate gate)\n"
           "levels of determinism, when asked for (gradgate determinism, run --levels):\n");
    for (int l = 0; l < GG_LEVELS; l++)
        printf("%-12s %s\n", gg_level_name((gg_level)l), gg_level_summary((gg_level)l));
    printf("and on suites with relations (cases/README.md):\n"
           "wanted       every subset of wanted gradients, and forward alone, give the same bits\n"
           "views        byte offsets, strides and expanded axes change no bit, or are declined\n"
           "slice        bits of an independent index do not depend on the others\n"
           "order        sums over such an index are right in its reverse order too\n"
           "fresh        new values at the same addresses, with no truth in memory, are right\n");
    for (int i = 0; gg_operators[i] != NULL; i++) gg_relations_list(gg_operators[i]);
}

static void list_roundings(void)
{
    for (int i = 0; gg_operators[i] != NULL; i++)
        for (const gg_rounding_point *r = gg_operators[i]->roundings;
             r != NULL && r->name != NULL; r++)
            printf("%-20s %-14s %s\n", gg_operators[i]->name, r->name, r->summary);
}

static void list_claims(void)
{
    for (int i = 0; gg_operators[i] != NULL; i++)
        for (const gg_claim *c = gg_operators[i]->claims; c != NULL && c->text != NULL; c++)
            printf("%-20s %-10s %s (%s)\n", gg_operators[i]->name,
                   c->kernel ? c->kernel : "any", c->text, c->source);
}

/* Planted faults: each runs as --kernel mutant:NAME on the cases that match its pattern. */
static void list_mutants(void)
{
    for (int s = 0; gg_mutant_sets[s] != NULL; s++)
        for (const gg_mutant *m = gg_mutant_sets[s]->mutants; m->name != NULL; m++)
            printf("%-20s %-4s %-23s %-10s %-10s %-16s %-22s %s\n",
                   gg_mutant_sets[s]->operator_name, m->kind, m->name,
                   gg_mutant_sets[s]->base(m), m->check, gg_mutant_sets[s]->suite, m->cases,
                   m->fault);
}

static void list_limits(const gg_kernel *const *kernels)
{
    for (int i = 0; kernels[i] != NULL; i++) {
        const gg_kernel *k = kernels[i];
        if (k->limits == NULL) printf("%-20s %-10s states no limits\n", k->operator_name, k->name);
        for (int o = 0; k->limits != NULL && k->outputs[o] != NULL; o++)
            printf("%-20s %-10s %-5s %-6s rmse <= %-5g (f32 %-5g)  gauge p99 <= %-5g max <= %g\n",
                   k->operator_name, k->name, k->device == kDLCPU ? "host" : "cuda",
                   k->outputs[o], k->limits[o].rmse_over_floor, k->limits[o].rmse_f32,
                   k->limits[o].gauge_p99, k->limits[o].gauge_max);
    }
}

/* `list kernels --kernel ./mine.so`: what a shared object brings, instead of what is
 * built in. */
static int list_plugin(const char *what, const char *path)
{
    gg_plugin plugin;
    bool kernels = strcmp(what, "kernels") == 0;
    gg_status status = gg_fail(GG_BAD_INPUT, "list %s takes no --kernel, only list kernels and "
                               "list limits do", what);
    if (kernels || strcmp(what, "limits") == 0) status = gg_plugin_open(path, &plugin);
    if (status != GG_OK) return gg_complain(status);
    if (kernels) list_kernels(plugin.kernels);
    else list_limits(plugin.kernels);
    return GG_EXIT_PASSED;
}

static int list(int argc, char **argv)
{
    const char *what = "", *path = NULL;
    for (int c; (c = gg_next_option(argc, argv, options)) != -1;) {
        if (c == '?') return gg_complain(GG_BAD_INPUT);
        path = optarg;
    }
    if (argc - optind > 1) {
        gg_fail(GG_BAD_INPUT, "list shows one thing at a time, not %d", argc - optind);
        return gg_complain(GG_BAD_INPUT);
    }
    if (argc - optind == 1) what = argv[optind];
    if (path != NULL) return list_plugin(what, path);
    if (strcmp(what, "operators") == 0) list_operators();
    else if (strcmp(what, "kernels") == 0) list_kernels(gg_kernels);
    else if (strcmp(what, "suites") == 0) return list_suites();
    else if (strcmp(what, "families") == 0) list_families();
    else if (strcmp(what, "checks") == 0) list_checks();
    else if (strcmp(what, "limits") == 0) list_limits(gg_kernels);
    else if (strcmp(what, "roundings") == 0) list_roundings();
    else if (strcmp(what, "claims") == 0) list_claims();
    else if (strcmp(what, "mutants") == 0) list_mutants();
    else {
        gg_fail(GG_BAD_INPUT, "list takes one of operators, kernels, suites, families, "
                "checks, limits, roundings, claims, mutants, not '%s'",
                what);
        return gg_complain(GG_BAD_INPUT);
    }
    return GG_EXIT_PASSED;
}

const gg_command gg_command_list = {
    .name = "list",
    .usage = "operators|kernels|suites|families|checks|limits|roundings|claims|mutants",
    .summary = "says what there is",
    .options = options,
    .run = list,
};

static int doctor(int argc, char **argv)
{
    gg_backend host, gpu;
    char version[32], why[GG_GNUPLOT_WHY];
    (void)argv;
    if (argc != 1) {
        gg_fail(GG_BAD_INPUT, "doctor takes no argument");
        return gg_complain(GG_BAD_INPUT);
    }
    printf("gradgate %s, commit %s\ncompilers: %s\n", GG_VERSION, GG_COMMIT, GG_COMPILER);
    if (gg_backend_open("host", gg_processors(), &host) == GG_OK)
        printf("host: %d processors, %.1f GiB free\n", host.threads,
               (double)host.memory_left() / 0x1p30);
    if (gg_backend_open("cuda", gg_processors(), &gpu) == GG_OK)
        printf("cuda: %s, %.1f GiB free, %s\n", gpu.description,
               (double)gpu.memory_left() / 0x1p30, gpu.driver);
    else
        printf("cuda: not usable: %s\n", gg_message());
    if (gg_gnuplot_version(version, why)) printf("charts: gnuplot %s\n", version);
    else printf("charts: HTML pages have their tables alone: %s\n", why);
    return list_suites();
}

const gg_command gg_command_doctor = {
    .name = "doctor",
    .usage = "",
    .summary = "says what this machine can do",
    .run = doctor,
};
