/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "reports/file_out.h"
#include "reports/safetensors.h"

enum { WIDEST = 8 };

typedef struct content {
    const gg_safetensor_out *tensors;
    int count;
    const char *header;
} content;

static cJSON *describe(const gg_tensor *t, size_t begin)
{
    double place[2] = {(double)begin, (double)(begin + gg_tensor_bytes(t))};
    double shape[GG_MAX_DIMS];
    for (int i = 0; i < t->ndim; i++) shape[i] = (double)t->shape[i];
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "dtype", gg_safetensors_type(t->dtype));
    cJSON_AddItemToObject(item, "shape", cJSON_CreateDoubleArray(shape, t->ndim));
    cJSON_AddItemToObject(item, "data_offsets", cJSON_CreateDoubleArray(place, 2));
    return item;
}

/* The header's text, NULL without memory. */
static char *make_header(const gg_safetensor_out *tensors, int count, const char *const *notes)
{
    size_t begin = 0;
    cJSON *root = cJSON_CreateObject();
    if (notes != NULL && notes[0] != NULL) {
        cJSON *list = cJSON_AddObjectToObject(root, "__metadata__");
        for (; notes[0] != NULL; notes += 2) cJSON_AddStringToObject(list, notes[0], notes[1]);
    }
    for (size_t wide = WIDEST; wide > 0; wide /= 2)
        for (int i = 0; i < count; i++) {
            if (gg_dtype_bytes(tensors[i].tensor.dtype) != wide) continue;
            cJSON_AddItemToObject(root, tensors[i].name, describe(&tensors[i].tensor, begin));
            begin += gg_tensor_bytes(&tensors[i].tensor);
        }
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    return text;
}

static gg_status fill(const void *context, FILE *file)
{
    const content *c = context;
    unsigned char head[8];
    size_t length = strlen(c->header), padded = (length + 7) / 8 * 8;
    for (int i = 0; i < 8; i++) head[i] = (unsigned char)((uint64_t)padded >> 8 * i);
    fwrite(head, 1, sizeof head, file);
    fwrite(c->header, 1, length, file);
    fprintf(file, "%*s", (int)(padded - length), "");
    for (size_t wide = WIDEST; wide > 0; wide /= 2)
        for (int i = 0; i < c->count; i++) {
            const gg_tensor *t = &c->tensors[i].tensor;
            if (gg_dtype_bytes(t->dtype) == wide) fwrite(t->data, 1, gg_tensor_bytes(t), file);
        }
    return GG_OK; /* gg_file_write asks ferror() */
}

gg_status gg_safetensors_write(const char *path, const gg_safetensor_out *tensors, int count,
                               const char *const *notes)
{
    char *header = make_header(tensors, count, notes);
    if (header == NULL) return gg_fail(GG_NO_MEMORY, "no memory to write %s", path);
    content c = {tensors, count, header};
    gg_status status = gg_file_write(path, "tensors", fill, &c);
    cJSON_free(header);
    return status;
}
