/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/candidate.h"
#include "harness/rejudge.h"
#include "kernels/mutant.h"
#include "reports/report.h"

/* Room for one more element, zeroed; NULL without memory, and nothing is lost. */
static void *grow(void *rows, int count, size_t size)
{
    char *more = realloc(rows, ((size_t)count + 1) * size);
    if (more != NULL) memset(more + (size_t)count * size, 0, size);
    return more;
}

static bool bounded(const gg_check *check)
{
    static const char *const figures[] = {"rmse", "gauge_p99", "gauge_max"};
    for (int i = 0; i < 3; i++)
        if (strcmp(check->name, figures[i]) == 0) return isfinite(check->limit);
    return false;
}

static gg_limit_row *find_limit(gg_calibration *c, const gg_run_record *run,
                                const gg_output_record *o, const gg_check *check)
{
    for (int i = 0; i < c->limit_count; i++) {
        gg_limit_row *row = &c->limits[i];
        if (row->dtype == o->dtype && strcmp(row->kernel, run->kernel) == 0 &&
            strcmp(row->output, o->name) == 0 && strcmp(row->figure, check->name) == 0 &&
            strcmp(row->operator_name, run->operator_name) == 0)
            return row;
    }
    gg_limit_row *more = grow(c->limits, c->limit_count, sizeof *more);
    if (more == NULL) return NULL;
    c->limits = more;
    gg_limit_row *row = &more[c->limit_count++];
    snprintf(row->operator_name, sizeof row->operator_name, "%s", run->operator_name);
    snprintf(row->kernel, sizeof row->kernel, "%s", run->kernel);
    snprintf(row->output, sizeof row->output, "%s", o->name);
    snprintf(row->figure, sizeof row->figure, "%s", check->name);
    row->dtype = o->dtype;
    row->limit = check->limit;
    row->largest = row->mutant_figure = NAN;
    return row;
}

static bool add_family(gg_calibration *c, int limit, const char *family, double value)
{
    gg_family_row *row = NULL;
    for (int i = 0; i < c->family_count && row == NULL; i++)
        if (c->families[i].limit == limit && strcmp(c->families[i].family, family) == 0)
            row = &c->families[i];
    if (row == NULL) {
        gg_family_row *more = grow(c->families, c->family_count, sizeof *more);
        if (more == NULL) return false;
        c->families = more;
        row = &more[c->family_count++];
        row->limit = limit;
        snprintf(row->family, sizeof row->family, "%s", family);
    }
    if (!(value <= row->largest)) row->largest = value; /* a NaN stays */
    return true;
}

static bool add_honest(gg_calibration *c, const gg_run_record *run)
{
    gg_honest_row *row = NULL;
    for (int i = 0; i < c->honest_count && row == NULL; i++)
        if (strcmp(c->honest[i].kernel, run->kernel) == 0 &&
            strcmp(c->honest[i].device, run->device) == 0 &&
            strcmp(c->honest[i].operator_name, run->operator_name) == 0)
            row = &c->honest[i];
    if (row == NULL) {
        gg_honest_row *more = grow(c->honest, c->honest_count, sizeof *more);
        if (more == NULL) return false;
        c->honest = more;
        row = &more[c->honest_count++];
        snprintf(row->operator_name, sizeof row->operator_name, "%s", run->operator_name);
        snprintf(row->kernel, sizeof row->kernel, "%s", run->kernel);
        snprintf(row->device, sizeof row->device, "%s", run->device);
    }
    for (int i = 0; i < run->count; i++) {
        const gg_case_record *record = &run->cases[i];
        row->verdicts[record->verdict]++;
        if (record->verdict != GG_PASSED && row->first[0] == '\0')
            snprintf(row->first, sizeof row->first, "%s", record->id);
    }
    return true;
}

static bool add_figure(gg_calibration *c, const gg_run_record *run,
                       const gg_case_record *record, const gg_output_record *o,
                       const gg_check *check)
{
    gg_limit_row *row = find_limit(c, run, o, check);
    if (row == NULL) return false;
    if (isnan(row->largest) || !(check->value <= row->largest)) {
        row->largest = check->value;
        snprintf(row->family, sizeof row->family, "%s", record->family);
        snprintf(row->id, sizeof row->id, "%s", record->id);
    }
    return add_family(c, (int)(row - c->limits), record->family, check->value);
}

/* A fault's figure for a limit is its largest over the cases. */
static bool fault_figures(gg_calibration *c, const gg_run_record *run)
{
    for (int i = 0; i < c->limit_count; i++) c->limits[i].fault = 0;
    for (int i = 0; i < run->count; i++)
        for (int o = 0; o < run->cases[i].output_count; o++)
            for (int k = 0; k < run->cases[i].outputs[o].check_count; k++) {
                const gg_output_record *out = &run->cases[i].outputs[o];
                const gg_check *check = &out->checks[k];
                if (!bounded(check)) continue;
                gg_limit_row *row = find_limit(c, run, out, check);
                if (row == NULL) return false;
                double value = isnan(check->value) ? (double)INFINITY : check->value;
                if (value > row->fault) row->fault = value;
            }
    return true;
}

/* Each limit keeps the fault that it rejects by the least. */
static bool add_fault(gg_calibration *c, const gg_run_record *run, const char *name)
{
    bool seen = false;
    if (!fault_figures(c, run)) return false;
    for (int i = 0; i < c->limit_count; i++) {
        gg_limit_row *row = &c->limits[i];
        if (!(row->fault > row->limit)) continue;
        seen = true;
        if (row->fault >= row->mutant_figure) continue;
        row->mutant_figure = row->fault;
        snprintf(row->mutant, sizeof row->mutant, "%s", name);
    }
    if (seen) return true;
    gg_unseen_row *more = grow(c->unseen, c->unseen_count, sizeof *more);
    if (more == NULL) return false;
    c->unseen = more;
    gg_unseen_row *row = &more[c->unseen_count++];
    snprintf(row->mutant, sizeof row->mutant, "%s", name);
    snprintf(row->fault, sizeof row->fault, "%s", run->kernel_summary);
    return true;
}

