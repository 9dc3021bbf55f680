/* SPDX-License-Identifier: Apache-2.0
 * gradgate help: the overview, a page, and the table of commands in other forms. */
#include <stdio.h>

#include "harness/commands.h"

static const gg_option options[] = {
    {"man", 'm', NULL, "all of it as a man page, in roff"},
    {"completion", 'c', "bash|zsh|fish", "the completion script of a shell"},
    GG_OPTIONS_END};

static int help(int argc, char **argv)
{
    const char *shell = NULL;
    bool man = false;
    gg_status status = GG_OK;
    for (int c; (c = gg_next_option(argc, argv, options)) != -1;) {
        if (c == '?') return gg_complain(GG_BAD_INPUT);
        if (c == 'm') man = true;
        else shell = optarg;
    }
    if (argc - optind + man + (shell != NULL) > 1)
        status = gg_fail(GG_BAD_INPUT, "help shows one thing at a time: see 'gradgate help'");
    else if (man) gg_help_man();
    else if (shell != NULL) status = gg_help_completion(shell);
    else status = gg_help(argv[optind]);
    return status == GG_OK ? GG_EXIT_PASSED : gg_complain(status);
}

const gg_command gg_command_help = {
    .name = "help",
    .usage = "[TOPIC]",
    .summary = "explains a command or a topic",
    .options = options,
    .run = help,
};
