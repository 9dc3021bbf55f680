/* SPDX-License-Identifier: Apache-2.0
 * Small tools for families whose inputs are made on the host. */
#ifndef CASES_FILL_H
#define CASES_FILL_H

#include "cases/draw_core.h"

/* Reads and writes one element of a host tensor as a double; writing rounds once. */
double gg_fill_get(const gg_tensor *tensor, int64_t index);
void gg_fill_set(gg_tensor *tensor, int64_t index, double value);

/* mean + scale * standard normal in every element: what law NORMAL gives. */
gg_status gg_fill_normal(gg_tensor *out, uint64_t seed, int tensor, double scale,
                         double mean);

/* A whole number in [0, range), range <= 2^16, chosen for (seed, purpose, index). It is
 * one word of Philox times range over 2^32: biased by less than 2^-16. */
int gg_choose(uint64_t seed, uint32_t purpose, int64_t index, int range);

#endif
