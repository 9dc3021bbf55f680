/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/maps.h"

TestSuite(maps, .timeout = 60);

static gg_backend host(void)
{
    gg_backend b;
    cr_assert_eq(gg_backend_open("host", 1, &b), GG_OK);
    return b;
}

/* [2][rows][columns] */
static gg_output_record output_of(int64_t rows, int64_t columns)
{
    return (gg_output_record){.name = "x", .dtype = GG_F32, .ndim = 3,
                              .shape = {2, rows, columns}, .count = 2 * rows * columns};
}

static gg_tensor tensor_of(const gg_output_record *o, void *data)
{
    gg_tensor t = {.dtype = o->dtype, .ndim = o->ndim, .data = data};
    memcpy(t.shape, o->shape, sizeof t.shape);
    return t;
}

Test(maps, cells_cover_the_last_two_dimensions)
{
    static const struct {
        int64_t rows, columns, cell_rows, cell_columns;
        int down, across;
    } shapes[] = {{384, 32, 12, 1, 32, 32}, {384, 384, 12, 12, 32, 32}, {33, 5, 2, 1, 17, 5},
                  {1, 1, 1, 1, 1, 1}, {64, 65, 2, 3, 32, 22}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        gg_output_record o = output_of(shapes[i].rows, shapes[i].columns);
        gg_map map = gg_map_of(&o);
        cr_expect_eq(map.cell_rows, shapes[i].cell_rows, "%zu", i);
        cr_expect_eq(map.cell_columns, shapes[i].cell_columns, "%zu", i);
        cr_expect_eq(map.rows, shapes[i].down, "%zu", i);
        cr_expect_eq(map.columns, shapes[i].across, "%zu", i);
    }
    gg_output_record vector = {.ndim = 1, .shape = {70}, .count = 70};
    gg_map map = gg_map_of(&vector);
    cr_expect_eq(map.rows, 1);
    cr_expect_eq(map.columns, 24);
}

/* Each place in turn: the one cell that the plain formula names, and no other. */
Test(maps, a_changed_bit_is_in_its_cell)
{
    gg_backend b = host();
    gg_output_record o = output_of(65, 67);
    float *first = calloc((size_t)o.count, sizeof *first);
    float *again = calloc((size_t)o.count, sizeof *again);
    cr_assert(first && again);
    gg_tensor t = tensor_of(&o, first);
    for (int64_t at = 0; at < o.count; at += 97) {
        double worst = 0;
        int64_t row = at / 67 % 65, column = at % 67;
        again[at] = -0.0f;
        cr_assert_eq(gg_map_bits(&b, &t, again, 1, &worst, &o), GG_OK);
        const gg_map *m = &o.bits_map;
        for (int r = 0; r < m->rows; r++)
            for (int c = 0; c < m->columns; c++)
                cr_assert_eq(m->cells[r * m->columns + c],
                             r == row / m->cell_rows && c == column / m->cell_columns ? 255 : 0);
        int64_t high = row / 3 == 21 ? 2 : 3, wide = column / 3 == 22 ? 1 : 3;
        cr_assert_float_eq(m->full, 1.0 / (double)(2 * high * wide), 1e-12);
        cr_assert_float_eq(worst, 1.0 / (double)o.count, 1e-15);
        again[at] = 0;
    }
    free(first);
    free(again);
}

Test(maps, only_what_is_worse_is_mapped)
{
    gg_backend b = host();
    gg_output_record o = output_of(4, 4);
    float first[32] = {0}, again[32] = {1, 1};
    gg_tensor t = tensor_of(&o, first);
    double worst = 3.0 / 32;
    cr_assert_eq(gg_map_bits(&b, &t, again, 2, &worst, &o), GG_OK);
    cr_assert_eq(o.bits_map.rows, 0, "two elements are less than three");
    cr_assert_eq(gg_map_bits(&b, &t, again, 2, NULL, &o), GG_OK);
    cr_assert_eq(o.bits_map.rows, 0, "nobody asks for maps");
    worst = 2.0 / 32;
    cr_assert_eq(gg_map_bits(&b, &t, again, 2, &worst, &o), GG_OK);
    cr_assert_eq(o.bits_map.rows, 4);
}

Test(maps, errors_are_the_largest_of_their_cell)
{
    gg_backend b = host();
    gg_output_record o = output_of(2, 2);
    float values[8] = {0, 0, 0, 0, 0, 0, 1, 0};
    double truth[8] = {0}, allowance[8], worst = 0;
    for (int i = 0; i < 8; i++) allowance[i] = 0.5;
    gg_tensor t = tensor_of(&o, values);
    values[1] = 0.25f;
    o.gauge_max = 2;
    cr_assert_eq(gg_map_errors(&b, &t, truth, allowance, &worst, &o), GG_OK);
    cr_assert_float_eq(o.error_map.full, 2, 1e-6);
    cr_assert_eq(o.error_map.cells[0], 0);
    cr_assert_eq(o.error_map.cells[1], 64, "a quarter of 255, rounded up");
    cr_assert_eq(o.error_map.cells[2], 255);
    cr_assert_eq(o.error_map.cells[3], 0);
    cr_assert_eq(o.error_map.value, 2);
    o.gauge_max = 1;
    o.error_map = (gg_map){.rows = 0};
    cr_assert_eq(gg_map_errors(&b, &t, truth, allowance, &worst, &o), GG_OK);
    cr_assert_eq(o.error_map.rows, 0, "another case was worse");
    values[3] = NAN;
    o.gauge_max = NAN;
    cr_assert_eq(gg_map_errors(&b, &t, truth, allowance, &worst, &o), GG_OK);
    cr_assert(isinf(o.error_map.full));
    cr_assert_eq(o.error_map.cells[3], 255, "a NaN is the worst");
    cr_assert_eq(o.error_map.cells[2], 254);
}
