/* SPDX-License-Identifier: Apache-2.0
 * What follows from the measured times: medians, classes, ranks, ratios, growth. */
#include <math.h>
#include <stdlib.h>

#include "harness/bench.h"

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int sort(const gg_times *times, double sorted[GG_BENCH_REPS])
{
    memcpy(sorted, times->sample, (size_t)times->count * sizeof *sorted);
    qsort(sorted, (size_t)times->count, sizeof *sorted, ascending);
    return times->count;
}

void gg_times_settle(gg_times *times)
{
    double sorted[GG_BENCH_REPS];
    int n = sort(times, sorted);
    times->median = times->least = times->most = NAN;
    if (n < 1) return;
    times->median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    times->least = sorted[0];
    times->most = sorted[n - 1];
}

/* The median of n normal samples has a standard error of 1.253 sigma / sqrt(n), and sigma
 * is the distance of the quartiles / 1.349: outliers do not count. */
double gg_times_error(const gg_times *times)
{
    double sorted[GG_BENCH_REPS];
    int n = sort(times, sorted);
    if (n < 1) return NAN;
    double distance = sorted[n - 1 - n / 4] - sorted[n / 4];
    return 1.253 / 1.349 * distance / (times->median * sqrt(n));
}

double gg_times_spread(const gg_times *times)
{
    return (times->most - times->least) / times->median;
}

gg_precision gg_precision_of(double ratio)
{
    if (ratio <= 1.02) return GG_PRECISION_FLOOR;
    if (ratio <= 1.3) return GG_PRECISION_FINE;
    return ratio <= 2 ? GG_PRECISION_FAIR : GG_PRECISION_COARSE;
}

const char *gg_precision_name(gg_precision precision)
{
    static const char *const names[] = {"not known", "on the floor", "<= 1.3", "<= 2",
                                        "more"};
    return names[precision];
}

double gg_fit_exponent(const double *x, const double *y, int count)
{
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
    for (int i = 0; i < count; i++) {
        mean_x += log(x[i]) / count;
        mean_y += log(y[i]) / count;
    }
    for (int i = 0; i < count; i++) {
        double dx = log(x[i]) - mean_x;
        xx += dx * dx;
        xy += dx * (log(y[i]) - mean_y);
    }
    return xx > 1e-9 ? xy / xx : NAN;
}

gg_bench_entry *gg_bench_add(gg_bench *bench, int at, const char *kernel)
{
    if (bench->entry_count == bench->entry_room) {
        int room = bench->entry_room ? 2 * bench->entry_room : 32;
        gg_bench_entry *entries = realloc(bench->entries, (size_t)room * sizeof *entries);
        if (entries == NULL) {
            gg_fail(GG_NO_MEMORY, "no memory for the figures of a kernel");
            return NULL;
        }
        bench->entries = entries;
        bench->entry_room = room;
    }
    gg_bench_entry *e = &bench->entries[bench->entry_count++];
    *e = (gg_bench_entry){.at = at, .same_bits = -1, .graded = NAN, .extra_bytes = NAN};
    gg_times_settle(&e->forward);
    gg_times_settle(&e->total);
    snprintf(e->kernel, sizeof e->kernel, "%s", kernel);
    return e;
}

void gg_bench_free(gg_bench *bench)
{
    free(bench->cases);
    free(bench->entries);
    free(bench->growth);
    *bench = (gg_bench){.case_count = 0};
}

gg_verdict gg_bench_verdict(const gg_bench *bench)
{
    gg_verdict worst = GG_NOT_VERIFIED;
    bool any = false;
    for (int i = 0; i < bench->entry_count; i++) {
        const gg_bench_entry *e = &bench->entries[i];
        if (e->peer || e->declined) continue;
        worst = any ? gg_verdict_worse(worst, e->verdict) : e->verdict;
        any = true;
    }
    return worst;
}

static bool right(const gg_bench_entry *e)
{
    return e->verdict == GG_PASSED && e->total.median > 0;
}

const gg_bench_entry *gg_bench_base(const gg_bench *bench, int at)
{
    for (int i = 0; i < bench->entry_count; i++) {
        const gg_bench_entry *e = &bench->entries[i];
        if (e->at == at && !e->peer && right(e)) return e;
    }
    return NULL;
}

const char *gg_bench_caveat(const gg_bench_entry *a, const gg_bench_entry *b)
{
    if (a->verdict == GG_FAILED || b->verdict == GG_FAILED) return "wrong: no ratio";
    if (!right(a) || !right(b)) return "not timed";
    if (a->precision == GG_PRECISION_UNKNOWN || b->precision == GG_PRECISION_UNKNOWN)
        return "precision not known";
    return a->precision == b->precision ? "" : "confounded by precision";
}

double gg_bench_rate(const gg_bench *bench, const gg_bench_entry *e, int both)
{
    const gg_cost *cost = &bench->cases[e->at].cost;
    double flops = cost->flops[0] + (both ? cost->flops[1] : 0);
    double milliseconds = both ? e->total.median : e->forward.median;
    return flops > 0 && milliseconds > 0 ? flops / (1e-3 * milliseconds) : NAN;
}

