/* SPDX-License-Identifier: Apache-2.0 */
#include "reference/tensor.h"

static const struct {
    const char *name;
    size_t bytes;
} dtypes[GG_DTYPES] = {
    [GG_BF16] = {"bf16", 2}, [GG_F32] = {"f32", 4}, [GG_F64] = {"f64", 8},
    [GG_I32] = {"i32", 4},   [GG_U8] = {"u8", 1},
};

size_t gg_dtype_bytes(gg_dtype dtype)
{
    return dtype < GG_DTYPES ? dtypes[dtype].bytes : 0;
}

const char *gg_dtype_name(gg_dtype dtype)
{
    return dtype < GG_DTYPES ? dtypes[dtype].name : "unknown";
}

gg_dtype gg_dtype_parse(const char *name)
{
    int found = 0;
    while (found < GG_DTYPES && strcmp(dtypes[found].name, name) != 0) found++;
    return (gg_dtype)found;
}

int64_t gg_tensor_count(const gg_tensor *tensor)
{
    int64_t count = 1;
    for (int i = 0; i < tensor->ndim; i++) count *= tensor->shape[i];
    return count;
}

size_t gg_tensor_bytes(const gg_tensor *tensor)
{
    return (size_t)gg_tensor_count(tensor) * gg_dtype_bytes(tensor->dtype);
}
