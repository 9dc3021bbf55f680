/* SPDX-License-Identifier: Apache-2.0
 * gradgate determinism: `gradgate run` of the operator's suite for determinism, with every
 * level, 200 runs of each, and nothing else. */
#include <stdio.h>
#include <string.h>

#include "cases/operator.h"
#include "harness/commands.h"
#include "harness/levels.h"
#include "kernels/registry.h"

static const gg_option options[] = {
    GG_OPTION_KERNEL,
    GG_OPTION_DEVICE,
    {"repeats", 'n', "N", "runs at each level (default 200; of fresh processes fewer)"},
    {"levels", 'L', "LIST",
     "idle,load,placement,process,twin,together (default: all that can be tried)"},
    {"suite", 's', "SUITE", "cases (default: the operator's determinism suite)"},
    {"case", 'c', "GLOB", "only the cases whose id matches"},
    {"out", 'o', "FILE", "the report (default gradgate-determinism.json)"},
    {"resume", 'r', NULL, "go on where a killed run with the same --out stopped"},
    GG_OPTION_THREADS,
    {"workers", 'w', "N", "on the host: N processes share the cases (default: this one alone)"},
    {"timeout", 'x', "SECONDS", "for one call of the kernel (default: by what the case costs)"},
    GG_OPTIONS_END};

/* The values of what was given, by place in `options`; "" for a flag that was. */
typedef struct given {
    const char *value[sizeof options / sizeof options[0]];
} given;

static const char **place_of(given *g, int key)
{
    for (int i = 0; options[i].name != NULL; i++)
        if (options[i].key == key) return &g->value[i];
    return NULL;
}

static gg_status parse(int argc, char **argv, given *g)
{
    unsigned levels;
    int runs;
    for (int c; (c = gg_next_option(argc, argv, options)) != -1;) {
        const char **place = place_of(g, c);
        if (place == NULL) return GG_BAD_INPUT;
        *place = optarg != NULL ? optarg : "";
        if (c == 'L') GG_TRY(gg_levels_parse(optarg, &levels));
        if (c == 'n') GG_TRY(gg_parse_int("repeats", optarg, 2, 1000000, &runs));
    }
    if (optind < argc)
        return gg_fail(GG_BAD_INPUT, "'%s' is not an option of determinism: see 'gradgate help "
                       "determinism'", argv[optind]);
    if (*place_of(g, 'k') == NULL)
        return gg_fail(GG_BAD_INPUT, "determinism needs --kernel: see 'gradgate list kernels'");
    return GG_OK;
}

/* The suite of the operator whose kernel this is. */
static gg_status choose_suite(given *g)
{
    const char **suite = place_of(g, 's'), *kernel = *place_of(g, 'k');
    const char *device = *place_of(g, 'd');
    bool host = device == NULL || strcmp(device, "host") == 0;
    for (int i = 0; *suite == NULL && gg_kernels[i] != NULL; i++) {
        if (strcmp(gg_kernels[i]->name, kernel) != 0) continue;
        const gg_operator *op = gg_operator_find(gg_kernels[i]->operator_name);
        if (op != NULL) *suite = op->determinism[host ? 0 : 1];
    }
    if (*suite != NULL) return GG_OK;
    return gg_fail(GG_BAD_INPUT, "no built-in kernel is called '%s': see 'gradgate list "
                   "kernels', or say --suite", kernel);
}

static void set_default(given *g, int key, const char *value)
{
    const char **place = place_of(g, key);
    if (*place == NULL) *place = value;
}

/* As `gradgate run` with the same options and three more. */
static int run(int argc, char **argv)
{
    enum { MOST = sizeof options / sizeof options[0] };
    char names[MOST][32], *words[2 * MOST + 8] = {(char[]){"run"}};
    int count = 1;
    given g = {{NULL}};
    gg_status status = parse(argc, argv, &g);
    if (status == GG_OK) status = choose_suite(&g);
    if (status != GG_OK) return gg_complain(status);
    set_default(&g, 'n', "200");
    set_default(&g, 'L', "all");
    set_default(&g, 'o', "gradgate-determinism.json");
    for (int i = 0; options[i].name != NULL; i++) {
        if (g.value[i] == NULL) continue;
        snprintf(names[i], sizeof names[i], "--%s", options[i].name);
        words[count++] = names[i];
        if (options[i].value != NULL) words[count++] = (char *)(uintptr_t)g.value[i];
    }
    words[count++] = (char[]){"--ablate=none"};
    words[count++] = (char[]){"--certify=0"};
    optind = 0; /* another command line: getopt starts anew */
    return gg_command_run.run(count, words);
}

const gg_command gg_command_determinism = {
    .name = "determinism",
    .usage = "--kernel KERNEL",
    .summary = "same inputs, same bits? Idle, under load, elsewhere, beside itself",
    .options = options,
    .details =
        "Every case is run many times under one condition after the other, and each run's\n"
        "bits are compared with those of one run that had the device to itself. A control,\n"
        "a kernel whose sums have no fixed order, goes through the same: where it does not\n"
        "differ, the level is not verified, and so it is where the load did not really run\n"
        "beside the kernel. At level together four calls on other inputs are under way at\n"
        "once, each with memory of its own; they must have met, and the control is a kernel\n"
        "whose calls share memory. n equal runs exclude, at 95 %, that a case mismatches more\n"
        "often than 1 - 0.05^(1/(n-1)). Exits and reports as run does.\n",
    .run = run,
};
