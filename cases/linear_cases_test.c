/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "cases/fill.h"
#include "cases/operator.h"
#include "reference/linear.h"

enum { M = 7, N = 33, K = 130, MOST = N * K };

static void make_all(gg_problem *p, const gg_operator *op, const gg_family *f)
{
    for (int i = 0; op->inputs[i].name != NULL; i++) {
        gg_tensor *t = &p->input[i];
        *t = gg_tensor_make(op, &op->inputs[i], p->extent, GG_BF16);
        t->data = calloc(1, gg_tensor_bytes(t));
        cr_assert_not_null(t->data);
        cr_assert_eq(f->host(p, i, 3, t), GG_OK);
    }
}

static void check_answers(const char *family)
{
    static double truth_values[3][MOST], got[MOST];
    const gg_operator *op = gg_operator_find("linear");
    const gg_family *f = gg_family_find(op, family);
    gg_problem p = {.extent = {M, N, K}};
    gg_truth truth = {.value = {truth_values[0], truth_values[1], truth_values[2]}};
    make_all(&p, op, f);
    cr_assert_eq(gg_linear_host(&p, &truth, 1), GG_OK, "%s", gg_message());
    for (int o = 0; o < GG_LINEAR_OUTPUTS; o++) {
        bool exact = false;
        double largest = 0;
        gg_tensor t = gg_tensor_make(op, &op->outputs[o], p.extent, GG_F64);
        cr_assert_eq(f->answer(&p, o, got, &exact), GG_OK);
        cr_assert(exact);
        for (int64_t i = 0; i < gg_tensor_count(&t); i++) {
            cr_assert_eq(got[i], truth.value[o][i], "%s %s", family,
                         op->outputs[o].name);
            cr_assert_eq((double)(float)got[i], got[i]);
            largest = fmax(largest, fabs(got[i]));
        }
        cr_assert(largest > 8);
    }
    for (int i = 0; i < 3; i++) free(p.input[i].data);
}

Test(linear_cases, counting_answers_are_exact) { check_answers("counting"); }
Test(linear_cases, canary_answers_are_exact) { check_answers("canary"); }

/* y of the canary is 256 and K - 1 sixteenths. */
Test(linear_cases, canary_by_hand)
{
    static double y[M * N];
    const gg_operator *op = gg_operator_find("linear");
    const gg_family *f = gg_family_find(op, "canary");
    gg_problem p = {.extent = {M, N, K}};
    bool exact = false;
    make_all(&p, op, f);
    cr_assert_eq(f->answer(&p, GG_LINEAR_Y, y, &exact), GG_OK);
    for (int i = 0; i < M * N; i++) cr_assert_eq(y[i], 256 + 0.0625 * (K - 1));
    for (int i = 0; i < 3; i++) free(p.input[i].data);
}

Test(linear_cases, table_is_sound)
{
    const gg_operator *op = gg_operator_find("linear");
    int64_t extent[] = {2, 3, 5};
    gg_tensor w = gg_tensor_make(op, &op->inputs[GG_LINEAR_W], extent, GG_BF16);
    cr_assert(w.ndim == 2 && w.shape[0] == 3 && w.shape[1] == 5 && w.data == NULL);
    cr_assert_eq(op->outputs[GG_LINEAR_DW].dtype, GG_F32);
    cr_assert_null(gg_operator_find("nothing"));
    cr_assert_null(gg_operator_find(""));
    cr_assert_eq(gg_tensor_find(op->inputs, "dout"), -1);
}
