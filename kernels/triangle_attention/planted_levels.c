/* SPDX-License-Identifier: Apache-2.0
 * Planted faults that show at one level of determinism and at no other: bits that depend
 * on what else runs, on where memory lies, on what it held, and on the process. Each
 * changes the first element of one output. */
#include <dirent.h>
#include <stdint.h>
#include <unistd.h>

#include "kernels/triangle_attention/planted.h"

static int spoil(const gg_call *call, unsigned byte)
{
    int error = gg_ta_planted_backward(call);
    gg_ta_array a = gg_ta_output_of(call, gg_ta_armed()->output);
    if (a.data) a.data[0] = (char)(a.data[0] ^ (int)byte);
    return error;
}

static int threads_of_process(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    while (folder && readdir(folder)) count++;
    if (folder) closedir(folder);
    return count;
}

/* Other work moves the order of a sum: seen by the threads that a load brings. */
int gg_ta_under_load(const gg_call *call)
{
    static int alone;
    int now = threads_of_process();
    if (gg_ta_backward_calls() == 1) alone = now;
    return spoil(call, now >= alone + 2);
}

/* The path taken depends on an address: of every other 256 bytes. */
int gg_ta_by_address(const gg_call *call)
{
    gg_ta_array a = gg_ta_output_of(call, gg_ta_armed()->output);
    return spoil(call, (unsigned)((uintptr_t)a.data / 256 % 2));
}

/* How a sum is split is chosen by where the workspace lies. */
int gg_ta_by_workspace(const gg_call *call)
{
    return spoil(call, (unsigned)((uintptr_t)call->workspace / 256 % 2));
}

/* Scratch memory is read before it is written, and a few of its values go through. */
int gg_ta_by_old_memory(const gg_call *call)
{
    uint32_t word = *(const uint32_t *)call->workspace;
    int usual = word == 0 || word == 0x80808080u || word == UINT32_MAX;
    return spoil(call, !usual);
}

/* A seed that every process draws anew. */
int gg_ta_by_process(const gg_call *call)
{
    return spoil(call, (unsigned)(getpid() % 127) + 1);
}

/* Two configurations by turns, each right, with other bits. */
int gg_ta_by_turns(const gg_call *call)
{
    return spoil(call, (unsigned)gg_ta_backward_calls() % 2);
}
