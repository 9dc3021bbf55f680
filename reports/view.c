/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/view.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "reports/grid.h"
#include "reports/report.h"

const char *gg_clean(const char *text, char *buffer, size_t size)
{
    size_t i = 0;
    for (; text[i] && i + 1 < size; i++) {
        unsigned char c = (unsigned char)text[i];
        bool c1 = c == 0xc2 && (unsigned char)text[i + 1] < 0xa0; /* 8-bit controls */
        buffer[i] = c < ' ' || c == 0x7f || c1 ? '?' : text[i];
    }
    buffer[i] = 0;
    return buffer;
}

const char *gg_grid_cell(const char *row, int column, int *length)
{
    for (; column > 0; column--) {
        row = strchr(row, '\t');
        if (!row) return NULL;
        row++;
    }
    const char *end = strchr(row, '\t');
    *length = end ? (int)(end - row) : (int)strlen(row);
    return row;
}

gg_grid *gg_grid_start(gg_view *view, int left)
{
    gg_grid *grid = &view->grids[view->grid_count++];
    grid->left = left;
    return grid;
}

void gg_grid_add(gg_grid *grid, const char *format, ...)
{
    char text[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (grid->count == grid->room) {
        int room = grid->room ? 2 * grid->room : 16;
        char **rows = realloc(grid->rows, (size_t)room * sizeof *rows);
        if (!rows) {
            grid->broken = true;
            return;
        }
        grid->rows = rows;
        grid->room = room;
    }
    char *row = strdup(text);
    if (row) grid->rows[grid->count++] = row;
    else grid->broken = true;
}

gg_status gg_view_whole(const gg_view *view)
{
    for (int g = 0; g < view->grid_count; g++)
        if (view->grids[g].broken)
            return gg_fail(GG_NO_MEMORY, "no memory for all rows of \"%s\"",
                           view->grids[g].title);
    return GG_OK;
}

#define CLEAN GG_CLEAN

static const char *figure(double value, char text[32])
{
    snprintf(text, 32, isnan(value) ? "undefined" : "%.3g", value);
    return text;
}

#define FIGURE(value) figure(value, (char[32]){0})

static const char *whole(int64_t value, char text[32])
{
    snprintf(text, 32, "%" PRId64, value);
    return text;
}
#define COUNT(value) whole(value, (char[32]){0})

/* "2 devices: cuda:0 301 cases, cuda:1 299; bits compared across them in 30 cases: ..." */
static void devices(const gg_run_record *run, char *text, size_t size)
{
    int compared = 0, different = 0;
    size_t used = (size_t)snprintf(text, size, "%d devices:", run->place.device_count);
    for (int i = 0; i < run->place.device_count && used < size; i++) {
        const char *name = run->place.devices[i].name;
        int cases = 0;
        for (int k = 0; k < run->count; k++)
            cases += strcmp(run->cases[k].device, name) == 0;
        used += (size_t)snprintf(text + used, size - used, "%s %s %d", i ? "," : "",
                                 CLEAN(name), cases);
    }
    for (int k = 0; k < run->count; k++) {
        compared += run->cases[k].across > 0;
        different += gg_case_has_failed(&run->cases[k], "across");
    }
    if (used >= size) return;
    if (compared == 0) snprintf(text + used, size - used, " cases; bits not compared across them");
    else
        snprintf(text + used, size - used, " cases; %d cases on all of them: %d differ",
                 compared, different);
}

static void identity(const gg_run_record *run, gg_view *view)
{
    int passed = gg_run_count(run, GG_PASSED), failed = gg_run_count(run, GG_FAILED);
    int open = gg_run_count(run, GG_NOT_VERIFIED);
    bool whole = !run->selection[0] && run->shards <= 1;
    int uncertain = gg_run_uncertified(run);
    char share[64] = "", selection[160] = "", truth[64] = "";
    if (run->shards > 1)
        snprintf(share, sizeof share, "  shard %d of %d", run->shard, run->shards);
    if (run->selection[0])
        snprintf(selection, sizeof selection, "  cases %s", CLEAN(run->selection));
    if (uncertain > 0) snprintf(truth, sizeof truth, "  truth of %d not certified", uncertain);
    snprintf(
        view->lines[0], sizeof view->lines[0], "%s  %s on %s  %s  %d of %d cases%s%s%s",
        gg_verdict_name(gg_run_verdict(run)), CLEAN(run->kernel), CLEAN(run->device),
        CLEAN(run->suite), passed, run->suite_count, selection, share, truth);
    int rest = run->suite_count - run->count;
    char missing[96] = "";
    if (rest > 0)
        snprintf(missing, sizeof missing, ", %d not run%s", rest,
                 whole ? " although the whole suite was asked for"
                       : " (not asked for)");
    snprintf(view->lines[1], sizeof view->lines[1],
             "%d passed, %d failed, %d not verified%s", passed, failed, open, missing);
    uint64_t evidence = 0;
    bool known = gg_report_evidence(run, &evidence) == GG_OK;
    const char *where = run->place.gpu[0] ? run->place.gpu : run->place.host_cpu;
    snprintf(view->lines[2], sizeof view->lines[2], "%s  %s  promises: %s",
             where[0] ? CLEAN(where) : "place unknown",
             run->features[0] ? CLEAN(run->features) : "no features",
             run->promise[0] ? CLEAN(run->promise) : "nothing");
    snprintf(view->lines[3], sizeof view->lines[3],
             known ? "evidence xxh:%016" PRIx64 " (equal for equal runs)"
                   : "evidence unknown",
             evidence);
    view->line_count = 4;
    if (run->place.device_count > 1)
        devices(run, view->lines[view->line_count++], sizeof view->lines[0]);
}

static const char *family_name(const char *family)
{
    return family[0] ? family : "(all)";
}

static bool one_family(const gg_summary *summary)
{
    const gg_summary_row *rows = summary->rows;
    for (int i = 1; i < summary->row_count; i++)
        if (rows[i].family[0] && strcmp(rows[i].family, rows[1].family) != 0)
            return false;
    return true;
}

static void accuracy(const gg_run_record *run, const gg_summary *summary, gg_view *view)
{
    gg_grid *grid = gg_grid_start(view, 2);
    snprintf(grid->title, sizeof grid->title, "Error against the truth");
    if (!summary->row_count) {
        snprintf(grid->note, sizeof grid->note, "not run");
        return;
    }
    bool single = one_family(summary);
    gg_grid_add(grid, "output\tfamily\tcases\trmse\ttruth rms\trmse/floor\tp99\tmax\tMPFR"
              "\tpoints\tcase of max");
    for (int i = 0; i < summary->row_count; i++) {
        const gg_summary_row *row = &summary->rows[i];
        if (single && !row->family[0]) continue;
        bool exact = row->rmse == 0 && row->floor_rmse == 0;
        gg_grid_add(grid, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", CLEAN(row->output),
            CLEAN(family_name(row->family)), row->cases, FIGURE(row->rmse),
            FIGURE(row->truth_rms), exact ? "exact" : FIGURE(row->ratio),
            FIGURE(row->gauge_p99), FIGURE(row->gauge_max),
            row->certified ? FIGURE(row->certificate) : "not run",
            row->certified ? COUNT(row->certified) : "-",
            CLEAN(run->cases[row->gauge_max_case].id));
    }
    snprintf(grid->note, sizeof grid->note,
             "means over cases; rmse/floor 1 is the limit of the output's type; p99, "
             "max "
             "and MPFR (the truth's own distance) are the worst case, in allowed "
             "roundings");
}

/* Where it was asked for. */
static void stated(const gg_run_record *run, gg_view *view)
{
    if (run->roundings == 0) return;
    gg_grid *grid = gg_grid_start(view, 1);
    snprintf(grid->title, sizeof grid->title, "Error against the roundings that the kernel states");
    gg_grid_add(grid, "output\tcases\tlargest rmse/stated\tcase of it");
    for (int o = 0; o < run->limit_count; o++) {
        const char *name = run->limits[o].output;
        gg_worst_check w = gg_worst_check_of(run, name, "roundings");
        gg_grid_add(grid, "%s\t%d\t%s\t%s", CLEAN(name), w.cases, w.id ? FIGURE(w.value) : "-",
            w.id ? CLEAN(w.id) : "-");
    }
    snprintf(grid->note, sizeof grid->note, "of the %d case%s asked for; one is left out where "
             "accumulation in FP32 counts, or for its few elements", run->roundings,
             GG_S(run->roundings));
}

static void determinism(const gg_run_record *run, const gg_summary *summary,
                        gg_view *view)
{
    gg_grid *grid = gg_grid_start(view, 1);
    snprintf(grid->title, sizeof grid->title, "Determinism: equal inputs, equal bits?");
    bool compared = false;
    gg_grid_add(grid, "family\truns\tcases\tequal bits\trate excluded above");
    for (int i = 0; i < summary->determinism_count; i++) {
        const gg_determinism_row *row = &summary->determinism[i];
        char equal[48] = "not run", rate[32] = "-";
        if (row->runs >= 2) {
            compared = true;
            snprintf(equal, sizeof equal, "%d of %d", row->identical, row->cases);
        }
        if (row->runs >= 2 && row->identical)
            snprintf(rate, sizeof rate, "%.2g %%", 100 * row->excluded);
        gg_grid_add(grid, "%s\t%d\t%d\t%s\t%s", CLEAN(row->family), row->runs, row->cases,
            equal, rate);
    }
    if (compared)
        snprintf(grid->note, sizeof grid->note,
                 "n equal runs exclude, at 95 %%, that a case mismatches more often "
                 "than "
                 "1 - 0.05^(1/(n-1)); cases are not pooled");
    else
        snprintf(grid->note, sizeof grid->note,
                 "not run: no case has two runs (asked for: %d)", run->repeats);
}

/* The feature does not reach this output: every pair of every family is equal. */
static bool untouched(const gg_summary *summary, const char *output)
{
    for (int i = 0; i < summary->ablation_count; i++)
        if (strcmp(summary->ablation[i].output, output) == 0 && !summary->ablation[i].equal)
            return false;
    return true;
}

static void ablation(const gg_run_record *run, const gg_summary *summary, gg_view *view)
{
    gg_grid *grid = gg_grid_start(view, 2);
    snprintf(grid->title, sizeof grid->title, "Ablation: error saved by %s",
             run->ablation[0] ? CLEAN(run->ablation) : "a feature");
    if (!summary->ablation_count) {
        snprintf(grid->note, sizeof grid->note, "not run");
        return;
    }
    bool single = one_family(summary), idle = true;
    gg_grid_add(grid, "output\tfamily\tpairs\trmse saved\t95 %% low\t95 %% high\toutcome");
    for (int i = 0; i < summary->ablation_count; i++) {
        const gg_ablation_row *row = &summary->ablation[i];
        idle = idle && row->equal;
        if (single && !row->family[0]) continue;
        if (untouched(summary, row->output)) {
            if (single || !row->family[0])
                gg_grid_add(grid, "%s\t%s\t%d\t-\t-\t-\tuntouched (equal in every pair)",
                    CLEAN(row->output), CLEAN(family_name(row->family)), row->pairs);
            continue;
        }
        gg_grid_add(grid, "%s\t%s\t%d\t%.2f %%\t%.2f %%\t%.2f %%\t%s%s", CLEAN(row->output),
            CLEAN(family_name(row->family)), row->pairs, 100 * row->mean,
            100 * row->low, 100 * row->high, gg_outcome_name(row->outcome),
            row->equal ? " (equal in every pair)" : "");
    }
    snprintf(grid->note, sizeof grid->note,
             "mean over cases of 1 - rmse(on)/rmse(off), same inputs; earned: the "
             "interval "
             "lies above 0; fewer than 5 pairs resolve nothing%s",
             idle ? ". Off or on, no figure changed: 'gradgate budget' judges without a baseline "
                    "whether the kernel has the feature" : "");
}

/* "N=384 D=16": the extents that vary, or all when none does. */
static void shape_name(const gg_run_record *run, const gg_summary_row *row,
                       const bool *varies, bool fixed, char text[200])
{
    size_t length = 0;
    text[0] = 0;
    for (size_t i = 0; i < GG_MAX_SYMBOLS && run->symbols[i]; i++)
        if (varies[i] != fixed && length < 150)
            length +=
                (size_t)snprintf(text + length, 200 - length, "%s%c=%" PRId64,
                                 length ? " " : "", run->symbols[i], row->extent[i]);
}

static bool same_shape(const gg_summary_row *a, const gg_summary_row *b)
{
    return memcmp(a->extent, b->extent, sizeof a->extent) == 0;
}

/* The head of the shape grid: its outputs in the order of the rows. */
static int shape_head(const gg_summary *summary, gg_grid *grid, const char **names)
{
    int count = 0;
    for (int i = 0; i < summary->row_count; i++)
        if (!count || strcmp(names[count - 1], summary->rows[i].output) != 0)
            if (count < GG_MAX_OUTPUTS) names[count++] = summary->rows[i].output;
    char head[400] = "shape\tcases";
    for (int o = 0; o < count; o++) {
        strcat(head, "\t"); /* 8 names of 15 bytes fit */
        strcat(head, CLEAN(names[o]));
    }
    gg_grid_add(grid, "%s", head);
    return count;
}

static int shape_row(const gg_summary *summary, int from, const char *name,
                     const char **outputs, int output_count, gg_grid *grid)
{
    char cells[GG_MAX_OUTPUTS][32];
    int i = from, most = 0;
    for (int o = 0; o < output_count; o++) snprintf(cells[o], sizeof cells[o], "-");
    for (; i < summary->shape_count && same_shape(&summary->shapes[i],
                                                  &summary->shapes[from]); i++) {
        const gg_summary_row *row = &summary->shapes[i];
        most = row->cases > most ? row->cases : most;
        for (int o = 0; o < output_count; o++)
            if (strcmp(outputs[o], row->output) == 0) figure(row->rmse, cells[o]);
    }
    char text[600];
    int length = snprintf(text, sizeof text, "%s\t%d", name, most);
    for (int o = 0; o < output_count; o++)
        length +=
            snprintf(text + length, sizeof text - (size_t)length, "\t%s", cells[o]);
    gg_grid_add(grid, "%s", text);
    return i;
}

static void shapes(const gg_run_record *run, const gg_summary *summary, gg_view *view)
{
    if (!summary->shape_count) return;
    gg_grid *grid = gg_grid_start(view, 1);
    bool varies[GG_MAX_SYMBOLS] = {false}, any = false;
    for (int i = 1; i < summary->shape_count; i++)
        for (int k = 0; k < GG_MAX_SYMBOLS; k++)
            if (summary->shapes[i].extent[k] != summary->shapes[0].extent[k])
                varies[k] = any = true;
    char fixed[200];
    shape_name(run, &summary->shapes[0], varies, any, fixed);
    snprintf(grid->title, sizeof grid->title, "Mean rmse by shape%s%s%s",
             any && fixed[0] ? " (" : "", any ? CLEAN(fixed) : "",
             any && fixed[0] ? ")" : "");
    const char *outputs[GG_MAX_OUTPUTS];
    int output_count = shape_head(summary, grid, outputs), shown = 0, hidden = 0;
    for (int i = 0; i < summary->shape_count;) {
        if (shown == GG_VIEW_SHAPES) {
            int from = i;
            while (i < summary->shape_count &&
                   same_shape(&summary->shapes[i], &summary->shapes[from]))
                i++;
            hidden++;
            continue;
        }
        char name[200];
        shape_name(run, &summary->shapes[i], varies, false, name);
        if (!any) shape_name(run, &summary->shapes[i], varies, true, name);
        i = shape_row(summary, i, CLEAN(name), outputs, output_count, grid);
        shown++;
    }
    if (hidden)
        snprintf(grid->note, sizeof grid->note,
                 "%d more shapes: results.extra.summary.shapes of the report", hidden);
}

static void failures(const gg_run_record *run, const char *given, gg_view *view)
{
    int count = run->count - gg_run_count(run, GG_PASSED), shown = 0;
    if (!count) return;
    gg_grid *grid = gg_grid_start(view, 3);
    snprintf(grid->title, sizeof grid->title, "Not passed: %d", count);
    gg_grid_add(grid, "case\tverdict\treason");
    const char *first = NULL;
    for (int pass = 0; pass < 2; pass++) /* failed ones first */
        for (int i = 0; i < run->count && shown < GG_VIEW_FAILURES; i++) {
            const gg_case_record *c = &run->cases[i];
            if (c->verdict == GG_PASSED || (c->verdict == GG_FAILED) != (pass == 0))
                continue;
            if (!first) first = c->id;
            gg_grid_add(grid, "%s\t%s\t%s", CLEAN(c->id), gg_verdict_name(c->verdict),
                c->reason[0] ? CLEAN(c->reason) : "no reason given");
            shown++;
        }
    char more[64] = "", how[600];
    snprintf(how, sizeof how, "--suite %s --kernel %s --device %s", CLEAN(run->suite),
             CLEAN(run->kernel), CLEAN(run->device));
    if (given != NULL) gg_clean(given, how, sizeof how);
    if (count > shown) snprintf(more, sizeof more, "; %d more are in the report",
                                count - shown);
    /* run --inputs: they are in no suite; check: there is no kernel */
    if (strcmp(run->suite, "inputs") == 0 || strcmp(run->kernel_summary, GG_FROM_FILES) == 0)
        snprintf(grid->note, sizeof grid->note, "%s", more[0] ? more + 2 : "");
    else
        snprintf(grid->note, sizeof grid->note, "why: gradgate case %s %s --why%s",
             CLEAN(first ? first : ""), how, more);
}

gg_status gg_view_make(const gg_run_record *run, const gg_view_context *context, gg_view *view)
{
    static const gg_view_context nothing = {.given = NULL};
    if (context == NULL) context = &nothing;
    memset(view, 0, sizeof *view);
    gg_summary summary;
    gg_claims claims;
    GG_TRY(gg_summary_make(run, &summary));
    gg_status status = gg_claims_make(run, &summary, context->beside,
                                      context->beside_count, &claims);
    if (status == GG_OK) {
        identity(run, view);
        accuracy(run, &summary, view);
        stated(run, view);
        determinism(run, &summary, view);
        gg_view_levels(run, &summary, view);
        ablation(run, &summary, view);
        shapes(run, &summary, view);
        gg_view_claims(&claims, view);
        failures(run, context->given, view);
        gg_claims_free(&claims);
    }
    gg_summary_free(&summary);
    return status;
}

void gg_view_free(gg_view *view)
{
    for (int g = 0; g < view->grid_count; g++) {
        for (int i = 0; i < view->grids[g].count; i++) free(view->grids[g].rows[i]);
        free(view->grids[g].rows);
    }
    memset(view, 0, sizeof *view);
}
