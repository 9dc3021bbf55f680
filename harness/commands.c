/* SPDX-License-Identifier: Apache-2.0
 * What the commands share. */
#include "harness/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int gg_complain(gg_status status)
{
    fprintf(stderr, "gradgate: %s\n", gg_message());
    switch (status) {
    case GG_OK: return GG_EXIT_PASSED;
    case GG_BAD_INPUT:
    case GG_IO: return GG_EXIT_USAGE;
    default: return GG_EXIT_NOT_VERIFIED;
    }
}

int gg_verdict_exit(gg_verdict verdict)
{
    return verdict == GG_PASSED ? GG_EXIT_PASSED
                                : verdict == GG_FAILED ? GG_EXIT_FAILED : GG_EXIT_NOT_VERIFIED;
}

gg_status gg_parse_int(const char *option, const char *text, int low, int high, int *value)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    bool begins = (text[0] >= '0' && text[0] <= '9') || text[0] == '-';
    if (errno != 0 || !begins || end == text || *end != '\0' || number < low || number > high)
        return gg_fail(GG_BAD_INPUT, "--%s takes a whole number from %d to %d, not '%s'",
                       option, low, high, text);
    *value = (int)number;
    return GG_OK;
}

gg_status gg_distinct_files(const char *const *paths, int count)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            if (paths[i] != NULL && paths[j] != NULL && strcmp(paths[i], paths[j]) == 0 &&
                strncmp(paths[i], "/dev/", 5) != 0)
                return gg_fail(GG_BAD_INPUT, "'%s' is to hold two things: name two files",
                               paths[i]);
    return GG_OK;
}

gg_status gg_parse_annotations(const char *text, bool *wanted)
{
    *wanted = strcmp(text, "github") == 0;
    return *wanted ? GG_OK
                   : gg_fail(GG_BAD_INPUT, "--annotations takes github, not '%s'", text);
}

int gg_terminal_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
    return size.ws_col;
}
