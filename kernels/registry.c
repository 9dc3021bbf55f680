/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/registry.h"

#include <string.h>

const gg_kernel *const gg_kernels[] = {
    &gg_ta_naive_twin,
    &gg_ta_recompute_twin,
    &gg_ta_turbo_twin,
    &gg_ta_twopass_twin,
    &gg_ta_split_twin,
    &gg_ta_scattered_host,
    &gg_linear_plain_twin,
    &gg_linear_scattered_host,
#if GG_CUDA
    &gg_ta_naive_cuda,
    &gg_ta_recompute_cuda,
    &gg_ta_atomic_cuda,
    &gg_ta_turbo_cuda,
    &gg_ta_twopass_cuda,
    &gg_ta_split_cuda,
    &gg_linear_plain_cuda,
    &gg_linear_splitk_cuda,
#endif
    NULL,
};

static const gg_kernel *const controls[] = {
    &gg_ta_scattered_host,
    &gg_linear_scattered_host,
#if GG_CUDA
    &gg_ta_atomic_cuda,
    &gg_linear_splitk_cuda,
#endif
    NULL,
};

const gg_kernel *gg_kernel_control(const char *operator_name, DLDeviceType device)
{
    for (size_t i = 0; controls[i]; i++)
        if (controls[i]->device == device &&
            strcmp(controls[i]->operator_name, operator_name) == 0)
            return controls[i];
    return NULL;
}

const gg_kernel *gg_kernel_find(const char *operator_name, const char *name,
                                DLDeviceType device)
{
    for (size_t i = 0; gg_kernels[i]; i++) {
        const gg_kernel *kernel = gg_kernels[i];
        if (kernel->device == device && strcmp(kernel->name, name) == 0 &&
            strcmp(kernel->operator_name, operator_name) == 0)
            return kernel;
    }
    return NULL;
}
