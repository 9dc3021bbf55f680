/* SPDX-License-Identifier: Apache-2.0
 * Triangle attention on the GPU: the chunk of slices that all steps share, and the
 * element-wise formulas that several of them need. */
#ifndef REFERENCE_TRIANGLE_ATTENTION_CHUNK_CUH
#define REFERENCE_TRIANGLE_ATTENTION_CHUNK_CUH

#include "reference/fp64_tile.cuh"

constexpr int EDGE = 64; /* queries of a tile */
constexpr int EDGE_ROW = EDGE + TILE_PAD;

/* A slice is one (b, r, h), numbered (b R + r) H + h. A chunk is `count` slices from
 * `first`; its scratch arrays start with slice `first`. Query rows lie along the fast
 * axis of every matrix, so that one thread can walk down the keys of its query. */
struct attention {
    const uint16_t *q, *k, *v, *dout; /* bf16 bits [slice][N][D] */
    const uint8_t *mask; /* [B R][N] or NULL */
    const int32_t *lengths; /* [B R] or NULL */
    int64_t R, H;
    int N, D;
    bool wide; /* q, k, v and dout permit 16-byte loads */
    int LD; /* N rounded up to 8: the leading dimension of what follows */
    double sc; /* 1/sqrt(D) */
    int64_t first, count;
    float *bias; /* [B H][j: N][i: LD], exact in binary32 for both types */
    /* [count][j: N][i: LD] exp(S - m); -0 (never a value of exp) at an invalid key and
     * in a dead row, one with no valid score above -infinity */
    double *e;
    double *ds, *z; /* [count][j: N][i: LD] */
    /* [count][LD]: 1/l, 0 in a dead row; sc |q|; |k|; row sums over keys */
    double *inv_l, *q_norm, *k_norm, *a_bar, *delta, *x_bar;
};

struct key_set {
    const uint8_t *mask;
    int length;
    __device__ bool valid(int n) const { return n < length && (!mask || mask[n]); }
};

static __device__ __forceinline__ key_set keys_of(const attention &g, int64_t slice)
{
    int64_t row = slice / g.H;
    int length = g.N;
    if (g.lengths && g.lengths[row] < length) length = g.lengths[row];
    return {g.mask ? g.mask + row * g.N : nullptr, length};
}

/* The bias of a slice's batch and head. */
static __device__ __forceinline__ const float *bias_of(const attention &g,
                                                       int64_t slice)
{
    return g.bias + (slice / (g.R * g.H) * g.H + slice % g.H) * g.N * g.LD;
}

static __device__ __forceinline__ bool is_nothing(double e)
{
    return __double_as_longlong(e) == (long long)0x8000000000000000ull;
}

/* A_ij from sc |q_i| and |k_j|. */
static __device__ __forceinline__ double score_size(double q, double k, float bias)
{
    return q * k + fabs((double)bias);
}

/* P w, 0 where P is, even when a bias of -infinity makes A infinite. f times a sum is
 * exact: f is a power of 2. */
static __device__ __forceinline__ double weighted(double p, double a, double a_bar)
{
    double w = 0x1p-8 + 0x1p-24 * (1.0 + a + a_bar);
    return p == 0.0 ? 0.0 : p * w;
}

#endif
