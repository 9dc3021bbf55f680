/* SPDX-License-Identifier: Apache-2.0
 * Golden digests: the output bits of a kernel on a real card, case by case, against which
 * any later run (host twin or card) can be checked. A small text file, made from a
 * report; the format is in cases/README.md. */
#ifndef HARNESS_GOLDEN_H
#define HARNESS_GOLDEN_H

#include "reports/record.h"

typedef struct gg_golden_entry {
    char id[96], output[16];
    uint64_t input_digest, digest;
} gg_golden_entry;

typedef struct gg_golden {
    char operator_name[32], kernel[64], suite[64], source[128];
    uint64_t suite_digest;
    gg_golden_entry *entries;
    int count;
} gg_golden;

gg_status gg_golden_load(const char *path, gg_golden *golden);
void gg_golden_free(gg_golden *golden);
/* The entry of one output of one case; NULL when there is none. */
const gg_golden_entry *gg_golden_find(const gg_golden *golden, const char *id,
                                      const char *output);
/* Writes the digests of a report's cases to `path`; every case must have run twice or
 * more, with equal bits. */
gg_status gg_golden_write(const gg_run_record *run, const char *path);

#endif
