/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/fixture_test.h"
#include "reports/summary.h"

static const gg_summary_row *find_row(const gg_summary *s, const char *output,
                                      const char *family)
{
    for (int i = 0; i < s->row_count; i++)
        if (strcmp(s->rows[i].output, output) == 0 &&
            strcmp(s->rows[i].family, family) == 0)
            return &s->rows[i];
    cr_assert_fail("no row %s %s", output, family);
    return NULL;
}

static gg_summary assert_made(const gg_run_record *run)
{
    gg_summary summary;
    cr_assert_eq(gg_summary_make(run, &summary), GG_OK, "%s", gg_message());
    return summary;
}

Test(summary, means_and_worst_by_hand)
{
    gg_run_record run = make_run(3);
    for (int i = 0; i < 3; i++) {
        gg_output_record *o = &run.cases[i].outputs[0];
        o->rmse = i + 1;
        o->floor_rmse = 0.5;
        o->truth_rms = 4;
        o->gauge_max = i == 1 ? 9 : 1;
        o->gauge_p99 = i == 0 ? 3 : 2;
        o->certificate = i == 2 ? 0.25 : 0.125;
        o->certified = 10;
    }
    run.cases[1].runs = 1;
    run.cases[2].outputs[0].repeat_differing = 1;
    gg_summary s = assert_made(&run);
    const gg_summary_row *all = find_row(&s, "dq", "");
    cr_assert_eq(all->cases, 3);
    cr_assert_eq(all->rmse, 2);
    cr_assert_eq(all->ratio, 4, "mean rmse over mean floor");
    cr_assert_eq(all->truth_rms, 4);
    cr_assert(all->gauge_max == 9 && all->gauge_max_case == 1);
    cr_assert(all->gauge_p99 == 3 && all->gauge_p99_case == 0);
    cr_assert(all->certificate == 0.25 && all->certified == 30);
    cr_assert_eq(all->repeated, 2, "one run compares nothing");
    cr_assert_eq(all->identical, 1);
    cr_assert_eq(find_row(&s, "dq", "normal")->rmse, 2);
    cr_assert_eq(find_row(&s, "dq", "shifted")->rmse, 2);
    cr_assert_eq(find_row(&s, "dq", "shifted")->cases, 1);
    cr_assert_eq(s.row_count, 6);
    cr_assert_eq(s.shape_count, 4, "two shapes of two outputs");
    cr_assert(s.shapes[0].extent[3] == 128 && s.shapes[2].extent[3] == 256);
    cr_assert_eq(s.shapes[0].rmse, 1.5);
    gg_summary_free(&s);
    gg_run_free(&run);
}

Test(summary, nan_is_never_hidden)
{
    gg_run_record run = make_run(4);
    run.cases[1].outputs[0].gauge_max = (double)NAN;
    run.cases[2].outputs[0].gauge_max = 1e9;
    run.cases[1].outputs[0].rmse = (double)NAN;
    gg_summary s = assert_made(&run);
    const gg_summary_row *all = find_row(&s, "dq", "");
    cr_assert(isnan(all->gauge_max));
    cr_assert_eq(all->gauge_max_case, 1);
    cr_assert(isnan(all->rmse));
    cr_assert(isnan(all->ratio));
    cr_assert_eq(s.ablation[0].pairs, 3, "a pair needs both");
    gg_summary_free(&s);
    gg_run_free(&run);
}

Test(summary, strength_of_equal_runs)
{
    cr_assert_eq(gg_excluded_rate(0), 1);
    cr_assert_eq(gg_excluded_rate(1), 1);
    cr_assert_float_eq(gg_excluded_rate(2), 0.95, 1e-12);
    cr_assert_float_eq(gg_excluded_rate(5), 0.5271, 1e-4);
    cr_assert_float_eq(gg_excluded_rate(200), 0.01494, 1e-5);
    gg_run_record run = make_run(6);
    run.cases[0].runs = 200;
    run.cases[3].outputs[1].repeat_differing = 2;
    run.cases[5].runs = 1;
    gg_summary s = assert_made(&run);
    cr_assert_eq(s.determinism_count, 4);
    const gg_determinism_row *row = s.determinism;
    cr_assert(row[0].runs == 200 && row[0].cases == 1 && row[0].identical == 1);
    cr_assert(row[1].runs == 5 && row[1].cases == 2 && row[1].identical == 1);
    cr_assert_str_eq(row[1].family, "shifted");
    cr_assert(row[2].runs == 5 && row[2].cases == 2 && row[2].identical == 2);
    cr_assert(row[3].runs == 1 && row[3].identical == 0 && row[3].excluded == 1);
    gg_summary_free(&s);
    gg_run_free(&run);
}

