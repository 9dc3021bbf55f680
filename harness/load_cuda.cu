/* SPDX-License-Identifier: Apache-2.0
 * A load on the GPU: two kernels on streams of their own that run until they are told to
 * stop (memory traffic at the lowest priority, arithmetic at the highest) on half of the
 * multiprocessors, and a train of short kernels of mixed sizes on a third stream. Whether
 * they run beside the kernel on trial is measured, not hoped for: each block of the long
 * kernels writes when it started and ended, and two tiny kernels on the trial's stream
 * write when it began and was done, all by the GPU's global clock.
 *
 * Nothing here can hang: a block ends when it is told to, when its time is up, and after
 * a bounded number of rounds. Every stamp and the flag are in mapped host memory, so that
 * no copy has to get past the load. */
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include "harness/backend.h"

namespace {

enum {
    MEMORY_THREADS = 256,
    MATH_THREADS = 128,
    ROUNDS = 1 << 20,      /* of a long kernel's block, some microseconds each */
    STEPS = 64,            /* of a round */
    TRAIN = 48,            /* short kernels a run */
    SHORT_STEPS = 2048,    /* of a thread of a short kernel: about 10 microseconds */
    STREAMS = 3
};

const size_t BUFFER_BYTES = (size_t)96 << 20; /* beyond the second-level cache */

/* In mapped host memory; times in nanoseconds, 0: not yet. */
struct Stamps {
    volatile int stop;
    volatile unsigned long long begin, end;
};

struct Block {
    volatile unsigned long long start, end;
};

__device__ unsigned long long now()
{
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

__global__ void stamp(volatile unsigned long long *to)
{
    *to = now();
    __threadfence_system();
}

/* Said by thread 0, heard by the whole block. */
__device__ bool is_over(const Stamps *stamps, unsigned long long deadline)
{
    __shared__ int over;
    if (threadIdx.x == 0) over = stamps->stop != 0 || now() >= deadline;
    __syncthreads();
    const bool result = over != 0;
    __syncthreads();
    return result;
}

__device__ unsigned long long enter(Block *block, unsigned long long nanoseconds)
{
    const unsigned long long start = now();
    if (threadIdx.x == 0) {
        block->start = start;
        __threadfence_system();
    }
    return start + nanoseconds;
}

__device__ void leave(Block *block)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        block->end = now();
        __threadfence_system();
    }
}

/* Reads and writes `buffer` [count] in turn, each block elsewhere. */
__global__ void __launch_bounds__(MEMORY_THREADS)
    move_memory(float4 *buffer, size_t count, const Stamps *stamps, Block *blocks,
                unsigned long long nanoseconds)
{
    Block *block = blocks + blockIdx.x;
    const unsigned long long deadline = enter(block, nanoseconds);
    size_t at = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) % count;
    for (int round = 0; round < ROUNDS && !is_over(stamps, deadline); round++)
        for (int step = 0; step < STEPS; step++) {
            float4 v = buffer[at];
            v.x += 1.0f;
            buffer[at] = v;
            at += (size_t)gridDim.x * blockDim.x;
            if (at >= count) at -= count;
        }
    leave(block);
}

__device__ float busy(float x, int steps)
{
    float y = x + 1.0f;
    for (int i = 0; i < steps; i++) {
        x = fmaf(x, 0.75f, y);
        y = fmaf(y, 0.5f, x);
    }
    return x + y;
}

/* `sink` [1] is never written: it keeps the arithmetic from being removed. */
__global__ void __launch_bounds__(MATH_THREADS)
    do_math(float *sink, const Stamps *stamps, Block *blocks, unsigned long long nanoseconds)
{
    Block *block = blocks + blockIdx.x;
    const unsigned long long deadline = enter(block, nanoseconds);
    float x = (float)threadIdx.x;
    for (int round = 0; round < ROUNDS && !is_over(stamps, deadline); round++)
        x = busy(x, 16 * STEPS) * 0x1p-20f;
    if (x == 12345.0f) *sink = x;
    leave(block);
}

__global__ void __launch_bounds__(MEMORY_THREADS)
    do_little(float *sink, const Stamps *stamps)
{
    if (stamps->stop != 0) return;
    const float x = busy((float)threadIdx.x, SHORT_STEPS);
    if (x == 12345.0f) *sink = x;
}

