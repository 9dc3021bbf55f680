/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reports/fields.h"
#include "reports/json_in.h"
#include "reports/json_scan.h"

static const char metadata[] = "__metadata__";

/* Every type of the format whose elements are whole bytes. */
static const struct {
    const char *name;
    size_t bytes;
    gg_dtype dtype;
} types[] = {
    {"BF16", 2, GG_BF16},  {"F32", 4, GG_F32},   {"F64", 8, GG_F64},
    {"I32", 4, GG_I32},    {"U8", 1, GG_U8},     {"BOOL", 1, GG_U8},
    {"I8", 1, GG_DTYPES},  {"I16", 2, GG_DTYPES}, {"U16", 2, GG_DTYPES},
    {"F16", 2, GG_DTYPES}, {"U32", 4, GG_DTYPES}, {"I64", 8, GG_DTYPES},
    {"U64", 8, GG_DTYPES}, {"F8_E5M2", 1, GG_DTYPES}, {"F8_E4M3", 1, GG_DTYPES},
};

const char *gg_safetensors_type(gg_dtype dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == dtype) return types[i].name;
    return "unknown";
}

static gg_status read_type(gg_json_in *in, const cJSON *item, gg_safetensor *t, size_t *element)
{
    const cJSON *text = gg_in_get(item, "dtype");
    for (size_t i = 0; cJSON_IsString(text) && i < sizeof types / sizeof *types; i++) {
        if (strcmp(text->valuestring, types[i].name) != 0) continue;
        snprintf(t->type, sizeof t->type, "%s", types[i].name);
        t->tensor.dtype = types[i].dtype;
        *element = types[i].bytes;
        return GG_OK;
    }
    return gg_in_fault(in, "dtype", text, "a type such as \"BF16\" or \"F32\"");
}

/* Bytes of the shape; no product overflows. */
static gg_status read_shape(gg_json_in *in, const cJSON *item, gg_safetensor *t, size_t element)
{
    int count = 0, i = 0;
    int64_t bytes = (int64_t)element;
    const cJSON *extent;
    GG_TRY(gg_in_array(in, item, "shape", 0, GG_MAX_DIMS, &count));
    t->tensor.ndim = count;
    cJSON_ArrayForEach(extent, gg_in_get(item, "shape")) {
        int64_t value;
        if (!gg_in_whole(extent, 0, GG_COUNT_MAX, &value))
            return gg_in_fault(in, "shape", extent, "whole numbers");
        if (value == 0) return gg_in_refuse(in, "has no elements");
        if (bytes > GG_COUNT_MAX / value) return gg_in_refuse(in, "is larger than any file");
        bytes *= value;
        t->tensor.shape[i++] = value;
    }
    t->bytes = (size_t)bytes;
    return GG_OK;
}

static gg_status read_place(gg_json_in *in, const cJSON *item, const uint8_t *data,
                            size_t size, gg_safetensor *t)
{
    const cJSON *list = gg_in_get(item, "data_offsets");
    int64_t begin = 0, end = 0;
    int count;
    GG_TRY(gg_in_array(in, item, "data_offsets", 2, 2, &count));
    if (!gg_in_whole(list->child, 0, GG_COUNT_MAX, &begin) ||
        !gg_in_whole(list->child->next, 0, GG_COUNT_MAX, &end) || begin > end)
        return gg_in_refuse(in, "data_offsets are not two whole numbers in order");
    if ((uint64_t)end > size)
        return gg_in_refuse(in, "ends at byte %" PRId64 " of the data, the file has %zu: it "
                            "is truncated, or the offsets are wrong", end, size);
    if ((size_t)(end - begin) != t->bytes)
        return gg_in_refuse(in, "has %" PRId64 " bytes, its type and shape ask for %zu",
                            end - begin, t->bytes);
    t->tensor.data = (void *)(uintptr_t)(data + begin);
    return GG_OK;
}

