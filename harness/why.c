/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/why.h"

#include <math.h>
#include <string.h>

/* The element that a check of an output is about. */
static int64_t place_of(const gg_output_record *o, const char *check)
{
    int64_t at = o->gauge_max_at;
    if (strcmp(check, "pattern") == 0) at = o->pattern_first;
    if (strcmp(check, "repeat") == 0) at = o->repeat_first;
    if (at < 0) at = o->gauge_max_at;
    if (at < 0) at = o->pattern_first;
    return at < 0 ? 0 : at;
}

/* The first failed check, of one output or (only < 0) of all. */
static const gg_check *first_failed(const gg_case_record *record, int only, int *output)
{
    for (int o = 0; o < record->output_count; o++) {
        const gg_output_record *out = &record->outputs[o];
        for (int c = 0; c < out->check_count && (only < 0 || only == o); c++)
            if (out->checks[c].verdict == GG_FAILED) {
                *output = o;
                return &out->checks[c];
            }
    }
    return NULL;
}

/* The output whose largest error is nearest to what it may be; NaN is nearest of all. */
static int worst_gauge(const gg_case_record *record)
{
    int worst = 0;
    double largest = -1;
    for (int o = 0; o < record->output_count; o++)
        for (int c = 0; c < record->outputs[o].check_count; c++) {
            const gg_check *check = &record->outputs[o].checks[c];
            if (strcmp(check->name, "gauge_max") != 0) continue;
            double share = check->value / check->limit;
            if (isnan(largest) || share <= largest) continue;
            largest = share;
            worst = o;
        }
    return worst;
}

/* Chooses output and element where they were not asked for. */
static void choose(gg_why *why, const gg_case_record *record)
{
    int output = why->output;
    if (why->element >= 0) {
        snprintf(why->cause, sizeof why->cause, "as asked");
        return;
    }
    const gg_check *failed = first_failed(record, why->output, &output);
    if (failed == NULL && why->output < 0) output = worst_gauge(record);
    why->output = output;
    why->element = place_of(&record->outputs[output], failed ? failed->name : "");
    if (failed != NULL)
        snprintf(why->cause, sizeof why->cause, "first failed check: %s", failed->name);
    else
        snprintf(why->cause, sizeof why->cause, "largest error over its allowance");
}

static gg_status compute(gg_why *why, const gg_sight *sight, const gg_problem *host)
{
    const gg_reference *reference = &sight->op->reference;
    int threads = sight->backend->threads;
    why->point = (gg_point){.output = why->output, .element = why->element};
    GG_TRY(reference->exact(host, &why->point, 1, threads));
    if (reference->terms == NULL) return GG_OK;
    GG_TRY(reference->terms(host, why->output, why->element, &why->terms, threads));
    why->has_terms = true;
    return GG_OK;
}

static gg_status gather(gg_why *why, const gg_sight *sight, const gg_output_record *out)
{
    const gg_backend *b = sight->backend;
    const gg_tensor *first = &sight->first[why->output];
    size_t size = gg_dtype_bytes(first->dtype), at = (size_t)why->element;
    gg_problem host;
    GG_TRY(b->download(&why->bits, (const char *)first->data + at * size, size));
    GG_TRY(b->download(&why->truth, sight->truth->value[why->output] + at, sizeof(double)));
    GG_TRY(b->download(&why->allowance, sight->truth->allowance[why->output] + at,
                       sizeof(double)));
    why->value = gg_value_at(&why->bits, first->dtype, 0);
    why->repeated = out->repeat_first == why->element;
    why->other_bits = out->repeat_bits[1];
    gg_status status = gg_problem_fetch(b, sight->problem, &host);
    if (status == GG_OK) status = compute(why, sight, &host);
    gg_problem_release(&host);
    return status;
}

void gg_why_observe(void *context, const gg_sight *sight, const gg_case_record *record)
{
    gg_why *why = context;
    choose(why, record);
    why->op = sight->op;
    why->tensor = sight->first[why->output];
    why->tensor.data = NULL;
    why->status = gather(why, sight, &record->outputs[why->output]);
    if (why->status != GG_OK)
        snprintf(why->message, sizeof why->message, "%s", gg_message());
    why->seen = true;
}
