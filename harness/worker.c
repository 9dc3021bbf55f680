/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/environment.h"

enum { MOST_BYTES = 1 << 20, PIECE = 1 << 16, GRACE_SECONDS = 2, PATIENCE_SECONDS = 10 };

/* Between fork and exec: only calls that are safe there. Does not return. */
static void become(char *const *argv, int fd, pid_t parent)
{
    bool placed = fd == GG_WORKER_FD ? fcntl(fd, F_SETFD, 0) == 0
                                     : dup2(fd, GG_WORKER_FD) == GG_WORKER_FD;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (placed && getppid() == parent && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        execv(argv[0], argv);
    _exit(127);
}

gg_status gg_worker_start(char *const *argv, gg_worker *w)
{
    int ends[2];
    *w = (gg_worker){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return gg_fail(GG_INTERNAL, "no socket for a worker process: %s", strerror(errno));
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) become(argv, ends[1], parent);
    int code = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return gg_fail(GG_INTERNAL, "no worker process can be started: %s", strerror(code));
    }
    w->pid = pid;
    w->fd = ends[0];
    w->since = gg_seconds();
    return GG_OK;
}

bool gg_worker_tell(gg_worker *w, const char *line)
{
    w->since = gg_seconds();
    if (w->relay != NULL) return w->relay->tell(w, line);
    size_t size = strlen(line); /* a few bytes: they go in one piece or not at all */
    return send(w->fd, line, size, MSG_NOSIGNAL) == (ssize_t)size;
}

bool gg_worker_note(gg_worker *w, const char *line)
{
    static const char mark[] = "kernel ";
    if (strncmp(line, mark, sizeof mark - 1) == 0)
        snprintf(w->doing, sizeof w->doing, "%s", line + sizeof mark - 1);
    else if (strcmp(line, "harness") == 0) w->doing[0] = '\0';
    else return false;
    return true;
}

/* The next whole line of what was received, NULL when there is none. */
static char *next_line(gg_worker *w, size_t *length)
{
    char *line = w->text + w->taken;
    char *end = w->taken < w->used ? memchr(line, '\n', w->used - w->taken) : NULL;
    if (end != NULL) {
        *end = '\0';
        *length = (size_t)(end - line);
        w->taken += *length + 1;
        return line;
    }
    if (w->taken > 0) memmove(w->text, w->text + w->taken, w->used - w->taken);
    w->used -= w->taken;
    w->taken = 0;
    return NULL;
}

/* False at the end of what can be received, for now or (`ended`) for good. */
static bool receive(gg_worker *w, bool *ended)
{
    if (w->room - w->used < PIECE) {
        char *more = w->room < MOST_BYTES + PIECE ? realloc(w->text, w->room + 2 * PIECE) : NULL;
        *ended = more == NULL; /* a line without end, or no memory for it */
        if (more == NULL) return false;
        w->text = more;
        w->room += 2 * PIECE;
    }
    ssize_t got = recv(w->fd, w->text + w->used, w->room - w->used, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    *ended = got <= 0;
    if (got <= 0) return false;
    w->used += (size_t)got;
    w->since = gg_seconds();
    return true;
}

/* Whether the process is still there: one that left children behind keeps its socket. */
static bool is_gone(const gg_worker *w)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid != 0;
}

bool gg_worker_next(gg_worker *w, char **line, size_t *length, bool *ended)
{
    *ended = false;
    if (w->relay != NULL) return w->relay->next(w, line, length, ended);
    bool gone = is_gone(w); /* asked first: what it still said is received below */
    do {
        *line = next_line(w, length);
        if (*line != NULL) return true;
    } while (receive(w, ended));
    w->ended = *ended |= gone;
    return false;
}

bool gg_worker_hear(gg_worker *w, char **line, size_t *length, bool *ended)
{
    do {
        if (!gg_worker_next(w, line, length, ended)) return false;
    } while (gg_worker_note(w, *line));
    return true;
}

static const char *signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {{SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},
                 {SIGFPE, "SIGFPE"},   {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"},
                 {SIGSYS, "SIGSYS"},   {SIGKILL, "SIGKILL"}, {SIGTERM, "SIGTERM"},
                 {SIGINT, "SIGINT"},   {SIGPIPE, "SIGPIPE"}, {SIGHUP, "SIGHUP"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == number) return names[i].name;
    return "a signal";
}

static bool is_fault(int number)
{
    return number == SIGSEGV || number == SIGABRT || number == SIGBUS || number == SIGFPE ||
           number == SIGILL || number == SIGTRAP || number == SIGSYS;
}

/* A process inside a driver may take its time even after SIGKILL; it is not waited for
 * without end. */
static bool reap(pid_t pid, double seconds, int *status)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    double start = gg_seconds();
    while (gg_seconds() - start < seconds) {
        pid_t got = waitpid(pid, status, WNOHANG);
        if (got == pid) return true;
        if (got < 0 && errno != EINTR) return false;
        nanosleep(&pause, NULL);
    }
    return false;
}

void gg_worker_dismiss(gg_worker *w)
{
    if (w->pid <= 0) return;
    if (w->relay != NULL) {
        w->relay->dismiss(w);
        return;
    }
    shutdown(w->fd, SHUT_WR);
    w->ended = true;
}

/* Of a child of this process. */
static gg_ending end_child(gg_worker *w)
{
    gg_ending e = {.in_kernel = w->doing[0] != '\0'};
    char how[48] = "does not end even when killed", where[48] = "";
    int status = 0;
    bool reaped = w->ended && reap(w->pid, GRACE_SECONDS, &status);
    if (!reaped) {
        kill(w->pid, SIGKILL);
        reaped = reap(w->pid, PATIENCE_SECONDS, &status);
    }
    if (reaped) {
        e.by_itself = WIFEXITED(status) || (WIFSIGNALED(status) && is_fault(WTERMSIG(status)));
        if (WIFEXITED(status))
            snprintf(how, sizeof how, "ended with exit code %d", WEXITSTATUS(status));
        else snprintf(how, sizeof how, "ended with %s", signal_name(WTERMSIG(status)));
    }
    if (e.in_kernel) snprintf(where, sizeof where, " in %s", w->doing);
    snprintf(e.text, sizeof e.text, "%s%s", how, where);
    close(w->fd);
    return e;
}

gg_ending gg_worker_end(gg_worker *w)
{
    gg_ending e = w->relay != NULL ? w->relay->end(w) : end_child(w);
    free(w->text);
    *w = (gg_worker){.fd = -1};
    return e;
}
