/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/deal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge.h"

/* What a place that did not measure the case says about its bits. */
typedef struct echo {
    bool there;          /* digests came; else `verdict` and `reason` */
    gg_verdict verdict;
    uint64_t input, output[GG_MAX_OUTPUTS];
    char reason[128];
} echo;

typedef struct task {
    int index;               /* in the suite */
    bool spread;             /* to be run at every place */
    bool done;               /* handed in */
    uint64_t taken;          /* places that have it or had it */
    uint64_t answered;
    int owner;               /* place that measures it, -1: none yet */
    gg_case_record *record;  /* NULL until it is measured; only of a spread task */
    echo *echoes;            /* by place */
} task;

struct gg_deal {
    const gg_suite *suite;
    const char *const *names;
    int places;
    uint64_t here;           /* places that still work */
    gg_finish *finish;
    void *context;
    task *tasks;
    int count, done;
    int next;                /* no task before it is untaken but spread ones */
};

static uint64_t bit(int place) { return UINT64_C(1) << place; }

static void choose_spread(gg_deal *d)
{
    int step = d->count / GG_SPREAD_LEAST;
    if (step > GG_SPREAD_STEP) step = GG_SPREAD_STEP;
    if (step < 1) step = 1;
    for (int i = 0; i < d->count; i += step) d->tasks[i].spread = true;
}

gg_status gg_deal_open(const gg_suite *suite, const int *indices, int count,
                       const char *const *names, int places, gg_finish *finish,
                       void *context, gg_deal **result)
{
    gg_deal *d = calloc(1, sizeof *d);
    *result = d;
    if (d == NULL) return gg_fail(GG_NO_MEMORY, "no memory to deal out cases");
    *d = (gg_deal){.suite = suite, .names = names, .places = places, .finish = finish,
                   .context = context, .count = count, .here = bit(places) - 1};
    if (places == GG_MAX_DEVICES) d->here = UINT64_MAX;
    d->tasks = calloc((size_t)count + 1, sizeof *d->tasks);
    if (d->tasks == NULL) return gg_fail(GG_NO_MEMORY, "no memory to deal out cases");
    for (int i = 0; i < count; i++) d->tasks[i] = (task){.index = indices[i], .owner = -1};
    if (places > 1) choose_spread(d);
    for (int i = 0; i < count; i++) {
        if (!d->tasks[i].spread) continue;
        d->tasks[i].echoes = calloc((size_t)places, sizeof(echo));
        if (d->tasks[i].echoes == NULL)
            return gg_fail(GG_NO_MEMORY, "no memory to compare bits across devices");
    }
    return GG_OK;
}

void gg_deal_close(gg_deal *d)
{
    if (d == NULL) return;
    for (int i = 0; i < d->count && d->tasks != NULL; i++) {
        free(d->tasks[i].record);
        free(d->tasks[i].echoes);
    }
    free(d->tasks);
    free(d);
}

bool gg_deal_done(const gg_deal *d) { return d->done == d->count; }

/* A spread task that nobody has, else one that others have and this place had not. */
static int next_spread(const gg_deal *d, int place)
{
    int shared = -1;
    for (int i = 0; i < d->count; i++) {
        const task *t = &d->tasks[i];
        if (!t->spread || t->done || (t->taken & bit(place)) != 0) continue;
        if (t->taken == 0) return i;
        if (shared < 0) shared = i;
    }
    return shared;
}

int gg_deal_next(gg_deal *d, int place, int *index, bool *digests_only)
{
    int at = d->places > 1 ? next_spread(d, place) : -1;
    while (at < 0 && d->next < d->count && d->tasks[d->next].taken != 0) d->next++;
    if (at < 0 && d->next < d->count) at = d->next;
    if (at < 0) return -1;
    task *t = &d->tasks[at];
    *digests_only = t->taken != 0;
    *index = t->index;
    if (t->taken == 0) t->owner = place;
    t->taken |= bit(place);
    return at;
}

static gg_status hand_in(gg_deal *d, task *t, gg_case_record *record)
{
    if (t->done) return GG_OK;
    t->done = true;
    d->done++;
    if (d->places > 1 && t->owner >= 0)
        snprintf(record->device, sizeof record->device, "%s", d->names[t->owner]);
    return d->finish(d->context, record);
}

/* The digests of one place against those of the record. */
static bool compare_one(const gg_deal *d, const task *t, int place, gg_case_record *record,
                        int differs[GG_MAX_OUTPUTS], int first[GG_MAX_OUTPUTS])
{
    char note[192];
    const echo *e = &t->echoes[place];
    const char *name = d->names[place];
    if (e->there && e->input == record->input_digest) {
        for (int o = 0; o < record->output_count; o++) {
            if (e->output[o] == record->outputs[o].digest) continue;
            if (differs[o]++ == 0) first[o] = place;
        }
        return true;
    }
    if (e->there) snprintf(note, sizeof note, "%s has other inputs: no bits to compare", name);
    else snprintf(note, sizeof note, "no bits on %s: %.150s", name, e->reason);
    if (e->verdict == GG_FAILED) gg_check_add(&record->outputs[0], "across", NAN, 0, note);
    else gg_check_add_missing(&record->outputs[0], "across", note);
    return false;
}

