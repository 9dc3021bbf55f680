/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/suite.h"
#include "reports/consistent.h"
#include "reports/document.h"
#include "reports/fields.h"

typedef struct parts {
    const gg_run_record *part;
    const char *const *path;
    int count;
} parts;

/* The record without what shards and selections may differ in. */
static gg_run_record common(const gg_run_record *run)
{
    gg_run_record copy = *run;
    memset(copy.selection, 0, sizeof copy.selection);
    copy.shard = copy.shards = 1;
    return copy;
}

static gg_status refuse_mixed(const parts *p, int i, const char *key, const char *was,
                              const char *is)
{
    return gg_fail(GG_BAD_INPUT,
                   "%s and %s are not parts of one run: %s is %.100s and %.100s",
                   p->path[0], p->path[i], key, was, is);
}

static gg_status check_mixed(const parts *p, int i)
{
    char was[256], is[256];
    gg_run_record a = common(&p->part[0]), b = common(&p->part[i]);
    const char *key = gg_fields_differ(gg_run_fields, &a, &b, was, is);
    if (key) return refuse_mixed(p, i, key, was, is);
    snprintf(was, sizeof was, "%d", a.limit_count);
    snprintf(is, sizeof is, "%d", b.limit_count);
    if (a.limit_count != b.limit_count) return refuse_mixed(p, i, "limit_count", was, is);
    for (int k = 0; k < a.limit_count; k++) {
        key = gg_fields_differ(gg_limit_fields, &a.limits[k], &b.limits[k], was, is);
        char name[96];
        snprintf(name, sizeof name, "limit %s of %s", key ? key : "", a.limits[k].output);
        if (key) return refuse_mixed(p, i, name, was, is);
    }
    if (strcmp(a.place.gpu, b.place.gpu) != 0)
        return refuse_mixed(p, i, "gpu", a.place.gpu, b.place.gpu);
    if (strcmp(a.place.driver, b.place.driver) != 0)
        return refuse_mixed(p, i, "driver", a.place.driver, b.place.driver);
    return GG_OK;
}

/* The shards of the selection that part `at` is the first of. */
static gg_status check_shards(const parts *p, int at)
{
    const gg_run_record *first = &p->part[at];
    for (int i = 0; i < at; i++)
        if (strcmp(p->part[i].selection, first->selection) == 0) return GG_OK;
    for (int i = at + 1; i < p->count; i++) {
        const gg_run_record *other = &p->part[i];
        if (strcmp(other->selection, first->selection) != 0) continue;
        if (other->shards != first->shards)
            return gg_fail(GG_BAD_INPUT, "%s is one of %d shards and %s one of %d",
                           p->path[at], first->shards, p->path[i], other->shards);
    }
    char missing[160] = "";
    size_t used = 0;
    int gaps = 0;
    for (int shard = 1; shard <= first->shards; shard++) {
        int met = -1;
        for (int i = at; i < p->count; i++) {
            if (strcmp(p->part[i].selection, first->selection) != 0) continue;
            if (p->part[i].shard != shard) continue;
            if (met >= 0)
                return gg_fail(GG_BAD_INPUT, "shard %d of %d comes twice: %s and %s", shard,
                               first->shards, p->path[met], p->path[i]);
            met = i;
        }
        if (met >= 0) continue;
        if (gaps++ < 8 && used < sizeof missing)
            used += (size_t)snprintf(missing + used, sizeof missing - used, " %d", shard);
    }
    if (gaps == 0) return GG_OK;
    return gg_fail(GG_BAD_INPUT, "%d of %d shards are missing:%s%s", gaps, first->shards,
                   missing, gaps > 8 ? " ..." : "");
}

static int by_index(const void *a, const void *b)
{
    int x = ((const gg_case_record *)a)->index, y = ((const gg_case_record *)b)->index;
    return (x > y) - (x < y);
}

static const char *part_of(const parts *p, int index, int skip)
{
    for (int i = 0; i < p->count; i++)
        for (int k = 0; k < p->part[i].count; k++)
            if (p->part[i].cases[k].index == index && skip-- == 0) return p->path[i];
    return "?";
}

static gg_status gather(const parts *p, gg_run_record *merged)
{
    size_t total = 0;
    for (int i = 0; i < p->count; i++) total += (size_t)p->part[i].count;
    merged->cases = calloc(total + 1, sizeof *merged->cases);
    if (!merged->cases || total > 1 << 30)
        return gg_fail(GG_NO_MEMORY, "no memory for %zu cases", total);
    for (int i = 0; i < p->count; i++) {
        memcpy(merged->cases + merged->count, p->part[i].cases,
               (size_t)p->part[i].count * sizeof *merged->cases);
        merged->count += p->part[i].count;
    }
    qsort(merged->cases, total, sizeof *merged->cases, by_index);
    for (int i = 1; i < merged->count; i++) {
        int index = merged->cases[i].index;
        if (merged->cases[i - 1].index != index) continue;
        return gg_fail(GG_BAD_INPUT, "case %s comes twice: in %s and in %s",
                       merged->cases[i].id, part_of(p, index, 0), part_of(p, index, 1));
    }
    return GG_OK;
}

