/* SPDX-License-Identifier: Apache-2.0
 * How a mutant of triangle attention is made: a fault inside the twin, or another
 * function around it. All parts are optional. */
#ifndef KERNELS_TRIANGLE_ATTENTION_PLANTED_H
#define KERNELS_TRIANGLE_ATTENTION_PLANTED_H

#include "kernels/triangle_attention/mutant.h"

enum { GG_TA_OUT_O, GG_TA_OUT_DQ, GG_TA_OUT_DK, GG_TA_OUT_DV, GG_TA_OUT_DBIAS };

typedef struct gg_ta_planted {
    enum {
        GG_TA_ON_TURBO, GG_TA_ON_RECOMPUTE, GG_TA_ON_NAIVE,
        GG_TA_ON_TWOPASS, GG_TA_ON_SPLIT /* faults around the twin only */
    } base;
    gg_ta_fault fault;
    /* arithmetic in place of the lanes' */
    void (*round)(float *value, int16_t *exponent, const float *in, size_t n);
    void (*logits)(float *t, const float *s, const float *bias, const uint32_t *valid,
                   float c1, size_t n);
    void (*weights)(float *x, const float *t, const uint32_t *valid, float ref, size_t n);
    void (*gradient)(const gg_gradient_row *row, size_t n);
    gg_ta_head *backward_head;
    /* around the twin, which gg_ta_planted_forward and _backward run */
    const char *(*supports)(const gg_call *call);
    int (*forward)(const gg_call *call);
    int (*backward)(const gg_call *call);
    int output;    /* which one `backward` spoils, and by what factor */
    float factor;
} gg_ta_planted;

/* The armed mutant, its twin (with the fault, if it has one), and the calls of backward
 * since it was armed, the present one included. */
const gg_ta_planted *gg_ta_armed(void);
const gg_kernel *gg_ta_armed_kernel(void);
int gg_ta_planted_forward(const gg_call *call);
int gg_ta_planted_backward(const gg_call *call);
int gg_ta_backward_calls(void);
/* The kernel without the fault; and where delta reads dout from now on (NULL: where it
 * should). */
int gg_ta_right_backward(const gg_call *call);
void gg_ta_delta_reads(const uint16_t *dout);

/* planted_lanes.c: sums kept in BF16, cut to 10 bits after the point, without their last
 * or first 16 terms, with the last 16 twice */
gg_ta_chain_of gg_ta_chain_bf16, gg_ta_chain_tf32, gg_ta_chain_no_last;
gg_ta_chain_of gg_ta_chain_no_first, gg_ta_chain_last_twice;
void gg_ta_round_down(float *value, int16_t *exponent, const float *in, size_t n);
void gg_ta_logits_1_44(float *t, const float *s, const float *bias, const uint32_t *valid,
                       float c1, size_t n);
void gg_ta_weights_coarse(float *x, const float *t, const uint32_t *valid, float ref,
                          size_t n);
void gg_ta_gradient_coarse(const gg_gradient_row *row, size_t n);
void gg_ta_gradient_by_lse(const gg_gradient_row *row, size_t n);
void gg_ta_gradient_of_p16(const gg_gradient_row *row, size_t n);

/* planted_heads.c: what becomes of the rows of dbias, and of the order of work */
gg_ta_head gg_ta_head_no_last_row, gg_ta_head_first_row_twice, gg_ta_head_last_writer;
gg_ta_head gg_ta_head_rows_sorted;
gg_ta_head gg_ta_head_row_sum_bf16, gg_ta_head_no_last_chunk, gg_ta_head_rows_rotated;
gg_ta_head gg_ta_head_by_row_parity, gg_ta_head_by_row_count, gg_ta_head_by_head_count;
gg_ta_head gg_ta_head_tiles_rotated, gg_ta_head_by_batch_count;

/* planted_values.c: outputs changed after the twin */
int gg_ta_zeros(const gg_call *call);
int gg_ta_scaled(const gg_call *call);
int gg_ta_one_nan(const gg_call *call);
int gg_ta_one_infinity(const gg_call *call);
int gg_ta_one_doubled(const gg_call *call);
int gg_ta_heads_swapped(const gg_call *call);
int gg_ta_batches_swapped(const gg_call *call);
int gg_ta_tail_spills(const gg_call *call);
int gg_ta_bit_flipped_once(const gg_call *call);
int gg_ta_nan_payload_once(const gg_call *call);
int gg_ta_minus_zero_forward(const gg_call *call);
int gg_ta_doubled_at_first(const gg_call *call);
int gg_ta_right_at_first(const gg_call *call);

