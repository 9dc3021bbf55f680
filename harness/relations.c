/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/relations.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/balance.h"
#include "harness/judge.h"
#include "harness/views.h"

/* Elements of each output that changed, and what changed them first. */
typedef struct tally {
    bool made;
    int64_t differing[GG_MAX_OUTPUTS];
    char note[GG_MAX_OUTPUTS][160];
} tally;

static void count(tally *n, int output, int64_t differing, int64_t first, const char *how)
{
    n->made = true;
    if (differing > 0 && n->differing[output] == 0)
        snprintf(n->note[output], sizeof n->note[output],
                 "%" PRId64 " elements have other bits, first %" PRId64 ": %s", differing,
                 first, how);
    n->differing[output] += differing;
}

static void report(const gg_trial *t, const tally *n, const char *check,
                   gg_case_record *record)
{
    for (int o = 0; n->made && o < t->outputs; o++)
        gg_check_add(&record->outputs[o], check, (double)n->differing[o], 0, n->note[o]);
}

static bool promises_bits(const gg_trial *t)
{
    return t->plan->kernel->repeat == GG_REPEAT_RUN_TO_RUN;
}

/* An output of a kernel that promises no bits must be right, as that of the first run. */
static gg_status measure_again(const gg_trial *t, void *other, int o, const char *how, tally *n)
{
    const gg_backend *b = t->plan->backend;
    const double limit = t->plan->kernel->limits[o].gauge_max;
    gg_tensor again = t->output[o];
    gg_measures m;
    if (isnan(limit)) return GG_OK; /* gauge_max says so */
    again.data = other;
    GG_TRY(b->measure(b, &again, t->truth.value[o], t->truth.allowance[o], &m));
    bool wrong = m.sums.mismatch > 0 || !(m.sums.ratio <= limit);
    if (wrong && n->differing[o] == 0)
        snprintf(n->note[o], sizeof n->note[o], "wrong, up to %.3g times the allowance: %s",
                 m.sums.ratio, how);
    n->differing[o] += wrong;
    n->made = true;
    return GG_OK;
}

/* Outputs `which` of another run against the first. */
static gg_status compare(const gg_trial *t, void *const *other, unsigned which,
                         const char *how, tally *n)
{
    const gg_backend *b = t->plan->backend;
    for (int o = 0; o < t->outputs; o++) {
        gg_tensor first = t->output[o];
        gg_difference d;
        if (!(which >> o & 1u)) continue;
        if (!promises_bits(t)) {
            GG_TRY(measure_again(t, other[o], o, how, n));
            continue;
        }
        first.data = t->first[o];
        GG_TRY(b->compare(b, &first, other[o], 0, 0, &d));
        count(n, o, d.differing, d.first, how);
    }
    return GG_OK;
}

/* Whether the kernel takes the call as it now is, in the memory that it has. */
static bool still_fits(const gg_trial *t)
{
    size_t saved, workspace;
    if (gg_trial_refusal(t) != NULL) return false;
    gg_trial_needs(t, &saved, &workspace);
    return saved <= t->saved_bytes && workspace <= t->workspace_bytes;
}

/* Backward for the outputs `wanted`, after a forward for all. */
static gg_status run_wanted(gg_trial *t, unsigned wanted, tally *n)
{
    char how[64] = "wanted without";
    unsigned results = (1u << t->plan->kernel->forward_outputs) - 1;
    gg_status status = GG_OK;
    for (int o = 0; o < t->outputs; o++)
        if (!(wanted >> o & 1u) && strlen(how) < sizeof how - 20)
            strcat(strcat(how, " "), t->op->outputs[o].name);
    GG_TRY(gg_trial_forward(t, t->again, gg_trial_poison(0)));
    for (int o = 0; o < t->outputs; o++)
        if (!((wanted | results) >> o & 1u)) t->call_outputs[o] = NULL;
    if (still_fits(t)) {
        status = gg_trial_backward(t, gg_trial_poison(0));
        if (status == GG_OK) status = compare(t, t->again, wanted | results, how, n);
    }
    for (int o = 0; o < t->outputs; o++) t->call_outputs[o] = &t->dl_output[o];
    return status;
}

