/* SPDX-License-Identifier: Apache-2.0
 * The arithmetic of measuring one output against its truth, shared by host and GPU so
 * that both give the same figures: every sum has one order, every count is an integer.
 *
 * Elements are cut into chunks of GG_CHUNK. Lane c of 32 adds elements c, c+32, ... of
 * its chunk in ascending order; lanes fold by xor 16, 8, 4, 2, 1; chunks are added in
 * ascending order on the host. */
#ifndef HARNESS_MEASURE_CORE_H
#define HARNESS_MEASURE_CORE_H

#include <math.h>

#include "reference/tensor.h"

enum {
    GG_CHUNK = 4096,
    GG_LANES = 32,
    GG_RATIO_BINS = 4096 /* 64 bins an octave from 2^-40 to 2^24: 1.1 % wide */
};

/* The element with the largest or smallest `size`; at = -1: none. */
typedef struct gg_mark {
    double size;
    int64_t at;
} gg_mark;

typedef struct gg_sums {
    double error2, truth2, floor2, allowance2;
    double ratio;          /* largest so far */
    int64_t ratio_at;      /* its smallest index; -1 when no element is finite */
    int64_t finite;        /* elements in the sums */
    int64_t mismatch;      /* NaN and infinity patterns that differ */
    int64_t mismatch_first;
    /* Of the truth, for the certificate; exact zeros are left out of the last two. */
    gg_mark largest, smallest; /* by |truth| */
    gg_mark cancelled;         /* smallest |truth| / allowance */
} gg_sums;

static inline GG_BOTH gg_sums gg_sums_zero(void)
{
    gg_sums s = {0, 0, 0, 0, 0, -1, 0, 0, INT64_MAX, {0, -1}, {0, -1}, {0, -1}};
    return s;
}

/* Keeps the larger one in *mark (the smaller one when `sign` is -1); of equal ones the
 * smaller index. */
static inline GG_BOTH void gg_mark_add(gg_mark *mark, double size, int64_t at, int sign)
{
    if (at < 0) return;
    if (mark->at < 0 || sign * size > sign * mark->size ||
        (size == mark->size && at < mark->at)) {
        mark->size = size;
        mark->at = at;
    }
}

static inline GG_BOTH double gg_value_at(const void *data, gg_dtype dtype, int64_t i)
{
    return dtype == GG_BF16 ? gg_bf16_value(((const uint16_t *)data)[i])
                            : (double)((const float *)data)[i];
}

/* One rounding, to nearest even. */
static inline GG_BOTH double gg_round_to(double value, gg_dtype dtype)
{
    if (dtype == GG_F64) return value;
    return dtype == GG_BF16 ? gg_bf16_value(gg_bf16_round(value)) : (double)(float)value;
}

/* 0 finite, 1 NaN, 2 +infinity, 3 -infinity */
static inline GG_BOTH int gg_class(double x)
{
    return x - x == 0 ? 0 : x != x ? 1 : x > 0 ? 2 : 3;
}

/* Half the spacing of `dtype` at `value`: 2^(e-8) for BF16, 2^(e-24) for FP32, with e not
 * below -126, where the spacing stops shrinking. */
static inline GG_BOTH double gg_half_ulp(double value, gg_dtype dtype)
{
    uint64_t u;
    memcpy(&u, &value, sizeof u);
    int e = (int)((u >> 52) & 0x7ff) - 1023;
    if (e < -126) e = -126;
    u = (uint64_t)(e - (dtype == GG_BF16 ? 8 : 24) + 1023) << 52;
    memcpy(&value, &u, sizeof u);
    return value;
}

/* What an FP32 kernel may lose to underflow, in any output: 2^-126, below which ex2 and
 * sums flush or lose bits, times 2^12 for products and sums of operands above 1. */
#define GG_UNDERFLOW 0x1p-114

static inline GG_BOTH int gg_ratio_bin(double ratio)
{
    uint64_t u;
    memcpy(&u, &ratio, sizeof u);
    int64_t bin = (int64_t)(u >> 46) - ((int64_t)(1023 - 40) << 6);
    return bin < 0 ? 0 : bin >= GG_RATIO_BINS ? GG_RATIO_BINS - 1 : (int)bin;
}

static inline GG_BOTH void gg_sums_mark(gg_sums *s, double exact, double allowance,
                                        int64_t i)
{
    double size = fabs(exact);
    gg_mark_add(&s->largest, size, i, 1);
    if (size > 0) gg_mark_add(&s->smallest, size, i, -1);
    if (size > 0 && allowance > 0)
        gg_mark_add(&s->cancelled, size / allowance, i, -1);
}

