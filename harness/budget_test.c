/* SPDX-License-Identifier: Apache-2.0
 * An account holds for a kernel that rounds where it says, and fails for every planted
 * fault that lowers its precision; what a kernel states wrongly is refused. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "harness/budget.h"
#include "kernels/mutant.h"
#include "kernels/registry.h"

static gg_budget_options options(const char *glob)
{
    return (gg_budget_options){.suite = "smoke600", .device = "host", .glob = glob,
                               .ablate = "none", .threads = 2};
}

static gg_status run(const gg_kernel *kernel, const char *glob, gg_budget *budget)
{
    gg_budget_options o = options(glob);
    return gg_budget_run(&o, kernel, budget);
}

Test(budget, lower_precision_is_not_explained)
{
    int tried = 0;
    for (int s = 0; gg_mutant_sets[s] != NULL; s++) {
        const gg_mutant_set *set = gg_mutant_sets[s];
        if (strcmp(set->operator_name, "triangle_attention") != 0) continue;
        for (const gg_mutant *m = set->mutants; m->name != NULL; m++) {
            gg_budget budget;
            if (strcmp(m->kind, "K4") != 0) continue;
            tried++;
            cr_assert_eq(run(set->arm(m), "[nsv][oha]*-N24-D32-s000", &budget), GG_OK, "%s",
                         gg_message());
            cr_expect_eq(budget.case_count, 3); /* normal, sharp, value_mean */
            cr_expect_eq(gg_budget_verdict(&budget), GG_FAILED, "%s (%s) is explained",
                         m->name, m->fault);
            gg_budget_free(&budget);
        }
    }
    cr_assert(tried >= 15);
}

Test(budget, the_right_kernel_is_predicted)
{
    gg_budget budget;
    gg_budget_row *rows;
    int count = 0;
    cr_assert_eq(run(&gg_ta_turbo_twin, "[nsv][oha]*-N24-D32-s000", &budget), GG_OK);
    cr_assert_eq(gg_budget_rows(&budget, &rows, &count), GG_OK);
    cr_assert_eq(count, 5 * 4);
    for (int i = 0; i < count; i++)
        cr_expect_str_eq(gg_budget_outcome(&rows[i]), "predicted", "%s %s: ratio %g other %g",
                         budget.outputs[rows[i].output], rows[i].family, rows[i].ratio,
                         rows[i].other);
    free(rows);
    gg_budget_free(&budget);
}

/* Both variants of a kernel have their own points. */
Test(budget, a_feature_changes_the_points)
{
    gg_budget_options o = options("value_mean-N24-D32-s000");
    gg_budget budget;
    o.ablate = NULL;
    cr_assert_eq(gg_budget_run(&o, &gg_ta_split_twin, &budget), GG_OK);
    cr_assert_eq(budget.variant_count, 2);
    cr_expect_str_eq(budget.variants[0].name, "compensation on");
    cr_expect_str_eq(budget.variants[1].name, "compensation off");
    cr_expect_neq(budget.variants[0].points, budget.variants[1].points);
    cr_expect_eq(gg_budget_verdict(&budget), GG_PASSED);
    gg_budget_free(&budget);
    o.ablate = "pairs_backward";
    cr_assert_eq(gg_budget_run(&o, &gg_ta_split_twin, &budget), GG_OK);
    cr_expect_str_eq(budget.variants[1].name, "pairs_backward off");
    cr_expect_eq(gg_budget_verdict(&budget), GG_PASSED);
    gg_budget_free(&budget);
}

Test(budget, wrong_statements_are_refused)
{
    static const gg_rounding strange[] = {{"nowhere", NULL, 0}, {NULL, NULL, 0}};
    static const gg_rounding magic[] = {{"p", "magic", 1}, {NULL, NULL, 0}};
    const gg_rounding *const wrong[] = {NULL, strange, magic};
    static const char *const says[] = {"does not state where it rounds",
                                       "no rounding point 'nowhere'", "a feature 'magic'"};
    for (int i = 0; i < 3; i++) {
        gg_kernel kernel = gg_ta_turbo_twin;
        gg_budget budget;
        kernel.roundings = wrong[i];
        cr_assert_eq(run(&kernel, "normal-N24-D16-s000", &budget), GG_BAD_INPUT);
        cr_expect_not_null(strstr(gg_message(), says[i]), "%s", gg_message());
        gg_budget_free(&budget);
    }
}

/* A kernel that cannot run, or leaves NaN, never passes. */
static int broken(const gg_call *call) { return call != NULL ? 5 : 0; }

static int leaves_nan(const gg_call *call)
{
    int error = gg_ta_turbo_twin.backward(call);
    ((uint16_t *)call->outputs[3]->data)[11] = 0x7fff;
    return error;
}

Test(budget, what_did_not_run_or_is_nan_is_not_explained)
{
    gg_budget budget;
    gg_kernel kernel = gg_ta_turbo_twin;
    kernel.backward = broken;
    cr_assert_eq(run(&kernel, "normal-N24-D16-s000", &budget), GG_OK);
    cr_expect_eq(gg_budget_verdict(&budget), GG_NOT_VERIFIED);
    cr_expect_not_null(strstr(budget.cases[0].reason, "backward failed with error 5"));
    gg_budget_free(&budget);
    kernel.backward = leaves_nan;
    cr_assert_eq(run(&kernel, "normal-N24-D16-s000", &budget), GG_OK);
    cr_expect_eq(gg_budget_verdict(&budget), GG_FAILED);
    cr_expect_eq(budget.cases[0].entry[0][3].mismatch, 1);
    gg_budget_free(&budget);
}
