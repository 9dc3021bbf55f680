/* SPDX-License-Identifier: Apache-2.0
 * A host kernel that works on another device's memory: tensors are copied in, guard bands
 * included, and copied out after each call. So the planted faults of a host twin try the
 * device's own side of the harness. */
#ifndef HARNESS_HOSTED_H
#define HARNESS_HOSTED_H

#include "harness/backend.h"
#include "kernels/abi.h"

/* The kernel itself on the host. Elsewhere a kernel that runs it there, which is valid
 * until the next call. */
const gg_kernel *gg_hosted(const gg_backend *backend, const gg_kernel *kernel);

#endif
