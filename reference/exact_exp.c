/* SPDX-License-Identifier: Apache-2.0
 * x = -t 2^-32 + z, t an integer below 2^40 with five digits in base 256, |z| < 2^-32:
 *   exp(x) = exp(z) prod over levels L of exp(-digit_L 2^(-8 L)),
 * the factors from a table that mpfr_exp() made, exp(z) from its series.
 *
 * Error, in units of 2^-bits relative to the result: each factor is rounded (5), and each
 * product (5). z is rounded, which is 2^-32 of a unit; the terms left out of the series
 * are below 2^-4 of one, for |z|^n / n! < 2^-(bits + 4); of its roundings that of the last
 * sum, near 1, counts once and all before it 2^-31 of that. Together below 12 < 2^4. */
#include "reference/exact_exp.h"

#include <pthread.h>
#include <stdint.h>

/* Precisions that have a table; others are asked for so seldom that mpfr_exp() serves. */
enum { TABLES = 2, MOST_LIMBS = 3, LEVELS = 5, DIGITS = 256, MOST_TERMS = 6 };
static const int bits_of[TABLES] = {128, 192};
/* z^terms / terms! is the first left out: 2^-(32 4) / 24 < 2^-132, 2^-(32 6) / 720 < 2^-201 */
static const int terms_of[TABLES] = {4, 6};

typedef struct number {
    mpfr_t value;
    uint64_t limbs[MOST_LIMBS];
} number;

typedef struct table {
    number power[LEVELS][DIGITS]; /* exp(-digit 2^(-8 level)) */
    number series[MOST_TERMS];    /* 1 / n! */
} table;

static table tables[TABLES];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (int t = 0; t < TABLES; t++) {
        number *power = tables[t].power[0], *series = tables[t].series;
        for (int i = 0; i < LEVELS * DIGITS; i++) {
            mpfr_ptr to = power[i].value;
            mpfr_custom_init_set(to, MPFR_ZERO_KIND, 0, bits_of[t], power[i].limbs);
            mpfr_set_si_2exp(to, -(i % DIGITS), -8 * (i / DIGITS), MPFR_RNDN);
            mpfr_exp(to, to, MPFR_RNDN);
        }
        for (int n = 0; n < MOST_TERMS; n++) {
            mpfr_ptr to = series[n].value;
            mpfr_custom_init_set(to, MPFR_ZERO_KIND, 0, bits_of[t], series[n].limbs);
            if (n == 0) mpfr_set_si(to, 1, MPFR_RNDN);
            else mpfr_fac_ui(to, (unsigned long)n, MPFR_RNDN); /* exact */
            mpfr_si_div(to, 1, to, MPFR_RNDN);
        }
    }
}

/* The series at z. */
static void sum_series(mpfr_t to, mpfr_srcptr z, const number *series, int terms)
{
    mpfr_mul(to, series[terms - 1].value, z, MPFR_RNDN);
    for (int n = terms - 2; n > 0; n--) {
        mpfr_add(to, to, series[n].value, MPFR_RNDN);
        mpfr_mul(to, to, z, MPFR_RNDN);
    }
    mpfr_add(to, to, series[0].value, MPFR_RNDN);
}

void gg_exact_exp(mpfr_t to, mpfr_srcptr x, mpfr_t z)
{
    int which = 0;
    while (which < TABLES && bits_of[which] != mpfr_get_prec(to)) which++;
    /* towards zero, so that t below is the same as that of x itself */
    double near = mpfr_get_d(x, MPFR_RNDZ);
    if (which == TABLES || !(near > -(double)DIGITS)) {
        mpfr_exp(to, x, MPFR_RNDN);
        return;
    }
    pthread_once(&made, make_tables);
    const table *from = &tables[which];
    int64_t t = (int64_t)(-near * 0x1p32);
    mpfr_set_si_2exp(z, t, -32, MPFR_RNDN);
    mpfr_add(z, z, x, MPFR_RNDN);
    sum_series(to, z, from->series, terms_of[which]);
    for (int level = LEVELS - 1; level >= 0; level--, t /= DIGITS)
        if (t % DIGITS != 0)
            mpfr_mul(to, to, from->power[level][t % DIGITS].value, MPFR_RNDN);
}
