/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/registry.h"

#include <criterion/criterion.h>

TestSuite(registry, .timeout = 60);

Test(registry, every_kernel_is_whole)
{
    for (size_t i = 0; gg_kernels[i]; i++) {
        const gg_kernel *k = gg_kernels[i];
        int outputs = 0;
        while (k->outputs[outputs]) outputs++;
        cr_assert_eq(k->abi_version, GG_ABI_VERSION);
        cr_assert_eq(k->struct_bytes, sizeof(gg_kernel));
        cr_assert(k->summary && k->inputs && k->limits && k->limits_note, "%s",
                  k->name);
        cr_assert(k->supports && k->saved_bytes && k->workspace_bytes, "%s", k->name);
        cr_assert(k->forward && k->backward, "%s", k->name);
        cr_assert(k->forward_outputs >= 1 && k->forward_outputs <= outputs, "%s",
                  k->name);
    }
}

Test(registry, kernels_are_found_by_operator_name_and_device)
{
    for (size_t i = 0; gg_kernels[i]; i++) {
        const gg_kernel *k = gg_kernels[i];
        cr_assert_eq(gg_kernel_find(k->operator_name, k->name, k->device), k);
    }
    cr_assert_null(gg_kernel_find("linear", "turbo", kDLCPU));
    cr_assert_null(gg_kernel_find("triangle_attention", "atomic", kDLCPU),
                   "has no twin");
}
