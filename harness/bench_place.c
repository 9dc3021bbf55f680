/* SPDX-License-Identifier: Apache-2.0
 * What a time depends on beside the kernel: clocks, temperature, and the chip's peak. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "harness/bench.h"

/* FLOP/s of dense BF16 matrix products that a card was measured to reach. A card that is
 * not here has no stated peak: data sheets promise more than any program gets. */
static const struct {
    const char *name;   /* in the driver's name of the card */
    double flops;
    const char *source;
} peaks[] = {
    {"H200", 790e12, "dense BF16 matrix products, measured on an H200"},
};

double gg_bench_peak(const char *gpu, const char **source)
{
    for (size_t i = 0; i < sizeof peaks / sizeof peaks[0]; i++)
        if (strstr(gpu, peaks[i].name) != NULL) {
            *source = peaks[i].source;
            return peaks[i].flops;
        }
    *source = "unknown";
    return 0;
}

/* "GPU-xxxxxxxx-xxxx-..." from 32 hexadecimal digits: a number of a card is not the same
 * for CUDA and the tool. False when the digits are not there. */
static bool tool_name(const char *uuid, char name[48])
{
    static const int parts[] = {8, 4, 4, 4, 12};
    size_t used = 3;
    if (strlen(uuid) != 32) return false;
    for (int i = 0; i < 32; i++)
        if (!isxdigit((unsigned char)uuid[i])) return false;
    memcpy(name, "GPU", 4);
    for (int p = 0; p < 5; uuid += parts[p], p++)
        used += (size_t)snprintf(name + used, 48 - used, "-%.*s", parts[p], uuid);
    return true;
}

void gg_bench_clocks(const gg_backend *backend, char *text, size_t size)
{
    char command[320], name[48], line[160] = "";
    char field[5][24];
    snprintf(text, size, "not read");
    if (backend->device == kDLCPU || !tool_name(backend->uuid, name)) return;
    snprintf(command, sizeof command,
             "nvidia-smi -i %s --query-gpu=clocks.sm,clocks.max.sm,clocks.mem,"
             "temperature.gpu,power.draw --format=csv,noheader,nounits 2>/dev/null",
             name);
    fflush(NULL);
    FILE *tool = popen(command, "r");
    if (tool == NULL) return;
    bool got = fgets(line, sizeof line, tool) != NULL;
    if (pclose(tool) != 0 || !got) return;
    if (sscanf(line, "%23[^,], %23[^,], %23[^,], %23[^,], %23[^,\n]", field[0], field[1],
               field[2], field[3], field[4]) != 5)
        return;
    snprintf(text, size, "SM %s of %s MHz, memory %s MHz, %s C, %s W", field[0], field[1],
             field[2], field[3], field[4]);
}