Test(summary, interval_covers_and_is_reproducible)
{
    double values[40], scratch[2000], mean, low, high, again[3];
    for (int i = 0; i < 40; i++) values[i] = 1 + 0.1 * (i % 9 - 4);
    gg_mean_interval(values, 40, scratch, &mean, &low, &high);
    gg_mean_interval(values, 40, scratch, &again[0], &again[1], &again[2]);
    cr_assert(mean == again[0] && low == again[1] && high == again[2]);
    double squares = 0;
    for (int i = 0; i < 40; i++) squares += (values[i] - mean) * (values[i] - mean);
    double half = 1.96 * sqrt(squares / 39 / 40);
    cr_assert_float_eq(low, mean - half, 0.15 * half, "%g %g", low, mean - half);
    cr_assert_float_eq(high, mean + half, 0.15 * half);
    cr_assert(low < mean && mean < high);
}

/* 95 % means 95 %: over many samples of a known mean the interval misses about one in
 * twenty. */
Test(summary, interval_has_its_coverage)
{
    static double values[50], scratch[2000];
    uint64_t state = 7;
    int missed = 0;
    for (int trial = 0; trial < 400; trial++) {
        for (int i = 0; i < 50; i++) {
            values[i] = 0;
            for (int k = 0; k < 12; k++) {
                state = state * UINT64_C(6364136223846793005) +
                        UINT64_C(1442695040888963407);
                values[i] += (double)(state >> 11) * 0x1p-53 - 0.5;
            }
        }
        double mean, low, high;
        gg_mean_interval(values, 50, scratch, &mean, &low, &high);
        missed += !(low <= 0 && 0 <= high);
    }
    cr_assert(missed >= 8 && missed <= 44, "%d of 400", missed);
}

static gg_outcome judge(const double *values, int count)
{
    double scratch[2000];
    gg_ablation_row row = {.pairs = 0};
    gg_ablation_judge(&row, values, count, scratch);
    return row.outcome;
}

Test(summary, three_outcomes_of_an_ablation)
{
    const double up[] = {0.3, 0.4, 0.35, 0.5, 0.2, 0.3};
    const double none[] = {0.3, -0.4, 0.35, -0.5, 0.2, -0.1};
    const double down[] = {-0.3, -0.4, -0.35, -0.5, -0.2, -0.3};
    const double zero[] = {0, 0, 0, 0, 0, 0};
    const double broken[] = {0.3, 0.4, 0.35, 0.5, 0.2, -(double)INFINITY};
    cr_assert_eq(judge(up, 6), GG_EARNED);
    cr_assert_eq(judge(up, 4), GG_NOT_RESOLVABLE, "too few pairs");
    cr_assert_eq(judge(none, 6), GG_NOT_RESOLVABLE);
    cr_assert_eq(judge(down, 6), GG_COLLAPSED);
    cr_assert_eq(judge(zero, 6), GG_COLLAPSED);
    cr_assert_eq(judge(zero, 1), GG_COLLAPSED);
    cr_assert_neq(judge(broken, 6), GG_EARNED);
}

Test(summary, ablation_is_paired_case_by_case)
{
    gg_run_record run = make_run(10);
    for (int i = 0; i < 10; i++) { /* errors differ tenfold, each saves a quarter */
        gg_output_record *o = &run.cases[i].outputs[0];
        o->rmse = 0.75 * (i + 1);
        o->ablated_rmse = i + 1;
        run.cases[i].outputs[1].ablated_rmse = (double)NAN;
    }
    gg_summary s = assert_made(&run);
    cr_assert_eq(s.ablation_count, 3, "dbias was not run: no row at all");
    for (int i = 0; i < 3; i++) {
        cr_assert_float_eq(s.ablation[i].mean, 0.25, 1e-15);
        cr_assert_float_eq(s.ablation[i].low, 0.25, 1e-15);
        cr_assert_eq(s.ablation[i].outcome, GG_EARNED);
    }
    cr_assert_eq(s.ablation[1].pairs, 5);
    gg_summary_free(&s);
    gg_run_free(&run);
}

/* Groups are sorted, not searched: every case its own family and shape. */
Test(summary, many_groups_do_not_take_long, .timeout = 20)
{
    gg_run_record run = make_run(20000);
    for (int i = 0; i < run.count; i++) {
        SET(run.cases[i].family, "f%d", i * 7919 % 20000);
        run.cases[i].extent[3] = run.count - i;
    }
    gg_summary s = assert_made(&run);
    cr_assert_eq(s.row_count, 2 * 20001);
    cr_assert_eq(s.shape_count, 2 * 20000);
    cr_assert_str_eq(s.rows[1].family, "f0", "in the order of the suite");
    cr_assert_str_eq(s.rows[2].family, "f7919");
    cr_assert_eq(s.shapes[0].extent[3], 1, "in the order of size");
    gg_summary_free(&s);
    gg_run_free(&run);
}
