/* SPDX-License-Identifier: Apache-2.0
 * One CUDA device as a place to run. Kernels on trial get a non-blocking stream of their
 * own, so a kernel that uses the wrong stream reads inputs that are not there yet. */
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "harness/backend.h"
#include "harness/digest.h"

static gg_status check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return GG_OK;
    cudaGetLastError();
    return gg_fail(error == cudaErrorMemoryAllocation ? GG_NO_MEMORY : GG_DEVICE_FAULT,
                   "%s: %s", what, cudaGetErrorString(error));
}

/* Waits for everything on the device and reports what went wrong since the last call. */
static gg_status settle(const char *what)
{
    GG_TRY(check(cudaGetLastError(), what));
    return check(cudaDeviceSynchronize(), what);
}

static gg_status cuda_alloc(size_t bytes, void **memory)
{
    size_t left = 0, total = 0;
    GG_TRY(check(cudaMemGetInfo(&left, &total), "cannot read the GPU's free memory"));
    if (bytes > left || cudaMalloc(memory, bytes ? bytes : 1) != cudaSuccess) {
        cudaGetLastError();
        return gg_fail(GG_NO_MEMORY,
                       "the GPU has %.1f GiB free and this case needs %.1f GiB: free "
                       "memory, use a larger GPU, or choose smaller cases with --case",
                       (double)left / 0x1p30, (double)bytes / 0x1p30);
    }
    return GG_OK;
}

static void cuda_free(void *memory) { cudaFree(memory); }

static size_t cuda_memory_left(void)
{
    size_t left = 0, total = 0;
    return cudaMemGetInfo(&left, &total) == cudaSuccess ? left : 0;
}

static gg_status cuda_upload(void *to, const void *from, size_t bytes)
{
    GG_TRY(check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copy to the GPU"));
    return settle("copy to the GPU");
}

static gg_status cuda_download(void *to, const void *from, size_t bytes)
{
    return check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copy from the GPU");
}

static gg_status cuda_copy(void *to, const void *from, size_t bytes)
{
    GG_TRY(check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice), "copy on the GPU"));
    return settle("copy on the GPU");
}

__global__ static void fill_words(uint32_t *words, size_t count, uint32_t pattern)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        words[i] = pattern;
}

static gg_status cuda_fill(void *memory, size_t bytes, uint32_t pattern)
{
    size_t words = bytes / 4;
    if (words > 0) fill_words<<<2048, 256>>>((uint32_t *)memory, words, pattern);
    if (bytes % 4 != 0)
        GG_TRY(check(cudaMemcpy((char *)memory + words * 4, &pattern, bytes % 4,
                                cudaMemcpyHostToDevice), "fill GPU memory"));
    return settle("fill GPU memory");
}

static gg_status cuda_draw(const gg_backend *b, const gg_draw *draw, uint64_t seed,
                           int tensor, gg_tensor *out)
{
    GG_TRY(gg_draw_cuda(draw, seed, tensor, out, b->stream));
    return settle("draw an input");
}

static gg_status cuda_draw_output(const gg_backend *b, double scale, const double *truth,
                                  gg_tensor *out)
{
    GG_TRY(gg_draw_output_cuda(scale, truth, out, b->stream));
    return settle("draw an input from an output");
}

static size_t cuda_truth_scratch(const gg_operator *op, const gg_problem *problem)
{
    return op->reference.cuda_scratch(problem);
}

static gg_status cuda_truth(const gg_backend *b, const gg_operator *op,
                            const gg_problem *problem, const gg_truth *truth, void *scratch)
{
    GG_TRY(op->reference.cuda(problem, truth, scratch, b->stream));
    return settle("compute the truth");
}

static size_t cuda_rounded_scratch(const gg_operator *op, const gg_problem *problem)
{
    return op->reference.rounded_scratch(problem);
}

