/* SPDX-License-Identifier: Apache-2.0
 * All commands, in the order in which help shows them. */
#include <stddef.h>

#include "harness/commands.h"

const gg_command *const gg_commands[] = {
    &gg_command_run,     &gg_command_determinism,
    &gg_command_case,    &gg_command_report,   &gg_command_gate,
    &gg_command_compare, &gg_command_merge,    &gg_command_golden, &gg_command_selftest,
    &gg_command_bench,   &gg_command_budget,   &gg_command_calibrate,
    &gg_command_list,    &gg_command_doctor,
    &gg_command_export,  &gg_command_check,    &gg_command_help,
    NULL,
};
