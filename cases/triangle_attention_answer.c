/* SPDX-License-Identifier: Apache-2.0
 * Answers of the probes: a second way to the truth, sharing no code with reference/.
 * Probabilities come from a closed form (counting keys), the rest is plain sums in long
 * double. For the uniform probes every sum is of small integers over a power of two, so
 * nothing is rounded. All keys are valid in these families. */
#include <math.h>
#include <stdlib.h>

#include "cases/fill.h"
#include "cases/triangle_attention_fill.h"

/* One (batch, row, head): operands as doubles, P and dS in long double. */
typedef struct slice {
    int64_t N, D;
    double *q, *k, *v, *dout; /* [N,D] */
    double *bias;             /* [N,N] */
    long double *p, *ds;      /* [N,N] */
} slice;

/* P of row i from the scores' closed form. */
typedef void probability(const slice *s, int64_t i, long double *p);

static void uniform(const slice *s, int64_t i, long double *p)
{
    (void)i;
    for (int64_t j = 0; j < s->N; j++) p[j] = 1.0L / (long double)s->N;
}

/* Even keys score 0, odd ones all score the same; weights 1 and e^score. */
static void two_weights(const slice *s, int64_t i, long double *p)
{
    long double weight = 0;
    if (s->N > 1)
        weight = expl((long double)(s->q[i * s->D] * s->k[s->D]) /
                          sqrtl((long double)s->D) +
                      (long double)s->bias[i * s->N + 1]);
    long double odd = (long double)(s->N / 2), even = (long double)(s->N - s->N / 2);
    long double sum = even + odd * weight;
    for (int64_t j = 0; j < s->N; j++) p[j] = (j % 2 ? weight : 1.0L) / sum;
}

static void slice_free(slice *s)
{
    free(s->q);
    free(s->p);
}

static gg_status slice_make(slice *s, int64_t N, int64_t D)
{
    size_t nd = (size_t)(N * D), nn = (size_t)(N * N);
    *s = (slice){.N = N, .D = D};
    s->q = malloc((4 * nd + nn) * sizeof *s->q);
    s->p = malloc(2 * nn * sizeof *s->p);
    if (s->q == NULL || s->p == NULL) {
        slice_free(s);
        return gg_fail(GG_NO_MEMORY,
                       "no memory for the answer of a probe with N = %lld",
                       (long long)N);
    }
    s->k = s->q + nd;
    s->v = s->k + nd;
    s->dout = s->v + nd;
    s->bias = s->dout + nd;
    s->ds = s->p + nn;
    return GG_OK;
}

static void load(double *to, const gg_tensor *from, int64_t first, int64_t count)
{
    for (int64_t i = 0; i < count; i++) to[i] = gg_fill_get(from, first + i);
}

/* P, and dS = P (dP - delta), of one slice. */
static void fill_slice(slice *s, probability *rule)
{
    const int64_t N = s->N, D = s->D;
    for (int64_t i = 0; i < N; i++) {
        long double *p = s->p + i * N, *ds = s->ds + i * N, delta = 0;
        rule(s, i, p);
        for (int64_t j = 0; j < N; j++) {
            ds[j] = 0;
            for (int64_t d = 0; d < D; d++)
                ds[j] += (long double)s->dout[i * D + d] * (long double)s->v[j * D + d];
            delta += p[j] * ds[j];
        }
        for (int64_t j = 0; j < N; j++) ds[j] = p[j] * (ds[j] - delta);
    }
}

/* values[a,d] = scale * sum_c m[a,c] x[c,d], or m[c,a] when `transposed`. */
static void product(const slice *s, const long double *m, bool transposed,
                    const double *x, long double scale, double *values)
{
    const int64_t N = s->N, D = s->D;
    for (int64_t a = 0; a < N; a++)
        for (int64_t d = 0; d < D; d++) {
            long double sum = 0;
            for (int64_t c = 0; c < N; c++)
                sum += m[transposed ? c * N + a : a * N + c] *
                       (long double)x[c * D + d];
            values[a * D + d] = (double)(scale * sum);
        }
}

static void write_slice(const slice *s, int output, int64_t rh, int64_t bh,
                        double *values)
{
    const int64_t N = s->N, D = s->D;
    const long double sc = 1.0L / sqrtl((long double)D);
    double *out = values + rh * N * D;
    switch (output) {
    case GG_TA_O: product(s, s->p, false, s->v, 1, out); break;
    case GG_TA_DQ: product(s, s->ds, false, s->k, sc, out); break;
    case GG_TA_DK: product(s, s->ds, true, s->q, sc, out); break;
    case GG_TA_DV: product(s, s->p, true, s->dout, 1, out); break;
    default:
        for (int64_t at = 0; at < N * N; at++)
            values[bh * N * N + at] += (double)s->ds[at];
    }
}

static gg_status answer(const gg_problem *p, int output, double *values,
                        probability *rule)
{
    const int64_t B = p->extent[GG_TA_B], R = p->extent[GG_TA_R],
                  H = p->extent[GG_TA_H];
    const int64_t N = p->extent[GG_TA_N], D = p->extent[GG_TA_D];
    slice s;
    GG_TRY(slice_make(&s, N, D));
    if (output == GG_TA_DBIAS)
        for (int64_t at = 0; at < B * H * N * N; at++) values[at] = 0;
    for (int64_t rh = 0; rh < B * R * H; rh++) {
        int64_t bh = rh / (R * H) * H + rh % H;
        load(s.q, &p->input[GG_TA_Q], rh * N * D, N * D);
        load(s.k, &p->input[GG_TA_K], rh * N * D, N * D);
        load(s.v, &p->input[GG_TA_V], rh * N * D, N * D);
        load(s.dout, &p->input[GG_TA_DOUT], rh * N * D, N * D);
        load(s.bias, &p->input[GG_TA_BIAS], bh * N * N, N * N);
        fill_slice(&s, rule);
        write_slice(&s, output, rh, bh, values);
    }
    slice_free(&s);
    return GG_OK;
}

gg_status gg_ta_answer_two_keys(const gg_problem *p, int output, double *values,
                                bool *exact)
{
    *exact = false; /* an exponential is in it */
    return answer(p, output, values, two_weights);
}

static void own_key(const slice *s, int64_t i, long double *p)
{
    for (int64_t j = 0; j < s->N; j++) p[j] = j == i;
}

/* P is exactly 1 or 0 in any kernel, and dP and delta are 0: nothing is rounded. */
gg_status gg_ta_answer_own_key(const gg_problem *p, int output, double *values, bool *exact)
{
    *exact = true;
    return answer(p, output, values, own_key);
}

static bool is_power(int64_t value, int log2_base)
{
    while (value > 1 && value % (INT64_C(1) << log2_base) == 0) value >>= log2_base;
    return value == 1;
}

/* With N a power of two up to 256, P = 1/N, and each of o, delta and dS is a whole
 * number of at most 8 bits over a power of two: exact in bf16 wherever a kernel rounds.
 * dq and dk carry sc = 1/sqrt(D), exact when D is a power of four. */
gg_status gg_ta_answer_uniform(const gg_problem *p, int output, double *values,
                               bool *exact)
{
    const int64_t N = p->extent[GG_TA_N], D = p->extent[GG_TA_D];
    *exact = is_power(N, 1) && N <= 256;
    if (output == GG_TA_DQ || output == GG_TA_DK) *exact = *exact && is_power(D, 2);
    return answer(p, output, values, uniform);
}
