/* SPDX-License-Identifier: Apache-2.0
 * A gate and a comparison as lines and grids (view.h), so that the table and Markdown
 * cannot say different things. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "reports/gate.h"
#include "reports/grid.h"

enum { SHOWN = 6 }; /* findings of a rule; --json has more */

static double percent(double log_ratio) { return 100 * expm1(log_ratio); }

const char *gg_rule_name(gg_rule rule)
{
    static const char *const names[GG_RULES] = {"limits",       "build",       "cases",
                                                "rmse",         "determinism", "bits",
                                                "compensation", "precision",   "speed",
                                                "memory"};
    return (unsigned)rule < GG_RULES ? names[rule] : "?";
}

static void identity(const gg_run_record *run, const char *what, char line[400])
{
    char truth[64] = "";
    int uncertain = gg_run_uncertified(run);
    if (uncertain > 0) snprintf(truth, sizeof truth, ", truth of %d not certified", uncertain);
    snprintf(line, 400, "%s: %s on %s, commit %s, %s, %d case%s%s, %s", what,
             GG_CLEAN(run->kernel), GG_CLEAN(run->device), GG_CLEAN(run->commit),
             GG_CLEAN(run->place.started), run->count, GG_S(run->count), truth,
             run->place.gpu[0] ? GG_CLEAN(run->place.gpu) : GG_CLEAN(run->place.host_cpu));
}

static void rules(const gg_gate *gate, gg_view *view)
{
    gg_grid *grid = gg_grid_start(view, 2);
    snprintf(grid->title, sizeof grid->title, "Rules");
    gg_grid_add(grid, "rule\tverdict\tcompared\tresult");
    for (int r = 0; r < gate->rule_count; r++)
        gg_grid_add(grid, "%s\t%s\t%d\t%s", gg_rule_name((gg_rule)r),
                    gg_verdict_name(gate->rules[r].verdict), gate->rules[r].compared,
                    GG_CLEAN(gate->rules[r].text));
}

static void findings(const gg_gate *gate, gg_view *view)
{
    gg_grid *grid = NULL;
    int hidden = 0;
    static const gg_verdict order[] = {GG_FAILED, GG_NOT_VERIFIED, GG_PASSED};
    for (int pass = 0; pass < 3; pass++)
        for (int r = 0; r < gate->rule_count; r++) {
            int count = gate->rules[r].findings, kept = count;
            if (kept > SHOWN) kept = SHOWN;
            if (pass == 0) hidden += count - kept;
            for (int i = 0; i < kept; i++) {
                const gg_finding *f = &gate->findings[r][i];
                if (f->verdict != order[pass]) continue;
                if (!grid) {
                    grid = gg_grid_start(view, 5);
                    snprintf(grid->title, sizeof grid->title, "Findings");
                    gg_grid_add(grid, "rule\tverdict\toutput\tfamily\twhat");
                }
                gg_grid_add(grid, "%s\t%s\t%s\t%s\t%s", gg_rule_name(f->rule),
                            pass == 2 ? "remark" : gg_verdict_name(f->verdict),
                            f->output[0] ? GG_CLEAN(f->output) : "-",
                            f->output[0] ? f->family[0] ? GG_CLEAN(f->family) : "(all)"
                                         : "-",
                            GG_CLEAN(f->text));
            }
        }
    if (grid && hidden > 0)
        snprintf(grid->note, sizeof grid->note,
                 "%d more findings are not listed; --json has up to %d a rule", hidden,
                 GG_GATE_KEPT);
}

static void row(gg_grid *grid, const gg_pair_row *r)
{
    char ratio[96];
    if (r->pairs < 5)
        snprintf(ratio, sizeof ratio, "%+.2f %%\t(%+.2f\t%+.2f)", percent(r->mean),
                 percent(r->least), percent(r->most));
    else
        snprintf(ratio, sizeof ratio, "%+.2f %%\t%+.2f\t%+.2f", percent(r->mean),
                 percent(r->low), percent(r->high));
    gg_grid_add(grid, "%s\t%s\t%d\t%.4g\t%.4g\t%s\t%d of %d", GG_CLEAN(r->output),
                r->family[0] ? GG_CLEAN(r->family) : "(all)", r->pairs, r->rmse[0],
                r->rmse[1], ratio, r->equal_bits, r->pairs);
}

