/* SPDX-License-Identifier: Apache-2.0
 * Bytes as a file that never touches a disk, for parsers that take a path. Define
 * _GNU_SOURCE before the first include. */
#ifndef REPORTS_FILE_FUZZ_H
#define REPORTS_FILE_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The path of a file that holds these bytes until the next call. */
static inline const char *fuzz_file(const uint8_t *data, size_t size)
{
    static char path[40];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    /* written over, then cut: the pages of the file before are not made anew */
    if (fd < 0 || pwrite(fd, data, size, 0) != (ssize_t)size || ftruncate(fd, (off_t)size) != 0)
        __builtin_trap();
    return path;
}

/* Where a table may be printed to. */
static inline FILE *fuzz_sink(void)
{
    static FILE *sink;
    if (sink == NULL) sink = fopen("/dev/null", "w");
    if (sink == NULL) __builtin_trap();
    return sink;
}

#endif
