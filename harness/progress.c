/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void gg_progress_start(gg_progress *p, int total)
{
    *p = (gg_progress){.visible = isatty(STDERR_FILENO), .total = total, .started = now()};
}

void gg_progress_step(gg_progress *p, const gg_case_record *finished)
{
    p->done++;
    p->failed += finished->verdict == GG_FAILED;
    p->unverified += finished->verdict == GG_NOT_VERIFIED;
    double time = now();
    if (!p->visible || (time - p->shown < 0.1 && p->done < p->total)) return;
    p->shown = time;
    double left = (time - p->started) / p->done * (p->total - p->done);
    fprintf(stderr, "\r%d of %d cases, %d failed, %d not verified, about %dm%02ds left  ",
            p->done, p->total, p->failed, p->unverified, (int)left / 60, (int)left % 60);
    fflush(stderr);
}

void gg_progress_end(gg_progress *p)
{
    if (p->visible) fprintf(stderr, "\r%76s\r", "");
}
