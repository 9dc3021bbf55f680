/* SPDX-License-Identifier: Apache-2.0
 * What the parts of a bench's page share. */
#ifndef HARNESS_BENCH_PAGE_H
#define HARNESS_BENCH_PAGE_H

#include "harness/bench.h"
#include "reports/html_page.h"

typedef struct gg_bench_page {
    const gg_bench *bench;
    FILE *out;
    gg_drawing *drawing;
} gg_bench_page;

/* "dq on the floor", "dq > 2", "not ranked": the class that an entry is ranked in. */
void gg_bench_class(const gg_bench *bench, const gg_bench_entry *entry, char text[64]);

/* bench_charts.c: sections of charts, of at most so many cases, which say what they show.
 * Nothing of an entry that was not timed is drawn; a wrong one is drawn as wrong, below all
 * others. */
enum { GG_BENCH_CHARTS = 16, GG_BENCH_ROWS = 40 };
void gg_bench_chart_times(const gg_bench_page *page);
void gg_bench_chart_growth(const gg_bench_page *page);
void gg_bench_chart_precision(const gg_bench_page *page);
void gg_bench_chart_memory(const gg_bench_page *page);

/* bench_charts.c, for bench_scatter.c, which has gg_bench_chart_precision(). */
enum { GG_BENCH_AXIS = 44, GG_BENCH_HEIGHT = 210 }; /* room for figures of y; of the plot */
#define GG_BENCH_LINE 12.5                          /* from text to text */
bool gg_bench_timed(const gg_bench_entry *entry);
gg_paint gg_bench_paint(const gg_bench_entry *entry);
/* Timed entries of a case: right ones by class of precision and time, then the others. */
int gg_bench_entries(const gg_bench *bench, int at, const gg_bench_entry *of[GG_BENCH_ROWS]);
/* A section's charts, a case each. */
void gg_bench_each(const gg_bench_page *page, void (*chart)(const gg_bench_page *, int));

#endif
