/* SPDX-License-Identifier: Apache-2.0
 * The host backend's measures against sums written out here, and with faults planted. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "harness/backend.h"

enum { COUNT = 10000 }; /* three chunks, the last one ragged */

static uint16_t bits[COUNT];
static double truth[COUNT], allowance[COUNT];

static gg_measures measured(int threads)
{
    gg_backend host;
    gg_measures m;
    gg_tensor t = {.data = bits, .dtype = GG_BF16, .ndim = 1, .shape = {COUNT}};
    cr_assert_eq(gg_backend_open("host", threads, &host), GG_OK);
    cr_assert_eq(host.measure(&host, &t, truth, allowance, &m), GG_OK);
    return m;
}

static void setup(void)
{
    for (int i = 0; i < COUNT; i++) {
        truth[i] = sin(i) + 1e-3 * i;
        bits[i] = gg_bf16_round(truth[i]);
        allowance[i] = 1e-2;
    }
}

TestSuite(measure, .init = setup);

Test(measure, correctly_rounded_output_sits_on_the_floor)
{
    gg_measures m = measured(1);
    cr_assert_eq(m.sums.finite, COUNT);
    cr_assert_eq(m.sums.error2, m.sums.floor2);
    cr_assert_gt(m.sums.floor2, 0);
    cr_assert_leq(m.sums.ratio, 1);
    double sum = 0;
    for (int i = 0; i < COUNT; i++) sum += truth[i] * truth[i];
    cr_assert_float_eq(m.sums.truth2, sum, 1e-9 * sum);
}

Test(measure, threads_do_not_change_a_bit)
{
    gg_measures one = measured(1), two = measured(2);
    cr_assert_eq(memcmp(&one, &two, sizeof one), 0);
}

Test(measure, one_bad_element_is_found_in_the_last_chunk)
{
    bits[COUNT - 1] = gg_bf16_round(truth[COUNT - 1] + 5);
    gg_measures m = measured(2);
    cr_assert_eq(m.sums.ratio_at, COUNT - 1);
    cr_assert_gt(m.sums.ratio, 100);
    cr_assert_lt(m.ratio_p99, 1, "one element of 10000 must not move the percentile");
}

Test(measure, two_percent_of_bad_elements_move_the_percentile)
{
    for (int i = 0; i < COUNT; i += 50) bits[i] = gg_bf16_round(truth[i] + 5);
    cr_assert_gt(measured(1).ratio_p99, 100);
}

Test(measure, nan_and_infinity_are_counted_apart)
{
    bits[77] = 0x7fff;
    bits[4096] = 0x7f80;
    truth[5000] = NAN; /* and an output that pretends to know */
    gg_measures m = measured(1);
    cr_assert_eq(m.sums.mismatch, 3);
    cr_assert_eq(m.sums.mismatch_first, 77);
    cr_assert_eq(m.sums.finite, COUNT - 3);
    bits[5000] = 0x7fff; /* NaN where the truth is NaN is no mismatch */
    cr_assert_eq(measured(1).sums.mismatch, 2);
}

Test(measure, overflow_to_infinity_is_right_where_the_truth_rounds_there)
{
    truth[3] = 3.4e38 * 1.01;
    bits[3] = 0x7f80;
    cr_assert_eq(measured(1).sums.mismatch, 0);
    bits[3] = 0xff80;
    cr_assert_eq(measured(1).sums.mismatch, 1);
}

Test(measure, nan_allowance_cannot_hide)
{
    allowance[10] = NAN;
    gg_measures m = measured(1);
    cr_assert(isnan(m.sums.ratio));
    cr_assert_eq(m.sums.ratio_at, 10);
}

Test(measure, half_ulp)
{
    cr_assert_eq(gg_half_ulp(1.0, GG_BF16), 0x1p-8);
    cr_assert_eq(gg_half_ulp(-1.99, GG_F32), 0x1p-24);
    cr_assert_eq(gg_half_ulp(0.0, GG_BF16), 0x1p-134);
    cr_assert_eq(gg_half_ulp(0x1p-130, GG_F32), 0x1p-150);
}

Test(compare, differences_are_counted_as_bits)
{
    gg_backend host;
    gg_difference d;
    float a[4] = {0.0f, 1.0f, NAN, 2.0f}, b[4] = {-0.0f, 1.0f, NAN, 2.0f};
    gg_tensor t = {.data = a, .dtype = GG_F32, .ndim = 1, .shape = {4}};
    cr_assert_eq(gg_backend_open("host", 1, &host), GG_OK);
    host.compare(&host, &t, b, 1, 2, &d);
    cr_assert_eq(d.differing, 1, "-0 and +0 are different bits, equal NaNs are not");
    cr_assert_eq(d.first, 0);
    cr_assert_eq(d.ulps, 1);
    b[3] = nextafterf(nextafterf(2.0f, 3.0f), 3.0f);
    host.compare(&host, &t, b, 1, 2, &d);
    cr_assert_eq(d.differing, 2);
    cr_assert_eq(d.ulps, 2);
}

Test(compare, unwritten_is_the_poison_of_both_runs)
{
    gg_backend host;
    gg_difference d;
    uint16_t a[4] = {0xffff, 0xffff, 1, 2}, b[4] = {0x7f7f, 0xffff, 1, 2};
    gg_tensor t = {.data = a, .dtype = GG_BF16, .ndim = 1, .shape = {4}};
    cr_assert_eq(gg_backend_open("host", 1, &host), GG_OK);
    host.compare(&host, &t, b, 0xffffffffu, 0x7f7f7f7fu, &d);
    cr_assert_eq(d.unwritten, 1);
}

Test(compare, long_arrays_find_the_first)
{
    enum { LONG = 200000 };
    gg_backend host;
    gg_difference d;
    uint16_t *a = calloc(2 * LONG, sizeof *a), *b = a + LONG;
    gg_tensor t = {.data = a, .dtype = GG_BF16, .ndim = 1, .shape = {LONG}};
    cr_assert_eq(gg_backend_open("host", 2, &host), GG_OK);
    b[199999] = 1;
    b[70001] = 9;
    host.compare(&host, &t, b, 5, 6, &d);
    cr_assert_eq(d.differing, 2);
    cr_assert_eq(d.first, 70001);
    cr_assert_eq(d.ulps, 9);
    free(a);
}

Test(backend, unknown_devices_are_refused)
{
    gg_backend b;
    const char *bad[] = {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:99999", "cudaX", "HOST"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_assert_eq(gg_backend_open(bad[i], 1, &b), GG_BAD_INPUT, "%s", bad[i]);
}
