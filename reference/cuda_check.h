/* SPDX-License-Identifier: Apache-2.0
 * CUDA calls of the reference, their failures turned into a gg_status with a message.
 * CUDA C++ only. */
#ifndef REFERENCE_CUDA_CHECK_H
#define REFERENCE_CUDA_CHECK_H

#include <cuda_runtime.h>

#include "reference/status.h"

static inline gg_status gg_cuda_status(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return GG_OK;
    return gg_fail(GG_DEVICE_FAULT,
                   "%s: %s (%s); compute-sanitizer shows which access it was",
                   what, cudaGetErrorString(error), cudaGetErrorName(error));
}

#define GG_CUDA_TRY(call) GG_TRY(gg_cuda_status((call), #call))

/* Queues kernel(args...) on `stream` with `shared` bytes of dynamic shared memory, and
 * asks for the launch error. A launch of no blocks is no launch. */
template <typename... Parameters, typename... Arguments>
static gg_status gg_launch(const char *name, void (*kernel)(Parameters...), dim3 blocks,
                           int threads, size_t shared, cudaStream_t stream,
                           Arguments... args)
{
    if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) return GG_OK;
    if (shared > 48 * 1024) { /* more than the default needs the kernel's consent */
        GG_TRY(gg_cuda_status(
            cudaFuncSetAttribute((const void *)kernel,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)shared),
            name));
    }
    kernel<<<blocks, (unsigned)threads, shared, stream>>>(args...);
    return gg_cuda_status(cudaGetLastError(), name);
}

#endif
