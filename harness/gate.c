/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/gate.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "harness/gate_rules.h"
#include "reports/document.h"

#define TEXT(array, ...) snprintf(array, sizeof array, __VA_ARGS__)

void gg_gate_find(gg_gate *gate, gg_rule rule, gg_verdict verdict, const gg_pair_row *row,
                  const char *format, ...)
{
    gg_rule_record *record = &gate->rules[rule];
    gg_finding *kept = gate->findings[rule], finding = {.rule = rule, .verdict = verdict};
    int count = record->findings++;
    if (count > GG_GATE_KEPT) count = GG_GATE_KEPT;
    va_list args;
    va_start(args, format);
    vsnprintf(finding.text, sizeof finding.text, format, args);
    va_end(args);
    if (row != NULL) {
        memcpy(finding.output, row->output, sizeof finding.output);
        memcpy(finding.family, row->family, sizeof finding.family);
    }
    record->verdict = gg_verdict_worse(record->verdict, verdict);
    int at = count; /* behind all that are as bad */
    while (at > 0 && kept[at - 1].verdict != verdict &&
           gg_verdict_worse(kept[at - 1].verdict, verdict) == verdict)
        at--;
    if (at == GG_GATE_KEPT) return;
    int last = count < GG_GATE_KEPT ? count : GG_GATE_KEPT - 1;
    memmove(&kept[at + 1], &kept[at], (size_t)(last - at) * sizeof *kept);
    kept[at] = finding;
}

static bool dirty(const char *commit)
{
    size_t length = strlen(commit), tail = strlen("+dirty");
    return length >= tail && strcmp(commit + length - tail, "+dirty") == 0;
}

static void judge_source(gg_gate *gate, const gg_run_record *run, const char *what)
{
    if (run->commit[0] == '\0' || strcmp(run->commit, "unknown") == 0)
        gg_gate_find(gate, GG_RULE_BUILD, GG_NOT_VERIFIED, NULL,
                     "the %s comes from an unknown commit: build in a git checkout", what);
    else if (dirty(run->commit))
        gg_gate_find(gate, GG_RULE_BUILD, GG_NOT_VERIFIED, NULL,
                     "the %s was built from changed sources (%s): commit, build, run again",
                     what, run->commit);
}

/* Whether one is the beginning of the other; 7 digits at least, as git abbreviates. */
bool gg_gate_same_commit(const char *a, const char *b)
{
    size_t x = strlen(a), y = strlen(b), least = x < y ? x : y;
    return least >= 7 && strncmp(a, b, least) == 0;
}

/* A baseline that was replaced by the report's own copy would pass whatever it says. */
static bool same_run(const gg_run_record *a, const gg_run_record *b)
{
    return a->kernel_digest == b->kernel_digest && a->count == b->count &&
           a->place.seconds == b->place.seconds &&
           strcmp(a->place.started, b->place.started) == 0 &&
           strcmp(a->place.finished, b->place.finished) == 0;
}

static void judge_build(gg_gate *gate, const char *commit)
{
    const gg_run_record *was = gate->baseline, *is = gate->report;
    gate->rules[GG_RULE_BUILD].compared = 2;
    judge_source(gate, is, "report");
    judge_source(gate, was, "baseline");
    if (commit != NULL && !gg_gate_same_commit(is->commit, commit))
        gg_gate_find(gate, GG_RULE_BUILD, GG_NOT_VERIFIED, NULL,
                     "stale: the report is of commit %s, not of %s: build and run again",
                     is->commit, commit);
    int64_t then = gg_epoch_milliseconds(was->place.started);
    int64_t now = gg_epoch_milliseconds(is->place.started);
    if (now < then || now == 0)
        gg_gate_find(gate, GG_RULE_BUILD, GG_NOT_VERIFIED, NULL,
                     "stale: the report (%s) is older than its baseline (%s): run again",
                     is->place.started, was->place.started);
    if (same_run(was, is))
        gg_gate_find(gate, GG_RULE_BUILD, GG_NOT_VERIFIED, NULL,
                     "report and baseline are the same run: nothing was compared");
    if (gg_run_verdict(was) != GG_PASSED)
        gg_gate_find(gate, GG_RULE_BUILD, GG_PASSED, NULL, "the baseline itself is %s",
                     gg_verdict_name(gg_run_verdict(was)));
    if (strcmp(was->kernel, is->kernel) != 0 || strcmp(was->device, is->device) != 0)
        gg_gate_find(gate, GG_RULE_BUILD, GG_PASSED, NULL,
                     "another kernel: %s on %s, baseline %s on %s", is->kernel, is->device,
                     was->kernel, was->device);
    TEXT(gate->rules[GG_RULE_BUILD].text, "commit %s, baseline %s", is->commit,
         was->commit);
}

