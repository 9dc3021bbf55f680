/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/check.h"

#include <stdio.h>

static _Thread_local char text[96];

static const char *say(const char *name, const char *what)
{
    snprintf(text, sizeof text, "%s: %s", name, what);
    return text;
}

int gg_tensor_type(const DLTensor *tensor)
{
    DLDataType type = tensor->dtype;
    if (type.lanes != 1) return 0;
    if (type.code == kDLBfloat && type.bits == 16) return GG_TYPE_BF16;
    if (type.code == kDLFloat && type.bits == 32) return GG_TYPE_F32;
    if (type.code == kDLInt && type.bits == 32) return GG_TYPE_I32;
    if (type.code == kDLUInt && type.bits == 8) return GG_TYPE_U8;
    return 0;
}

/* The stride of an extent of 1 is never used, so any is right. */
static int is_dense(const DLTensor *tensor)
{
    int64_t expected = 1;
    if (!tensor->strides) return 1;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->shape[i] != 1 && tensor->strides[i] != expected) return 0;
        expected *= tensor->shape[i];
    }
    return 1;
}

const char *gg_check_tensor(const char *name, const DLTensor *tensor, int ndim,
                            const int64_t *shape, int types)
{
    if (tensor->ndim != ndim) return say(name, "wrong number of dimensions");
    for (int i = 0; i < ndim; i++)
        if (tensor->shape[i] != shape[i]) return say(name, "wrong shape");
    if (!(gg_tensor_type(tensor) & types)) return say(name, "wrong element type");
    if (!is_dense(tensor)) return say(name, "not dense and row-major");
    if ((uintptr_t)gg_tensor_data(tensor) % 16)
        return say(name, "does not start at a multiple of 16 bytes");
    return NULL;
}

const char *gg_check_extents(const int64_t *extents, int count)
{
    int64_t product = 1;
    for (int i = 0; i < count; i++) {
        if (extents[i] < 1) return "an extent is not positive";
        if (extents[i] > INT64_C(1) << 24) return "an extent exceeds 2^24";
        product *= extents[i];
        if (product > INT64_C(1) << 40) return "a tensor exceeds 2^40 elements";
    }
    return NULL;
}

void *gg_tensor_data(const DLTensor *tensor)
{
    if (!tensor || !tensor->data) return NULL;
    return (char *)tensor->data + tensor->byte_offset;
}
