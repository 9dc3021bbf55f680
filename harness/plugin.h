/* SPDX-License-Identifier: Apache-2.0
 * Kernels that a shared object brings (kernels/abi.h, GG_PLUGIN). */
#ifndef HARNESS_PLUGIN_H
#define HARNESS_PLUGIN_H

#include "cases/operator.h"
#include "kernels/abi.h"

typedef struct gg_plugin {
    char path[1024];
    const char *wanted;               /* NAME of "./mine.so:NAME", NULL: none said */
    uint64_t digest;                  /* XXH3-64 of the file */
    const gg_kernel *const *kernels;  /* ended by NULL; valid until the process ends */
} gg_plugin;

/* True for what names a file: "./mine.so", "mine.so:fast", "/opt/k.so.2:NAME". */
bool gg_plugin_named(const char *text);

/* Loads the file and checks every kernel in it: GG_BAD_INPUT with one line for whatever
 * is wrong. It is first loaded in a process of its own, so that a file that ends the
 * process, or hangs, is refused too. The object stays loaded. `text` must outlive it. */
gg_status gg_plugin_open(const char *text, gg_plugin *plugin);

/* The plug-in's kernel for an operator and device: the one named, or the only one. */
gg_status gg_plugin_choose(const gg_plugin *plugin, const gg_operator *op,
                           DLDeviceType device, const gg_kernel **kernel);

/* GG_OK when the struct is whole and its tensors are those of its operator. `origin` is
 * where it comes from, for the message. */
gg_status gg_kernel_check(const gg_kernel *kernel, const char *origin);

#endif
