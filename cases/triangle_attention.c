/* SPDX-License-Identifier: Apache-2.0
 * How triangle attention declares itself, and the inputs it is tried with. Kinds K1 to
 * K6 below are those of public bug reports (README.md has the list). */
#include "reference/triangle_attention.h"

#include <math.h>

#include "cases/operator.h"
#include "cases/triangle_attention_fill.h"
#include "reference/triangle_attention_rounded.h"

#define BF16 (1u << GG_BF16)
#define BF16_F32 (1u << GG_BF16 | 1u << GG_F32)

static const gg_tensor_decl inputs[] = {
    {"q", "BRHND", GG_ROLE_INPUT, BF16, GG_BF16},
    {"k", "BRHND", GG_ROLE_INPUT, BF16, GG_BF16},
    {"v", "BRHND", GG_ROLE_INPUT, BF16, GG_BF16},
    {"bias", "BHNN", GG_ROLE_INPUT, BF16_F32, GG_BF16},
    {"dout", "BRHND", GG_ROLE_UPSTREAM, BF16, GG_BF16},
    {"mask", "BRN", GG_ROLE_OPTIONAL, 1u << GG_U8, GG_U8},
    {"key_lengths", "BR", GG_ROLE_OPTIONAL, 1u << GG_I32, GG_I32},
    {0},
};

static const gg_tensor_decl outputs[] = {
    {"o", "BRHND", GG_ROLE_RESULT, BF16, GG_BF16},
    {"dq", "BRHND", GG_ROLE_GRADIENT, BF16_F32, GG_BF16},
    {"dk", "BRHND", GG_ROLE_GRADIENT, BF16_F32, GG_BF16},
    {"dv", "BRHND", GG_ROLE_GRADIENT, BF16_F32, GG_BF16},
    {"dbias", "BHNN", GG_ROLE_GRADIENT, BF16_F32, GG_F32},
    {0},
};

#define NORMAL(scale_, mean_) {.law = GG_LAW_NORMAL, .scale = (scale_), .mean = (mean_)}
#define UNIT NORMAL(1, 0)
#define HEAVY {.law = GG_LAW_HEAVY, .scale = 1}
#define HOST {.law = GG_LAW_HOST}
#define MASK (1u << GG_TA_MASK)
#define KEY_LENGTHS (1u << GG_TA_KEY_LENGTHS)

/* Laws of q, k, v, bias and dout; mask and key_lengths are made on the host. */
#define DRAWS(q_, k_, v_, bias_, dout_)                                                \
    .draw = {[GG_TA_Q] = q_,                                                           \
             [GG_TA_K] = k_,                                                           \
             [GG_TA_V] = v_,                                                           \
             [GG_TA_BIAS] = bias_,                                                     \
             [GG_TA_DOUT] = dout_,                                                     \
             [GG_TA_MASK] = HOST,                                                      \
             [GG_TA_KEY_LENGTHS] = HOST}
#define UNITS DRAWS(UNIT, UNIT, UNIT, UNIT, UNIT)

