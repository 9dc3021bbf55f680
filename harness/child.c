/* SPDX-License-Identifier: Apache-2.0
 * This program, started anew. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/environment.h"
#include "harness/fresh.h"

enum { MOST_ARGUMENTS = 32 };

extern char **environ;

static bool allowed;

void gg_fresh_allow(void) { allowed = true; }

static int spawn(char **argv, int out, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) return error;
    error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                                 O_WRONLY, 0);
    if (error == 0) error = posix_spawn(pid, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

gg_status gg_child_start(const char *const *arguments, double seconds, gg_child *child)
{
    char *argv[MOST_ARGUMENTS + 3] = {"gradgate", GG_FRESH_COMMAND};
    int ends[2], count = 2;
    *child = (gg_child){.pid = 0, .fd = -1};
    if (!allowed) return gg_fail(GG_NO_DEVICE, "this program cannot start itself anew");
    for (int i = 0; arguments[i] != NULL; i++) {
        if (i == MOST_ARGUMENTS)
            return gg_fail(GG_INTERNAL, "too many arguments for a fresh process");
        argv[count++] = (char *)(uintptr_t)arguments[i]; /* posix_spawn does not write them */
    }
    if (pipe(ends) != 0)
        return gg_fail(GG_NO_MEMORY, "no pipe for a fresh process: %s", strerror(errno));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t pid = 0;
    int error = spawn(argv, ends[1], &pid);
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        return gg_fail(GG_NO_MEMORY, "no fresh process: %s", strerror(error));
    }
    *child = (gg_child){.pid = pid, .fd = ends[0], .deadline = gg_seconds() + seconds};
    return GG_OK;
}

/* Why nothing more comes; the child is waited for. */
static gg_status ended_early(gg_child *child)
{
    int how = 0;
    pid_t got = waitpid((pid_t)child->pid, &how, 0);
    child->pid = 0;
    if (got > 0 && WIFSIGNALED(how))
        return gg_fail(GG_DEVICE_FAULT, "a fresh process ended with signal %d (%s)",
                       WTERMSIG(how), strsignal(WTERMSIG(how)));
    return gg_fail(GG_DEVICE_FAULT, "a fresh process ended with exit code %d before its answer "
                   "was whole", got > 0 ? WEXITSTATUS(how) : -1);
}

gg_status gg_child_read(gg_child *child, void *to, uint64_t bytes)
{
    char *at = to;
    while (bytes > 0) {
        double left = child->deadline - gg_seconds();
        struct pollfd pipe_end = {.fd = child->fd, .events = POLLIN};
        int ready = left > 0 ? poll(&pipe_end, 1, (int)(1000 * left) + 1) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0)
            return gg_fail(GG_DEVICE_FAULT, "a fresh process gave no answer in time");
        ssize_t got = read(child->fd, at, bytes < 1u << 20 ? (size_t)bytes : 1u << 20);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return ended_early(child);
        at += got;
        bytes -= (uint64_t)got;
    }
    return GG_OK;
}

void gg_child_end(gg_child *child)
{
    if (child->pid > 0) {
        kill((pid_t)child->pid, SIGKILL);
        while (waitpid((pid_t)child->pid, NULL, 0) < 0 && errno == EINTR) continue;
    }
    if (child->fd >= 0) close(child->fd);
    *child = (gg_child){.pid = 0, .fd = -1};
}
