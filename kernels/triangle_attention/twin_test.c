/* SPDX-License-Identifier: Apache-2.0
 * Properties of every twin: near to the truth, and the same bits whatever does not
 * count. */
#include "kernels/triangle_attention/twin_fixture.h"

TestSuite(twin, .timeout = 120);

static const gg_kernel *const twins[] = {&gg_ta_naive_twin, &gg_ta_recompute_twin,
                                         &gg_ta_turbo_twin, &gg_ta_twopass_twin,
                                         &gg_ta_split_twin};
enum { TWINS = 5 };

static const shape shapes[] = {
    {1, 1, 1, 1, 8, GG_TA_KEYS_ALL, 0, 1},
    {1, 3, 2, 24, 32, GG_TA_KEYS_ALL, 0, 1},
    {2, 5, 2, 37, 24, GG_TA_KEYS_MASKED, 1, 1},
    {1, 4, 1, 130, 16, GG_TA_KEYS_MASKED, 0, 1},
    {1, 4, 1, 66, 64, GG_TA_KEYS_COUNTED, 1, 4},
    {1, 33, 1, 17, 40, GG_TA_KEYS_COUNTED, 0, 1},
    {1, 2, 1, 64, 56, GG_TA_KEYS_ALL, 1, 12},
    {2, 1, 1, 65, 48, GG_TA_KEYS_MASKED, 1, 1},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* --- the truth in binary64, in the plainest loops, and sums of absolute terms --- */

typedef struct truth {
    double *value[OUTPUTS], *size[OUTPUTS];
} truth;

static double at(const fixture *f, int input, size_t row, size_t d)
{
    return tensor_value(&f->in[input], row * (size_t)f->s.D + d);
}

static double dot(const fixture *f, int a, size_t i, int b, size_t j)
{
    double sum = 0;
    for (size_t d = 0; d < (size_t)f->s.D; d++) sum += at(f, a, i, d) * at(f, b, j, d);
    return sum;
}

static void add_term(truth *t, int output, size_t index, double value, double size)
{
    t->value[output][index] += value;
    t->size[output][index] += fabs(size);
}

/* One query: row is (b, r), first its row 0 in [B,R,H,N], bias its row in [B,H,N,N]. */
static void query_truth(const fixture *f, truth *t, size_t row, size_t first, size_t i,
                        size_t bias)
{
    size_t N = (size_t)f->s.N, D = (size_t)f->s.D;
    double p[256], dp[256], top = -INFINITY, l = 0, delta = 0, reach = 0;
    double sc = 1 / sqrt((double)D);
    for (size_t j = 0; j < N; j++) {
        if (!fixture_valid(f, row, j)) continue;
        p[j] = sc * dot(f, IN_Q, first + i, IN_K, first + j);
        p[j] += tensor_value(&f->in[IN_BIAS], bias + j);
        dp[j] = dot(f, IN_DOUT, first + i, IN_V, first + j);
        top = fmax(top, p[j]);
    }
    for (size_t j = 0; j < N; j++)
        if (fixture_valid(f, row, j)) l += p[j] = exp(p[j] - top);
    for (size_t j = 0; j < N; j++)
        if (fixture_valid(f, row, j)) {
            p[j] /= l;
            delta += p[j] * dp[j];
            reach += p[j] * fabs(dp[j]);
        }
    for (size_t j = 0; j < N; j++) {
        if (!fixture_valid(f, row, j)) continue;
        double ds = p[j] * (dp[j] - delta), size = p[j] * (fabs(dp[j]) + reach + 1);
        add_term(t, OUT_DBIAS, bias + j, ds, size);
        for (size_t d = 0; d < D; d++) {
            size_t qi = (first + i) * D + d, kj = (first + j) * D + d;
            double v = at(f, IN_V, first + j, d), g = at(f, IN_DOUT, first + i, d);
            double k = at(f, IN_K, first + j, d), q = at(f, IN_Q, first + i, d);
            add_term(t, OUT_O, qi, p[j] * v, p[j] * v);
            add_term(t, OUT_DV, kj, p[j] * g, p[j] * g);
            add_term(t, OUT_DQ, qi, sc * ds * k, sc * size * k);
            add_term(t, OUT_DK, kj, sc * ds * q, sc * size * q);
        }
    }
}

static void find_truth(const fixture *f, truth *t)
{
    size_t R = (size_t)f->s.R, H = (size_t)f->s.H, N = (size_t)f->s.N;
    for (int i = 0; i < OUTPUTS; i++) {
        t->value[i] = calloc(tensor_count(&f->out[i]), sizeof(double));
        t->size[i] = calloc(tensor_count(&f->out[i]), sizeof(double));
    }
    for (size_t row = 0; row < (size_t)f->s.B * R; row++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < N; i++)
                query_truth(f, t, row, (row * H + h) * N, i,
                            ((row / R * H + h) * N + i) * N);
}

/* An error of a few BF16 roundings of the terms (2^-9 each), and of the result. */
Test(twin, near_the_truth)
{
    for (int n = 0; n < SHAPES; n++)
        for (int k = 0; k < TWINS; k++) {
            fixture f;
            truth t;
            fixture_init(&f, &shapes[n], 7 + (uint64_t)n);
            fixture_run(&f, twins[k], 1);
            find_truth(&f, &t);
            for (int o = 0; o < OUTPUTS; o++) {
                for (size_t i = 0; i < tensor_count(&f.out[o]); i++) {
                    double error = fabs(tensor_value(&f.out[o], i) - t.value[o][i]);
                    double allowed = 0x1p-8 * (t.size[o][i] + fabs(t.value[o][i]));
                    cr_assert(error <= allowed + 0x1p-120,
                              "%s, shape %d, output %d [%zu]: %g, not %g",
                              twins[k]->name, n, o, i, tensor_value(&f.out[o], i),
                              t.value[o][i]);
                }
                free(t.value[o]);
                free(t.size[o]);
            }
            fixture_free(&f);
        }
}

Test(twin, threads_do_not_count)
{
    for (int n = 0; n < SHAPES; n++)
        for (int k = 0; k < TWINS; k++) {
            fixture one, many;
            fixture_init(&one, &shapes[n], 11);
            fixture_init(&many, &shapes[n], 11);
            fixture_run(&one, twins[k], 1);
            fixture_run(&many, twins[k], 5);
            assert_same_outputs(&one, &many, twins[k]->name);
            fixture_free(&one);
            fixture_free(&many);
        }
}

Test(twin, key_lengths_equal_a_mask_of_prefixes)
{
    for (int k = 0; k < TWINS; k++) {
        shape s = {2, 6, 2, 100, 32, GG_TA_KEYS_COUNTED, 1, 1};
        fixture counted, masked;
        fixture_init(&counted, &s, 3);
        s.keys = GG_TA_KEYS_MASKED;
        fixture_init(&masked, &s, 3);
        for (size_t row = 0; row < 12; row++)
            for (size_t j = 0; j < 100; j++)
                ((uint8_t *)masked.in[IN_MASK].data)[row * 100 + j] =
                    (uint8_t)fixture_valid(&counted, row, j);
        fixture_run(&counted, twins[k], 1);
        fixture_run(&masked, twins[k], 1);
        assert_same_outputs(&counted, &masked, twins[k]->name);
        fixture_free(&counted);
        fixture_free(&masked);
    }
}

/* Stores `poison` in k and v of every invalid key. */
static void poison_keys(fixture *f, uint16_t poison)
{
    size_t N = (size_t)f->s.N, D = (size_t)f->s.D, H = (size_t)f->s.H;
    size_t rows = tensor_count(&f->in[IN_K]) / D;
    for (size_t row = 0; row < rows; row++)
        for (size_t d = 0; !fixture_valid(f, row / N / H, row % N) && d < D; d++) {
            ((uint16_t *)f->in[IN_K].data)[row * D + d] = poison;
            ((uint16_t *)f->in[IN_V].data)[row * D + d] = poison;
        }
}

Test(twin, invalid_keys_are_not_read)
{
    for (int n = 0; n < SHAPES; n++)
        for (int k = 0; k < TWINS; k++) {
            fixture clean, poisoned;
            fixture_init(&clean, &shapes[n], 5);
            fixture_init(&poisoned, &shapes[n], 5);
            poison_keys(&poisoned, k % 2 ? 0x7fc0 : 0x7f80);
            fixture_run(&clean, twins[k], 1);
            fixture_run(&poisoned, twins[k], 1);
            assert_same_outputs(&clean, &poisoned, twins[k]->name);
            fixture_free(&clean);
            fixture_free(&poisoned);
        }
}

/* Rows beside a row have no part in its o, dq, dk and dv. */
Test(twin, a_row_alone_has_the_same_bits)
{
    for (int k = 0; k < TWINS; k++) {
        shape s = {1, 19, 2, 40, 32, GG_TA_KEYS_ALL, 0, 2};
        fixture all, some;
        fixture_init(&all, &s, 9);
        s.R = 3;
        fixture_init(&some, &s, 9);
        memcpy(some.in[IN_BIAS].data, all.in[IN_BIAS].data,
               tensor_bytes(&some.in[IN_BIAS]));
        size_t bytes = tensor_bytes(&some.in[IN_Q]), skipped = bytes / 3 * 16;
        const int heads[] = {IN_Q, IN_K, IN_V, IN_DOUT};
        for (int i = 0; i < 4; i++)
            memcpy(some.in[heads[i]].data, (char *)all.in[heads[i]].data + skipped,
                   bytes);
        fixture_run(&all, twins[k], 1);
        fixture_run(&some, twins[k], 1);
        for (int i = OUT_O; i <= OUT_DV; i++)
            cr_assert_eq(
                memcmp(some.out[i].data, (char *)all.out[i].data + skipped, bytes), 0,
                "%s: output %d", twins[k]->name, i);
        fixture_free(&all);
        fixture_free(&some);
    }
}

/* Values only; a query without a valid key has zeros, whatever dout holds. */
Test(twin, dead_rows_give_zero)
{
    for (int k = 0; k < TWINS; k++) {
        fixture f;
        shape s = {1, 1, 1, 70, 16, GG_TA_KEYS_COUNTED, 1, 1};
        fixture_init(&f, &s, 2);
        ((int32_t *)f.in[IN_LENGTHS].data)[0] = 0;
        tensor_set(&f.in[IN_DOUT], 5, NAN);
        fixture_run(&f, twins[k], 1);
        for (int o = 0; o < OUTPUTS; o++)
            for (size_t i = 0; i < tensor_count(&f.out[o]); i++)
                cr_assert_eq(tensor_value(&f.out[o], i), 0, "%s %d", twins[k]->name, o);
        fixture_free(&f);
    }
}

Test(twin, unwanted_outputs_are_left_out)
{
    for (int k = 0; k < TWINS; k++)
        for (int left_out = OUT_DQ; left_out < OUTPUTS; left_out++) {
            fixture all, some;
            fixture_init(&all, &shapes[2], 4);
            fixture_init(&some, &shapes[2], 4);
            some.outputs[left_out] = NULL;
            fixture_run(&all, twins[k], 1);
            fixture_run(&some, twins[k], 1);
            memcpy(some.out[left_out].data, all.out[left_out].data,
                   tensor_bytes(&all.out[left_out]));
            assert_same_outputs(&all, &some, twins[k]->name);
            fixture_free(&all);
            fixture_free(&some);
        }
}

Test(twin, compensation_counts_in_backward_only)
{
    fixture with, without;
    fixture_init(&with, &shapes[1], 6);
    fixture_init(&without, &shapes[1], 6);
    without.call.features = 0;
    fixture_run(&with, &gg_ta_turbo_twin, 1);
    fixture_run(&without, &gg_ta_turbo_twin, 1);
    for (int o = 0; o < OUTPUTS; o++) {
        int same =
            !memcmp(with.out[o].data, without.out[o].data, tensor_bytes(&with.out[o]));
        cr_assert_eq(same, o == OUT_O || o == OUT_DV, "%d", o);
    }
    fixture_free(&with);
    fixture_free(&without);
}
