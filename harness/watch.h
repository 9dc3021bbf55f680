/* SPDX-License-Identifier: Apache-2.0
 * Tells whoever watches this process when code of the kernel on trial runs, so that a
 * crash or a hang can be laid at the right door. Costs nothing when nobody watches. */
#ifndef HARNESS_WATCH_H
#define HARNESS_WATCH_H

#include <stdbool.h>
#include <stddef.h>

/* From now on lines go to `fd`: "kernel NAME" when a call starts, "harness" when it is
 * over. */
void gg_watch_open(int fd);
void gg_watch_kernel(const char *call); /* "supports", "forward", "backward", ... */
void gg_watch_harness(void);

/* A whole text to a file descriptor, through interruptions; false when it cannot be. */
bool gg_write_all(int fd, const char *text, size_t size);

#endif
