/* SPDX-License-Identifier: Apache-2.0
 * A budget for people: the same lines and grids on a terminal and as Markdown. */
#include <math.h>
#include <stdlib.h>

#include "reports/budget.h"
#include "reports/grid.h"

typedef struct cell {
    char text[48];
} cell;

#define CELL ((cell){.text = ""}.text)

static const char *figure(const char *format, double value, char *text)
{
    if (isnan(value)) snprintf(text, 48, "-");
    else snprintf(text, 48, format, value);
    return text;
}

/* A share this small is the rounding of binary64: the point does not reach the output. */
#define NOISE 1e-15

static void lines(const gg_budget *b, gg_view *view)
{
    const gg_run_record *m = &b->made;
    int missing = 0;
    for (int i = 0; i < b->case_count; i++) missing += b->cases[i].reason[0] != '\0';
    snprintf(view->lines[0], sizeof view->lines[0],
             "%s  error budget of %s on %s, suite %s%s%s: %d case%s, %d of them not measured",
             gg_verdict_name(gg_budget_verdict(b)), GG_CLEAN(m->kernel), GG_CLEAN(m->device),
             GG_CLEAN(m->suite), m->selection[0] ? ", only " : "", GG_CLEAN(m->selection),
             b->case_count, GG_S(b->case_count), missing);
    snprintf(view->lines[1], sizeof view->lines[1], "%s; build %s, %s, %.1f s",
             GG_CLEAN(m->place.gpu[0] ? m->place.gpu : m->place.host_cpu),
             GG_CLEAN(m->commit), GG_CLEAN(m->place.started), m->place.seconds);
    view->line_count = 2;
    if (b->assumed)
        snprintf(view->lines[view->line_count++], sizeof view->lines[0],
                 "the rounding points are those of --points, not the kernel's statement");
}

static void head(const gg_budget *b, int variant, gg_grid *g)
{
    char row[1024];
    size_t used = 0;
    const gg_budget_variant *v = &b->variants[variant];
    snprintf(g->title, sizeof g->title, "Share of the mean square error by rounding point%s%s",
             v->name[0] ? ": " : "", GG_CLEAN(v->name));
    for (int p = 0; p < b->point_count && used < sizeof row; p++)
        if (v->points >> p & 1u)
            used += (size_t)snprintf(row + used, sizeof row - used, "%s\t",
                                     GG_CLEAN(b->points[p].name));
    row[used < sizeof row ? used : sizeof row - 1] = '\0';
    gg_grid_add(g, "output\tfamily\tRMSE\t/ floor\t%ssum\tratio\tother\toutcome", row);
}

static void add_row(const gg_budget *b, const gg_budget_row *r, gg_grid *g)
{
    char row[1024] = "";
    size_t used = 0;
    const gg_budget_entry *e = &r->mean;
    double floor = e->kernel == 0 && e->floor == 0 ? 1 : sqrt(e->kernel / e->floor);
    for (int p = 0; p < b->point_count && used < sizeof row; p++) {
        double share = gg_budget_share(r, p);
        if (!(b->variants[r->variant].points >> p & 1u)) continue;
        used += (size_t)snprintf(row + used, sizeof row - used, "%s\t",
                                 share < NOISE ? "-" : figure("%.1f %%", 100 * share, CELL));
    }
    row[used < sizeof row ? used : sizeof row - 1] = '\0';
    gg_grid_add(g, "%s\t%s\t%s\t%s\t%s%s\t%s\t%s\t%s", GG_CLEAN(b->outputs[r->output]),
                r->family[0] ? GG_CLEAN(r->family) : "all",
                figure("%.3g", sqrt(e->kernel), CELL), figure("%.2f", floor, CELL), row,
                figure("%.3f", r->sum, CELL), figure("%.3f", r->ratio, CELL),
                figure("%.2g %%", e->kernel == 0 ? NAN : 100 * r->other, CELL),
                gg_budget_outcome(r));
}

static void shares(const gg_budget *b, const gg_budget_row *rows, int count, int variant,
                   gg_view *view)
{
    gg_grid *g = gg_grid_start(view, 2);
    head(b, variant, g);
    for (int i = 0; i < count; i++)
        if (rows[i].variant == variant) add_row(b, &rows[i], g);
    if (variant < b->variant_count - 1) return;
    snprintf(g->note, sizeof g->note,
             "sum: points added up over all together. ratio: the kernel over all together; "
             "explained from %.1f to %.1f, wider as far as a rough point makes the sum. other: "
             "share of the kernel's error that is not theirs, element by element; predicted "
             "up to %.0f %%. Outside, fewer than %d elements are not verified: too few for an "
             "RMSE.", GG_BUDGET_LOW, GG_BUDGET_HIGH, 100 * GG_BUDGET_PREDICTED, GG_BUDGET_FEW);
}

