/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/rounded.h"

#include <math.h>
#include <string.h>

gg_status gg_rounded_find(const gg_operator *op, const char *name, size_t length, int *point)
{
    for (*point = 0; op->roundings != NULL && op->roundings[*point].name != NULL; ++*point)
        if (strlen(op->roundings[*point].name) == length &&
            memcmp(op->roundings[*point].name, name, length) == 0)
            return GG_OK;
    return gg_fail(GG_BAD_INPUT, "operator %s has no rounding point '%.*s': see 'gradgate list "
                   "roundings'", op->name, (int)length, name);
}

gg_status gg_rounded_stated(const gg_operator *op, const gg_kernel *kernel, uint64_t features,
                            unsigned *points)
{
    *points = 0;
    if (op->roundings == NULL || op->reference.rounded == NULL)
        return gg_fail(GG_BAD_INPUT, "operator %s states no rounding points: see 'gradgate list "
                       "roundings'", op->name);
    if (kernel->roundings == NULL)
        return gg_fail(GG_BAD_INPUT, "kernel %s does not state where it rounds (.roundings in "
                       "abi.h; see 'gradgate list roundings')", kernel->name);
    for (const gg_rounding *r = kernel->roundings; r->point != NULL; r++) {
        int point, f = 0;
        GG_TRY(gg_rounded_find(op, r->point, strlen(r->point), &point));
        while (r->feature != NULL && kernel->features != NULL &&
               kernel->features[f].name != NULL &&
               strcmp(kernel->features[f].name, r->feature) != 0)
            f++;
        bool known = r->feature == NULL ||
                     (kernel->features != NULL && kernel->features[f].name != NULL);
        if (!known)
            return gg_fail(GG_BAD_INPUT, "kernel %s: its rounding '%s' asks for a feature '%s' "
                           "that it does not have", kernel->name, r->point, r->feature);
        bool on = (features >> f & 1u) != 0;
        if (r->feature == NULL || on == (r->on != 0)) *points |= 1u << point;
    }
    return GG_OK;
}

gg_status gg_rounded_take(const gg_trial *t, gg_arena *arena, gg_truth *values, void **scratch)
{
    size_t bytes[GG_MAX_OUTPUTS], all = 0;
    size_t more = arena->backend->rounded_scratch(t->op, &t->problem);
    for (int o = 0; o < t->outputs; o++) {
        bytes[o] = (size_t)gg_tensor_count(&t->output[o]) * sizeof(double);
        all += bytes[o] + GG_GUARD_BYTES + 2 * GG_ARENA_ALIGN;
    }
    GG_TRY(gg_arena_reserve(arena, all + more + GG_GUARD_BYTES + 2 * GG_ARENA_ALIGN));
    for (int o = 0; o < t->outputs; o++) values->value[o] = gg_arena_take(arena, bytes[o]);
    *scratch = gg_arena_take(arena, more);
    return GG_OK;
}

gg_status gg_rounded_compare(const gg_trial *t, int o, gg_dtype dtype, void *data,
                             const double *expected, double *error, double *floor,
                             int64_t *mismatch)
{
    const gg_backend *backend = t->plan->backend;
    gg_tensor output = t->output[o];
    gg_measures m;
    output.data = data;
    output.dtype = dtype;
    GG_TRY(backend->measure(backend, &output, expected, t->truth.allowance[o], &m));
    double count = m.sums.finite > 0 ? (double)m.sums.finite : 1;
    *error = m.sums.error2 / count;
    if (floor != NULL) *floor = m.sums.floor2 / count;
    *mismatch += m.sums.mismatch;
    return GG_OK;
}

gg_status gg_rounded_evaluate(const gg_trial *t, const gg_roundings *roundings,
                              const gg_truth *values, void *scratch,
                              double error[GG_MAX_OUTPUTS])
{
    const gg_backend *backend = t->plan->backend;
    int64_t mismatch = 0;
    GG_TRY(backend->rounded(backend, t->op, &t->problem, roundings, values, scratch));
    for (int o = 0; o < t->outputs; o++)
        GG_TRY(gg_rounded_compare(t, o, GG_F64, values->value[o], t->truth.value[o], &error[o],
                                  NULL, &mismatch));
    if (mismatch == 0) return GG_OK;
    return gg_fail(GG_INTERNAL, "with roundings 0x%x, %lld elements are not finite where the "
                   "truth is, or the reverse", roundings->on, (long long)mismatch);
}

/* All stated points together, then those whose errors are right in size only. */
static gg_status measure(const gg_trial *t, gg_arena *arena, gg_case_record *record)
{
    gg_roundings r = {.has = 0};
    gg_truth values = {.value = {NULL}};
    double all[GG_MAX_OUTPUTS], one[GG_MAX_OUTPUTS], rough[GG_MAX_OUTPUTS] = {0};
    void *scratch;
    GG_TRY(gg_rounded_stated(t->op, t->plan->kernel, t->call.features, &r.has));
    GG_TRY(gg_rounded_take(t, arena, &values, &scratch));
    for (int o = 0; o < t->outputs; o++) r.output[o] = t->output[o].dtype;
    for (int p = 0; t->op->roundings[p].name != NULL; p++) {
        r.on = r.has & 1u << p;
        if (r.on == 0 || !t->op->roundings[p].rough) continue;
        GG_TRY(gg_rounded_evaluate(t, &r, &values, scratch, one));
        for (int o = 0; o < t->outputs; o++) rough[o] += one[o];
    }
    r.on = r.has;
    GG_TRY(gg_rounded_evaluate(t, &r, &values, scratch, all));
    for (int o = 0; o < t->outputs; o++) {
        record->outputs[o].stated_rmse = sqrt(all[o]);
        record->outputs[o].stated_rough = sqrt(rough[o]);
    }
    return GG_OK;
}

gg_status gg_rounded_measure(const gg_trial *t, gg_case_record *record)
{
    gg_arena arena = {.backend = t->plan->backend};
    gg_status status = measure(t, &arena, record);
    gg_arena_free(&arena);
    if (status != GG_NO_MEMORY) return status;
    return gg_fail(status, "no memory to evaluate the stated roundings beside the truth: "
                   "--roundings 0 goes without");
}