static void judge_limit(gg_gate *gate, const char *output, const char *name, double was,
                        double is)
{
    if (is <= was || isnan(was)) return; /* NaN: none was stated, so none is loosened */
    bool reason = strcmp(gate->baseline->limits_note, gate->report->limits_note) != 0;
    gg_gate_find(gate, GG_RULE_LIMITS, reason ? GG_PASSED : GG_FAILED, NULL,
                 "limit %s of %s loosened from %g to %g%s%s", name, output, was, is,
                 reason ? "; reason: " : " without a new reason (limits_note)",
                 reason ? gate->report->limits_note : "");
}

static void judge_loosened(gg_gate *gate)
{
    const gg_run_record *was = gate->baseline, *is = gate->report;
    if (strcmp(was->kernel, is->kernel) != 0 || strcmp(was->device, is->device) != 0)
        return;
    for (int i = 0; i < was->limit_count; i++) {
        const gg_limit_record *then = &was->limits[i], *now = NULL;
        for (int k = 0; k < is->limit_count && now == NULL; k++)
            if (strcmp(is->limits[k].output, then->output) == 0) now = &is->limits[k];
        if (now == NULL) {
            gg_gate_find(gate, GG_RULE_LIMITS, GG_FAILED, NULL, "the limits of %s are gone",
                         then->output);
            continue;
        }
        judge_limit(gate, then->output, "rmse/floor", then->rmse_over_floor,
                    now->rmse_over_floor);
        judge_limit(gate, then->output, "gauge p99", then->gauge_p99, now->gauge_p99);
        judge_limit(gate, then->output, "gauge max", then->gauge_max, now->gauge_max);
    }
}

static const gg_check *check_of(const gg_output_record *output, const char *name)
{
    for (int i = 0; i < output->check_count; i++)
        if (strcmp(output->checks[i].name, name) == 0) return &output->checks[i];
    return NULL;
}

/* FP32 outputs have an RMSE limit of their own, which only their checks hold. */
static void judge_loosened_f32(gg_gate *gate)
{
    const gg_run_record *was = gate->baseline, *is = gate->report;
    bool said[GG_MAX_OUTPUTS] = {false};
    for (int i = 0, k = 0; i < is->count && k < was->count;) {
        const gg_case_record *now = &is->cases[i], *then = &was->cases[k];
        i += now->index <= then->index;
        k += then->index <= now->index;
        if (now->index != then->index || now->output_count != then->output_count) continue;
        for (int o = 0; o < now->output_count; o++) {
            const gg_check *a = check_of(&then->outputs[o], "rmse");
            const gg_check *b = check_of(&now->outputs[o], "rmse");
            if (now->outputs[o].dtype != GG_F32 || a == NULL || b == NULL || said[o] ||
                b->limit <= a->limit)
                continue;
            said[o] = true;
            judge_limit(gate, now->outputs[o].name, "rmse (FP32)", a->limit, b->limit);
        }
    }
}

static bool is_certified(const gg_case_record *record)
{
    for (int o = 0; o < record->output_count; o++)
        if (record->outputs[o].certified > 0) return true;
    return false;
}

/* What stood behind the baseline must stand behind the report too: certified truths, and the
 * digests of a card. */
static void judge_evidence(gg_gate *gate)
{
    int certified[2] = {0, 0};
    for (int i = 0; i < gate->pairing.count; i++) {
        certified[0] += is_certified(gate->pairing.pairs[i].was);
        certified[1] += is_certified(gate->pairing.pairs[i].is);
    }
    if (certified[1] < certified[0])
        gg_gate_find(gate, GG_RULE_LIMITS, certified[1] > 0 ? GG_PASSED : GG_NOT_VERIFIED, NULL,
                     "weaker: MPFR certified the truth of %d case%s, of %d before (--certify)",
                     certified[1], GG_S(certified[1]), certified[0]);
    if (gate->report->roundings < gate->baseline->roundings)
        gg_gate_find(gate, GG_RULE_LIMITS, GG_PASSED, NULL,
                     "weaker: %d case%s held to the stated roundings, %d before (--roundings)",
                     gate->report->roundings, GG_S(gate->report->roundings),
                     gate->baseline->roundings);
    if (gate->baseline->golden[0] != '\0' && gate->report->golden[0] == '\0')
        gg_gate_find(gate, GG_RULE_LIMITS, GG_PASSED, NULL,
                     "weaker: not held to golden digests any more (--golden)");
}

