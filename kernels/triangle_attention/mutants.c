/* SPDX-License-Identifier: Apache-2.0
 * The mutants of triangle attention: each a kernel with one fault, the cases on which it
 * must be caught and the check that must see it. Faults are those of public bug reports
 * or one step of precision below the contract. */
#include <math.h>
#include <stdatomic.h>

#include "kernels/registry.h"
#include "kernels/triangle_attention/planted.h"

#define SLIP(slip_) .fault = {.slip = GG_TA_SLIP_##slip_}
#define CHAIN(product_, chain_) .fault = {.chain = {[product_] = chain_}}
#define HEAD(head_) .backward_head = head_
#define BACKWARD(output_, function_) .output = output_, .backward = function_
#define O GG_TA_OUT_O
#define DQ GG_TA_OUT_DQ
#define DK GG_TA_OUT_DK
#define DV GG_TA_OUT_DV
#define DBIAS GG_TA_OUT_DBIAS
#define BY(...) &(const gg_ta_planted){__VA_ARGS__}

static void no_mask(gg_ta_call *c) { c->keys = GG_TA_KEYS_ALL; }
static void no_scale(gg_ta_call *c) { c->sc = 1; }
static void inverse_d(gg_ta_call *c) { c->sc = 1 / (float)c->D; }
static void c1_without_log2e(gg_ta_call *c) { c->c1 = c->sc; }

static void dq_for_dk(gg_ta_call *c)
{
    void *dq = c->dq;
    c->dq = c->dk;
    c->dk = dq;
}