/* By how much one mean square's RMSE is below the other's; "-" where that has no error. */
static const char *saved(double with, double without, char *text)
{
    double share = without == 0 ? (double)NAN : 1 - sqrt(with / without);
    return figure("%.1f %%", 100 * share, text);
}

/* What the feature saves, as measured and as the points foresee it. */
static void savings(const gg_budget *b, const gg_budget_row *rows, int count, gg_view *view)
{
    if (b->variant_count < 2) return;
    gg_grid *g = gg_grid_start(view, 2);
    snprintf(g->title, sizeof g->title, "RMSE of %s against %s, measured and foreseen",
             GG_CLEAN(b->variants[0].name), GG_CLEAN(b->variants[1].name));
    gg_grid_add(g, "output\tfamily\t%s\t%s\tsaved\tforeseen", GG_CLEAN(b->variants[0].name),
                GG_CLEAN(b->variants[1].name));
    for (int i = 0; i < count / 2; i++) {
        const gg_budget_row *x = &rows[i], *y = &rows[count / 2 + i];
        if (x->mean.all == y->mean.all && x->mean.kernel == y->mean.kernel) continue;
        gg_grid_add(g, "%s\t%s\t%s\t%s\t%s\t%s", GG_CLEAN(b->outputs[x->output]),
                    x->family[0] ? GG_CLEAN(x->family) : "all",
                    figure("%.3g", sqrt(x->mean.kernel), CELL),
                    figure("%.3g", sqrt(y->mean.kernel), CELL),
                    saved(x->mean.kernel, y->mean.kernel, CELL),
                    saved(x->mean.all, y->mean.all, CELL));
    }
    snprintf(g->note, sizeof g->note, "Outputs that are equal in both are left out.");
}

static void legend(const gg_budget *b, gg_view *view)
{
    gg_grid *g = gg_grid_start(view, 2);
    snprintf(g->title, sizeof g->title, "The rounding points");
    gg_grid_add(g, "point\twhat it rounds");
    for (int p = 0; p < b->point_count; p++)
        if ((b->variants[0].points | b->variants[1].points) >> p & 1u)
            gg_grid_add(g, "%s\t%s%s", GG_CLEAN(b->points[p].name),
                        GG_CLEAN(b->points[p].summary),
                        b->points[p].rough ? " (rough: right in size only)" : "");
}

static void reasons(const gg_budget *b, gg_view *view)
{
    gg_grid *g = NULL;
    int left = 0;
    for (int i = 0; i < b->case_count; i++) {
        if (b->cases[i].reason[0] == '\0') continue;
        if (g == NULL) {
            g = gg_grid_start(view, 2);
            snprintf(g->title, sizeof g->title, "Not measured");
            gg_grid_add(g, "case\twhy");
        }
        if (g->count > GG_VIEW_FAILURES) left++;
        else
            gg_grid_add(g, "%s\t%s", GG_CLEAN(b->cases[i].id), GG_CLEAN(b->cases[i].reason));
    }
    if (left > 0) snprintf(g->note, sizeof g->note, "and %d more", left);
}

static void make(const gg_budget *b, gg_view *view)
{
    gg_budget_row *rows = NULL;
    int count = 0;
    *view = (gg_view){.line_count = 0};
    lines(b, view);
    if (gg_budget_rows(b, &rows, &count) != GG_OK) {
        snprintf(view->lines[view->line_count++], sizeof view->lines[0], "no memory");
        return;
    }
    for (int v = 0; v < b->variant_count; v++) shares(b, rows, count, v, view);
    savings(b, rows, count, view);
    legend(b, view);
    reasons(b, view);
    free(rows);
}

void gg_budget_table(const gg_budget *budget, FILE *out, int width)
{
    gg_view view;
    make(budget, &view);
    gg_view_table(&view, out, width);
    gg_view_free(&view);
}

gg_status gg_budget_markdown(const void *budget, FILE *out)
{
    gg_view view;
    make(budget, &view);
    gg_view_markdown(&view, out);
    gg_view_free(&view);
    return GG_OK;
}