/* Equal bits leave only their number, so that the record is that of a single device. */
static void compare(const gg_deal *d, const task *t, gg_case_record *record)
{
    int differs[GG_MAX_OUTPUTS] = {0}, first[GG_MAX_OUTPUTS] = {0}, compared = 0, checks = 0;
    for (int place = 0; place < d->places; place++) {
        if (place == t->owner) continue;
        bool same_case = compare_one(d, t, place, record, differs, first);
        compared += same_case;
        checks += !same_case;
    }
    for (int o = 0; o < record->output_count; o++) {
        char note[192];
        if (differs[o] == 0) continue;
        snprintf(note, sizeof note, "bits differ on %d of %d devices: %s gives digest "
                 "%016" PRIx64 ", %s %016" PRIx64, differs[o], compared + 1,
                 d->names[t->owner], record->outputs[o].digest, d->names[first[o]],
                 t->echoes[first[o]].output[o]);
        gg_check_add(&record->outputs[o], "across", differs[o], 0, note);
        checks++;
    }
    record->across = compared > 0 ? compared + 1 : 0;
    if (checks > 0) gg_judge_case(record);
}

/* Hands in a spread task when every place has answered. */
static gg_status settle(gg_deal *d, task *t)
{
    if (t->done || t->record == NULL) return GG_OK;
    if ((d->here & ~t->answered) != 0 && t->record->output_count > 0) return GG_OK;
    if (t->record->output_count > 0) compare(d, t, t->record);
    return hand_in(d, t, t->record);
}

static gg_status keep(gg_deal *d, task *t, const gg_case_record *record)
{
    if (!t->spread) {
        gg_case_record copy = *record;
        return hand_in(d, t, &copy);
    }
    t->record = malloc(sizeof *t->record);
    if (t->record == NULL) return gg_fail(GG_NO_MEMORY, "no memory for a case record");
    *t->record = *record;
    return settle(d, t);
}

gg_status gg_deal_answer(gg_deal *d, int place, int at, const gg_case_record *record)
{
    task *t = &d->tasks[at];
    t->answered |= bit(place);
    if (t->owner == place) return keep(d, t, record);
    echo *e = &t->echoes[place];
    e->there = record->output_count > 0;
    e->input = record->input_digest;
    snprintf(e->reason, sizeof e->reason, "%.127s", record->reason);
    for (int o = 0; o < record->output_count; o++) e->output[o] = record->outputs[o].digest;
    return settle(d, t);
}

gg_status gg_deal_lost(gg_deal *d, int place, int at, double seconds, gg_verdict verdict,
                       const char *reason)
{
    task *t = &d->tasks[at];
    const gg_case *what = &d->suite->cases[t->index];
    if (place >= 0) t->answered |= bit(place);
    if (t->owner != place) {
        t->echoes[place] = (echo){.verdict = verdict};
        snprintf(t->echoes[place].reason, sizeof t->echoes[place].reason, "%.127s", reason);
        return settle(d, t);
    }
    gg_case_record record = {.index = t->index, .seed = what->seed, .verdict = verdict,
                             .seconds = seconds};
    snprintf(record.id, sizeof record.id, "%s", what->id);
    snprintf(record.family, sizeof record.family, "%s", what->family->name);
    snprintf(record.reason, sizeof record.reason, "%s", reason);
    memcpy(record.extent, what->extent, sizeof record.extent);
    return keep(d, t, &record);
}

gg_status gg_deal_leave(gg_deal *d, int place, const char *reason)
{
    d->here &= ~bit(place);
    for (int i = 0; i < d->count; i++) {
        task *t = &d->tasks[i];
        if (!t->spread || t->done || (t->answered & bit(place)) != 0 || t->owner == place)
            continue;
        snprintf(t->echoes[place].reason, sizeof t->echoes[place].reason, "%.127s", reason);
        GG_TRY(settle(d, t));
    }
    return GG_OK;
}

gg_status gg_deal_give_up(gg_deal *d, const char *reason)
{
    for (int i = 0; i < d->count; i++) {
        task *t = &d->tasks[i];
        if (t->done || t->record != NULL) continue;
        t->owner = -1;
        GG_TRY(gg_deal_lost(d, -1, i, 0, GG_NOT_VERIFIED, reason));
    }
    return GG_OK;
}
