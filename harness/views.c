/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/views.h"

#include <stdlib.h>
#include <string.h>

/* Within the guard band before the tensor; keeps any alignment a kernel may ask for. */
enum { OFFSET_BYTES = 256, MARGIN = GG_ARENA_ALIGN };

static const char *const texts[GG_VIEWS] = {
    "an input behind a byte offset", "an input with space between its rows",
    "an input with two axes exchanged", "an input spread over more than 4 GiB"};

/* Bytes from the first element to the end of the last. */
static size_t span(const gg_tensor *tensor, const int64_t *strides)
{
    int64_t last = 0;
    for (int i = 0; i < tensor->ndim; i++) last += (tensor->shape[i] - 1) * strides[i];
    return (size_t)(last + 1) * gg_dtype_bytes(tensor->dtype);
}

/* The two axes before the last, [.., H, N, D] as [.., N, H, D]; false when one of them is
 * of extent 1, which moves nothing. */
static bool exchange(const gg_tensor *tensor, gg_view *view)
{
    int n = tensor->ndim;
    if (n < 3 || tensor->shape[n - 2] == 1 || tensor->shape[n - 3] == 1) return false;
    view->strides[n - 3] = tensor->shape[n - 1];
    view->strides[n - 2] = tensor->shape[n - 3] * tensor->shape[n - 1];
    return true;
}

/* Strides of the view, in elements; false when it would be the tensor itself. */
static bool strides_of(const gg_tensor *tensor, gg_view *view)
{
    int64_t size = (int64_t)gg_dtype_bytes(tensor->dtype), step = 1;
    int outermost = 0;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        view->strides[i] = step;
        step *= tensor->shape[i];
        if (i == tensor->ndim - 1 && view->kind == GG_VIEW_ROWS) step += 16 / size;
    }
    if (view->kind == GG_VIEW_ROWS)
        return tensor->ndim > 1 && step > 16 / size + tensor->shape[tensor->ndim - 1];
    if (view->kind == GG_VIEW_EXCHANGED) return exchange(tensor, view);
    while (outermost < tensor->ndim - 1 && tensor->shape[outermost] == 1) outermost++;
    if (outermost == tensor->ndim - 1) return false;
    /* the last index just above 4 GiB: an offset that wraps falls into index 0 */
    int64_t gaps = tensor->shape[outermost] - 1, apart = (INT64_C(1) << 32) / gaps;
    view->strides[outermost] = (apart / 16 + 2) * 16 / size;
    return true;
}

/* Copies the tensor's rows of the last axis to where the view has them. */
static gg_status copy_rows(const gg_trial *t, const gg_tensor *from, gg_view *view)
{
    const gg_backend *b = t->plan->backend;
    size_t size = gg_dtype_bytes(from->dtype), bytes = gg_tensor_bytes(from);
    int64_t columns = from->shape[from->ndim - 1], rows = gg_tensor_count(from) / columns;
    char *host = malloc(bytes + 1);
    if (host == NULL) return gg_fail(GG_NO_MEMORY, "no memory for a strided copy");
    gg_status status = b->download(host, from->data, bytes);
    for (int64_t row = 0; row < rows && status == GG_OK; row++) {
        int64_t rest = row, at = 0;
        for (int i = from->ndim - 2; i >= 0; i--) {
            at += rest % from->shape[i] * view->strides[i];
            rest /= from->shape[i];
        }
        status = b->upload((char *)view->memory + (size_t)at * size,
                           host + (size_t)(row * columns) * size, (size_t)columns * size);
    }
    free(host);
    return status;
}

gg_status gg_view_open(gg_trial *t, gg_view *view, bool *taken)
{
    const gg_tensor *tensor = &t->problem.input[view->input];
    DLTensor *seen = &t->dl_input[view->input];
    view->text = texts[view->kind];
    view->before = *seen;
    *taken = false;
    if (tensor->data == NULL) return GG_OK;
    if (view->kind == GG_VIEW_OFFSET) {
        seen->data = (char *)tensor->data - OFFSET_BYTES;
        seen->byte_offset = OFFSET_BYTES;
        *taken = gg_trial_refusal(t) == NULL;
        return GG_OK;
    }
    if (!strides_of(tensor, view)) return GG_OK;
    seen->strides = view->strides;
    if (gg_trial_refusal(t) != NULL) return GG_OK;
    size_t bytes = span(tensor, view->strides);
    GG_TRY(t->plan->backend->alloc(bytes, &view->memory));
    if (view->kind != GG_VIEW_GIANT)
        GG_TRY(t->plan->backend->fill(view->memory, bytes, gg_trial_poison(0)));
    GG_TRY(copy_rows(t, tensor, view));
    seen->data = view->memory;
    *taken = true;
    return GG_OK;
}

