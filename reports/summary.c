/* SPDX-License-Identifier: Apache-2.0
 * Groups are found by sorting, never by searching: a report of 100,000 cases with a
 * shape each, or a hostile one with a family each, costs no more than n log n. */
#include "reports/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef int (*compare_cases)(const gg_case_record *a, const gg_case_record *b);

/* One case in one group. */
typedef struct member {
    const gg_case_record *record;
    int at;    /* position in run->cases */
    int first; /* position of the group's first case: the order of groups */
    int group;
} member;

typedef struct groups {
    member *members; /* group by group, and in a group in suite order */
    int count;       /* of groups */
} groups;

typedef struct names {
    const char *name[GG_MAX_OUTPUTS];
    int count;
} names;

const char *gg_outcome_name(gg_outcome outcome)
{
    return outcome == GG_EARNED ? "earned"
           : outcome == GG_COLLAPSED ? "collapsed" : "not resolvable";
}

double gg_excluded_rate(int runs)
{
    return runs < 2 ? 1.0 : 1.0 - pow(0.05, 1.0 / (runs - 1));
}

static int by_family(const gg_case_record *a, const gg_case_record *b)
{
    return strcmp(a->family, b->family);
}

static int by_family_and_runs(const gg_case_record *a, const gg_case_record *b)
{
    int order = by_family(a, b);
    return order ? order : (a->runs > b->runs) - (a->runs < b->runs);
}

static int by_extent(const gg_case_record *a, const gg_case_record *b)
{
    for (int i = 0; i < GG_MAX_SYMBOLS; i++)
        if (a->extent[i] != b->extent[i]) return a->extent[i] < b->extent[i] ? -1 : 1;
    return 0;
}

static int in_suite_order(const member *x, const member *y)
{
    return (x->at > y->at) - (x->at < y->at);
}

static int family_order(const void *a, const void *b)
{
    const member *x = a, *y = b;
    int order = by_family(x->record, y->record);
    return order ? order : in_suite_order(x, y);
}

static int class_order(const void *a, const void *b)
{
    const member *x = a, *y = b;
    int order = by_family_and_runs(x->record, y->record);
    return order ? order : in_suite_order(x, y);
}

static int extent_order(const void *a, const void *b)
{
    const member *x = a, *y = b;
    int order = by_extent(x->record, y->record);
    return order ? order : in_suite_order(x, y);
}

static int first_order(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return in_suite_order(x, y);
}

/* Sorts by `order`, numbers the groups, and with `appearance` brings them into the
 * order of their first cases. */
static gg_status group(const gg_run_record *run,
                       int (*order)(const void *, const void *), compare_cases same,
                       bool appearance, groups *result)
{
    size_t count = (size_t)run->count;
    member *members = calloc(count ? count : 1, sizeof *members);
    if (!members)
        return gg_fail(GG_NO_MEMORY, "no memory to group %d cases", run->count);
    for (int i = 0; i < run->count; i++)
        members[i] = (member){.record = &run->cases[i], .at = i};
    qsort(members, count, sizeof *members, order);
    for (int i = 0; i < run->count; i++) {
        bool old = i && same(members[i - 1].record, members[i].record) == 0;
        members[i].first = old ? members[i - 1].first : members[i].at;
    }
    if (appearance) qsort(members, count, sizeof *members, first_order);
    int number = -1;
    for (int i = 0; i < run->count; i++) {
        if (!i || members[i].first != members[i - 1].first) number++;
        members[i].group = number;
    }
    *result = (groups){members, number + 1};
    return GG_OK;
}

static names output_names(const gg_run_record *run)
{
    names found = {.count = 0};
    for (int i = 0; i < run->count; i++)
        for (int o = 0; o < run->cases[i].output_count; o++) {
            const char *name = run->cases[i].outputs[o].name;
            int k = 0;
            while (k < found.count && strcmp(found.name[k], name) != 0) k++;
            if (k == found.count && k < GG_MAX_OUTPUTS)
                found.name[found.count++] = name;
        }
    return found;
}

static const gg_output_record *find_output(const gg_case_record *record,
                                           const char *name)
{
    for (int o = 0; o < record->output_count; o++)
        if (strcmp(record->outputs[o].name, name) == 0) return &record->outputs[o];
    return NULL;
}

/* Whether `value` takes the place of the worst so far; the first NaN stays. */
static bool worse(double value, double worst, bool first)
{
    if (first) return true;
    return !isnan(worst) && (isnan(value) || value > worst);
}

