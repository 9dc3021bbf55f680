/* SPDX-License-Identifier: Apache-2.0
 * The formulas of triangle_attention_rounded.h for one query, in C and in CUDA. Only
 * correctly rounded operations in a fixed order, so host and GPU agree in every bit. */
#ifndef REFERENCE_TRIANGLE_ATTENTION_ROUNDED_CORE_H
#define REFERENCE_TRIANGLE_ATTENTION_ROUNDED_CORE_H

#include <math.h>

#include "reference/exp64.h"
#include "reference/triangle_attention.h"
#include "reference/triangle_attention_rounded.h"

/* A loop over d, which is a constant where it matters: its arrays then stay in registers. */
#ifdef __CUDACC__
#define GG_TA_UNROLL _Pragma("unroll")
#else
#define GG_TA_UNROLL
#endif

/* Terms of one matrix step; keys of one tile of the running maximum; its slack; the largest l with
 * which the first maximum stays. */
enum { GG_TA_STEP = 16, GG_TA_ROUNDED_TILE = 64 };
#define GG_TA_SLACK 5.5
#define GG_TA_FITS 0x1p20

/* The scheme of a call, the same for every query. */
typedef struct gg_rounded_scheme {
    unsigned has, on; /* bits of gg_roundings */
    int64_t R, H, N, D;
    double sc;                        /* 1/sqrt(D) */
    const uint16_t *q, *k, *v, *dout; /* BF16 [B,R,H,N,D] */
    const uint16_t *bias16;           /* [B,H,N,N]: one of the two */
    const float *bias32;
    const uint8_t *mask;    /* [B,R,N] or NULL */
    const int32_t *lengths; /* [B,R] or NULL */
} gg_rounded_scheme;

static inline gg_rounded_scheme
gg_rounded_scheme_of(const gg_problem *problem, const gg_roundings *roundings)
{
    const gg_tensor *in = problem->input, *bias = &in[GG_TA_BIAS];
    const int64_t *extent = problem->extent;
    gg_rounded_scheme s;
    s.has = roundings->has;
    s.on = roundings->on;
    s.R = extent[GG_TA_R];
    s.H = extent[GG_TA_H];
    s.N = extent[GG_TA_N];
    s.D = extent[GG_TA_D];
    s.sc = 1.0 / sqrt((double)s.D);
    s.q = (const uint16_t *)in[GG_TA_Q].data;
    s.k = (const uint16_t *)in[GG_TA_K].data;
    s.v = (const uint16_t *)in[GG_TA_V].data;
    s.dout = (const uint16_t *)in[GG_TA_DOUT].data;
    s.bias16 = bias->dtype == GG_BF16 ? (const uint16_t *)bias->data : NULL;
    s.bias32 = bias->dtype == GG_F32 ? (const float *)bias->data : NULL;
    s.mask = (const uint8_t *)in[GG_TA_MASK].data;
    s.lengths = (const int32_t *)in[GG_TA_KEY_LENGTHS].data;
    return s;
}

/* One query and its scratch: element j of p and ds is [j * stride]. */
typedef struct gg_rounded_query {
    int64_t slice, i; /* (b R + r) H + h */
    double *p,
        *ds; /* [N] out: P and dS, unrounded by p_dv and ds; 0 at an invalid key */
    int64_t stride;
    double *o, *dq; /* [D] out, unrounded by output; dq may be NULL */
} gg_rounded_query;

static inline GG_BOTH bool gg_rounded_on(const gg_rounded_scheme *s, int point)
{
    return (s->on >> point & 1u) != 0;
}

static inline GG_BOTH bool gg_rounded_has(const gg_rounded_scheme *s, int point)
{
    return (s->has >> point & 1u) != 0;
}

static inline GG_BOTH double gg_rounded_bf16(double x)
{
    return gg_bf16_value(gg_bf16_round(x));
}

static inline GG_BOTH double gg_rounded_pair(double x)
{
    double high = gg_rounded_bf16(x);
    return high + gg_rounded_bf16(x - high);
}

/* x as BF16, as a pair or as it is. */
static inline GG_BOTH double
gg_rounded_at(const gg_rounded_scheme *s, int point, int pair, double x)
{
    if (gg_rounded_on(s, point)) return gg_rounded_bf16(x);
    return gg_rounded_on(s, pair) ? gg_rounded_pair(x) : x;
}

/* The result of an operation that a kernel does in binary32. */
static inline GG_BOTH double gg_rounded_f32(const gg_rounded_scheme *s, double x)
{
    return gg_rounded_on(s, GG_TA_ACCUMULATION) ? (double)(float)x : x;
}

