/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "harness/environment.h"

void gg_progress_start(gg_progress *p, int total)
{
    *p = (gg_progress){.visible = isatty(STDERR_FILENO), .total = total, .started = gg_seconds()};
}

void gg_progress_step(gg_progress *p, const gg_case_record *finished)
{
    p->done++;
    p->failed += finished->verdict == GG_FAILED;
    p->unverified += finished->verdict == GG_NOT_VERIFIED;
    double time = gg_seconds();
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