gg_status check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return GG_OK;
    cudaGetLastError();
    return gg_fail(error == cudaErrorMemoryAllocation ? GG_NO_MEMORY : GG_DEVICE_FAULT,
                   "%s: %s", what, cudaGetErrorString(error));
}

/* Seconds of [begin, end] during which at least half of the blocks ran. */
double shared_seconds(const std::vector<Block *> &blocks, unsigned long long begin,
                      unsigned long long end)
{
    std::vector<std::pair<unsigned long long, int>> events;
    for (const Block *b : blocks) {
        const unsigned long long start = b->start, stop = b->end;
        if (start == 0 || stop <= start) continue; /* it never ran */
        events.push_back({std::min(std::max(start, begin), end), 1});
        events.push_back({std::min(std::max(stop, begin), end), -1});
    }
    std::sort(events.begin(), events.end());
    unsigned long long shared = 0, last = begin;
    int running = 0;
    const int half = ((int)blocks.size() + 1) / 2;
    for (const auto &event : events) {
        if (running >= half) shared += event.first - last;
        last = event.first;
        running += event.second;
    }
    return 1e-9 * (double)shared;
}

} /* namespace */

struct gg_load {
    cudaStream_t stream[STREAMS], trial;
    float4 *buffer;
    float *sink;
    char *host, *device; /* the same mapped memory: Stamps, then blocks */
    int multiprocessors, blocks; /* of each long kernel */
    bool started;
};

static const size_t BLOCKS_AT = 256; /* bytes from the start of the mapped memory */

static Stamps *stamps_of(char *mapped) { return (Stamps *)mapped; }

static Block *blocks_of(const gg_load *l, char *mapped, int kernel)
{
    return (Block *)(mapped + BLOCKS_AT) + kernel * l->blocks;
}

static void close_load(gg_load *l)
{
    if (l == NULL) return;
    if (l->host != NULL) stamps_of(l->host)->stop = 1;
    for (cudaStream_t stream : l->stream)
        if (stream != NULL) {
            cudaStreamSynchronize(stream);
            cudaStreamDestroy(stream);
        }
    if (l->host != NULL) cudaFreeHost(l->host);
    cudaFree(l->buffer);
    cudaFree(l->sink);
    delete l;
}

static gg_status open_streams(gg_load *l)
{
    int least, greatest;
    GG_TRY(check(cudaDeviceGetStreamPriorityRange(&least, &greatest),
                 "cannot ask for stream priorities"));
    const int priority[STREAMS] = {least, greatest, greatest};
    for (int i = 0; i < STREAMS; i++)
        GG_TRY(check(cudaStreamCreateWithPriority(&l->stream[i], cudaStreamNonBlocking,
                                                  priority[i]),
                     "cannot create a stream for a load"));
    return GG_OK;
}

static gg_status open_load(const gg_backend *b, gg_load **load)
{
    gg_load *l = new (std::nothrow) gg_load();
    *load = l;
    if (l == NULL) return gg_fail(GG_NO_MEMORY, "no memory for a load");
    l->trial = (cudaStream_t)b->stream;
    GG_TRY(check(cudaDeviceGetAttribute(&l->multiprocessors,
                                        cudaDevAttrMultiProcessorCount, b->ordinal),
                 "cannot count the multiprocessors"));
    l->blocks = std::max(1, l->multiprocessors / 4);
    const size_t bytes = BLOCKS_AT + 2 * (size_t)l->blocks * sizeof(Block);
    GG_TRY(open_streams(l));
    GG_TRY(check(cudaHostAlloc((void **)&l->host, bytes, cudaHostAllocMapped),
                 "no mapped memory for a load"));
    GG_TRY(check(cudaHostGetDevicePointer((void **)&l->device, l->host, 0),
                 "no mapped memory for a load"));
    GG_TRY(check(cudaMalloc((void **)&l->buffer, BUFFER_BYTES), "no GPU memory for a load"));
    GG_TRY(check(cudaMalloc((void **)&l->sink, 256), "no GPU memory for a load"));
    GG_TRY(check(cudaMemset(l->buffer, 0, BUFFER_BYTES), "clear a load's memory"));
    return check(cudaDeviceSynchronize(), "clear a load's memory");
}

