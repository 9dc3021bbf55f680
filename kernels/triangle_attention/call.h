/* SPDX-License-Identifier: Apache-2.0
 * One call of a triangle attention kernel, unpacked from DLPack tensors and checked.
 * Shared by the CUDA kernels and their host twins; it computes nothing. */
#ifndef KERNELS_TRIANGLE_ATTENTION_CALL_H
#define KERNELS_TRIANGLE_ATTENTION_CALL_H

#include "kernels/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GG_TA_TILE = 64,    /* queries or keys of one tile */
    GG_TA_CHUNKS = 16,  /* turbo: the most dbias slabs of one (b, h) */
    GG_TA_MAX_HEAD = 64 /* largest D */
};

/* Which keys are valid. */
typedef enum gg_ta_keys {
    GG_TA_KEYS_ALL = 0,
    GG_TA_KEYS_MASKED, /* mask[b][r][j] != 0 */
    GG_TA_KEYS_COUNTED /* j < key_lengths[b][r] */
} gg_ta_keys;

/* Pointers are where the tensors are (device or host), byte_offset added. An output
 * that is not wanted is NULL. dout is NULL in a forward call that came without it. */
typedef struct gg_ta_call {
    int B, R, H, N, D;
    const uint16_t *q, *k, *v; /* bf16 [B,R,H,N,D] */
    const uint16_t *dout;      /* bf16 [B,R,H,N,D] */
    const void *bias;          /* [B,H,N,N], float when bias_f32, else bf16 */
    const uint8_t *mask;       /* [B,R,N]; NULL unless keys == GG_TA_KEYS_MASKED */
    const int32_t *lengths;    /* [B,R]; NULL unless keys == GG_TA_KEYS_COUNTED */
    uint16_t *o;               /* bf16 [B,R,H,N,D]; backward reads it */
    void *dq, *dk, *dv;        /* [B,R,H,N,D], float when grad_f32, else bf16 */
    void *dbias;               /* [B,H,N,N], float when dbias_f32, else bf16 */
    gg_ta_keys keys;
    int bias_f32, grad_f32, dbias_f32;
    int compensation; /* gg_call.features bit 0 */
    float sc, c1, root; /* 1/sqrt(D), log2(e)/sqrt(D), sqrt(D): README.md, Notation */
    float rc1, rc1_low; /* 1/c1, and what its rounding lost */

    /* The saved buffer of recompute, atomic and turbo, each part at a multiple of 256 bytes;
     * twopass and split have their own (twopass_chunks.h). */
    float *m, *inv; /* [B,R,H,N] */
    uint16_t *e;    /* bf16 [B,R,H,N,D]; NULL without compensation */

    void *workspace, *stream;
    int threads;
} gg_ta_call;

/* NULL when the call can be done, else why not. Reads no element of a tensor. */
const char *gg_ta_refuse(const gg_call *call);

/* Fills `unpacked` from a call that gg_ta_refuse() lets pass. */
void gg_ta_unpack(const gg_call *call, gg_ta_call *unpacked);

/* gg_kernel.saved_bytes of recompute, atomic and turbo; and of naive (0). */
size_t gg_ta_saved_bytes(const gg_call *call);
size_t gg_ta_saved_nothing(const gg_call *call);

/* turbo: rows of one dbias slab, G = ceil(R / 16), and the number of slabs. */
static inline int gg_ta_chunk_rows(int R)
{
    return (R + GG_TA_CHUNKS - 1) / GG_TA_CHUNKS;
}

static inline int gg_ta_chunk_count(int R)
{
    int rows = gg_ta_chunk_rows(R);
    return (R + rows - 1) / rows;
}

/* gg_kernel.inputs, .outputs and .features of every kernel of this operator. */
extern const char *const gg_ta_inputs[];
extern const char *const gg_ta_outputs[];
extern const gg_feature gg_ta_features[];

/* gg_kernel.roundings of naive; of recompute, atomic and turbo; of twopass; of split. */
extern const gg_rounding gg_ta_naive_roundings[], gg_ta_roundings[];
extern const gg_rounding gg_ta_twopass_roundings[], gg_ta_split_roundings[];

#ifdef __cplusplus
}
#endif
#endif