static gg_status cuda_rounded(const gg_backend *b, const gg_operator *op,
                              const gg_problem *problem, const gg_roundings *roundings,
                              const gg_truth *values, void *scratch)
{
    GG_TRY(op->reference.rounded_cuda(problem, roundings, values, scratch, b->stream));
    return settle("compute with chosen roundings");
}

/* One thread a block of GG_DIGEST_BLOCK bytes. */
__global__ static void digest_blocks(const unsigned char *data, size_t bytes,
                                     uint64_t *digests, size_t blocks)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= blocks) return;
    size_t start = i * GG_DIGEST_BLOCK, rest = bytes - start;
    digests[i] = gg_xxh64(data + start, rest < GG_DIGEST_BLOCK ? rest : GG_DIGEST_BLOCK);
}

/* A device array that frees itself; no case's arena may hold the harness's own scratch,
 * or a kernel that writes out of bounds could edit the evidence. */
template <typename T> struct device_array {
    T *data = nullptr;
    gg_status make(size_t count)
    {
        return check(cudaMalloc((void **)&data, (count ? count : 1) * sizeof(T)),
                     "allocate GPU memory to measure");
    }
    ~device_array() { cudaFree(data); }
};

static gg_status cuda_digest(const gg_backend *, const void *data, size_t bytes,
                             uint64_t *digest)
{
    size_t blocks = (bytes + GG_DIGEST_BLOCK - 1) / GG_DIGEST_BLOCK;
    device_array<uint64_t> digests;
    GG_TRY(digests.make(blocks));
    std::vector<uint64_t> host(blocks + 1);
    if (blocks > 0)
        digest_blocks<<<(unsigned)((blocks + 63) / 64), 64>>>(
            (const unsigned char *)data, bytes, digests.data, blocks);
    GG_TRY(settle("digest"));
    GG_TRY(cuda_download(host.data(), digests.data, blocks * sizeof(uint64_t)));
    *digest = gg_digest_blocks(host.data(), blocks, bytes);
    return GG_OK;
}

__device__ static gg_mark mark_of_lane(const gg_mark &mark, int mask)
{
    gg_mark t;
    t.size = __shfl_xor_sync(~0u, mark.size, mask);
    t.at = __shfl_xor_sync(~0u, (long long)mark.at, mask);
    return t;
}

__device__ static gg_sums from_lane(const gg_sums &s, int mask)
{
    gg_sums t;
    t.error2 = __shfl_xor_sync(~0u, s.error2, mask);
    t.truth2 = __shfl_xor_sync(~0u, s.truth2, mask);
    t.floor2 = __shfl_xor_sync(~0u, s.floor2, mask);
    t.allowance2 = __shfl_xor_sync(~0u, s.allowance2, mask);
    t.ratio = __shfl_xor_sync(~0u, s.ratio, mask);
    t.ratio_at = __shfl_xor_sync(~0u, (long long)s.ratio_at, mask);
    t.finite = __shfl_xor_sync(~0u, (long long)s.finite, mask);
    t.mismatch = __shfl_xor_sync(~0u, (long long)s.mismatch, mask);
    t.mismatch_first = __shfl_xor_sync(~0u, (long long)s.mismatch_first, mask);
    t.largest = mark_of_lane(s.largest, mask);
    t.smallest = mark_of_lane(s.smallest, mask);
    t.cancelled = mark_of_lane(s.cancelled, mask);
    return t;
}