/* The sum after a matrix step: 24 bits toward zero. */
static inline GG_BOTH double gg_rounded_cut(const gg_rounded_scheme *s, double x)
{
    uint64_t bits;
    if (!gg_rounded_on(s, GG_TA_ACCUMULATION) || x - x != 0) return x;
    memcpy(&bits, &x, sizeof bits);
    bits &= ~((UINT64_C(1) << 29) - 1);
    memcpy(&x, &bits, sizeof bits);
    return x;
}

/* True after the last term of a matrix step over n of N. */
static inline GG_BOTH bool gg_rounded_step_ends(int64_t n, int64_t N)
{
    return n % GG_TA_STEP == GG_TA_STEP - 1 || n == N - 1;
}

/* sum + sum of a[d] b[d]; b is BF16. After each step cut, or `nearest`. */
static inline GG_BOTH double gg_rounded_dot(const gg_rounded_scheme *s, double sum,
                                            const double *a, const uint16_t *b, int64_t D,
                                            bool nearest)
{
    GG_TA_UNROLL
    for (int64_t d = 0; d < D; d++) {
        sum += a[d] * gg_bf16_value(b[d]);
        if (!gg_rounded_step_ends(d, D)) continue;
        sum = nearest ? gg_rounded_f32(s, sum) : gg_rounded_cut(s, sum);
    }
    return sum;
}

/* sum[d] += a b[d]: one term of a matrix product; b is BF16. */
static inline GG_BOTH void
gg_rounded_add(double *sum, double a, const uint16_t *b, int64_t D)
{
    GG_TA_UNROLL
    for (int64_t d = 0; d < D; d++) sum[d] += a * gg_bf16_value(b[d]);
}

static inline GG_BOTH void
gg_rounded_cut_all(const gg_rounded_scheme *s, double *sum, int64_t D)
{
    if (!gg_rounded_on(s, GG_TA_ACCUMULATION)) return;
    GG_TA_UNROLL
    for (int64_t d = 0; d < D; d++) sum[d] = gg_rounded_cut(s, sum[d]);
}

static inline GG_BOTH bool
gg_rounded_valid(const gg_rounded_scheme *s, int64_t row, int64_t j)
{
    if (s->lengths != NULL && j >= s->lengths[row]) return false;
    return s->mask == NULL || s->mask[row * s->N + j] != 0;
}

/* Whether logits are kept in units of log 2. */
static inline GG_BOTH bool gg_rounded_binary(const gg_rounded_scheme *s)
{
    return gg_rounded_on(s, GG_TA_ACCUMULATION) && !gg_rounded_has(s, GG_TA_P_LAZY) &&
           !gg_rounded_has(s, GG_TA_P_PAIR);
}

#define GG_TA_LOG2_E 0x1.71547652b82fep0
#define GG_TA_LN_2 0x1.62e42fefa39efp-1

/* q as the products see it, and what a product is multiplied by to be a logit. */
static inline GG_BOTH double
gg_rounded_load_query(const gg_rounded_scheme *s, int64_t first, double *q, int64_t D)
{
    double factor = s->sc * (gg_rounded_binary(s) ? GG_TA_LOG2_E : 1.0);
    bool scaled = gg_rounded_on(s, GG_TA_INPUTS);
    GG_TA_UNROLL
    for (int64_t d = 0; d < D; d++) {
        q[d] = gg_bf16_value(s->q[first + d]);
        if (scaled) q[d] = gg_rounded_bf16(q[d] * (s->sc * GG_TA_LOG2_E));
    }
    if (scaled) return gg_rounded_binary(s) ? 1.0 : GG_TA_LN_2;
    return gg_rounded_on(s, GG_TA_ACCUMULATION) ? (double)(float)factor : factor;
}

/* The logit of query and key from their product; in units of log 2 where binary. */
static inline GG_BOTH double gg_rounded_logit(const gg_rounded_scheme *s,
                                              double product, double factor,
                                              int64_t bias_at)
{
    double bias = s->bias16 != NULL ? gg_bf16_value(s->bias16[bias_at])
                                    : (double)s->bias32[bias_at];
    if (gg_rounded_binary(s))
        bias = gg_rounded_f32(s, bias * (double)(float)GG_TA_LOG2_E);
    return gg_rounded_f32(s, product * factor + bias);
}

