/* SPDX-License-Identifier: Apache-2.0
 * A claim is a bound. It is reproduced where the whole 95 % interval of what was measured
 * keeps it and not reproduced where none of it does: a mean alone decides nothing. */
#include "reports/claims.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/pair.h"

/* Values of an interval; gg_mean_interval's; outputs by families beyond which claims are
 * judged over all families alone: each row looks at every case. */
enum { FEWEST = 5, SCRATCH = 2000, MOST_ROWS = 1000 };

typedef struct maker {
    const gg_run_record *run;
    const gg_summary *summary;
    const gg_run_record *beside;
    int beside_count;
    gg_claims *claims;
} maker;

const char *gg_claim_verdict_name(gg_claim_verdict verdict)
{
    return verdict == GG_CLAIM_REPRODUCED   ? "reproduced"
           : verdict == GG_CLAIM_REFUTED    ? "not reproduced"
           : verdict == GG_CLAIM_UNRESOLVED ? "not resolved here"
                                            : "not measured here";
}

/* Whether `name` is a word of `list`; NULL has every word. */
static bool has_word(const char *list, const char *name)
{
    size_t length = strlen(name);
    if (list == NULL) return true;
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0))
            return length > 0;
    return false;
}

static gg_status add(maker *m, const gg_claim_row *row)
{
    gg_claims *claims = m->claims;
    if (claims->count == claims->room) {
        int room = claims->room ? 2 * claims->room : 32;
        gg_claim_row *rows = realloc(claims->rows, (size_t)room * sizeof *rows);
        if (rows == NULL) return gg_fail(GG_NO_MEMORY, "no memory for %d claims", room);
        claims->rows = rows;
        claims->room = room;
    }
    claims->rows[claims->count++] = *row;
    return GG_OK;
}

static gg_claim_row row_of(const gg_claim *claim, const char *output, const char *family)
{
    gg_claim_row row = {.claim = claim};
    memcpy(row.output, output, strnlen(output, sizeof row.output - 1));
    memcpy(row.family, family, strnlen(family, sizeof row.family - 1));
    return row;
}

/* Which side of `bound` the interval lies on; `above`: the claim is to lie above it. */
static gg_claim_verdict side_of(double low, double high, double bound, bool above)
{
    if (above ? low >= bound : high <= bound) return GG_CLAIM_REPRODUCED;
    if (above ? high < bound : low > bound) return GG_CLAIM_REFUTED;
    return GG_CLAIM_UNRESOLVED; /* a NaN too */
}

/* Why a claim cannot be about this run, or NULL. */
static const char *misfit(const gg_claim *claim, const maker *m, char text[160])
{
    const gg_operator *op = gg_operator_find(m->run->operator_name);
    const char *at = op->size ? strchr(op->symbols, op->size) : NULL;
    if (claim->kind == GG_CLAIM_ELSEWHERE) return claim->what;
    if (claim->kernel != NULL && strcmp(claim->kernel, m->run->kernel) != 0)
        snprintf(text, 160, "about %s, not about this kernel", claim->kernel);
    else if (claim->least > 0 && at != NULL) {
        int64_t least = INT64_MAX;
        for (int i = 0; i < m->run->count; i++)
            if (m->run->cases[i].extent[at - op->symbols] < least)
                least = m->run->cases[i].extent[at - op->symbols];
        if (least >= claim->least) return NULL;
        snprintf(text, 160, "about %c of %lld and more; this run has %c = %lld", op->size,
                 (long long)claim->least, op->size, (long long)least);
    } else return NULL;
    return text;
}

static gg_status unmeasured(maker *m, const gg_claim *claim, const char *why)
{
    gg_claim_row row = row_of(claim, "", "");
    snprintf(row.basis, sizeof row.basis, "%s", why);
    return add(m, &row);
}

/* Cases of a family whose output has no RMSE: they are in no pair, so a claim about the
 * pairs alone would leave out the worst. */
static int undefined(const gg_run_record *run, const char *output, const char *family)
{
    int count = 0;
    for (int i = 0; i < run->count; i++) {
        const gg_output_record *o = gg_output_find(&run->cases[i], output);
        bool belongs = !family[0] || strcmp(family, run->cases[i].family) == 0;
        count += o != NULL && belongs && isnan(o->rmse);
    }
    return count;
}

