/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "reference/chain.h"
#include "reference/linear.h"

TestSuite(linear, .timeout = 30);

typedef struct fixture {
    gg_problem problem;
    gg_truth truth;
    int64_t count[GG_LINEAR_OUTPUTS];
} fixture;

static gg_tensor random_matrix(int64_t rows, int64_t columns, uint64_t *state)
{
    gg_tensor t = {.dtype = GG_BF16, .ndim = 2, .shape = {rows, columns}};
    uint16_t *data = malloc(gg_tensor_bytes(&t));
    for (int64_t i = 0; i < rows * columns; i++) {
        *state = *state * 6364136223846793005ull + 1442695040888963407ull;
        double x = (double)(*state >> 11) * 0x1p-52 - 1.0;
        data[i] = gg_bf16_round(x * x * x * 4.0);
    }
    t.data = data;
    return t;
}

static void open_truth(fixture *f)
{
    for (int o = 0; o < GG_LINEAR_OUTPUTS; o++) {
        size_t size = (size_t)f->count[o] * sizeof(double);
        f->truth.value[o] = memset(malloc(size), 0xff, size);
        f->truth.allowance[o] = memset(malloc(size), 0xff, size);
    }
}

static fixture open_fixture(int64_t m, int64_t n, int64_t k)
{
    fixture f = {.problem = {.extent = {m, n, k}}, .count = {m * n, m * k, n * k}};
    uint64_t state = (uint64_t)(m * 1000 + n * 100 + k);
    f.problem.input[GG_LINEAR_X] = random_matrix(m, k, &state);
    f.problem.input[GG_LINEAR_W] = random_matrix(n, k, &state);
    f.problem.input[GG_LINEAR_DY] = random_matrix(m, n, &state);
    open_truth(&f);
    return f;
}

static void free_truth(fixture *f)
{
    for (int o = 0; o < GG_LINEAR_OUTPUTS; o++) {
        free(f->truth.value[o]);
        free(f->truth.allowance[o]);
    }
}

static void close_fixture(fixture *f)
{
    free_truth(f);
    for (int i = 0; i < 3; i++) free(f->problem.input[i].data);
}

static double element(const fixture *f, int which, int64_t row, int64_t column)
{
    const gg_tensor *t = &f->problem.input[which];
    return gg_bf16_value(((uint16_t *)t->data)[row * t->shape[1] + column]);
}

/* The formulas of linear.h in the plainest loop. */
static void plain(const fixture *f, int output, int64_t at, double *value,
                  double *allowance)
{
    int64_t n = f->problem.extent[GG_LINEAR_N], k = f->problem.extent[GG_LINEAR_K];
    int64_t m = f->problem.extent[GG_LINEAR_M];
    int64_t terms = output == GG_LINEAR_Y ? k : output == GG_LINEAR_DX ? n : m;
    int64_t width = output == GG_LINEAR_Y ? n : k;
    int64_t row = at / width, column = at % width;
    double sum = 0.0, size = 0.0;
    for (int64_t t = 0; t < terms; t++) {
        double a = output == GG_LINEAR_Y    ? element(f, GG_LINEAR_X, row, t)
                   : output == GG_LINEAR_DX ? element(f, GG_LINEAR_DY, row, t)
                                            : element(f, GG_LINEAR_DY, t, row);
        double b = output == GG_LINEAR_Y    ? element(f, GG_LINEAR_W, column, t)
                   : output == GG_LINEAR_DX ? element(f, GG_LINEAR_W, t, column)
                                            : element(f, GG_LINEAR_X, t, column);
        sum = fma(a, b, sum);
        size = fma(fabs(a), fabs(b), size);
    }
    *value = sum;
    *allowance = (ceil((double)terms / 16.0) + 1.0) * 0x1p-23 * size;
}

