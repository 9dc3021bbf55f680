/* SPDX-License-Identifier: Apache-2.0
 * One problem in memory and a kernel's call on it: what the measurement of a case, and
 * the checks that need a second problem, are made of. */
#ifndef HARNESS_TRIAL_H
#define HARNESS_TRIAL_H

#include "harness/plan.h"

/* Everything one problem owns; memory is the arena's. */
typedef struct gg_trial {
    const gg_plan *plan;
    const gg_operator *op;
    const gg_case *what;
    gg_arena *arena;
    gg_problem problem;
    gg_truth truth;
    int inputs, outputs;
    unsigned present;                 /* bit set of inputs */
    size_t shift;                     /* bytes left free at the start of the arena */
    bool pair;                        /* memory for `again` even without a truth */
    uint64_t digest_after_first;      /* of the inputs, after the first run */
    gg_tensor output[GG_MAX_OUTPUTS]; /* shapes and types */
    void *first[GG_MAX_OUTPUTS];      /* outputs of the first run */
    void *again[GG_MAX_OUTPUTS];      /* outputs of each later run */
    void *saved, *workspace;
    size_t saved_bytes, workspace_bytes;
    DLTensor dl_input[GG_MAX_INPUTS], dl_output[GG_MAX_OUTPUTS];
    const DLTensor *call_inputs[GG_MAX_INPUTS];
    DLTensor *call_outputs[GG_MAX_OUTPUTS];
    gg_call call;
} gg_trial;

/* What outputs, saved tensors and workspace hold before run k: NaN, a large finite
 * number, zero; in BF16 and FP32 alike. */
uint32_t gg_trial_poison(int run);

/* The inputs that a case has. */
unsigned gg_trial_present(const gg_case *what, const gg_operator *op);

/* Shapes of all tensors, and the call as the kernel sees it, without memory. plan, op,
 * what and arena are set. */
void gg_trial_describe(gg_trial *t, const int64_t *extent, unsigned present);

/* Why the kernel declines the call as it stands, NULL when it does not; the memory that
 * it asks for. */
const char *gg_trial_refusal(const gg_trial *t);
void gg_trial_needs(const gg_trial *t, size_t *saved, size_t *workspace);

/* Takes the memory; with `truth` also the truth's, whose scratch comes back and lies
 * where the kernel will write. GG_BAD_INPUT when the kernel declines. */
gg_status gg_trial_allocate(gg_trial *t, bool truth, void **scratch);

/* Fills the inputs. One that is made of an output needs the truth's memory; without it that
 * input stays as it is. */
gg_status gg_trial_draw(gg_trial *t, uint64_t seed, void *scratch);
gg_status gg_trial_digest_inputs(const gg_trial *t, uint64_t *digest);

/* Outputs, saved tensors and workspace hold `poison`; the next calls write to `into`. */
gg_status gg_trial_prepare(gg_trial *t, void *const *into, uint32_t poison);
/* Forward or backward of the kernel, its return code. A kernel may leave another rounding mode,
 * or subnormals flushed to zero, to its thread: the truth and the measures are not computed in
 * that. */
int gg_trial_call(const gg_trial *t, int (*call)(const gg_call *));
/* Forward and backward are queued; nothing waits for them or looks at the workspace in
 * between. */
gg_status gg_trial_launch(const gg_trial *t);

/* Forward into `into`, whose memory, like that of saved tensors and workspace, holds
 * `poison` first; an output whose pointer in the call is NULL is left alone. */
gg_status gg_trial_forward(gg_trial *t, void *const *into, uint32_t poison);
/* Backward, with the workspace poisoned anew. */
gg_status gg_trial_backward(gg_trial *t, uint32_t poison);
/* Both. */
gg_status gg_trial_run(gg_trial *t, void *const *into, uint32_t poison);

#endif
