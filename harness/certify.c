/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/certify.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ANCHORS = 16, GROUP_POINTS = 24, TILE = 64 };

double gg_certify_cost_all(const gg_operator *op, const gg_problem *problem)
{
    double cost = 0;
    for (int o = 0; op->outputs[o].name != NULL; o++) {
        gg_tensor t = gg_tensor_make(op, &op->outputs[o], problem->extent, GG_F64);
        int64_t count = gg_tensor_count(&t);
        if (count > 0)
            cost += (double)count * op->reference.exact_share(problem, o, 0).cost;
    }
    return cost;
}

/* SplitMix64 (Steele, Lea, Flood 2014): which elements, never which values. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

typedef struct points {
    const gg_sight *sight;
    const gg_sums *sums;
    const gg_output_record *outputs;
    uint64_t random;
    gg_point *list;
    int count, capacity;
} points;

static gg_exact_share share_of(const points *p, int output, int64_t element)
{
    return p->sight->op->reference.exact_share(p->sight->problem, output, element);
}

static gg_status add_point(points *p, int output, int64_t element)
{
    if (p->count == p->capacity) {
        int capacity = p->capacity ? 2 * p->capacity : 64;
        gg_point *list = realloc(p->list, (size_t)capacity * sizeof *list);
        if (list == NULL) return gg_fail(GG_NO_MEMORY, "no memory for MPFR points");
        p->list = list;
        p->capacity = capacity;
    }
    p->list[p->count++] = (gg_point){.output = output, .element = element};
    return GG_OK;
}

/* Adds an element that is there (at >= 0) and not chosen yet. */
static gg_status add_new(points *p, int output, int64_t element)
{
    if (element < 0) return GG_OK;
    for (int i = 0; i < p->count; i++)
        if (p->list[i].output == output && p->list[i].element == element) return GG_OK;
    return add_point(p, output, element);
}

static int64_t random_below(points *p, int64_t count)
{
    return (int64_t)(next_random(&p->random) % (uint64_t)count);
}

/* The elements of one output whose groups are looked at, in this order. */
static void find_anchors(points *p, int o, uint64_t seed, int64_t anchors[ANCHORS])
{
    const gg_output_record *out = &p->outputs[o];
    const gg_sums *s = &p->sums[o];
    int64_t telling[4] = {out->gauge_max_at, s->largest.at, s->cancelled.at,
                          s->smallest.at};
    int64_t row = out->shape[out->ndim - 1];
    for (int k = 0; k < 4; k++) anchors[k] = telling[(seed / 8 + (uint64_t)k) % 4];
    anchors[4] = 0;
    anchors[5] = out->count - 1;
    anchors[6] = TILE * row < out->count ? TILE * row : out->count / 2;
    for (int k = 7; k < ANCHORS; k++) anchors[k] = random_below(p, out->count);
}

/* Marks of the truth over one group. */
static gg_status scan(const points *p, int o, const gg_exact_share *share, gg_sums *marks)
{
    const gg_backend *b = p->sight->backend;
    size_t bytes = (size_t)share->count * sizeof(double);
    double *truth = malloc(bytes), *allowance = malloc(bytes);
    gg_status status = truth && allowance
                           ? GG_OK : gg_fail(GG_NO_MEMORY, "no memory for MPFR points");
    if (status == GG_OK)
        status = b->download(truth, p->sight->truth->value[o] + share->first, bytes);
    if (status == GG_OK)
        status = b->download(allowance, p->sight->truth->allowance[o] + share->first, bytes);
    *marks = gg_sums_zero();
    for (int64_t i = 0; status == GG_OK && i < share->count; i++)
        gg_sums_mark(marks, truth[i], allowance[i], share->first + i);
    free(truth);
    free(allowance);
    return status;
}

/* The group that all points of a dear output come from. */
static gg_status add_dear(points *p, int o, const int64_t anchors[ANCHORS],
                          const gg_exact_share *share)
{
    gg_sums marks;
    int64_t first = share->first, last = first + share->count - 1;
    int64_t row = p->outputs[o].shape[p->outputs[o].ndim - 1];
    int64_t edge = first + TILE * (share->count > row ? row : 1);
    int start = p->count;
    GG_TRY(scan(p, o, share, &marks));
    for (int k = 0; k < ANCHORS; k++)
        if (anchors[k] >= first && anchors[k] <= last) GG_TRY(add_new(p, o, anchors[k]));
    GG_TRY(add_new(p, o, marks.largest.at));
    GG_TRY(add_new(p, o, marks.smallest.at));
    GG_TRY(add_new(p, o, marks.cancelled.at));
    GG_TRY(add_new(p, o, first));
    GG_TRY(add_new(p, o, last));
    if (edge <= last) {
        GG_TRY(add_new(p, o, edge - 1));
        GG_TRY(add_new(p, o, edge));
    }
    while (p->count - start < GROUP_POINTS && p->count - start < share->count)
        GG_TRY(add_new(p, o, first + random_below(p, share->count)));
    return GG_OK;
}

