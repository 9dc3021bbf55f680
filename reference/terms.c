/* SPDX-License-Identifier: Apache-2.0 */
#include "reference/terms.h"

#include <math.h>

/* NaN is above everything: it is what explains a sum that has one. */
static bool above(double a, double b)
{
    if (isnan(a) || isnan(b)) return isnan(a) && !isnan(b);
    return fabs(a) > fabs(b);
}

void gg_terms_add(gg_terms *terms, const gg_term *term)
{
    terms->total++;
    terms->sum += term->value;
    terms->sum_abs += fabs(term->value);
    int at = terms->count;
    while (at > 0 && above(term->value, terms->largest[at - 1].value)) at--;
    if (at == GG_TERMS) return;
    if (terms->count < GG_TERMS) terms->count++;
    for (int k = terms->count - 1; k > at; k--) terms->largest[k] = terms->largest[k - 1];
    terms->largest[at] = *term;
}