/* Forward as inference calls it: no gradient is wanted and no upstream one is there. */
static gg_status run_forward_alone(gg_trial *t, tally *n)
{
    unsigned results = (1u << t->plan->kernel->forward_outputs) - 1;
    const DLTensor *inputs[GG_MAX_INPUTS];
    memcpy(inputs, t->call_inputs, sizeof inputs);
    for (int o = 0; o < t->outputs; o++)
        if (!(results >> o & 1u)) t->call_outputs[o] = NULL;
    for (int i = 0; i < t->inputs; i++)
        if (t->op->inputs[i].role == GG_ROLE_UPSTREAM) t->call_inputs[i] = NULL;
    gg_status status = GG_OK;
    if (gg_trial_refusal(t) == NULL) {
        status = gg_trial_forward(t, t->again, gg_trial_poison(0));
        if (status == GG_OK) status = compare(t, t->again, results, "forward alone", n);
    }
    memcpy(t->call_inputs, inputs, sizeof inputs);
    for (int o = 0; o < t->outputs; o++) t->call_outputs[o] = &t->dl_output[o];
    return status;
}

static gg_status check_wanted(gg_trial *t, gg_case_record *record)
{
    int results = t->plan->kernel->forward_outputs, gradients = t->outputs - results;
    tally n = {.made = false};
    for (unsigned set = 1; set + 1 < 1u << gradients; set++)
        GG_TRY(run_wanted(t, set << results, &n));
    GG_TRY(run_forward_alone(t, &n));
    report(t, &n, "wanted", record);
    return GG_OK;
}

/* One axis of one input: the outputs of the expanded view against those of the same
 * numbers written out, which stand aside in `arena`. */
static gg_status run_expanded(gg_trial *t, gg_view *view, gg_arena *arena, tally *n)
{
    const gg_backend *b = t->plan->backend;
    void *aside[GG_MAX_OUTPUTS];
    size_t bytes = 0;
    bool taken;
    GG_TRY(gg_view_expand(t, view, &taken));
    if (!taken) return GG_OK;
    GG_TRY(gg_trial_run(t, t->again, gg_trial_poison(0)));
    for (int o = 0; o < t->outputs; o++)
        bytes += gg_tensor_bytes(&t->output[o]) + 2 * GG_GUARD_BYTES;
    GG_TRY(gg_arena_reserve(arena, bytes));
    for (int o = 0; o < t->outputs; o++) {
        size_t size = gg_tensor_bytes(&t->output[o]);
        aside[o] = gg_arena_take(arena, size);
        GG_TRY(b->copy(aside[o], t->again[o], size));
    }
    gg_view_dense(t, view);
    GG_TRY(gg_trial_run(t, t->again, gg_trial_poison(0)));
    for (int o = 0; o < t->outputs; o++) {
        gg_tensor dense = t->output[o];
        gg_difference d;
        dense.data = t->again[o];
        GG_TRY(b->compare(b, &dense, aside[o], 0, 0, &d));
        count(n, o, d.differing, d.first, view->text);
    }
    return GG_OK;
}

static gg_status check_expanded(gg_trial *t, gg_arena *arena, tally *n)
{
    for (int i = 0; i < t->inputs * GG_MAX_DIMS; i++) {
        gg_view view = {.input = i / GG_MAX_DIMS, .axis = i % GG_MAX_DIMS};
        gg_status status = run_expanded(t, &view, arena, n);
        gg_view_close(t, &view);
        GG_TRY(status);
    }
    return GG_OK;
}

static gg_status check_views(gg_trial *t, gg_arena *arena, gg_case_record *record)
{
    unsigned all = (1u << t->outputs) - 1;
    tally n = {.made = false};
    for (int i = 0; i < t->inputs * GG_VIEWS; i++) {
        gg_view view = {.input = i / GG_VIEWS, .kind = i % GG_VIEWS};
        bool taken;
        gg_status status = gg_view_open(t, &view, &taken);
        if (status == GG_OK && taken)
            status = gg_trial_run(t, t->again, gg_trial_poison(0));
        if (status == GG_OK && taken) status = compare(t, t->again, all, view.text, &n);
        gg_view_close(t, &view);
        GG_TRY(status);
    }
    if (promises_bits(t)) GG_TRY(check_expanded(t, arena, &n));
    report(t, &n, "views", record);
    return GG_OK;
}

/* A second problem, in an arena of its own. */
static gg_status open_other(const gg_trial *t, const int64_t *extent, unsigned present,
                            gg_arena *arena, gg_trial *other, bool *taken)
{
    *other = (gg_trial){.plan = t->plan, .op = t->op, .what = t->what, .arena = arena};
    gg_trial_describe(other, extent, present);
    *taken = gg_trial_refusal(other) == NULL;
    return *taken ? gg_trial_allocate(other, false, NULL) : GG_OK;
}