/* An element of output `o` whose dear work another output has asked for; -1: none. */
static int64_t find_paid(const points *p, int o)
{
    for (int i = 0; i < p->count; i++) {
        const gg_point *other = &p->list[i];
        if (other->element >= p->outputs[o].count) continue;
        int64_t group = share_of(p, o, other->element).group;
        if (group == share_of(p, other->output, other->element).group)
            return other->element;
    }
    return -1;
}

static double groups_of(const points *p, int outputs, int o)
{
    double most = GG_CERTIFY_CHEAP;
    for (int k = 0; k < outputs; k++)
        if (p->outputs[k].count > 0) most = fmax(most, share_of(p, k, 0).cost);
    return most / share_of(p, o, 0).cost;
}

static gg_status add_output(points *p, int outputs, int o, uint64_t seed)
{
    int64_t anchors[ANCHORS];
    int64_t count = p->outputs[o].count;
    if (count == 0) return GG_OK;
    find_anchors(p, o, seed, anchors);
    double groups = groups_of(p, outputs, o);
    if (groups < 2) {
        int64_t at = find_paid(p, o);
        for (int k = 0; at < 0; k++) at = anchors[k]; /* anchors[4] is there */
        gg_exact_share share = share_of(p, o, at);
        return add_dear(p, o, anchors, &share);
    }
    for (int k = 0; k < ANCHORS && k < groups; k++) {
        if (anchors[k] < 0) continue;
        gg_exact_share share = share_of(p, o, anchors[k]);
        GG_TRY(add_new(p, o, anchors[k]));
        GG_TRY(add_new(p, o, share.first + random_below(p, share.count)));
    }
    return GG_OK;
}

static gg_status choose_points(points *p, int outputs, uint64_t seed, bool *all)
{
    *all = gg_certify_cost_all(p->sight->op, p->sight->problem) <= GG_CERTIFY_ALL;
    p->random = seed;
    for (int k = 0; k < outputs; k++) { /* the first to come chooses the shared group */
        int o = (int)((seed + (uint64_t)k) % (uint64_t)outputs);
        for (int64_t e = 0; *all && e < p->outputs[o].count; e++)
            GG_TRY(add_point(p, o, e));
        if (!*all) GG_TRY(add_output(p, outputs, o, seed));
    }
    return GG_OK;
}

/* "0,17,4096", with "..." where there is no room for more. */
static void list_element(gg_output_record *o, int64_t element)
{
    char *text = o->certified_elements;
    size_t used = strlen(text), size = sizeof o->certified_elements;
    if (used + 26 < size)
        snprintf(text + used, size - used, "%s%" PRId64, used ? "," : "", element);
    else if (strcmp(text + used - 3, "...") != 0)
        snprintf(text + used, size - used, ",...");
}

/* Distance of `value` from the exact one in units of the gauge. */
static double distance_of(double value, double unit, const gg_point *point)
{
    int kind = gg_class(point->value);
    if (!point->agreed || gg_class(value) != kind) return INFINITY;
    return kind != 0 ? 0 : fabs(value - point->value) / unit;
}

static gg_status compare_point(const gg_sight *sight, const gg_point *point,
                               gg_output_record *o, double *error2)
{
    const gg_backend *b = sight->backend;
    const gg_truth *truth = sight->truth;
    size_t size = gg_dtype_bytes(o->dtype);
    double value, allowance;
    uint32_t bits = 0;
    const char *output = sight->first[point->output].data;
    GG_TRY(b->download(&value, truth->value[point->output] + point->element, sizeof value));
    GG_TRY(b->download(&allowance, truth->allowance[point->output] + point->element,
                       sizeof allowance));
    GG_TRY(b->download(&bits, output + (size_t)point->element * size, size));
    double unit = allowance + gg_half_ulp(point->value, o->dtype);
    double distance = distance_of(value, unit, point);
    double error = distance_of(gg_value_at(&bits, o->dtype, 0), unit, point);
    if (o->certified++ == 0 || !(distance <= o->certificate)) {
        o->certificate = distance;
        o->certificate_at = point->element;
    }
    *error2 += error * error;
    return GG_OK;
}