static const gg_mutant mutants[] = {
    {"tail_keys_live", "K1", "padding keys of the last tile count, with score 0",
     "normal-R3-N17-*", "gauge_max", BY(SLIP(TAIL_KEYS_LIVE))},
    {"tail_keys_dropped", "K1", "keys beyond the last multiple of 16 are dropped",
     "normal-R3-N17-*", "gauge_max", BY(SLIP(TAIL_KEYS_DROPPED))},
    {"tail_queries_leak", "K1", "padding rows of q, dout, P and dS are not cleared",
     "normal-R3-N17-*", "gauge_max", BY(SLIP(TAIL_QUERIES))},
    {"head_tail_dropped", "K1", "D = 24 is treated as 16", "normal-R3-N17-D24-*",
     "gauge_max", BY(SLIP(TAIL_HEAD))},
    {"first_tile_skipped", "K1", "the first of several key tiles is skipped",
     "normal-R3-N70-*", "gauge_max", BY(SLIP(FIRST_TILE))},
    {"tail_store_spills", "K1", "the tail store of dv runs into the next head",
     "normal-R3-N70-*", "gauge_max", BY(BACKWARD(DV, gg_ta_tail_spills))},
    {"dv_last_step_dropped", "K1", "dv leaves out the last 16 queries of a tile",
     "counting-R4-N64-*", "answer", BY(CHAIN(GG_TA_DV, gg_ta_chain_no_last))},
    {"dk_first_step_dropped", "K1", "dk leaves out the first 16 queries of a tile",
     "normal-R3-N64-*", "gauge_max", BY(CHAIN(GG_TA_DK, gg_ta_chain_no_first))},
    {"tail_lengths_plus_one", "K1", "one key more than key_lengths is valid",
     "key_lengths-R5-*", "gauge_max", BY(SLIP(LENGTH_PLUS_ONE))},

    {"sentinel_1e9", "K2", "-1e9 in place of -infinity: a dead row averages all keys",
     "dead_rows-*", "gauge_max", BY(SLIP(SENTINEL_1E9))},
    {"dead_row_divides", "K2", "1 / 0 in a row without a valid key",
     "dead_rows-*", "pattern", BY(SLIP(NO_ZERO_GUARD))},
    {"dead_tile_max", "K2", "a dead first tile leaves 0 as the running maximum",
     "first_tile_low-*", "gauge_max", BY(SLIP(MAX_OF_DEAD_TILE))},
    {"nan_leaks", "K2", "k and v of invalid keys are multiplied by 0, not skipped",
     "nan_padding*", "pattern", BY(SLIP(NAN_LEAK))},

    {"sentinel_5e4", "K3", "-5e4 in place of -infinity, which real scores undercut",
     "first_tile_low-*", "gauge_max", BY(SLIP(SENTINEL_5E4))},
    {"max_from_5e4", "K3", "the running maximum starts at -5e4: lower rows vanish",
     "extreme_low-*", "gauge_max", BY(SLIP(MAX_FROM_5E4))},
    {"max_from_0", "K3", "the running maximum starts at 0: low rows underflow",
     "extreme_low-*", "gauge_max", BY(SLIP(MAX_FROM_0))},
    {"exp_minus_lse", "K3", "exp(s) exp(-lse) overflows at a low log-sum-exp",
     "extreme_low-*", "pattern", BY(.gradient = gg_ta_gradient_by_lse)},
    {"tail_exp_overflows", "K3", "padding keys: exp(0 - lse) times a zero operand",
     "extreme_low-*", "pattern", BY(SLIP(TAIL_KEYS_BACKWARD))},
    {"no_rescale", "K3", "sums are not rescaled when the maximum grows",
     "normal-R3-N70-*", "gauge_max", BY(SLIP(NO_RESCALE))},
    {"no_maximum", "K3", "naive: softmax without subtracting the maximum",
     "extreme_high-*", "pattern", BY(.base = GG_TA_ON_NAIVE, SLIP(NO_MAX))},

    {"k_scaled_bf16", "K4", "backward's scores from bf16(scale k)", "sharp-*",
     "gauge_max", BY(SLIP(K_SCALED_BF16))},
    {"s_bf16", "K4", "scores accumulated in BF16", "sharp-*", "gauge_max",
     BY(CHAIN(GG_TA_S, gg_ta_chain_bf16))},
    {"s_tf32", "K4", "scores cut to the 10 fraction bits of TF32", "sharp-*",
     "gauge_max", BY(CHAIN(GG_TA_S, gg_ta_chain_tf32))},
    {"dp_bf16", "K4", "dP accumulated in BF16",
     "normal-R1-N800-*", "rmse", BY(CHAIN(GG_TA_DP, gg_ta_chain_bf16))},
    {"o_bf16", "K4", "o accumulated in BF16",
     "normal-R1-N800-*", "rmse", BY(CHAIN(GG_TA_O, gg_ta_chain_bf16))},
    {"dq_bf16", "K4", "dq accumulated in BF16",
     "normal-R1-N800-*", "rmse", BY(.base = GG_TA_ON_RECOMPUTE,
     CHAIN(GG_TA_DQ, gg_ta_chain_bf16))},
    {"dk_bf16", "K4", "dk accumulated in BF16",
     "normal-R1-N800-*", "rmse", BY(CHAIN(GG_TA_DK, gg_ta_chain_bf16))},
    {"dv_bf16", "K4", "dv accumulated in BF16",
     "normal-R1-N800-*", "rmse", BY(CHAIN(GG_TA_DV, gg_ta_chain_bf16))},
    {"p_round_down", "K4", "P and dS cut to BF16, not rounded", "normal-R3-N*",
     "roundings", BY(.round = gg_ta_round_down)},
    {"ds_of_p16", "K4", "dS from P after its rounding to BF16",
     "normal-R1-N800-*", "rmse", BY(.gradient = gg_ta_gradient_of_p16)},
    {"weights_coarse", "K4", "forward's exp2 by a parabola, 0.2 % off",
     "normal-R3-N*", "roundings", BY(.weights = gg_ta_weights_coarse)},
    {"gradient_coarse", "K4", "backward's exp2 by a parabola, 0.2 % off",
     "normal-R1-N800-*", "rmse", BY(.gradient = gg_ta_gradient_coarse)},
    {"log2e_1_44", "K4", "log2(e) = 1.44 in the factor of the scores", "sharp-*",
     "gauge_max", BY(.logits = gg_ta_logits_1_44)},
    {"inv_bf16", "K4", "1 / l kept in BF16",
     "normal-R1-N800-*", "rmse", BY(SLIP(INV_BF16))},
    {"max_bf16", "K4", "the saved maximum kept in BF16", "normal-R3-N*", "gauge_max",
     BY(SLIP(MAX_BF16))},
    {"row_sum_of_unrounded", "K4", "the row sum takes p before its rounding",
     "normal-R3-N*", "golden", BY(SLIP(UNROUNDED_SUM))},
    {"o_truncated", "K4", "o cut to BF16, not rounded",
     "normal-R3-N*", "roundings", BY(SLIP(O_TRUNCATED))},
    {"gradients_truncated", "K4", "dq, dk and dv cut to BF16, not rounded",
     "value_mean-*", "rmse", BY(SLIP(GRADIENTS_TRUNCATED))},
    {"compensation_lost", "K4", "compensation computed and not used: no limit sees it",
     "value_mean-*", "ablation", BY(SLIP(E_UNUSED))},
    {"compensation_negated", "K4", "delta from o - e: compensation doubles the error",
     "value_mean-*", "ablation", BY(SLIP(E_NEGATED))},

    {"operands_short", "K4", "q, k, v and dout lose the last bit of their BF16",
     "sharp-*", "gauge_p99", BY(.forward = gg_ta_operands_short_forward,
     .backward = gg_ta_operands_short_backward)},
    {"naive_operands_short", "K4", "naive: q, k, v and dout lose their last bit",
     "sharp-*", "gauge_p99", BY(.base = GG_TA_ON_NAIVE, .forward = gg_ta_operands_short_forward,
     .backward = gg_ta_operands_short_backward)},
    {"twopass_operands_short", "K4", "twopass: q, k, v and dout lose their last bit",
     "sharp-*-D16-*", "gauge_p99", BY(.base = GG_TA_ON_TWOPASS,
     .forward = gg_ta_operands_short_forward, .backward = gg_ta_operands_short_backward)},
    {"split_operands_short", "K4", "split: q, k, v and dout lose their last bit",
     "sharp-*-D16-*", "gauge_p99", BY(.base = GG_TA_ON_SPLIT,
     .forward = gg_ta_operands_short_forward, .backward = gg_ta_operands_short_backward)},
    {"split_o_short", "K4", "split: o loses its last bit", "normal-R3-N*", "rmse",
     BY(.base = GG_TA_ON_SPLIT, .forward = gg_ta_o_short_forward)},
    {"split_dq_short", "K4", "split: dq loses its last bit", "normal-R3-N*", "rmse",
     BY(.base = GG_TA_ON_SPLIT, BACKWARD(DQ, gg_ta_output_short))},
    {"split_dk_short", "K4", "split: dk loses its last bit", "normal-R3-N*", "rmse",
     BY(.base = GG_TA_ON_SPLIT, BACKWARD(DK, gg_ta_output_short))},
    {"split_dv_short", "K4", "split: dv loses its last bit", "normal-R3-N*", "rmse",
     BY(.base = GG_TA_ON_SPLIT, BACKWARD(DV, gg_ta_output_short))},
    {"split_dbias_short", "K4", "split: dbias has one bit less than BF16", "normal-R3-N*",
     "rmse", BY(.base = GG_TA_ON_SPLIT, BACKWARD(DBIAS, gg_ta_output_short))},

    {"bias_scaled", "K5", "the bias is multiplied by 1/sqrt(D) as the scores are",
     "two_keys-*", "gauge_max", BY(SLIP(BIAS_SCALED))},
    {"bias_no_log2e", "K5", "the factor log2(e) misses the bias", "two_keys-*",
     "gauge_max", BY(SLIP(BIAS_NO_LOG2E))},
    {"bias_exact_tiles", "K5", "the bias is dropped when tiles divide N exactly",
     "normal-R3-N64-*", "gauge_max", BY(SLIP(BIAS_EXACT_TILES))},
    {"bias_transposed", "K5", "bias[j][i] for bias[i][j]", "two_keys-*", "gauge_max",
     BY(SLIP(BIAS_TRANSPOSED))},
    {"bias_rows_padded", "K5", "the bias is read as if its rows were padded to a tile",
     "normal-R3-N17-*", "gauge_max", BY(.forward = gg_ta_padded_bias_forward,
     .backward = gg_ta_padded_bias_backward)},
    {"bias_of_head_0", "K5", "every head takes the bias of head 0", "two_keys-*",
     "gauge_max", BY(SLIP(BIAS_OF_HEAD_0))},
    {"bias_of_batch_0", "K5", "every batch takes the bias of batch 0", "normal-R2-N20-*",
     "gauge_max", BY(SLIP(BIAS_OF_BATCH_0))},
    {"bias_f32_as_bf16", "K5", "an FP32 bias is read through BF16", "extreme_low-R2-N33-*",
     "gauge_max", BY(SLIP(BIAS_BF16))},
    {"mask_ignored", "K5", "the mask is not read", "dense_mask-*", "gauge_max",
     BY(.fault = {.call = no_mask})},
    {"lengths_ignored", "K5", "key_lengths is not read", "key_lengths-R5-*", "gauge_max",
     BY(.fault = {.call = no_mask})},
    {"mask_of_row_0", "K5", "every row takes the mask of row 0", "dense_mask-*",
     "gauge_max", BY(SLIP(MASK_OF_ROW_0))},
    {"scale_missing", "K5", "dq and dk lack 1/sqrt(D)", "two_keys-*", "gauge_max",
     BY(.fault = {.call = no_scale})},
    {"scale_is_1_over_d", "K5", "1/D for 1/sqrt(D) in dq and dk", "counting-R4-N16-*",
     "answer", BY(.fault = {.call = inverse_d})},
    {"scores_no_log2e", "K5", "the factor log2(e) misses the scores", "two_keys-*",
     "gauge_max", BY(.fault = {.call = c1_without_log2e})},
    {"dq_dk_exchanged", "K5", "dq and dk change places", "normal-R3-N17-*", "gauge_max",
     BY(.fault = {.call = dq_for_dk})},
    {"heads_exchanged", "K5", "heads 0 and 1 of dq change places", "normal-R3-N17-*",
     "gauge_max", BY(BACKWARD(DQ, gg_ta_heads_swapped))},
    {"batches_exchanged", "K5", "dbias of batch 0 goes to batch 1", "normal-R2-N20-*",
     "gauge_max", BY(BACKWARD(DBIAS, gg_ta_batches_swapped))},
    {"k_of_next_head", "K5", "backward reads k of the next head", "normal-R3-N17-*",
     "gauge_max", BY(SLIP(K_OF_NEXT_HEAD))},
    {"delta_dropped", "K5", "dS = P dP, without delta", "normal-R3-N17-*", "gauge_max",
     BY(SLIP(NO_DELTA))},
    {"delta_dropped_naive", "K5", "naive: dS = P dP, without delta", "normal-R3-N17-*",
     "gauge_max", BY(.base = GG_TA_ON_NAIVE, SLIP(NO_DELTA))},

    {"dbias_no_last_row", "K6", "dbias lacks the last row", "counting-R4-N16-*", "answer",
     BY(HEAD(gg_ta_head_no_last_row))},
    {"dbias_row_twice", "K6", "dbias has row 0 twice", "counting-R4-N16-*", "answer",
     BY(HEAD(gg_ta_head_first_row_twice))},
    {"dbias_last_writer", "K6", "rows store dbias in turn, none adds", "normal-R3-N17-*",
     "gauge_max", BY(.base = GG_TA_ON_RECOMPUTE, HEAD(gg_ta_head_last_writer))},
    {"dbias_no_last_slab", "K6", "the last of several slabs of rows is not added",
     "normal-R18-*", "gauge_max", BY(HEAD(gg_ta_head_no_last_chunk))},
    {"dbias_rows_sorted", "K6", "dbias lacks the last row where its q is below the first's",
     "normal-R18-*", "order", BY(HEAD(gg_ta_head_rows_sorted))},
    {"dbias_1_02", "K6", "dbias is 2 % too large", "normal-R3-N*", "gauge_p99",
     BY(BACKWARD(DBIAS, gg_ta_scaled), .factor = 1.02f)},
    {"dbias_rows_bf16", "K6", "rows are summed in BF16",
     "normal-R18-*", "rmse", BY(.base = GG_TA_ON_RECOMPUTE, HEAD(gg_ta_head_row_sum_bf16))},
    {"dbias_slabs_bf16", "K6", "slabs of rows are summed in BF16",
     "normal-R18-*", "rmse", BY(SLIP(SLAB_BF16))},
    {"dbias_of_bf16_terms", "K6", "dS is rounded to BF16 before the sum over rows",
     "normal-R1-N800-*", "rmse", BY(SLIP(DBIAS_OF_BF16))},
    {"dbias_needs_dq", "K6", "dbias is not made when dq is not wanted", "normal-R3-N17-*",
     "wanted", BY(BACKWARD(DBIAS, gg_ta_dbias_needs_dq))},
    {"dv_needs_dk", "K6", "dv is not made when dk is not wanted", "normal-R3-N17-*",
     "wanted", BY(BACKWARD(DV, gg_ta_dv_with_dk_only))},
    {"inference_differs", "K6", "forward without an upstream gradient gives other bits",
     "normal-R3-N17-*", "wanted", BY(.forward = gg_ta_inference_differs)},

    {"strides_ignored", "K7", "strided inputs are taken and read as dense",
     "normal-R3-N17-*", "views", BY(.supports = gg_ta_takes_any_strides,
     .forward = gg_ta_strides_ignored_forward, .backward = gg_ta_strides_ignored_backward)},
    {"offset_ignored", "K7", "byte_offset is not added", "normal-R3-N17-*", "views",
     BY(.forward = gg_ta_offset_ignored_forward,
        .backward = gg_ta_offset_ignored_backward)},
    {"dout_strides_ignored", "K7", "a strided dout is read as o lies: dense",
     "normal-R3-N17-*", "views", BY(.supports = gg_ta_takes_any_strides,
     .forward = gg_ta_dense_dout_forward, .backward = gg_ta_dense_dout_backward)},
    {"v_with_strides_of_k", "K7", "v is read with the strides of k", "normal-R3-N17-*",
     "views", BY(.supports = gg_ta_takes_any_strides, .forward = gg_ta_v_as_k_forward,
     .backward = gg_ta_v_as_k_backward)},
    {"bias_strides_ignored", "K7", "a strided or expanded bias is read as dense",
     "normal-R3-N17-*", "views", BY(.supports = gg_ta_takes_any_strides,
     .forward = gg_ta_dense_bias_forward, .backward = gg_ta_dense_bias_backward)},
    {"expanded_tail", "K7", "of an expanded v the last key is misread where N % 32 is 1",
     "normal-R3-N33-*", "views", BY(.supports = gg_ta_takes_any_strides,
     .forward = gg_ta_expanded_tail_forward, .backward = gg_ta_expanded_tail_backward)},
    {"dout_stride_0", "K7", "dout of query 0 is read for all queries", "normal-R3-N17-*",
     "gauge_max", BY(SLIP(DOUT_OF_QUERY_0))},

    {"offset_32_bits", "K8", "byte offsets of a strided input wrap at 4 GiB",
     "normal-R3-N17-D16-*", "views", BY(.supports = gg_ta_takes_any_strides,
     .forward = gg_ta_gather32_forward, .backward = gg_ta_gather32_backward)},

    {"offset_31_bits", "K8", "byte offsets of a strided input wrap at 2 GiB",
     "normal-R3-N17-D16-*", "views", BY(.supports = gg_ta_takes_any_strides,
     .forward = gg_ta_gather31_forward, .backward = gg_ta_gather31_backward)},
    {"elements_31_bits", "K8", "element offsets of a strided input wrap at 2^31",
     "normal-R3-N17-D16-*", "views", BY(.supports = gg_ta_takes_any_strides,
     .forward = gg_ta_elements31_forward, .backward = gg_ta_elements31_backward)},
    {"delta_31_bits", "K8", "byte offsets wrap at 2 GiB where delta is formed: dv is right",
     "normal-R3-N17-D16-*", "views", BY(.supports = gg_ta_takes_any_strides,
     .forward = gg_ta_gather_forward, .backward = gg_ta_delta31_backward)},

    {"tail_unwritten", "K9", "dq of the last, ragged 16 queries is not stored",
     "normal-R3-N17-*", "written", BY(BACKWARD(DQ, gg_ta_tail_unwritten))},
    {"dead_rows_unwritten", "K9", "dq of dead rows is left as it was", "dead_rows-*",
     "written", BY(BACKWARD(DQ, gg_ta_dead_rows_unwritten))},
    {"invalid_keys_unwritten", "K9", "dk and dv of invalid keys are left as they were",
     "dense_mask-*", "written", BY(SLIP(INVALID_UNSTORED))},
    {"heads_collide", "K9", "two heads store dq to one place, another stays as it was",
     "normal-R3-N17-*", "written", BY(BACKWARD(DQ, gg_ta_heads_collide))},
    {"launch_lost", "K9", "a refused launch is not noticed: outputs stay as they were",
     "normal-R3-N70-*", "written", BY(.backward = gg_ta_launch_lost)},
    {"launch_fails", "K9", "the kernel returns an error", "normal-R3-N70-*", "error",
     BY(.backward = gg_ta_launch_fails)},
    {"slab_not_cleared", "K9", "the dbias slab starts from what memory held",
     "normal-R3-N17-*", "repeat", BY(SLIP(SLAB_NOT_CLEARED))},
    {"saved_max_hole", "K9", "the maximum of each last query is not saved",
     "normal-R3-N17-*", "repeat", BY(SLIP(SAVED_HOLE))},
    {"saved_e_hole", "K9", "the compensation of each last query is not saved",
     "normal-R3-N17-*", "repeat", BY(SLIP(E_HOLE))},
    {"past_the_end", "K9", "one element is written past the end of dq",
     "normal-R3-N17-*", "guard", BY(BACKWARD(DQ, gg_ta_past_the_end))},
    {"before_the_start", "K9", "one element is written before dq", "normal-R3-N*",
     "guard", BY(BACKWARD(DQ, gg_ta_before_the_start))},
    {"past_saved", "K9", "one byte is written past the saved tensors",
     "normal-R3-N17-*", "scratch", BY(.backward = gg_ta_past_saved)},
    {"past_workspace", "K9", "one byte is written past the workspace", "normal-R3-N17-*",
     "scratch", BY(.backward = gg_ta_past_workspace)},

    {"ds_stale", "K10", "a missing barrier: the last rows of dS are those of before",
     "normal-R3-N70-*", "gauge_max", BY(SLIP(DS_STALE))},
    {"ds_stale_seldom", "K10", "the same barrier, missed in one call of seven",
     "normal-R3-N70-D16-*", "level_idle", BY(SLIP(DS_STALE), .backward = gg_ta_seldom)},
    {"delta_half_read", "K10", "delta is formed before the last dout has arrived",
     "normal-R3-N17-*", "gauge_max", BY(SLIP(DELTA_HALF_READ))},
    {"delta_late", "K10", "delta is read before it is formed", "normal-R3-N17-*",
     "repeat", BY(SLIP(DELTA_LATE))},
    {"one_call_late", "K10", "dk is not waited for: it lands with the next call",
     "normal-R3-N17-*", "repeat", BY(BACKWARD(DK, gg_ta_one_call_late))},
    {"one_scratch", "K10", "scratch memory of the kernel's own, once for all calls",
     "normal-R3-N17-D16-*", "level_together", BY(.forward = gg_ta_one_scratch_forward,
     .backward = gg_ta_one_scratch_backward)},
    {"one_counter", "K10", "which part of a call is the last is counted once for all calls",
     "normal-R3-N17-D16-*", "level_together", BY(BACKWARD(DBIAS, gg_ta_one_counter))},

    {"rows_in_any_order", "K11", "dbias adds rows in the order in which they come",
     "normal-R3-N*", "repeat",
     BY(.base = GG_TA_ON_RECOMPUTE, HEAD(gg_ta_head_rows_rotated))},
    {"split_at_run_time", "K11", "dq is summed in one chain or in parts, by turns",
     "normal-R3-N70-*", "repeat", BY(HEAD(gg_ta_head_tiles_rotated))},
    {"bit_flipped_once", "K11", "one bit of the last element of dq differs in one run",
     "normal-R3-N17-*", "repeat", BY(BACKWARD(DQ, gg_ta_bit_flipped_once))},
    {"nan_payload", "K11", "a NaN of dbias has another payload each time",
     "normal-R3-N17-*", "repeat", BY(BACKWARD(DBIAS, gg_ta_nan_payload_once))},
    {"zero_sign", "K11", "zeros of o have a sign at every other run", "dead_rows-*",
     "repeat", BY(.forward = gg_ta_minus_zero_forward)},

    {"by_turns", "K11", "two configurations take turns, each with bits of its own",
     "normal-R3-N17-D16-*", "level_idle", BY(BACKWARD(DQ, gg_ta_by_turns))},
    {"under_load", "K11", "one bit of dq differs while other work runs",
     "normal-R3-N17-D16-*", "level_load", BY(BACKWARD(DQ, gg_ta_under_load))},
    {"by_address", "K11", "one bit of dk depends on where dk lies",
     "normal-R3-N17-D16-*", "level_placement", BY(BACKWARD(DK, gg_ta_by_address))},
    {"by_workspace", "K11", "how dk is split depends on where the workspace lies",
     "normal-R3-N17-D16-*", "level_placement", BY(BACKWARD(DK, gg_ta_by_workspace))},
    {"by_old_memory", "K9", "one bit of dv depends on what scratch memory held",
     "normal-R3-N17-D16-*", "level_placement", BY(BACKWARD(DV, gg_ta_by_old_memory))},
    {"by_process", "K11", "one bit of dbias depends on the process",
     "normal-R3-N17-D16-*", "level_process", BY(BACKWARD(DBIAS, gg_ta_by_process))},

    {"by_row_parity", "K12", "odd rows sum dq in another order", "normal-R3-N70-*",
     "slice", BY(HEAD(gg_ta_head_by_row_parity))},
    {"by_row_count", "K12", "the order of dq's sum depends on the number of rows",
     "normal-R3-N70-*", "slice", BY(HEAD(gg_ta_head_by_row_count))},
    {"by_head_count", "K12", "the order of dq's sum depends on the number of heads",
     "normal-R3-N70-*", "slice", BY(HEAD(gg_ta_head_by_head_count))},

    {"by_batch_count", "K12", "the order of dq's sum depends on the number of batches",
     "normal-R1-N70-*", "slice", BY(HEAD(gg_ta_head_by_batch_count))},
    {"no_subnormals", "K12", "BF16 subnormals of v and dout read as zero, as one model of GPU "
     "has it", "numbers-*", "answer", BY(.forward = gg_ta_no_subnormals_forward,
     .backward = gg_ta_no_subnormals_backward)},
    {"through_fp16", "K12", "v and dout pass through FP16, as a model without BF16 does it: "
     "exact from 2^-14 to 65504", "numbers-*", "answer",
     BY(.forward = gg_ta_through_fp16_forward, .backward = gg_ta_through_fp16_backward)},
    {"other_kernel", "K12", "another backend runs under this name: naive, as right, with "
     "other bits", "normal-R3-N70-*", "golden", BY(.forward = gg_ta_other_kernel_forward,
     .backward = gg_ta_other_kernel_backward)},

    {"doubled_at_first", "K13", "tuning trials all add to dbias at the first call",
     "normal-R3-N17-*", "repeat", BY(BACKWARD(DBIAS, gg_ta_doubled_at_first))},
    {"half_in_turn", "K13", "each of two configurations writes half of dv",
     "normal-R3-N17-*", "repeat", BY(BACKWARD(DV, gg_ta_half_in_turn))},

    {"zero_dq", "K14", "dq is zero", "correlated-*", "gauge_max",
     BY(BACKWARD(DQ, gg_ta_zeros))},
    {"zero_dk", "K14", "dk is zero", "correlated-*", "gauge_max",
     BY(BACKWARD(DK, gg_ta_zeros))},
    {"zero_dv", "K14", "dv is zero", "correlated-*", "gauge_max",
     BY(BACKWARD(DV, gg_ta_zeros))},
    {"zero_dbias", "K14", "dbias is zero", "correlated-*", "gauge_max",
     BY(BACKWARD(DBIAS, gg_ta_zeros))},
    {"dq_negated", "K14", "dq has the wrong sign", "correlated-*", "gauge_max",
     BY(BACKWARD(DQ, gg_ta_scaled), .factor = -1)},
    {"dk_7_percent", "K14", "dk is 7 % too large: its cosine is 1", "correlated-*",
     "gauge_p99", BY(BACKWARD(DK, gg_ta_scaled), .factor = 1.07f)},
    {"dv_7_percent", "K14", "dv is 7 % too large, and so are its sums over keys", "all_means-*",
     "dv_sums", BY(BACKWARD(DV, gg_ta_scaled), .factor = 1.07f)},
    {"one_nan", "K14", "the last element of dv is NaN", "normal-R3-N17-*", "pattern",
     BY(BACKWARD(DV, gg_ta_one_nan))},
    {"one_infinity", "K14", "the last element of dbias is infinite", "normal-R3-N17-*",
     "pattern", BY(BACKWARD(DBIAS, gg_ta_one_infinity))},
    {"one_doubled", "K14", "one element of dv is twice what it should be",
     "normal-R3-N70-*", "gauge_max", BY(BACKWARD(DV, gg_ta_one_doubled))},

    {"replay", "K15", "gradients of the first call at an address are given again",
     "normal-R3-N17-*", "fresh", BY(.backward = gg_ta_replay_backward)},
    {"replay_by_prefix", "K15", "gradients of a call whose q began with the same bytes are "
     "given again", "normal-R3-N17-*", "fresh", BY(.backward = gg_ta_replay_by_prefix)},
    {"inputs_zeroed", "K15", "dout and the gradients are set to zero", "normal-R3-N17-*",
     "inputs", BY(.backward = gg_ta_inputs_zeroed)},
    {"answer_found", "K15", "dq is copied from the truth's memory", "normal-R3-N17-*",
     "fresh", BY(.backward = gg_ta_answer_found)},
    {"dout_edited", "K15", "dout is changed after it was used", "normal-R3-N17-*",
     "inputs", BY(.backward = gg_ta_dout_edited)},
    {"bias_edited", "K15", "the bias is changed after it was used", "normal-R3-N17-*",
     "inputs", BY(.backward = gg_ta_bias_edited)},
    {"right_at_first", "K15", "dk is right in the first two calls only",
     "normal-R3-N17-*", "repeat", BY(BACKWARD(DK, gg_ta_right_at_first))},
    {0},
};

