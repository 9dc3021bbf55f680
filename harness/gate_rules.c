/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/gate_rules.h"

#include <math.h>
#include <string.h>

enum { FEWEST_PAIRS = 5 }; /* as for the ablation: fewer have no interval */

#define TEXT(array, ...) snprintf(array, sizeof array, __VA_ARGS__)

/* log(ratio) as a loss in percent. */
static double percent(double log_ratio) { return 100 * expm1(log_ratio); }

gg_verdict gg_gate_rmse(const gg_pair_row *row)
{
    const double loss = log(GG_GATE_LOSS), half = log(GG_GATE_HALF);
    if (row->undefined[1] > 0) return GG_FAILED;
    if (row->undefined[0] > 0 || isnan(row->mean)) return GG_NOT_VERIFIED;
    if (row->most <= half) return GG_PASSED;
    if (row->pairs < FEWEST_PAIRS)
        return row->least <= log(GG_GATE_EACH) ? GG_NOT_VERIFIED : GG_FAILED;
    if (row->low > 0 && !(row->mean <= half)) return GG_FAILED;
    return row->high < loss ? GG_PASSED : GG_NOT_VERIFIED;
}

/* What the verdict stands on: the interval, or the single pairs where there is none. */
static const char *span(const gg_pair_row *row, char text[96])
{
    if (row->pairs < FEWEST_PAIRS)
        snprintf(text, 96, "%d pairs from %+.2f to %+.2f %%", row->pairs,
                 percent(row->least), percent(row->most));
    else
        snprintf(text, 96, "95 %% interval %+.2f to %+.2f %%, %d pairs", percent(row->low),
                 percent(row->high), row->pairs);
    return text;
}

static void explain_rmse(gg_gate *gate, const gg_pair_row *row, gg_verdict verdict)
{
    char text[96];
    if (row->undefined[0] + row->undefined[1] > 0)
        gg_gate_find(gate, GG_RULE_RMSE, verdict, row,
                     "RMSE is NaN in %d of %d cases of the report, in %d of the baseline",
                     row->undefined[1], row->pairs, row->undefined[0]);
    else if (verdict == GG_FAILED)
        gg_gate_find(gate, GG_RULE_RMSE, verdict, row,
                     "RMSE %.4g was %.4g: %+.2f %% in the mean; %s", row->rmse[1],
                     row->rmse[0], percent(row->mean), span(row, text));
    else if (verdict == GG_NOT_VERIFIED)
        gg_gate_find(gate, GG_RULE_RMSE, verdict, row,
                     "cannot exclude a loss of 5 %%: %+.2f %% in the mean; %s: run more "
                     "cases",
                     percent(row->mean), span(row, text));
    else if (row->pairs >= FEWEST_PAIRS && row->high < -log(GG_GATE_HALF))
        gg_gate_find(gate, GG_RULE_RMSE, verdict, row,
                     "improved: %+.2f %% in the mean, at most %+.2f %%", percent(row->mean),
                     percent(row->high));
}

void gg_gate_judge_rmse(gg_gate *gate)
{
    const gg_pairing *p = &gate->pairing;
    gg_rule_record *rule = &gate->rules[GG_RULE_RMSE];
    double worst = -INFINITY;
    int at = -1;
    for (int i = 0; i < p->row_count; i++) {
        const gg_pair_row *row = &p->rows[i];
        explain_rmse(gate, row, gg_gate_rmse(row));
        if (row->mean <= worst) continue;
        worst = row->mean;
        at = i;
    }
    rule->compared = p->row_count;
    if (at < 0) {
        rule->verdict = gg_verdict_worse(rule->verdict, GG_NOT_VERIFIED);
        TEXT(rule->text, "nothing was compared");
        return;
    }
    TEXT(rule->text,
         "largest change of the mean: %+.2f %% (%s %s), over %d outputs and families",
         percent(worst), p->rows[at].output,
         p->rows[at].family[0] ? p->rows[at].family : "all", p->row_count);
}

/* Elements that differed between equal runs, over all outputs; -1 when never run twice. */
static int64_t differing(const gg_case_record *record)
{
    int64_t sum = 0;
    for (int o = 0; o < record->output_count; o++)
        sum += record->outputs[o].repeat_differing;
    return record->runs < 2 ? -1 : sum;
}

