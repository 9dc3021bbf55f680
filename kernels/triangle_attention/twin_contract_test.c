/* SPDX-License-Identifier: Apache-2.0
 * The contract of README.md written down a second time, one element after another with
 * scalar operations only; the twins must have its bits. */
#include "kernels/arithmetic/ex2.h"
#include "kernels/arithmetic/tensor_core.h"
#include "kernels/triangle_attention/twin_fixture.h"

TestSuite(twin_contract, .timeout = 120);

enum { MAX_N = 160, MAX_D = 64 };

/* One (b, r, h). Operands are BF16 bits; k and v of invalid keys are zero. */
typedef struct head {
    int n, d;
    float c1, sc;
    uint16_t q[MAX_N][MAX_D], k[MAX_N][MAX_D], v[MAX_N][MAX_D], dout[MAX_N][MAX_D];
    int valid[MAX_N];
    float t[MAX_N][MAX_N], p[MAX_N][MAX_N], dp[MAX_N][MAX_N], ds[MAX_N][MAX_N];
    float delta[MAX_N];
    float o[MAX_N][MAX_D], dq[MAX_N][MAX_D], dk[MAX_N][MAX_D], dv[MAX_N][MAX_D];
} head;

typedef enum variant { NAIVE, RECOMPUTE, TURBO } variant;

static float chain(float c, const uint16_t *a, const uint16_t *b, int n)
{
    return gg_float_from_bits(gg_tc_chain(gg_float_bits(c), a, b, (size_t)n));
}

/* Chain from c over j in [first, end) of row[j] rounded to BF16 and column d of m. */
static float chain_row(float c, const float *row, uint16_t m[][MAX_D], int d, int first,
                       int end)
{
    uint16_t a[MAX_N], b[MAX_N];
    for (int j = first; j < end; j++) {
        a[j - first] = gg_bf16_from_float(row[j]);
        b[j - first] = m[j][d];
    }
    return chain(c, a, b, end - first);
}

static float chain_column(float x[][MAX_N], int j, uint16_t m[][MAX_D], int d, int n)
{
    float column[MAX_N];
    for (int i = 0; i < n; i++) column[i] = x[i][j];
    return chain_row(0, column, m, d, 0, n);
}

static float row_sum(const float *x, int n)
{
    float lane[32] = {0};
    for (int j = 0; j < n; j++) lane[j % 32] += x[j];
    for (int step = 16; step; step /= 2) {
        float old[32];
        memcpy(old, lane, sizeof old);
        for (int c = 0; c < 32; c++) lane[c] = old[c] + old[c ^ step];
    }
    return lane[0];
}

static float max_over(const head *x, int i, int first, int end, float m)
{
    for (int j = first; j < end; j++)
        if (x->valid[j] && x->t[i][j] > m) m = x->t[i][j];
    return m;
}

static int end_of(const head *x, int j0)
{
    return j0 + 64 < x->n ? j0 + 64 : x->n;
}

static int is_dead(const head *x, int j0)
{
    int any = 0;
    for (int j = j0; j < end_of(x, j0); j++) any |= x->valid[j];
    return !any;
}

/* Query i: o, and P and delta for the backward pass. */
static void online(head *x, int i, int compensation)
{
    float m = -INFINITY, l = 0, acc[MAX_D] = {0};
    for (int j0 = 0; j0 < x->n; j0 += 64) {
        if (is_dead(x, j0)) continue;
        int end = end_of(x, j0);
        float top = max_over(x, i, j0, end, m), ref = top == -INFINITY ? 0 : top;
        float a = gg_ex2(m - ref), lane[4] = {0}, p[MAX_N];
        for (int j = j0; j < end; j++) {
            float weight = x->valid[j] ? gg_ex2(x->t[i][j] - ref) : 0;
            p[j] = gg_bf16_to_float(gg_bf16_from_float(weight));
            lane[(j - j0) % 8 / 2] += p[j];
        }
        l = fmaf(l, a, (lane[0] + lane[1]) + (lane[2] + lane[3]));
        for (int d = 0; d < x->d; d++)
            acc[d] = chain_row(acc[d] * a, p, x->v, d, j0, end);
        m = top;
    }
    float inv = l == 0 ? 0 : 1 / l;
    m = m == -INFINITY ? 0 : m;
    x->delta[i] = 0;
    for (int d = 0; d < x->d; d++) {
        float o32 = acc[d] * inv, o = gg_bf16_to_float(gg_bf16_from_float(o32));
        float e = gg_bf16_to_float(gg_bf16_from_float(o32 - o));
        float y = compensation ? o + e : o;
        x->o[i][d] = o32;
        x->delta[i] = fmaf(gg_bf16_to_float(x->dout[i][d]), y, x->delta[i]);
    }
    for (int j = 0; j < x->n; j++)
        x->p[i][j] = x->valid[j] ? gg_ex2(x->t[i][j] - m) * inv : 0;
}