static const gg_mutant controls[] = {
    {"strided_gather", "K7", "strided inputs are taken and read rightly, over 4 GiB too",
     "normal-R3-N17-*", NULL, BY(.supports = gg_ta_takes_any_strides,
     .forward = gg_ta_gather_forward, .backward = gg_ta_gather_backward)},
    {0},
};

static const gg_kernel *const bases[] = {&gg_ta_turbo_twin, &gg_ta_recompute_twin,
                                         &gg_ta_naive_twin, &gg_ta_twopass_twin,
                                         &gg_ta_split_twin};

/* The armed mutant; one at a time, as the harness runs them. Its calls may come together. */
static struct {
    const gg_ta_planted *how;
    gg_kernel kernel;
    gg_ta_plan plan;
    gg_ta_fault fault;
    gg_lanes lanes;
    atomic_int calls;
} armed;

const gg_ta_planted *gg_ta_armed(void) { return armed.how; }

const gg_kernel *gg_ta_armed_kernel(void) { return &armed.kernel; }

int gg_ta_backward_calls(void) { return armed.calls; }

int gg_ta_planted_forward(const gg_call *call)
{
    int naive = armed.how->base == GG_TA_ON_NAIVE;
    if (armed.how->base >= GG_TA_ON_TWOPASS) return bases[armed.how->base]->forward(call);
    return gg_ta_run_forward(call, &armed.plan,
                             naive ? gg_ta_naive_forward : gg_ta_online_forward);
}

