/* SPDX-License-Identifier: Apache-2.0 */
#include "reference/status.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char message[1024];

gg_status gg_fail(gg_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    for (char *c = message; *c; c++) /* hostile names must not forge a second line */
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
    return status;
}

const char *gg_message(void) { return message; }