static gg_status check_bool(gg_json_in *in, const gg_safetensor *t)
{
    const uint8_t *byte = t->tensor.data;
    for (size_t i = 0; strcmp(t->type, "BOOL") == 0 && i < t->bytes; i++)
        if (byte[i] > 1)
            return gg_in_refuse(in, "is BOOL and element %zu is %d, not 0 or 1", i, byte[i]);
    return GG_OK;
}

static gg_status read_tensor(gg_json_in *in, const cJSON *item, const uint8_t *data,
                             size_t size, gg_safetensor *t)
{
    static const char *const keys[] = {"dtype", "shape", "data_offsets", NULL};
    size_t element = 0;
    snprintf(t->name, sizeof t->name, "%s", item->string);
    size_t mark = gg_in_enter(in, t->name, 0);
    GG_TRY(gg_in_keys(in, item, keys));
    GG_TRY(read_type(in, item, t, &element));
    GG_TRY(read_shape(in, item, t, element));
    GG_TRY(read_place(in, item, data, size, t));
    GG_TRY(check_bool(in, t));
    gg_in_leave(in, mark);
    return GG_OK;
}

static int by_place(const void *a, const void *b)
{
    const uint8_t *x = ((const gg_safetensor *)a)->tensor.data;
    const uint8_t *y = ((const gg_safetensor *)b)->tensor.data;
    return (x > y) - (x < y);
}

/* Side by side from the first byte of the data to the last. */
static gg_status check_places(gg_json_in *in, gg_safetensors *file, const uint8_t *data,
                              size_t size)
{
    const uint8_t *next = data;
    qsort(file->tensors, (size_t)file->count, sizeof *file->tensors, by_place);
    for (int i = 0; i < file->count; i++) {
        const gg_safetensor *t = &file->tensors[i];
        if (t->tensor.data != (void *)(uintptr_t)next)
            return gg_in_refuse(in, "tensor %s %s", t->name,
                                (const uint8_t *)t->tensor.data < next
                                    ? "overlaps another" : "leaves a gap before it");
        next += t->bytes;
    }
    if (next == data + size) return GG_OK;
    return gg_in_refuse(in, "%zu bytes behind the last tensor belong to none",
                        (size_t)(data + size - next));
}

static gg_status read_notes(gg_json_in *in, cJSON *notes)
{
    const cJSON *item, *other;
    size_t mark = gg_in_enter(in, metadata, 0);
    if (!cJSON_IsObject(notes)) return gg_in_fault(in, NULL, notes, "an object");
    if (cJSON_GetArraySize(notes) > GG_SAFETENSORS_MAX)
        return gg_in_refuse(in, "has more than %d entries", GG_SAFETENSORS_MAX);
    cJSON_ArrayForEach(item, notes) {
        if (!cJSON_IsString(item)) return gg_in_fault(in, item->string, item, "a text");
        for (other = notes->child; other != item; other = other->next)
            if (strcmp(other->string, item->string) == 0)
                return gg_in_refuse(in, "has the field \"%s\" twice", item->string);
    }
    gg_in_leave(in, mark);
    return GG_OK;
}

/* Takes the header's parts; `root` stays the caller's but for the notes. */
static gg_status read_header(gg_json_in *in, cJSON *root, const uint8_t *data, size_t size,
                             gg_safetensors *file)
{
    int most = cJSON_GetArraySize(root);
    if (!cJSON_IsObject(root)) return gg_in_fault(in, NULL, root, "an object");
    if (most > GG_SAFETENSORS_MAX)
        return gg_in_refuse(in, "has more than %d tensors", GG_SAFETENSORS_MAX);
    file->tensors = calloc((size_t)most + 1, sizeof *file->tensors);
    if (file->tensors == NULL) return gg_fail(GG_NO_MEMORY, "%s: no memory", in->file);
    for (cJSON *item = root->child, *next; item != NULL; item = next) {
        next = item->next;
        for (const cJSON *other = root->child; other != item; other = other->next)
            if (strcmp(other->string, item->string) == 0)
                return gg_in_refuse(in, "has \"%s\" twice", item->string);
        if (strcmp(item->string, metadata) == 0) GG_TRY(read_notes(in, item));
        else GG_TRY(read_tensor(in, item, data, size, &file->tensors[file->count++]));
    }
    if (file->count == 0) return gg_in_refuse(in, "holds no tensor");
    GG_TRY(check_places(in, file, data, size));
    file->notes = cJSON_DetachItemFromObjectCaseSensitive(root, metadata);
    return GG_OK;
}

