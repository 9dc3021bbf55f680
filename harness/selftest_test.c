/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "cases/suite.h"
#include "harness/selftest.h"
#include "kernels/registry.h"

TestSuite(selftest, .timeout = 120);

static bool is_kind(const char *kind)
{
    for (const gg_fault_kind *k = gg_fault_kinds; k->kind != NULL; k++)
        if (strcmp(k->kind, kind) == 0) return true;
    return false;
}

Test(selftest, sixty_mutants_and_more_over_all_kinds)
{
    int count = 0, seen = 0, kinds = 0;
    for (int s = 0; gg_mutant_sets[s] != NULL; s++)
        for (const gg_mutant *m = gg_mutant_sets[s]->mutants; m->name != NULL; m++, count++)
            cr_expect(is_kind(m->kind), "%s is of kind %s", m->name, m->kind);
    for (const gg_fault_kind *k = gg_fault_kinds; k->kind != NULL; k++, kinds++) {
        bool found = false;
        for (int s = 0; gg_mutant_sets[s] != NULL; s++)
            for (const gg_mutant *m = gg_mutant_sets[s]->mutants; m->name != NULL; m++)
                found |= strcmp(m->kind, k->kind) == 0;
        cr_expect(found, "%s has no mutant", k->kind);
        seen += found;
    }
    cr_assert_eq(kinds, 15);
    cr_assert_eq(seen, 15);
    cr_assert_geq(count, 60);
}

Test(selftest, mutants_are_complete_and_stand_once)
{
    for (int s = 0; gg_mutant_sets[s] != NULL; s++) {
        const gg_mutant_set *set = gg_mutant_sets[s];
        gg_suite suite;
        cr_assert_eq(gg_suite_load(set->suite, &suite), GG_OK, "%s", gg_message());
        cr_assert_str_eq(suite.op->name, set->operator_name);
        cr_assert(suite.relations);
        for (const gg_mutant *m = set->mutants; m->name != NULL; m++) {
            int matched = 0;
            for (int i = 0; i < suite.count; i++)
                matched += gg_case_matches(&suite.cases[i], m->cases);
            cr_expect(matched > 0, "%s: no case matches %s", m->name, m->cases);
            cr_expect(m->check != NULL && m->fault[0] != '\0' && m->how != NULL);
            cr_expect_not_null(gg_kernel_find(set->operator_name, set->base(m), kDLCPU));
            for (const gg_mutant *n = set->mutants; n < m; n++)
                cr_expect_str_neq(n->name, m->name);
        }
        gg_suite_free(&suite);
    }
}

Test(selftest, every_probe_raises_its_alarm)
{
    int count = 0;
    for (const gg_probe *p = gg_probes; p->name != NULL; p++, count++)
        cr_expect(p->alarms(), "%s %s", p->part, p->name);
    cr_assert_geq(count, 30);
}

Test(selftest, verdict_needs_a_full_score_and_no_alarm)
{
    gg_selftest r = {.planted = 3, .caught = 3, .honest_cases = 5};
    cr_assert_eq(gg_selftest_verdict(&r), GG_PASSED);
    r.caught = 2;
    cr_assert_eq(gg_selftest_verdict(&r), GG_FAILED);
    r.caught = 3, r.false_alarms = 1;
    cr_assert_eq(gg_selftest_verdict(&r), GG_FAILED);
    r.false_alarms = 0, r.honest_cases = 0;
    cr_assert_eq(gg_selftest_verdict(&r), GG_NOT_VERIFIED);
    r = (gg_selftest){.honest_cases = 5};
    cr_assert_eq(gg_selftest_verdict(&r), GG_NOT_VERIFIED);
}