static const gg_family families[] = {
    /* Bulk: inputs of the kind a model gives, for error figures and ablation. */
    {.name = "normal", .summary = "independent standard normals", UNITS},
    {.name = "sharp",
     .summary = "q times 4: few keys take all the weight",
     DRAWS(NORMAL(4, 0), UNIT, UNIT, UNIT, UNIT)},
    {.name = "flat",
     .summary = "q and bias times 1/16: nearly uniform weights",
     DRAWS(NORMAL(0.0625, 0), UNIT, UNIT, NORMAL(0.0625, 0), UNIT)},
    {.name = "value_mean",
     .summary = "v with mean 1: delta cancels",
     DRAWS(UNIT, UNIT, NORMAL(1, 1), UNIT, UNIT)},
    {.name = "key_mean",
     .summary = "k with mean 1: dq cancels",
     DRAWS(UNIT, NORMAL(1, 1), UNIT, UNIT, UNIT)},
    {.name = "all_means",
     .summary = "every input with mean 1/2",
     DRAWS(NORMAL(1, 0.5), NORMAL(1, 0.5), NORMAL(1, 0.5), NORMAL(1, 0.5),
           NORMAL(1, 0.5))},
    {.name = "correlated",
     .summary = "dout is the gradient of the mean of O^2",
     DRAWS(UNIT, UNIT, UNIT, UNIT, {.law = GG_LAW_OUTPUT})},
    {.name = "heavy",
     .summary = "Student's t with 3 degrees of freedom",
     DRAWS(HEAVY, HEAVY, HEAVY, HEAVY, HEAVY)},
    {.name = "key_lengths",
     .summary = "a random valid prefix a row, some 0, some N",
     UNITS,
     .optional = KEY_LENGTHS,
     .host = gg_ta_fill_lengths},
    {.name = "chain",
     .summary = "bias from the distance map of a folded chain",
     DRAWS(UNIT, UNIT, UNIT, HOST, UNIT),
     .host = gg_ta_fill_chain},
    {.name = "dense_mask",
     .summary = "a random mask, one row in eight dead",
     UNITS,
     .optional = MASK,
     .host = gg_ta_fill_mask},

    {.name = "sharp_mask",
     .summary = "q times 16 and a random mask: later keys far above the first",
     DRAWS(NORMAL(16, 0), UNIT, UNIT, UNIT, UNIT),
     .optional = MASK,
     .host = gg_ta_fill_mask},

    /* Probes with a closed form. */
    {.name = "two_keys",
     .summary = "K5: two distinct scores a row, solved by hand",
     DRAWS(HOST, HOST, HOST, HOST, HOST),
     .host = gg_ta_fill_two_keys,
     .answer = gg_ta_answer_two_keys},
    {.name = "counting",
     .summary = "K1 K6: uniform weights, whole numbers to count",
     DRAWS(HOST, HOST, HOST, {.law = GG_LAW_CONSTANT}, HOST),
     .host = gg_ta_fill_counting,
     .answer = gg_ta_answer_uniform},
    {.name = "one_hot",
     .summary = "K5 K6: one element of dout, one of v a key",
     DRAWS(HOST, HOST, HOST, {.law = GG_LAW_CONSTANT}, HOST),
     .host = gg_ta_fill_one_hot,
     .answer = gg_ta_answer_uniform},

    {.name = "numbers",
     .summary = "K12: every finite BF16 number, which o and dv must give back",
     DRAWS({.law = GG_LAW_CONSTANT}, {.law = GG_LAW_CONSTANT}, HOST, HOST, HOST),
     .host = gg_ta_fill_numbers,
     .answer = gg_ta_answer_own_key},

    /* Probes of edges, masks and range. */
    {.name = "tail", .summary = "K1: normals at extents around tile edges", UNITS},
    {.name = "first_tile_masked",
     .summary = "K2: the first 16 to 128 keys invalid",
     UNITS,
     .optional = MASK,
     .host = gg_ta_fill_first_tile},
    {.name = "last_tile_masked",
     .summary = "K2: the last 16 to 128 keys invalid",
     UNITS,
     .optional = MASK,
     .host = gg_ta_fill_last_tile},
    {.name = "first_tile_low",
     .summary = "K2 K3: the first keys invalid, the others score low",
     DRAWS(UNIT, UNIT, UNIT, HOST, UNIT),
     .optional = MASK,
     .host = gg_ta_fill_first_tile_low},
    {.name = "dead_rows",
     .summary = "K2: rows without a valid key",
     UNITS,
     .optional = MASK,
     .host = gg_ta_fill_dead_rows},
    {.name = "nan_padding",
     .summary = "K1 K2: NaN and infinity at masked keys",
     DRAWS(UNIT, HOST, HOST, HOST, UNIT),
     .optional = MASK,
     .host = gg_ta_fill_nan},
    {.name = "nan_padding_lengths",
     .summary = "K1 K2: the same beyond key lengths",
     DRAWS(UNIT, HOST, HOST, HOST, UNIT),
     .optional = KEY_LENGTHS,
     .host = gg_ta_fill_nan_lengths},
    {.name = "extreme_low",
     .summary = "K3: all scores near -120, -200, -2e4 or -6e4",
     DRAWS(UNIT, UNIT, UNIT, HOST, UNIT),
     .host = gg_ta_fill_low},
    {.name = "extreme_high",
     .summary = "K3: all scores near 120, 200, 2e4 or 6e4",
     DRAWS(UNIT, UNIT, UNIT, HOST, UNIT),
     .host = gg_ta_fill_high},
    {.name = "mixed_extreme",
     .summary = "K3: scores from -6e4 to 6e4 in each row",
     DRAWS(UNIT, UNIT, UNIT, HOST, UNIT),
     .host = gg_ta_fill_mixed},

    /* Pairs: the same seed gives the same problem in two ways. */
    {.name = "unshifted_row",
     .summary = "K3: bias on a grid; partner of shifted_row",
     DRAWS(UNIT, UNIT, UNIT, HOST, UNIT),
     .host = gg_ta_fill_unshifted},
    {.name = "shifted_row",
     .summary = "K3: a constant added to each bias row",
     DRAWS(UNIT, UNIT, UNIT, HOST, UNIT),
     .host = gg_ta_fill_shifted},
    {.name = "prefix_mask",
     .summary = "K5: key lengths written as a dense mask",
     UNITS,
     .optional = MASK,
     .host = gg_ta_fill_lengths},
    {.name = "key_lengths_same",
     .summary = "K5: partner of prefix_mask",
     UNITS,
     .optional = KEY_LENGTHS,
     .host = gg_ta_fill_lengths},
    {0},
};