/* e to the (logit - m), whatever the logit's unit. */
static inline GG_BOTH double
gg_rounded_exp(const gg_rounded_scheme *s, double logit, double m)
{
    if (!gg_rounded_on(s, GG_TA_ACCUMULATION)) return gg_exp64(logit - m);
    if (gg_rounded_binary(s))
        return gg_rounded_f32(s, gg_exp64(gg_rounded_f32(s, logit - m) * GG_TA_LN_2));
    double level = gg_rounded_f32(s, m * (double)(float)GG_TA_LOG2_E);
    double x = gg_rounded_f32(s, logit * (double)(float)GG_TA_LOG2_E - level);
    return gg_rounded_f32(s, gg_exp64(x * GG_TA_LN_2));
}

/* A weight of the forward where it multiplies v, and where it is summed up. */
static inline GG_BOTH double
gg_rounded_weight(const gg_rounded_scheme *s, double e, double *summed)
{
    double w = e;
    if (gg_rounded_on(s, GG_TA_P) || gg_rounded_on(s, GG_TA_P_LAZY))
        w = gg_rounded_bf16(e);
    if (gg_rounded_on(s, GG_TA_P_PAIR)) w = gg_rounded_pair(e);
    *summed = w;
    return w;
}

/* The logits of keys j0 .. j1 into p, and the largest; -infinity at an invalid key. */
static inline GG_BOTH double
gg_rounded_logits(const gg_rounded_scheme *s, const gg_rounded_query *t,
                  const double *q, double factor, int64_t j0, int64_t j1, int64_t D)
{
    int64_t row = t->slice / s->H, b = row / s->R, h = t->slice % s->H;
    int64_t bias_at = ((b * s->H + h) * s->N + t->i) * s->N;
    double top = -INFINITY;
    for (int64_t j = j0; j < j1; j++) {
        double x = -INFINITY;
        if (gg_rounded_valid(s, row, j))
            x = gg_rounded_logit(
                s, gg_rounded_dot(s, 0, q, s->k + (t->slice * s->N + j) * D, D, false),
                factor,
                bias_at + j);
        t->p[j * t->stride] = x;
        top = x > top || x != x ? x : top;
    }
    return top;
}

/* The maximum after a tile whose largest logit is `top`; l: the row sum before it. stays: that of
 * the first tile does. */
static inline GG_BOTH double
gg_rounded_next_max(const gg_rounded_scheme *s, double m, double top, double l, bool stays)
{
    double slack = 0;
    if (gg_rounded_has(s, GG_TA_P_LAZY)) slack = GG_TA_SLACK;
    if (gg_rounded_has(s, GG_TA_P_PAIR)) {
        slack = l >= 8 ? (ilogb(l) - 2) * GG_TA_LN_2 : 0;
        slack = slack < GG_TA_SLACK ? slack : GG_TA_SLACK;
    }
    if (top != top) return top;
    if (stays && m != -INFINITY) return m;
    return top > m + slack ? top : m;
}

/* Forward by tiles: logits into p, o, the maximum that is left, and l, which is returned. */
static inline GG_BOTH double gg_rounded_tiles(const gg_rounded_scheme *s,
                                              const gg_rounded_query *t, const double *q,
                                              double factor, bool stays, double *m, int64_t D)
{
    int64_t row = t->slice / s->H;
    double l = 0;
    bool apart = gg_rounded_has(s, GG_TA_P_PAIR), chained = gg_rounded_has(s, GG_TA_P_LAZY);
    *m = -INFINITY;
    GG_TA_UNROLL
    for (int64_t d = 0; d < D; d++) t->o[d] = 0;
    int64_t tiles = (s->N + GG_TA_ROUNDED_TILE - 1) / GG_TA_ROUNDED_TILE;
    int64_t first = chained ? t->i / (2 * GG_TA_ROUNDED_TILE) * 2 : 0;
    for (int64_t turn = 0; turn < tiles; turn++) {
        int64_t j0 = (first + turn) % tiles * GG_TA_ROUNDED_TILE;
        int64_t j1 = j0 + GG_TA_ROUNDED_TILE < s->N ? j0 + GG_TA_ROUNDED_TILE : s->N;
        double top = gg_rounded_logits(s, t, q, factor, j0, j1, D);
        double next = gg_rounded_next_max(s, *m, top, l, stays), lane[4] = {0, 0, 0, 0};
        if (next == -INFINITY) continue; /* no key so far */
        double shrink = *m == next || l == 0 ? 1 : gg_rounded_exp(s, *m, next);
        if (shrink != 1) {
            GG_TA_UNROLL
            for (int64_t d = 0; d < D; d++)
                t->o[d] = gg_rounded_f32(s, t->o[d] * shrink);
            if (chained) l = gg_rounded_f32(s, l * shrink);
        }
        for (int64_t j = j0; j < j1; j++) {
            double summed = 0, w = 0;
            if (gg_rounded_valid(s, row, j))
                w = gg_rounded_weight(s, gg_rounded_exp(s, t->p[j * t->stride], next),
                                      &summed);
            double *sum = &lane[j / 2 % 4]; /* as lanes of a warp share a row */
            if (chained) l += summed;
            else *sum = gg_rounded_f32(s, *sum + summed);
            if (w != 0) gg_rounded_add(t->o, w, s->v + (t->slice * s->N + j) * D, D);
            if (!apart && gg_rounded_step_ends(j, s->N)) gg_rounded_cut_all(s, t->o, D);
            if (chained && gg_rounded_step_ends(j, s->N)) gg_rounded_cut_all(s, &l, 1);
        }
        GG_TA_UNROLL
        for (int64_t d = 0; apart && d < D; d++) t->o[d] = gg_rounded_f32(s, t->o[d]);
        double sum = gg_rounded_f32(s, lane[0] + lane[1]);
        sum = gg_rounded_f32(s, sum + gg_rounded_f32(s, lane[2] + lane[3]));
        if (!chained) l = gg_rounded_f32(s, l * shrink + sum);
        *m = next;
    }
    return l;
}

