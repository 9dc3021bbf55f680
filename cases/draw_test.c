/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/draw.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <xxhash.h>

#include "cases/draw_core.h"
#include "cases/fill.h"

enum { MANY = 1000000, ODD = 200003 /* more than three pieces, and a cut block */ };

static gg_tensor vector(gg_dtype dtype, int64_t count)
{
    gg_tensor t = {.dtype = dtype, .ndim = 1, .shape = {count}};
    t.data = calloc((size_t)count, gg_dtype_bytes(dtype));
    cr_assert_not_null(t.data);
    return t;
}

static gg_tensor drawn(gg_law law, gg_dtype dtype, int64_t count, uint64_t seed,
                       int tensor, int threads)
{
    gg_draw draw = {.law = law, .scale = 1.5, .mean = -0.25};
    gg_tensor t = vector(dtype, count);
    cr_assert_eq(gg_draw_host(&draw, seed, tensor, &t, threads), GG_OK);
    return t;
}

/* What the first elements are, forever: results on file were made from them. The GPU
 * must give the same, as the harness checks on each card. */
Test(draw, digests_are_those_on_file)
{
    static const struct {
        gg_law law;
        gg_dtype dtype;
        uint64_t digest;
    } known[] = {
        {GG_LAW_NORMAL, GG_BF16, 0x77154281bd9b32aa},
        {GG_LAW_NORMAL, GG_F32, 0x1e510459f9e32a29},
        {GG_LAW_HEAVY, GG_BF16, 0x8b6219a6e538697d},
        {GG_LAW_HEAVY, GG_F32, 0x192775b52d36223c},
        {GG_LAW_CONSTANT, GG_BF16, 0x95cc1e3287c83569},
        {GG_LAW_CONSTANT, GG_F32, 0xb3ca6b0ec2e764de},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        gg_tensor t = drawn(known[i].law, known[i].dtype, 4096, 42, 3, 1);
        uint64_t digest = XXH3_64bits(t.data, gg_tensor_bytes(&t));
        cr_expect_eq(digest, known[i].digest, "law %d type %s: 0x%016llx",
                     (int)known[i].law, gg_dtype_name(known[i].dtype),
                     (unsigned long long)digest);
        free(t.data);
    }
}

Test(draw, threads_and_blocks_change_nothing)
{
    for (int law = GG_LAW_NORMAL; law <= GG_LAW_HEAVY; law++) {
        gg_tensor one = drawn((gg_law)law, GG_F32, ODD, 7, 1, 1);
        gg_tensor many = drawn((gg_law)law, GG_F32, ODD, 7, 1, 5);
        cr_assert_arr_eq(one.data, many.data, gg_tensor_bytes(&one));
        gg_draw draw = {.law = (gg_law)law, .scale = 1.5, .mean = -0.25};
        for (int64_t i = 0; i < ODD; i += 37) {
            float value = (float)gg_draw_value(&draw, 7, 1, (uint64_t)i);
            cr_assert_eq(((float *)one.data)[i], value, "element %lld", (long long)i);
        }
        free(one.data);
        free(many.data);
    }
}

Test(draw, normal_has_the_moments_of_a_normal)
{
    gg_tensor t = drawn(GG_LAW_NORMAL, GG_F32, MANY, 1, 0, 2);
    double power[5] = {0};
    for (int i = 0; i < MANY; i++) {
        double z = (gg_fill_get(&t, i) + 0.25) / 1.5, product = z;
        for (int m = 1; m <= 4; m++, product *= z) power[m] += product / MANY;
    }
    /* five standard errors: sqrt(var of z^m / count) */
    cr_expect(fabs(power[1]) <= 5e-3, "mean %.5f", power[1]);
    cr_expect(fabs(power[2] - 1) <= 7e-3, "variance %.5f", power[2]);
    cr_expect(fabs(power[3]) <= 2e-2, "third moment %.5f", power[3]);
    cr_expect(fabs(power[4] - 3) <= 5e-2, "fourth moment %.5f", power[4]);
    free(t.data);
}

