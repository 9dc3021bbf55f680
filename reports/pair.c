/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/pair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCRATCH = 2000 }; /* gg_mean_interval's */

/* A pair with its place, for sorting by family. */
typedef struct member {
    const gg_pair *pair;
    int at, first;
} member;

/* Values of one row, one array a figure. */
typedef struct columns {
    double *ratio, *saved[2], *scratch;
} columns;

const gg_output_record *gg_output_find(const gg_case_record *record, const char *name)
{
    for (int o = 0; o < record->output_count; o++)
        if (strcmp(record->outputs[o].name, name) == 0) return &record->outputs[o];
    return NULL;
}

static int by_id(const void *a, const void *b)
{
    const gg_case_record *x = *(const gg_case_record *const *)a;
    const gg_case_record *y = *(const gg_case_record *const *)b;
    return strcmp(x->id, y->id);
}

static int by_family(const void *a, const void *b)
{
    const member *x = a, *y = b;
    int order = strcmp(x->pair->is->family, y->pair->is->family);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

static int by_first(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static void count(gg_unpaired *unpaired, const gg_case_record *record)
{
    if (unpaired->count++ == 0) unpaired->first = record->id;
}

/* Same inputs and the same tensors; the type of an output may change. */
static bool comparable(const gg_case_record *a, const gg_case_record *b)
{
    if (a->input_digest != b->input_digest || a->seed != b->seed ||
        strcmp(a->family, b->family) != 0 ||
        memcmp(a->extent, b->extent, sizeof a->extent) != 0)
        return false;
    for (int o = 0; o < a->output_count; o++) {
        const gg_output_record *other = gg_output_find(b, a->outputs[o].name);
        if (!other || other->count != a->outputs[o].count) return false;
    }
    return a->output_count == b->output_count;
}

static gg_status pair_cases(const gg_run_record *was, const gg_run_record *is,
                            gg_pairing *pairing)
{
    size_t room = (size_t)was->count + 1;
    const gg_case_record **sorted = calloc(room, sizeof *sorted);
    bool *met = calloc(room, sizeof *met);
    pairing->pairs = calloc((size_t)is->count + 1, sizeof *pairing->pairs);
    gg_status status = GG_OK;
    if (!sorted || !met || !pairing->pairs)
        status = gg_fail(GG_NO_MEMORY, "no memory to pair %d cases", was->count);
    for (int i = 0; status == GG_OK && i < was->count; i++) sorted[i] = &was->cases[i];
    if (status == GG_OK) qsort(sorted, (size_t)was->count, sizeof *sorted, by_id);
    for (int i = 0; status == GG_OK && i < is->count; i++) {
        const gg_case_record *now = &is->cases[i], *then = NULL;
        const gg_case_record **found = bsearch(&now, sorted, (size_t)was->count,
                                               sizeof *sorted, by_id);
        if (now->output_count == 0) continue; /* not measured: as if it were absent */
        if (found) then = *found, met[then - was->cases] = true;
        if (!then || then->output_count == 0) count(&pairing->added, now);
        else if (pairing->suite_changed || !comparable(then, now))
            count(&pairing->foreign, now);
        else pairing->pairs[pairing->count++] = (gg_pair){then, now};
    }
    for (int i = 0; status == GG_OK && i < was->count; i++)
        if (!met[i] && was->cases[i].output_count > 0)
            count(&pairing->lost, &was->cases[i]);
    free(sorted);
    free(met);
    return status;
}

static double log_ratio(const gg_output_record *was, const gg_output_record *is)
{
    if (was->rmse == is->rmse) return 0; /* 0 and 0 too */
    return log(is->rmse / was->rmse);
}

/* The pair's reduction, as summary.h has it; false when there is none. */
static bool reduction(const gg_output_record *output, double *value)
{
    if (isnan(output->ablated_rmse) || isnan(output->rmse)) return false;
    bool equal = output->rmse == output->ablated_rmse;
    *value = equal ? 0 : 1 - output->rmse / output->ablated_rmse;
    return !isnan(*value);
}

static void add(gg_pair_row *row, const gg_output_record *was, const gg_output_record *is,
                columns *c)
{
    double ratio = log_ratio(was, is), saved[2];
    if (row->pairs == 0) {
        row->dtype[0] = was->dtype, row->dtype[1] = is->dtype;
        row->least = row->most = ratio;
    }
    if (!(ratio >= row->least)) row->least = ratio;
    if (!(ratio <= row->most)) row->most = ratio;
    c->ratio[row->pairs++] = ratio;
    row->rmse[0] += was->rmse, row->rmse[1] += is->rmse;
    row->floor[0] += was->floor_rmse, row->floor[1] += is->floor_rmse;
    row->undefined[0] += isnan(was->rmse) != 0;
    row->undefined[1] += isnan(is->rmse) != 0;
    row->equal_bits += was->digest == is->digest && was->dtype == is->dtype;
    bool had = reduction(was, &saved[0]), has = reduction(is, &saved[1]);
    if (had && !has) row->unablated++;
    if (!had || !has) return;
    for (int side = 0; side < 2; side++)
        c->saved[side][row->ablation[side].pairs++] = saved[side];
}

static void finish(gg_pair_row *row, columns *c)
{
    for (int side = 0; side < 2; side++) {
        row->rmse[side] /= row->pairs;
        row->floor[side] /= row->pairs;
        gg_ablation_row *ablation = &row->ablation[side];
        if (ablation->pairs > 0)
            gg_ablation_judge(ablation, c->saved[side], ablation->pairs, c->scratch);
    }
    gg_mean_interval(c->ratio, row->pairs, c->scratch, &row->mean, &row->low, &row->high);
}

/* The row of `output` over `members`, appended when there is a pair. */
static void make_row(gg_pairing *pairing, const char *output, const char *family,
                     const member *members, int member_count, columns *c)
{
    gg_pair_row row = {.pairs = 0};
    memcpy(row.output, output, strnlen(output, sizeof row.output - 1));
    memcpy(row.family, family, strnlen(family, sizeof row.family - 1));
    for (int i = 0; i < member_count; i++) {
        const gg_output_record *was = gg_output_find(members[i].pair->was, output);
        const gg_output_record *is = gg_output_find(members[i].pair->is, output);
        if (was && is) add(&row, was, is, c);
    }
    if (row.pairs == 0) return;
    finish(&row, c);
    pairing->rows[pairing->row_count++] = row;
}

static int sort_members(gg_pairing *pairing, member *members)
{
    int families = 0;
    for (int i = 0; i < pairing->count; i++)
        members[i] = (member){.pair = &pairing->pairs[i], .at = i};
    qsort(members, (size_t)pairing->count, sizeof *members, by_family);
    for (int i = 0; i < pairing->count; i++) {
        bool old = i && strcmp(members[i - 1].pair->is->family,
                               members[i].pair->is->family) == 0;
        members[i].first = old ? members[i - 1].first : members[i].at;
        families += !old;
    }
    qsort(members, (size_t)pairing->count, sizeof *members, by_first);
    return families;
}

static int output_names(const gg_pairing *pairing, const char **names)
{
    int found = 0;
    for (int i = 0; i < pairing->count; i++)
        for (int o = 0; o < pairing->pairs[i].is->output_count; o++) {
            const char *name = pairing->pairs[i].is->outputs[o].name;
            int k = 0;
            while (k < found && strcmp(names[k], name) != 0) k++;
            if (k == found && k < GG_MAX_OUTPUTS) names[found++] = name;
        }
    return found;
}

static void fill_rows(gg_pairing *pairing, const member *all, const member *grouped,
                      columns *c)
{
    const char *names[GG_MAX_OUTPUTS];
    int outputs = output_names(pairing, names);
    for (int o = 0; o < outputs; o++) {
        make_row(pairing, names[o], "", all, pairing->count, c);
        for (int i = 0, end; i < pairing->count; i = end) {
            for (end = i; end < pairing->count && grouped[end].first == grouped[i].first;)
                end++;
            make_row(pairing, names[o], grouped[i].pair->is->family, &grouped[i], end - i,
                     c);
        }
    }
}

static gg_status make_rows(gg_pairing *pairing)
{
    size_t room = (size_t)pairing->count + 1;
    member *members = calloc(2 * room, sizeof *members);
    double *values = calloc(3 * room + SCRATCH, sizeof *values);
    int families = members ? sort_members(pairing, members + room) : 0;
    size_t rows = ((size_t)families + 1) * GG_MAX_OUTPUTS;
    pairing->rows = calloc(rows, sizeof *pairing->rows);
    if (members && values && pairing->rows) {
        columns c = {values, {values + room, values + 2 * room}, values + 3 * room};
        for (int i = 0; i < pairing->count; i++) members[i].pair = &pairing->pairs[i];
        fill_rows(pairing, members, members + room, &c);
    }
    bool good = members && values && pairing->rows;
    free(members);
    free(values);
    return good ? GG_OK : gg_fail(GG_NO_MEMORY, "no memory to compare two reports");
}

gg_status gg_pairing_make(const gg_run_record *was, const gg_run_record *is,
                          gg_pairing *pairing)
{
    memset(pairing, 0, sizeof *pairing);
    if (strcmp(was->operator_name, is->operator_name) != 0)
        return gg_fail(GG_BAD_INPUT,
                       "reports of two operators cannot be compared: %s and %s",
                       was->operator_name, is->operator_name);
    if (strcmp(was->suite, is->suite) != 0)
        return gg_fail(GG_BAD_INPUT,
                       "reports of two suites cannot be compared: %s and %s; run both with "
                       "the same --suite",
                       was->suite, is->suite);
    pairing->suite_changed = was->suite_digest != is->suite_digest;
    gg_status status = pair_cases(was, is, pairing);
    if (status == GG_OK) status = make_rows(pairing);
    if (status != GG_OK) gg_pairing_free(pairing);
    return status;
}

void gg_pairing_free(gg_pairing *pairing)
{
    free(pairing->pairs);
    free(pairing->rows);
    memset(pairing, 0, sizeof *pairing);
}
