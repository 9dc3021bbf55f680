/* SPDX-License-Identifier: Apache-2.0
 * Cases as files in a folder, for machines that gradgate does not reach:
 *   manifest.json              which cases, with the digest of their inputs
 *   CASE.safetensors           inputs, written by `gradgate export`
 *   CASE.out.safetensors       outputs, written by whatever is on trial
 *   CASE.out.1.safetensors     ... of further runs on the same inputs
 * `gradgate check` judges them as a run would. */
#ifndef HARNESS_EXCHANGE_H
#define HARNESS_EXCHANGE_H

#include "cases/suite.h"
#include "harness/outside.h"

enum { GG_EXCHANGE_PATH = 1100 };

typedef struct gg_export_options {
    const char *suite, *device, *glob; /* as in gg_run_options */
    const char *folder;
    int threads;
} gg_export_options;

/* Writes the folder; *count: cases. GG_BAD_INPUT when it holds an export already. */
gg_status gg_exchange_export(const gg_export_options *options, int *count);

/* The exported suite: as long as the whole, in it the exported cases, the others without
 * id or source. Every input file is read and must have the digest that the manifest
 * says. `glob` gets the choice of cases, "" for all. Free the suite whatever comes back. */
gg_status gg_exchange_load(const char *folder, gg_suite *suite, char glob[96]);

/* The outputs as a kernel: run k of a case reads the k-th file. Sets the cases' repeats
 * and *repeats, the most of them. The suite must outlive it. */
gg_status gg_exchange_kernel(const char *folder, gg_suite *suite, gg_outside **outside,
                             uint64_t *digest, int *repeats);

/* DIR/NAME, or GG_BAD_INPUT when it is too long. */
gg_status gg_exchange_path(const char *folder, const char *name, const char *ending,
                           char path[GG_EXCHANGE_PATH]);

#endif