static gg_status compare_points(const gg_sight *sight, const points *p, bool all,
                                gg_output_record *outputs)
{
    double error2[GG_MAX_OUTPUTS] = {0};
    for (int i = 0; i < p->count; i++) {
        const gg_point *point = &p->list[i];
        gg_output_record *o = &outputs[point->output];
        GG_TRY(compare_point(sight, point, o, &error2[point->output]));
        o->certified_error = sqrt(error2[point->output] / o->certified);
        if (!all) list_element(o, point->element);
        else snprintf(o->certified_elements, sizeof o->certified_elements, "all");
    }
    return GG_OK;
}

typedef struct copy {
    const gg_sight *sight;
    const gg_problem *host;
} copy;

static gg_status copy_part(void *context, int input, int64_t first, int64_t count)
{
    const copy *c = context;
    const gg_tensor *from = &c->sight->problem->input[input];
    size_t size = gg_dtype_bytes(from->dtype), at = (size_t)first * size;
    return c->sight->backend->download((char *)c->host->input[input].data + at,
                                       (const char *)from->data + at, (size_t)count * size);
}

/* The inputs in host memory, zero where these points do not look: such memory costs
 * nothing, and fetching all of a big case would take longer than its MPFR. */
static gg_status fetch_parts(const points *p, gg_problem *host)
{
    const gg_reference *reference = &p->sight->op->reference;
    copy c = {p->sight, host};
    if (reference->exact_reads == NULL)
        return gg_problem_fetch(p->sight->backend, p->sight->problem, host);
    for (int i = 0; i < GG_MAX_INPUTS; i++) {
        const gg_tensor *t = &p->sight->problem->input[i];
        if (t->data == NULL) continue;
        host->input[i].data = calloc(gg_tensor_bytes(t) + 1, 1);
        if (host->input[i].data == NULL)
            return gg_fail(GG_NO_MEMORY, "no memory for a host copy of the inputs");
    }
    return reference->exact_reads(p->sight->problem, p->list, p->count, copy_part, &c);
}

struct gg_certificate {
    gg_sight sight;
    gg_tensor first[GG_MAX_OUTPUTS];
    points points;
    gg_problem host;
    bool all, threaded;
    pthread_t thread;
    gg_status status;
    char message[1024]; /* of the thread that failed */
};

static void *compute(void *argument)
{
    gg_certificate *c = argument;
    c->status = c->sight.op->reference.exact(&c->host, c->points.list, c->points.count,
                                             c->sight.backend->threads);
    if (c->status != GG_OK) snprintf(c->message, sizeof c->message, "%s", gg_message());
    return NULL;
}

static void release(gg_certificate *c)
{
    gg_problem_release(&c->host);
    free(c->points.list);
    free(c);
}

gg_status gg_certify_start(const gg_sight *sight, const gg_sums *sums, uint64_t seed,
                           const gg_output_record *outputs, int output_count,
                           gg_certificate **started)
{
    gg_certificate *c = calloc(1, sizeof *c);
    *started = NULL;
    if (c == NULL) return gg_fail(GG_NO_MEMORY, "no memory for a certificate");
    c->sight = *sight;
    for (int o = 0; o < output_count; o++) c->first[o] = sight->first[o];
    c->sight.first = c->first;
    c->points = (points){.sight = &c->sight, .sums = sums, .outputs = outputs};
    c->host = *sight->problem;
    for (int i = 0; i < GG_MAX_INPUTS; i++) c->host.input[i].data = NULL;
    gg_status status = choose_points(&c->points, output_count, seed, &c->all);
    if (status == GG_OK) status = fetch_parts(&c->points, &c->host);
    if (status != GG_OK) {
        release(c);
        return status;
    }
    c->threaded = pthread_create(&c->thread, NULL, compute, c) == 0;
    if (!c->threaded) compute(c);
    *started = c;
    return GG_OK;
}

gg_status gg_certify_finish(gg_certificate *c, gg_output_record *outputs)
{
    if (c == NULL) return GG_OK;
    if (c->threaded) pthread_join(c->thread, NULL);
    gg_status status = c->status;
    if (status != GG_OK) gg_fail(status, "%s", c->message);
    else status = compare_points(&c->sight, &c->points, c->all, outputs);
    release(c);
    return status;
}
