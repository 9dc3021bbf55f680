/* SPDX-License-Identifier: Apache-2.0
 * gnuplot's SVG, taken over: its shapes and texts in our paints, no other element, no id,
 * no style, no colour of its own. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "reports/chart.h"
#include "reports/markup.h"

static const char *const classes[GG_PAINT_SEGMENT] = {
    "", "ink", "strong", "soft", "grid", "floor", "zero", "bar", "ok", "bad", "open", "within",
    "line"};

/* An element of gnuplot's from '<' to '>', and where the next may begin. */
typedef struct element {
    const char *name, *end;
} element;

typedef struct taking {
    const gg_chart *chart;
    int next[GG_MARK_KINDS];    /* mark to come, of each kind */
    double x, y;                /* of the text to come */
    char anchor[8];
    int paint;                  /* of the text to come, 0: not ours */
    FILE *out;
} taking;

static bool named(const element *e, const char *name)
{
    size_t length = strlen(name);
    return strncmp(e->name, name, length) == 0 && !isalnum((unsigned char)e->name[length]);
}

/* The value of an attribute and its length; NULL when the element has none. gnuplot writes
 * both kinds of quotes, and spaces around the sign. */
static const char *attribute(const element *e, const char *name, int *length)
{
    size_t size = strlen(name);
    for (const char *at = e->name; (at = strstr(at, name)) != NULL && at < e->end; at += size) {
        const char *from = at + size;
        if (!isspace((unsigned char)at[-1])) continue;
        while (*from == ' ' || *from == '=') from++;
        if (*from != '"' && *from != '\'') continue;
        const char *to = strchr(from + 1, *from);
        if (to == NULL || to > e->end) return NULL;
        *length = (int)(to - from - 1);
        return from + 1;
    }
    return NULL;
}

/* Ours of a colour attribute, 0 when it is another colour. */
static int paint_of(const element *e, const char *name)
{
    int length = 0, red = 0, green = 0, blue = 0;
    const char *value = attribute(e, name, &length);
    if (value == NULL || sscanf(value, "rgb(%d,%d,%d)", &red, &green, &blue) != 3) return 0;
    return red == 1 && green == 1 && blue > 0 && blue < GG_PAINTS ? blue : 0;
}

static void class_of(int paint, FILE *out)
{
    if (paint < GG_PAINT_SEGMENT) fprintf(out, " class=\"%s\"", classes[paint]);
    else if (paint < GG_PAINT_ERROR)
        fprintf(out, " class=\"seg%d\"", paint - GG_PAINT_SEGMENT);
    else if (paint < GG_PAINT_BITS)
        fprintf(out, " class=\"bar s%d\"", paint - GG_PAINT_ERROR + 1);
    else fprintf(out, " class=\"bad s%d\"", paint - GG_PAINT_BITS + 1);
}

/* Coordinates, and the letters of a path, with single spaces. */
static void coordinates(const char *value, int length, FILE *out)
{
    bool space = false;
    for (int i = 0; i < length; i++) {
        if (isspace((unsigned char)value[i])) space = true;
        else if (strchr("0123456789.,-MLZz", value[i]) != NULL) {
            if (space && i > 0) fputc(' ', out);
            space = false;
            fputc(value[i], out);
        }
    }
}

/* The next mark of a kind, if it has that paint. */
static const gg_chart_mark *next_mark(taking *t, gg_mark_kind kind, int paint)
{
    while (t->next[kind] < t->chart->count && t->chart->marks[t->next[kind]].kind != kind)
        t->next[kind]++;
    if (t->next[kind] == t->chart->count) return NULL;
    const gg_chart_mark *mark = &t->chart->marks[t->next[kind]++];
    return (int)mark->paint == paint ? mark : NULL;
}

static void finish(const char *name, const char *tip, FILE *out)
{
    if (tip == NULL) {
        fputs("/>\n", out);
        return;
    }
    fputs("><title>", out);
    gg_markup(out, tip);
    fprintf(out, "</title></%s>\n", name);
}

static bool polygon(taking *t, const element *e)
{
    int length = 0, paint = paint_of(e, "fill");
    const char *points = attribute(e, "points", &length);
    if (paint == 0 || points == NULL) return true;
    const gg_chart_mark *mark = next_mark(t, GG_MARK_BAR, paint);
    if (mark == NULL) return false;
    fputs("<polygon", t->out);
    class_of(paint, t->out);
    fputs(" points=\"", t->out);
    coordinates(points, length, t->out);
    fputc('"', t->out);
    finish("polygon", mark->text, t->out);
    return true;
}