/* The same, and 1 / l. */
static inline GG_BOTH void gg_rounded_forward(const gg_rounded_scheme *s,
                                              const gg_rounded_query *t, double *q,
                                              double *m, double *inverse, int64_t D)
{
    double factor = gg_rounded_load_query(s, (t->slice * s->N + t->i) * D, q, D);
    bool lazy = gg_rounded_has(s, GG_TA_P_LAZY);
    double l = gg_rounded_tiles(s, t, q, factor, lazy, m, D);
    if (lazy && !(l <= GG_TA_FITS)) l = gg_rounded_tiles(s, t, q, factor, false, m, D);
    *inverse = l == 0 ? 0 : gg_rounded_f32(s, 1 / l);
    GG_TA_UNROLL
    for (int64_t d = 0; d < D; d++) t->o[d] = gg_rounded_f32(s, t->o[d] * *inverse);
}

/* Logits in p become P. */
static inline GG_BOTH void gg_rounded_probabilities(const gg_rounded_scheme *s,
                                                    const gg_rounded_query *t, double m,
                                                    double inverse)
{
    int64_t row = t->slice / s->H;
    for (int64_t j = 0; j < s->N; j++) {
        double *p = &t->p[j * t->stride];
        bool counts = inverse != 0 && gg_rounded_valid(s, row, j);
        *p = counts ? gg_rounded_f32(s, gg_rounded_exp(s, *p, m) * inverse) : 0;
    }
}

/* Sum over a row of x, or of x y: 32 partial sums, then folded. */
static inline GG_BOTH double gg_rounded_row_sum(const gg_rounded_scheme *s,
                                                const double *x, const double *y,
                                                int64_t stride)
{
    double lane[32];
    for (int c = 0; c < 32; c++) lane[c] = 0;
    for (int64_t j = 0; j < s->N; j++) {
        double term = x[j * stride];
        if (y != NULL) term = gg_rounded_f32(s, term * y[j * stride]);
        lane[j % 32] = gg_rounded_f32(s, lane[j % 32] + term);
    }
    for (int half = 16; half > 0; half /= 2)
        for (int c = 0; c < half; c++)
            lane[c] = gg_rounded_f32(s, lane[c] + lane[c + half]);
    return lane[0];
}

/* Forward over the whole row: P into p, and o made of it. */
static inline GG_BOTH void gg_rounded_whole(const gg_rounded_scheme *s,
                                            const gg_rounded_query *t, double *q,
                                            double *inverse, int64_t D)
{
    int64_t row = t->slice / s->H;
    double factor = gg_rounded_load_query(s, (t->slice * s->N + t->i) * D, q, D);
    double m = gg_rounded_logits(s, t, q, factor, 0, s->N, D);
    for (int64_t j = 0; j < s->N; j++) {
        double *p = &t->p[j * t->stride];
        bool counts = m != -INFINITY && gg_rounded_valid(s, row, j);
        *p = counts ? gg_rounded_exp(s, *p, m) : 0;
    }
    double l = gg_rounded_row_sum(s, t->p, NULL, t->stride);
    *inverse = l == 0 ? 0 : gg_rounded_f32(s, 1 / l);
    GG_TA_UNROLL
    for (int64_t d = 0; d < D; d++) t->o[d] = 0;
    for (int64_t j = 0; j < s->N; j++) {
        double p = gg_rounded_f32(s, t->p[j * t->stride] * *inverse);
        double w = gg_rounded_on(s, GG_TA_P_WHOLE) ? gg_rounded_bf16(p) : p;
        t->p[j * t->stride] = p;
        if (w != 0) gg_rounded_add(t->o, w, s->v + (t->slice * s->N + j) * D, D);
        if (gg_rounded_step_ends(j, s->N)) gg_rounded_cut_all(s, t->o, D);
    }
}

