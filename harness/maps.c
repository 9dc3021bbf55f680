/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/maps.h"

#include <math.h>
#include <stdlib.h>

enum { AT_ONCE = 1 << 20 }; /* elements brought to the host at a time */

/* What the cells hold before they are scaled. */
typedef struct sums {
    double cell[GG_MAP_CELLS * GG_MAP_CELLS];
} sums;

/* The last two extents. */
static void extents(const gg_output_record *out, int64_t *rows, int64_t *columns)
{
    *rows = out->ndim >= 2 ? out->shape[out->ndim - 2] : 1;
    *columns = out->ndim >= 1 ? out->shape[out->ndim - 1] : 1;
}

/* An element on its way through the output, and its cell. */
typedef struct cursor {
    const gg_map *map;
    int64_t rows, columns, row, column, left; /* left: columns to the end of the cell */
    int cell;
} cursor;

static cursor start_of(const gg_map *map, const gg_output_record *out)
{
    cursor c = {.map = map, .left = map->cell_columns};
    extents(out, &c.rows, &c.columns);
    return c;
}

static void step(cursor *c)
{
    if (++c->column < c->columns) {
        if (--c->left > 0) return;
        c->cell++;
    } else {
        c->column = 0;
        c->row = (c->row + 1) % c->rows;
        c->cell = (int)(c->row / c->map->cell_rows) * c->map->columns;
    }
    c->left = c->map->cell_columns;
}

/* Elements that fall into a cell. */
static double size_of(const gg_map *map, const gg_output_record *out, int row, int column)
{
    int64_t rows, columns;
    extents(out, &rows, &columns);
    int64_t high = rows - row * map->cell_rows, wide = columns - column * map->cell_columns;
    if (high > map->cell_rows) high = map->cell_rows;
    if (wide > map->cell_columns) wide = map->cell_columns;
    return (double)(high * wide) * (double)(out->count / (rows * columns));
}

/* In 255ths of the largest finite value, at least 1 where there is anything. With an
 * infinite value among them `full` is infinite and the others get up to 254. */
static void scale(const sums *s, gg_map *map)
{
    int count = map->rows * map->columns;
    double most = 0, steps = 255;
    bool infinite = false;
    for (int i = 0; i < count; i++) {
        if (!isfinite(s->cell[i])) infinite = true;
        else if (s->cell[i] > most) most = s->cell[i];
    }
    if (infinite) steps = 254;
    map->full = infinite ? (double)INFINITY : most;
    for (int i = 0; i < count; i++)
        map->cells[i] = !isfinite(s->cell[i]) ? 255
                        : most > 0 ? (uint8_t)ceil(steps * (s->cell[i] / most)) : 0;
}

/* Host copies of a few arrays, AT_ONCE elements of each. */
typedef struct window {
    void *memory[3];
} window;

static void close_window(window *w)
{
    for (int i = 0; i < 3; i++) free(w->memory[i]);
}

static gg_status open_window(window *w)
{
    bool whole = true;
    for (int i = 0; i < 3; i++) {
        w->memory[i] = malloc(AT_ONCE * sizeof(double));
        whole = whole && w->memory[i] != NULL;
    }
    if (whole) return GG_OK;
    close_window(w);
    return gg_fail(GG_NO_MEMORY, "no memory for a map");
}

static int64_t part_of(const gg_output_record *out, int64_t from)
{
    return out->count - from < AT_ONCE ? out->count - from : AT_ONCE;
}

static gg_status fetch(const gg_backend *b, void *to, const void *array, size_t size,
                       int64_t from, int64_t count)
{
    return b->download(to, (const char *)array + (size_t)from * size, (size_t)count * size);
}

static gg_status count_bits(const gg_backend *b, const gg_tensor *first, const void *again,
                            const gg_output_record *out, const gg_map *map, window *w, sums *s)
{
    size_t size = gg_dtype_bytes(first->dtype);
    cursor c = start_of(map, out);
    for (int64_t from = 0, n; from < out->count; from += n) {
        n = part_of(out, from);
        GG_TRY(fetch(b, w->memory[0], first->data, size, from, n));
        GG_TRY(fetch(b, w->memory[1], again, size, from, n));
        for (int64_t i = 0; i < n; i++, step(&c))
            s->cell[c.cell] += gg_bits_at(w->memory[0], first->dtype, i) !=
                               gg_bits_at(w->memory[1], first->dtype, i);
    }
    return GG_OK;
}

gg_status gg_map_bits(const gg_backend *b, const gg_tensor *first, const void *again,
                      int64_t differing, double *worst, gg_output_record *out)
{
    double share = (double)differing / (double)out->count;
    sums s = {.cell = {0}};
    window w;
    if (worst == NULL || differing == 0 || !(share >= *worst)) return GG_OK;
    gg_map map = gg_map_of(out);
    GG_TRY(open_window(&w));
    gg_status status = count_bits(b, first, again, out, &map, &w, &s);
    close_window(&w);
    GG_TRY(status);
    for (int row = 0; row < map.rows; row++)
        for (int column = 0; column < map.columns; column++)
            s.cell[row * map.columns + column] /= size_of(&map, out, row, column);
    scale(&s, &map);
    map.value = *worst = share;
    out->bits_map = map;
    return GG_OK;
}

static gg_status find_errors(const gg_backend *b, const gg_tensor *output, const double *truth,
                             const double *allowance, const gg_output_record *out,
                             const gg_map *map, window *w, sums *s)
{
    const double *exact = w->memory[1], *allowed = w->memory[2];
    cursor c = start_of(map, out);
    for (int64_t from = 0, n; from < out->count; from += n) {
        n = part_of(out, from);
        GG_TRY(fetch(b, w->memory[0], output->data, gg_dtype_bytes(output->dtype), from, n));
        GG_TRY(fetch(b, w->memory[1], truth, sizeof(double), from, n));
        GG_TRY(fetch(b, w->memory[2], allowance, sizeof(double), from, n));
        for (int64_t i = 0; i < n; i++, step(&c)) {
            double *cell = &s->cell[c.cell];
            gg_sums one = gg_sums_zero();
            gg_measure_one(&one, w->memory[0], output->dtype, exact, allowed, i);
            double ratio = one.mismatch > 0 ? (double)INFINITY
                           : one.ratio_at < 0 ? 0 : one.ratio;
            if (!(ratio <= *cell)) *cell = ratio;
        }
    }
    return GG_OK;
}

/* A NaN is larger than any. */
static bool is_as_large(double value, double worst)
{
    return isnan(value) || (!isnan(worst) && value >= worst);
}

gg_status gg_map_errors(const gg_backend *b, const gg_tensor *output, const double *truth,
                        const double *allowance, double *worst, gg_output_record *out)
{
    sums s = {.cell = {0}};
    window w;
    if (worst == NULL || out->count < 1 || !is_as_large(out->gauge_max, *worst)) return GG_OK;
    gg_map map = gg_map_of(out);
    GG_TRY(open_window(&w));
    gg_status status = find_errors(b, output, truth, allowance, out, &map, &w, &s);
    close_window(&w);
    GG_TRY(status);
    scale(&s, &map);
    map.value = *worst = out->gauge_max;
    out->error_map = map;
    return GG_OK;
}
