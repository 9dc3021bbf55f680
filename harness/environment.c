/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "build_identity.h" /* GG_VERSION, GG_COMMIT, GG_COMPILER: written by the Makefile */

gg_status gg_file_digest(const char *path, uint64_t *digest)
{
    FILE *file = fopen(path, "rb");
    XXH3_state_t *state = XXH3_createState();
    char buffer[1 << 16];
    size_t got = 0;
    bool good = file != NULL && state != NULL && XXH3_64bits_reset(state) == XXH_OK;
    while (good && (got = fread(buffer, 1, sizeof buffer, file)) > 0)
        good = XXH3_64bits_update(state, buffer, got) == XXH_OK;
    good = good && !ferror(file);
    *digest = good ? XXH3_64bits_digest(state) : 0;
    if (file != NULL) fclose(file);
    XXH3_freeState(state);
    return good ? GG_OK : gg_fail(GG_IO, "cannot read %s for its digest", path);
}

gg_status gg_program_digest(uint64_t *digest) { return gg_file_digest("/proc/self/exe", digest); }

gg_status gg_environment_build(gg_run_record *run)
{
    snprintf(run->version, sizeof run->version, "%s", GG_VERSION);
    snprintf(run->commit, sizeof run->commit, "%s", GG_COMMIT);
    snprintf(run->compiler, sizeof run->compiler, "%s", GG_COMPILER);
    return gg_program_digest(&run->kernel_digest);
}

void gg_environment_place(const gg_backend *backend, gg_place *place)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(place->host_cpu, sizeof place->host_cpu, "unknown processor");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL) continue;
        snprintf(place->host_cpu, sizeof place->host_cpu, "%.*s",
                 (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (file != NULL) fclose(file);
    place->host_threads = backend->threads;
    snprintf(place->gpu, sizeof place->gpu, "%s", backend->description);
    snprintf(place->gpu_uuid, sizeof place->gpu_uuid, "%s", backend->uuid);
    snprintf(place->driver, sizeof place->driver, "%s", backend->driver);
}

void gg_environment_time(char text[32])
{
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

double gg_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