/* dP into ds (with p_pair less delta), and delta. */
static inline GG_BOTH double
gg_rounded_upstream(const gg_rounded_scheme *s, const gg_rounded_query *t, double *dout,
                    double inverse, int64_t D)
{
    int64_t row = t->slice / s->H;
    double delta = 0;
    bool apart = gg_rounded_has(s, GG_TA_P_PAIR);
    const uint16_t *from = s->dout + (t->slice * s->N + t->i) * D;
    GG_TA_UNROLL
    for (int64_t d = 0; d < D; d++) {
        dout[d] = gg_bf16_value(from[d]);
        double o = gg_rounded_at(s, GG_TA_DELTA, GG_TA_DELTA_PAIR, t->o[d]);
        delta += dout[d] * o;
        if (!apart) delta = gg_rounded_f32(s, delta);
    }
    if (apart) delta = gg_rounded_f32(s, delta);
    for (int64_t j = 0; j < s->N; j++) {
        bool counts = inverse != 0 && gg_rounded_valid(s, row, j);
        t->ds[j * t->stride] =
            counts ? gg_rounded_dot(s, apart ? -delta : 0, dout,
                                    s->v + (t->slice * s->N + j) * D, D, apart)
                   : 0;
    }
    if (!gg_rounded_has(s, GG_TA_P_WHOLE)) return delta;
    return gg_rounded_row_sum(s, t->p, t->ds, t->stride);
}

/* Forward of one query: o and P. Returns 1 / l. `D` is s->D, given apart so that it can be
 * a constant. */
static inline GG_BOTH double
gg_rounded_run_forward(const gg_rounded_scheme *s, const gg_rounded_query *t, int64_t D)
{
    double q[GG_TA_ROUNDED_HEAD], m, inverse;
    if (gg_rounded_has(s, GG_TA_P_WHOLE)) {
        gg_rounded_whole(s, t, q, &inverse, D);
    } else {
        gg_rounded_forward(s, t, q, &m, &inverse, D);
        gg_rounded_probabilities(s, t, m, inverse);
    }
    return inverse;
}

/* Backward of that query: dq and dS. */
static inline GG_BOTH void gg_rounded_run_backward(const gg_rounded_scheme *s,
                                                   const gg_rounded_query *t,
                                                   double inverse, int64_t D)
{
    double dout[GG_TA_ROUNDED_HEAD];
    double delta = gg_rounded_upstream(s, t, dout, inverse, D);
    bool apart = gg_rounded_has(s, GG_TA_P_PAIR);
    int64_t row = t->slice / s->H;
    GG_TA_UNROLL
    for (int64_t d = 0; d < D; d++) t->dq[d] = 0;
    for (int64_t j = 0; j < s->N; j++) {
        double p = t->p[j * t->stride], *ds = &t->ds[j * t->stride];
        bool counts = inverse != 0 && gg_rounded_valid(s, row, j);
        double beyond = apart ? *ds : gg_rounded_f32(s, *ds - delta);
        *ds = counts ? gg_rounded_f32(s, p * beyond) : 0;
        double left = gg_rounded_at(s, GG_TA_DS, GG_TA_DS_PAIR, *ds);
        if (counts) gg_rounded_add(t->dq, left, s->k + (t->slice * s->N + j) * D, D);
        if (gg_rounded_step_ends(j, s->N)) gg_rounded_cut_all(s, t->dq, D);
    }
    GG_TA_UNROLL
    for (int64_t d = 0; d < D; d++) t->dq[d] = gg_rounded_f32(s, t->dq[d] * s->sc);
}

/* A finished sum as the output holds it. */
static inline GG_BOTH double
gg_rounded_stored(const gg_rounded_scheme *s, gg_dtype dtype, double x)
{
    if (!gg_rounded_on(s, GG_TA_OUTPUT)) return x;
    return dtype == GG_BF16 ? gg_rounded_bf16(x) : (double)(float)x;
}

#endif