/* gnuplot's disc, point type 7, which it knows by the next number. */
static bool disc(taking *t, const element *e)
{
    int length = 0, paint = paint_of(e, "color");
    double x = 0, y = 0;
    const char *place = attribute(e, "transform", &length);
    if (paint == 0 || place == NULL || sscanf(place, "translate(%lf,%lf)", &x, &y) != 2)
        return true;
    const gg_chart_mark *mark = next_mark(t, GG_MARK_POINT, paint);
    if (mark == NULL) return false;
    fputs("<circle", t->out);
    class_of(paint, t->out);
    fprintf(t->out, " cx=\"%.2f\" cy=\"%.2f\" r=\"4\"", x, y);
    finish("circle", mark->text, t->out);
    return true;
}

/* Rules, lines, intervals, grid and frame; the first two are marks of their own. */
static bool path(taking *t, const element *e)
{
    int length = 0, paint = paint_of(e, "stroke");
    const char *line = attribute(e, "d", &length);
    if (paint == 0 || line == NULL || memchr(line, 'L', (size_t)length) == NULL) return true;
    bool rule = paint == GG_PAINT_FLOOR || paint == GG_PAINT_ZERO;
    if (rule && next_mark(t, GG_MARK_RULE, paint) == NULL) return false;
    for (int i = 0; paint == GG_PAINT_LINE && i < length; i++) /* many in one path */
        if (line[i] == 'L' && next_mark(t, GG_MARK_LINE, paint) == NULL) return false;
    fputs("<path", t->out);
    class_of(paint, t->out);
    fputs(" d=\"", t->out);
    coordinates(line, length, t->out);
    fputs("\"/>\n", t->out);
    return true;
}

/* gnuplot wraps a text into an element that has its place and colour. */
static void place(taking *t, const element *e)
{
    int length = 0;
    const char *at = attribute(e, "transform", &length);
    const char *anchor = attribute(e, "text-anchor", &length);
    t->paint = 0;
    if (at == NULL || anchor == NULL || sscanf(at, "translate(%lf,%lf)", &t->x, &t->y) != 2)
        return;
    snprintf(t->anchor, sizeof t->anchor, "%.*s", length, anchor);
    t->paint = paint_of(e, "fill");
}

/* Writes at most so many letters of a text: of a longer one the last is an ellipsis. */
static void cut(const char *text, int most, FILE *out)
{
    int letters = 0;
    const char *end = text, *all;
    for (all = text; *all != '\0'; all++) {
        if (((unsigned char)*all & 0xc0) == 0x80) continue; /* inside a letter */
        if (++letters == most) end = all;
    }
    if (letters <= most) end = all;
    gg_markup_part(out, text, (size_t)(end - text));
    if (letters <= most) return;
    fputs("\xe2\x80\xa6<title>", out);
    gg_markup(out, text);
    fputs("</title>", out);
}

static bool is_text(const gg_chart_mark *mark)
{
    return mark->kind == GG_MARK_NAME || mark->kind == GG_MARK_BESIDE ||
           mark->kind == GG_MARK_WITHIN;
}

/* A figure of an axis, or the name of a text. */
static bool text(taking *t, const element *e)
{
    const char *from = e->end + 1, *to = strchr(from, '<');
    if (t->paint == 0 || to == NULL) return true;
    while (*from == ' ') from++;
    const gg_chart_mark *mark = NULL;
    if (*from == 't') {
        char *after;
        long number = strtol(from + 1, &after, 10);
        if (after != to || number < 0 || number >= t->chart->count) return false;
        mark = &t->chart->marks[number];
        if (!is_text(mark) || next_mark(t, mark->kind, t->paint) != mark) return false;
    }
    fputs("<text", t->out);
    class_of(t->paint, t->out);
    fprintf(t->out, " x=\"%.2f\" y=\"%.2f\" text-anchor=\"", t->x, t->y);
    gg_markup(t->out, t->anchor);
    fputs("\">", t->out);
    if (mark != NULL) cut(mark->text, GG_CHART_LETTERS, t->out);
    else gg_markup_part(t->out, from, (size_t)(to - from));
    fputs("</text>\n", t->out);
    t->paint = 0;
    return true;
}

bool gg_chart_svg(const gg_chart *chart, const char *drawn, FILE *out)
{
    taking t = {.chart = chart, .out = out};
    bool good = true;
    for (const char *at = drawn; good && (at = strchr(at, '<')) != NULL;) {
        element e = {.name = at + 1, .end = strchr(at, '>')};
        if (e.end == NULL) return false;
        if (named(&e, "polygon")) good = polygon(&t, &e);
        else if (named(&e, "use")) good = disc(&t, &e);
        else if (named(&e, "path")) good = path(&t, &e);
        else if (named(&e, "g")) place(&t, &e);
        else if (named(&e, "text")) good = text(&t, &e);
        at = e.end;
    }
    for (int i = 0; i < chart->count; i++)
        good = good && i < t.next[chart->marks[i].kind];
    return good;
}
