/* SPDX-License-Identifier: Apache-2.0
 * Planted faults of kernels that are right while their calls come one at a time: memory
 * and counters that all calls share. A call waits inside for another one, so that calls
 * which can be under way at the same time do disturb one another. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/triangle_attention/planted.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* nothing is torn, only wrong */
static char *buffer;
static size_t buffer_bytes;

/* Scratch memory of the kernel's own, once for all calls: forward leaves there what
 * backward needs. */
int gg_ta_one_scratch_forward(const gg_call *call)
{
    size_t bytes = gg_ta_armed_kernel()->saved_bytes(call);
    int error = gg_ta_planted_forward(call);
    if (error) return error;
    pthread_mutex_lock(&lock);
    if (bytes > buffer_bytes) {
        free(buffer);
        buffer = malloc(bytes);
        buffer_bytes = buffer ? bytes : 0;
    }
    if (buffer) memcpy(buffer, call->saved, bytes);
    else error = ENOMEM;
    pthread_mutex_unlock(&lock);
    gg_meet_another_call();
    return error;
}

int gg_ta_one_scratch_backward(const gg_call *call)
{
    size_t bytes = gg_ta_armed_kernel()->saved_bytes(call);
    pthread_mutex_lock(&lock);
    if (bytes <= buffer_bytes) memcpy(call->saved, buffer, bytes);
    pthread_mutex_unlock(&lock);
    return gg_ta_planted_backward(call);
}

/* Two parts of a call count themselves; the last one stores the output. The counter is one
 * for all calls, and each begins with setting it to 0. */
int gg_ta_one_counter(const gg_call *call)
{
    static atomic_int parts;
    gg_ta_array a = gg_ta_output_of(call, gg_ta_armed()->output);
    char *before = a.data ? malloc(a.count * a.size) : NULL;
    if (!before) return gg_ta_planted_backward(call);
    memcpy(before, a.data, a.count * a.size);
    atomic_store(&parts, 0);
    int error = gg_ta_planted_backward(call);
    atomic_fetch_add(&parts, 1);
    gg_meet_another_call();
    if (atomic_fetch_add(&parts, 1) != 1) memcpy(a.data, before, a.count * a.size);
    free(before);
    return error;
}