static void rank(gg_bench *bench)
{
    for (int i = 0; i < bench->entry_count; i++) {
        gg_bench_entry *e = &bench->entries[i];
        e->rank = e->ranked = 0;
        if (!right(e) || e->precision == GG_PRECISION_UNKNOWN) continue;
        for (int j = 0; j < bench->entry_count; j++) {
            const gg_bench_entry *other = &bench->entries[j];
            if (other->at != e->at || other->precision != e->precision || !right(other))
                continue;
            e->ranked++;
            e->rank += other == e || other->total.median < e->total.median;
        }
    }
}

/* A symbol that equals the size in every case follows it (R = N). */
static bool follows(const gg_bench *bench, int symbol, int size)
{
    for (int i = 0; i < bench->case_count; i++)
        if (bench->cases[i].extent[symbol] != bench->cases[i].extent[size]) return false;
    return true;
}

/* The two cases differ in the size, its followers and the seed alone. */
static bool same_group(const gg_bench *bench, const gg_bench_case *a,
                       const gg_bench_case *b, int size)
{
    for (int s = 0; bench->op->symbols[s] != '\0'; s++)
        if (a->extent[s] != b->extent[s] && !follows(bench, s, size)) return false;
    return strcmp(a->family, b->family) == 0 &&
           memcmp(a->input_dtype, b->input_dtype, sizeof a->input_dtype) == 0 &&
           memcmp(a->output_dtype, b->output_dtype, sizeof a->output_dtype) == 0;
}

static void name_group(const gg_bench *bench, const gg_bench_case *c, int size,
                       char text[96])
{
    size_t used = (size_t)snprintf(text, 96, "%s", c->family);
    for (int s = 0; bench->op->symbols[s] != '\0' && used < 96; s++)
        if (!follows(bench, s, size))
            used += (size_t)snprintf(text + used, 96 - used, " %c=%lld",
                                     bench->op->symbols[s], (long long)c->extent[s]);
}

bool gg_bench_grows(const gg_bench *bench, const gg_growth *g, const gg_bench_entry *e)
{
    const char *size = strchr(bench->op->symbols, bench->op->size);
    const gg_bench_entry *first = &bench->entries[g->first];
    return right(e) && e->forward.median > 0 && strcmp(e->kernel, first->kernel) == 0 &&
           same_group(bench, &bench->cases[first->at], &bench->cases[e->at],
                      (int)(size - bench->op->symbols));
}

/* Fits the group of entry `first`, whose earlier entries have been dealt with. */
static void fit_group(gg_bench *bench, int first, int size, double *room)
{
    const gg_bench_entry *e = &bench->entries[first];
    const gg_bench_case *c = &bench->cases[e->at];
    double *x = room, *y = room + bench->entry_count, *z = y + bench->entry_count;
    int n = 0, sizes = 0;
    for (int i = 0; i < bench->entry_count; i++) {
        const gg_bench_entry *other = &bench->entries[i];
        const gg_bench_case *d = &bench->cases[other->at];
        if (!right(other) || strcmp(other->kernel, e->kernel) != 0 ||
            !(other->forward.median > 0) || !same_group(bench, c, d, size))
            continue;
        if (i < first) return;
        bool seen = false;
        for (int k = 0; k < n; k++) seen = seen || x[k] == (double)d->extent[size];
        sizes += !seen;
        x[n] = (double)d->extent[size];
        y[n] = other->forward.median;
        z[n++] = other->total.median;
    }
    if (sizes < 2) return;
    gg_growth *g = &bench->growth[bench->growth_count++];
    *g = (gg_growth){.sizes = sizes, .first = first};
    g->forward = gg_fit_exponent(x, y, n);
    g->total = gg_fit_exponent(x, z, n);
    snprintf(g->kernel, sizeof g->kernel, "%s", e->kernel);
    name_group(bench, c, size, g->group);
}

static gg_status grow(gg_bench *bench)
{
    const char *at = bench->op->size ? strchr(bench->op->symbols, bench->op->size) : NULL;
    size_t n = (size_t)bench->entry_count + 1;
    free(bench->growth);
    bench->growth_count = 0;
    bench->growth = calloc(n, sizeof *bench->growth);
    double *room = malloc(3 * n * sizeof *room);
    if (bench->growth == NULL || room == NULL) {
        free(room);
        return gg_fail(GG_NO_MEMORY, "no memory to fit the growth of the times");
    }
    for (int i = 0; at != NULL && i < bench->entry_count; i++)
        if (right(&bench->entries[i]))
            fit_group(bench, i, (int)(at - bench->op->symbols), room);
    free(room);
    return GG_OK;
}

/* Insertion keeps the order within a case. */
static void order(gg_bench *bench)
{
    gg_bench_entry *e = bench->entries;
    for (int i = 1; i < bench->entry_count; i++)
        for (int j = i; j > 0 && e[j - 1].at > e[j].at; j--) {
            gg_bench_entry swap = e[j];
            e[j] = e[j - 1];
            e[j - 1] = swap;
        }
}

gg_status gg_bench_derive(gg_bench *bench)
{
    order(bench);
    for (int i = 0; i < bench->entry_count; i++) {
        gg_bench_entry *e = &bench->entries[i];
        e->precision = GG_PRECISION_UNKNOWN;
        if (bench->op->graded == NULL || (e->peer && isnan(e->graded))) continue;
        if (e->total.median > 0)
            e->precision = gg_precision_of(e->graded);
    }
    rank(bench);
    return grow(bench);
}
