/* SPDX-License-Identifier: Apache-2.0
 * Ordered sums of turbo's partial results, and the conversion of atomic's (one part,
 * one slab): dq = mul(part_0 + part_1 + ..., sc), dbias = slab_0 + slab_1 + ...
 * (README.md).
 *
 * A dead key tile writes no part, and none is read: its part is +0 by contract, a sum
 * of chains is never -0, so adding +0 changes no bit. */
#ifndef KERNELS_TRIANGLE_ATTENTION_REDUCE_CUH
#define KERNELS_TRIANGLE_ATTENTION_REDUCE_CUH

#include "kernels/triangle_attention/backward.cuh"

struct ReduceDq {
    const float *parts;    /* [parts][B,R,H,N,D] */
    const uint64_t *words; /* key words, one part a tile; NULL: every part counts */
    void *dq;              /* [B,R,H,N,D] */
    size_t elements, row_elements; /* B R H N D, H N D */
    int count;                     /* parts */
    float sc;
    bool f32;
};

__device__ __forceinline__ float4 add4(float4 a, float4 b)
{
    return make_float4(__fadd_rn(a.x, b.x), __fadd_rn(a.y, b.y), __fadd_rn(a.z, b.z),
                       __fadd_rn(a.w, b.w));
}

/* Four neighbouring elements a thread (D is a multiple of 8). */
static __global__ void __launch_bounds__(THREADS) reduce_dq_kernel(ReduceDq a)
{
    const size_t at = ((size_t)blockIdx.x * THREADS + threadIdx.x) * 4;
    if (at >= a.elements)
        return;
    const uint64_t *words = a.words ? a.words + at / a.row_elements * a.count : nullptr;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
    for (int t = 0; t < a.count; t++) {
        const bool live = !words || words[t] != 0;
        if (live)
            sum = add4(sum, __ldcs(reinterpret_cast<const float4 *>(
                                a.parts + t * a.elements + at)));
    }
    store_pair(a.dq, at, __fmul_rn(sum.x, a.sc), __fmul_rn(sum.y, a.sc), a.f32);
    store_pair(a.dq, at + 2, __fmul_rn(sum.z, a.sc), __fmul_rn(sum.w, a.sc), a.f32);
}

struct ReduceDbias {
    const float *slabs; /* [count][B H][key tiles][query tiles][4096] */
    void *dbias;        /* [B H][N][N] */
    size_t stride;      /* floats of one slab */
    int N, tiles, count;
    bool f32;
};

__device__ __forceinline__ void store_one(void *to, size_t at, float x, bool f32)
{
    if (f32)
        static_cast<float *>(to)[at] = x;
    else
        static_cast<uint16_t *>(to)[at] = (uint16_t)pack_bf16(x, 0.0f);
}

/* One CTA a tile: sums in accumulator order, then turns the tile to [query][key]. */
static __global__ void __launch_bounds__(THREADS) reduce_dbias_kernel(ReduceDbias a)
{
    __shared__ float tile[TILE][TILE + 1]; /* [query][key] */
    const int query0 = (int)(blockIdx.x % (unsigned)a.tiles) * TILE;
    const unsigned rest = blockIdx.x / (unsigned)a.tiles;
    const int key0 = (int)(rest % (unsigned)a.tiles) * TILE;
    const size_t plane = (size_t)(rest / (unsigned)a.tiles) * a.N * a.N;
    const float *slab = a.slabs + (size_t)blockIdx.x * TILE_FLOATS;

    for (int n = 0; n < 8; n++) {
        const int at = accumulator_at(n);
        float4 sum = *reinterpret_cast<const float4 *>(slab + at);
#pragma unroll 4
        for (int c = 1; c < a.count; c++)
            sum =
                add4(sum, *reinterpret_cast<const float4 *>(slab + c * a.stride + at));
        const int key = 16 * warp_id() + (lane_id() >> 2);
        const int query = 8 * n + 2 * (lane_id() & 3);
        tile[query][key] = sum.x;
        tile[query + 1][key] = sum.y;
        tile[query][key + 8] = sum.z;
        tile[query + 1][key + 8] = sum.w;
    }
    __syncthreads();
    for (int x = (int)threadIdx.x; x < TILE_FLOATS; x += THREADS) {
        const int i = x / TILE, j = x % TILE;
        if (query0 + i < a.N && key0 + j < a.N)
            store_one(a.dbias, plane + (size_t)(query0 + i) * a.N + key0 + j,
                      tile[i][j], a.f32);
    }
}

