/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* mkdtemp, flock */
#include "harness/exec_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "reports/safetensors.h"

/* Inputs and outputs of this case, with room for the largest of the suite's others. */
static double bytes_of(const gg_trial *t)
{
    double most = 0;
    const gg_suite *suite = t->plan->suite;
    for (int c = 0; c < suite->count; c++) {
        const gg_case *what = &suite->cases[c];
        double bytes = 0;
        for (int side = 0; side < 2; side++) {
            const gg_tensor_decl *d = side ? t->op->outputs : t->op->inputs;
            for (int i = 0; d[i].name != NULL; i++) {
                gg_tensor tensor = gg_tensor_make(t->op, &d[i], what->extent,
                                                  side ? what->output_dtype[i]
                                                       : what->input_dtype[i]);
                bytes += (double)gg_tensor_bytes(&tensor);
            }
        }
        if (bytes > most) most = bytes;
    }
    return most;
}

static bool has_room(const char *folder, double bytes)
{
    struct statvfs fs;
    return access(folder, W_OK | X_OK) == 0 && statvfs(folder, &fs) == 0 &&
           (double)fs.f_bavail * (double)fs.f_frsize > 2 * bytes;
}

/* A folder that we made, with whatever the command put there; links are not followed. */
static void remove_tree(const char *path, int depth)
{
    char inner[2048];
    DIR *folder = opendir(path);
    for (struct dirent *d = folder ? readdir(folder) : NULL; d != NULL; d = readdir(folder)) {
        struct stat info;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0) continue;
        int size = snprintf(inner, sizeof inner, "%s/%s", path, d->d_name);
        if (size < 0 || (size_t)size >= sizeof inner || lstat(inner, &info) != 0) continue;
        if (S_ISDIR(info.st_mode) && depth < 16) remove_tree(inner, depth + 1);
        else unlink(inner);
    }
    if (folder != NULL) closedir(folder);
    rmdir(path);
}

/* Is this folder's process gone? Its name has the number; where that is of another space of
 * process numbers (a container), the lock tells. */
static bool is_abandoned(const char *path, long process)
{
    struct stat info;
    if (process <= 0 || kill((pid_t)process, 0) == 0 || errno != ESRCH) return false;
    if (lstat(path, &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid())
        return false;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool free_now = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0) close(fd);
    return free_now;
}

/* Removes what processes of ours left that were killed. */
static void sweep(const char *where)
{
    char path[512];
    DIR *folder = opendir(where);
    for (struct dirent *d = folder ? readdir(folder) : NULL; d != NULL; d = readdir(folder)) {
        long process = 0;
        int end = 0, size = snprintf(path, sizeof path, "%s/%s", where, d->d_name);
        if (size < 0 || (size_t)size >= sizeof path ||
            sscanf(d->d_name, "gradgate-%9ld-%n", &process, &end) != 1 || end == 0 ||
            strlen(d->d_name + end) != 6)
            continue;
        if (is_abandoned(path, process)) remove_tree(path, 0);
    }
    if (folder != NULL) closedir(folder);
}

static gg_status make_root(gg_exec_place *place, const gg_trial *t)
{
    const char *own = getenv("TMPDIR");
    double bytes = bytes_of(t);
    const char *folder = has_room("/dev/shm", bytes) ? "/dev/shm"
                         : own != NULL && own[0] != '\0' ? own : "/tmp";
    sweep(folder);
    int size = snprintf(place->root, sizeof place->root, "%s/gradgate-%ld-XXXXXX", folder,
                        (long)getpid());
    if (size < 0 || (size_t)size >= sizeof place->root || mkdtemp(place->root) == NULL) {
        place->root[0] = '\0';
        return gg_fail(GG_IO, "no folder for the command's files can be made in %s: %s", folder,
                       strerror(errno));
    }
    snprintf(place->log, sizeof place->log, "%s/log", place->root);
    place->lock = open(place->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (place->lock >= 0) (void)flock(place->lock, LOCK_EX | LOCK_NB);
    gg_status status = gg_warden_start(&place->warden, place->root);
    if (status != GG_OK) gg_exec_place_close(place);
    return status;
}

/* "o:BF16 dq:BF16": what the command is to write. */
static void list_outputs(const gg_trial *t, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int o = 0; o < t->outputs && used < size; o++)
        used += (size_t)snprintf(text + used, size - used, "%s%s:%s", o ? " " : "",
                                 t->op->outputs[o].name,
                                 gg_safetensors_type(t->output[o].dtype));
}