/* Which indices of an axis, in which order. */
typedef enum order {
    ORDER_WITHOUT_FIRST, /* 1, 2, ... n - 1: a subset, at other places */
    ORDER_REVERSED,      /* n - 1, ... 1, 0 */
    ORDERS
} order;

/* How many there are; and a tensor's data at these indices. */
static int64_t kept(order which, int64_t n) { return which == ORDER_REVERSED ? n : n - 1; }

static void take(const gg_tensor *from, int axis, order which, char *to)
{
    size_t outer = 1, inner = gg_dtype_bytes(from->dtype);
    size_t n = (size_t)from->shape[axis], left = (size_t)kept(which, from->shape[axis]);
    const char *data = from->data;
    for (int i = 0; i < axis; i++) outer *= (size_t)from->shape[i];
    for (int i = axis + 1; i < from->ndim; i++) inner *= (size_t)from->shape[i];
    for (size_t o = 0; o < outer; o++)
        for (size_t k = 0; k < left; k++) {
            size_t index = which == ORDER_REVERSED ? n - 1 - k : k + 1;
            memcpy(to + (o * left + k) * inner, data + (o * n + index) * inner, inner);
        }
}

/* Position of a symbol in a tensor's shape, -1: it has none. */
static int axis_of(const gg_tensor_decl *decl, char symbol)
{
    const char *at = strchr(decl->shape, symbol);
    return at == NULL ? -1 : (int)(at - decl->shape);
}

static gg_status slice_inputs(gg_trial *other, const gg_problem *host, char symbol,
                              order which)
{
    const gg_backend *b = other->plan->backend;
    for (int i = 0; i < other->inputs; i++) {
        const gg_tensor *from = &host->input[i], *to = &other->problem.input[i];
        int axis = axis_of(&other->op->inputs[i], symbol);
        if (from->data == NULL) continue;
        char *buffer = malloc(gg_tensor_bytes(from) + 1);
        if (buffer == NULL) return gg_fail(GG_NO_MEMORY, "no memory for a slice");
        if (axis >= 0) take(from, axis, which, buffer);
        gg_status status = b->upload(to->data, axis >= 0 ? buffer : from->data,
                                     gg_tensor_bytes(to));
        free(buffer);
        GG_TRY(status);
    }
    return GG_OK;
}

/* One output of the sliced problem against the same slice of the first run's. */
static gg_status compare_slice(const gg_trial *t, const gg_trial *other, int o, char symbol,
                               order which, tally *n)
{
    const gg_backend *b = t->plan->backend;
    gg_tensor whole = t->output[o];
    size_t bytes = gg_tensor_bytes(&whole), part = gg_tensor_bytes(&other->output[o]);
    size_t size = gg_dtype_bytes(whole.dtype);
    char how[64], *memory = malloc(bytes + 2 * part + 1);
    int64_t differing = 0, first = -1;
    int axis = axis_of(&t->op->outputs[o], symbol);
    if (memory == NULL) return gg_fail(GG_NO_MEMORY, "no memory for a slice");
    char *want = memory + bytes, *got = want + part;
    whole.data = memory;
    gg_status status = b->download(memory, t->first[o], bytes);
    if (status == GG_OK) status = b->download(got, other->first[o], part);
    take(&whole, axis, which, want);
    for (size_t at = 0; at < part; at += size)
        if (memcmp(want + at, got + at, size) != 0 && differing++ == 0)
            first = (int64_t)(at / size);
    snprintf(how, sizeof how, which == ORDER_REVERSED ? "%c indices in reverse"
             : "%c indices without the first", symbol);
    if (status == GG_OK) count(n, o, differing, first, how);
    free(memory);
    return status;
}

#define NO_ORDER (-1.0) /* was tried yet: below any error */

/* An output that sums over the index, in its other order: not the same bits, but the same
 * truth. *worst: the largest error so far in units of its allowance. */
