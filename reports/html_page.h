/* SPDX-License-Identifier: Apache-2.0
 * What the parts of the HTML report share. */
#ifndef REPORTS_HTML_PAGE_H
#define REPORTS_HTML_PAGE_H

#include <stdio.h>

#include "reports/chart.h"
#include "reports/markup.h"
#include "reports/summary.h"
#include "reports/view.h"

typedef struct gg_page {
    const gg_run_record *run;
    const gg_summary *summary;
    FILE *out;
    gg_drawing *drawing;
} gg_page;

/* The page around what is written between the two; tiles stand in <div class="cards">, facts
 * in a <dl>. Titles and names are our own words, all else is escaped. A tile's class is that
 * of a verdict, "none": not asked, or NULL: no question. A fact without a value is left out. */
void gg_html_begin(FILE *out, const char *title);
void gg_html_end(FILE *out);
/* The verdict, large, in a <header> that stays open. */
void gg_html_verdict(FILE *out, gg_verdict verdict);
void gg_html_tile(FILE *out, const char *title, const char *class, const char *answer,
                  const char *basis);
void gg_html_fact(FILE *out, const char *name, const char *value);
/* A grid of a view as a table, with its note below. */
void gg_html_grid(const gg_grid *grid, FILE *out);

/* The style class of a verdict: "passed", "failed" or "open". */
const char *gg_html_class(gg_verdict verdict);
/* Three digits, "undefined" for a NaN. */
const char *gg_html_figure(double value, char text[32]);

/* html_charts.c: RMSE against the floor, and intervals of the ablation: per output a chart
 * with a bar or a point a family, and a table. */
void gg_html_accuracy(const gg_page *page);
void gg_html_ablation(const gg_page *page);
/* html_tables.c: families by outputs, in how many cases no bit differed. */
void gg_html_determinism(const gg_page *page);
/* html_maps.c: the levels of determinism, where there are any; the maps. */
void gg_html_levels(const gg_page *page);
void gg_html_maps(const gg_page *page);
/* Largest value of each check beside its limit. */
void gg_html_limits(const gg_page *page);

#endif