/* GG_CLAIM_SAVED, from the ablation. */
static gg_status saved(maker *m, const gg_claim *claim)
{
    int before = m->claims->count;
    for (int i = 0; i < m->summary->ablation_count; i++) {
        const gg_ablation_row *a = &m->summary->ablation[i];
        if (strcmp(m->run->ablation, claim->what) != 0) break;
        if (!has_word(claim->outputs, a->output)) continue;
        if (a->family[0] && m->summary->ablation_count > MOST_ROWS) continue;
        gg_claim_row row = row_of(claim, a->output, a->family);
        snprintf(row.value, sizeof row.value, "%+.1f %%", 100 * a->mean);
        snprintf(row.basis, sizeof row.basis, "%d pairs", a->pairs);
        if (a->pairs < FEWEST)
            snprintf(row.basis, sizeof row.basis, "%d pairs resolve nothing", a->pairs);
        else {
            snprintf(row.interval, sizeof row.interval, "%.1f to %.1f %%", 100 * a->low,
                     100 * a->high);
            row.verdict = side_of(a->low, a->high, claim->low, true);
            int lost = undefined(m->run, a->output, a->family);
            if (a->low > claim->high)
                snprintf(row.basis, sizeof row.basis, "%d pairs; more than claimed", a->pairs);
            if (lost > 0) {
                snprintf(row.basis, sizeof row.basis, "%d cases more have no RMSE", lost);
                row.verdict = GG_CLAIM_UNRESOLVED;
            }
        }
        GG_TRY(add(m, &row));
    }
    if (m->claims->count > before) return GG_OK;
    char why[160];
    snprintf(why, sizeof why, "the run did not switch off %s (--ablate)", claim->what);
    return unmeasured(m, claim, why);
}

/* A case's named outputs: measured at all, and no bit of them differed. */
static bool equal_bits(const gg_case_record *c, const gg_claim *claim, bool *equal)
{
    bool met = false;
    *equal = true;
    for (int o = 0; o < c->output_count; o++) {
        if (!has_word(claim->outputs, c->outputs[o].name)) continue;
        met = true;
        *equal = *equal && c->outputs[o].repeat_differing == 0;
    }
    return met;
}

/* GG_CLAIM_BITS: one case that differs refutes it; all of them are needed to show it. */
static gg_status bits(maker *m, const gg_claim *claim)
{
    int cases = 0, same = 0;
    gg_claim_row row = row_of(claim, "", "");
    for (int i = 0; i < m->run->count; i++) {
        bool equal;
        if (!equal_bits(&m->run->cases[i], claim, &equal)) continue;
        if (m->run->cases[i].runs < claim->runs && equal) continue;
        cases++;
        same += equal;
    }
    if (cases > 0) snprintf(row.value, sizeof row.value, "%d of %d cases", same, cases);
    if (same == cases && cases > 0)
        snprintf(row.interval, sizeof row.interval, "0 to %.2g %% of cases differ",
                 100 * (1 - pow(0.05, 1.0 / cases)));
    if (same < cases) row.verdict = GG_CLAIM_REFUTED;
    else if (strcmp(m->run->device, "cuda") == 0 && cases >= claim->cases)
        row.verdict = GG_CLAIM_REPRODUCED;
    if (strcmp(m->run->device, "cuda") != 0)
        snprintf(row.basis, sizeof row.basis, "about a GPU; this is the %s", m->run->device);
    else if (cases < claim->cases && same == cases)
        snprintf(row.basis, sizeof row.basis, "%d cases of %d runs; %d were claimed", cases,
                 claim->runs, claim->cases);
    else
        snprintf(row.basis, sizeof row.basis, "%d runs a case exclude, at 95 %%, a mismatch "
                 "rate above %.2g %% of it", m->run->repeats,
                 100 * gg_excluded_rate(m->run->repeats));
    return add(m, &row);
}