static gg_status write_inputs(const char *path, gg_trial *t)
{
    gg_safetensor_out tensors[GG_MAX_INPUTS];
    char outputs[256];
    gg_problem host;
    int count = 0;
    list_outputs(t, outputs, sizeof outputs);
    const char *const notes[] = {"operator", t->op->name, "case", t->what->id, "outputs",
                                 outputs, NULL};
    gg_status status = gg_problem_fetch(t->plan->backend, &t->problem, &host);
    for (int i = 0; i < t->inputs; i++)
        if (host.input[i].data != NULL)
            tensors[count++] = (gg_safetensor_out){t->op->inputs[i].name, host.input[i]};
    if (status == GG_OK) status = gg_safetensors_write(path, tensors, count, notes);
    gg_problem_release(&host);
    return status;
}

static bool untouched(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

gg_status gg_exec_place_inputs(gg_exec_place *place, gg_trial *t)
{
    char path[300];
    uint64_t digest;
    struct stat there;
    if (place->root[0] == '\0') GG_TRY(make_root(place, t));
    snprintf(path, sizeof path, "%s/in.safetensors", place->root);
    GG_TRY(gg_trial_digest_inputs(t, &digest));
    if (place->written && place->digest == digest && stat(path, &there) == 0 &&
        untouched(&there, &place->inputs))
        return GG_OK;
    place->written = false;
    GG_TRY(write_inputs(path, t));
    if (chmod(path, 0444) != 0 || stat(path, &place->inputs) != 0)
        return gg_fail(GG_IO, "%s: %s", path, strerror(errno));
    place->written = true;
    place->digest = digest;
    return GG_OK;
}

gg_status gg_exec_place_call(gg_exec_place *place, char folder[GG_EXEC_FOLDER])
{
    char from[300], to[GG_EXEC_FOLDER + 16];
    gg_exec_place_done(place);
    snprintf(folder, GG_EXEC_FOLDER, "%s/%u", place->root, place->calls++);
    snprintf(from, sizeof from, "%s/in.safetensors", place->root);
    snprintf(to, sizeof to, "%s/in.safetensors", folder);
    if (truncate(place->log, 0) != 0 && errno != ENOENT)
        return gg_fail(GG_IO, "%s: %s", place->log, strerror(errno));
    if (mkdir(folder, 0700) != 0 || link(from, to) != 0)
        return gg_fail(GG_IO, "%s: %s", to, strerror(errno));
    snprintf(place->call, sizeof place->call, "%s", folder);
    return GG_OK;
}

void gg_exec_place_done(gg_exec_place *place)
{
    if (place->call[0] != '\0') remove_tree(place->call, 0);
    place->call[0] = '\0';
}

void gg_exec_place_close(gg_exec_place *place)
{
    if (place->root[0] == '\0') return;
    remove_tree(place->root, 0);
    if (place->lock >= 0) close(place->lock);
    place->root[0] = '\0';
    gg_warden_end(&place->warden);
}

size_t gg_exec_place_log(const gg_exec_place *place, char *text, size_t size)
{
    int fd = open(place->log, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    off_t from = end > (off_t)size ? end - (off_t)size : 0;
    ssize_t got = fd < 0 ? 0 : pread(fd, text, size, from);
    if (fd >= 0) close(fd);
    return got > 0 ? (size_t)got : 0;
}