/* A warp a chunk; the histogram is counted in shared memory, then added to bins. */
__global__ static void measure_chunks(const void *output, gg_dtype dtype,
                                      const double *truth, const double *allowance,
                                      int64_t count, gg_sums *chunks, int64_t chunk_count,
                                      unsigned long long *bins)
{
    __shared__ unsigned local[GG_RATIO_BINS];
    for (int i = threadIdx.x; i < GG_RATIO_BINS; i += blockDim.x) local[i] = 0;
    __syncthreads();
    int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (int64_t chunk = (int64_t)blockIdx.x * warps + threadIdx.x / 32; chunk < chunk_count;
         chunk += (int64_t)gridDim.x * warps) {
        gg_sums s = gg_sums_zero();
        int64_t start = chunk * GG_CHUNK, end = start + GG_CHUNK;
        for (int64_t i = start + lane; i < end && i < count; i += 32) {
            int bin = gg_measure_one(&s, output, dtype, truth, allowance, i);
            if (bin >= 0) atomicAdd(&local[bin], 1u);
        }
        for (int mask = 16; mask > 0; mask /= 2) {
            gg_sums t = from_lane(s, mask);
            gg_sums_add(&s, &t);
        }
        if (lane == 0) chunks[chunk] = s;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < GG_RATIO_BINS; i += blockDim.x)
        if (local[i] > 0) atomicAdd(&bins[i], (unsigned long long)local[i]);
}

static gg_status cuda_measure(const gg_backend *, const gg_tensor *output,
                              const double *truth, const double *allowance,
                              gg_measures *measures)
{
    int64_t count = gg_tensor_count(output), chunks = (count + GG_CHUNK - 1) / GG_CHUNK;
    device_array<gg_sums> parts;
    device_array<unsigned long long> bins;
    GG_TRY(parts.make((size_t)chunks));
    GG_TRY(bins.make(GG_RATIO_BINS));
    GG_TRY(cuda_fill(bins.data, GG_RATIO_BINS * sizeof(uint64_t), 0));
    measure_chunks<<<1024, 256>>>(output->data, output->dtype, truth, allowance, count,
                                  parts.data, chunks, bins.data);
    GG_TRY(settle("measure an output"));
    std::vector<gg_sums> host((size_t)chunks + 1);
    std::vector<int64_t> counts(GG_RATIO_BINS);
    GG_TRY(cuda_download(host.data(), parts.data, (size_t)chunks * sizeof(gg_sums)));
    GG_TRY(cuda_download(counts.data(), bins.data, GG_RATIO_BINS * sizeof(int64_t)));
    measures->sums = gg_sums_zero();
    for (int64_t c = 0; c < chunks; c++) gg_sums_add(&measures->sums, &host[(size_t)c]);
    measures->ratio_p99 = gg_ratio_p99(counts.data(), measures->sums.finite);
    return GG_OK;
}

__global__ static void compare_bits(const void *first, const void *again, gg_dtype dtype,
                                    int64_t count, uint32_t poison_first,
                                    uint32_t poison_again, unsigned long long *result)
{
    gg_difference d = {0, INT64_MAX, 0, 0};
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        gg_compare_one(&d, first, again, dtype, i, poison_first, poison_again);
    if (d.unwritten > 0) atomicAdd(&result[3], (unsigned long long)d.unwritten);
    if (d.differing == 0) return;
    atomicAdd(&result[0], (unsigned long long)d.differing);
    atomicMin(&result[1], (unsigned long long)d.first);
    atomicMax(&result[2], (unsigned long long)d.ulps);
}

static gg_status cuda_compare(const gg_backend *, const gg_tensor *first,
                              const void *again, uint32_t poison_first,
                              uint32_t poison_again, gg_difference *difference)
{
    unsigned long long start[4] = {0, INT64_MAX, 0, 0}, end[4];
    device_array<unsigned long long> result;
    GG_TRY(result.make(4));
    GG_TRY(cuda_upload(result.data, start, sizeof start));
    compare_bits<<<2048, 256>>>(first->data, again, first->dtype, gg_tensor_count(first),
                                poison_first, poison_again, result.data);
    GG_TRY(settle("compare bits"));
    GG_TRY(cuda_download(end, result.data, sizeof end));
    *difference = {(int64_t)end[0], (int64_t)end[1], (int64_t)end[2], (int64_t)end[3]};
    return GG_OK;
}

/* [timer][0 start, 1 stop]; made when first used, kept for the life of the process. */
static cudaEvent_t events[GG_TIMERS][2];
static int events_device = -1;

