/* SPDX-License-Identifier: Apache-2.0
 * The host as a place to run: memory is malloc's, work is done by threads. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/backend.h"
#include "harness/digest.h"
#include "harness/environment.h"
#include "reference/parallel.h"

static gg_status host_alloc(size_t bytes, void **memory)
{
    size_t whole = (bytes + 4095) / 4096 * 4096;
    *memory = whole < bytes ? NULL : aligned_alloc(4096, whole ? whole : 4096);
    if (*memory == NULL)
        return gg_fail(GG_NO_MEMORY, "the host refuses %.1f GiB of memory",
                       (double)bytes / 0x1p30);
    return GG_OK;
}

static size_t host_memory_left(void)
{
    long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t)pages * (size_t)size : 0;
}

static gg_status host_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return GG_OK;
}

static gg_status host_fill(void *memory, size_t bytes, uint32_t pattern)
{
    unsigned char *byte = memory;
    for (size_t i = 0; i + 4 <= bytes; i += 4) memcpy(byte + i, &pattern, 4);
    memcpy(byte + bytes / 4 * 4, &pattern, bytes % 4);
    return GG_OK;
}

static gg_status host_draw(const gg_backend *b, const gg_draw *draw, uint64_t seed,
                           int tensor, gg_tensor *out)
{
    return gg_draw_host(draw, seed, tensor, out, b->threads);
}

static gg_status host_draw_output(const gg_backend *b, double scale, const double *truth,
                                  gg_tensor *out)
{
    return gg_draw_output_host(scale, truth, out, b->threads);
}

static size_t host_truth_scratch(const gg_operator *op, const gg_problem *problem)
{
    (void)op, (void)problem;
    return 0;
}

static gg_status host_truth(const gg_backend *b, const gg_operator *op,
                            const gg_problem *problem, const gg_truth *truth, void *scratch)
{
    (void)scratch;
    return op->reference.host(problem, truth, b->threads);
}

static gg_status host_rounded(const gg_backend *b, const gg_operator *op,
                              const gg_problem *problem, const gg_roundings *roundings,
                              const gg_truth *values, void *scratch)
{
    (void)scratch;
    return op->reference.rounded(problem, roundings, values, b->threads);
}

static gg_status host_digest(const gg_backend *b, const void *data, size_t bytes,
                             uint64_t *digest)
{
    return gg_digest_host(data, bytes, b->threads, digest);
}

typedef struct measure_job {
    const gg_tensor *output;
    const double *truth, *allowance;
    int64_t count;
    gg_sums *chunks;  /* [chunks] */
    int64_t *bins;    /* [threads][GG_RATIO_BINS] */
} measure_job;

static void measure_chunk(void *context, int64_t index, int worker)
{
    const measure_job *j = context;
    int64_t *bins = j->bins + (int64_t)worker * GG_RATIO_BINS;
    int64_t start = index * GG_CHUNK, end = start + GG_CHUNK;
    gg_sums lane[GG_LANES];
    for (int c = 0; c < GG_LANES; c++) lane[c] = gg_sums_zero();
    for (int64_t i = start; i < end && i < j->count; i++) {
        int bin = gg_measure_one(&lane[(i - start) % GG_LANES], j->output->data,
                                 j->output->dtype, j->truth, j->allowance, i);
        if (bin >= 0) bins[bin]++;
    }
    for (int half = GG_LANES / 2; half > 0; half /= 2)
        for (int c = 0; c < half; c++) gg_sums_add(&lane[c], &lane[c + half]);
    j->chunks[index] = lane[0];
}

static gg_status host_measure(const gg_backend *b, const gg_tensor *output,
                              const double *truth, const double *allowance,
                              gg_measures *measures)
{
    int64_t count = gg_tensor_count(output), chunks = (count + GG_CHUNK - 1) / GG_CHUNK;
    measure_job j = {output, truth, allowance, count, NULL, NULL};
    j.chunks = malloc((size_t)(chunks + 1) * sizeof *j.chunks);
    j.bins = calloc((size_t)b->threads * GG_RATIO_BINS, sizeof *j.bins);
    if (j.chunks == NULL || j.bins == NULL) {
        free(j.chunks);
        free(j.bins);
        return gg_fail(GG_NO_MEMORY, "no memory to measure %lld elements", (long long)count);
    }
    gg_parallel(chunks, b->threads, measure_chunk, &j);
    measures->sums = gg_sums_zero();
    for (int64_t c = 0; c < chunks; c++) gg_sums_add(&measures->sums, &j.chunks[c]);
    for (int t = 1; t < b->threads; t++)
        for (int i = 0; i < GG_RATIO_BINS; i++) j.bins[i] += j.bins[t * GG_RATIO_BINS + i];
    measures->ratio_p99 = gg_ratio_p99(j.bins, measures->sums.finite);
    free(j.chunks);
    free(j.bins);
    return GG_OK;
}

typedef struct compare_job {
    const void *first, *again;
    gg_dtype dtype;
    int64_t count, span;
    uint32_t poison_first, poison_again;
    gg_difference *parts; /* [indices] */
} compare_job;

static void compare_span(void *context, int64_t index, int worker)
{
    const compare_job *j = context;
    gg_difference d = {0, INT64_MAX, 0, 0};
    (void)worker;
    for (int64_t i = index * j->span; i < (index + 1) * j->span && i < j->count; i++)
        gg_compare_one(&d, j->first, j->again, j->dtype, i, j->poison_first,
                       j->poison_again);
    j->parts[index] = d;
}

