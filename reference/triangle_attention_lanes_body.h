/* SPDX-License-Identifier: Apache-2.0
 * Body of triangle_attention_lanes.c, included once an instruction set, without an
 * include guard. The includer defines LANE(name), name with the set's suffix. Inner
 * loops run over independent queries and are left to the compiler's vectoriser: with
 * contraction off it may not change any result. */

static void LANE(softmax)(gg_ta_block *t)
{
    double m[GG_BLOCK], l[GG_BLOCK], inverse[GG_BLOCK];
    const double sc = t->sc;
    double *restrict p = t->p;
    for (int i = 0; i < GG_BLOCK; i++) m[i] = -INFINITY;
    for (int64_t j = 0; j < t->keys; j++) {
        const float *restrict bias = t->bias + (int64_t)t->key[j] * GG_BLOCK;
        for (int i = 0; i < GG_BLOCK; i++) {
            double s = fma(p[j * GG_BLOCK + i], sc, (double)bias[i]);
            p[j * GG_BLOCK + i] = s;
            m[i] = s > m[i] ? s : m[i];
        }
    }
    /* All -infinity: any finite shift makes every e zero, and P = e * 0. A NaN score
     * is not seen by the maximum but makes l, and so the whole query, NaN. */
    for (int i = 0; i < GG_BLOCK; i++) {
        m[i] = m[i] == -INFINITY ? 0.0 : m[i];
        l[i] = 0.0;
    }
    for (int64_t j = 0; j < t->keys; j++)
        for (int i = 0; i < GG_BLOCK; i++) {
            double e = gg_exp64(p[j * GG_BLOCK + i] - m[i]);
            p[j * GG_BLOCK + i] = e;
            l[i] += e;
        }
    for (int i = 0; i < GG_BLOCK; i++) {
        t->dead[i] = l[i] == 0.0;
        inverse[i] = l[i] == 0.0 ? 0.0 : 1.0 / l[i];
    }
    for (int64_t j = 0; j < t->keys; j++)
        for (int i = 0; i < GG_BLOCK; i++) p[j * GG_BLOCK + i] *= inverse[i];
}

/* A = sc |q| |k| + |bias|, rounded after each product and the sum. Kept finite, so that
 * a key of probability 0 adds exactly nothing even where its bias is -infinity. */
static inline double LANE(score_size)(double q_norm, double k_norm, float bias)
{
    double a = q_norm * k_norm + fabs((double)bias);
    return a > DBL_MAX ? DBL_MAX : a;
}

static void LANE(weight)(gg_ta_block *t)
{
    const double u = 0x1p-8, f = 0x1p-24;
    double mean[GG_BLOCK], q_norm[GG_BLOCK];
    const double *restrict p = t->p;
    double *restrict w = t->w;
    memcpy(q_norm, t->q_norm, sizeof q_norm);
    for (int i = 0; i < GG_BLOCK; i++) mean[i] = 0.0;
    for (int64_t j = 0; j < t->keys; j++) {
        const float *restrict bias = t->bias + (int64_t)t->key[j] * GG_BLOCK;
        const double k_norm = t->k_norm[j];
        for (int i = 0; i < GG_BLOCK; i++) {
            double a = LANE(score_size)(q_norm[i], k_norm, bias[i]);
            mean[i] = fma(p[j * GG_BLOCK + i], a, mean[i]);
        }
    }
    for (int64_t j = 0; j < t->keys; j++) {
        const float *restrict bias = t->bias + (int64_t)t->key[j] * GG_BLOCK;
        const double k_norm = t->k_norm[j];
        for (int i = 0; i < GG_BLOCK; i++) {
            double a = LANE(score_size)(q_norm[i], k_norm, bias[i]);
            /* f times a sum is exact: f is a power of 2 */
            double relative = u + f * (1.0 + a + mean[i]);
            w[j * GG_BLOCK + i] = p[j * GG_BLOCK + i] * relative;
        }
    }
}

static void LANE(gradient)(gg_ta_block *t)
{
    double delta[GG_BLOCK];
    const double *restrict p = t->p;
    double *restrict ds = t->ds;
    for (int i = 0; i < GG_BLOCK; i++) delta[i] = 0.0;
    for (int64_t j = 0; j < t->keys; j++)
        for (int i = 0; i < GG_BLOCK; i++)
            delta[i] = fma(p[j * GG_BLOCK + i], ds[j * GG_BLOCK + i], delta[i]);
    for (int64_t j = 0; j < t->keys; j++)
        for (int i = 0; i < GG_BLOCK; i++)
            ds[j * GG_BLOCK + i] =
                p[j * GG_BLOCK + i] * (ds[j * GG_BLOCK + i] - delta[i]);
}

static void LANE(spread)(gg_ta_block *t)
{
    double mean[GG_BLOCK];
    const double *restrict p = t->p, *restrict w = t->w;
    double *restrict z = t->z;
    for (int i = 0; i < GG_BLOCK; i++) mean[i] = 0.0;
    for (int64_t j = 0; j < t->keys; j++)
        for (int i = 0; i < GG_BLOCK; i++)
            mean[i] = fma(p[j * GG_BLOCK + i], z[j * GG_BLOCK + i], mean[i]);
    for (int64_t j = 0; j < t->keys; j++)
        for (int i = 0; i < GG_BLOCK; i++)
            z[j * GG_BLOCK + i] =
                w[j * GG_BLOCK + i] * (z[j * GG_BLOCK + i] + mean[i]);
}
