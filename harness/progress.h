/* SPDX-License-Identifier: Apache-2.0
 * One line on a terminal that says how far a long run is; nothing anywhere else. */
#ifndef HARNESS_PROGRESS_H
#define HARNESS_PROGRESS_H

#include <stdbool.h>

#include "reports/record.h"

typedef struct gg_progress {
    bool visible;
    int total, done, failed, unverified;
    double started, shown;
} gg_progress;

void gg_progress_start(gg_progress *progress, int total);
void gg_progress_step(gg_progress *progress, const gg_case_record *finished);
void gg_progress_end(gg_progress *progress);

#endif
