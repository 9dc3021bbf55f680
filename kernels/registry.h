/* SPDX-License-Identifier: Apache-2.0
 * The built-in kernels. */
#ifndef KERNELS_REGISTRY_H
#define KERNELS_REGISTRY_H

#include "kernels/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const gg_kernel gg_ta_naive_twin, gg_ta_recompute_twin, gg_ta_turbo_twin;
extern const gg_kernel gg_ta_twopass_twin, gg_ta_split_twin;
extern const gg_kernel gg_linear_plain_twin;
extern const gg_kernel gg_ta_scattered_host, gg_linear_scattered_host;

/* Defined in the .cu files; listed when built with GG_CUDA=1. */
extern const gg_kernel gg_ta_naive_cuda, gg_ta_recompute_cuda, gg_ta_atomic_cuda;
extern const gg_kernel gg_ta_turbo_cuda, gg_ta_twopass_cuda, gg_ta_split_cuda;
extern const gg_kernel gg_linear_plain_cuda, gg_linear_splitk_cuda;

/* All built-in kernels, ended by NULL. */
extern const gg_kernel *const gg_kernels[];

/* The operator's kernel on that device whose bits are known to differ from run to run:
 * the control of the determinism levels. NULL when there is none. */
const gg_kernel *gg_kernel_control(const char *operator_name, DLDeviceType device);

/* The built-in kernel of that operator, name and device; NULL when there is none. */
const gg_kernel *gg_kernel_find(const char *operator_name, const char *name,
                                DLDeviceType device);

#ifdef __cplusplus
}
#endif
#endif