/* Whether a row is worth a line where only changes are shown. */
static bool worth(const gg_pair_row *r)
{
    return !r->family[0] || !(fabs(r->mean) <= log(1.005));
}

/* Whether row i is of an output that has one family: all and the family say the same. */
static bool alone(const gg_pairing *pairing, int i)
{
    const gg_pair_row *rows = pairing->rows;
    int all = rows[i].family[0] ? i - 1 : i;
    return all >= 0 && !rows[all].family[0] && all + 1 < pairing->row_count &&
           rows[all + 1].pairs == rows[all].pairs;
}

static void pairs(const gg_pairing *pairing, const char *first, const char *second,
                  bool changes, gg_view *view)
{
    int hidden = 0;
    gg_grid *grid = gg_grid_start(view, 2);
    snprintf(grid->title, sizeof grid->title, "RMSE, pair by pair");
    if (!pairing->row_count) {
        snprintf(grid->note, sizeof grid->note, "nothing was compared");
        return;
    }
    gg_grid_add(grid,
                "output\tfamily\tpairs\trmse %s\trmse %s\tchange\t95 %% low\thigh\tequal "
                "bits",
                first, second);
    for (int i = 0; i < pairing->row_count; i++) {
        const gg_pair_row *r = &pairing->rows[i];
        bool lonely = alone(pairing, i);
        if (lonely && !r->family[0]) continue;
        if (changes && !lonely && !worth(r)) hidden++;
        else row(grid, r);
    }
    char rest[80] = "";
    if (hidden)
        snprintf(rest, sizeof rest,
                 "; %d rows that changed by less than 0.5 %% are left out", hidden);
    snprintf(grid->note, sizeof grid->note,
             "means over pairs; change: geometric mean of rmse %s / rmse %s; in brackets: "
             "extremes, since fewer than 5 pairs have no interval%s",
             second, first, rest);
}

static void gate_view(const gg_gate *gate, gg_view *view)
{
    memset(view, 0, sizeof *view);
    snprintf(view->lines[0], sizeof view->lines[0],
             "%s  gate of %s on %s  %s  %d case%s compared%s",
             gg_verdict_name(gate->verdict), GG_CLEAN(gate->report->kernel),
             GG_CLEAN(gate->report->device), GG_CLEAN(gate->report->suite),
             gate->pairing.count, GG_S(gate->pairing.count),
             gate->exact ? "  bits exact" : "");
    identity(gate->report, "report", view->lines[1]);
    identity(gate->baseline, "baseline", view->lines[2]);
    view->line_count = 3;
    rules(gate, view);
    findings(gate, view);
    pairs(&gate->pairing, "was", "is", true, view);
}

static void compare_view(const gg_run_record *a, const gg_run_record *b,
                         const gg_pairing *pairing, gg_view *view)
{
    memset(view, 0, sizeof *view);
    snprintf(view->lines[0], sizeof view->lines[0],
             "%s of %s  %d case%s compared, %d only in A, %d only in B, %d with other "
             "inputs",
             GG_CLEAN(b->suite), GG_CLEAN(b->operator_name), pairing->count,
             GG_S(pairing->count), pairing->lost.count, pairing->added.count,
             pairing->foreign.count);
    identity(a, "A", view->lines[1]);
    identity(b, "B", view->lines[2]);
    view->line_count = 3;
    pairs(pairing, "A", "B", false, view);
}

gg_status gg_gate_table(const gg_gate *gate, FILE *out, int width)
{
    gg_view view;
    gate_view(gate, &view);
    gg_status status = gg_view_table(&view, out, width);
    gg_view_free(&view);
    return status;
}

gg_status gg_gate_markdown(const gg_gate *gate, FILE *out)
{
    gg_view view;
    gate_view(gate, &view);
    gg_status status = gg_view_markdown(&view, out);
    gg_view_free(&view);
    return status;
}

gg_status gg_compare_table(const gg_run_record *a, const gg_run_record *b,
                      const gg_pairing *pairing, FILE *out, int width)
{
    gg_view view;
    compare_view(a, b, pairing, &view);
    gg_status status = gg_view_table(&view, out, width);
    gg_view_free(&view);
    return status;
}

gg_status gg_compare_markdown(const gg_run_record *a, const gg_run_record *b,
                         const gg_pairing *pairing, FILE *out)
{
    gg_view view;
    compare_view(a, b, pairing, &view);
    gg_status status = gg_view_markdown(&view, out);
    gg_view_free(&view);
    return status;
}
