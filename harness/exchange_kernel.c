/* SPDX-License-Identifier: Apache-2.0
 * Files of outputs as a kernel: what was run elsewhere. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "harness/environment.h"
#include "harness/exchange.h"
#include "harness/outside.h"

enum { MOST_RUNS = 10000 };

typedef struct gg_files {
    gg_outside outside; /* first: they are one */
    const char *folder;
    const gg_case *what; /* the case of the runs counted */
    int run;
} gg_files;

/* File k of a case: with the first, "CASE.out.safetensors", it is number 0. */
static gg_status path_of(const char *folder, const gg_case *what, int k,
                         char path[GG_EXCHANGE_PATH])
{
    char ending[48] = ".out.safetensors";
    if (k > 0) snprintf(ending, sizeof ending, ".out.%d.safetensors", k);
    return gg_exchange_path(folder, what->id, ending, path);
}

static bool is_there(const char *path)
{
    struct stat there;
    return stat(path, &there) == 0;
}

/* A folder is no output, and opening a pipe would wait for its writer. */
static bool can_be_read(const char *path)
{
    struct stat there;
    return stat(path, &there) == 0 && S_ISREG(there.st_mode) && access(path, R_OK) == 0;
}

/* How many files a case has; *first: 1 when they begin with CASE.out.1. */
static gg_status count_files(const char *folder, const gg_case *what, int *first, int *count)
{
    char path[GG_EXCHANGE_PATH];
    GG_TRY(path_of(folder, what, 0, path));
    *first = is_there(path) ? 0 : 1;
    for (*count = 0; *count < MOST_RUNS; ++*count) {
        GG_TRY(path_of(folder, what, *first + *count, path));
        if (!is_there(path)) break;
    }
    return GG_OK;
}

static gg_status produce(gg_outside *outside, gg_trial *t, char path[GG_OUTSIDE_PATH])
{
    gg_files *f = (gg_files *)(void *)outside;
    int first, count;
    if (f->what != t->what) f->run = 0;
    f->what = t->what;
    GG_TRY(count_files(f->folder, t->what, &first, &count));
    if (count == 0)
        return gg_fail(GG_BAD_INPUT, "there is no %s.out.safetensors in %s", t->what->id,
                       f->folder);
    if (f->run >= count)
        return gg_fail(GG_BAD_INPUT, "outputs of case %s vanished", t->what->id);
    GG_TRY(path_of(f->folder, t->what, first + f->run++, path));
    return can_be_read(path) ? GG_OK
                             : gg_fail(GG_BAD_INPUT, "%s is no file that can be read", path);
}

static void close_files(gg_outside *outside) { free(outside); }

/* Counts the files of every case, and hashes them: they stand for the kernel. One that cannot
 * be read costs its own case alone, when it is asked for. */
static gg_status survey(const char *folder, gg_suite *suite, uint64_t *digest, int *repeats)
{
    char path[GG_EXCHANGE_PATH];
    uint64_t file;
    *digest = 0;
    *repeats = 1;
    for (int c = 0; c < suite->count; c++) {
        gg_case *what = &suite->cases[c];
        int first, count;
        if (what->source == NULL) continue;
        GG_TRY(count_files(folder, what, &first, &count));
        what->repeats = count > 0 ? count : 1;
        if (count > *repeats) *repeats = count;
        for (int k = 0; k < count; k++) {
            GG_TRY(path_of(folder, what, first + k, path));
            if (!can_be_read(path) || gg_file_digest(path, &file) != GG_OK) file = 0;
            *digest = XXH3_64bits_withSeed(&file, sizeof file, *digest);
        }
    }
    return GG_OK;
}

gg_status gg_exchange_kernel(const char *folder, gg_suite *suite, gg_outside **outside,
                             uint64_t *digest, int *repeats)
{
    GG_TRY(survey(folder, suite, digest, repeats));
    gg_files *f = calloc(1, sizeof *f);
    if (f == NULL) return gg_fail(GG_NO_MEMORY, "no memory for the outputs");
    f->outside = (gg_outside){.produce = produce, .close = close_files};
    f->folder = folder;
    *outside = &f->outside;
    return GG_OK;
}