static gg_status measure_order(const gg_trial *t, const gg_trial *other, int o, double *worst)
{
    const gg_backend *b = t->plan->backend;
    gg_tensor output = t->output[o];
    gg_measures m;
    output.data = other->first[o];
    GG_TRY(b->measure(b, &output, t->truth.value[o], t->truth.allowance[o], &m));
    double ratio = m.sums.mismatch > 0 ? (double)INFINITY : m.sums.ratio;
    if (isnan(ratio) || ratio > *worst) *worst = ratio; /* and NaN stays */
    return GG_OK;
}

static gg_status run_slice(gg_trial *t, const gg_problem *host, char symbol, order which,
                           gg_arena *arena, tally *n, double *orders)
{
    int64_t extent[GG_MAX_SYMBOLS];
    int at = (int)(strchr(t->op->symbols, symbol) - t->op->symbols);
    gg_trial other;
    bool taken;
    memcpy(extent, t->problem.extent, sizeof extent);
    if (extent[at] < 2) return GG_OK;
    extent[at] = kept(which, extent[at]);
    GG_TRY(open_other(t, extent, t->present, arena, &other, &taken));
    if (!taken) return GG_OK;
    GG_TRY(slice_inputs(&other, host, symbol, which));
    GG_TRY(gg_trial_run(&other, other.first, gg_trial_poison(0)));
    for (int o = 0; o < t->outputs; o++) {
        bool has_index = axis_of(&t->op->outputs[o], symbol) >= 0;
        if (has_index && promises_bits(t))
            GG_TRY(compare_slice(t, &other, o, symbol, which, n));
        else if (!has_index && which == ORDER_REVERSED)
            GG_TRY(measure_order(t, &other, o, &orders[o]));
    }
    return GG_OK;
}

static gg_status check_slices(gg_trial *t, const gg_problem *host, gg_arena *arena,
                              gg_case_record *record)
{
    tally n = {.made = false};
    double orders[GG_MAX_OUTPUTS];
    for (int o = 0; o < t->outputs; o++) orders[o] = NO_ORDER;
    for (const char *s = t->op->independent; s != NULL && *s != '\0'; s++)
        for (int which = 0; which < ORDERS; which++)
            GG_TRY(run_slice(t, host, *s, (order)which, arena, &n, orders));
    report(t, &n, "slice", record);
    for (int o = 0; o < t->outputs; o++) {
        char note[160];
        if (orders[o] == NO_ORDER) continue;
        snprintf(note, sizeof note, "with the indices that it sums over in reverse the error is "
                 "%.3g times its allowance", orders[o]);
        gg_check_add_stated(&record->outputs[o], "order", orders[o],
                            t->plan->kernel->limits[o].gauge_max, note);
    }
    return GG_OK;
}

static gg_status run_relation(gg_trial *t, const gg_relation *relation, gg_problem *host,
                              gg_arena *arena, tally *n)
{
    const gg_backend *b = t->plan->backend;
    unsigned present = 0, all = (1u << t->outputs) - 1;
    gg_trial other;
    bool taken;
    GG_TRY(relation->rewrite(host));
    for (int i = 0; i < t->inputs; i++)
        if (host->input[i].data != NULL) present |= 1u << i;
    GG_TRY(open_other(t, t->problem.extent, present, arena, &other, &taken));
    if (!taken) return GG_OK;
    for (int i = 0; i < t->inputs; i++)
        if (present >> i & 1u)
            GG_TRY(b->upload(other.problem.input[i].data, host->input[i].data,
                             gg_tensor_bytes(&host->input[i])));
    GG_TRY(gg_trial_run(&other, other.first, gg_trial_poison(0)));
    return compare(t, other.first, all, relation->summary, n);
}

static gg_status check_relations(gg_trial *t, gg_arena *arena, gg_case_record *record)
{
    for (const gg_relation *r = t->op->relations; r != NULL && r->name != NULL; r++) {
        tally n = {.made = false};
        gg_problem host;
        if (!r->applies(&t->problem)) continue;
        gg_status status = gg_problem_fetch(t->plan->backend, &t->problem, &host);
        if (status == GG_OK) status = run_relation(t, r, &host, arena, &n);
        gg_problem_release(&host);
        GG_TRY(status);
        report(t, &n, r->name, record);
    }
    return GG_OK;
}

/* New inputs, but for the first bytes of the first: who keeps answers by a fingerprint of
 * the beginning gives an old one. */