static gg_status launch_load(gg_load *l, double seconds)
{
    const unsigned long long nanoseconds = (unsigned long long)(1e9 * seconds);
    const Stamps *stamps = stamps_of(l->device);
    move_memory<<<l->blocks, MEMORY_THREADS, 0, l->stream[0]>>>(
        l->buffer, BUFFER_BYTES / sizeof(float4), stamps, blocks_of(l, l->device, 0),
        nanoseconds);
    do_math<<<l->blocks, MATH_THREADS, 0, l->stream[1]>>>(
        l->sink, stamps, blocks_of(l, l->device, 1), nanoseconds);
    GG_TRY(check(cudaGetLastError(), "start a load"));
    for (int i = 0; i < TRAIN; i++) /* a quarter of the multiprocessors, to twice of all */
        do_little<<<std::max(1, l->multiprocessors / 4) << i % 4, MEMORY_THREADS, 0,
                    l->stream[2]>>>(l->sink, stamps);
    return check(cudaGetLastError(), "start a load");
}

static int blocks_started(const gg_load *l)
{
    int count = 0;
    for (int kernel = 0; kernel < 2; kernel++)
        for (int i = 0; i < l->blocks; i++)
            count += blocks_of(l, l->host, kernel)[i].start != 0;
    return count;
}

static gg_status start_load(gg_load *l, double seconds)
{
    const auto patience = std::chrono::milliseconds(10);
    Stamps *stamps = stamps_of(l->host);
    stamps->stop = 0;
    stamps->begin = stamps->end = 0;
    for (int kernel = 0; kernel < 2; kernel++)
        for (int i = 0; i < l->blocks; i++) {
            Block *b = &blocks_of(l, l->host, kernel)[i];
            b->start = b->end = 0;
        }
    l->started = true;
    GG_TRY(launch_load(l, seconds));
    const auto begun = std::chrono::steady_clock::now();
    while (blocks_started(l) < 2 * l->blocks &&
           std::chrono::steady_clock::now() - begun < patience)
        continue;
    stamp<<<1, 1, 0, l->trial>>>(&stamps_of(l->device)->begin);
    return check(cudaGetLastError(), "stamp the start of a run");
}

static gg_status stop_load(gg_load *l, double *shared, double *seconds)
{
    Stamps *stamps = stamps_of(l->host);
    *shared = *seconds = 0;
    if (!l->started) return gg_fail(GG_INTERNAL, "a load stops that was not started");
    l->started = false;
    stamp<<<1, 1, 0, l->trial>>>(&stamps_of(l->device)->end);
    const cudaError_t stamped = cudaGetLastError(), ran = cudaStreamSynchronize(l->trial);
    stamps->stop = 1;
    cudaError_t loaded = cudaSuccess;
    for (cudaStream_t stream : l->stream) {
        const cudaError_t error = cudaStreamSynchronize(stream);
        if (loaded == cudaSuccess) loaded = error;
    }
    GG_TRY(check(stamped, "stamp the end of a run"));
    GG_TRY(check(ran, "the kernel's work on the GPU, under load"));
    GG_TRY(check(loaded, "the load's work on the GPU"));
    const unsigned long long begin = stamps->begin, end = stamps->end;
    if (begin == 0 || end < begin)
        return gg_fail(GG_DEVICE_FAULT, "the GPU's clock gave no time for a run under load");
    std::vector<Block *> blocks;
    for (int kernel = 0; kernel < 2; kernel++)
        for (int i = 0; i < l->blocks; i++)
            blocks.push_back(&blocks_of(l, l->host, kernel)[i]);
    *seconds = 1e-9 * (double)(end - begin);
    *shared = shared_seconds(blocks, begin, end);
    return GG_OK;
}

/* Half: on a card of our own the load is there nearly always, or not at all. */
extern "C" void gg_load_on_cuda(gg_backend *backend)
{
    backend->load_open = open_load;
    backend->load_start = start_load;
    backend->load_stop = stop_load;
    backend->load_close = close_load;
    backend->overlap_least = 0.5;
}
