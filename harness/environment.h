/* SPDX-License-Identifier: Apache-2.0
 * What the evidence came from: this build, this machine, this time. */
#ifndef HARNESS_ENVIRONMENT_H
#define HARNESS_ENVIRONMENT_H

#include "harness/backend.h"
#include "reports/record.h"

/* Version, commit, compilers and the digest of the running program. */
gg_status gg_environment_build(gg_run_record *run);
/* XXH3-64 of a file; of the running program, which holds the built-in kernels. */
gg_status gg_file_digest(const char *path, uint64_t *digest);
gg_status gg_program_digest(uint64_t *digest);
/* CPU, threads and GPU. */
void gg_environment_place(const gg_backend *backend, gg_place *place);
/* RFC 3339 in UTC, seconds. */
void gg_environment_time(char text[32]);
/* A clock that only goes forward, for durations. */
double gg_seconds(void);

#endif
