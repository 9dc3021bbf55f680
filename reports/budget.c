/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/budget.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add(gg_budget_entry *sum, const gg_budget_entry *e)
{
    sum->kernel += e->kernel;
    sum->all += e->all;
    sum->other += e->other;
    sum->floor += e->floor;
    sum->mismatch += e->mismatch;
    sum->elements += e->elements;
    for (int p = 0; p < GG_BUDGET_POINTS; p++) sum->point[p] += e->point[p];
}

static void divide(gg_budget_entry *sum, int cases)
{
    if (cases == 0) return;
    sum->kernel /= cases;
    sum->all /= cases;
    sum->other /= cases;
    sum->floor /= cases;
    for (int p = 0; p < GG_BUDGET_POINTS; p++) sum->point[p] /= cases;
}

/* x / y, where 0 / 0 is `both`. */
static double over(double x, double y, double both)
{
    return x == 0 && y == 0 ? both : x / y;
}

static double total(const gg_budget_entry *e)
{
    double sum = 0;
    for (int p = 0; p < GG_BUDGET_POINTS; p++) sum += e->point[p];
    return sum;
}

double gg_budget_share(const gg_budget_row *row, int point)
{
    double sum = total(&row->mean);
    return sum == 0 ? 0 : row->mean.point[point] / sum;
}

/* Bounds of the ratio, by the share of rough points. */
static void bound(const gg_budget *b, gg_budget_row *row)
{
    double rough = 0;
    for (int p = 0; p < b->point_count; p++)
        if (b->points[p].rough) rough += gg_budget_share(row, p);
    row->low = sqrt((1 - rough) * GG_BUDGET_LOW * GG_BUDGET_LOW + rough / GG_BUDGET_ROUGH);
    row->high = sqrt((1 - rough) * GG_BUDGET_HIGH * GG_BUDGET_HIGH + rough * GG_BUDGET_ROUGH);
}

static void judge(const gg_budget *b, gg_budget_row *row)
{
    bound(b, row);
    row->sum = sqrt(over(total(&row->mean), row->mean.all, 1));
    row->ratio = sqrt(over(row->mean.kernel, row->mean.all, 1));
    row->other = over(row->mean.other, row->mean.kernel, 0);
    bool within = row->ratio >= row->low && row->ratio <= row->high;
    bool few = row->mean.elements > 0 && row->mean.elements < GG_BUDGET_FEW;
    row->verdict = within ? GG_PASSED : few ? GG_NOT_VERIFIED : GG_FAILED;
    if (isnan(row->ratio) || row->mean.mismatch > 0) row->verdict = GG_FAILED;
    if (row->cases == 0 || !isfinite(row->mean.all)) row->verdict = GG_NOT_VERIFIED;
    else if (row->missing > 0) row->verdict = gg_verdict_worse(row->verdict, GG_NOT_VERIFIED);
}

/* Means over the cases of a family, "" for all. */
static gg_budget_row make_row(const gg_budget *b, int variant, int output,
                              const char *family)
{
    gg_budget_row row = {.variant = variant, .output = output};
    snprintf(row.family, sizeof row.family, "%s", family);
    for (int i = 0; i < b->case_count; i++) {
        const gg_budget_case *c = &b->cases[i];
        if (family[0] != '\0' && strcmp(family, c->family) != 0) continue;
        if (c->reason[0] != '\0') {
            row.missing++;
            continue;
        }
        row.cases++;
        add(&row.mean, &c->entry[variant][output]);
    }
    divide(&row.mean, row.cases);
    judge(b, &row);
    return row;
}

static bool seen_before(const gg_budget *b, int i)
{
    for (int k = 0; k < i; k++)
        if (strcmp(b->cases[k].family, b->cases[i].family) == 0) return true;
    return false;
}

gg_status gg_budget_rows(const gg_budget *b, gg_budget_row **rows, int *count)
{
    int families = 0;
    for (int i = 0; i < b->case_count; i++) families += !seen_before(b, i);
    size_t most = (size_t)(b->variant_count * b->output_count) * (size_t)(families + 1);
    *count = 0;
    *rows = malloc((most + 1) * sizeof **rows);
    if (*rows == NULL) return gg_fail(GG_NO_MEMORY, "no memory for the rows of a budget");
    for (int v = 0; v < b->variant_count; v++)
        for (int o = 0; o < b->output_count; o++) {
            (*rows)[(*count)++] = make_row(b, v, o, "");
            for (int i = 0; i < b->case_count; i++)
                if (!seen_before(b, i))
                    (*rows)[(*count)++] = make_row(b, v, o, b->cases[i].family);
        }
    return GG_OK;
}

const char *gg_budget_outcome(const gg_budget_row *row)
{
    if (row->verdict == GG_FAILED) return "not explained";
    if (row->verdict != GG_PASSED) return "not verified";
    return row->other <= GG_BUDGET_PREDICTED ? "predicted" : "explained";
}

gg_verdict gg_budget_verdict(const gg_budget *b)
{
    gg_budget_row *rows;
    int count = 0;
    gg_verdict verdict = GG_PASSED;
    if (b->case_count == 0 || gg_budget_rows(b, &rows, &count) != GG_OK)
        return GG_NOT_VERIFIED;
    for (int i = 0; i < count; i++)
        if (rows[i].family[0] != '\0') verdict = gg_verdict_worse(verdict, rows[i].verdict);
    free(rows);
    return verdict;
}

static void read_shares(const gg_budget *b, const gg_budget_row *row, char *text, size_t size)
{
    size_t used = 0;
    unsigned left = b->variants[row->variant].points;
    while (left != 0 && used < size) {
        int most = -1;
        for (int p = 0; p < b->point_count; p++)
            if ((left >> p & 1u) != 0 &&
                (most < 0 || row->mean.point[p] > row->mean.point[most]))
                most = p;
        if (most < 0) break;
        left &= ~(1u << most);
        double share = 100 * gg_budget_share(row, most);
        if (!(share >= 0.05)) break;
        used += (size_t)snprintf(text + used, size - used, "%s%s %.1f %%", used ? ", " : "",
                                 b->points[most].name, share);
    }
    if (used < size)
        snprintf(text + used, size - used, "%s%s", used ? "; " : "", gg_budget_outcome(row));
}

void gg_budget_reading(const gg_budget *b, const char *output, const char *family,
                       char *text, size_t size)
{
    gg_budget_row *rows = NULL;
    int count = 0;
    text[0] = '\0';
    if (gg_budget_rows(b, &rows, &count) != GG_OK) return;
    for (int i = count - 1; i >= 0; i--)
        if (rows[i].variant == 0 && strcmp(rows[i].family, family) == 0 &&
            strcmp(b->outputs[rows[i].output], output) == 0)
            read_shares(b, &rows[i], text, size);
    free(rows);
}

gg_status gg_budget_fits(const gg_budget *b, const char *path, const char *operator_name,
                         const char *kernel)
{
    if (strcmp(b->made.operator_name, operator_name) == 0 &&
        strcmp(b->made.kernel, kernel) == 0)
        return GG_OK;
    return gg_fail(GG_BAD_INPUT, "%s is the budget of %s, kernel %s, not of %s, kernel %s",
                   path, b->made.operator_name, b->made.kernel, operator_name, kernel);
}

void gg_budget_free(gg_budget *b)
{
    free(b->cases);
    *b = (gg_budget){.case_count = 0};
}
