/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_OUTPUT = 16 << 20, VERSION_SECONDS = 5 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool refuse(char *why, const char *text, const char *detail)
{
    snprintf(why, GG_GNUPLOT_WHY, "%s%s", text, detail);
    return false;
}

/* A variable of ours for the child, "" when we lack it. */
static void inherit(const char *name, char *text, size_t size)
{
    const char *value = getenv(name);
    if (value == NULL || (size_t)snprintf(text, size, "%s=%s", name, value) >= size)
        text[0] = '\0';
}

/* In a process group of its own, for what a wrapper script may start. It sees nothing of
 * the environment that could change a drawing. */
static int spawn(int end, pid_t *pid)
{
    char name[] = "gnuplot", plain[] = "-d", locale[] = "LC_ALL=C";
    char path[8192], libraries[8192];
    char *argv[] = {name, plain, NULL}, *environment[4] = {locale};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int count = 1;
    inherit("PATH", path, sizeof path);
    inherit("LD_LIBRARY_PATH", libraries, sizeof libraries);
    if (path[0]) environment[count++] = path;
    if (libraries[0]) environment[count++] = libraries;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) return error;
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO);
        if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, end, STDOUT_FILENO);
        if (error == 0)
            error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                                     O_WRONLY, 0);
        if (error == 0) error = posix_spawnp(pid, name, &actions, &attributes, argv, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Sends the script and takes what comes until the end of it. */
static bool talk(int fd, const char *script, double deadline, FILE *drawn, char *why)
{
    size_t left = strlen(script), total = 0;
    char piece[65536];
    for (;;) {
        double rest = deadline - now();
        struct pollfd line = {.fd = fd, .events = (short)(POLLIN | (left > 0 ? POLLOUT : 0))};
        int ready = rest > 0 ? poll(&line, 1, (int)(1000 * rest) + 1) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return refuse(why, "gnuplot gave no drawing in time", "");
        if (left > 0 && line.revents & (POLLOUT | POLLERR)) {
            /* not write(): a program that has ended must not end us by SIGPIPE */
            ssize_t sent = send(fd, script, left, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent > 0) {
                script += sent;
                left -= (size_t)sent;
            } else if (errno != EAGAIN && errno != EINTR) {
                left = 0; /* its exit code says why it reads no more */
            }
            if (left == 0) shutdown(fd, SHUT_WR);
        }
        if (!(line.revents & (POLLIN | POLLHUP | POLLERR))) continue;
        ssize_t got = recv(fd, piece, sizeof piece, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (got <= 0) return true;
        total += (size_t)got;
        if (total > MOST_OUTPUT) return refuse(why, "gnuplot's drawing has no end", "");
        if (fwrite(piece, 1, (size_t)got, drawn) != (size_t)got)
            return refuse(why, "no memory for gnuplot's drawing", "");
    }
}

enum { RUNNING = -1, CRASHED = -2 };

/* Its exit code, or one of the above. */
static int reap(pid_t pid, double deadline)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int how = 0;;) {
        pid_t got = waitpid(pid, &how, WNOHANG);
        if (got == pid) return WIFEXITED(how) ? WEXITSTATUS(how) : CRASHED;
        if (got < 0 && errno != EINTR) return 0; /* somebody ignores SIGCHLD */
        if (now() > deadline) return RUNNING;
        nanosleep(&pause, NULL);
    }
}

static bool converse(int fd, const char *script, double deadline, char **out, char *why)
{
    size_t size = 0;
    FILE *drawn = open_memstream(out, &size);
    if (drawn == NULL) return refuse(why, "no memory for gnuplot's drawing", "");
    bool good = talk(fd, script, deadline, drawn, why);
    if (fclose(drawn) != 0 && good) good = refuse(why, "no memory for gnuplot's drawing", "");
    return good && *out != NULL;
}

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
/* Fuzzing tries our code, thousands of times a second. */
enum { STARTS = false };
#else
enum { STARTS = true };
#endif

bool gg_gnuplot(const char *script, double seconds, char **out, char why[GG_GNUPLOT_WHY])
{
    int ends[2];
    char code[16];
    *out = NULL;
    if (!STARTS) return refuse(why, "gnuplot is not started here", "");
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return refuse(why, "no socket for gnuplot: ", strerror(errno));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t pid = 0;
    double deadline = now() + seconds;
    int error = spawn(ends[1], &pid);
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        if (error == ENOENT)
            return refuse(why, "gnuplot is not installed (Debian's package is gnuplot-nox)", "");
        return refuse(why, "gnuplot does not start: ", strerror(error));
    }
    bool good = converse(ends[0], script, deadline, out, why);
    close(ends[0]);
    int ended = good ? reap(pid, deadline) : RUNNING;
    kill(-pid, SIGKILL); /* itself, or what it left behind */
    if (ended == RUNNING) reap(pid, now() + 2);
    snprintf(code, sizeof code, "%d", ended);
    if (good && ended != 0)
        good = refuse(why, ended == CRASHED   ? "gnuplot crashed"
                           : ended == RUNNING ? "gnuplot does not end"
                                              : "gnuplot fails with exit code ",
                      ended > 0 ? code : "");
    if (!good) {
        free(*out);
        *out = NULL;
    }
    return good;
}

bool gg_gnuplot_version(char version[32], char why[GG_GNUPLOT_WHY])
{
    char *out;
    if (!gg_gnuplot("set terminal svg\nset print '-'\n"
                    "print sprintf('%.1f.%s', GPVAL_VERSION, GPVAL_PATCHLEVEL)\n",
                    VERSION_SECONDS, &out, why))
        return false;
    size_t length = strspn(out, "0123456789.abcdefghijklmnopqrstuvwxyz");
    snprintf(version, 32, "%.*s", length > 30 ? 30 : (int)length, out);
    bool good = length > 0 && out[length] == '\n';
    free(out);
    return good || refuse(why, "what is called gnuplot here is something else", "");
}
