/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/views.h"

#include <stdlib.h>

/* Within the guard band before the tensor; keeps any alignment a kernel may ask for. */
enum { OFFSET_BYTES = 256 };

static const char *const texts[GG_VIEWS] = {
    "an input behind a byte offset", "an input with space between its rows",
    "an input spread over more than 4 GiB"};

/* Bytes from the first element to the end of the last. */
static size_t span(const gg_tensor *tensor, const int64_t *strides)
{
    int64_t last = 0;
    for (int i = 0; i < tensor->ndim; i++) last += (tensor->shape[i] - 1) * strides[i];
    return (size_t)(last + 1) * gg_dtype_bytes(tensor->dtype);
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
    if (view->kind == GG_VIEW_ROWS)
        GG_TRY(t->plan->backend->fill(view->memory, bytes, gg_trial_poison(0)));
    GG_TRY(copy_rows(t, tensor, view));
    seen->data = view->memory;
    *taken = true;
    return GG_OK;
}

void gg_view_close(gg_trial *t, gg_view *view)
{
    t->dl_input[view->input] = view->before;
    if (view->memory != NULL) t->plan->backend->free(view->memory);
    view->memory = NULL;
}
