/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/balance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/judge.h"

/* An output in host memory: [outer][n][inner], with the index that is summed over. */
typedef struct summand {
    gg_tensor output;
    size_t outer, n, inner;
    double *allowance, *expected; /* [outer][n][inner], [outer][inner] */
} summand;

static gg_status fetch(const gg_trial *t, int o, int axis, summand *s)
{
    const gg_backend *b = t->plan->backend;
    s->output = t->output[o];
    s->outer = s->inner = 1;
    for (int i = 0; i < axis; i++) s->outer *= (size_t)s->output.shape[i];
    for (int i = axis + 1; i < s->output.ndim; i++) s->inner *= (size_t)s->output.shape[i];
    s->n = (size_t)s->output.shape[axis];
    size_t bytes = gg_tensor_bytes(&s->output), wide = s->outer * s->n * s->inner;
    s->output.data = malloc(bytes + 1);
    s->allowance = malloc(wide * sizeof(double) + 1);
    s->expected = malloc(s->outer * s->inner * sizeof(double) + 1);
    if (s->output.data == NULL || s->allowance == NULL || s->expected == NULL)
        return gg_fail(GG_NO_MEMORY, "no memory for sums over an output");
    GG_TRY(b->download(s->output.data, t->first[o], bytes));
    return b->download(s->allowance, t->truth.allowance[o], wide * sizeof(double));
}

/* The largest distance, in units of the allowances of the elements in the sum. */
static double largest(const summand *s)
{
    double worst = 0;
    for (size_t at = 0; at < s->outer * s->inner; at++) {
        double sum = 0, room = GG_UNDERFLOW;
        for (size_t k = 0; k < s->n; k++) {
            size_t i = (at / s->inner * s->n + k) * s->inner + at % s->inner;
            double value = gg_value_at(s->output.data, s->output.dtype, (int64_t)i);
            sum += value;
            room += s->allowance[i] + gg_half_ulp(value, s->output.dtype);
        }
        double ratio = fabs(sum - s->expected[at]) / room;
        if (isnan(ratio) || ratio > worst) worst = ratio;
    }
    return worst;
}

static gg_status check(const gg_trial *t, const gg_balance *balance, const gg_problem *host,
                       gg_case_record *record)
{
    int o = gg_tensor_find(t->op->outputs, balance->output);
    const char *at = strchr(t->op->outputs[o].shape, balance->symbol);
    summand s = {.output.data = NULL};
    gg_status status = fetch(t, o, (int)(at - t->op->outputs[o].shape), &s);
    if (status == GG_OK) status = balance->sums(host, s.expected);
    if (status == GG_OK) {
        char note[160];
        double ratio = largest(&s);
        snprintf(note, sizeof note, "its sums over %c are %.3g times their allowance away from "
                 "what the inputs say", balance->symbol, ratio);
        gg_check_add_stated(&record->outputs[o], balance->name, ratio,
                            t->plan->kernel->limits[o].gauge_max, note);
    }
    free(s.output.data);
    free(s.allowance);
    free(s.expected);
    return status;
}

gg_status gg_balance_check(const gg_trial *t, const gg_problem *host, gg_case_record *record)
{
    for (const gg_balance *b = t->op->balances; b != NULL && b->name != NULL; b++)
        GG_TRY(check(t, b, host, record));
    return GG_OK;
}
