/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* realpath */
#include "reports/file_out.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct gg_target {
    const char *path, *what;
    gg_file_fill fill;
    const void *context;
} gg_target;

static gg_status io_fault(const gg_target *target, const char *event, int code)
{
    const char *remedy = code == ENOSPC || code == EDQUOT || code == EFBIG
                             ? "free some space or give another path"
                             : "check the folder and its permissions";
    if (code == ENOMEM)
        return gg_fail(GG_NO_MEMORY, "%s %s: %s: no memory", target->what, target->path, event);
    return gg_fail(GG_IO, "%s %s: %s: %s; %s", target->what, target->path, event,
                   strerror(code), remedy);
}

/* Writes, syncs and closes; with `device` a sync that is not possible is no fault. */
static gg_status fill_file(int fd, const gg_target *target, bool device)
{
    FILE *file = fdopen(fd, "w");
    if (!file) {
        int code = errno;
        close(fd);
        return io_fault(target, "cannot be written", code);
    }
    errno = 0;
    gg_status status = target->fill(target->context, file);
    bool good = fflush(file) == 0 && !ferror(file);
    int code = errno ? errno : EIO;
    if (good && !device && fsync(fd) != 0) good = false, code = errno;
    if (fclose(file) != 0 && good) good = false, code = errno;
    if (status != GG_OK) return status;
    return good ? GG_OK : io_fault(target, "cannot be written", code);
}

/* The new name must survive a power cut too, so the folder is synced. Some file systems
 * refuse that: the file itself is safe by then, so it is no fault. */
static void sync_folder(const char *path)
{
    char *copy = strdup(path);
    if (!copy) return;
    int fd = open(dirname(copy), O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(copy);
}

static gg_status replace_file(const gg_target *target)
{
    size_t room = strlen(target->path) + 32;
    char *part = malloc(room);
    if (!part) return gg_fail(GG_NO_MEMORY, "no memory to write %s", target->path);
    snprintf(part, room, "%s.tmp-%ld", target->path, (long)getpid());
    /* a file of that name is from a process that died with our number */
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    gg_status status = GG_OK;
    if (fd < 0) status = io_fault(target, "cannot be created", errno);
    else {
        status = fill_file(fd, target, false);
        if (status == GG_OK && rename(part, target->path) != 0)
            status = io_fault(target, "cannot be replaced", errno);
        if (status != GG_OK) unlink(part);
        else sync_folder(target->path);
    }
    free(part);
    return status;
}

/* /dev/stdout, a pipe or /dev/full: something that must not be renamed over. */
static gg_status write_device(const gg_target *target)
{
    int fd = open(target->path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return io_fault(target, "cannot be opened", errno);
    return fill_file(fd, target, true);
}

bool gg_file_is_lost_link(const char *path)
{
    struct stat there;
    return stat(path, &there) != 0 && lstat(path, &there) == 0 && S_ISLNK(there.st_mode);
}

/* A report of ours, or a gzip file, which we never write. */
static bool is_evidence(const char *path)
{
    static const char report[] = "{\n \"reportFormat\": \"CTRF\"";
    char head[sizeof report - 1] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, head, sizeof head);
    if (fd >= 0) close(fd);
    return (got == (ssize_t)sizeof head && memcmp(head, report, sizeof head) == 0) ||
           (got >= 2 && memcmp(head, "\x1f\x8b", 2) == 0);
}

static gg_status refuse_evidence(const gg_target *target)
{
    if (strcmp(target->what, "report") == 0 || !is_evidence(target->path)) return GG_OK;
    return gg_fail(GG_BAD_INPUT, "%s %s: is a report or packed; name another file, or remove it",
                   target->what, target->path);
}

gg_status gg_file_check(const char *path, const char *what)
{
    gg_target target = {path, what, NULL, NULL};
    struct stat there;
    bool exists = stat(path, &there) == 0;
    if (exists && S_ISDIR(there.st_mode)) return io_fault(&target, "cannot be written", EISDIR);
    if (exists) GG_TRY(refuse_evidence(&target));
    if (exists)
        return access(path, W_OK) == 0 ? GG_OK : io_fault(&target, "cannot be written", errno);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return io_fault(&target, "cannot be created", errno);
    close(fd);
    unlink(path);
    return GG_OK;
}

gg_status gg_file_write(const char *path, const char *what, gg_file_fill fill,
                        const void *context)
{
    gg_target target = {path, what, fill, context};
    struct stat there;
    if (gg_file_is_lost_link(path))
        return gg_fail(GG_IO, "%s %s: is a link to what is not there; name a file", what, path);
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        if (S_ISDIR(there.st_mode)) return io_fault(&target, "cannot be written", EISDIR);
        return write_device(&target);
    }
    GG_TRY(refuse_evidence(&target));
    char *real = realpath(path, NULL); /* through a link, NULL when it is new */
    if (real) target.path = real;
    gg_status status = replace_file(&target);
    free(real);
    return status;
}
