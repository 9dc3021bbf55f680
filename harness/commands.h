/* SPDX-License-Identifier: Apache-2.0
 * The commands of the program. Each takes its own arguments (argv[0] is the command) and
 * returns the exit code of the process: 0 passed, 1 failed, 2 not verified, 3 usage or
 * bad input. */
#ifndef HARNESS_COMMANDS_H
#define HARNESS_COMMANDS_H

#include <getopt.h>

#include "reports/record.h"

enum { GG_EXIT_PASSED = 0, GG_EXIT_FAILED = 1, GG_EXIT_NOT_VERIFIED = 2, GG_EXIT_USAGE = 3 };

int gg_command_run(int argc, char **argv);
int gg_command_bench(int argc, char **argv);
int gg_command_case(int argc, char **argv);
int gg_command_report(int argc, char **argv);
int gg_command_golden(int argc, char **argv);
int gg_command_gate(int argc, char **argv);
int gg_command_compare(int argc, char **argv);
int gg_command_merge(int argc, char **argv);
int gg_command_selftest(int argc, char **argv);
int gg_command_list(int argc, char **argv);
int gg_command_doctor(int argc, char **argv);

/* Prints "gradgate: message" and returns the exit code that `status` asks for. */
int gg_complain(gg_status status);
int gg_verdict_exit(gg_verdict verdict);

/* A whole number in [low, high], the whole text; GG_BAD_INPUT names the option. */
gg_status gg_parse_int(const char *option, const char *text, int low, int high, int *value);

/* getopt_long with our own messages: the option's character, -1 at the end, '?' after
 * GG_BAD_INPUT has been recorded. */
int gg_next_option(int argc, char **argv, const struct option *options);

/* Columns of the terminal behind standard output, 0 when it is none. */
int gg_terminal_width(void);

#endif