static gg_status parse_header(gg_json_in *in, const char *text, size_t length,
                              const uint8_t *data, size_t size, gg_safetensors *file)
{
    GG_TRY(gg_scan_text(in->file, 1, text, length));
    cJSON *root = cJSON_ParseWithLengthOpts(text, length, NULL, 0);
    if (root == NULL) return gg_in_refuse(in, "the header cannot be parsed as JSON");
    gg_status status = read_header(in, root, data, size, file);
    cJSON_Delete(root);
    return status;
}

gg_status gg_safetensors_parse(const char *name, const uint8_t *bytes, size_t size,
                               gg_safetensors *file)
{
    gg_json_in in = {.file = name};
    uint64_t length = 0;
    *file = (gg_safetensors){.count = 0};
    if (size < 10)
        return gg_in_refuse(&in, "%zu bytes are no safetensors file", size);
    for (int i = 7; i >= 0; i--) length = length << 8 | bytes[i];
    if (length > size - 8)
        return gg_in_refuse(&in, "the header is said to have %" PRIu64 " bytes, the file has "
                            "%zu: it is truncated, or no safetensors file", length, size);
    if (length > GG_SAFETENSORS_MAX_HEADER)
        return gg_in_refuse(&in, "the header of %" PRIu64 " bytes is longer than 1 MiB", length);
    if (length < 2 || bytes[8] != '{')
        return gg_in_refuse(&in, "the header does not begin with {: no safetensors file");
    const uint8_t *data = bytes + 8 + length;
    gg_status status = parse_header(&in, (const char *)bytes + 8, (size_t)length, data,
                                    size - 8 - (size_t)length, file);
    if (status != GG_OK) gg_safetensors_free(file);
    return status;
}

static gg_status read_open(const char *path, int fd, uint8_t **bytes, size_t *size)
{
    struct stat info;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return gg_fail(GG_BAD_INPUT, "%s: is not a file", path);
    if (pages > 0 && page > 0 && info.st_size / page >= pages)
        return gg_fail(GG_BAD_INPUT, "%s: is larger than this machine's memory", path);
    *size = (size_t)info.st_size;
    *bytes = malloc(*size + 1);
    if (*bytes == NULL) return gg_fail(GG_NO_MEMORY, "%s: no memory for %zu bytes", path, *size);
    for (size_t at = 0; at < *size;) {
        ssize_t got = read(fd, *bytes + at, *size - at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return gg_fail(GG_IO, "%s: cannot be read: %s", path, strerror(errno));
        if (got == 0) return gg_fail(GG_BAD_INPUT, "%s: became shorter while it was read", path);
        at += (size_t)got;
    }
    return GG_OK;
}

gg_status gg_safetensors_read(const char *path, gg_safetensors *file)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    *file = (gg_safetensors){.count = 0};
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO must not block */
    if (fd < 0) return gg_fail(GG_IO, "%s: cannot be opened: %s", path, strerror(errno));
    gg_status status = read_open(path, fd, &bytes, &size);
    close(fd);
    if (status == GG_OK) status = gg_safetensors_parse(path, bytes, size, file);
    if (status == GG_OK) {
        file->bytes = bytes;
        file->size = size;
    } else free(bytes);
    return status;
}

void gg_safetensors_free(gg_safetensors *file)
{
    free(file->tensors);
    free(file->bytes);
    cJSON_Delete(file->notes);
    *file = (gg_safetensors){.count = 0};
}

const gg_safetensor *gg_safetensors_find(const gg_safetensors *file, const char *name)
{
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
    return NULL;
}

const char *gg_safetensors_note(const gg_safetensors *file, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(file->notes, key);
    return cJSON_IsString(item) ? item->valuestring : NULL;
}