/* Sums go where the means will be. */
static void add(gg_summary_row *row, const gg_case_record *record, int at,
                const gg_output_record *output)
{
    bool first = row->cases++ == 0;
    row->rmse += output->rmse;
    row->truth_rms += output->truth_rms;
    row->floor_rmse += output->floor_rmse;
    if (worse(output->gauge_max, row->gauge_max, first)) {
        row->gauge_max = output->gauge_max;
        row->gauge_max_case = at;
    }
    if (worse(output->gauge_p99, row->gauge_p99, first)) {
        row->gauge_p99 = output->gauge_p99;
        row->gauge_p99_case = at;
    }
    if (record->runs >= 2) {
        row->repeated++;
        row->identical += output->repeat_differing == 0;
    }
    if (output->certified > 0) {
        if (worse(output->certificate, row->certificate, row->certified == 0)) {
            row->certificate = output->certificate;
            row->certificate_case = at;
        }
        row->certified += output->certified;
    }
}

static void finish(gg_summary_row *row)
{
    if (!row->cases) return;
    row->rmse /= row->cases;
    row->truth_rms /= row->cases;
    row->floor_rmse /= row->cases;
    bool exact = row->rmse == 0 && row->floor_rmse == 0;
    row->ratio = exact ? 1.0 : row->floor_rmse > 0 ? row->rmse / row->floor_rmse
                                                   : (double)NAN;
}

static void name_row(gg_summary_row *row, const char *output)
{
    memcpy(row->output, output, strnlen(output, sizeof row->output - 1));
}

/* Drops rows that no case fell into (an output that some families lack). */
static int close_rows(gg_summary_row *rows, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        finish(&rows[i]);
        if (rows[i].cases) rows[kept++] = rows[i];
    }
    return kept;
}

static gg_status make_rows(const gg_run_record *run, const groups *families,
                           const names *outputs, gg_summary *summary)
{
    int stride = families->count + 1, count = outputs->count * stride;
    summary->rows = calloc((size_t)count + 1, sizeof *summary->rows);
    if (!summary->rows) return gg_fail(GG_NO_MEMORY, "no memory for the summary");
    for (int o = 0; o < outputs->count; o++)
        for (int f = 0; f < stride; f++)
            name_row(&summary->rows[o * stride + f], outputs->name[o]);
    for (int o = 0; o < outputs->count; o++) {
        gg_summary_row *rows = &summary->rows[o * stride];
        for (int i = 0; i < run->count; i++) {
            const gg_output_record *output =
                find_output(&run->cases[i], outputs->name[o]);
            if (output) add(&rows[0], &run->cases[i], i, output);
        }
        for (int i = 0; i < run->count; i++) {
            const member *m = &families->members[i];
            const gg_output_record *output = find_output(m->record, outputs->name[o]);
            gg_summary_row *row = &rows[1 + m->group];
            memcpy(row->family, m->record->family, sizeof row->family);
            if (output) add(row, m->record, m->at, output);
        }
    }
    summary->row_count = close_rows(summary->rows, count);
    return GG_OK;
}

static gg_status make_shapes(const gg_run_record *run, const names *outputs,
                             gg_summary *summary)
{
    groups shapes;
    GG_TRY(group(run, extent_order, by_extent, false, &shapes));
    int count = shapes.count * outputs->count;
    summary->shapes = calloc((size_t)count + 1, sizeof *summary->shapes);
    for (int i = 0; summary->shapes && i < run->count; i++)
        for (int o = 0; o < outputs->count; o++) {
            const member *m = &shapes.members[i];
            gg_summary_row *row = &summary->shapes[m->group * outputs->count + o];
            const gg_output_record *output = find_output(m->record, outputs->name[o]);
            name_row(row, outputs->name[o]);
            memcpy(row->extent, m->record->extent, sizeof row->extent);
            if (output) add(row, m->record, m->at, output);
        }
    free(shapes.members);
    if (!summary->shapes) return gg_fail(GG_NO_MEMORY, "no memory for the summary");
    summary->shape_count = close_rows(summary->shapes, count);
    return GG_OK;
}

static bool all_identical(const gg_case_record *record)
{
    for (int o = 0; o < record->output_count; o++)
        if (record->outputs[o].repeat_differing != 0) return false;
    return record->output_count > 0;
}

