/* SPDX-License-Identifier: Apache-2.0
 * The table of commands and options: the one source of argument parsing, of
 * `gradgate help`, of the man page and of shell completion. A command's entry stands in
 * its own file beside its parser; harness/command_table.c lists them. */
#ifndef HARNESS_OPTIONS_H
#define HARNESS_OPTIONS_H

#include "reference/status.h"

/* What a value is called says what completes it: SUITE, KERNEL, FAMILY and OPERATOR by
 * name, DEVICE by host, cuda and so on, FILE, REPORT and DIR by path, words in small
 * letters ("survivor|alarm") by themselves; anything else by nothing. */
typedef struct gg_option {
    const char *name;  /* "suite" for --suite */
    int key;           /* what gg_next_option() returns for it, > 0 and not '?' */
    const char *value; /* NULL: it takes none; "[FILE]": it may take one, as --name=FILE */
    const char *help;  /* what it does, with its default, in at most one line. A SUITE,
                          KERNEL, GLOB or REPORT given twice is a fault without "; repeatable" */
} gg_option;

typedef struct gg_command {
    const char *name;
    const char *usage;        /* what must follow the name: "REPORT --baseline REPORT" */
    const char *summary;      /* one line without a full stop */
    const gg_option *options; /* ended by name == NULL; NULL: none */
    const char *details;      /* paragraphs for help and the man page, in the form of
                                 gg_topic.text; NULL: none */
    int (*run)(int argc, char **argv); /* argv[0] is the command; the exit code */
} gg_command;

/* A page of `gradgate help`. */
typedef struct gg_topic {
    const char *name;
    const char *summary;
    /* Lines of at most 88 columns; an empty line parts paragraphs; a line that begins with
     * a space stands as it is. */
    const char *text;
} gg_topic;

extern const gg_command *const gg_commands[]; /* ended by NULL */
extern const gg_topic gg_topics[];            /* ended by name == NULL */

/* Options that several commands share, for their tables. */
#define GG_OPTION_SUITE \
    {"suite", 's', "SUITE", "cases to run: a name ('gradgate list suites') or a file"}
#define GG_OPTION_KERNEL \
    {"kernel", 'k', "KERNEL", "kernel on trial: a name (see list kernels) or ./mine.so[:NAME]"}
#define GG_OPTION_LIMITS_OF \
    {"limits-of", 'l', "KERNEL", "limits of this built-in kernel instead of the kernel's own"}
#define GG_OPTION_DEVICE {"device", 'd', "DEVICE", "host (default), cuda or cuda:I"}
#define GG_OPTION_REPEATS {"repeats", 'n', "N", "runs on the same input (default 5)"}
#define GG_OPTION_LEVELS \
    {"levels", 'L', "LIST", "of determinism: idle,load,placement,process,twin,together, or all"}
#define GG_OPTION_THREADS {"threads", 't', "N", "host threads (default: all)"}
#define GG_OPTION_GOLDEN \
    {"golden", 'g', "FILE", "compare the output bits with those of a card"}
#define GG_OPTION_ANNOTATIONS \
    {"annotations", 'a', "github", "what did not pass as lines that GitHub shows at a file"}
#define GG_OPTION_SOURCE \
    {"source", 'f', "FILE", "of the annotations (default: the built-in kernel's)"}
#define GG_OPTIONS_END {NULL, 0, NULL, NULL}

/* getopt_long with our own messages: the option's key, -1 at the end, '?' after
 * GG_BAD_INPUT has been recorded. */
int gg_next_option(int argc, char **argv, const gg_option *options);

/* The command of that name, NULL when there is none. */
const gg_command *gg_command_find(const char *name);

/* `gradgate help [TOPIC]`: prints the overview, a command or a topic; GG_BAD_INPUT with
 * the list of both for anything else. */
gg_status gg_help(const char *topic);
/* `gradgate help --man`, `--completion bash|zsh|fish`: the same table as a man page in
 * roff and as a completion script. */
void gg_help_man(void);
gg_status gg_help_completion(const char *shell);

#endif
