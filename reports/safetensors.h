/* SPDX-License-Identifier: Apache-2.0
 * Tensors in files that every framework reads and writes: 8 bytes with the length of a
 * JSON header (little endian), the header, the tensors' bytes one after the other.
 * The reader trusts nothing: what it accepts has tensors that lie in the file, side by
 * side, without a gap, each as long as its shape and type say. */
#ifndef REPORTS_SAFETENSORS_H
#define REPORTS_SAFETENSORS_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "reference/tensor.h"

/* Bounds against hostile files: of the header, of what it may hold. */
#define GG_SAFETENSORS_MAX_HEADER ((size_t)1 << 20)
enum { GG_SAFETENSORS_MAX = 1024, GG_SAFETENSORS_NAME = 65 };

typedef struct gg_safetensor {
    char name[GG_SAFETENSORS_NAME];
    char type[12];       /* as the file says: "BF16", "BOOL" */
    gg_tensor tensor;    /* dtype GG_DTYPES when it is none of ours; a BOOL is a U8 of
                            zeros and ones. data: in the bytes of the file, at any
                            address, not to be written */
    size_t bytes;
} gg_safetensor;

typedef struct gg_safetensors {
    gg_safetensor *tensors; /* in the order of the file */
    int count;
    cJSON *notes;           /* of __metadata__: an object of texts; NULL: none */
    uint8_t *bytes;         /* the whole file, when gg_safetensors_read() read it */
    size_t size;
} gg_safetensors;

/* Reads what is in memory and must stay there; `name` is for messages. GG_BAD_INPUT, with
 * nothing to be freed, for whatever is wrong. */
gg_status gg_safetensors_parse(const char *name, const uint8_t *bytes, size_t size,
                               gg_safetensors *file);
/* The same for a file; GG_IO when it cannot be read. */
gg_status gg_safetensors_read(const char *path, gg_safetensors *file);
void gg_safetensors_free(gg_safetensors *file);

/* A tensor by name, a note by key; NULL when there is none. */
const gg_safetensor *gg_safetensors_find(const gg_safetensors *file, const char *name);
const char *gg_safetensors_note(const gg_safetensors *file, const char *key);

/* One to be written: data in host memory. */
typedef struct gg_safetensor_out {
    const char *name;
    gg_tensor tensor;
} gg_safetensor_out;

/* Writes `count` tensors, those of wider types first, so that each is aligned. `notes`:
 * key, text, key, text, ..., ended by NULL. The file is there whole or not at all. */
gg_status gg_safetensors_write(const char *path, const gg_safetensor_out *tensors, int count,
                               const char *const *notes);

/* "BF16" for GG_BF16, as files have it. */
const char *gg_safetensors_type(gg_dtype dtype);

#endif
