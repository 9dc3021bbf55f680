/* SPDX-License-Identifier: Apache-2.0
 * Time and memory of two builds. A time is divided by those of other kernels in the same
 * run, so a warmer card or a slower clock, which slows all of them, changes nothing. */
#include "harness/gate_speed.h"

#include <math.h>
#include <string.h>

#include "harness/bench.h"
#include "harness/gate_rules.h"

#define TEXT(array, ...) snprintf(array, sizeof array, __VA_ARGS__)

typedef struct speed {
    gg_gate *gate;
    const gg_timings *was, *is;
    const char *against; /* NULL: all others */
} speed;

/* Sums over cases of log(time now / time then), relative to the others. */
typedef struct change {
    double sum, square, variance;
    int cases;
} change;

static double percent(double log_ratio) { return 100 * expm1(log_ratio); }

static bool timed(const gg_timing *a, const gg_timing *b, int way)
{
    return a->right && b->right && a->median[way] > 0 && b->median[way] > 0;
}

/* How the other kernels changed on this case: mean of the logs, its variance; how many. */
static int others(const speed *s, const char *id, int way, double *mean, double *variance)
{
    int count = 0;
    *mean = *variance = 0;
    for (int i = 0; i < s->is->count; i++) {
        const gg_timing *now = &s->is->rows[i];
        if (strcmp(now->id, id) != 0 || strcmp(now->kernel, s->gate->report->kernel) == 0 ||
            strcmp(now->kernel, s->gate->baseline->kernel) == 0 ||
            (s->against != NULL && strcmp(now->kernel, s->against) != 0))
            continue;
        const gg_timing *then = gg_timings_find(s->was, id, now->kernel);
        if (then == NULL || !timed(now, then, way)) continue;
        *mean += log(now->median[way] / then->median[way]);
        *variance += now->error[way] * now->error[way] + then->error[way] * then->error[way];
        count++;
    }
    if (count == 0) return 0;
    *mean /= count;
    *variance /= (double)count * count;
    return count;
}

static void add(const speed *s, const gg_timing *now, const gg_timing *then, int way, change *c)
{
    double mean, variance;
    if (!timed(now, then, way) || others(s, now->id, way, &mean, &variance) == 0) return;
    double d = log(now->median[way] / then->median[way]) - mean;
    c->sum += d;
    c->square += d * d;
    c->variance += variance + now->error[way] * now->error[way] +
                   then->error[way] * then->error[way];
    c->cases++;
}

/* Standard error of the mean: what the samples say, or the cases if they scatter more. */
static double error_of(const change *c)
{
    double n = c->cases, mean = c->sum / n;
    double samples = sqrt(c->variance) / n;
    double scatter = n < 2 ? 0 : sqrt(fmax(0, c->square - n * mean * mean) / (n - 1) / n);
    return fmax(samples, scatter);
}

gg_verdict gg_gate_slower(double mean, double error)
{
    const double loss = log(GG_GATE_SLOWER), most = log(GG_GATE_SLOWEST);
    if (mean - 1.96 * error > 0 && mean > loss) return GG_FAILED;
    return mean <= loss && mean + 1.96 * error <= most ? GG_PASSED : GG_NOT_VERIFIED;
}

static void judge_way(speed *s, const char *name, const change *c, char text[80])
{
    snprintf(text, 80, "%s: nothing", name);
    if (c->cases == 0) return;
    double mean = c->sum / c->cases, error = error_of(c);
    gg_verdict verdict = gg_gate_slower(mean, error);
    snprintf(text, 80, "%s %+.1f %%", name, percent(mean));
    if (verdict == GG_PASSED && mean + 1.96 * error > -log(GG_GATE_SLOWER)) return;
    gg_gate_find(s->gate, GG_RULE_SPEED, verdict, NULL,
                 "%s takes %+.1f %% time, relative to the other kernels of each run; 95 %% "
                 "interval %+.1f to %+.1f %%, %d case%s%s", name, percent(mean),
                 percent(mean - 1.96 * error), percent(mean + 1.96 * error), c->cases,
                 GG_S(c->cases), verdict == GG_NOT_VERIFIED ? ": bench with more --reps" : "");
}

/* A faster kernel of a worse class of precision won nothing. */
static void judge_price(speed *s, const change *total)
{
    if (total->cases == 0 || !(total->sum / total->cases < -log(GG_GATE_HALF))) return;
    for (int i = 0; i < s->is->count; i++) {
        const gg_timing *now = &s->is->rows[i];
        if (strcmp(now->kernel, s->gate->report->kernel) != 0) continue;
        const gg_timing *then = gg_timings_find(s->was, now->id, s->gate->baseline->kernel);
        if (then == NULL || isnan(now->graded) || isnan(then->graded) ||
            gg_precision_of(now->graded) <= gg_precision_of(then->graded))
            continue;
        gg_gate_find(s->gate, GG_RULE_SPEED, GG_FAILED, NULL,
                     "a speed-up bought with precision: %+.1f %% time, and RMSE/floor %.3g "
                     "was %.3g in %s", percent(total->sum / total->cases), now->graded,
                     then->graded, now->id);
        return;
    }
}

