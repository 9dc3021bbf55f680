/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/hosted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/arena.h"

enum { MOST_MIRRORS = 256, POOL_BYTES = 1 << 27, BEFORE = GG_ARENA_ALIGN };

/* Host memory that stands for device memory; the same for the same tensor, call after
 * call, as a kernel would see it. */
typedef struct mirror {
    const char *device; /* first byte copied */
    size_t bytes;
    char *host;
    bool own;           /* malloc'd: too large for the pool */
} mirror;

/* The mutants are tried one at a time, so one state is enough. */
static struct {
    const gg_backend *backend;
    const gg_kernel *inner;
    gg_kernel outer;
    mirror mirrors[MOST_MIRRORS];
    int count;
    char *pool;
    size_t used;
} state;

static void forget(void)
{
    for (int i = 0; i < state.count; i++)
        if (state.mirrors[i].own) free(state.mirrors[i].host);
    state.count = 0;
    state.used = 0;
}

static mirror *find(const char *device, size_t bytes)
{
    for (int i = 0; i < state.count; i++)
        if (state.mirrors[i].device == device && state.mirrors[i].bytes == bytes)
            return &state.mirrors[i];
    if (state.count == MOST_MIRRORS) return NULL;
    mirror *m = &state.mirrors[state.count];
    size_t whole = (bytes + 255) / 256 * 256;
    *m = (mirror){.device = device, .bytes = bytes, .own = whole > POOL_BYTES - state.used};
    m->host = m->own ? aligned_alloc(256, whole) : state.pool + state.used;
    if (m->host == NULL) return NULL;
    if (!m->own) state.used += whole;
    state.count++;
    return m;
}

/* What one call touches, to be copied back. */
typedef struct touched {
    mirror *mirrors[GG_MAX_INPUTS + GG_MAX_OUTPUTS + 2];
    int count;
} touched;

/* The host's place for device memory of `bytes` at `data`; NULL when it cannot be had.
 * With the guard bands before and behind it. */
static void *fetch(void *data, size_t bytes, touched *t)
{
    mirror *m = find((char *)data - BEFORE, BEFORE + bytes + GG_GUARD_BYTES);
    if (m == NULL) return NULL;
    if (state.backend->download(m->host, m->device, m->bytes) != GG_OK) return NULL;
    t->mirrors[t->count++] = m;
    return m->host + BEFORE;
}

static size_t count_of(const DLTensor *t)
{
    size_t count = 1;
    for (int i = 0; i < t->ndim; i++) count *= (size_t)t->shape[i];
    return count;
}

/* A strided input may lie in gigabytes of which it uses little: only its elements are
 * copied, row by row of its last axis, and not back. */
static void *fetch_strided(const DLTensor *t, char *first)
{
    size_t size = t->dtype.bits / 8u, last = 0, columns = (size_t)t->shape[t->ndim - 1];
    for (int i = 0; i < t->ndim; i++)
        last += ((size_t)t->shape[i] - 1) * (size_t)t->strides[i];
    size_t seen = (last + 1) * size, dense = count_of(t) * size;
    mirror *m = find(first, seen > dense ? seen : dense);
    if (m != NULL && seen < dense) /* expanded: who reads it as dense must not crash */
        memset(m->host + seen, 0x7f, dense - seen);
    for (size_t row = 0; m != NULL && row < count_of(t) / columns; row++) {
        size_t rest = row, at = 0;
        for (int i = t->ndim - 2; i >= 0; i--) {
            at += rest % (size_t)t->shape[i] * (size_t)t->strides[i] * size;
            rest /= (size_t)t->shape[i];
        }
        if (state.backend->download(m->host + at, first + at, columns * size) != GG_OK)
            return NULL;
    }
    return m == NULL ? NULL : m->host;
}

/* A tensor on the host; false when memory is short. */
static bool fetch_tensor(const DLTensor *from, DLTensor *to, touched *t)
{
    *to = *from;
    to->device = (DLDevice){kDLCPU, 0};
    char *first = (char *)from->data + from->byte_offset;
    char *host = from->strides != NULL ? fetch_strided(from, first)
                                       : fetch(first, count_of(from) *
                                               (from->dtype.bits / 8u), t);
    to->data = host == NULL ? NULL : host - from->byte_offset;
    return host != NULL;
}

static int run(const gg_call *call, int (*half)(const gg_call *call))
{
    const gg_kernel *k = state.inner;
    DLTensor in[GG_MAX_INPUTS], out[GG_MAX_OUTPUTS];
    const DLTensor *inputs[GG_MAX_INPUTS] = {NULL};
    DLTensor *outputs[GG_MAX_OUTPUTS] = {NULL};
    touched t = {.count = 0};
    gg_call host = *call;
    bool good = true;
    if (state.count > MOST_MIRRORS - 32) forget();
    for (int i = 0; k->inputs[i] != NULL; i++)
        if (call->inputs[i] != NULL) {
            good = good && fetch_tensor(call->inputs[i], &in[i], &t);
            inputs[i] = &in[i];
        }
    for (int o = 0; k->outputs[o] != NULL; o++)
        if (call->outputs[o] != NULL) {
            good = good && fetch_tensor(call->outputs[o], &out[o], &t);
            outputs[o] = &out[o];
        }
    if (good) host.saved = fetch(call->saved, k->saved_bytes(call), &t);
    if (good) host.workspace = fetch(call->workspace, k->workspace_bytes(call), &t);
    if (!good || host.saved == NULL || host.workspace == NULL) return ENOMEM;
    host.inputs = inputs;
    host.outputs = outputs;
    host.stream = NULL;
    int error = half(&host);
    for (int i = 0; i < t.count; i++)
        if (state.backend->upload((char *)(uintptr_t)t.mirrors[i]->device,
                                  t.mirrors[i]->host, t.mirrors[i]->bytes) != GG_OK)
            return EIO;
    return error;
}

static int forward(const gg_call *call) { return run(call, state.inner->forward); }

static int backward(const gg_call *call) { return run(call, state.inner->backward); }

const gg_kernel *gg_hosted(const gg_backend *backend, const gg_kernel *kernel)
{
    if (backend->device == kDLCPU) return kernel;
    if (state.pool == NULL) state.pool = aligned_alloc(256, POOL_BYTES);
    forget();
    state.backend = backend;
    state.inner = kernel;
    state.outer = *kernel;
    state.outer.device = backend->device;
    state.outer.forward = forward;
    state.outer.backward = backward;
    return state.pool == NULL ? kernel : &state.outer;
}
