/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "reference/triangle_attention_fixture.h"
#include "reference/triangle_attention_internal.h"

TestSuite(triangle_attention_terms, .timeout = 60);

static gg_terms terms_of(const fixture *f, int output, int64_t element, int threads)
{
    gg_terms terms;
    gg_status status =
        gg_triangle_attention_terms(&f->problem, output, element, &terms, threads);
    cr_assert_eq(status, GG_OK, "%s", gg_message());
    return terms;
}

/* Checks every `step`-th element against MPFR; returns how many had no term. */
static int check(const shape *s, uint64_t seed, int64_t step)
{
    fixture f = fixture_open(s, seed);
    int empty = 0;
    for (int o = 0; o < GG_TA_OUTPUTS; o++)
        for (int64_t e = 0; e < fixture_count(&f, o); e += step) {
            gg_point point = {.output = o, .element = e};
            cr_assert_eq(gg_triangle_attention_exact(&f.problem, &point, 1, 1), GG_OK);
            gg_terms terms = terms_of(&f, o, e, 2);
            cr_assert(fabs(terms.sum - point.value) <= 1e-12 * terms.sum_abs,
                      "output %d element %lld: %a is not %a", o, (long long)e, terms.sum,
                      point.value);
            cr_assert_leq(terms.total, o == GG_TA_DBIAS ? s->R : s->N);
            cr_assert_eq(terms.count, terms.total < GG_TERMS ? terms.total : GG_TERMS);
            for (int k = 1; k < terms.count; k++)
                cr_assert(fabs(terms.largest[k].value) <=
                          fabs(terms.largest[k - 1].value));
            empty += terms.total == 0;
        }
    fixture_close(&f);
    return empty;
}

