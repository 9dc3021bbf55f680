/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/exec_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/environment.h"

/* Between fork and exec: only calls that are safe there. Does not return. */
static void become(const char *script, const char *argument, int in, int out, int log,
                   pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    if (getppid() == parent && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(log, STDERR_FILENO) >= 0)
        execl("/bin/sh", "sh", "-c", script, "gradgate", argument, (char *)NULL);
    _exit(127);
}

static int private_end(int fd)
{
    return fd < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
}

gg_status gg_process_start(gg_process *child, const char *command, const char *argument,
                         const char *log)
{
    char script[4096];
    int down[2] = {-1, -1}, up[2] = {-1, -1};
    int size = snprintf(script, sizeof script, "%s%s", command, argument ? " \"$1\"" : "");
    if (size < 0 || (size_t)size >= sizeof script)
        return gg_fail(GG_BAD_INPUT, "a command of more than 4000 characters");
    int words = private_end(open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600));
    bool good = words >= 0;
    if (argument != NULL) {
        down[0] = private_end(open("/dev/null", O_RDONLY));
        up[1] = words;
        good = good && down[0] >= 0;
    } else {
        good = good && pipe(down) == 0 && pipe(up) == 0;
        for (int i = 0; i < 2; i++) good = good && private_end(down[i]) >= 0 &&
                                           private_end(up[i]) >= 0;
    }
    pid_t parent = getpid();
    child->pid = good ? fork() : -1;
    if (child->pid == 0) become(script, argument, down[0], up[1], words, parent);
    int code = errno;
    if (child->pid > 0) setpgid(child->pid, child->pid); /* whoever comes first */
    if (down[0] >= 0) close(down[0]);
    if (up[1] >= 0 && up[1] != words) close(up[1]);
    if (words >= 0) close(words);
    child->to = down[1];
    child->from = up[0];
    if (child->pid > 0) return GG_OK;
    gg_process_end(child);
    return gg_fail(GG_IO, "no process can be started: %s", strerror(code));
}

static void close_pipes(gg_process *child)
{
    if (child->to >= 0) close(child->to);
    if (child->from >= 0) close(child->from);
    child->to = child->from = -1;
}

/* How it ended, within `seconds`; false when it has not. */
static bool reap(gg_process *child, double seconds, gg_process_answer *answer)
{
    struct timespec pause = {.tv_nsec = 200000};
    double start = gg_seconds();
    int status = 0;
    for (;;) {
        pid_t got = waitpid(child->pid, &status, WNOHANG);
        if (got == child->pid) break;
        if (got < 0 && errno != EINTR) break;
        if (gg_seconds() - start >= seconds) return false;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 10000000) pause.tv_nsec *= 2;
    }
    answer->kind = WIFSIGNALED(status) ? GG_PROCESS_SIGNAL : GG_PROCESS_EXIT;
    answer->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    kill(-child->pid, SIGKILL); /* what it left behind */
    child->pid = 0;
    close_pipes(child);
    return true;
}

void gg_process_end(gg_process *child)
{
    gg_process_answer nobody_asks;
    if (child->pid <= 0) {
        if (child->pid < 0) close_pipes(child);
        child->pid = 0;
        return;
    }
    kill(-child->pid, SIGKILL);
    kill(child->pid, SIGKILL);
    if (reap(child, 10, &nobody_asks)) return;
    child->pid = 0; /* stuck in a driver: it is not waited for without end */
    close_pipes(child);
}

void gg_process_wait(gg_process *child, double seconds, gg_process_answer *answer)
{
    *answer = (gg_process_answer){.kind = GG_PROCESS_LATE};
    if (!reap(child, seconds, answer)) gg_process_end(child);
}

static bool send_line(int fd, const char *line)
{
    char text[2048];
    int size = snprintf(text, sizeof text, "%s\n", line);
    return write(fd, text, (size_t)size) == size; /* less than PIPE_BUF: whole or not */
}

/* Reads until a newline, the end, or the time. True when a line is there. */
static bool hear(gg_process *child, double seconds, gg_process_answer *answer)
{
    double start = gg_seconds();
    size_t used = 0;
    while (used + 1 < sizeof answer->line) {
        double left = seconds - (gg_seconds() - start);
        struct pollfd from = {.fd = child->from, .events = POLLIN};
        if (left <= 0) return false;
        int ready = poll(&from, 1, left > 1000 ? 1000000 : (int)(1000 * left) + 1);
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) continue;
        ssize_t got = read(child->from, answer->line + used, sizeof answer->line - 1 - used);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) { /* it closed its output: it is ending, or as good as dead */
            if (!reap(child, left < 5 ? left : 5, answer)) gg_process_end(child);
            return false;
        }
        used += (size_t)got;
        if (memchr(answer->line, '\n', used) != NULL) break;
    }
    answer->line[used] = '\0';
    return true;
}

void gg_process_ask(gg_process *child, const char *line, double seconds, gg_process_answer *answer)
{
    *answer = (gg_process_answer){.kind = GG_PROCESS_LATE};
    if (!send_line(child->to, line)) { /* it has gone */
        if (!reap(child, 5, answer)) gg_process_end(child);
        return;
    }
    if (!hear(child, seconds, answer)) {
        if (child->pid > 0) gg_process_end(child);
        return;
    }
    answer->kind = GG_PROCESS_LINE;
    char *end = answer->line + strlen(answer->line) - 1;
    if (*end == '\n') *end = '\0'; /* a newline before it stays: two lines are none */
    if (end > answer->line && end[-1] == '\r') end[-1] = '\0';
    for (char *c = answer->line; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) *c = '?';
}
