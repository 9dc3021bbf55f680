/* SPDX-License-Identifier: Apache-2.0
 * The parent's side of a run in a fresh process. */
#include "harness/fresh.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/subject.h"

enum { MOST_ARGUMENTS = 24, PATIENCE = 300 /* seconds */ };

/* One output, uploaded where the outputs of a run belong. */
static gg_status take_output(gg_subject *s, gg_child *child, int o)
{
    const gg_trial *t = &s->trial;
    const gg_backend *b = t->plan->backend;
    size_t bytes = gg_tensor_bytes(&t->output[o]);
    gg_fresh_output head;
    GG_TRY(gg_child_read(child, &head, sizeof head));
    bool equal = head.digest == s->digest[o];
    if (head.bytes != (equal ? 0 : bytes))
        return gg_fail(GG_INTERNAL, "a fresh process sends %" PRIu64 " bytes of an output of "
                       "%zu", head.bytes, bytes);
    if (equal) return b->copy(t->again[o], t->first[o], bytes);
    void *data = malloc(bytes + 1);
    if (data == NULL) return gg_fail(GG_NO_MEMORY, "no memory for an output");
    gg_status status = gg_child_read(child, data, bytes);
    if (status == GG_OK) status = b->upload(t->again[o], data, bytes);
    free(data);
    return status;
}

static gg_status take_answer(gg_subject *s, gg_child *child)
{
    gg_fresh_answer answer;
    GG_TRY(gg_child_read(child, &answer, sizeof answer));
    if (memcmp(answer.magic, GG_FRESH_MAGIC, sizeof answer.magic) != 0)
        return gg_fail(GG_INTERNAL, "a fresh process says something else than its answer");
    answer.message[sizeof answer.message - 1] = '\0';
    if (answer.status != GG_OK)
        return gg_fail(GG_DEVICE_FAULT, "in a fresh process: %s", answer.message);
    if (answer.outputs != (uint32_t)s->trial.outputs || answer.input_digest != s->input_digest)
        return gg_fail(GG_INTERNAL, "a fresh process has drawn other inputs");
    for (int o = 0; o < s->trial.outputs; o++) GG_TRY(take_output(s, child, o));
    return GG_OK;
}

gg_status gg_subject_in_process(gg_subject *s, int k, void *const **outputs)
{
    const char *arguments[MOST_ARGUMENTS + 6] = {NULL};
    char expected[GG_MAX_OUTPUTS * 17 + 1] = "";
    gg_child child;
    int count = 0;
    (void)k;
    *outputs = s->trial.again;
    if (s->plan.relaunch == NULL)
        return gg_fail(GG_NO_DEVICE, "a fresh process cannot be told what to run");
    while (count < MOST_ARGUMENTS && s->plan.relaunch[count] != NULL) {
        arguments[count] = s->plan.relaunch[count];
        count++;
    }
    for (int o = 0; o < s->trial.outputs; o++)
        snprintf(expected + 17 * o, 18, "%016" PRIx64 ",", s->digest[o]);
    arguments[count++] = "--case";
    arguments[count++] = s->trial.what->id;
    arguments[count++] = "--expect";
    arguments[count++] = expected;
    if (s->control) arguments[count] = "--control";
    GG_TRY(gg_child_start(arguments, PATIENCE, &child));
    gg_status status = take_answer(s, &child);
    gg_child_end(&child);
    return status;
}