/* RMSE over the floor, case by case; how many there are. */
static int ratios(const gg_run_record *run, const gg_summary_row *s, double *values)
{
    int count = 0;
    for (int i = 0; i < run->count; i++) {
        const gg_output_record *o = gg_output_find(&run->cases[i], s->output);
        if (o == NULL || (s->family[0] && strcmp(s->family, run->cases[i].family) != 0))
            continue;
        values[count++] = o->rmse == o->floor_rmse ? 1 : o->rmse / o->floor_rmse;
    }
    return count;
}

/* GG_CLAIM_FLOOR */
static gg_status on_floor(maker *m, const gg_claim *claim)
{
    int before = m->claims->count;
    double *values = calloc((size_t)m->run->count + SCRATCH + 1, sizeof *values);
    if (values == NULL) return gg_fail(GG_NO_MEMORY, "no memory for a claim");
    double *scratch = values + m->run->count;
    gg_status status = GG_OK;
    for (int i = 0; status == GG_OK && i < m->summary->row_count; i++) {
        const gg_summary_row *s = &m->summary->rows[i];
        if (!has_word(claim->outputs, s->output)) continue;
        if (s->family[0] && m->summary->row_count > MOST_ROWS) continue;
        gg_claim_row row = row_of(claim, s->output, s->family);
        int count = ratios(m->run, s, values);
        double mean = NAN, low = NAN, high = NAN;
        gg_mean_interval(values, count, scratch, &mean, &low, &high);
        snprintf(row.value, sizeof row.value, "%.3f", mean);
        snprintf(row.basis, sizeof row.basis, "%d cases%s", count,
                 count < FEWEST ? " resolve nothing" : "");
        if (count >= FEWEST) {
            snprintf(row.interval, sizeof row.interval, "%.3f to %.3f", low, high);
            row.verdict = side_of(low, high, claim->high, false);
        }
        status = add(m, &row);
    }
    free(values);
    if (status != GG_OK || m->claims->count > before) return status;
    return unmeasured(m, claim, "no output of the claim was measured");
}

/* GG_CLAIM_CHECK */
static gg_status checks(maker *m, const gg_claim *claim)
{
    int made = 0, failed = 0;
    for (int i = 0; i < m->run->count; i++) {
        bool met = false, bad = false;
        for (int o = 0; o < m->run->cases[i].output_count; o++) {
            const gg_output_record *out = &m->run->cases[i].outputs[o];
            if (!has_word(claim->outputs, out->name)) continue;
            for (int c = 0; c < out->check_count; c++) {
                if (strcmp(out->checks[c].name, claim->what) != 0) continue;
                met = met || out->checks[c].verdict != GG_NOT_VERIFIED;
                bad = bad || out->checks[c].verdict == GG_FAILED;
            }
        }
        made += met;
        failed += bad;
    }
    gg_claim_row row = row_of(claim, "", "");
    if (made == 0)
        snprintf(row.basis, sizeof row.basis, "no case of this run made the check %s",
                 claim->what);
    else {
        snprintf(row.value, sizeof row.value, "%d of %d cases", made - failed, made);
        snprintf(row.basis, sizeof row.basis, "check %s, bit by bit", claim->what);
        if (failed > 0) row.verdict = GG_CLAIM_REFUTED;
        else if (made >= FEWEST) row.verdict = GG_CLAIM_REPRODUCED;
        if (failed == 0)
            snprintf(row.interval, sizeof row.interval, "0 to %.2g %% of cases differ",
                     100 * (1 - pow(0.05, 1.0 / made)));
    }
    return add(m, &row);
}

static const char *times(double log_ratio, char text[32])
{
    double ratio = exp(log_ratio);
    snprintf(text, 32, ratio < 10 ? "%.4f" : "%.4g", ratio);
    return text;
}