static gg_status record_event(const gg_backend *b, int timer, int side)
{
    if (events_device != b->ordinal) { /* an event belongs to one device */
        for (auto &pair : events) pair[0] = pair[1] = nullptr;
        events_device = b->ordinal;
    }
    cudaEvent_t *event = &events[timer][side];
    if (*event == nullptr)
        GG_TRY(check(cudaEventCreate(event), "create a timing event"));
    return check(cudaEventRecord(*event, (cudaStream_t)b->stream), "record a timing event");
}

static gg_status cuda_timer_start(const gg_backend *b, int timer)
{
    return record_event(b, timer, 0);
}

static gg_status cuda_timer_stop(const gg_backend *b, int timer)
{
    return record_event(b, timer, 1);
}

static gg_status cuda_timer_read(const gg_backend *, int timer, double *milliseconds)
{
    float elapsed = 0;
    GG_TRY(check(cudaEventElapsedTime(&elapsed, events[timer][0], events[timer][1]),
                 "read a timing event"));
    *milliseconds = (double)elapsed;
    return GG_OK;
}

static gg_status cuda_finish(const gg_backend *)
{
    return settle("the kernel's work on the GPU");
}

static void describe(const cudaDeviceProp &p, gg_backend *backend)
{
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    snprintf(backend->description, sizeof backend->description,
             "%s, %d multiprocessors, %.0f GiB, compute capability %d.%d", p.name,
             p.multiProcessorCount, (double)p.totalGlobalMem / 0x1p30, p.major, p.minor);
    snprintf(backend->driver, sizeof backend->driver, "CUDA driver %d.%d, runtime %d.%d",
             driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    char *out = backend->uuid;
    for (int i = 0; i < 16; i++) out += sprintf(out, "%02x", (unsigned char)p.uuid.bytes[i]);
}

gg_status gg_backend_open_cuda(int ordinal, gg_backend *backend)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0)
        return gg_fail(GG_NO_DEVICE, "no usable GPU (%s): use --device host",
                       error != cudaSuccess ? cudaGetErrorString(error) : "none found");
    if (ordinal < 0) ordinal = (-1 - ordinal) % count;
    if (ordinal >= count)
        return gg_fail(GG_NO_DEVICE, "no GPU number %d: this machine has %d, counted from 0",
                       ordinal, count);
    cudaDeviceProp p;
    GG_TRY(check(cudaGetDeviceProperties(&p, ordinal), "cannot read the GPU's properties"));
    if (p.major != 9)
        return gg_fail(GG_NO_DEVICE, "%s has compute capability %d.%d, and the kernels are "
                       "built for 9.0 (Hopper): use --device host", p.name, p.major, p.minor);
    GG_TRY(check(cudaSetDevice(ordinal), "cannot use the GPU"));
    cudaStream_t stream;
    GG_TRY(check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                 "cannot create a stream"));
    backend->name = "cuda";
    backend->device = kDLCUDA;
    backend->ordinal = ordinal;
    backend->visible = count;
    backend->stream = stream;
    describe(p, backend);
    backend->alloc = cuda_alloc;
    backend->free = cuda_free;
    backend->memory_left = cuda_memory_left;
    backend->upload = cuda_upload;
    backend->download = cuda_download;
    backend->copy = cuda_copy;
    gg_load_on_cuda(backend);
    gg_streams_on_cuda(backend);
    backend->fill = cuda_fill;
    backend->draw = cuda_draw;
    backend->draw_output = cuda_draw_output;
    backend->truth_scratch = cuda_truth_scratch;
    backend->truth = cuda_truth;
    backend->digest = cuda_digest;
    backend->measure = cuda_measure;
    backend->rounded_scratch = cuda_rounded_scratch;
    backend->rounded = cuda_rounded;
    backend->compare = cuda_compare;
    backend->timer_start = cuda_timer_start;
    backend->timer_stop = cuda_timer_stop;
    backend->timer_read = cuda_timer_read;
    backend->cache_bytes = (size_t)p.l2CacheSize;
    backend->finish = cuda_finish;
    return GG_OK;
}