/* Keys that count: all, or those within key lengths. A dense mask is not counted: no
 * kernel can be expected to skip single keys. Two products forward, five backward. */
static gg_cost cost(const gg_problem *p)
{
    const int64_t *extent = p->extent;
    const int32_t *length = p->input[GG_TA_KEY_LENGTHS].data;
    double keys = 0, N = (double)extent[GG_TA_N], D = (double)extent[GG_TA_D];
    for (int64_t r = 0; r < extent[GG_TA_B] * extent[GG_TA_R]; r++)
        keys += length == NULL ? N : fmin(fmax(length[r], 0), N);
    double scores = keys * N * (double)extent[GG_TA_H];
    return (gg_cost){.flops = {4 * scores * D, 10 * scores * D},
                     .exponentials = {scores, scores}};
}

/* What each does: reference/triangle_attention_rounded.h */
static const gg_rounding_point roundings[] = {
    [GG_TA_INPUTS] = {"inputs", "q log2(e)/sqrt(D) as BF16 before the scores", false},
    [GG_TA_P] = {"p", "forward's weights as BF16, by the running maximum of 64 keys", false},
    [GG_TA_P_LAZY] = {"p_lazy", "the same, by the first maximum, or one that moves by 5.5 or more",
                      false},
    [GG_TA_P_WHOLE] = {"p_whole", "P of the whole row as BF16 where it multiplies v", false},
    [GG_TA_P_PAIR] = {"p_pair", "forward's weights as a BF16 pair", false},
    [GG_TA_P_DV] = {"p_dv", "P as BF16 where it multiplies dout", false},
    [GG_TA_P_DV_PAIR] = {"p_dv_pair", "P as a BF16 pair there", false},
    [GG_TA_DS] = {"ds", "dS as BF16 where it multiplies k and q", false},
    [GG_TA_DS_PAIR] = {"ds_pair", "dS as a BF16 pair there", false},
    [GG_TA_DELTA] = {"delta", "o as BF16 in delta", false},
    [GG_TA_DELTA_PAIR] = {"delta_pair", "o as a BF16 pair in delta (compensation)", false},
    [GG_TA_ACCUMULATION] = {"accumulation", "scores, exponentials and sums in FP32", true},
    [GG_TA_OUTPUT] = {"output", "the outputs in their types", false},
    {0},
};

const gg_operator gg_triangle_attention = {
    .name = "triangle_attention",
    .summary = "attention with a pair bias shared by all rows, forward and backward",
    .symbols = "BRHND",
    .inputs = inputs,
    .outputs = outputs,
    .reference =
        {
            .host = gg_triangle_attention_host,
#if defined(GG_CUDA) && GG_CUDA
            .cuda = gg_triangle_attention_cuda,
            .cuda_scratch = gg_triangle_attention_cuda_scratch,
            .rounded_cuda = gg_triangle_attention_rounded_cuda,
            .rounded_scratch = gg_triangle_attention_rounded_scratch,
#endif
            .exact = gg_triangle_attention_exact,
            .exact_share = gg_triangle_attention_exact_share,
            .exact_reads = gg_triangle_attention_exact_reads,
            .terms = gg_triangle_attention_terms,
            .rounded = gg_triangle_attention_rounded_host,
        },
    .families = families,
    .independent = "BRH",
    .relations = gg_ta_relations,
    .balances = gg_ta_balances,
    .cost = cost,
    .size = 'N',
    .graded = "dq",
    .roundings = roundings,
    .claims = gg_ta_claims,
    .determinism = {"determinism_host", "determinism"},
};
