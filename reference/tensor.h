/* SPDX-License-Identifier: Apache-2.0
 * A dense row-major tensor, and the exact conversions of its element types.
 * The reference's own arithmetic: kernels/ has another copy on purpose
 * (a bug must not be able to hide in both). */
#ifndef REFERENCE_TENSOR_H
#define REFERENCE_TENSOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "reference/status.h"

#ifdef __CUDACC__
#define GG_BOTH __host__ __device__
#else
#define GG_BOTH
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { GG_MAX_DIMS = 6, GG_MAX_SYMBOLS = 6, GG_MAX_INPUTS = 8, GG_MAX_OUTPUTS = 8 };

typedef enum gg_dtype { GG_BF16 = 0, GG_F32, GG_F64, GG_I32, GG_U8, GG_DTYPES } gg_dtype;

typedef struct gg_tensor {
    void *data;     /* NULL: absent. Host or device memory: the owner knows which */
    gg_dtype dtype;
    int ndim;
    int64_t shape[GG_MAX_DIMS]; /* outermost first; strides are those of a dense array */
} gg_tensor;

/* Bytes of one element; "bf16", "f32", ... and back (GG_DTYPES when unknown). */
size_t gg_dtype_bytes(gg_dtype dtype);
const char *gg_dtype_name(gg_dtype dtype);
gg_dtype gg_dtype_parse(const char *name);

/* Number of elements; 0 when an extent is 0. Shapes are checked where they enter. */
int64_t gg_tensor_count(const gg_tensor *tensor);
size_t gg_tensor_bytes(const gg_tensor *tensor);

/* Exact: every BF16 is a double. */
static inline GG_BOTH double gg_bf16_value(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

/* One rounding, to nearest even, straight from binary64 (never through binary32, which
 * would round twice). NaN gives 0x7fff. Overflow gives infinity, subnormals are kept. */
static inline GG_BOTH uint16_t gg_bf16_round(double value)
{
    uint64_t u;
    memcpy(&u, &value, sizeof u);
    uint16_t sign = (uint16_t)((u >> 48) & 0x8000u);
    uint64_t magnitude = u & 0x7fffffffffffffffull;
    if (magnitude > 0x7ff0000000000000ull) return 0x7fff;
    int exponent = (int)(magnitude >> 52) - 1023;
    if (exponent > 127) return (uint16_t)(sign | 0x7f80u);
    if (exponent < -135) return sign; /* below half of the smallest subnormal 2^-133 */
    uint64_t significand = (magnitude & 0xfffffffffffffull) | (1ull << 52);
    /* 45 bits go for a normal result; more below 2^-126, where the spacing is 2^-133 */
    int drop = exponent >= -126 ? 45 : 45 + (-126 - exponent);
    uint64_t kept = significand >> drop;
    uint64_t rest = significand & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    if (rest > half || (rest == half && (kept & 1))) kept++;
    /* adding the significand with its hidden bit carries into the exponent by itself */
    uint64_t bits = exponent >= -126 ? ((uint64_t)(exponent + 126) << 7) + kept : kept;
    return (uint16_t)(sign | bits);
}

#ifdef __cplusplus
}
#endif
#endif
