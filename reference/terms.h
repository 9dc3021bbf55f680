/* SPDX-License-Identifier: Apache-2.0
 * Keeping the largest terms of a sum. Internal to reference/. */
#ifndef REFERENCE_TERMS_H
#define REFERENCE_TERMS_H

#include "reference/truth.h"

/* Adds one term to the sums and to the list of the largest. Call in ascending order of
 * the index. */
void gg_terms_add(gg_terms *terms, const gg_term *term);

#endif