static void judge_memory(speed *s, const gg_timing *now, const gg_timing *then, double *most)
{
    gg_rule_record *rule = &s->gate->rules[GG_RULE_MEMORY];
    if (isnan(now->bytes) || isnan(then->bytes)) return;
    double growth = now->bytes == then->bytes ? 0 : now->bytes / then->bytes - 1;
    if (rule->compared++ == 0 || growth > *most) *most = growth;
    if (growth <= GG_GATE_SLOWER - 1) return;
    gg_gate_find(s->gate, GG_RULE_MEMORY, GG_FAILED, NULL,
                 "saved tensors and workspace take %.1f MiB, were %.1f MiB, in %s",
                 now->bytes / 0x1p20, then->bytes / 0x1p20, now->id);
}

static void stale(speed *s, const gg_timings *t, const gg_run_record *run, const char *what)
{
    if (!gg_gate_same_commit(t->commit, run->commit))
        gg_gate_find(s->gate, GG_RULE_SPEED, GG_NOT_VERIFIED, NULL,
                     "stale: the bench of the %s is of commit %s, the %s of %s", what,
                     t->commit, what, run->commit);
}

static void judge_likeness(speed *s)
{
    stale(s, s->is, s->gate->report, "report");
    stale(s, s->was, s->gate->baseline, "baseline");
    if (strcmp(s->is->gpu, s->was->gpu) != 0 || strcmp(s->is->device, s->was->device) != 0)
        gg_gate_find(s->gate, GG_RULE_SPEED, GG_NOT_VERIFIED, NULL,
                     "another device: '%s', the baseline's was '%s'", s->is->gpu, s->was->gpu);
    if (s->is->suite_digest != s->was->suite_digest)
        gg_gate_find(s->gate, GG_RULE_SPEED, GG_NOT_VERIFIED, NULL,
                     "the suite of the bench changed: make a new baseline");
}

static void compare_cases(speed *s, change way[2], double *most)
{
    for (int i = 0; i < s->was->count; i++) {
        const gg_timing *then = &s->was->rows[i];
        if (strcmp(then->kernel, s->gate->baseline->kernel) != 0) continue;
        const gg_timing *now = gg_timings_find(s->is, then->id, s->gate->report->kernel);
        if (now == NULL) {
            gg_gate_find(s->gate, GG_RULE_SPEED, GG_NOT_VERIFIED, NULL, "%s was not timed again",
                         then->id);
            continue;
        }
        if (then->right && !now->right)
            gg_gate_find(s->gate, GG_RULE_SPEED, GG_FAILED, NULL,
                         "what was timed in %s is wrong, or was not timed", now->id);
        add(s, now, then, 0, &way[0]);
        add(s, now, then, 1, &way[1]);
        judge_memory(s, now, then, most);
    }
}

void gg_gate_speed(gg_gate *gate, const gg_timings *was, const gg_timings *is,
                   const char *against)
{
    speed s = {gate, was, is, against};
    change way[2] = {{.cases = 0}};
    char text[2][80];
    double most = 0;
    gg_rule_record *time = &gate->rules[GG_RULE_SPEED], *memory = &gate->rules[GG_RULE_MEMORY];
    gate->rule_count = GG_RULES;
    time->verdict = memory->verdict = GG_PASSED;
    judge_likeness(&s);
    compare_cases(&s, way, &most);
    judge_way(&s, "forward", &way[0], text[0]);
    judge_way(&s, "forward and backward", &way[1], text[1]);
    judge_price(&s, &way[1]);
    time->compared = way[0].cases > way[1].cases ? way[0].cases : way[1].cases;
    TEXT(time->text, "%s, %s, relative to %s", text[0], text[1],
         against ? against : "the other kernels");
    if (way[0].cases == 0 || way[1].cases == 0)
        gg_gate_find(gate, GG_RULE_SPEED, GG_NOT_VERIFIED, NULL,
                     "nothing to compare %s with: both benches must time it and another "
                     "kernel%s%s", gate->report->kernel, against ? ", here " : "",
                     against ? against : "");
    if (memory->compared == 0)
        gg_gate_find(gate, GG_RULE_MEMORY, GG_NOT_VERIFIED, NULL, "nothing was compared");
    TEXT(memory->text, "largest change of saved tensors and workspace: %+.1f %%", 100 * most);
    for (int r = GG_RULE_SPEED; r < GG_RULES; r++)
        gate->verdict = gg_verdict_worse(gate->verdict, gate->rules[r].verdict);
}