static gg_status make_determinism(const gg_run_record *run, gg_summary *summary)
{
    groups classes;
    GG_TRY(group(run, class_order, by_family_and_runs, true, &classes));
    summary->determinism =
        calloc((size_t)classes.count + 1, sizeof *summary->determinism);
    for (int i = 0; summary->determinism && i < run->count; i++) {
        const gg_case_record *record = classes.members[i].record;
        gg_determinism_row *row = &summary->determinism[classes.members[i].group];
        memcpy(row->family, record->family, sizeof row->family);
        row->runs = record->runs;
        row->cases++;
        row->identical += record->runs >= 2 && all_identical(record);
        row->excluded = gg_excluded_rate(record->runs);
    }
    free(classes.members);
    if (!summary->determinism)
        return gg_fail(GG_NO_MEMORY, "no memory for the summary");
    summary->determinism_count = classes.count;
    return GG_OK;
}

/* The pair's reduction; false when there is none. */
static bool reduction(const gg_output_record *output, double *value)
{
    if (!output || isnan(output->ablated_rmse) || isnan(output->rmse)) return false;
    bool equal = output->rmse == output->ablated_rmse;
    *value = equal ? 0 : 1 - output->rmse / output->ablated_rmse;
    return !isnan(*value);
}

static void add_ablation(gg_summary *summary, const char *output, const char *family,
                         const double *values, int count, double *scratch)
{
    if (!count) return;
    gg_ablation_row *row = &summary->ablation[summary->ablation_count++];
    memcpy(row->output, output, strnlen(output, sizeof row->output - 1));
    memcpy(row->family, family, strnlen(family, sizeof row->family - 1));
    gg_ablation_judge(row, values, count, scratch);
}

static gg_status make_ablation(const gg_run_record *run, const groups *families,
                               const names *outputs, gg_summary *summary)
{
    size_t rows = (size_t)outputs->count * ((size_t)families->count + 1);
    summary->ablation = calloc(rows + 1, sizeof *summary->ablation);
    double *values = calloc((size_t)run->count + 2001, sizeof *values);
    if (!summary->ablation || !values) {
        free(values);
        return gg_fail(GG_NO_MEMORY, "no memory for the summary");
    }
    double *scratch = values + run->count;
    for (int o = 0; o < outputs->count; o++) {
        const char *name = outputs->name[o];
        int count = 0;
        for (int i = 0; i < run->count; i++)
            count += reduction(find_output(&run->cases[i], name), &values[count]);
        add_ablation(summary, name, "", values, count, scratch);
        for (int i = 0; i < run->count;) {
            const member *m = &families->members[i];
            count = 0;
            for (; i < run->count && families->members[i].group == m->group; i++)
                count += reduction(find_output(families->members[i].record, name),
                                   &values[count]);
            add_ablation(summary, name, m->record->family, values, count, scratch);
        }
    }
    free(values);
    return GG_OK;
}

gg_status gg_summary_make(const gg_run_record *run, gg_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    names outputs = output_names(run);
    groups families;
    GG_TRY(group(run, family_order, by_family, true, &families));
    gg_status status = make_rows(run, &families, &outputs, summary);
    if (status == GG_OK) status = make_shapes(run, &outputs, summary);
    if (status == GG_OK) status = make_determinism(run, summary);
    if (status == GG_OK) status = make_ablation(run, &families, &outputs, summary);
    gg_summary_levels(run, summary);
    free(families.members);
    if (status != GG_OK) gg_summary_free(summary);
    return status;
}

void gg_summary_free(gg_summary *summary)
{
    free(summary->rows);
    free(summary->shapes);
    free(summary->determinism);
    free(summary->ablation);
    memset(summary, 0, sizeof *summary);
}

gg_worst_check gg_worst_check_of(const gg_run_record *run, const char *output, const char *check)
{
    gg_worst_check w = {NAN, NAN, NULL, 0};
    for (int i = 0; i < run->count; i++)
        for (int o = 0; o < run->cases[i].output_count; o++) {
            const gg_output_record *record = &run->cases[i].outputs[o];
            if (strcmp(record->name, output) != 0) continue;
            for (int c = 0; c < record->check_count; c++) {
                const gg_check *found = &record->checks[c];
                if (strcmp(found->name, check) != 0) continue;
                w.cases++;
                if (w.id && (isnan(w.value) || found->value <= w.value)) continue;
                w.value = found->value, w.limit = found->limit, w.id = run->cases[i].id;
            }
        }
    return w;
}
