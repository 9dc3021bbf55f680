/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "reference/exp64.h"
#include "reference/triangle_attention_fixture.h"
#include "reference/triangle_attention_internal.h"

TestSuite(triangle_attention_fp64, .timeout = 60);

static const shape shapes[] = {
    {1, 1, 1, 1, 1, ALL_KEYS, GG_F32, 1.0},  {1, 2, 1, 16, 8, ALL_KEYS, GG_BF16, 1.0},
    {2, 3, 2, 19, 5, MASKED, GG_F32, 4.0},   {1, 5, 3, 37, 17, LENGTHS, GG_BF16, 1.0},
    {1, 4, 1, 33, 32, MASKED, GG_BF16, 40.0}, {3, 2, 1, 24, 9, LENGTHS, GG_F32, 1.0},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void compute(fixture *f, int threads)
{
    gg_status status = gg_triangle_attention_host(&f->problem, &f->truth, threads);
    cr_assert_eq(status, GG_OK, "%s", gg_message());
}

static void assert_same(const fixture *f, const gg_truth *other, const char *what)
{
    for (int o = 0; o < GG_TA_OUTPUTS; o++) {
        size_t size = (size_t)fixture_count(f, o) * sizeof(double);
        cr_assert_eq(memcmp(f->truth.value[o], other->value[o], size), 0,
                     "%s: value of output %d", what, o);
        cr_assert_eq(memcmp(f->truth.allowance[o], other->allowance[o], size), 0,
                     "%s: allowance of output %d", what, o);
    }
}

/* --- the order of operations, written down a second time in the plainest loops --- */

typedef struct plain {
    const gg_problem *problem;
    int64_t R, H, N, D;
    double sc;
    double *p, *ds, *w, *z; /* [N][N] of one slice */
    int32_t key[64];
    int64_t keys;
} plain;

static double element(const plain *t, int which, int64_t slice, int64_t n, int64_t d)
{
    const uint16_t *data = t->problem->input[which].data;
    return gg_bf16_value(data[(slice * t->N + n) * t->D + d]);
}

static double dot(const plain *t, int a, int64_t i, int b, int64_t j, int64_t slice,
                  bool size)
{
    double sum = 0.0;
    for (int64_t d = 0; d < t->D; d++) {
        double x = element(t, a, slice, i, d), y = element(t, b, slice, j, d);
        sum = size ? fma(fabs(x), fabs(y), sum) : fma(x, y, sum);
    }
    return sum;
}

static void plain_query(plain *t, int64_t slice, int64_t bias_at, int64_t i)
{
    double s[64], a[64], x[64], m = -INFINITY, l = 0.0, a_bar = 0.0, x_bar = 0.0;
    double delta = 0.0, q = t->sc * sqrt(dot(t, GG_TA_Q, i, GG_TA_Q, i, slice, false));
    double *p = t->p + i * t->N, *ds = t->ds + i * t->N;
    for (int64_t n = 0; n < t->keys; n++) {
        int64_t j = t->key[n];
        double bias = gg_triangle_attention_bias(t->problem, bias_at + i * t->N + j);
        s[j] = fma(dot(t, GG_TA_Q, i, GG_TA_K, j, slice, false), t->sc, bias);
        a[j] = q * sqrt(dot(t, GG_TA_K, j, GG_TA_K, j, slice, false)) + fabs(bias);
        x[j] = dot(t, GG_TA_DOUT, i, GG_TA_V, j, slice, true);
        ds[j] = dot(t, GG_TA_DOUT, i, GG_TA_V, j, slice, false);
        if (s[j] > m) m = s[j];
    }
    for (int64_t n = 0; n < t->keys; n++)
        l += p[t->key[n]] = gg_exp64(s[t->key[n]] - m);
    for (int64_t n = 0; n < t->keys; n++) {
        int64_t j = t->key[n];
        p[j] *= 1.0 / l;
        delta = fma(p[j], ds[j], delta);
        a_bar = fma(p[j], a[j], a_bar);
        x_bar = fma(p[j], x[j], x_bar);
    }
    for (int64_t n = 0; n < t->keys; n++) {
        int64_t j = t->key[n];
        ds[j] = p[j] * (ds[j] - delta);
        t->w[i * t->N + j] = p[j] * (0x1p-8 + 0x1p-24 * (1.0 + a[j] + a_bar));
        t->z[i * t->N + j] = t->w[i * t->N + j] * (x[j] + x_bar);
    }
}

/* Chain over keys (by_key false) or queries of left[i][j] right[.][d]. */
static double reduce(const plain *t, const double *left, int right, int64_t slice,
                     int64_t n, int64_t d, bool by_key, bool size)
{
    double sum = 0.0;
    int64_t count = by_key ? t->N : t->keys;
    for (int64_t k = 0; k < count; k++) {
        int64_t i = by_key ? k : n, j = by_key ? n : t->key[k];
        double y = element(t, right, slice, by_key ? i : j, d);
        sum = fma(left[i * t->N + j], size ? fabs(y) : y, sum);
    }
    return sum;
}

static bool is_key(const plain *t, int64_t j)
{
    for (int64_t n = 0; n < t->keys; n++)
        if (t->key[n] == j) return true;
    return false;
}

static void plain_slice(plain *t, int64_t slice, gg_truth *out)
{
    int64_t b = slice / t->H / t->R, r = slice / t->H % t->R, h = slice % t->H;
    int64_t bias_at = (b * t->H + h) * t->N * t->N;
    t->keys = gg_triangle_attention_keys(t->problem, b, r, t->key);
    for (int64_t i = 0; t->keys > 0 && i < t->N; i++) plain_query(t, slice, bias_at, i);
    for (int64_t n = 0; n < t->N; n++)
        for (int64_t d = 0; d < t->D; d++) {
            int64_t at = (slice * t->N + n) * t->D + d;
            bool valid = is_key(t, n);
            for (int size = 0; size < 2; size++) {
                double *const *to = size ? out->allowance : out->value;
                const double *p = size ? t->w : t->p, *ds = size ? t->z : t->ds;
                to[GG_TA_O][at] = reduce(t, p, GG_TA_V, slice, n, d, false, size);
                to[GG_TA_DQ][at] =
                    t->sc * reduce(t, ds, GG_TA_K, slice, n, d, false, size);
                to[GG_TA_DK][at] = !valid ? 0.0 : t->sc *
                    reduce(t, ds, GG_TA_Q, slice, n, d, true, size);
                to[GG_TA_DV][at] =
                    !valid ? 0.0 : reduce(t, p, GG_TA_DOUT, slice, n, d, true, size);
            }
        }
    for (int64_t i = 0; i < t->N * t->N; i++) {
        if (r == 0) out->value[GG_TA_DBIAS][bias_at + i] = 0.0;
        if (r == 0) out->allowance[GG_TA_DBIAS][bias_at + i] = 0.0;
        if (!is_key(t, i % t->N)) continue;
        out->value[GG_TA_DBIAS][bias_at + i] += t->ds[i];
        out->allowance[GG_TA_DBIAS][bias_at + i] += t->z[i];
    }
}

Test(triangle_attention_fp64, order_is_the_one_in_the_header)
{
    for (int s = 0; s < SHAPES; s++) {
        fixture f = fixture_open(&shapes[s], 7 + (uint64_t)s), twin = f;
        fixture_truth(&twin);
        const int64_t *e = f.problem.extent;
        size_t size = (size_t)(e[GG_TA_N] * e[GG_TA_N]) * sizeof(double);
        plain t = {.problem = &f.problem, .R = e[GG_TA_R], .H = e[GG_TA_H],
                   .N = e[GG_TA_N], .D = e[GG_TA_D],
                   .sc = 1.0 / sqrt((double)e[GG_TA_D]), .p = malloc(size),
                   .ds = malloc(size), .w = malloc(size), .z = malloc(size)};
        for (int64_t slice = 0; slice < e[GG_TA_B] * t.R * t.H; slice++)
            plain_slice(&t, slice, &twin.truth);
        compute(&f, 2);
        assert_same(&f, &twin.truth, "plain loops");
        free(t.p);
        free(t.ds);
        free(t.w);
        free(t.z);
        fixture_free_truth(&twin);
        fixture_close(&f);
    }
}

/* --- results known by hand, and by differences --- */

static gg_tensor small(const double *values, int64_t n)
{
    gg_tensor t = {.dtype = GG_BF16, .ndim = 5, .shape = {1, 1, 1, n, 2}};
    uint16_t *data = malloc((size_t)(2 * n) * sizeof *data);
    for (int64_t i = 0; i < 2 * n; i++) data[i] = gg_bf16_round(values[i]);
    t.data = data;
    return t;
}

static void assert_near(const double *got, const double *expected, int count,
                        const char *what)
{
    for (int i = 0; i < count; i++)
        cr_assert(fabs(got[i] - expected[i]) <= 5e-7, "%s[%d] = %.17g, expected %.17g",
                  what, i, got[i], expected[i]);
}

/* q and k are orthogonal, so scores are the bias: weights 1/4 and 3/4. Query 0 has
 * dP = 2, 10, delta = 8; query 1 has dP = -1, -5, delta = -4. */
Test(triangle_attention_fp64, two_keys_by_hand)
{
    shape s = {1, 1, 1, 2, 2, ALL_KEYS, GG_F32, 1.0};
    fixture f = fixture_open(&s, 1);
    for (int i = 0; i <= GG_TA_DOUT; i++)
        if (i != GG_TA_BIAS) free(f.problem.input[i].data);
    f.problem.input[GG_TA_Q] = small((double[]){2, 0, 6, 0}, 2);
    f.problem.input[GG_TA_K] = small((double[]){0, 1, 0, 3}, 2);
    f.problem.input[GG_TA_V] = small((double[]){1, 0, 5, 0}, 2);
    f.problem.input[GG_TA_DOUT] = small((double[]){2, 0, -1, 0}, 2);
    float *bias = f.problem.input[GG_TA_BIAS].data;
    bias[0] = bias[2] = 0.0f;
    bias[1] = bias[3] = (float)log(3.0);
    compute(&f, 1);
    double sc = sqrt(0.5);
    double *const *value = f.truth.value;
    assert_near(value[GG_TA_O], (double[]){4, 0, 4, 0}, 4, "o");
    assert_near(value[GG_TA_DBIAS], (double[]){-1.5, 1.5, 0.75, -0.75}, 4, "dbias");
    assert_near(value[GG_TA_DQ], (double[]){0, 3 * sc, 0, -1.5 * sc}, 4, "dq");
    assert_near(value[GG_TA_DK], (double[]){1.5 * sc, 0, -1.5 * sc, 0}, 4, "dk");
    assert_near(value[GG_TA_DV], (double[]){0.25, 0, 0.75, 0}, 4, "dv");
    fixture_close(&f);
}

static double loss(fixture *f)
{
    const uint16_t *dout = f->problem.input[GG_TA_DOUT].data;
    double sum = 0.0;
    compute(f, 1);
    for (int64_t i = 0; i < f->elements; i++)
        sum += gg_bf16_value(dout[i]) * f->truth.value[GG_TA_O][i];
    return sum;
}

/* Fourth-order central difference; x and its neighbours are exact in both types. */
static double slope(fixture *f, int which, int64_t at)
{
    const double h = 0x1p-8, steps[] = {-2, -1, 1, 2}, weights[] = {1, -8, 8, -1};
    gg_tensor *t = &f->problem.input[which];
    double start = t->dtype == GG_F32 ? (double)((float *)t->data)[at]
                                      : gg_bf16_value(((uint16_t *)t->data)[at]);
    double sum = 0.0;
    for (int i = 0; i <= 4; i++) {
        double x = i < 4 ? start + steps[i] * h : start;
        if (t->dtype == GG_F32) ((float *)t->data)[at] = (float)x;
        else ((uint16_t *)t->data)[at] = gg_bf16_round(x);
        if (i < 4) sum += weights[i] * loss(f);
    }
    return sum / (12.0 * h);
}

Test(triangle_attention_fp64, gradients_are_slopes_of_the_forward)
{
    static const int from[] = {GG_TA_Q, GG_TA_K, GG_TA_V, GG_TA_BIAS};
    static const int to[] = {GG_TA_DQ, GG_TA_DK, GG_TA_DV, GG_TA_DBIAS};
    shape s = {1, 2, 2, 3, 3, MASKED, GG_F32, 1.0};
    fixture f = fixture_open(&s, 5);
    for (int g = 0; g < 4; g++) { /* eighths below 1: room for four more bits */
        gg_tensor *t = &f.problem.input[from[g]];
        for (int64_t i = 0; i < gg_tensor_count(t); i++) {
            double x = floor(fixture_uniform() * 13.0 - 6.0) / 8.0;
            if (t->dtype == GG_F32) ((float *)t->data)[i] = (float)x;
            else ((uint16_t *)t->data)[i] = gg_bf16_round(x);
        }
    }
    memcpy(f.problem.input[GG_TA_MASK].data, (uint8_t[]){1, 1, 1, 1, 0, 1}, 6);
    for (int g = 0; g < 4; g++)
        for (int64_t i = 0; i < fixture_count(&f, to[g]); i++) {
            double expected = slope(&f, from[g], i);
            compute(&f, 1);
            cr_assert(fabs(f.truth.value[to[g]][i] - expected) <= 2e-8,
                      "output %d element %lld: %.12g, difference quotient %.12g", to[g],
                      (long long)i, f.truth.value[to[g]][i], expected);
        }
    fixture_close(&f);
}

/* --- same bits whatever runs it --- */

Test(triangle_attention_fp64, instruction_sets_and_threads_agree)
{
    for (int s = 0; s < SHAPES; s++) {
        fixture f = fixture_open(&shapes[s], 11), twin = f;
        compute(&f, 1);
        for (int set = GG_PORTABLE; set < GG_INSTRUCTIONS; set++)
            for (int threads = 1; threads <= 3; threads++) {
                fixture_truth(&twin);
                gg_instructions_limit((gg_instructions)set);
                compute(&twin, threads);
                assert_same(&f, &twin.truth, "instruction set or threads");
                fixture_free_truth(&twin);
            }
        fixture_close(&f);
    }
}

Test(triangle_attention_fp64, outputs_do_not_depend_on_what_else_is_wanted)
{
    fixture f = fixture_open(&shapes[3], 12), alone = f;
    compute(&f, 2);
    for (int o = 0; o < GG_TA_OUTPUTS; o++)
        for (int size = 0; size < 2; size++) {
            size_t bytes = (size_t)fixture_count(&f, o) * sizeof(double);
            double *buffer = malloc(bytes);
            memset(buffer, 0xff, bytes);
            alone.truth = (gg_truth){0};
            (size ? alone.truth.allowance : alone.truth.value)[o] = buffer;
            alone.problem = f.problem;
            if (o == GG_TA_O) alone.problem.input[GG_TA_DOUT].data = NULL;
            compute(&alone, 2);
            double *whole = (size ? f.truth.allowance : f.truth.value)[o];
            cr_assert_eq(memcmp(buffer, whole, bytes), 0, "output %d alone", o);
            free(buffer);
        }
    fixture_close(&f);
}

/* --- invalid keys and dead rows --- */

static bool valid_in(const fixture *f, int64_t row, int64_t j)
{
    const uint8_t *mask = f->problem.input[GG_TA_MASK].data;
    const int32_t *length = f->problem.input[GG_TA_KEY_LENGTHS].data;
    return mask ? mask[row * f->problem.extent[GG_TA_N] + j] : j < length[row];
}

/* NaN in k and v at every invalid key; in bias where a key is invalid in all rows. */
static void poison(fixture *f)
{
    const int64_t *e = f->problem.extent;
    uint16_t *k = f->problem.input[GG_TA_K].data, *v = f->problem.input[GG_TA_V].data;
    for (int64_t i = 0; i < f->elements; i++) {
        int64_t j = i / e[GG_TA_D] % e[GG_TA_N];
        int64_t row = i / e[GG_TA_D] / e[GG_TA_N] / e[GG_TA_H];
        if (!valid_in(f, row, j)) k[i] = v[i] = (i & 1) ? 0x7fff : 0x7f80;
    }
    gg_tensor *bias = &f->problem.input[GG_TA_BIAS];
    for (int64_t i = 0; i < f->pairs; i++) {
        int64_t b = i / e[GG_TA_N] / e[GG_TA_N] / e[GG_TA_H];
        bool used = false;
        for (int64_t r = 0; r < e[GG_TA_R]; r++)
            used = used || valid_in(f, b * e[GG_TA_R] + r, i % e[GG_TA_N]);
        if (!used && bias->dtype == GG_F32) ((float *)bias->data)[i] = NAN;
        if (!used && bias->dtype == GG_BF16) ((uint16_t *)bias->data)[i] = 0xffff;
    }
}

Test(triangle_attention_fp64, nothing_at_an_invalid_key_is_read)
{
    for (int s = 0; s < SHAPES; s++) {
        if (shapes[s].keys == ALL_KEYS) continue;
        fixture f = fixture_open(&shapes[s], 13), twin = f;
        compute(&f, 2);
        fixture_truth(&twin);
        poison(&f);
        compute(&twin, 2);
        assert_same(&f, &twin.truth, "poisoned");
        fixture_free_truth(&twin);
        fixture_close(&f);
    }
}

Test(triangle_attention_fp64, key_lengths_equal_the_prefix_mask)
{
    fixture f = fixture_open(&shapes[3], 14), twin = f;
    int64_t n = f.problem.extent[GG_TA_N], rows = f.problem.extent[GG_TA_R];
    uint8_t *mask = malloc((size_t)(rows * n));
    for (int64_t i = 0; i < rows * n; i++) mask[i] = valid_in(&f, i / n, i % n);
    compute(&f, 2);
    fixture_truth(&twin);
    twin.problem.input[GG_TA_KEY_LENGTHS].data = NULL;
    twin.problem.input[GG_TA_MASK] = (gg_tensor){mask, GG_U8, 3, {1, rows, n}};
    compute(&twin, 2);
    assert_same(&f, &twin.truth, "prefix mask");
    free(mask);
    fixture_free_truth(&twin);
    fixture_close(&f);
}

/* Row 1 has no valid key and NaN everywhere; query 2 of head 0 has only -infinity. */
Test(triangle_attention_fp64, dead_rows_are_zero)
{
    shape s = {1, 3, 1, 20, 4, MASKED, GG_F32, 1.0};
    fixture f = fixture_open(&s, 15);
    int64_t row = 20 * 4;
    for (int i = 0; i <= GG_TA_DOUT; i++)
        if (i != GG_TA_BIAS)
            memset((uint16_t *)f.problem.input[i].data + row, 0xff, 160);
    uint16_t *dout = f.problem.input[GG_TA_DOUT].data;
    dout[2 * 4] = 0x7f80; /* infinite, in row 0 at the query that is dead */
    float *bias = f.problem.input[GG_TA_BIAS].data;
    for (int j = 0; j < 20; j++) bias[2 * 20 + j] = -INFINITY;
    bias[5 * 20 + 3] = -INFINITY; /* one key fewer for query 5 */
    compute(&f, 2);
    for (int o = 0; o < GG_TA_OUTPUTS; o++)
        for (int64_t i = 0; i < fixture_count(&f, o); i++) {
            double value = f.truth.value[o][i], allowance = f.truth.allowance[o][i];
            bool dead = o == GG_TA_DBIAS
                            ? i / 20 == 2
                            : i / row == 1 || (o <= GG_TA_DQ && i / 4 % 20 == 2);
            cr_assert(isfinite(value) && isfinite(allowance), "output %d [%lld]", o,
                      (long long)i);
            if (dead) cr_assert(value == 0.0 && allowance == 0.0);
        }
    cr_assert_eq(f.truth.value[GG_TA_DBIAS][5 * 20 + 3], 0.0);
    double rest = 0.0;
    for (int j = 0; j < 20; j++) rest += fabs(f.truth.value[GG_TA_DBIAS][5 * 20 + j]);
    cr_assert(rest > 0.1);
    fixture_close(&f);
}

Test(triangle_attention_fp64, nan_at_a_valid_key_is_seen)
{
    shape s = {1, 1, 1, 4, 2, ALL_KEYS, GG_F32, 1.0};
    fixture f = fixture_open(&s, 16);
    float *bias = f.problem.input[GG_TA_BIAS].data;
    bias[1] = NAN;
    bias[0] = bias[2] = bias[3] = -INFINITY; /* a maximum that skips NaN sees no key */
    compute(&f, 1);
    cr_assert(isnan(f.truth.value[GG_TA_O][0]));
    cr_assert(isnan(f.truth.value[GG_TA_DBIAS][0]));
    cr_assert(isfinite(f.truth.value[GG_TA_O][2]));
    fixture_close(&f);
}