/* The kernel that a planted fault would be without it. */
static const char *base_of(const gg_run_record *run, const char *name)
{
    for (int s = 0; gg_mutant_sets[s] != NULL; s++)
        for (const gg_mutant *m = gg_mutant_sets[s]->mutants; m->name != NULL; m++)
            if (strcmp(m->name, name) == 0 &&
                strcmp(gg_mutant_sets[s]->operator_name, run->operator_name) == 0)
                return gg_mutant_sets[s]->base(m);
    return NULL;
}

static gg_status add_evidence(gg_calibration *c, const gg_run_record *run)
{
    uint64_t evidence;
    GG_TRY(gg_report_evidence(run, &evidence));
    for (int i = 0; i < c->evidence_count; i++)
        if (c->evidence[i] == evidence)
            return gg_fail(GG_BAD_INPUT, "the report of %s on %s comes twice: give it once",
                           run->kernel, run->suite);
    uint64_t *more = grow(c->evidence, c->evidence_count, sizeof *more);
    if (more == NULL) return gg_fail(GG_NO_MEMORY, "no memory for the evidence of the limits");
    c->evidence = more;
    more[c->evidence_count++] = evidence;
    return GG_OK;
}

gg_status gg_calibration_add(gg_calibration *c, gg_run_record *run)
{
    gg_rejudgement outcome;
    char name[sizeof run->kernel] = "";
    bool fault = strncmp(run->kernel, GG_MUTANT_PREFIX, strlen(GG_MUTANT_PREFIX)) == 0;
    if (fault) {
        snprintf(name, sizeof name, "%s", run->kernel + strlen(GG_MUTANT_PREFIX));
        const char *base = base_of(run, name);
        if (base == NULL)
            return gg_fail(GG_BAD_INPUT, "this build has no planted fault '%s': see 'gradgate "
                           "list mutants'", name);
        snprintf(run->kernel, sizeof run->kernel, "%s", base);
    }
    GG_TRY(add_evidence(c, run));
    GG_TRY(gg_rejudge(run, &outcome));
    bool good = fault ? add_fault(c, run, name) : add_honest(c, run);
    c->mutants += fault;
    for (int i = 0; i < run->count && good && !fault; i++)
        for (int o = 0; o < run->cases[i].output_count; o++)
            for (int k = 0; k < run->cases[i].outputs[o].check_count && good; k++)
                if (bounded(&run->cases[i].outputs[o].checks[k]))
                    good = add_figure(c, run, &run->cases[i], &run->cases[i].outputs[o],
                                      &run->cases[i].outputs[o].checks[k]);
    return good ? GG_OK : gg_fail(GG_NO_MEMORY, "no memory for the evidence of the limits");
}

static bool same_limit(const gg_limit_row *a, const gg_limit_row *b)
{
    return a->limit == b->limit && strcmp(a->output, b->output) == 0 &&
           strcmp(a->figure, b->figure) == 0 &&
           strcmp(a->operator_name, b->operator_name) == 0;
}

void gg_calibration_share(gg_calibration *c)
{
    for (int i = 0; i < c->limit_count; i++)
        for (int j = 0; j < c->limit_count && isnan(c->limits[i].mutant_figure); j++) {
            const gg_limit_row *lender = &c->limits[j];
            if (lender->borrowed || isnan(lender->mutant_figure)) continue;
            if (!same_limit(&c->limits[i], lender)) continue;
            c->limits[i].mutant_figure = lender->mutant_figure;
            memcpy(c->limits[i].mutant, lender->mutant, sizeof lender->mutant);
            c->limits[i].borrowed = true;
        }
}

void gg_calibration_free(gg_calibration *c)
{
    free(c->limits);
    free(c->families);
    free(c->honest);
    free(c->unseen);
    free(c->evidence);
    *c = (gg_calibration){.limit_count = 0};
}

gg_verdict gg_calibration_verdict(const gg_calibration *c)
{
    gg_verdict worst = c->honest_count > 0 ? GG_PASSED : GG_NOT_VERIFIED;
    for (int i = 0; i < c->honest_count; i++) {
        if (c->honest[i].verdicts[GG_FAILED] > 0) worst = GG_FAILED;
        if (c->honest[i].verdicts[GG_NOT_VERIFIED] > 0)
            worst = gg_verdict_worse(worst, GG_NOT_VERIFIED);
    }
    for (int i = 0; i < c->limit_count && c->mutants > 0; i++)
        if (isnan(c->limits[i].mutant_figure))
            worst = gg_verdict_worse(worst, GG_NOT_VERIFIED);
    return worst;
}

/* P(at most `bad` of `count`) at that rate. */
static double at_most(int64_t bad, int64_t count, double rate)
{
    double sum = 0, n = (double)count;
    for (int64_t k = 0; k <= bad; k++) {
        double x = (double)k;
        sum += exp(lgamma(n + 1) - lgamma(x + 1) - lgamma(n - x + 1) + x * log(rate) +
                   (n - x) * log1p(-rate));
    }
    return sum;
}

double gg_rate_bound(int64_t bad, int64_t count)
{
    double low = 0, high = 1;
    if (bad >= count) return 1;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *(at_most(bad, count, middle) > 0.05 ? &low : &high) = middle;
    }
    return high;
}
