/* SPDX-License-Identifier: Apache-2.0
 * gradgate: the command line. The only place that ends the process. */
#include <fcntl.h>
#include <gmp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build_identity.h"
#include "harness/commands.h"
#include "harness/fresh.h"

/* Whoever read our output has seen enough (`| head`): no fault, and nothing to add. */
static bool reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

static void print_version(void)
{
    printf("gradgate %s (%s)\ncompiler: %s\nkernels: %s\n", GG_VERSION, GG_COMMIT, GG_COMPILER,
           GG_CUDA ? "host and CUDA" : "host alone (built without CUDA)");
}

/* Whether a command line asks for the help of its command. */
static bool asks_help(int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
    return false;
}

/* The exit code of the command line. */
static int obey(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    bool help = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
    const gg_command *command = gg_command_find(help ? "help" : name);
    if (strcmp(name, "--version") == 0) {
        print_version();
        return GG_EXIT_PASSED;
    }
    if (strcmp(name, GG_FRESH_COMMAND) == 0) return gg_command_fresh(argc - 1, argv + 1);
    if (command == NULL) {
        gg_fail(GG_BAD_INPUT, "%s%s%s: see 'gradgate help'",
                *name ? "unknown command '" : "name a command", name, *name ? "'" : "");
        return gg_complain(GG_BAD_INPUT);
    }
    if (!asks_help(argc, argv)) return command->run(argc - 1, argv + 1);
    gg_help(command->name);
    return GG_EXIT_PASSED;
}

/* GMP and MPFR cannot be told that there is no memory: left alone they abort. Finished
 * cases are in the journal, and files are renamed only when whole, so nothing is lost. */
static void *wide_memory(void *memory)
{
    static const char text[] =
        "gradgate: no memory for multiple-precision numbers: free some, or --certify 0\n";
    if (memory != NULL) return memory;
    ssize_t wrote = write(STDERR_FILENO, text, sizeof text - 1);
    _exit(wrote == (ssize_t)sizeof text - 1 ? GG_EXIT_NOT_VERIFIED : GG_EXIT_USAGE);
}

static void *wide_alloc(size_t bytes) { return wide_memory(malloc(bytes)); }

static void *wide_realloc(void *old, size_t was, size_t bytes)
{
    (void)was;
    return wide_memory(realloc(old, bytes));
}

static void wide_free(void *memory, size_t bytes)
{
    (void)bytes;
    free(memory);
}

/* A closed standard stream must not become a report or journal that somebody prints into:
 * its number is taken, the wrong way round, so that using it still fails. */
static void hold_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    hold_streams();
    mp_set_memory_functions(wide_alloc, wide_realloc, wide_free);
    gg_fresh_allow();
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error of the write, like a full disk */
    signal(SIGPIPE, SIG_IGN); /* so is a reader that left */
    int code = obey(argc, argv);
    if ((fflush(stdout) == 0 && !ferror(stdout)) || reader_left()) return code;
    gg_fail(GG_IO, "cannot write to standard output");
    return gg_complain(GG_IO);
}
