/* SPDX-License-Identifier: Apache-2.0
 * Where a command finds its inputs and leaves its outputs: a folder of our own in memory
 * (/dev/shm) when there is room, else under TMPDIR or /tmp, with one folder a call in it.
 * Folders that killed processes left are removed when a new one is made. */
#ifndef HARNESS_EXEC_PLACE_H
#define HARNESS_EXEC_PLACE_H

#include <sys/stat.h>

#include "harness/exec_warden.h"
#include "harness/trial.h"

enum { GG_EXEC_FOLDER = 512, GG_EXEC_DECLINES = 77 };

typedef struct gg_exec_place {
    char root[256];            /* "": not made yet */
    int lock;                  /* of root, as long as we live; -1: none */
    char log[300];             /* what the command says on its standard error */
    char call[GG_EXEC_FOLDER]; /* of the call under way, "": none */
    unsigned calls;
    bool written;              /* the inputs are there, with this digest, and untouched: */
    uint64_t digest;
    struct stat inputs;
    gg_warden warden;          /* removes the folder should this process die */
} gg_exec_place;

/* Makes the folder when there is none, and writes the trial's inputs unless the same ones
 * are there. */
gg_status gg_exec_place_inputs(gg_exec_place *place, gg_trial *t);
/* A new folder with in.safetensors in it. */
gg_status gg_exec_place_call(gg_exec_place *place, char folder[GG_EXEC_FOLDER]);
void gg_exec_place_done(gg_exec_place *place);  /* removes the call's folder */
void gg_exec_place_close(gg_exec_place *place); /* removes everything */

/* The end of the log, at most `size` bytes; how many there are. */
size_t gg_exec_place_log(const gg_exec_place *place, char *text, size_t size);

#endif
