/* SPDX-License-Identifier: Apache-2.0
 * Planted faults of the twins. A twin asks gg_ta_slips() where a real kernel could go
 * wrong; with no fault in the plan, as in every honest kernel, the answer is no. The
 * faults themselves are in mutants.c. */
#ifndef KERNELS_TRIANGLE_ATTENTION_MUTANT_H
#define KERNELS_TRIANGLE_ATTENTION_MUTANT_H

#include "kernels/mutant.h"
#include "kernels/triangle_attention/twin.h"

/* One place where a twin leaves its contract. */
typedef enum gg_ta_slip {
    GG_TA_SLIP_NONE = 0,
    /* which keys and queries count */
    GG_TA_SLIP_TAIL_KEYS_LIVE,     /* padding keys count as valid, with score 0 */
    GG_TA_SLIP_TAIL_KEYS_BACKWARD, /* the same in backward only */
    GG_TA_SLIP_TAIL_KEYS_DROPPED,  /* keys beyond the last multiple of 16 are invalid */
    GG_TA_SLIP_TAIL_QUERIES,       /* padding rows of q, dout, P and dS are not cleared */
    GG_TA_SLIP_TAIL_HEAD,          /* d beyond the last multiple of 16 reads as zero */
    GG_TA_SLIP_FIRST_TILE,         /* of several key tiles the first is skipped */
    GG_TA_SLIP_LENGTH_PLUS_ONE,    /* j <= key_lengths */
    GG_TA_SLIP_MASK_OF_ROW_0,      /* every row takes the mask of row 0 */
    GG_TA_SLIP_NAN_LEAK,           /* k and v of invalid keys are read */
    GG_TA_SLIP_SENTINEL_1E9,       /* invalid keys are live, at -1e9 */
    GG_TA_SLIP_SENTINEL_5E4,       /* the same at -5e4 */
    GG_TA_SLIP_INVALID_UNSTORED,   /* dk, dv of invalid keys are not stored */
    /* the bias */
    GG_TA_SLIP_BIAS_SCALED,        /* sc (q k + bias) */
    GG_TA_SLIP_BIAS_NO_LOG2E,      /* the factor log2(e) reaches the scores only */
    GG_TA_SLIP_BIAS_EXACT_TILES,   /* dropped when N is a multiple of the tile */
    GG_TA_SLIP_BIAS_TRANSPOSED,
    GG_TA_SLIP_BIAS_OF_HEAD_0,
    GG_TA_SLIP_BIAS_OF_BATCH_0,
    GG_TA_SLIP_BIAS_BF16,          /* FP32 bias read through BF16 */
    /* the online softmax */
    GG_TA_SLIP_MAX_FROM_0,         /* the running maximum starts at 0 */
    GG_TA_SLIP_MAX_FROM_5E4,       /* or at -5e4 */
    GG_TA_SLIP_MAX_OF_DEAD_TILE,   /* a dead first tile leaves 0 as the maximum */
    GG_TA_SLIP_NO_RESCALE,         /* l and O are not rescaled at a new maximum */
    GG_TA_SLIP_NO_ZERO_GUARD,      /* 1 / 0 for a row without valid keys */
    GG_TA_SLIP_INV_BF16,           /* 1 / l rounded to BF16 */
    GG_TA_SLIP_MAX_BF16,           /* the saved maximum rounded to BF16 */
    GG_TA_SLIP_SAVED_HOLE,         /* m of the last query is not saved */
    GG_TA_SLIP_E_HOLE,             /* e of the last query is not saved */
    GG_TA_SLIP_O_TRUNCATED,        /* o is cut to BF16 */
    GG_TA_SLIP_UNROUNDED_SUM,      /* the row sum takes p before its rounding */
    GG_TA_SLIP_NO_MAX,             /* naive: softmax without the maximum */
    /* backward */
    GG_TA_SLIP_K_SCALED_BF16,      /* backward's scores from bf16(c1 k) */
    GG_TA_SLIP_K_OF_NEXT_HEAD,     /* backward's k */
    GG_TA_SLIP_DOUT_OF_QUERY_0,    /* dout with stride 0 */
    GG_TA_SLIP_NO_DELTA,
    GG_TA_SLIP_DELTA_HALF_READ,    /* delta is formed before the last dout arrived */
    GG_TA_SLIP_DELTA_LATE,         /* delta of the row before */
    GG_TA_SLIP_E_UNUSED,           /* compensation computed and not used */
    GG_TA_SLIP_E_NEGATED,          /* o - e */
    GG_TA_SLIP_DS_STALE,           /* the last rows of dS are those of the tile before */
    GG_TA_SLIP_DBIAS_OF_BF16,      /* dbias adds dS rounded to BF16 */
    GG_TA_SLIP_SLAB_NOT_CLEARED,
    GG_TA_SLIP_SLAB_BF16,          /* the sum of slabs is kept in BF16 */
    GG_TA_SLIP_GRADIENTS_TRUNCATED /* gradients are cut to their type */
} gg_ta_slip;

typedef enum gg_ta_product {
    GG_TA_S, GG_TA_DP, GG_TA_O, GG_TA_DQ, GG_TA_DK, GG_TA_DV, GG_TA_PRODUCTS
} gg_ta_product;

typedef void gg_ta_chain_of(float *c, size_t ldc, const gg_decoded *a, const gg_decoded *b,
                            size_t rows, size_t columns, size_t steps);

struct gg_ta_fault {
    gg_ta_slip slip;
    const gg_lanes *lanes;                  /* in place of gg_lanes_best() */
    gg_ta_chain_of *chain[GG_TA_PRODUCTS];  /* in place of the lanes' */
    void (*call)(gg_ta_call *call);         /* spoils the unpacked call */
    const uint16_t *delta_dout;             /* from which delta is formed; NULL: dout */
};

static inline int gg_ta_slips(const gg_ta_twin *twin, gg_ta_slip slip)
{
    return twin->plan.fault && twin->plan.fault->slip == slip;
}

static inline gg_ta_chain_of *gg_ta_chain(const gg_ta_twin *twin, gg_ta_product product)
{
    const gg_ta_fault *fault = twin->plan.fault;
    return fault && fault->chain[product] ? fault->chain[product] : twin->lanes->chain;
}

/* mutant_bias.c: what a finite sentinel gives to invalid keys (0: no such fault), whose
 * bias [N][N] a head reads, and the rest of the faults of bias and mask. */
float gg_ta_sentinel(const gg_ta_twin *twin);
size_t gg_ta_faulty_square(const gg_ta_twin *twin, int b, int h);
void gg_ta_faulty_bias(const gg_ta_twin *twin, gg_ta_scratch *s, size_t bh, size_t i,
                       size_t first, size_t count);

/* mutant_operands.c: backward's operands, column d of the dout [N][D] at `first` from which
 * delta is formed, the offset of the next head's block, and the
 * padding rows of P and dS as copies of the last row. */
void gg_ta_faulty_operands(const gg_ta_twin *twin, gg_ta_scratch *s);
const float *gg_ta_faulty_dout(const gg_ta_twin *twin, gg_ta_scratch *s, size_t first,
                               size_t d);
size_t gg_ta_next_head(const gg_ta_call *call, size_t first);
void gg_ta_repeat_last_row(gg_ta_scratch *s, size_t queries, size_t width);

/* The operator's mutants, for kernels/mutants.c. */
extern const gg_mutant_set gg_ta_mutants;

#endif
