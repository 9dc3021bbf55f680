/* SPDX-License-Identifier: Apache-2.0
 * A command as the kernel on trial (kernels/README.md has the protocol):
 *   exec:CMD    one process a call: CMD is run with a directory as its last argument
 *   serve:CMD   one process for many: CMD reads directories, one a line, and answers each
 *               with a line: ok, declined REASON, error TEXT
 * The directory holds in.safetensors; CMD writes out.safetensors there. */
#ifndef HARNESS_EXEC_H
#define HARNESS_EXEC_H

#include "harness/outside.h"

enum { GG_EXEC_TIMEOUT = 300 };

/* True for "exec:..." and "serve:...", not for NULL. */
bool gg_exec_named(const char *text);

/* `text` must outlive it. `device` ("host", "cuda") goes to the command as GRADGATE_DEVICE.
 * GG_BAD_INPUT when there is no such program. Nothing is started before the first call.
 * *digest: of the text and of the files that its words name. */
gg_status gg_exec_open(const char *text, const char *device, gg_outside **outside,
                       uint64_t *digest);

#endif
