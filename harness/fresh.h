/* SPDX-License-Identifier: Apache-2.0
 * One run of a case in a fresh process: the program starts itself anew, and the child
 * draws the inputs, runs the kernel once and sends back what its outputs are. The child
 * is not asked for bits that are equal: it is told the digests that are expected.
 *
 * On the child's standard output: a gg_fresh_answer, then for each output in declared
 * order a gg_fresh_output and `bytes` bytes of data (0 when the digest is the expected). */
#ifndef HARNESS_FRESH_H
#define HARNESS_FRESH_H

#include <stdint.h>

#include "reference/status.h"

#define GG_FRESH_MAGIC "GGfresh1"

typedef struct gg_fresh_answer {
    char magic[8];
    uint32_t status;       /* a gg_status; nothing follows unless GG_OK */
    uint32_t outputs;
    uint64_t input_digest; /* of all inputs, as in the record of a case */
    char message[192];
} gg_fresh_answer;

typedef struct gg_fresh_output {
    uint64_t digest, bytes;
} gg_fresh_output;

/* The name of the command that the child is started with, which no help mentions. */
#define GG_FRESH_COMMAND "fresh-process"

/* Says that this program, started anew with that command, answers as above. Until then
 * no process is started: a test program would run its tests again. */
void gg_fresh_allow(void);

/* A running child, and the pipe that its standard output is. */
typedef struct gg_child {
    long pid; /* 0: none */
    int fd;
    double deadline;
} gg_child;

/* Starts this program with `arguments` (ended by NULL, the command is put before). */
gg_status gg_child_start(const char *const *arguments, double seconds, gg_child *child);
/* Exactly `bytes` bytes, or a status that says how the child ended instead. */
gg_status gg_child_read(gg_child *child, void *to, uint64_t bytes);
void gg_child_end(gg_child *child); /* kills it if it still runs, and waits for it */

/* The child's side, for main(): the command named above. */
int gg_command_fresh(int argc, char **argv);

#endif