static void judge_limits(gg_gate *gate)
{
    const gg_run_record *is = gate->report;
    gg_rule_record *rule = &gate->rules[GG_RULE_LIMITS];
    rule->compared = is->count;
    for (int i = 0; i < is->count; i++)
        if (is->cases[i].verdict != GG_PASSED)
            gg_gate_find(gate, GG_RULE_LIMITS, is->cases[i].verdict, NULL, "%s: %s",
                         is->cases[i].id, is->cases[i].reason);
    judge_loosened(gate);
    if (strcmp(gate->baseline->kernel, is->kernel) == 0) judge_loosened_f32(gate);
    judge_evidence(gate);
    if (gg_run_verdict(is) == GG_NOT_VERIFIED && gg_run_count(is, GG_NOT_VERIFIED) == 0)
        gg_gate_find(gate, GG_RULE_LIMITS, GG_NOT_VERIFIED, NULL,
                     "%d of %d cases were not run although the whole suite was asked for",
                     is->suite_count - is->count, is->suite_count);
    rule->verdict = gg_verdict_worse(rule->verdict, gg_run_verdict(is));
    TEXT(rule->text, "%d of %d cases passed under the report's own limits",
         gg_run_count(is, GG_PASSED), is->count);
}

static void judge_cases(gg_gate *gate)
{
    const gg_pairing *p = &gate->pairing;
    gg_rule_record *rule = &gate->rules[GG_RULE_CASES];
    rule->compared = p->count;
    if (p->suite_changed)
        gg_gate_find(gate, GG_RULE_CASES, GG_NOT_VERIFIED, NULL,
                     "suite %s changed since the baseline: make a new baseline",
                     gate->report->suite);
    if (p->lost.count > 0)
        gg_gate_find(gate, GG_RULE_CASES, GG_NOT_VERIFIED, NULL,
                     "lost: %d case%s of the baseline not measured, the first is %s",
                     p->lost.count, GG_S(p->lost.count), p->lost.first);
    if (p->foreign.count > 0)
        gg_gate_find(gate, GG_RULE_CASES, GG_NOT_VERIFIED, NULL,
                     "not comparable: %d case%s with other inputs or tensors, the first is "
                     "%s",
                     p->foreign.count, GG_S(p->foreign.count), p->foreign.first);
    if (p->count == 0)
        gg_gate_find(gate, GG_RULE_CASES, GG_NOT_VERIFIED, NULL, "nothing was compared");
    if (p->added.count > 0)
        gg_gate_find(gate, GG_RULE_CASES, GG_PASSED, NULL,
                     "new: %d case%s that the baseline lacks, the first is %s",
                     p->added.count, GG_S(p->added.count), p->added.first);
    TEXT(rule->text, "%d case%s compared, %d lost, %d not comparable, %d new", p->count,
         GG_S(p->count), p->lost.count, p->foreign.count, p->added.count);
}

gg_status gg_gate_make(const gg_run_record *baseline, const gg_run_record *report,
                       bool exact, const char *commit, gg_gate *gate)
{
    memset(gate, 0, sizeof *gate);
    gate->baseline = baseline;
    gate->report = report;
    gate->exact = exact;
    gate->rule_count = GG_RULE_SPEED;
    GG_TRY(gg_pairing_make(baseline, report, &gate->pairing));
    for (int r = 0; r < gate->rule_count; r++) gate->rules[r].verdict = GG_PASSED;
    judge_limits(gate);
    judge_build(gate, commit);
    judge_cases(gate);
    gg_gate_judge_rmse(gate);
    gg_gate_judge_determinism(gate);
    gg_gate_judge_bits(gate);
    gg_gate_judge_compensation(gate);
    gg_gate_judge_precision(gate);
    gate->verdict = GG_PASSED;
    for (int r = 0; r < gate->rule_count; r++)
        gate->verdict = gg_verdict_worse(gate->verdict, gate->rules[r].verdict);
    return GG_OK;
}

void gg_gate_free(gg_gate *gate) { gg_pairing_free(&gate->pairing); }