/* Distribution of t(3)/sqrt(3): 1/2 + (atan y + y / (1 + y^2)) / pi. */
Test(draw, heavy_has_the_quantiles_of_student_3)
{
    static const double at[] = {-20, -3, -1, -0.3, 0, 0.5, 1, 2, 8, 30};
    gg_tensor t = drawn(GG_LAW_HEAVY, GG_F32, MANY, 1, 0, 2);
    for (size_t q = 0; q < sizeof at / sizeof at[0]; q++) {
        double y = at[q], below = 0;
        for (int i = 0; i < MANY; i++) below += (gg_fill_get(&t, i) + 0.25) / 1.5 <= y;
        double wanted = 0.5 + (atan(y) + y / (1 + y * y)) / 3.14159265358979323846;
        double limit = 5 * sqrt(wanted * (1 - wanted) / MANY);
        cr_expect(fabs(below / MANY - wanted) <= limit, "at %g: %.6f, not %.6f", y,
                  below / MANY, wanted);
    }
    free(t.data);
}

Test(draw, seeds_tensors_and_laws_are_independent)
{
    gg_tensor base = drawn(GG_LAW_NORMAL, GG_F32, MANY, 1, 0, 2);
    gg_tensor other[4] = {
        drawn(GG_LAW_NORMAL, GG_F32, MANY, 2, 0, 2),
        drawn(GG_LAW_NORMAL, GG_F32, MANY, 1, 1, 2),
        drawn(GG_LAW_NORMAL, GG_F32, MANY, UINT64_C(1) | UINT64_C(1) << 32, 0, 2),
        drawn(GG_LAW_HEAVY, GG_F32, MANY, 1, 0, 2),
    };
    for (int o = 0; o < 4; o++) {
        double product = 0;
        for (int i = 0; i < MANY; i++) {
            double a = (gg_fill_get(&base, i) + 0.25) / 1.5;
            double b = (gg_fill_get(&other[o], i) + 0.25) / 1.5;
            product += a * fmax(-4, fmin(4, b));
        }
        cr_expect(fabs(product / MANY) <= 5e-3, "pair %d: %.5f", o, product / MANY);
        free(other[o].data);
    }
    free(base.data);
}

Test(draw, indices_beyond_32_bits_are_new)
{
    uint64_t far = UINT64_C(1) << 34;
    cr_assert_neq(gg_draw_normal(1, 0, 5), gg_draw_normal(1, 0, far + 5));
    cr_assert_neq(gg_draw_heavy(1, 0, 5), gg_draw_heavy(1, 0, far + 5));
}

Test(draw, rounds_once_to_bf16)
{
    gg_tensor wide = drawn(GG_LAW_NORMAL, GG_F32, ODD, 9, 2, 2);
    gg_tensor narrow = drawn(GG_LAW_NORMAL, GG_BF16, ODD, 9, 2, 2);
    gg_draw draw = {.law = GG_LAW_NORMAL, .scale = 1.5, .mean = -0.25};
    for (int64_t i = 0; i < ODD; i++) {
        double exact = gg_draw_value(&draw, 9, 2, (uint64_t)i);
        cr_assert_eq(((uint16_t *)narrow.data)[i], gg_bf16_round(exact));
        cr_assert(fabs(gg_fill_get(&wide, i) - exact) <= 0x1p-24 * fabs(exact));
    }
    free(wide.data);
    free(narrow.data);
}

Test(draw, output_law_scales_the_truth)
{
    enum { COUNT = 70000 };
    double *truth = malloc(COUNT * sizeof *truth);
    cr_assert_not_null(truth);
    for (int i = 0; i < COUNT; i++) truth[i] = i - 35000.5;
    gg_tensor t = vector(GG_F32, COUNT);
    cr_assert_eq(gg_draw_output_host(3, truth, &t, 2), GG_OK);
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(((float *)t.data)[i], (float)(3 * truth[i]));
    cr_assert_eq(gg_draw_output_host(0, truth, &t, 1), GG_OK);
    for (int i = 0; i < COUNT; i++) /* scale 0: the gradient of the mean of squares */
        cr_assert_eq(((float *)t.data)[i], (float)(2.0 / COUNT * truth[i]));
    free(truth);
    free(t.data);
}

Test(draw, refuses_what_it_cannot_draw)
{
    gg_tensor t = vector(GG_I32, 4);
    gg_draw draw = {.law = GG_LAW_NORMAL, .scale = 1}, host = {.law = GG_LAW_HOST};
    cr_assert_eq(gg_draw_host(&draw, 1, 0, &t, 1), GG_INTERNAL);
    t.dtype = GG_F32;
    cr_assert_eq(gg_draw_host(&host, 1, 0, &t, 1), GG_INTERNAL);
    t.shape[0] = 0;
    cr_assert_eq(gg_draw_host(&draw, 1, 0, &t, 1), GG_OK);
    free(t.data);
}