/* Index 0 of the view's axis at every index of it, in host memory; and as it is stored. */
static void expand(const gg_tensor *tensor, int axis, const char *from, char *dense,
                   char *stored)
{
    size_t outer = 1, inner = gg_dtype_bytes(tensor->dtype), n = (size_t)tensor->shape[axis];
    for (int i = 0; i < axis; i++) outer *= (size_t)tensor->shape[i];
    for (int i = axis + 1; i < tensor->ndim; i++) inner *= (size_t)tensor->shape[i];
    for (size_t o = 0; o < outer; o++) {
        memcpy(stored + o * inner, from + o * n * inner, inner);
        for (size_t k = 0; k < n; k++)
            memcpy(dense + (o * n + k) * inner, from + o * n * inner, inner);
    }
}

/* Both in the backend's memory, the dense one with the room around it that a tensor in an
 * arena has, which hosted.c copies too. The view's is as long as the tensor, and holds poison
 * behind what it shows: who reads it as dense gets wrong numbers, not a crash. */
static gg_status store_expanded(gg_trial *t, gg_view *view)
{
    const gg_backend *b = t->plan->backend;
    const gg_tensor *tensor = &t->problem.input[view->input];
    size_t bytes = gg_tensor_bytes(tensor);
    char *host = malloc(3 * bytes + 1);
    if (host == NULL) return gg_fail(GG_NO_MEMORY, "no memory for an expanded copy");
    char *dense = host + bytes, *stored = dense + bytes;
    gg_status status = b->download(host, tensor->data, bytes);
    if (status == GG_OK) expand(tensor, view->axis, host, dense, stored);
    if (status == GG_OK) status = b->alloc(bytes, &view->memory);
    if (status == GG_OK) status = b->alloc(bytes + MARGIN + GG_GUARD_BYTES, &view->block);
    if (status == GG_OK) view->dense = (char *)view->block + MARGIN;
    if (status == GG_OK) status = b->fill(view->memory, bytes, gg_trial_poison(1));
    if (status == GG_OK) status = b->upload(view->dense, dense, bytes);
    if (status == GG_OK)
        status = b->upload(view->memory, stored, bytes / (size_t)tensor->shape[view->axis]);
    free(host);
    return status;
}

gg_status gg_view_expand(gg_trial *t, gg_view *view, bool *taken)
{
    const gg_tensor *tensor = &t->problem.input[view->input];
    DLTensor *seen = &t->dl_input[view->input];
    int64_t step = 1;
    view->text = "an input expanded along an axis";
    view->before = *seen;
    *taken = false;
    if (tensor->data == NULL || view->axis >= tensor->ndim - 1 ||
        tensor->shape[view->axis] == 1)
        return GG_OK;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        view->strides[i] = i == view->axis ? 0 : step;
        if (i != view->axis) step *= tensor->shape[i];
    }
    seen->strides = view->strides;
    if (gg_trial_refusal(t) != NULL) return GG_OK;
    GG_TRY(store_expanded(t, view));
    seen->data = view->memory;
    seen->byte_offset = 0;
    *taken = true;
    return GG_OK;
}

void gg_view_dense(gg_trial *t, gg_view *view)
{
    DLTensor *seen = &t->dl_input[view->input];
    *seen = view->before;
    seen->data = view->dense;
    seen->byte_offset = 0;
}

void gg_view_close(gg_trial *t, gg_view *view)
{
    t->dl_input[view->input] = view->before;
    if (view->memory != NULL) t->plan->backend->free(view->memory);
    if (view->block != NULL) t->plan->backend->free(view->block);
    view->memory = view->dense = view->block = NULL;
}
