/* SPDX-License-Identifier: Apache-2.0
 * Preloaded into the program under test (memory_test.sh): the allocation number
 * GRADGATE_FAIL_AT, counted from 1, is refused; with GRADGATE_FAIL_ON all after it too. The
 * number of allocations goes to the file GRADGATE_COUNT. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static atomic_long made;
static long fail_at;
static bool fail_on;

static long number(const char *name)
{
    const char *text = getenv(name);
    return text == NULL ? 0 : strtol(text, NULL, 10);
}

__attribute__((constructor)) static void start(void)
{
    fail_on = getenv("GRADGATE_FAIL_ON") != NULL;
    fail_at = number("GRADGATE_FAIL_AT");
    atomic_store(&made, 0);
}

__attribute__((destructor)) static void count(void)
{
    const char *path = getenv("GRADGATE_COUNT");
    char text[24];
    int fd = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0) return;
    int length = snprintf(text, sizeof text, "%ld\n", atomic_load(&made));
    if (write(fd, text, (size_t)length) != length) fail_at = 0;
    close(fd);
}

static bool refused(void)
{
    long turn = atomic_fetch_add(&made, 1) + 1;
    if (fail_at == 0 || turn < fail_at || (turn > fail_at && !fail_on)) return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes) { return refused() ? NULL : __libc_malloc(bytes); }

void *calloc(size_t count_of, size_t bytes)
{
    return refused() ? NULL : __libc_calloc(count_of, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return refused() ? NULL : __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    return refused() ? NULL : __libc_memalign(align, bytes);
}

void *memalign(size_t align, size_t bytes) { return aligned_alloc(align, bytes); }

int posix_memalign(void **memory, size_t align, size_t bytes)
{
    *memory = aligned_alloc(align, bytes);
    return *memory == NULL ? ENOMEM : 0;
}