Test(triangle_attention_terms, sum_is_the_exact_element)
{
    static const shape shapes[] = {
        {1, 1, 1, 1, 1, ALL_KEYS, GG_F32, 1.0},
        {1, 3, 1, 18, 16, ALL_KEYS, GG_BF16, 4.0},
        {1, 2, 2, 12, 32, ALL_KEYS, GG_F32, 16.0},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        cr_assert_eq(check(&shapes[s], 40 + s, 7), 0);
}

Test(triangle_attention_terms, masks_and_dead_rows)
{
    static const shape shapes[] = {
        {2, 3, 2, 7, 5, MASKED, GG_F32, 1.0},
        {1, 5, 2, 8, 4, LENGTHS, GG_BF16, 1.0},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        cr_assert_gt(check(&shapes[s], 60 + s, 3), 0);
}

/* The indices are those of valid keys, queries or rows with one, and no others; row 1 of
 * the fixture is dead. */
Test(triangle_attention_terms, only_valid_indices)
{
    shape s = {1, 3, 1, 6, 2, MASKED, GG_F32, 1.0};
    fixture f = fixture_open(&s, 9);
    const uint8_t *mask = f.problem.input[GG_TA_MASK].data;
    int64_t row = s.N * s.D;
    for (int64_t r = 0; r < s.R; r++) {
        int64_t valid = 0;
        for (int64_t j = 0; j < s.N; j++) valid += mask[r * s.N + j] != 0;
        gg_terms terms = terms_of(&f, GG_TA_DQ, r * row, 1);
        cr_assert_eq(terms.total, r == 1 ? 0 : valid);
        for (int k = 0; k < terms.count; k++)
            cr_assert(mask[r * s.N + terms.largest[k].index]);
        for (int64_t j = 0; j < s.N; j++) {
            terms = terms_of(&f, GG_TA_DV, r * row + j * s.D, 1);
            cr_assert_eq(terms.total, mask[r * s.N + j] ? s.N : 0);
        }
    }
    for (int64_t j = 0; j < s.N; j++) {
        gg_terms terms = terms_of(&f, GG_TA_DBIAS, j, 1);
        int64_t rows = 0;
        for (int64_t r = 0; r < s.R; r++) rows += mask[r * s.N + j] != 0;
        cr_assert_eq(terms.total, rows);
        for (int k = 0; k < terms.count; k++) cr_assert_neq(terms.largest[k].index, 1);
    }
    fixture_close(&f);
}

/* NaN at invalid keys reaches no term. */
Test(triangle_attention_terms, invalid_keys_are_not_read)
{
    shape s = {1, 1, 1, 5, 3, LENGTHS, GG_F32, 1.0};
    fixture f = fixture_open(&s, 3);
    *(int32_t *)f.problem.input[GG_TA_KEY_LENGTHS].data = 3;
    const int kv[] = {GG_TA_K, GG_TA_V};
    for (int t = 0; t < 2; t++)
        for (int64_t i = 3 * s.D; i < 5 * s.D; i++)
            ((uint16_t *)f.problem.input[kv[t]].data)[i] = 0x7fc0;
    for (int o = 0; o < GG_TA_OUTPUTS; o++)
        for (int64_t e = 0; e < fixture_count(&f, o); e++)
            cr_assert(isfinite(terms_of(&f, o, e, 1).sum_abs));
    fixture_close(&f);
}

/* The named factors make the term: P (dP - delta) k / sqrt(D), with the true dP and
 * delta, not those that MPFR shifts. */
Test(triangle_attention_terms, factors_make_the_term)
{
    shape s = {1, 2, 1, 9, 4, ALL_KEYS, GG_F32, 1.0};
    fixture f = fixture_open(&s, 17);
    const uint16_t *v = f.problem.input[GG_TA_V].data;
    const uint16_t *dout = f.problem.input[GG_TA_DOUT].data;
    const int outputs[] = {GG_TA_DQ, GG_TA_DK};
    for (int o = 0; o < 2; o++)
        for (int64_t e = 0; e < f.elements; e += 5) {
            gg_terms terms = terms_of(&f, outputs[o], e, 1);
            for (int k = 0; k < terms.count; k++) {
                const gg_term *t = &terms.largest[k];
                int64_t slice = e / s.D / s.N, n = e / s.D % s.N;
                int64_t i = o == 0 ? n : t->index, j = o == 0 ? t->index : n;
                double dp = 0, product = t->factor[0] * t->factor[3] / 2;
                for (int64_t d = 0; d < s.D; d++)
                    dp += gg_bf16_value(dout[(slice * s.N + i) * s.D + d]) *
                          gg_bf16_value(v[(slice * s.N + j) * s.D + d]);
                cr_assert_float_eq(t->factor[1], dp, 1e-12);
                cr_assert_float_eq(product * (t->factor[1] - t->factor[2]), t->value,
                                   1e-12);
            }
        }
    fixture_close(&f);
}

Test(triangle_attention_terms, threads_do_not_matter)
{
    shape s = {1, 4, 2, 10, 3, MASKED, GG_F32, 1.0};
    fixture f = fixture_open(&s, 23);
    for (int o = 0; o < GG_TA_OUTPUTS; o++) {
        gg_terms one = terms_of(&f, o, 5, 1), many = terms_of(&f, o, 5, 7);
        cr_assert_eq(one.sum, many.sum);
        cr_assert_eq(one.sum_abs, many.sum_abs);
        for (int k = 0; k < one.count; k++)
            cr_assert_eq(one.largest[k].index, many.largest[k].index);
    }
    fixture_close(&f);
}

Test(triangle_attention_terms, refusals)
{
    shape s = {1, 2, 1, 4, 3, ALL_KEYS, GG_F32, 1.0};
    fixture f = fixture_open(&s, 1);
    gg_terms terms;
    const struct { int output; int64_t element; } bad[] = {
        {-1, 0}, {GG_TA_OUTPUTS, 0}, {GG_TA_O, -1}, {GG_TA_O, 24}, {GG_TA_DBIAS, 16}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_assert_eq(gg_triangle_attention_terms(&f.problem, bad[i].output,
                                                 bad[i].element, &terms, 1),
                     GG_BAD_INPUT);
    void *dout = f.problem.input[GG_TA_DOUT].data;
    f.problem.input[GG_TA_DOUT].data = NULL;
    cr_assert_eq(gg_triangle_attention_terms(&f.problem, GG_TA_DV, 0, &terms, 1),
                 GG_BAD_INPUT);
    cr_assert_eq(gg_triangle_attention_terms(&f.problem, GG_TA_O, 0, &terms, 1), GG_OK);
    f.problem.input[GG_TA_DOUT].data = dout;
    fixture_close(&f);
}
