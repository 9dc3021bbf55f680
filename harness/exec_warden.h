/* SPDX-License-Identifier: Apache-2.0
 * A process that outlives this one to tidy up after it, however it ends (Ctrl-C, kill -9,
 * no memory): it ends the process group of the user's command and removes the folder in
 * memory, which would hold both until the machine is restarted. */
#ifndef HARNESS_EXEC_WARDEN_H
#define HARNESS_EXEC_WARDEN_H

#include <sys/types.h>

#include "reference/status.h"

typedef struct gg_warden {
    pid_t pid; /* 0: none */
    int to;
} gg_warden;

gg_status gg_warden_start(gg_warden *warden, const char *folder);
/* The group to end; 0: none. */
void gg_warden_watch(const gg_warden *warden, pid_t group);
/* Sends it home; nothing is left to tidy up. */
void gg_warden_end(gg_warden *warden);

#endif
