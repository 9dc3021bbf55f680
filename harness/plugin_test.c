/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/plugin.h"

#include <criterion/criterion.h>

#include "harness/candidate.h"
#include "kernels/registry.h"

TestSuite(plugin, .timeout = 60);

Test(plugin, a_path_is_told_from_a_name)
{
    cr_assert(gg_plugin_named("./mine.so"));
    cr_assert(gg_plugin_named("mine.so"));
    cr_assert(gg_plugin_named("mine.so:fast"));
    cr_assert(gg_plugin_named("/opt/kernels/libk.so.2:fast"));
    cr_assert(gg_plugin_named("build/mine"));
    cr_assert_not(gg_plugin_named("turbo"));
    cr_assert_not(gg_plugin_named("exec:./mine.so"));
    cr_assert_not(gg_plugin_named("serve:python3 ./a.so"));
    cr_assert_not(gg_plugin_named("turbo:x.so"));
    cr_assert_not(gg_plugin_named(""));
}

Test(plugin, every_built_in_kernel_is_accepted)
{
    for (int i = 0; gg_kernels[i] != NULL; i++)
        cr_assert_eq(gg_kernel_check(gg_kernels[i], "here"), GG_OK, "%s", gg_message());
}

Test(plugin, what_is_left_out_is_filled_in)
{
    gg_kernel bare = *gg_kernels[0];
    gg_candidate candidate = {.digest = 0};
    gg_call call = {.threads = 1};
    bare.supports = NULL;
    bare.saved_bytes = bare.workspace_bytes = NULL;
    bare.limits = NULL;
    bare.limits_note = NULL;
    cr_assert_eq(gg_candidate_take(&bare, "here", &candidate), GG_OK);
    cr_assert_null(candidate.kernel.supports(&call));
    cr_assert_eq(candidate.kernel.saved_bytes(&call), 0);
    cr_assert_eq(candidate.kernel.workspace_bytes(&call), 0);
    cr_assert(candidate.kernel.limits[0].gauge_max != candidate.kernel.limits[0].gauge_max);
    cr_assert_str_eq(candidate.kernel.limits_note, "no limits stated");
}

/* The built-in kernel with one member changed is refused, with a word on what is wrong. */
#define REFUSED(edit, word)                                                             \
    do {                                                                                \
        gg_kernel kernel = *gg_kernels[0];                                              \
        edit;                                                                           \
        cr_expect_eq(gg_kernel_check(&kernel, "x.so"), GG_BAD_INPUT, #edit);            \
        cr_expect(strstr(gg_message(), word) != NULL, "%s", gg_message());              \
    } while (0)

Test(plugin, a_wrong_struct_is_refused)
{
    static const char *const few[] = {"q", NULL};
    static const gg_limits negative[GG_MAX_OUTPUTS] = {{1, 1, -1, 1}};
    static const gg_feature odd[] = {{"a b", "", 1}, {NULL, NULL, 0}};
    REFUSED(kernel.abi_version++, "version 2");
    REFUSED(kernel.struct_bytes--, "bytes");
    REFUSED(kernel.name = "", "name");
    REFUSED(kernel.name = NULL, "name");
    REFUSED(kernel.operator_name = "sorting", "not known");
    REFUSED(kernel.operator_name = NULL, "NULL");
    REFUSED(kernel.summary = NULL, "NULL");
    REFUSED(kernel.inputs = NULL, "NULL");
    REFUSED(kernel.inputs = few, "input 1 is '(none)'");
    REFUSED(kernel.outputs = few, "output 0 is 'q'");
    REFUSED(kernel.device = kDLMetal, "device");
    REFUSED(kernel.repeat = (gg_repeat)7, "repeat");
    REFUSED(kernel.forward = NULL, "forward");
    REFUSED(kernel.forward_outputs = 3, "forward_outputs is 3");
    REFUSED(kernel.limits = negative, "negative");
    REFUSED(kernel.limits_note = "", "limits_note");
    REFUSED(kernel.features = odd, "feature");
}
