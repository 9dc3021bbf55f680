/* SPDX-License-Identifier: Apache-2.0
 * The pipe to the warden has one writer. When it is closed without a word of farewell, the
 * writer is dead: that needs no signal handler, and holds for signals that have none. */
#include "harness/exec_warden.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A shell, and not a copy of this process: that would hold on to its memory. */
static const char script[] =
    "PATH=/usr/bin:/bin; group=0\n"
    "while read -r word; do [ \"$word\" = farewell ] && exit; group=$word; done\n"
    "[ \"$group\" -gt 1 ] && kill -9 \"-$group\"\n"
    "rm -rf -- \"$1\"\n";

/* Between fork and exec: only calls that are safe there. Does not return. What ends the
 * group or the terminal of gradgate must not end the warden, and it keeps no stream open. */
static void become(int from, const char *folder)
{
    int nowhere = open("/dev/null", O_RDWR);
    setsid();
    if (dup2(from, STDIN_FILENO) >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0 &&
        dup2(nowhere, STDERR_FILENO) >= 0)
        execl("/bin/sh", "sh", "-c", script, "gradgate", folder, (char *)NULL);
    _exit(127);
}

gg_status gg_warden_start(gg_warden *warden, const char *folder)
{
    int ends[2];
    *warden = (gg_warden){.pid = 0};
    if (pipe(ends) != 0) return gg_fail(GG_IO, "no pipe can be made: %s", strerror(errno));
    bool closed = fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0 &&
                  fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0;
    pid_t pid = closed ? fork() : -1;
    if (pid == 0) become(ends[0], folder);
    int code = errno;
    close(ends[0]);
    if (pid > 0) {
        *warden = (gg_warden){.pid = pid, .to = ends[1]};
        return GG_OK;
    }
    close(ends[1]);
    return gg_fail(GG_IO, "no process can be started: %s", strerror(code));
}

/* Less than PIPE_BUF: whole or not. Where the warden is gone there is nobody to tell. */
static void say(const gg_warden *warden, const char *word)
{
    ssize_t size = (ssize_t)strlen(word);
    if (warden->pid > 0 && write(warden->to, word, (size_t)size) != size) return;
}

void gg_warden_watch(const gg_warden *warden, pid_t group)
{
    char word[32];
    snprintf(word, sizeof word, "%ld\n", (long)group);
    say(warden, word);
}

void gg_warden_end(gg_warden *warden)
{
    if (warden->pid == 0) return;
    say(warden, "farewell\n");
    close(warden->to);
    while (waitpid(warden->pid, NULL, 0) < 0 && errno == EINTR) continue;
    warden->pid = 0;
}
