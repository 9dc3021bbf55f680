/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/certify.h"

#include <stdlib.h>

double gg_certify_cost_all(const gg_operator *op, const gg_problem *problem)
{
    double cost = 0;
    for (int o = 0; op->outputs[o].name != NULL; o++) {
        gg_tensor t = gg_tensor_make(op, &op->outputs[o], problem->extent, GG_F64);
        cost += (double)gg_tensor_count(&t) * op->reference.exact_cost(problem, o);
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

/* The k-th element to look at, most telling first. */
static int64_t choose(const gg_output_record *o, int k, uint64_t *state)
{
    int64_t last = o->count - 1, row = o->shape[o->ndim - 1];
    switch (k) {
    case 0: return o->gauge_max_at >= 0 ? o->gauge_max_at : 0;
    case 1: return last;
    case 2: return 0;
    case 3: return 64 * row <= last ? 64 * row : last / 2; /* first row of a second tile */
    default: return (int64_t)(next_random(state) % (uint64_t)o->count);
    }
}

typedef struct points {
    gg_point *list;
    int count, capacity;
} points;

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

static gg_status choose_points(const gg_operator *op, const gg_problem *problem,
                               uint64_t seed, const gg_output_record *outputs, int n,
                               points *p)
{
    bool all = gg_certify_cost_all(op, problem) <= GG_CERTIFY_ALL;
    for (int o = 0; o < n; o++) {
        uint64_t state = seed ^ ((uint64_t)o << 32);
        double share = GG_CERTIFY_BUDGET / n / op->reference.exact_cost(problem, o);
        int64_t want = all ? outputs[o].count : share > 16 ? 16 : share < 1 ? 1 : (int64_t)share;
        if (want > outputs[o].count) want = outputs[o].count;
        for (int64_t k = 0; k < want; k++)
            GG_TRY(add_point(p, o, want == outputs[o].count
                                       ? k : choose(&outputs[o], (int)k, &state)));
    }
    return GG_OK;
}

static gg_status compare_points(const gg_backend *backend, const gg_truth *truth,
                                const points *p, gg_output_record *outputs)
{
    for (int i = 0; i < p->count; i++) {
        const gg_point *point = &p->list[i];
        gg_output_record *o = &outputs[point->output];
        double value, allowance, distance;
        GG_TRY(backend->download(&value, truth->value[point->output] + point->element,
                                 sizeof value));
        GG_TRY(backend->download(&allowance, truth->allowance[point->output] + point->element,
                                 sizeof allowance));
        int kind = gg_class(point->value);
        if (!point->agreed || gg_class(value) != kind)
            distance = INFINITY;
        else
            distance = kind != 0 ? 0 : fabs(value - point->value) /
                                           (allowance + gg_half_ulp(point->value, o->dtype));
        o->certified++;
        if (!(distance <= o->certificate)) o->certificate = distance;
    }
    return GG_OK;
}

gg_status gg_certify(const gg_backend *backend, const gg_operator *op,
                     const gg_problem *problem, const gg_truth *truth, uint64_t seed,
                     gg_output_record *outputs, int output_count)
{
    points p = {NULL, 0, 0};
    gg_problem host;
    gg_status status = gg_problem_fetch(backend, problem, &host);
    if (status == GG_OK)
        status = choose_points(op, problem, seed, outputs, output_count, &p);
    if (status == GG_OK)
        status = op->reference.exact(&host, p.list, p.count, backend->threads);
    if (status == GG_OK) status = compare_points(backend, truth, &p, outputs);
    gg_problem_release(&host);
    free(p.list);
    return status;
}
