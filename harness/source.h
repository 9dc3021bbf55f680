/* SPDX-License-Identifier: Apache-2.0
 * Where a kernel is written, for the lines that a CI server shows at a file. */
#ifndef HARNESS_SOURCE_H
#define HARNESS_SOURCE_H

#include "reports/record.h"

/* The file of the kernel of a record, below the current folder, by the names that a kernel
 * has in these sources (README.md, "Add a kernel"); "" when there is none. */
void gg_kernel_source(const gg_run_record *run, char path[256]);

#endif