/* A level of determinism that passed before must pass still. */
static void judge_levels(gg_gate *gate, const gg_case_record *was, const gg_case_record *is)
{
    for (int l = 0; l < was->level_count; l++) {
        const char *name = was->levels[l].name;
        const gg_level_record *now = NULL;
        if (was->levels[l].verdict != GG_PASSED) continue;
        for (int k = 0; k < is->level_count; k++)
            if (strcmp(is->levels[k].name, name) == 0) now = &is->levels[k];
        if (now != NULL && now->verdict == GG_PASSED) continue;
        if (now == NULL)
            gg_gate_find(gate, GG_RULE_DETERMINISM, GG_NOT_VERIFIED, NULL,
                         "%s: level %s was passed and is not there any more", is->id, name);
        else
            gg_gate_find(gate, GG_RULE_DETERMINISM, now->verdict, NULL,
                         "%s: level %s was passed: %s", is->id, name, now->note);
    }
}

void gg_gate_judge_determinism(gg_gate *gate)
{
    gg_rule_record *rule = &gate->rules[GG_RULE_DETERMINISM];
    int kept = 0, fewer = 0, runs[2] = {0, 0};
    for (int i = 0; i < gate->pairing.count; i++) {
        const gg_case_record *was = gate->pairing.pairs[i].was,
                             *is = gate->pairing.pairs[i].is;
        judge_levels(gate, was, is);
        if (differing(was) != 0) continue; /* nothing to keep */
        rule->compared++;
        if (differing(is) > 0)
            gg_gate_find(gate, GG_RULE_DETERMINISM, GG_FAILED, NULL,
                         "%s: %lld elements differ between equal runs, none did before",
                         is->id, (long long)differing(is));
        else if (differing(is) < 0)
            gg_gate_find(gate, GG_RULE_DETERMINISM, GG_NOT_VERIFIED, NULL,
                         "%s: one run shows no determinism: --repeats %d", is->id,
                         was->runs);
        else kept++;
        if (is->runs >= was->runs) continue;
        if (fewer++ == 0) runs[0] = was->runs, runs[1] = is->runs;
    }
    if (fewer > 0)
        gg_gate_find(gate, GG_RULE_DETERMINISM, GG_PASSED, NULL,
                     "weaker claim: %d case%s ran fewer times than before (%d, then %d)",
                     fewer, GG_S(fewer), runs[1], runs[0]);
    if (strcmp(gate->baseline->promise, "run to run") == 0 &&
        strcmp(gate->report->promise, "run to run") != 0)
        gg_gate_find(gate, GG_RULE_DETERMINISM, GG_FAILED, NULL,
                     "the promise was withdrawn: %s, now %s", gate->baseline->promise,
                     gate->report->promise);
    if (rule->compared > 0)
        TEXT(rule->text, "%d of %d cases kept equal bits from run to run", kept,
             rule->compared);
    else TEXT(rule->text, "the baseline shows no case with equal bits from run to run");
}

static bool same_bits(const gg_pair *pair)
{
    for (int o = 0; o < pair->is->output_count; o++) {
        const gg_output_record *is = &pair->is->outputs[o];
        const gg_output_record *was = gg_output_find(pair->was, is->name);
        if (was == NULL || was->digest != is->digest || was->dtype != is->dtype)
            return false;
    }
    return true;
}

void gg_gate_judge_bits(gg_gate *gate)
{
    const gg_pairing *p = &gate->pairing;
    gg_rule_record *rule = &gate->rules[GG_RULE_BITS];
    gg_verdict changed = gate->exact ? GG_FAILED : GG_PASSED;
    int count = 0;
    const char *first = "";
    for (int i = 0; i < p->count; i++) {
        if (same_bits(&p->pairs[i])) continue;
        if (count++ == 0) first = p->pairs[i].is->id;
    }
    for (int i = 0; i < p->row_count; i++) {
        const gg_pair_row *row = &p->rows[i];
        if (row->family[0] == '\0' && row->equal_bits < row->pairs)
            gg_gate_find(gate, GG_RULE_BITS, changed, row, "bits changed in %d of %d cases",
                         row->pairs - row->equal_bits, row->pairs);
    }
    rule->compared = p->count;
    if (p->count == 0) {
        rule->verdict = GG_NOT_VERIFIED;
        TEXT(rule->text, "nothing was compared");
    } else if (count > 0) {
        TEXT(rule->text, "changed in %d of %d cases, the first is %s%s", count, p->count,
             first, gate->exact ? "" : " (announced; --bits exact fails on it)");
    } else {
        TEXT(rule->text, "equal in all %d case%s", p->count, GG_S(p->count));
    }
}