static void whole_row(head *x, int i)
{
    float m = max_over(x, i, 0, x->n, -INFINITY), ref = m == -INFINITY ? 0 : m;
    float terms[MAX_N] = {0};
    for (int j = 0; j < x->n; j++)
        terms[j] = x->valid[j] ? gg_ex2(x->t[i][j] - ref) : 0;
    float l = row_sum(terms, x->n), inv = l == 0 ? 0 : 1 / l;
    for (int j = 0; j < x->n; j++) {
        x->p[i][j] = x->valid[j] ? terms[j] * inv : 0;
        terms[j] = x->p[i][j] * x->dp[i][j];
    }
    x->delta[i] = row_sum(terms, x->n);
    for (int d = 0; d < x->d; d++) x->o[i][d] = chain_row(0, x->p[i], x->v, d, 0, x->n);
}

static float query_gradient(head *x, int i, int d, variant kind)
{
    float sum = 0;
    if (kind == NAIVE) return chain_row(0, x->ds[i], x->k, d, 0, x->n) * x->sc;
    for (int j0 = 0; j0 < x->n; j0 += 64) {
        float from = kind == TURBO ? 0 : sum;
        float part = is_dead(x, j0)
                         ? from
                         : chain_row(from, x->ds[i], x->k, d, j0, end_of(x, j0));
        sum = kind == TURBO ? sum + part : part;
    }
    return sum * x->sc;
}

static void compute(head *x, variant kind, int compensation, const float *bias)
{
    for (int i = 0; i < x->n; i++) {
        for (int j = 0; j < x->n; j++) {
            float s = chain(0, x->q[i], x->k[j], x->d);
            x->t[i][j] = fmaf(s, x->c1, bias[i * x->n + j] * 0x1.715476p+0f);
            x->dp[i][j] = chain(0, x->dout[i], x->v[j], x->d);
        }
        if (kind == NAIVE) whole_row(x, i);
        else online(x, i, compensation);
        for (int j = 0; j < x->n; j++)
            x->ds[i][j] = x->valid[j] ? x->p[i][j] * (x->dp[i][j] - x->delta[i]) : 0;
        for (int d = 0; d < x->d; d++) x->dq[i][d] = query_gradient(x, i, d, kind);
    }
    for (int j = 0; j < x->n; j++)
        for (int d = 0; d < x->d; d++) {
            x->dv[j][d] = x->valid[j] ? chain_column(x->p, j, x->dout, d, x->n) : 0;
            x->dk[j][d] =
                x->valid[j] ? chain_column(x->ds, j, x->q, d, x->n) * x->sc : 0;
        }
}

static void load(head *x, const fixture *f, size_t row, size_t h)
{
    const uint16_t *in[] = {f->in[IN_Q].data, f->in[IN_K].data, f->in[IN_V].data,
                            f->in[IN_DOUT].data};
    x->n = f->s.N;
    x->d = f->s.D;
    x->c1 = (float)(0x1.71547652b82fep+0 / sqrt((double)x->d));
    x->sc = (float)(1 / sqrt((double)x->d));
    size_t first = (row * (size_t)f->s.H + h) * (size_t)x->n;
    for (int j = 0; j < x->n; j++) {
        x->valid[j] = fixture_valid(f, row, (size_t)j);
        for (int d = 0; d < x->d; d++) {
            size_t at = (first + (size_t)j) * (size_t)x->d + (size_t)d;
            x->q[j][d] = in[0][at];
            x->k[j][d] = x->valid[j] ? in[1][at] : 0;
            x->v[j][d] = x->valid[j] ? in[2][at] : 0;
            x->dout[j][d] = in[3][at];
        }
    }
}

/* As a kernel stores it: rounded to the output's type, one NaN. */
static void assert_stored(const fixture *f, int output, size_t index, float value)
{
    const DLTensor *t = &f->out[output];
    uint32_t expected = gg_bf16_from_float(value), found;
    if (t->dtype.bits == 32) {
        expected = gg_float_bits(gg_float_canonical(value));
        found = gg_float_bits(((const float *)t->data)[index]);
    } else {
        found = ((const uint16_t *)t->data)[index];
    }
    cr_assert_eq(found, expected, "output %d [%zu]: %08x, not %08x", output, index,
                 found, expected);
}