static gg_status host_compare(const gg_backend *b, const gg_tensor *first,
                              const void *again, uint32_t poison_first,
                              uint32_t poison_again, gg_difference *difference)
{
    gg_difference parts[64];
    int64_t count = gg_tensor_count(first), spans = count < 65536 ? 1 : 64;
    compare_job j = {first->data,  again,        first->dtype, count, (count + spans - 1) / spans,
                     poison_first, poison_again, parts};
    gg_parallel(spans, b->threads, compare_span, &j);
    *difference = parts[0];
    for (int64_t s = 1; s < spans; s++) {
        difference->differing += parts[s].differing;
        difference->unwritten += parts[s].unwritten;
        if (parts[s].first < difference->first) difference->first = parts[s].first;
        if (parts[s].ulps > difference->ulps) difference->ulps = parts[s].ulps;
    }
    return GG_OK;
}

/* [timer][0 start, 1 stop], in seconds */
static double times[GG_TIMERS][2];

static gg_status host_timer_start(const gg_backend *b, int timer)
{
    (void)b;
    times[timer][0] = gg_seconds();
    return GG_OK;
}

static gg_status host_timer_stop(const gg_backend *b, int timer)
{
    (void)b;
    times[timer][1] = gg_seconds();
    return GG_OK;
}

static gg_status host_timer_read(const gg_backend *b, int timer, double *milliseconds)
{
    (void)b;
    *milliseconds = 1e3 * (times[timer][1] - times[timer][0]);
    return GG_OK;
}

/* sysconf names the cache on glibc alone; elsewhere its size is not known. */
static size_t host_cache_bytes(void)
{
#ifdef _SC_LEVEL3_CACHE_SIZE
    long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? (size_t)bytes : 0;
#else
    return 0;
#endif
}

static gg_status host_finish(const gg_backend *b)
{
    (void)b;
    return GG_OK;
}

gg_status gg_problem_fetch(const gg_backend *backend, const gg_problem *problem,
                           gg_problem *host)
{
    *host = *problem;
    for (int i = 0; i < GG_MAX_INPUTS; i++) host->input[i].data = NULL;
    for (int i = 0; i < GG_MAX_INPUTS; i++) {
        const gg_tensor *t = &problem->input[i];
        if (t->data == NULL) continue;
        size_t bytes = gg_tensor_bytes(t);
        host->input[i].data = malloc(bytes + 1);
        if (host->input[i].data == NULL)
            return gg_fail(GG_NO_MEMORY, "no memory for a host copy of the inputs");
        GG_TRY(backend->download(host->input[i].data, t->data, bytes));
    }
    return GG_OK;
}

void gg_problem_release(gg_problem *host)
{
    for (int i = 0; i < GG_MAX_INPUTS; i++) free(host->input[i].data);
}

double gg_ratio_p99(const int64_t *bins, int64_t finite)
{
    int64_t above = finite / 100, seen = 0; /* at most 1 % may lie above the percentile */
    for (int bin = GG_RATIO_BINS - 1; bin > 0; bin--) {
        seen += bins[bin];
        if (seen > above) return ldexp(1.0 + (bin % 64 + 1) / 64.0, bin / 64 - 40);
    }
    return 0;
}

static gg_status parse_ordinal(const char *device, int *ordinal)
{
    char *end;
    bool any = device[4] == ':' && device[5] == '+';
    const char *digits = device + (any ? 6 : 5);
    long value = device[4] == ':' && *digits >= '0' && *digits <= '9'
                     ? strtol(digits, &end, 10) : -1;
    if (device[4] == '\0') {
        *ordinal = 0;
        return GG_OK;
    }
    if (value < 0 || value > 1023 || *end != '\0')
        return gg_fail(GG_BAD_INPUT, "unknown device '%s': say host, cuda or cuda:NUMBER",
                       device);
    *ordinal = any ? -1 - (int)value : (int)value;
    return GG_OK;
}

gg_status gg_backend_open(const char *device, int threads, gg_backend *backend)
{
    *backend = (gg_backend){.name = "host", .device = kDLCPU, .alloc = host_alloc,
        .free = free, .memory_left = host_memory_left, .upload = host_copy,
        .download = host_copy, .copy = host_copy, .fill = host_fill, .draw = host_draw,
        .draw_output = host_draw_output, .truth_scratch = host_truth_scratch,
        .truth = host_truth, .rounded_scratch = host_truth_scratch,
        .rounded = host_rounded, .digest = host_digest, .measure = host_measure,
        .compare = host_compare, .timer_start = host_timer_start,
        .timer_stop = host_timer_stop, .timer_read = host_timer_read,
        .finish = host_finish};
    gg_load_on_host(backend);
    gg_streams_on_host(backend);
    backend->threads = threads;
    backend->cache_bytes = host_cache_bytes();
    if (strcmp(device, "host") == 0) return GG_OK;
    if (strncmp(device, "cuda", 4) != 0)
        return gg_fail(GG_BAD_INPUT, "unknown device '%s': say host, cuda or cuda:NUMBER",
                       device);
    int ordinal = 0;
    GG_TRY(parse_ordinal(device, &ordinal));
#if GG_CUDA
    return gg_backend_open_cuda(ordinal, backend);
#else
    return gg_fail(GG_NO_DEVICE, "this gradgate was built without CUDA: install nvcc and "
                   "build again, or use --device host");
#endif
}
