/* SPDX-License-Identifier: Apache-2.0
 * The commands of the program. Each takes its own arguments (argv[0] is the command) and
 * returns the exit code of the process: 0 passed, 1 failed, 2 not verified, 3 usage or
 * bad input. */
#ifndef HARNESS_COMMANDS_H
#define HARNESS_COMMANDS_H

#include <getopt.h> /* optarg, optind */

#include "harness/gradgate.h" /* exit codes */
#include "harness/options.h"
#include "reports/record.h"

/* Each in harness/command_*.c, all in harness/command_table.c. */
extern const gg_command gg_command_run, gg_command_case, gg_command_report, gg_command_gate;
extern const gg_command gg_command_compare, gg_command_merge, gg_command_golden;
extern const gg_command gg_command_selftest, gg_command_bench, gg_command_list,
    gg_command_budget, gg_command_calibrate;
extern const gg_command gg_command_determinism, gg_command_doctor, gg_command_help;
extern const gg_command gg_command_export, gg_command_check;

/* Prints "gradgate: message" and returns the exit code that `status` asks for. */
int gg_complain(gg_status status);
int gg_verdict_exit(gg_verdict verdict);

/* A whole number in [low, high], the whole text; GG_BAD_INPUT names the option. */
gg_status gg_parse_int(const char *option, const char *text, int low, int high, int *value);

/* GG_BAD_INPUT when two of the output files (NULL: not asked for) are one. */
gg_status gg_distinct_files(const char *const *paths, int count);

/* The value of --annotations: "github" alone. */
gg_status gg_parse_annotations(const char *text, bool *wanted);

/* Columns of the terminal behind standard output, 0 when it is none. */
int gg_terminal_width(void);

#endif
