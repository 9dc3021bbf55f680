/* SPDX-License-Identifier: Apache-2.0
 * Planted evidence for the levels of determinism: an honest kernel under conditions that
 * prove nothing, and records that say more than they have. */
#include "harness/selftest_levels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge.h"
#include "harness/levels.h"
#include "kernels/registry.h"
#include "reports/consistent.h"

enum { TRIES = 20 };

/* A kernel that promises equal bits and one that does not, of an operator on the host. */
static const gg_kernel *host_kernel(const char *operator_name, gg_repeat repeat)
{
    for (int i = 0; gg_kernels[i] != NULL; i++)
        if (gg_kernels[i]->device == kDLCPU && gg_kernels[i]->repeat == repeat &&
            strcmp(gg_kernels[i]->operator_name, operator_name) == 0)
            return gg_kernels[i];
    return NULL;
}

typedef struct setting {
    gg_level level;
    bool honest_control; /* in place of one that differs */
    bool no_load;        /* the load's time is never shared */
    bool in_turn;        /* calls that should be made at once are made in turn */
    bool any_overlap;    /* and nobody asks whether they met */
} setting;

static gg_status no_share(gg_load *load, double *shared, double *seconds)
{
    gg_backend host;
    gg_status status = gg_backend_open("host", 1, &host);
    if (status == GG_OK) status = host.load_stop(load, shared, seconds);
    *shared = 0;
    return status;
}

static gg_status run_in_turn(gg_streams *streams, int first, int count, gg_half_call *half,
                             void *context, gg_span *spans, int *errors)
{
    gg_backend host;
    gg_status status = gg_backend_open("host", 1, &host);
    for (int i = first; i < first + count && status == GG_OK; i++)
        status = host.streams_run(streams, i, 1, half, context, spans, errors);
    return status;
}

/* The verdict on an honest kernel in the first case of its operator's suite. */
static gg_verdict verdict_of(const setting *how)
{
    const gg_operator *op = gg_operators[0];
    gg_backend host;
    gg_suite suite = {.count = 0};
    gg_case_record *record = malloc(sizeof *record);
    gg_verdict verdict = GG_FAILED;
    if (record != NULL && gg_backend_open("host", 1, &host) == GG_OK &&
        gg_suite_load(op->determinism[0], &suite) == GG_OK) {
        if (how->no_load) host.load_stop = no_share;
        if (how->in_turn) host.streams_run = run_in_turn;
        if (how->any_overlap || !(how->no_load || how->in_turn))
            host.overlap_least = 0; /* the machine may be busy */
        gg_plan plan = {.backend = &host, .suite = &suite, .repeats = 2, .certify = -1,
                        .ablated = -1, .levels = 1u << how->level, .level_runs = 6,
                        .kernel = host_kernel(op->name, GG_REPEAT_RUN_TO_RUN)};
        plan.control = how->honest_control
                           ? plan.kernel : host_kernel(op->name, GG_REPEAT_NOT_GUARANTEED);
        gg_arena arena = {.backend = &host};
        gg_case_run(&plan, 0, &arena, record);
        if (record->level_count == 1) verdict = record->levels[0].verdict;
        gg_arena_free(&arena);
    }
    gg_suite_free(&suite);
    free(record);
    return verdict;
}

/* Whether an honest kernel passes the level. A busy machine may not let the calls meet or the
 * control differ: then the level is rightly not verified, and another try is due. */
static bool can_pass(gg_level level)
{
    gg_verdict verdict = GG_NOT_VERIFIED;
    for (int i = 0; i < TRIES && verdict == GG_NOT_VERIFIED; i++)
        verdict = verdict_of(&(setting){.level = level});
    return verdict == GG_PASSED;
}

bool gg_probe_level_control(void)
{
    return can_pass(GG_LEVEL_IDLE) &&
           verdict_of(&(setting){.level = GG_LEVEL_IDLE, .honest_control = true}) ==
               GG_NOT_VERIFIED;
}

bool gg_probe_level_load(void)
{
    return can_pass(GG_LEVEL_LOAD) &&
           verdict_of(&(setting){.level = GG_LEVEL_LOAD, .no_load = true}) ==
               GG_NOT_VERIFIED;
}

/* Neither by the clock, nor by what shared memory does to them, have such calls met. */
bool gg_probe_level_together(void)
{
    return can_pass(GG_LEVEL_TOGETHER) &&
           verdict_of(&(setting){.level = GG_LEVEL_TOGETHER, .in_turn = true}) ==
               GG_NOT_VERIFIED &&
           verdict_of(&(setting){.level = GG_LEVEL_TOGETHER, .in_turn = true,
                                 .any_overlap = true}) == GG_NOT_VERIFIED;
}

bool gg_probe_level_process(void)
{
    return verdict_of(&(setting){.level = GG_LEVEL_PROCESS}) == GG_NOT_VERIFIED;
}

/* A case with one output, one passed check and one level. */
static gg_case_record leveled(gg_verdict level)
{
    gg_case_record c = {.runs = 2, .output_count = 1, .level_count = 1};
    gg_output_record *o = &c.outputs[0];
    gg_level_record *l = &c.levels[0];
    *o = (gg_output_record){.dtype = GG_F32, .ndim = 1, .shape = {4}, .count = 4,
                            .pattern_first = -1, .repeat_first = -1};
    *l = (gg_level_record){.verdict = level, .runs = 200, .control_differed = 1,
                           .overlap_least = NAN, .overlap = NAN};
    snprintf(c.id, sizeof c.id, "case");
    snprintf(o->name, sizeof o->name, "x");
    snprintf(l->name, sizeof l->name, "idle");
    gg_check_add(o, "repeat", 0, 0, "");
    gg_judge_case(&c);
    return c;
}

bool gg_probe_level_evidence(void)
{
    char why[GG_FAULT_SIZE];
    gg_case_record *c = malloc(sizeof *c);
    if (c == NULL) return false;
    *c = leveled(GG_PASSED);
    bool honest = c->verdict == GG_PASSED && !gg_case_fault(c, NULL, why);
    c->levels[0].control_differed = 0;
    bool refused = gg_case_fault(c, NULL, why);
    free(c);
    return honest && refused;
}

bool gg_probe_level_case(void)
{
    gg_case_record *c = malloc(sizeof *c);
    if (c == NULL) return false;
    *c = leveled(GG_PASSED);
    bool honest = c->verdict == GG_PASSED;
    *c = leveled(GG_FAILED);
    bool caught = c->verdict == GG_FAILED;
    *c = leveled(GG_NOT_VERIFIED);
    caught = caught && c->verdict == GG_NOT_VERIFIED;
    free(c);
    return honest && caught;
}
