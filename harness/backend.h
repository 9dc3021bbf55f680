/* SPDX-License-Identifier: Apache-2.0
 * Where a run happens: the host, or one CUDA device. The rest of the harness sees memory
 * and these verbs only. All work is in order; every verb but the asynchronous kernel
 * launches (through `stream`) has finished when it returns. */
#ifndef HARNESS_BACKEND_H
#define HARNESS_BACKEND_H

#include <dlpack/dlpack.h>

#include "cases/operator.h"
#include "harness/measure_core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gg_measures {
    gg_sums sums;
    double ratio_p99; /* upper edge of the bin that holds the 99th percentile; 0 below 2^-40 */
} gg_measures;

/* Work on other streams (CUDA) or threads (host), beside that of a kernel on trial. */
typedef struct gg_load gg_load;

/* Calls of a kernel under way at the same time, each on a stream (CUDA) or thread (host) of
 * its own. */
typedef struct gg_streams gg_streams;

/* When one of them was handed over or could begin, and when its forward and its backward
 * had ended: seconds on one clock. */
typedef struct gg_span {
    double begin, middle, end;
} gg_span;

/* Queues (CUDA) or does (host) one half of a call: 0 forward, 1 backward. Not 0: an error of
 * the kernel's, after which the call's other half is left out. */
typedef int gg_half_call(void *context, int call, int half);

/* Intervals that can be under way or unread at once. */
enum { GG_TIMERS = 256 };

typedef struct gg_backend {
    const char *name;     /* "host", "cuda" */
    DLDeviceType device;
    int ordinal;
    int visible;          /* GPUs that this process could open; 0 on the host */
    int threads;          /* host threads for host work */
    void *stream;         /* cudaStream_t */
    size_t cache_bytes;   /* last-level cache before memory, 0: not known */
    char description[96]; /* of the GPU, "" on the host */
    char uuid[64];
    char driver[64];

    gg_status (*alloc)(size_t bytes, void **memory);
    void (*free)(void *memory);
    size_t (*memory_left)(void);
    gg_status (*upload)(void *to, const void *from, size_t bytes);
    gg_status (*download)(void *to, const void *from, size_t bytes);
    gg_status (*copy)(void *to, const void *from, size_t bytes); /* both the backend's */
    gg_status (*fill)(void *memory, size_t bytes, uint32_t pattern);
    gg_status (*draw)(const struct gg_backend *, const gg_draw *, uint64_t seed, int tensor,
                      gg_tensor *out);
    gg_status (*draw_output)(const struct gg_backend *, double scale, const double *truth,
                             gg_tensor *out);
    size_t (*truth_scratch)(const gg_operator *, const gg_problem *);
    gg_status (*truth)(const struct gg_backend *, const gg_operator *, const gg_problem *,
                       const gg_truth *, void *scratch);
    /* Values with chosen roundings; the operator has them (reference.rounded). */
    size_t (*rounded_scratch)(const gg_operator *, const gg_problem *);
    gg_status (*rounded)(const struct gg_backend *, const gg_operator *, const gg_problem *,
                         const gg_roundings *, const gg_truth *, void *scratch);
    gg_status (*digest)(const struct gg_backend *, const void *data, size_t bytes,
                        uint64_t *digest);
    gg_status (*measure)(const struct gg_backend *, const gg_tensor *output,
                         const double *truth, const double *allowance, gg_measures *);
    gg_status (*compare)(const struct gg_backend *, const gg_tensor *first,
                         const void *again, uint32_t poison_first, uint32_t poison_again,
                         gg_difference *);
    /* The time between two points of the kernel's stream, without waiting for either;
     * `timer` is below GG_TIMERS. To be read after finish(). */
    gg_status (*timer_start)(const struct gg_backend *, int timer);
    gg_status (*timer_stop)(const struct gg_backend *, int timer);
    gg_status (*timer_read)(const struct gg_backend *, int timer, double *milliseconds);
    /* A load beside the kernel's stream. load_start() returns when it is running, or was
     * given time enough to; it stops by itself after `seconds`, come what may. load_stop()
     * waits for the kernel's stream alone, then stops the load: `seconds` is the time in
     * between, `shared` the part of it during which the load was really running. */
    gg_status (*load_open)(const struct gg_backend *, gg_load **load);
    gg_status (*load_start)(gg_load *load, double seconds);
    gg_status (*load_stop)(gg_load *load, double *shared, double *seconds);
    void (*load_close)(gg_load *load); /* NULL is allowed */
    double overlap_least; /* shared / seconds below which a load proves nothing */
    /* Calls `first` to `first + count - 1` at once: none begins before all can. Comes back
     * when all have ended; spans[call] and errors[call] are those of a call. */
    gg_status (*streams_open)(const struct gg_backend *, int calls, gg_streams **streams);
    void *(*streams_of)(const gg_streams *streams, int call); /* cudaStream_t; host: NULL */
    gg_status (*streams_run)(gg_streams *streams, int first, int count, gg_half_call *half,
                             void *context, gg_span *spans, int *errors);
    void (*streams_close)(gg_streams *streams); /* NULL is allowed */
    /* Waits for the stream; GG_DEVICE_FAULT with the error's text when work failed. */
    gg_status (*finish)(const struct gg_backend *);
} gg_backend;

/* Opens "host", "cuda", "cuda:I", or "cuda:+I": I modulo the number of GPUs. Without a
 * usable device: GG_NO_DEVICE. */
gg_status gg_backend_open(const char *device, int threads, gg_backend *backend);
/* A CUDA build only; -1 - I stands for I modulo the number of GPUs. */
gg_status gg_backend_open_cuda(int ordinal, gg_backend *backend);
void gg_load_on_host(gg_backend *backend); /* load_host.c: sets the load_ members */
void gg_load_on_cuda(gg_backend *backend); /* load_cuda.cu */
void gg_streams_on_host(gg_backend *backend); /* streams_host.c: the streams_ members */
void gg_streams_on_cuda(gg_backend *backend); /* streams_cuda.cu */

/* A copy of the problem with its inputs in host memory; release it whatever the status. */
gg_status gg_problem_fetch(const gg_backend *, const gg_problem *problem, gg_problem *host);
void gg_problem_release(gg_problem *host);

/* From the counts of all bins and the sums: the 99th percentile (see gg_measures). */
double gg_ratio_p99(const int64_t *bins, int64_t finite);

#ifdef __cplusplus
}
#endif
#endif
