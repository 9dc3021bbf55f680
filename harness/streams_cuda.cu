/* SPDX-License-Identifier: Apache-2.0
 * Calls of a kernel at the same time on streams of their own. A gate, a tiny kernel at the
 * head of each stream, holds everything until all calls are queued, so that they begin
 * together however long a launch takes; stamps by the GPU's global clock say when a call
 * could begin and when its forward and backward had ended.
 *
 * Nothing here can hang: a gate opens when it is told to, or when its time is up. That time
 * is what a kernel costs which waits for its own work before it returns. Stamps and the flag
 * are in mapped host memory, so that no copy has to get past the calls. */
#include <cuda_runtime.h>

#include <new>

#include "harness/backend.h"

namespace {

enum { MOST_CALLS = 16 };

const unsigned long long PATIENCE = 100000000ull; /* nanoseconds at a closed gate */

/* In mapped host memory; times in nanoseconds, 0: not yet. */
struct Times {
    volatile unsigned long long begin, middle, end;
};

struct Board {
    volatile int open;
    Times calls[MOST_CALLS];
};

__device__ unsigned long long now()
{
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

__global__ void wait_at_gate(const Board *board, volatile unsigned long long *begin)
{
    const unsigned long long deadline = now() + PATIENCE;
    while (board->open == 0 && now() < deadline)
        __nanosleep(500);
    *begin = now();
    __threadfence_system();
}

__global__ void stamp(volatile unsigned long long *to)
{
    *to = now();
    __threadfence_system();
}

gg_status check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return GG_OK;
    cudaGetLastError();
    return gg_fail(error == cudaErrorMemoryAllocation ? GG_NO_MEMORY : GG_DEVICE_FAULT,
                   "%s: %s", what, cudaGetErrorString(error));
}

/* Since `base`, which need not be the first: the clock itself is too large for a double. */
double seconds(unsigned long long nanoseconds, unsigned long long base)
{
    return 1e-9 * (double)(long long)(nanoseconds - base);
}

} /* namespace */

struct gg_streams {
    cudaStream_t stream[MOST_CALLS];
    Board *host, *device; /* the same mapped memory */
    int calls;
};

static void close_streams(gg_streams *s)
{
    if (s == NULL) return;
    if (s->host != NULL) s->host->open = 1;
    for (int i = 0; i < s->calls; i++)
        if (s->stream[i] != NULL) {
            cudaStreamSynchronize(s->stream[i]);
            cudaStreamDestroy(s->stream[i]);
        }
    if (s->host != NULL) cudaFreeHost(s->host);
    delete s;
}

static gg_status open_streams(const gg_backend *, int calls, gg_streams **streams)
{
    *streams = NULL;
    if (calls < 1 || calls > MOST_CALLS)
        return gg_fail(GG_INTERNAL, "%d calls cannot be made at once", calls);
    gg_streams *s = new (std::nothrow) gg_streams();
    *streams = s;
    if (s == NULL) return gg_fail(GG_NO_MEMORY, "no memory for %d streams", calls);
    s->calls = calls;
    for (int i = 0; i < calls; i++)
        GG_TRY(check(cudaStreamCreateWithFlags(&s->stream[i], cudaStreamNonBlocking),
                     "cannot create a stream for a call"));
    GG_TRY(check(cudaHostAlloc((void **)&s->host, sizeof(Board), cudaHostAllocMapped),
                 "no mapped memory for calls at the same time"));
    return check(cudaHostGetDevicePointer((void **)&s->device, s->host, 0),
                 "no mapped memory for calls at the same time");
}

static void *stream_of(const gg_streams *s, int call) { return s->stream[call]; }

/* Behind the gate: forward, a stamp, backward, a stamp. */
static int queue_call(gg_streams *s, int call, gg_half_call *half, void *context)
{
    Times *times = &s->device->calls[call];
    cudaStream_t stream = s->stream[call];
    int error = half(context, call, 0);
    stamp<<<1, 1, 0, stream>>>(&times->middle);
    if (error == 0) error = half(context, call, 1);
    stamp<<<1, 1, 0, stream>>>(&times->end);
    return error;
}

static gg_status run_streams(gg_streams *s, int first, int count, gg_half_call *half,
                             void *context, gg_span *spans, int *errors)
{
    if (first < 0 || count < 1 || first + count > s->calls)
        return gg_fail(GG_INTERNAL, "calls %d to %d of %d", first, first + count - 1, s->calls);
    s->host->open = 0;
    for (int i = first; i < first + count; i++) {
        Times *times = &s->host->calls[i];
        times->begin = times->middle = times->end = 0;
        wait_at_gate<<<1, 1, 0, s->stream[i]>>>(s->device, &s->device->calls[i].begin);
    }
    cudaError_t queued = cudaGetLastError();
    for (int i = first; i < first + count; i++)
        errors[i] = queued == cudaSuccess ? queue_call(s, i, half, context) : 0;
    if (queued == cudaSuccess) queued = cudaGetLastError();
    s->host->open = 1;
    cudaError_t ran = cudaSuccess;
    for (int i = first; i < first + count; i++) {
        const cudaError_t error = cudaStreamSynchronize(s->stream[i]);
        if (ran == cudaSuccess) ran = error;
    }
    GG_TRY(check(queued, "queue calls at the same time"));
    GG_TRY(check(ran, "the kernel's calls at the same time"));
    const unsigned long long base = s->host->calls[first].begin;
    for (int i = first; i < first + count; i++) {
        const Times *times = &s->host->calls[i];
        if (times->begin == 0 || times->middle < times->begin || times->end < times->middle)
            return gg_fail(GG_DEVICE_FAULT, "the GPU's clock gave no time for a call");
        spans[i] = {seconds(times->begin, base), seconds(times->middle, base),
                    seconds(times->end, base)};
    }
    return GG_OK;
}

extern "C" void gg_streams_on_cuda(gg_backend *backend)
{
    backend->streams_open = open_streams;
    backend->streams_of = stream_of;
    backend->streams_run = run_streams;
    backend->streams_close = close_streams;
}
