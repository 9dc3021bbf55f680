/* SPDX-License-Identifier: Apache-2.0
 * The interval of a paired comparison (summary.h). */
#include <math.h>
#include <stdlib.h>

#include "reports/summary.h"

enum { RESAMPLES = 2000, TAIL = 50, LARGE = 1000, FEWEST_PAIRS = 5 };

/* Any constant would do; it is pi's first bits, so nobody has to ask whether it was
 * chosen for its result. */
#define SEED UINT64_C(0x3243f6a8885a308d)

/* splitmix64: a counter and a mixer, so there is no state that could be lost. */
static uint64_t draw(uint64_t counter)
{
    uint64_t z = SEED + (counter + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double mean_of(const double *values, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) sum += values[i];
    return sum / count;
}

void gg_mean_interval(const double *values, int count, double *scratch, double *mean,
                      double *low, double *high)
{
    *mean = *low = *high = mean_of(values, count);
    if (!isfinite(*mean)) return;
    if (count > LARGE) {
        double squares = 0;
        for (int i = 0; i < count; i++)
            squares += (values[i] - *mean) * (values[i] - *mean);
        double half = 1.96 * sqrt(squares / (count - 1) / count);
        *low -= half;
        *high += half;
        return;
    }
    uint64_t counter = 0;
    for (int r = 0; r < RESAMPLES; r++) {
        double sum = 0;
        for (int i = 0; i < count;
             i++) /* 32 random bits times count: bias below 1e-6 */
            sum += values[((draw(counter++) >> 32) * (uint64_t)count) >> 32];
        scratch[r] = sum / count;
    }
    qsort(scratch, RESAMPLES, sizeof *scratch, ascending);
    *low = scratch[TAIL - 1];
    *high = scratch[RESAMPLES - TAIL];
}

void gg_ablation_judge(gg_ablation_row *row, const double *values, int count,
                       double *scratch)
{
    row->pairs = count;
    row->equal = true;
    for (int i = 0; i < count; i++) row->equal = row->equal && values[i] == 0;
    gg_mean_interval(values, count, scratch, &row->mean, &row->low, &row->high);
    row->outcome = GG_NOT_RESOLVABLE;
    if (row->equal) row->outcome = GG_COLLAPSED;
    else if (count >= FEWEST_PAIRS && row->low > 0) row->outcome = GG_EARNED;
    else if (count >= FEWEST_PAIRS && row->high <= 0) row->outcome = GG_COLLAPSED;
}