static void check_head(const fixture *f, const head *x, size_t row, size_t h)
{
    size_t first = (row * (size_t)f->s.H + h) * (size_t)x->n;
    for (int i = 0; i < x->n; i++)
        for (int d = 0; d < x->d; d++) {
            size_t at = (first + (size_t)i) * (size_t)x->d + (size_t)d;
            assert_stored(f, OUT_O, at, x->o[i][d]);
            assert_stored(f, OUT_DQ, at, x->dq[i][d]);
            assert_stored(f, OUT_DK, at, x->dk[i][d]);
            assert_stored(f, OUT_DV, at, x->dv[i][d]);
        }
}

/* Every head against `kernel`, and dbias: rows in chunks of `chunk`. */
static void check(fixture *f, const gg_kernel *kernel, variant kind)
{
    static head x;
    static float bias[MAX_N * MAX_N], slab[MAX_N * MAX_N], sum[MAX_N * MAX_N];
    size_t R = (size_t)f->s.R, square = (size_t)f->s.N * (size_t)f->s.N;
    size_t chunk = kind == TURBO ? (R + 15) / 16 : R;
    fixture_run(f, kernel, 2);
    for (size_t bh = 0; bh < (size_t)(f->s.B * f->s.H); bh++) {
        size_t b = bh / (size_t)f->s.H, h = bh % (size_t)f->s.H;
        for (size_t i = 0; i < square; i++) {
            bias[i] = (float)tensor_value(&f->in[IN_BIAS], bh * square + i);
            sum[i] = 0;
        }
        for (size_t r = 0; r < R; r++) {
            load(&x, f, b * R + r, h);
            compute(&x, kind, (int)f->call.features, bias);
            check_head(f, &x, b * R + r, h);
            if (r % chunk == 0) memset(slab, 0, sizeof slab);
            for (size_t i = 0; i < square; i++)
                slab[i] += x.ds[i / (size_t)x.n][i % (size_t)x.n];
            for (size_t i = 0; (r % chunk == chunk - 1 || r == R - 1) && i < square;
                 i++)
                sum[i] += slab[i];
        }
        for (size_t i = 0; i < square; i++)
            assert_stored(f, OUT_DBIAS, bh * square + i, sum[i]);
    }
}

static void check_shape(const shape *s, double special, int features)
{
    const gg_kernel *const twins[] = {&gg_ta_naive_twin, &gg_ta_recompute_twin,
                                      &gg_ta_turbo_twin};
    for (int k = 0; k < 3; k++) {
        fixture f;
        fixture_init(&f, s, 21);
        f.call.features = (uint64_t)features;
        for (int i = 0; special != 0 && i <= IN_DOUT;
             i++) /* one element of each input */
            tensor_set(&f.in[i], tensor_count(&f.in[i]) / (size_t)(i + 3), special);
        check(&f, twins[k], (variant)k);
        fixture_free(&f);
    }
}

Test(twin_contract, every_tail_mask_and_type)
{
    const shape shapes[] = {
        {1, 1, 1, 1, 8, GG_TA_KEYS_ALL, 0, 1},
        {1, 1, 2, 67, 16, GG_TA_KEYS_ALL, 1, 1},
        {2, 4, 1, 19, 24, GG_TA_KEYS_MASKED, 1, 1},
        {1, 4, 1, 140, 8, GG_TA_KEYS_MASKED, 0, 2},
        {1, 4, 1, 33, 64, GG_TA_KEYS_COUNTED, 1, 1},
        {1, 2, 1, 48, 40, GG_TA_KEYS_ALL, 0, 8},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        check_shape(&shapes[i], 0, 1);
        check_shape(&shapes[i], 0, 0);
    }
}

Test(twin_contract, dbias_in_chunks_of_rows)
{
    const shape s = {1, 37, 1, 7, 8, GG_TA_KEYS_MASKED, 1, 1};
    check_shape(&s, 0, 1);
}

Test(twin_contract, wide_scores)
{
    const shape s = {1, 1, 1, 90, 16, GG_TA_KEYS_ALL, 1, 30};
    check_shape(&s, 0, 1);
}

Test(twin_contract, infinities_and_nan_spread_as_written)
{
    const shape s = {1, 4, 1, 70, 8, GG_TA_KEYS_MASKED, 1, 1};
    const double specials[] = {(double)INFINITY, -(double)INFINITY, (double)NAN,
                               0x1p125};
    for (int i = 0; i < 4; i++) check_shape(&s, specials[i], 1);
}
