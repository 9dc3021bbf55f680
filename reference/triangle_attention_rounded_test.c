/* SPDX-License-Identifier: Apache-2.0
 * With nothing on, the truth; each point alone reaches the outputs that the formulas say
 * and no other; the output's point alone is the rounding of the truth. */
#include <criterion/criterion.h>

#include "reference/triangle_attention_fixture.h"
#include "reference/triangle_attention_rounded.h"

#define BIT(point) (1u << (point))

static const shape shapes[] = {{1, 3, 2, 70, 16, ALL_KEYS, GG_BF16, 1.0},
                               {2, 3, 1, 33, 8, MASKED, GG_F32, 4.0},
                               {1, 4, 2, 130, 32, LENGTHS, GG_F32, 1.0}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* The schemes of the kernels in the tree. */
#define REST (BIT(GG_TA_ACCUMULATION) | BIT(GG_TA_OUTPUT))
#define ONE (BIT(GG_TA_P_DV) | BIT(GG_TA_DS) | BIT(GG_TA_DELTA) | REST)
#define PAIRS (BIT(GG_TA_P_DV_PAIR) | BIT(GG_TA_DS_PAIR) | BIT(GG_TA_DELTA_PAIR) | REST)
static const unsigned schemes[] = {
    BIT(GG_TA_P) | ONE, BIT(GG_TA_P_LAZY) | ONE, BIT(GG_TA_P_PAIR) | PAIRS,
    BIT(GG_TA_P_WHOLE) | BIT(GG_TA_P_DV) | BIT(GG_TA_DS) | REST, BIT(GG_TA_INPUTS)};
enum { SCHEMES = sizeof schemes / sizeof schemes[0] };

static gg_roundings roundings(unsigned has, unsigned on)
{
    return (gg_roundings){.has = has, .on = on,
                          .output = {GG_BF16, GG_BF16, GG_BF16, GG_BF16, GG_F32}};
}

/* The values with those points on, in memory that a later call takes again. */
static double *const *evaluate(const fixture *f, unsigned has, unsigned on, int threads)
{
    static gg_truth out;
    gg_roundings r = roundings(has, on);
    for (int o = 0; o < GG_TA_OUTPUTS; o++) {
        size_t bytes = (size_t)fixture_count(f, o) * sizeof(double);
        free(out.value[o]);
        out.value[o] = malloc(bytes);
        memset(out.value[o], 0xff, bytes); /* NaN: what is not written shows */
    }
    cr_assert_eq(gg_triangle_attention_rounded_host(&f->problem, &r, &out, threads), GG_OK,
                 "%s", gg_message());
    return out.value;
}

/* Root of the mean square of the distance from the truth. */
static double distance(const fixture *f, int output, const double *value)
{
    double sum = 0;
    int64_t count = fixture_count(f, output);
    for (int64_t i = 0; i < count; i++) {
        double error = value[i] - f->truth.value[output][i];
        sum += error * error;
    }
    return sqrt(sum / (double)count);
}

static fixture open(int s, uint64_t seed)
{
    fixture f = fixture_open(&shapes[s], seed);
    cr_assert_eq(gg_triangle_attention_host(&f.problem, &f.truth, 2), GG_OK);
    return f;
}

/* Each term of a sum is rounded at most N + D + 16 times, 2^-53 of it each; the allowance
 * is 2^-8 of the sum of their absolute values at least. */
Test(triangle_attention_rounded, nothing_on_is_the_truth)
{
    for (int s = 0; s < SHAPES; s++) {
        fixture f = open(s, 21);
        double bound = 0x1p-45 * (double)(shapes[s].N + shapes[s].D + 16);
        for (int c = 0; c < SCHEMES; c++) {
            double *const *value = evaluate(&f, schemes[c], 0, 2);
            for (int o = 0; o < GG_TA_OUTPUTS; o++)
                for (int64_t i = 0; i < fixture_count(&f, o); i++)
                    cr_assert(fabs(value[o][i] - f.truth.value[o][i]) <=
                                  bound * f.truth.allowance[o][i],
                              "shape %d scheme %d output %d [%lld]: %.17g, truth %.17g", s,
                              c, o, (long long)i, value[o][i], f.truth.value[o][i]);
        }
        fixture_close(&f);
    }
}

Test(triangle_attention_rounded, the_output_alone_is_the_floor)
{
    for (int s = 0; s < SHAPES; s++) {
        fixture f = open(s, 22);
        double *const *value = evaluate(&f, schemes[0], BIT(GG_TA_OUTPUT), 1);
        for (int o = 0; o < GG_TA_OUTPUTS; o++) {
            double floor = 0;
            for (int64_t i = 0; i < fixture_count(&f, o); i++) {
                double x = f.truth.value[o][i];
                double y = o == GG_TA_DBIAS ? (double)(float)x
                                            : gg_bf16_value(gg_bf16_round(x));
                floor += (y - x) * (y - x);
            }
            floor = sqrt(floor / (double)fixture_count(&f, o));
            cr_assert(floor > 0);
            cr_assert(fabs(distance(&f, o, value[o]) / floor - 1) <= 1e-9);
        }
        fixture_close(&f);
    }
}

/* Which outputs a point reaches: letters o, dq, dk, dv, dbias in order, '-' where not. */
static const struct {
    int point, scheme;
    const char *reaches;
} points[] = {
    {GG_TA_INPUTS, 4, "oqkvb"},     {GG_TA_P, 0, "oqkvb"},
    {GG_TA_P_LAZY, 1, "oqkvb"},     {GG_TA_P_WHOLE, 3, "o----"},
    {GG_TA_P_PAIR, 2, "oqkvb"},     {GG_TA_P_DV, 0, "---v-"},
    {GG_TA_P_DV_PAIR, 2, "---v-"},  {GG_TA_DS, 0, "-qk--"},
    {GG_TA_DS_PAIR, 2, "-qk--"},    {GG_TA_DELTA, 0, "-qk-b"},
    {GG_TA_DELTA_PAIR, 2, "-qk-b"}, {GG_TA_ACCUMULATION, 0, "oqkvb"},
    {GG_TA_OUTPUT, 0, "oqkvb"},
};

Test(triangle_attention_rounded, each_point_reaches_what_it_should)
{
    cr_assert_eq(sizeof points / sizeof points[0], GG_TA_POINTS);
    for (int s = 0; s < SHAPES; s++) {
        fixture f = open(s, 23);
        double nothing[GG_TA_OUTPUTS];
        for (int n = 0; n < GG_TA_POINTS; n++) {
            cr_assert_eq(points[n].point, n);
            unsigned has = schemes[points[n].scheme];
            double *const *value = evaluate(&f, has, 0, 2);
            for (int o = 0; o < GG_TA_OUTPUTS; o++)
                nothing[o] = distance(&f, o, value[o]);
            value = evaluate(&f, has, BIT(n), 2);
            for (int o = 0; o < GG_TA_OUTPUTS; o++) {
                double d = distance(&f, o, value[o]);
                if (points[n].reaches[o] == '-')
                    cr_assert_eq(d, nothing[o], "point %d output %d: %g", n, o, d);
                else
                    cr_assert(d > 1e3 * nothing[o], "point %d output %d: %g, nothing %g", n,
                              o, d, nothing[o]);
            }
        }
        fixture_close(&f);
    }
}

/* A pair loses 2^-8 of what one BF16 loses, and FP32 less than a pair. */
Test(triangle_attention_rounded, finer_types_lose_less)
{
    static const struct {
        int coarse, fine, coarse_scheme, output;
    } steps[] = {{GG_TA_P_LAZY, GG_TA_P_PAIR, 1, GG_TA_O},
                 {GG_TA_P_DV, GG_TA_P_DV_PAIR, 1, GG_TA_DV},
                 {GG_TA_DS, GG_TA_DS_PAIR, 1, GG_TA_DQ},
                 {GG_TA_DELTA, GG_TA_DELTA_PAIR, 1, GG_TA_DBIAS}};
    fixture f = open(0, 24);
    for (size_t n = 0; n < sizeof steps / sizeof steps[0]; n++) {
        int o = steps[n].output;
        double coarse = distance(
            &f, o, evaluate(&f, schemes[1], BIT(steps[n].coarse), 2)[o]);
        double fine = distance(&f, o, evaluate(&f, schemes[2], BIT(steps[n].fine), 2)[o]);
        cr_assert(fine < coarse / 128 && fine > coarse / 2048, "%zu: %g, %g", n, coarse,
                  fine);
    }
    fixture_close(&f);
}

/* Keys of the second tile beyond those of the first by more than p_lazy's maximum waits for: where
 * their sum is small enough it stays that of the first tile, and weights are rounded elsewhere than
 * by p; where not, it moves as that of p does. */
Test(triangle_attention_rounded, the_first_maximum_stays_while_the_sum_is_small)
{
    static const float lift[2] = {8, 30};
    shape s = {1, 1, 1, 70, 16, ALL_KEYS, GG_F32, 0.25};
    fixture f = fixture_open(&s, 27);
    float *bias = f.problem.input[GG_TA_BIAS].data;
    int64_t count = fixture_count(&f, GG_TA_O);
    double *moving = malloc((size_t)count * sizeof(double)), apart[2] = {0, 0};
    for (int n = 0; n < 2; n++) {
        for (int i = 0; i < 70 * 70; i++) bias[i] = i % 70 < 64 ? 0 : lift[n];
        const double *o = evaluate(&f, BIT(GG_TA_P), BIT(GG_TA_P), 1)[GG_TA_O];
        memcpy(moving, o, (size_t)count * sizeof(double));
        o = evaluate(&f, BIT(GG_TA_P_LAZY), BIT(GG_TA_P_LAZY), 1)[GG_TA_O];
        for (int64_t i = 0; i < count; i++) apart[n] = fmax(apart[n], fabs(o[i] - moving[i]));
    }
    cr_assert(apart[0] > 0x1p-11 && apart[1] < 0x1p-40, "%g, %g", apart[0], apart[1]);
    free(moving);
    fixture_close(&f);
}

Test(triangle_attention_rounded, threads_and_other_outputs_change_nothing)
{
    for (int s = 0; s < SHAPES; s++) {
        fixture f = open(s, 25);
        double *first[GG_TA_OUTPUTS];
        double *const *value = evaluate(&f, schemes[0], schemes[0], 1);
        for (int o = 0; o < GG_TA_OUTPUTS; o++) {
            size_t bytes = (size_t)fixture_count(&f, o) * sizeof(double);
            first[o] = memcpy(malloc(bytes), value[o], bytes);
        }
        value = evaluate(&f, schemes[0], schemes[0], 3);
        for (int o = 0; o < GG_TA_OUTPUTS; o++) {
            size_t bytes = (size_t)fixture_count(&f, o) * sizeof(double);
            gg_truth alone = {.value = {NULL}};
            gg_roundings r = roundings(schemes[0], schemes[0]);
            cr_assert_eq(memcmp(first[o], value[o], bytes), 0);
            alone.value[o] = memset(malloc(bytes), 0xff, bytes);
            cr_assert_eq(gg_triangle_attention_rounded_host(&f.problem, &r, &alone, 2),
                         GG_OK);
            cr_assert_eq(memcmp(first[o], alone.value[o], bytes), 0, "output %d alone", o);
            free(alone.value[o]);
            free(first[o]);
        }
        fixture_close(&f);
    }
}

/* All keys of a row invalid: zero, whatever is stored there. */
Test(triangle_attention_rounded, dead_rows_and_invalid_keys_are_zero)
{
    shape s = {1, 3, 1, 20, 4, MASKED, GG_F32, 1.0};
    fixture f = fixture_open(&s, 15);
    for (int i = 0; i <= GG_TA_DOUT; i++) /* row 1 has no valid key */
        if (i != GG_TA_BIAS) memset((uint16_t *)f.problem.input[i].data + 80, 0xff, 160);
    float *bias = f.problem.input[GG_TA_BIAS].data;
    uint16_t *dout = f.problem.input[GG_TA_DOUT].data;
    for (int j = 0; j < 20; j++) bias[2 * 20 + j] = -INFINITY;
    dout[2 * 4] = 0x7f80; /* infinite, in row 0 at the query that is dead */
    cr_assert_eq(gg_triangle_attention_host(&f.problem, &f.truth, 2), GG_OK);
    for (int c = 0; c < SCHEMES - 1; c++) {
        double *const *value = evaluate(&f, schemes[c], schemes[c], 2);
        for (int o = 0; o < GG_TA_OUTPUTS; o++)
            for (int64_t i = 0; i < fixture_count(&f, o); i++) {
                cr_assert(isfinite(value[o][i]), "scheme %d output %d [%lld]", c, o,
                          (long long)i);
                if (f.truth.allowance[o][i] == 0) cr_assert_eq(value[o][i], 0.0);
            }
    }
    fixture_close(&f);
}

Test(triangle_attention_rounded, contradictions_are_refused)
{
    static const unsigned wrong[] = {
        BIT(GG_TA_P) | BIT(GG_TA_P_LAZY), BIT(GG_TA_P_WHOLE) | BIT(GG_TA_P_PAIR),
        BIT(GG_TA_DS) | BIT(GG_TA_DS_PAIR), BIT(GG_TA_DELTA) | BIT(GG_TA_DELTA_PAIR),
        BIT(GG_TA_P_DV) | BIT(GG_TA_P_DV_PAIR), BIT(GG_TA_P_WHOLE) | BIT(GG_TA_DELTA)};
    fixture f = open(1, 26);
    for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
        gg_roundings r = roundings(wrong[n], 0);
        cr_assert_eq(gg_triangle_attention_rounded_host(&f.problem, &r, &f.truth, 1),
                     GG_BAD_INPUT);
    }
    gg_roundings r = roundings(BIT(GG_TA_P), BIT(GG_TA_DS));
    cr_assert_eq(gg_triangle_attention_rounded_host(&f.problem, &r, &f.truth, 1),
                 GG_INTERNAL);
    f.problem.extent[GG_TA_D] = 72;
    for (int i = 0; i <= GG_TA_DOUT; i++) f.problem.input[i].shape[4] = 72;
    r = roundings(BIT(GG_TA_P), 0);
    cr_assert_eq(gg_triangle_attention_rounded_host(&f.problem, &r, &f.truth, 1),
                 GG_BAD_INPUT);
    fixture_close(&f);
}