int gg_ta_planted_backward(const gg_call *call)
{
    int naive = armed.how->base == GG_TA_ON_NAIVE;
    if (armed.how->base >= GG_TA_ON_TWOPASS) return bases[armed.how->base]->backward(call);
    gg_ta_head *head = naive ? gg_ta_naive_backward : gg_ta_tiled_backward;
    return gg_ta_run_backward(call, &armed.plan,
                              armed.how->backward_head ? armed.how->backward_head : head);
}

int gg_ta_right_backward(const gg_call *call)
{
    return bases[armed.how->base]->backward(call);
}

void gg_ta_delta_reads(const uint16_t *dout) { armed.fault.delta_dout = dout; }

static int forward(const gg_call *call)
{
    return (armed.how->forward ? armed.how->forward : gg_ta_planted_forward)(call);
}

static int backward(const gg_call *call)
{
    armed.calls++;
    return (armed.how->backward ? armed.how->backward : gg_ta_planted_backward)(call);
}

static const gg_kernel *arm(const gg_mutant *mutant)
{
    static const gg_ta_plan *const plans[] = {&gg_ta_turbo_plan, &gg_ta_recompute_plan,
                                              &gg_ta_naive_plan};
    const gg_ta_planted *how = mutant->how;
    armed.how = how;
    armed.calls = 0;
    armed.lanes = *gg_lanes_best();
    if (how->round) armed.lanes.round = how->round;
    if (how->logits) armed.lanes.logits = how->logits;
    if (how->weights) armed.lanes.weights = how->weights;
    if (how->gradient) armed.lanes.gradient = how->gradient;
    armed.fault = how->fault;
    armed.fault.lanes = &armed.lanes;
    if (how->base < GG_TA_ON_TWOPASS) armed.plan = *plans[how->base];
    armed.plan.fault = &armed.fault;
    armed.kernel = *bases[how->base];
    armed.kernel.name = mutant->name;
    armed.kernel.summary = mutant->fault;
    armed.kernel.forward = forward;
    armed.kernel.backward = backward;
    if (how->supports) armed.kernel.supports = how->supports;
    return &armed.kernel;
}

static const char *base(const gg_mutant *mutant)
{
    return bases[((const gg_ta_planted *)mutant->how)->base]->name;
}

const gg_mutant_set gg_ta_mutants = {
    .operator_name = "triangle_attention",
    .suite = "selftest",
    .mutants = mutants,
    .controls = controls,
    .arm = arm,
    .base = base,
};