/* Adds element i to its lane's sums; returns its bin, or -1 when it is not finite. */
static inline GG_BOTH int gg_measure_one(gg_sums *s, const void *output, gg_dtype dtype,
                                         const double *truth, const double *allowance,
                                         int64_t i)
{
    double exact = truth[i];
    double value = dtype == GG_F64 ? ((const double *)output)[i] /* an evaluation */
                                   : gg_value_at(output, dtype, i);
    double rounded = gg_round_to(exact, dtype);
    int kind = gg_class(value);
    if (kind != gg_class(rounded)) {
        s->mismatch++;
        if (i < s->mismatch_first) s->mismatch_first = i;
        return -1;
    }
    if (kind != 0) return -1;
    double error = value - exact, floor_error = rounded - exact;
    double ratio =
        fabs(error) / (allowance[i] + gg_half_ulp(exact, dtype) + GG_UNDERFLOW);
    s->error2 = s->error2 + error * error;
    s->truth2 = s->truth2 + exact * exact;
    s->floor2 = s->floor2 + floor_error * floor_error;
    s->allowance2 = s->allowance2 + allowance[i] * allowance[i];
    s->finite++;
    gg_sums_mark(s, exact, allowance[i], i);
    /* a NaN allowance gives a NaN ratio, which must not hide behind a comparison */
    if (s->ratio_at < 0 || (s->ratio == s->ratio && !(ratio <= s->ratio))) {
        s->ratio = ratio;
        s->ratio_at = i;
    }
    return gg_ratio_bin(ratio);
}

/* a += b, where every index of b is in another lane or a later chunk. */
static inline GG_BOTH void gg_sums_add(gg_sums *a, const gg_sums *b)
{
    a->error2 = a->error2 + b->error2;
    a->truth2 = a->truth2 + b->truth2;
    a->floor2 = a->floor2 + b->floor2;
    a->allowance2 = a->allowance2 + b->allowance2;
    a->finite += b->finite;
    a->mismatch += b->mismatch;
    if (b->mismatch_first < a->mismatch_first) a->mismatch_first = b->mismatch_first;
    gg_mark_add(&a->largest, b->largest.size, b->largest.at, 1);
    gg_mark_add(&a->smallest, b->smallest.size, b->smallest.at, -1);
    gg_mark_add(&a->cancelled, b->cancelled.size, b->cancelled.at, -1);
    if (b->ratio_at < 0) return;
    int nan_a = a->ratio != a->ratio, nan_b = b->ratio != b->ratio;
    int larger = nan_b ? !nan_a : !nan_a && b->ratio > a->ratio;
    int equal = nan_a && nan_b ? 1 : b->ratio == a->ratio;
    if (a->ratio_at < 0 || larger || (equal && b->ratio_at < a->ratio_at)) {
        a->ratio = b->ratio;
        a->ratio_at = b->ratio_at;
    }
}

/* Two outputs of the same input, as bits. */
typedef struct gg_difference {
    int64_t differing;
    int64_t first;     /* smallest index, INT64_MAX when none */
    int64_t ulps;      /* largest distance in units of the last place */
    int64_t unwritten; /* elements that hold the poison of both runs */
} gg_difference;

/* Distance of two bit patterns counted in representable numbers; -0 and +0 are 1 apart,
 * because as bits they differ. */
static inline GG_BOTH int64_t gg_ulps(uint32_t a, uint32_t b, int bits)
{
    int64_t sign = INT64_C(1) << (bits - 1);
    int64_t x = a & (uint32_t)sign ? -(int64_t)(a & (uint32_t)(sign - 1)) - 1 : (int64_t)a;
    int64_t y = b & (uint32_t)sign ? -(int64_t)(b & (uint32_t)(sign - 1)) - 1 : (int64_t)b;
    return x > y ? x - y : y - x;
}

static inline GG_BOTH uint32_t gg_bits_at(const void *data, gg_dtype dtype, int64_t i)
{
    return dtype == GG_BF16 ? ((const uint16_t *)data)[i] : ((const uint32_t *)data)[i];
}

static inline GG_BOTH void gg_compare_one(gg_difference *d, const void *first,
                                          const void *again, gg_dtype dtype, int64_t i,
                                          uint32_t poison_first, uint32_t poison_again)
{
    uint32_t mask = dtype == GG_BF16 ? 0xffffu : 0xffffffffu;
    uint32_t a = gg_bits_at(first, dtype, i), b = gg_bits_at(again, dtype, i);
    if (a == (poison_first & mask) && b == (poison_again & mask)) d->unwritten++;
    if (a == b) return;
    d->differing++;
    if (i < d->first) d->first = i;
    int64_t ulps = gg_ulps(a, b, dtype == GG_BF16 ? 16 : 32);
    if (ulps > d->ulps) d->ulps = ulps;
}

#endif
