/* SPDX-License-Identifier: Apache-2.0
 * How every file of this program comes to be: whole or not at all. */
#ifndef REPORTS_FILE_OUT_H
#define REPORTS_FILE_OUT_H

#include <stdbool.h>
#include <stdio.h>

#include "reference/status.h"

/* Writes the content; faults of the file itself are found by the caller at the end. */
typedef gg_status (*gg_file_fill)(const void *context, FILE *file);

/* Writes to `path`.tmp-PID, syncs it and renames it: a reader sees the old file or the
 * whole new one, and on a full disk nothing changes. A pipe or device is written
 * directly. A link is followed; one that leads nowhere is GG_IO, for its target may be
 * anybody's. `what` ("report") begins the message of a fault. */
/* Now rather than after hours of measuring: whether gg_file_write could write there. */
gg_status gg_file_check(const char *path, const char *what);

/* What is not a "report" does not replace one, nor a packed file: evidence is not lost to a
 * slip of the hand. */
gg_status gg_file_write(const char *path, const char *what, gg_file_fill fill,
                        const void *context);

/* Whether the path is a link whose target is not there, or a circle of links. */
bool gg_file_is_lost_link(const char *path);

#endif