static gg_status draw_fresh(gg_trial *t, void *scratch)
{
    const gg_backend *b = t->plan->backend;
    const gg_tensor *first = &t->problem.input[0];
    char kept[64];
    size_t size = gg_tensor_bytes(first) / 4; /* most of it is new whatever the size */
    if (size > sizeof kept) size = sizeof kept;
    GG_TRY(b->download(kept, first->data, size));
    GG_TRY(gg_trial_draw(t, t->what->seed + 4000012, scratch)); /* as seed, modulo 4 */
    return b->upload(first->data, kept, size);
}

/* The truth's memory is poisoned while the kernel runs: a kernel that finds the answer
 * there is no kernel. Its outputs are set aside, since the truth's scratch lies on them. */
static gg_status run_fresh(gg_trial *t, void *scratch, gg_arena *arena, void **aside)
{
    const gg_backend *b = t->plan->backend;
    size_t bytes = 0;
    GG_TRY(draw_fresh(t, scratch));
    for (int o = 0; o < t->outputs; o++) {
        size_t wide = (size_t)gg_tensor_count(&t->output[o]) * sizeof(double);
        GG_TRY(b->fill(t->truth.value[o], wide, gg_trial_poison(1)));
        GG_TRY(b->fill(t->truth.allowance[o], wide, gg_trial_poison(1)));
        bytes += gg_tensor_bytes(&t->output[o]) + 2 * GG_GUARD_BYTES;
    }
    GG_TRY(gg_trial_run(t, t->again, gg_trial_poison(0)));
    GG_TRY(gg_arena_reserve(arena, bytes));
    for (int o = 0; o < t->outputs; o++) {
        size_t size = gg_tensor_bytes(&t->output[o]);
        void *buffer = malloc(size + 1);
        aside[o] = gg_arena_take(arena, size);
        if (buffer == NULL) return gg_fail(GG_NO_MEMORY, "no memory for an output");
        gg_status status = b->download(buffer, t->again[o], size);
        if (status == GG_OK) status = b->upload(aside[o], buffer, size);
        free(buffer);
        GG_TRY(status);
    }
    return b->truth(b, t->op, &t->problem, &t->truth, scratch);
}

static gg_status check_fresh(gg_trial *t, void *scratch, gg_arena *arena,
                             gg_case_record *record)
{
    const gg_backend *b = t->plan->backend;
    void *aside[GG_MAX_OUTPUTS];
    GG_TRY(run_fresh(t, scratch, arena, aside));
    for (int o = 0; o < t->outputs; o++) {
        gg_tensor output = t->output[o];
        gg_measures m;
        char note[160];
        output.data = aside[o];
        GG_TRY(b->measure(b, &output, t->truth.value[o], t->truth.allowance[o], &m));
        snprintf(note, sizeof note, "with new values at the same addresses the error is "
                 "%.3g times its allowance, and %" PRId64 " elements are not finite",
                 m.sums.ratio, m.sums.mismatch);
        gg_check_add_stated(&record->outputs[o], "fresh",
                            m.sums.mismatch > 0 ? (double)INFINITY : m.sums.ratio,
                            t->plan->kernel->limits[o].gauge_max, note);
    }
    return GG_OK;
}

static gg_status check_other_ways(gg_trial *t, const gg_problem *host, gg_arena *arena,
                                  gg_case_record *record)
{
    GG_TRY(check_wanted(t, record));
    GG_TRY(check_views(t, arena, record));
    GG_TRY(check_slices(t, host, arena, record));
    return check_relations(t, arena, record);
}

gg_status gg_relations_check(gg_trial *t, void *scratch, gg_case_record *record)
{
    gg_arena arena = {.backend = t->plan->backend};
    gg_problem host;
    gg_status status = gg_problem_fetch(t->plan->backend, &t->problem, &host);
    if (status == GG_OK) status = gg_balance_check(t, &host, record);
    /* what is called outside of this process sees inputs as files, whatever their strides */
    if (status == GG_OK && t->plan->outside == NULL)
        status = check_other_ways(t, &host, &arena, record);
    gg_problem_release(&host);
    if (status == GG_OK) status = check_fresh(t, scratch, &arena, record);
    gg_arena_free(&arena);
    return status;
}

void gg_relations_list(const gg_operator *op)
{
    for (const gg_relation *r = op->relations; r != NULL && r->name != NULL; r++)
        printf("%-19s %s (%s)\n", r->name, r->summary, op->name);
    for (const gg_balance *b = op->balances; b != NULL && b->name != NULL; b++)
        printf("%-19s %s (%s)\n", b->name, b->summary, op->name);
}