/* GG_CLAIM_LOWEST against one other kernel. */
static gg_status lower_than(maker *m, const gg_claim *claim, const gg_run_record *other)
{
    gg_pairing pairing;
    GG_TRY(gg_pairing_make(other, m->run, &pairing));
    gg_status status = GG_OK;
    int before = m->claims->count;
    for (int i = 0; status == GG_OK && i < pairing.row_count; i++) {
        const gg_pair_row *p = &pairing.rows[i];
        if (!has_word(claim->outputs, p->output)) continue;
        if (p->family[0] && pairing.row_count > MOST_ROWS) continue;
        gg_claim_row row = row_of(claim, p->output, p->family);
        char text[2][32];
        snprintf(row.value, sizeof row.value, "%s times its RMSE", times(p->mean, text[0]));
        snprintf(row.against, sizeof row.against, "%s", other->kernel);
        snprintf(row.basis, sizeof row.basis, "%d pairs%s", p->pairs,
                 p->equal_bits == p->pairs ? ", equal bits" : "");
        if (p->pairs >= FEWEST) {
            snprintf(row.interval, sizeof row.interval, "%s to %s", times(p->low, text[0]),
                     times(p->high, text[1]));
            row.verdict = side_of(p->low, p->high, 0, false);
        }
        status = add(m, &row);
    }
    gg_pairing_free(&pairing);
    if (status != GG_OK || m->claims->count > before) return status;
    char why[160];
    snprintf(why, sizeof why, "no case in common with the report of %.60s", other->kernel);
    return unmeasured(m, claim, why);
}

static gg_status lowest(maker *m, const gg_claim *claim)
{
    if (m->beside_count == 0)
        return unmeasured(m, claim, "needs reports of other kernels (report --beside)");
    for (int b = 0; b < m->beside_count; b++)
        GG_TRY(lower_than(m, claim, &m->beside[b]));
    return GG_OK;
}

static gg_status one(maker *m, const gg_claim *claim)
{
    char text[160];
    const char *why = misfit(claim, m, text);
    if (why != NULL) return unmeasured(m, claim, why);
    switch (claim->kind) {
    case GG_CLAIM_SAVED: return saved(m, claim);
    case GG_CLAIM_BITS: return bits(m, claim);
    case GG_CLAIM_FLOOR: return on_floor(m, claim);
    case GG_CLAIM_CHECK: return checks(m, claim);
    case GG_CLAIM_LOWEST: return lowest(m, claim);
    default: return GG_OK; /* misfit() has said why */
    }
}

gg_status gg_claims_make(const gg_run_record *run, const gg_summary *summary,
                         const gg_run_record *beside, int beside_count, gg_claims *claims)
{
    maker m = {run, summary, beside, beside_count, claims};
    const gg_operator *op = gg_operator_find(run->operator_name);
    *claims = (gg_claims){.count = 0};
    for (int b = 0; b < beside_count; b++)
        if (strcmp(beside[b].operator_name, run->operator_name) != 0)
            return gg_fail(GG_BAD_INPUT, "--beside: %s is a kernel of %s, not of %s",
                           beside[b].kernel, beside[b].operator_name, run->operator_name);
    for (const gg_claim *c = op ? op->claims : NULL; c != NULL && c->text != NULL; c++) {
        gg_status status = one(&m, c);
        if (status == GG_OK) continue;
        gg_claims_free(claims);
        return status;
    }
    return GG_OK;
}

void gg_claims_free(gg_claims *claims)
{
    free(claims->rows);
    *claims = (gg_claims){.count = 0};
}

int gg_claims_group(const gg_claims *claims, int first)
{
    int end = first + 1;
    while (end < claims->count && claims->rows[end].family[0]) end++;
    return end;
}

gg_claim_verdict gg_claims_headline(const gg_claims *claims, int first, char text[64])
{
    int end = gg_claims_group(claims, first), reproduced = 0;
    int from = end - first > 1 ? first + 1 : first; /* by family, where there are any */
    gg_claim_verdict shared = claims->rows[from].verdict;
    bool equal = true;
    for (int i = from; i < end; i++) {
        equal = equal && claims->rows[i].verdict == shared;
        reproduced += claims->rows[i].verdict == GG_CLAIM_REPRODUCED;
    }
    if (equal) snprintf(text, 64, "%s", gg_claim_verdict_name(shared));
    else snprintf(text, 64, "reproduced in %d of %d families", reproduced, end - from);
    return equal ? shared : GG_CLAIM_UNRESOLVED;
}