/* planted_memory.c: what is written, read and when */
int gg_ta_tail_unwritten(const gg_call *call);
int gg_ta_dead_rows_unwritten(const gg_call *call);
int gg_ta_half_in_turn(const gg_call *call);
int gg_ta_heads_collide(const gg_call *call);
int gg_ta_seldom(const gg_call *call);
int gg_ta_launch_lost(const gg_call *call);
int gg_ta_launch_fails(const gg_call *call);
int gg_ta_one_call_late(const gg_call *call);
int gg_ta_past_the_end(const gg_call *call);
int gg_ta_before_the_start(const gg_call *call);
int gg_ta_past_saved(const gg_call *call);
int gg_ta_past_workspace(const gg_call *call);
int gg_ta_dout_edited(const gg_call *call);
int gg_ta_bias_edited(const gg_call *call);
int gg_ta_dbias_needs_dq(const gg_call *call);
int gg_ta_dv_with_dk_only(const gg_call *call);
int gg_ta_inference_differs(const gg_call *call);
/* planted_levels.c: bits that depend on other work, addresses, old memory, the process and
 * the number of calls */
int gg_ta_under_load(const gg_call *call);
int gg_ta_by_address(const gg_call *call);
int gg_ta_by_workspace(const gg_call *call);
int gg_ta_by_old_memory(const gg_call *call);
int gg_ta_by_process(const gg_call *call);
int gg_ta_by_turns(const gg_call *call);
/* planted_together.c: what calls share that are under way at the same time */
int gg_ta_one_scratch_forward(const gg_call *call);
int gg_ta_one_scratch_backward(const gg_call *call);
int gg_ta_one_counter(const gg_call *call);
/* planted_cheats.c: views, replay and the truth's memory */
int gg_ta_replay_backward(const gg_call *call);
int gg_ta_answer_found(const gg_call *call);
const char *gg_ta_takes_any_strides(const gg_call *call);
int gg_ta_strides_ignored_forward(const gg_call *call);
int gg_ta_strides_ignored_backward(const gg_call *call);
int gg_ta_offset_ignored_forward(const gg_call *call);
int gg_ta_offset_ignored_backward(const gg_call *call);
int gg_ta_gather_forward(const gg_call *call), gg_ta_gather_backward(const gg_call *call);
int gg_ta_gather32_forward(const gg_call *call), gg_ta_gather32_backward(const gg_call *call);
int gg_ta_gather31_forward(const gg_call *call), gg_ta_gather31_backward(const gg_call *call);
int gg_ta_elements31_forward(const gg_call *call);
int gg_ta_elements31_backward(const gg_call *call);
int gg_ta_dense_dout_forward(const gg_call *call);
int gg_ta_dense_dout_backward(const gg_call *call);
int gg_ta_dense_bias_forward(const gg_call *call), gg_ta_dense_bias_backward(const gg_call *);
int gg_ta_expanded_tail_forward(const gg_call *call);
int gg_ta_expanded_tail_backward(const gg_call *call);
int gg_ta_delta31_backward(const gg_call *call);
int gg_ta_v_as_k_forward(const gg_call *call), gg_ta_v_as_k_backward(const gg_call *call);

/* planted_inputs.c: inputs changed before the twin sees them, and outputs cut short */
int gg_ta_operands_short_forward(const gg_call *call);
int gg_ta_operands_short_backward(const gg_call *call);
int gg_ta_no_subnormals_forward(const gg_call *call);
int gg_ta_no_subnormals_backward(const gg_call *call);
int gg_ta_through_fp16_forward(const gg_call *call);
int gg_ta_through_fp16_backward(const gg_call *call);
int gg_ta_padded_bias_forward(const gg_call *call);
int gg_ta_padded_bias_backward(const gg_call *call);
int gg_ta_o_short_forward(const gg_call *call);
int gg_ta_output_short(const gg_call *call);
int gg_ta_inputs_zeroed(const gg_call *call);
int gg_ta_replay_by_prefix(const gg_call *call);
int gg_ta_other_kernel_forward(const gg_call *call);
int gg_ta_other_kernel_backward(const gg_call *call);

/* One output of a call: NULL data when it is not wanted. */
typedef struct gg_ta_array {
    char *data;
    size_t count, size; /* elements, bytes of one */
} gg_ta_array;
gg_ta_array gg_ta_output_of(const gg_call *call, int output);
float gg_ta_get(gg_ta_array a, size_t index);
void gg_ta_put(gg_ta_array a, size_t index, float value);

#endif