static bool selected(const parts *p, const gg_case *what)
{
    for (int i = 0; i < p->count; i++)
        if (!p->part[i].selection[0] || gg_case_matches(what, p->part[i].selection))
            return true;
    return false;
}

static bool measured(const gg_run_record *run, int index)
{
    const gg_case_record key = {.index = index};
    return bsearch(&key, run->cases, (size_t)run->count, sizeof *run->cases, by_index);
}

/* Every case that some selection names, against the suite's own file when it is still
 * the one that was run; else the number alone can be checked, for whole suites. */
static gg_status check_gaps(const parts *p, const gg_run_record *merged)
{
    gg_suite suite = {.count = 0};
    char names[256] = "";
    size_t used = 0;
    int gaps = 0;
    bool whole = false;
    for (int i = 0; i < p->count; i++) whole = whole || !p->part[i].selection[0];
    bool known = gg_suite_load(merged->suite, &suite) == GG_OK &&
                 suite.digest == merged->suite_digest && suite.count == merged->suite_count;
    for (int i = 0; known && i < suite.count; i++) {
        if (measured(merged, i) || !selected(p, &suite.cases[i])) continue;
        if (gaps++ < 4 && used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, " %s",
                                     suite.cases[i].id);
    }
    gg_suite_free(&suite);
    if (!known && whole) gaps = merged->suite_count - merged->count;
    if (gaps == 0) return GG_OK;
    return gg_fail(GG_BAD_INPUT, "%d case%s of suite %s in no part%s%s%s", gaps, GG_S(gaps),
                   merged->suite, names[0] ? ":" : "", names,
                   gaps > 4 && known ? " ..." : "");
}

/* "A + B" of different selections, "" when together they are the suite. */
static void join_selections(const parts *p, gg_run_record *merged)
{
    char text[sizeof merged->selection] = "";
    size_t used = 0;
    for (int i = 0; i < p->count; i++) {
        bool old = false;
        for (int k = 0; k < i; k++)
            old = old || strcmp(p->part[k].selection, p->part[i].selection) == 0;
        if (old || used >= sizeof text) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? " + " : "",
                                 p->part[i].selection);
    }
    if (merged->count == merged->suite_count) text[0] = '\0';
    else if (used >= sizeof text) snprintf(text, sizeof text, "(several selections)");
    memset(merged->selection, 0, sizeof merged->selection);
    memcpy(merged->selection, text, strlen(text));
}

/* Devices of all parts, each once. */
static void join_devices(const gg_place *other, gg_place *place)
{
    for (int i = 0; i < other->device_count; i++) {
        int k = 0;
        while (k < place->device_count &&
               (strcmp(place->devices[k].name, other->devices[i].name) != 0 ||
                strcmp(place->devices[k].gpu_uuid, other->devices[i].gpu_uuid) != 0))
            k++;
        if (k == place->device_count && k < GG_MAX_DEVICES)
            place->devices[place->device_count++] = other->devices[i];
    }
}

/* What several places have in common. */
static void join_places(const parts *p, gg_place *place)
{
    place->seconds = 0;
    for (int i = 0; i < p->count; i++) {
        const gg_place *other = &p->part[i].place;
        if (gg_epoch_milliseconds(other->started) < gg_epoch_milliseconds(place->started))
            memcpy(place->started, other->started, sizeof place->started);
        if (gg_epoch_milliseconds(other->finished) > gg_epoch_milliseconds(place->finished))
            memcpy(place->finished, other->finished, sizeof place->finished);
        if (strcmp(other->host_cpu, p->part[0].place.host_cpu) != 0)
            snprintf(place->host_cpu, sizeof place->host_cpu, "several processors");
        if (strcmp(other->gpu_uuid, p->part[0].place.gpu_uuid) != 0)
            snprintf(place->gpu_uuid, sizeof place->gpu_uuid, "several");
        if (other->host_threads > place->host_threads)
            place->host_threads = other->host_threads;
        place->seconds += other->seconds;
        join_devices(other, place);
    }
}

gg_status gg_merge(const gg_run_record *part, const char *const *paths, int count,
                   gg_run_record *merged)
{
    parts p = {part, paths, count};
    memset(merged, 0, sizeof *merged);
    if (count < 1) return gg_fail(GG_BAD_INPUT, "nothing to merge");
    for (int i = 1; i < count; i++) GG_TRY(check_mixed(&p, i));
    for (int i = 0; i < count; i++) GG_TRY(check_shards(&p, i));
    *merged = common(&part[0]);
    merged->cases = NULL;
    merged->count = 0;
    gg_status status = gather(&p, merged);
    if (status == GG_OK) status = check_gaps(&p, merged);
    if (status == GG_OK) {
        join_selections(&p, merged);
        join_places(&p, &merged->place);
        gg_maps_keep_worst(merged);
        char fault[GG_FAULT_SIZE];
        if (gg_run_fault(merged, fault))
            status = gg_fail(GG_BAD_INPUT, "the parts contradict each other: %s", fault);
    }
    if (status == GG_OK) return GG_OK;
    gg_run_free(merged);
    memset(merged, 0, sizeof *merged);
    return status;
}
