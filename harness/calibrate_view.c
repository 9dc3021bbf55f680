/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "harness/calibrate.h"
#include "reports/grid.h"

static int64_t cases_of(const gg_honest_row *row)
{
    return row->verdicts[GG_PASSED] + row->verdicts[GG_FAILED] + row->verdicts[GG_NOT_VERIFIED];
}

static const char *percent(double rate, char text[32])
{
    snprintf(text, 32, "%.2g %%", 100 * rate);
    return text;
}

static void head(const gg_calibration *c, gg_view *view)
{
    int64_t cases = 0, failed = 0, open = 0;
    int bare = 0;
    char bound[32];
    for (int i = 0; i < c->honest_count; i++) {
        cases += cases_of(&c->honest[i]);
        failed += c->honest[i].verdicts[GG_FAILED];
        open += c->honest[i].verdicts[GG_NOT_VERIFIED];
    }
    for (int i = 0; i < c->limit_count; i++) bare += isnan(c->limits[i].mutant_figure);
    snprintf(view->lines[0], sizeof view->lines[0],
             "%s  %lld runs of right kernels: %lld failed, %lld not verified",
             gg_verdict_name(gg_calibration_verdict(c)), (long long)cases, (long long)failed,
             (long long)open);
    snprintf(view->lines[1], sizeof view->lines[1],
             "false alarms at 95 %%: fewer than %s of such runs",
             percent(cases > 0 ? gg_rate_bound(failed, cases) : 1, bound));
    snprintf(view->lines[2], sizeof view->lines[2],
             "%d reports of planted faults; %d of %d limits reject none of them", c->mutants,
             bare, c->limit_count);
    view->line_count = c->mutants > 0 ? 3 : 2;
}

static void honest(const gg_calibration *c, gg_view *view)
{
    gg_grid *grid = gg_grid_start(view, 3);
    snprintf(grid->title, sizeof grid->title, "Right kernels: false alarms");
    gg_grid_add(grid, "operator\tkernel\tdevice\truns\tfailed\tnot verified\trate below\tfirst");
    for (int i = 0; i < c->honest_count; i++) {
        const gg_honest_row *row = &c->honest[i];
        char bound[32];
        gg_grid_add(grid, "%s\t%s\t%s\t%lld\t%lld\t%lld\t%s\t%s", GG_CLEAN(row->operator_name),
                    GG_CLEAN(row->kernel), row->device, (long long)cases_of(row),
                    (long long)row->verdicts[GG_FAILED],
                    (long long)row->verdicts[GG_NOT_VERIFIED],
                    percent(gg_rate_bound(row->verdicts[GG_FAILED], cases_of(row)), bound),
                    GG_CLEAN(row->first));
    }
    snprintf(grid->note, sizeof grid->note,
             "rate below: exact binomial bound at 95 %%; every check of a case counts");
}

static void limits(const gg_calibration *c, gg_view *view)
{
    gg_grid *grid = gg_grid_start(view, 3);
    snprintf(grid->title, sizeof grid->title, "Limits");
    gg_grid_add(grid, "kernel\toutput\tfigure\tlimit\thonest\tmargin\trejects\tby\tfault; "
                      "case of the largest honest figure");
    for (int i = 0; i < c->limit_count; i++) {
        const gg_limit_row *row = &c->limits[i];
        char honest_text[32] = "-", margin[32] = "-", rejects[32] = "none", by[32] = "-";
        if (!isnan(row->largest)) {
            snprintf(honest_text, sizeof honest_text, "%.3g", row->largest);
            snprintf(margin, sizeof margin, "%.2f", row->limit / row->largest);
        }
        if (!isnan(row->mutant_figure)) {
            snprintf(rejects, sizeof rejects, "%.3g", row->mutant_figure);
            snprintf(by, sizeof by, "%.2f", row->mutant_figure / row->limit);
        }
        gg_grid_add(grid, "%s\t%s %s\t%s\t%.4g\t%s\t%s\t%s\t%s\t%s%s; %s", GG_CLEAN(row->kernel),
                    GG_CLEAN(row->output), gg_dtype_name(row->dtype), row->figure, row->limit,
                    honest_text, margin, rejects, by,
                    row->mutant[0] ? GG_CLEAN(row->mutant) : "NO FAULT IS REJECTED",
                    row->borrowed ? " (equal limit)" : "",
                    row->id[0] ? GG_CLEAN(row->id) : "no honest run");
    }
    snprintf(grid->note, sizeof grid->note,
             "margin: limit over the largest honest figure; rejects: the smallest figure of a "
             "planted fault above the limit, and by: over the limit; equal limit: the fault is "
             "of another kernel or type with this limit");
}

/* The rows of one kernel and figure, of all its outputs. */
static bool together(const gg_limit_row *a, const gg_limit_row *b)
{
    return strcmp(a->kernel, b->kernel) == 0 && strcmp(a->figure, b->figure) == 0 &&
           strcmp(a->operator_name, b->operator_name) == 0;
}

/* "o bf16 1.51, dq bf16 2.06": the largest figures of a family. */
static void put_family(const gg_calibration *c, const gg_family_row *family, gg_grid *grid)
{
    const gg_limit_row *of = &c->limits[family->limit];
    char text[400] = "";
    size_t used = 0;
    for (int i = 0; i < c->family_count && used < sizeof text; i++) {
        const gg_limit_row *row = &c->limits[c->families[i].limit];
        if (!together(of, row) || strcmp(c->families[i].family, family->family) != 0) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s %.3g",
                                 used ? ", " : "", row->output, gg_dtype_name(row->dtype),
                                 c->families[i].largest);
    }
    gg_grid_add(grid, "%s\t%s\t%s\t%s", GG_CLEAN(of->kernel), of->figure,
                GG_CLEAN(family->family), GG_CLEAN(text));
}

static void families(const gg_calibration *c, gg_view *view)
{
    gg_grid *grid = gg_grid_start(view, 4);
    snprintf(grid->title, sizeof grid->title, "Largest honest figure by family");
    gg_grid_add(grid, "kernel\tfigure\tfamily\tof each output");
    for (int i = 0; i < c->family_count; i++) {
        bool first = true; /* of its kernel, figure and family */
        for (int j = 0; j < i && first; j++)
            first = !together(&c->limits[c->families[i].limit],
                              &c->limits[c->families[j].limit]) ||
                    strcmp(c->families[i].family, c->families[j].family) != 0;
        if (first) put_family(c, &c->families[i], grid);
    }
}

static void unseen(const gg_calibration *c, gg_view *view)
{
    gg_grid *grid = gg_grid_start(view, 1);
    snprintf(grid->title, sizeof grid->title, "Planted faults that no limit can see");
    gg_grid_add(grid, "fault\twhat it is");
    for (int i = 0; i < c->unseen_count; i++)
        gg_grid_add(grid, "%s\t%s", GG_CLEAN(c->unseen[i].mutant), GG_CLEAN(c->unseen[i].fault));
    snprintf(grid->note, sizeof grid->note,
             "'gradgate list mutants' names the check: stated roundings, golden, ablation");
}

gg_status gg_calibration_print(const gg_calibration *c, bool with_families, bool markdown,
                               FILE *out, int width)
{
    gg_view view = {.line_count = 0};
    head(c, &view);
    honest(c, &view);
    limits(c, &view);
    if (c->unseen_count > 0) unseen(c, &view);
    if (with_families) families(c, &view);
    gg_status status = markdown ? gg_view_markdown(&view, out)
                                : gg_view_table(&view, out, width);
    gg_view_free(&view);
    return status;
}
