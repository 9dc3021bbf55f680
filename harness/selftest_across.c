/* SPDX-License-Identifier: Apache-2.0
 * A kernel that is right on one GPU and not on the next: one case dealt to two places, the
 * second of which answers as the probe says. */
#include "harness/selftest_across.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness/deal.h"
#include "harness/judge.h"

typedef enum second { SAME_BITS, OTHER_BITS, KERNEL_FAULT, NO_ANSWER } second;

static gg_case_record answer(uint64_t digest)
{
    gg_case_record c = {.runs = 2, .output_count = 1, .input_digest = 1};
    gg_output_record *o = &c.outputs[0];
    *o = (gg_output_record){.dtype = GG_F32, .ndim = 1, .shape = {4}, .count = 4,
                            .digest = digest, .pattern_first = -1, .repeat_first = -1};
    snprintf(c.id, sizeof c.id, "case");
    snprintf(o->name, sizeof o->name, "x");
    gg_check_add(o, "repeat", 0, 0, "");
    gg_judge_case(&c);
    return c;
}

static gg_status take(void *context, const gg_case_record *record)
{
    gg_verdict *verdict = context;
    *verdict = record->verdict;
    return GG_OK;
}

static void second_answers(gg_deal *deal, int task, second how)
{
    gg_case_record *c = malloc(sizeof *c);
    if (c == NULL) return;
    *c = answer(how == OTHER_BITS ? 8 : 7);
    if (how == NO_ANSWER) gg_deal_leave(deal, 1, "the process ended");
    else if (how == KERNEL_FAULT)
        gg_deal_lost(deal, 1, task, 0, GG_FAILED, "an illegal memory access");
    else gg_deal_answer(deal, 1, task, c);
    free(c);
}

/* The verdict of the case; not_verified also when it never came, so each probe below asks
 * for another verdict first. */
static gg_verdict dealt(second how)
{
    static const char *const names[] = {"cuda:0", "cuda:1"};
    gg_case what = {.family = &gg_operators[0]->families[0], .id = "case"};
    gg_suite suite = {.op = gg_operators[0], .cases = &what, .count = 1};
    gg_verdict verdict = GG_NOT_VERIFIED;
    gg_deal *deal;
    int indices[1] = {0}, index;
    bool digests;
    gg_case_record *first = malloc(sizeof *first);
    if (first != NULL &&
        gg_deal_open(&suite, indices, 1, names, 2, take, &verdict, &deal) == GG_OK) {
        *first = answer(7);
        gg_deal_answer(deal, 0, gg_deal_next(deal, 0, &index, &digests), first);
        second_answers(deal, gg_deal_next(deal, 1, &index, &digests), how);
        gg_deal_close(deal);
    }
    free(first);
    return verdict;
}

bool gg_probe_across_bits(void)
{
    return dealt(SAME_BITS) == GG_PASSED && dealt(OTHER_BITS) == GG_FAILED;
}

bool gg_probe_across_fault(void)
{
    return dealt(SAME_BITS) == GG_PASSED && dealt(KERNEL_FAULT) == GG_FAILED;
}

bool gg_probe_across_missing(void)
{
    return dealt(SAME_BITS) == GG_PASSED && dealt(NO_ANSWER) == GG_NOT_VERIFIED;
}