static const int64_t shapes[][3] = {{1, 1, 1}, {3, 5, 7}, {150, 101, 17}, {17, 9, 300},
                                    {145, 97, 129}, {32, 16, 48}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

Test(linear, order_is_the_one_in_the_header)
{
    for (int s = 0; s < SHAPES; s++) {
        fixture f = open_fixture(shapes[s][0], shapes[s][1], shapes[s][2]);
        cr_assert_eq(gg_linear_host(&f.problem, &f.truth, 2), GG_OK);
        for (int o = 0; o < GG_LINEAR_OUTPUTS; o++)
            for (int64_t i = 0; i < f.count[o]; i++) {
                double value, allowance;
                plain(&f, o, i, &value, &allowance);
                cr_assert_eq(f.truth.value[o][i], value, "shape %d output %d", s, o);
                cr_assert_eq(f.truth.allowance[o][i], allowance);
            }
        close_fixture(&f);
    }
}

Test(linear, instruction_sets_and_threads_agree)
{
    fixture f = open_fixture(150, 101, 200), twin = f;
    cr_assert_eq(gg_linear_host(&f.problem, &f.truth, 1), GG_OK);
    for (int set = GG_PORTABLE; set < GG_INSTRUCTIONS; set++) {
        open_truth(&twin);
        gg_instructions_limit((gg_instructions)set);
        cr_assert_eq(gg_linear_host(&twin.problem, &twin.truth, 2), GG_OK);
        for (int o = 0; o < GG_LINEAR_OUTPUTS; o++)
            cr_assert_eq(memcmp(f.truth.value[o], twin.truth.value[o],
                                (size_t)f.count[o] * sizeof(double)), 0);
        free_truth(&twin);
    }
    close_fixture(&f);
}

Test(linear, binary64_is_close_to_the_exact_sum)
{
    for (int s = 0; s < SHAPES; s++) {
        fixture f = open_fixture(shapes[s][0], shapes[s][1], shapes[s][2]);
        cr_assert_eq(gg_linear_host(&f.problem, &f.truth, 2), GG_OK);
        for (int o = 0; o < GG_LINEAR_OUTPUTS; o++)
            for (int64_t i = 0; i < f.count[o]; i += 37) {
                gg_point point = {.output = o, .element = i};
                cr_assert_eq(gg_linear_exact(&f.problem, &point, 1, 1), GG_OK);
                cr_assert(point.agreed);
                double error = fabs(point.value - f.truth.value[o][i]);
                cr_assert(error <= 1e-9 * f.truth.allowance[o][i]);
            }
        close_fixture(&f);
    }
}

/* 2^100 - 2^100 + 1: binary64 is right only because the order says so; the exact sum is
 * right in any order. */
Test(linear, exact_sum_survives_cancellation)
{
    static uint16_t x[3], w[] = {0x3f80, 0x3f80, 0x3f80};
    x[0] = gg_bf16_round(1.0);
    x[1] = gg_bf16_round(0x1p100);
    x[2] = gg_bf16_round(-0x1p100);
    gg_problem problem = {.extent = {1, 1, 3},
                          .input = {{x, GG_BF16, 2, {1, 3}}, {w, GG_BF16, 2, {1, 3}}}};
    gg_point point = {.output = GG_LINEAR_Y};
    double value = NAN;
    gg_truth truth = {.value = {&value}};
    cr_assert_eq(gg_linear_exact(&problem, &point, 1, 1), GG_OK);
    cr_assert_eq(point.value, 1.0);
    cr_assert_eq(gg_linear_host(&problem, &truth, 1), GG_OK);
    cr_assert_eq(value, 0.0);
}

Test(linear, refusals)
{
    fixture f = open_fixture(3, 4, 5);
    f.problem.input[GG_LINEAR_W].shape[0] = 3;
    cr_assert_eq(gg_linear_host(&f.problem, &f.truth, 1), GG_BAD_INPUT);
    cr_assert_neq(strstr(gg_message(), "linear: w is bf16"), NULL, "%s", gg_message());
    f.problem.input[GG_LINEAR_W].shape[0] = 4;
    void *dy = f.problem.input[GG_LINEAR_DY].data;
    f.problem.input[GG_LINEAR_DY].data = NULL;
    cr_assert_eq(gg_linear_host(&f.problem, &f.truth, 1), GG_BAD_INPUT);
    gg_truth forward = {.value = {f.truth.value[GG_LINEAR_Y]}};
    cr_assert_eq(gg_linear_host(&f.problem, &forward, 1), GG_OK);
    f.problem.input[GG_LINEAR_DY].data = dy;
    f.problem.extent[GG_LINEAR_K] = 0;
    cr_assert_eq(gg_linear_host(&f.problem, &f.truth, 1), GG_BAD_INPUT);
    f.problem.extent[GG_LINEAR_K] = 5;
    gg_point point = {.output = GG_LINEAR_DW, .element = 20};
    cr_assert_eq(gg_linear_exact(&f.problem, &point, 1, 1), GG_BAD_INPUT);
    close_fixture(&f);
}