/* Workspace of turbo's and atomic's backward pass. */
struct PassSpace {
    float *bias;     /* bias tiles, rows are keys */
    uint64_t *words; /* key words */
    float *delta;    /* [B,R,H,N] */
    float *parts;    /* [parts][B,R,H,N,D] */
    float *slabs;    /* [slabs] of square_bytes() */
};

static inline size_t pass_space(const gg_ta_call &u, size_t parts, size_t slabs,
                                void *base, PassSpace &space)
{
    Cutter cut = {static_cast<char *>(base), 0};
    cut.take(space.bias, square_bytes(u));
    cut.take(space.words, word_bytes(u));
    cut.take(space.delta, times(queries_of(u), sizeof(float)));
    cut.take(space.parts, times(times(elements_of(u), sizeof(float)), parts));
    cut.take(space.slabs, times(square_bytes(u), slabs));
    return cut.used;
}

/* Everything before the key pass. Gradients that are not wanted are NULL in `pass`. */
static cudaError_t prepare_pass(const gg_ta_call &u, const PassSpace &space,
                                KeyPass &pass)
{
    if (!u.dout || !u.o || !u.m)
        return cudaErrorInvalidValue;
    GG_TRY_CUDA(check_alignment(u));
    GG_TRY_CUDA(make_key_words(u, space.words));
    GG_TRY_CUDA(make_bias_tiles(u, space.bias, true));
    GG_TRY_CUDA(make_delta(u, space.delta));
    pass = KeyPass{};
    pass.s = shape_of(u);
    pass.chunk_rows = gg_ta_chunk_rows(u.R);
    pass.chunks = gg_ta_chunk_count(u.R);
    pass.q = u.q, pass.k = u.k, pass.v = u.v, pass.dout = u.dout;
    pass.bias = space.bias;
    pass.m = u.m, pass.inv = u.inv, pass.delta = space.delta;
    pass.words = space.words;
    pass.parts = u.dq ? space.parts : nullptr;
    pass.part_elements = elements_of(u);
    pass.slabs = u.dbias ? space.slabs : nullptr;
    pass.dk = u.dk, pass.dv = u.dv;
    pass.c1 = u.c1, pass.sc = u.sc;
    pass.f32 = u.grad_f32 != 0;
    return cudaSuccess;
}

/* parts: key tiles, with words, or 1 without. slabs: chunks, or 1. */
static cudaError_t reduce_pass(const gg_ta_call &u, const PassSpace &space,
                               const uint64_t *words, int parts, int slabs)
{
    const cudaStream_t stream = (cudaStream_t)u.stream;
    const size_t elements = elements_of(u), tiles = tiles_of(u);
    if (u.dq) {
        const ReduceDq a = {
            space.parts, words, u.dq,           elements, (size_t)u.H * u.N * u.D,
            parts,       u.sc,  u.grad_f32 != 0};
        GG_TRY_CUDA(launch(reduce_dq_kernel, (elements / 4 + THREADS - 1) / THREADS,
                           THREADS, 0, stream, a));
    }
    if (u.dbias) {
        const size_t stride = square_bytes(u) / sizeof(float);
        const ReduceDbias a = {space.slabs, u.dbias, stride,          u.N,
                               (int)tiles,  slabs,   u.dbias_f32 != 0};
        GG_TRY_CUDA(launch(reduce_dbias_kernel, bias_planes_of(u) * tiles * tiles,
                           THREADS, 0, stream, a));
    }
    return cudaSuccess;
}

#endif
