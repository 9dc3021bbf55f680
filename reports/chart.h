/* SPDX-License-Identifier: Apache-2.0
 * A chart of a page: marks and axes, which gnuplot places, as an SVG within the HTML.
 *
 * No text of a report reaches gnuplot: its script has numbers and the names t0, t1, ... of
 * texts, which take their places, escaped, when the drawing is taken over (chart_svg.c).
 * Nor do colours: a mark has a paint, and the page's style says what that is in light and
 * in dark. Equal marks give equal bytes. */
#ifndef REPORTS_CHART_H
#define REPORTS_CHART_H

#include <stdbool.h>
#include <stdio.h>

#include "reports/gnuplot.h"

enum { GG_CHART_STEPS = 8, GG_CHART_SEGMENTS = 8, GG_CHART_TICS = 12 };

/* Paints: style classes, whose names chart_svg.c has. A segment and a step of a map stand
 * for so many paints in a row. */
typedef enum gg_paint {
    GG_PAINT_NONE = 0,
    GG_PAINT_INK, GG_PAINT_STRONG, GG_PAINT_SOFT, /* text */
    GG_PAINT_GRID, GG_PAINT_FLOOR, GG_PAINT_ZERO, /* lines */
    GG_PAINT_BAR, GG_PAINT_OK, GG_PAINT_BAD, GG_PAINT_OPEN,
    GG_PAINT_WITHIN, /* text on a segment */
    GG_PAINT_LINE,   /* of GG_MARK_LINE alone */
    GG_PAINT_SEGMENT,
    GG_PAINT_ERROR = GG_PAINT_SEGMENT + GG_CHART_SEGMENTS, /* weakest step first */
    GG_PAINT_BITS = GG_PAINT_ERROR + GG_CHART_STEPS,
    GG_PAINTS = GG_PAINT_BITS + GG_CHART_STEPS
} gg_paint;

/* A logarithmic axis begins above 0. `step`: between its figures, a factor on a logarithmic
 * one; 0: none are written but those of `tics`. `unit`: printf's for gnuplot, "%g %%". A y
 * axis whose low is the larger one grows upwards. */
typedef struct gg_axis {
    double low, high, step;
    double tics[GG_CHART_TICS]; /* figures at these values, instead of at steps */
    int tic_count;
    bool log;
    const char *unit;
} gg_axis;

typedef enum gg_mark_kind {
    GG_MARK_BAR,    /* a filled box */
    GG_MARK_LINE,   /* from (low, bottom) to (high, top) */
    GG_MARK_POINT,  /* a dot in its interval from low to high */
    GG_MARK_RULE,   /* a line across the plot at an x, over the bars */
    GG_MARK_NAME,   /* a text that ends left of x = low */
    GG_MARK_BESIDE, /* a text that begins right of x */
    GG_MARK_WITHIN, /* a text around x */
    GG_MARK_KINDS
} gg_mark_kind;

typedef struct gg_chart_mark {
    gg_mark_kind kind;
    gg_paint paint;
    double x, y, low, high, bottom, top; /* in units of the axes */
    char *text; /* of a text; else what pointing at the mark shows, or NULL */
} gg_chart_mark;

/* Lengths in units of the drawing, which is GG_CHART_WIDTH wide and scales to the page.
 * y grows downwards. */
enum { GG_CHART_WIDTH = 360, GG_CHART_ROW = 20, GG_CHART_LETTERS = 17 };
typedef struct gg_chart {
    double left, right, height; /* margins; height of the plot without its axis */
    gg_axis x, y;
    bool framed;
    gg_chart_mark *marks;
    int count, room;
    bool broken; /* memory ran out */
} gg_chart;

/* What the charts of one page share. Zeroed but for `seconds`, which one chart may take. */
typedef struct gg_drawing {
    double seconds;
    int count;                    /* charts drawn: their ids follow from it */
    char trouble[GG_GNUPLOT_WHY]; /* why no more are drawn; "": they are */
    bool told;                    /* the page says so */
} gg_drawing;
enum { GG_CHART_SECONDS = 10 };

/* What would not be seen, or has a value that is not finite, is left out. Texts are copied,
 * and cut by letters; the whole then shows when pointed at. */
void gg_chart_bar(gg_chart *chart, double low, double high, double top, double bottom,
                  gg_paint paint, const char *tip);
void gg_chart_point(gg_chart *chart, double x, double low, double high, double y,
                    gg_paint paint, const char *tip);
void gg_chart_rule(gg_chart *chart, double x, gg_paint paint);
void gg_chart_line(gg_chart *chart, double from_x, double from_y, double to_x, double to_y);
void gg_chart_text(gg_chart *chart, gg_mark_kind kind, double x, double y, gg_paint paint,
                   const char *text);

/* A step of 1, 2 or 5 times a power of ten, of which few fit into the range. */
double gg_chart_step(double range);
/* Figures at 1, 2 and 5 times the powers of ten of a logarithmic axis, or at the powers alone. */
void gg_chart_tics(gg_axis *axis);
/* Where a value lies on its axis, as a share of it from low to high. */
double gg_chart_share(const gg_axis *axis, double value);

/* Draws and frees the chart: its SVG, which the caller frees, or NULL, and drawing->trouble
 * says why; no later chart of that page is tried, so a gnuplot that hangs delays it once. */
char *gg_chart_draw(gg_chart *chart, gg_drawing *drawing, const char *title,
                    const char *description);
/* The same as a card of the page, under the name of an output; nothing when not drawn. */
void gg_chart_card(gg_chart *chart, gg_drawing *drawing, const char *output, const char *what,
                   const char *description, FILE *out);
/* Once a page, and only when there is trouble: a line that says so. */
void gg_chart_tell(gg_drawing *drawing, FILE *out);

/* chart_svg.c: takes over what gnuplot drew of the chart, element by element; anything but
 * shapes and texts in our paints is dropped. False, with *out undefined: not every mark is
 * there exactly once. */
bool gg_chart_svg(const gg_chart *chart, const char *drawn, FILE *out);

double gg_chart_plot_width(const gg_chart *chart);
/* The margin that a name needs, which is cut by GG_CHART_LETTERS; guessed, for a wide font. */
double gg_chart_margin(const char *name);

#endif