static void judge_ablation(gg_gate *gate, const gg_pair_row *row)
{
    const gg_ablation_row *was = &row->ablation[0], *is = &row->ablation[1];
    if (row->unablated > 0) {
        if (row->family[0] != '\0') return; /* said once an output */
        gg_gate_find(gate, GG_RULE_COMPENSATION, GG_NOT_VERIFIED, row,
                     "the ablated run is missing in %d case%s: run without --ablate none",
                     row->unablated, GG_S(row->unablated));
        return;
    }
    if (was->pairs == 0 || was->outcome != GG_EARNED) return;
    gate->rules[GG_RULE_COMPENSATION].compared++;
    if (is->outcome == GG_EARNED) return;
    gg_gate_find(gate, GG_RULE_COMPENSATION, GG_FAILED, row,
                 "was earned (%.1f %% of RMSE saved), is %s: %.1f %%, interval %.1f to "
                 "%.1f %%, %d pairs",
                 100 * was->mean, gg_outcome_name(is->outcome), 100 * is->mean,
                 100 * is->low, 100 * is->high, is->pairs);
}

void gg_gate_judge_compensation(gg_gate *gate)
{
    const gg_pairing *p = &gate->pairing;
    gg_rule_record *rule = &gate->rules[GG_RULE_COMPENSATION];
    for (int i = 0; i < p->row_count; i++) judge_ablation(gate, &p->rows[i]);
    if (rule->compared > 0)
        TEXT(rule->text, "%s: earned for %d outputs and families before, %d of them now%s",
             gate->baseline->ablation, rule->compared,
             rule->compared - (rule->verdict == GG_FAILED ? rule->findings : 0),
             rule->verdict == GG_NOT_VERIFIED ? "; not all were tried" : "");
    else if (rule->verdict == GG_PASSED)
        TEXT(rule->text, "the baseline earned nothing that could be lost");
    else TEXT(rule->text, "the ablated runs of the baseline were not repeated");
}

/* How far above the rounding of its own type an output is. */
static int class_of(const gg_pair_row *row, int side)
{
    double ratio = row->rmse[side] / row->floor[side];
    if (row->rmse[side] == 0) return 0;
    if (ratio <= 1.1) return 1;
    if (ratio <= 0x1p20) return 2 + (int)ceil(log2(ratio) - 1e-9);
    return 32; /* a NaN too */
}

static const char *class_name(int class, char text[48])
{
    if (class <= 1) snprintf(text, 48, class == 0 ? "exact" : "at the rounding floor");
    else if (class == 32) snprintf(text, 48, "no relation to the floor");
    else snprintf(text, 48, "within %d x the floor", 1 << (class - 2));
    return text;
}

void gg_gate_judge_precision(gg_gate *gate)
{
    const gg_pairing *p = &gate->pairing;
    gg_rule_record *rule = &gate->rules[GG_RULE_PRECISION];
    int changed = 0, whole = 0; /* whole: how the class of all families together moved */
    char was[48], is[48];
    for (int i = 0; i < p->row_count; i++) {
        const gg_pair_row *row = &p->rows[i];
        bool narrower = gg_dtype_bytes(row->dtype[1]) < gg_dtype_bytes(row->dtype[0]);
        if (row->dtype[0] != row->dtype[1] && row->family[0] == '\0')
            gg_gate_find(gate, GG_RULE_PRECISION, narrower ? GG_FAILED : GG_PASSED, row,
                         "type %s, was %s", gg_dtype_name(row->dtype[1]),
                         gg_dtype_name(row->dtype[0]));
        int then = class_of(row, 0), now = class_of(row, 1);
        int move = (now > then) - (now < then);
        bool resolved = gg_gate_rmse(row) == GG_FAILED || row->most < -log(GG_GATE_HALF);
        if (!resolved) move = 0; /* noise across a border is no new class */
        if (row->family[0] == '\0') whole = move;
        changed += move != 0;
        if (move == 0 || (row->family[0] != '\0' && move == whole)) continue;
        gg_gate_find(gate, GG_RULE_PRECISION, move > 0 ? GG_FAILED : GG_PASSED, row,
                     "precision %s: %s, was %s", move > 0 ? "given up" : "gained",
                     class_name(now, is), class_name(then, was));
    }
    rule->compared = p->row_count;
    if (p->row_count == 0) rule->verdict = GG_NOT_VERIFIED;
    TEXT(rule->text,
         p->row_count == 0 ? "nothing was compared"
                           : "class of rmse/floor changed in %d of %d",
         changed, p->row_count);
}
