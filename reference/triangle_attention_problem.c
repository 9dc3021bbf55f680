/* SPDX-License-Identifier: Apache-2.0
 * What a triangle attention problem must look like, and how its inputs are read. */
#include <stdio.h>

#include "reference/triangle_attention_internal.h"

typedef struct wanted {
    const char *name;
    int ndim;
    int symbol[5]; /* index into extent[] */
    bool optional;
    gg_dtype dtype, other; /* either is accepted */
} wanted;

static const wanted inputs[] = {
    [GG_TA_Q] = {"q", 5, {GG_TA_B, GG_TA_R, GG_TA_H, GG_TA_N, GG_TA_D}, false,
                 GG_BF16, GG_BF16},
    [GG_TA_K] = {"k", 5, {GG_TA_B, GG_TA_R, GG_TA_H, GG_TA_N, GG_TA_D}, false,
                 GG_BF16, GG_BF16},
    [GG_TA_V] = {"v", 5, {GG_TA_B, GG_TA_R, GG_TA_H, GG_TA_N, GG_TA_D}, false,
                 GG_BF16, GG_BF16},
    [GG_TA_BIAS] = {"bias", 4, {GG_TA_B, GG_TA_H, GG_TA_N, GG_TA_N}, false,
                    GG_BF16, GG_F32},
    [GG_TA_DOUT] = {"dout", 5, {GG_TA_B, GG_TA_R, GG_TA_H, GG_TA_N, GG_TA_D}, true,
                    GG_BF16, GG_BF16},
    [GG_TA_MASK] = {"mask", 3, {GG_TA_B, GG_TA_R, GG_TA_N}, true, GG_U8, GG_U8},
    [GG_TA_KEY_LENGTHS] = {"key_lengths", 2, {GG_TA_B, GG_TA_R}, true,
                           GG_I32, GG_I32},
};

static void print_shape(char *text, size_t size, int ndim, const int64_t *shape)
{
    size_t used = 0;
    for (int i = 0; i < ndim && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? "," : "",
                                 (long long)shape[i]);
}

static gg_status check_tensor(const wanted *want, const gg_tensor *got,
                              const int64_t *extent)
{
    int64_t shape[5];
    bool same = got->ndim == want->ndim;
    for (int i = 0; i < want->ndim; i++) {
        shape[i] = extent[want->symbol[i]];
        same = same && got->shape[i] == shape[i];
    }
    if (same && (got->dtype == want->dtype || got->dtype == want->other)) return GG_OK;
    char expected[128] = "", found[128] = "";
    print_shape(expected, sizeof expected, want->ndim, shape);
    if (got->ndim >= 0 && got->ndim <= GG_MAX_DIMS)
        print_shape(found, sizeof found, got->ndim, got->shape);
    return gg_fail(
        GG_BAD_INPUT, "triangle_attention: %s is %s [%s], expected %s%s%s [%s]",
        want->name, gg_dtype_name(got->dtype), found, gg_dtype_name(want->dtype),
        want->other != want->dtype ? " or " : "",
        want->other != want->dtype ? gg_dtype_name(want->other) : "", expected);
}

/* Extents are positive, keys fit 32 bits, the bytes of any tensor fit 62 bits. */
static gg_status check_extents(const int64_t *extent)
{
    static const char names[] = "BRHND";
    double elements = 1.0;
    for (int i = 0; i < 5; i++) {
        if (extent[i] < 1)
            return gg_fail(GG_BAD_INPUT,
                           "triangle_attention: %c = %lld, must be 1 or more", names[i],
                           (long long)extent[i]);
        elements *= (double)extent[i];
    }
    double n = (double)extent[GG_TA_N];
    double pairs = (double)extent[GG_TA_B] * (double)extent[GG_TA_H] * n * n;
    if (n < 0x1p30 && elements < 0x1p58 && pairs < 0x1p58) return GG_OK;
    return gg_fail(GG_BAD_INPUT,
                   "triangle_attention: B,R,H,N,D = %lld,%lld,%lld,%lld,%lld "
                   "is beyond what can be addressed",
                   (long long)extent[0], (long long)extent[1], (long long)extent[2],
                   (long long)extent[3], (long long)extent[4]);
}

gg_status gg_triangle_attention_check(const gg_problem *problem, bool needs_dout)
{
    GG_TRY(check_extents(problem->extent));
    for (int i = 0; i <= GG_TA_KEY_LENGTHS; i++) {
        const gg_tensor *got = &problem->input[i];
        bool optional = i == GG_TA_DOUT ? !needs_dout : inputs[i].optional;
        if (got->data == NULL && optional) continue;
        if (got->data == NULL)
            return gg_fail(
                GG_BAD_INPUT, "triangle_attention: %s is missing%s", inputs[i].name,
                i == GG_TA_DOUT ? "; only o can be computed without it" : "");
        GG_TRY(check_tensor(&inputs[i], got, problem->extent));
    }
    if (problem->input[GG_TA_MASK].data && problem->input[GG_TA_KEY_LENGTHS].data)
        return gg_fail(GG_BAD_INPUT,
                       "triangle_attention: both mask and key_lengths are "
                       "given; leave one out");
    return GG_OK;
}

gg_status gg_triangle_attention_check_lengths(const gg_problem *problem)
{
    const int32_t *length = problem->input[GG_TA_KEY_LENGTHS].data;
    const int64_t *extent = problem->extent;
    if (length == NULL) return GG_OK;
    for (int64_t b = 0; b < extent[GG_TA_B]; b++)
        for (int64_t r = 0; r < extent[GG_TA_R]; r++) {
            int64_t value = length[b * extent[GG_TA_R] + r];
            if (value < 0 || value > extent[GG_TA_N])
                return gg_fail(GG_BAD_INPUT,
                               "triangle_attention: key_lengths[%lld,%lld] = "
                               "%lld is outside [0, N = %lld]",
                               (long long)b, (long long)r, (long long)value,
                               (long long)extent[GG_TA_N]);
        }
    return GG_OK;
}

int64_t gg_triangle_attention_keys(const gg_problem *problem, int64_t b, int64_t r,
                                   int32_t *key)
{
    int64_t n = problem->extent[GG_TA_N], row = b * problem->extent[GG_TA_R] + r;
    const uint8_t *mask = problem->input[GG_TA_MASK].data;
    const int32_t *length = problem->input[GG_TA_KEY_LENGTHS].data;
    int64_t count = 0, end = length ? length[row] : n;
    for (int64_t j = 0; j < end; j++)
        if (mask == NULL || mask[row * n + j] != 0) key[count++] = (int32_t)j;
    return count;
}

double gg_triangle_attention_bias(const gg_problem *problem, int64_t index)
{
    const gg_tensor *bias = &problem->input[GG_TA_BIAS];
    if (bias->dtype == GG_F32) return (double)((const float *)bias->data)[index];
    return gg_bf16_value(((const uint16_t *)bias->data)[index]);
}
