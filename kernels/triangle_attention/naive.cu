/* SPDX-License-Identifier: Apache-2.0
 * naive: scores, probabilities, dP and dS are stored in full, [B,R,H,N,N], as the
 * formulas are written; products by product.cuh, rows by a warp each. Nothing is saved:
 * backward repeats scores and softmax, and delta does not pass through o. Contract:
 * README.md, "Scores" and `naive`. */
#include "kernels/triangle_attention/limits.h"
#include "kernels/triangle_attention/prepare.cuh"
#include "kernels/triangle_attention/product.cuh"

/* Workspace; rows of squares have ld = N rounded up to 8 elements. */
struct NaiveSpace {
    uint64_t *words; /* key words */
    float *p;        /* [B,R,H,N,ld] t, then P */
    uint16_t *p16;   /* [B,R,H,N,ld] P, BF16 */
    float *ds;       /* [B,R,H,N,ld] dP, then dS */
    uint16_t *ds16;  /* [B,R,H,N,ld] dS, BF16 */
    size_t ld;
};

static size_t space_of(const gg_ta_call &u, void *base, NaiveSpace &space)
{
    space.ld = ((size_t)u.N + 7) / 8 * 8;
    const size_t square = times(queries_of(u), space.ld);
    Cutter cut = {static_cast<char *>(base), 0};
    cut.take(space.words, word_bytes(u));
    cut.take(space.p, times(square, sizeof(float)));
    cut.take(space.p16, times(square, sizeof(uint16_t)));
    cut.take(space.ds, times(square, sizeof(float)));
    cut.take(space.ds16, times(square, sizeof(uint16_t)));
    return cut.used;
}

static size_t workspace_bytes(const gg_call *call)
{
    gg_ta_call u;
    NaiveSpace space;
    gg_ta_unpack(call, &u);
    return space_of(u, nullptr, space);
}

static const char *supports(const gg_call *call)
{
    gg_ta_call u;
    const char *why = gg_ta_refuse(call);
    if (why)
        return why;
    gg_ta_unpack(call, &u);
    if (times(times(planes_of(u), tiles_of(u)), tiles_of(u)) > (size_t)INT32_MAX)
        return "more tiles than one grid has blocks";
    return refuse_size(u, workspace_bytes(call));
}

__device__ __forceinline__ bool key_valid(const uint64_t *words, int key)
{
    return words[key / TILE] >> (key % TILE) & 1;
}

/* t = fma(S, c1, mul(bias, LOG2E)), -infinity at an invalid key. */
struct StoreScores {
    Shape s;
    float *t; /* [B,R,H,N,ld] */
    size_t ld;
    const void *bias;      /* [B,H,N,N] */
    const uint64_t *words; /* key words */
    float c1;
    bool bias_f32;

    __device__ void operator()(size_t plane, int i, int j, float x) const
    {
        const size_t h = plane % s.H, br = plane / s.H, b = br / s.R;
        const size_t at = ((b * s.H + h) * s.N + i) * s.N + j;
        const float raw = bias_f32 ? static_cast<const float *>(bias)[at]
                                   : from_bf16(static_cast<const uint16_t *>(bias)[at]);
        const bool valid = key_valid(words + br * s.tiles, j);
        t[(plane * s.N + i) * ld + j] =
            valid ? __fmaf_rn(x, c1, __fmul_rn(raw, GG_LOG2E)) : -INFINITY;
    }
};

/* dP, FP32. */
struct StoreSquare {
    float *to; /* [B,R,H,N,ld] */
    size_t ld;
    int N;

    __device__ void operator()(size_t plane, int i, int j, float x) const
    {
        to[(plane * N + i) * ld + j] = x;
    }
};

/* mul(x, factor) as FP32 or BF16; with words, rows of invalid keys become +0. */
struct StoreRows {
    Shape s;
    void *to;              /* [B,R,H,N,D] */
    const uint64_t *words; /* key words, or NULL */
    float factor;
    bool f32;

    __device__ void operator()(size_t plane, int i, int d, float x) const
    {
        const size_t at = (plane * s.N + i) * s.D + d;
        float y = __fmul_rn(x, factor);
        if (words && !key_valid(words + plane / s.H * s.tiles, i))
            y = 0.0f;
        if (f32)
            static_cast<float *>(to)[at] = y;
        else
            static_cast<uint16_t *>(to)[at] = (uint16_t)pack_bf16(y, 0.0f);
    }
};

struct Rows {
    Shape s;
    size_t count, ld;      /* B R H N; row stride of the squares */
    const uint64_t *words; /* key words */
    float *p, *ds;         /* [B,R,H,N,ld] */
    uint16_t *p16, *ds16;  /* [B,R,H,N,ld] */
    bool keep_p;           /* softmax: write P over t too */
};

/* Lane sums to the row sum: lane xor 16, 8, 4, 2, 1. All lanes get it. */
__device__ __forceinline__ float fold(float x)
{
#pragma unroll
    for (int step = 16; step; step >>= 1)
        x = __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, step));
    return x;
}

/* A warp a row, lane c takes keys c, c + 32, ...; rows are strided over the grid. */
static __global__ void __launch_bounds__(THREADS) softmax_kernel(Rows a)
{
    const size_t step = (size_t)gridDim.x * (THREADS / 32);
    for (size_t row = (size_t)blockIdx.x * (THREADS / 32) + warp_id(); row < a.count;
         row += step) {
        const uint64_t *words = a.words + row / a.s.N / a.s.H * a.s.tiles;
        float *t = a.p + row * a.ld;
        float top = -INFINITY, sum = 0.0f;
        for (int j = lane_id(); j < a.s.N; j += 32)
            top = fmaxf(top, t[j]);
#pragma unroll
        for (int other = 16; other; other >>= 1)
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, other));
        const float ref = top == -INFINITY ? 0.0f : top;
        for (int j = lane_id(); j < a.s.N; j += 32)
            sum =
                __fadd_rn(sum, key_valid(words, j) ? ex2(__fsub_rn(t[j], ref)) : 0.0f);
        sum = fold(sum);
        const float inv = sum == 0.0f ? 0.0f : __frcp_rn(sum);
        for (int j = lane_id(); j < a.s.N; j += 32) {
            const float x = key_valid(words, j) ? ex2(__fsub_rn(t[j], ref)) : 0.0f;
            const float p = __fmul_rn(x, inv);
            if (a.keep_p)
                t[j] = p;
            a.p16[row * a.ld + j] = (uint16_t)pack_bf16(p, 0.0f);
        }
    }
}

/* delta = rowsum(mul(P, dP)), then dS over dP and as BF16; +0 at an invalid key. */
static __global__ void __launch_bounds__(THREADS) score_gradient_kernel(Rows a)
{
    const size_t step = (size_t)gridDim.x * (THREADS / 32);
    for (size_t row = (size_t)blockIdx.x * (THREADS / 32) + warp_id(); row < a.count;
         row += step) {
        const uint64_t *words = a.words + row / a.s.N / a.s.H * a.s.tiles;
        const float *p = a.p + row * a.ld;
        float *ds = a.ds + row * a.ld, sum = 0.0f;
        for (int j = lane_id(); j < a.s.N; j += 32)
            sum = __fadd_rn(sum, __fmul_rn(p[j], ds[j]));
        const float delta = fold(sum);
        for (int j = lane_id(); j < a.s.N; j += 32) {
            const float x =
                key_valid(words, j) ? __fmul_rn(p[j], __fsub_rn(ds[j], delta)) : 0.0f;
            ds[j] = x;
            a.ds16[row * a.ld + j] = (uint16_t)pack_bf16(x, 0.0f);
        }
    }
}

struct SumRows {
    Shape s;
    const float *ds;  /* [B,R,H,N,ld] */
    void *dbias;      /* [B,H,N,N] */
    size_t count, ld; /* B H N N */
    bool f32;
};

/* dbias = add over r ascending from +0; a thread an element, strided over the grid. */
static __global__ void __launch_bounds__(THREADS) dbias_kernel(SumRows a)
{
    const size_t step = (size_t)gridDim.x * THREADS, N = a.s.N;
    for (size_t at = (size_t)blockIdx.x * THREADS + threadIdx.x; at < a.count;
         at += step) {
        const size_t j = at % N, i = at / N % N, bh = at / N / N;
        const size_t h = bh % a.s.H, b = bh / a.s.H;
        float sum = 0.0f;
#pragma unroll 4
        for (size_t r = 0; r < (size_t)a.s.R; r++)
            sum = __fadd_rn(sum,
                            a.ds[(((b * a.s.R + r) * a.s.H + h) * N + i) * a.ld + j]);
        if (a.f32)
            static_cast<float *>(a.dbias)[at] = sum;
        else
            static_cast<uint16_t *>(a.dbias)[at] = (uint16_t)pack_bf16(sum, 0.0f);
    }
}

/* Blocks for `count` items, `each` a block; the kernels stride, so fewer will do. */
static size_t strided_blocks(size_t count, size_t each)
{
    const size_t blocks = (count + each - 1) / each, most = (size_t)1 << 20;
    return blocks < most ? blocks : most;
}

/* [B,R,H] matrices [N][D]; with words, rows of invalid keys read as zero. */
static Matrix rows_matrix(const gg_ta_call &u, const uint16_t *data,
                          const uint64_t *words)
{
    return Matrix{data, (size_t)u.N * u.D, (size_t)u.D, u.N, u.D, words, u.H};
}

/* [B,R,H] matrices [N][N]. */
static Matrix square_matrix(const gg_ta_call &u, const uint16_t *data, size_t ld)
{
    return Matrix{data, (size_t)u.N * ld, ld, u.N, u.N, nullptr, 1};
}

static cudaError_t make_weights(const gg_ta_call &u, const NaiveSpace &x, bool keep_p)
{
    const cudaStream_t stream = (cudaStream_t)u.stream;
    const Shape s = shape_of(u);
    GG_TRY_CUDA(check_alignment(u));
    GG_TRY_CUDA(make_key_words(u, x.words));
    const StoreScores store = {s, x.p, x.ld, u.bias, x.words, u.c1, u.bias_f32 != 0};
    const Product<StoreScores> scores =
        whole_product(rows_matrix(u, u.q, nullptr), rows_matrix(u, u.k, x.words), u.N,
                      u.N, u.D, store);
    GG_TRY_CUDA((launch_product<false, false>(scores, planes_of(u), stream)));
    const Rows rows = {s,    queries_of(u), x.ld,   x.words, x.p,
                       x.ds, x.p16,         x.ds16, keep_p};
    return launch(softmax_kernel, strided_blocks(rows.count, THREADS / 32), THREADS, 0,
                  stream, rows);
}

static int forward(const gg_call *call)
{
    gg_ta_call u;
    NaiveSpace x;
    gg_ta_unpack(call, &u);
    if (!u.o)
        return 0;
    space_of(u, u.workspace, x);
    GG_TRY_CUDA(make_weights(u, x, false));
    const StoreRows store = {shape_of(u), u.o, nullptr, 1.0f, false};
    const Product<StoreRows> out =
        whole_product(square_matrix(u, x.p16, x.ld), rows_matrix(u, u.v, x.words), u.N,
                      u.D, u.N, store);
    return launch_product<false, true>(out, planes_of(u), (cudaStream_t)u.stream);
}

/* dq = mul(dS16 k, sc)   dk = mul(dS16^T q, sc)   dv = P16^T dout */
static cudaError_t make_row_gradients(const gg_ta_call &u, const NaiveSpace &x)
{
    const cudaStream_t stream = (cudaStream_t)u.stream;
    const bool f32 = u.grad_f32 != 0;
    const StoreRows store = {shape_of(u), u.dq, nullptr, u.sc, f32};
    Product<StoreRows> p =
        whole_product(square_matrix(u, x.ds16, x.ld), rows_matrix(u, u.k, x.words), u.N,
                      u.D, u.N, store);
    if (u.dq)
        GG_TRY_CUDA((launch_product<false, true>(p, planes_of(u), stream)));
    p.b = rows_matrix(u, u.q, nullptr);
    p.store.to = u.dk;
    p.store.words = x.words;
    if (u.dk)
        GG_TRY_CUDA((launch_product<true, true>(p, planes_of(u), stream)));
    p.a = square_matrix(u, x.p16, x.ld);
    p.b = rows_matrix(u, u.dout, nullptr);
    p.store.to = u.dv;
    p.store.factor = 1.0f;
    if (u.dv)
        GG_TRY_CUDA((launch_product<true, true>(p, planes_of(u), stream)));
    return cudaSuccess;
}

static int backward(const gg_call *call)
{
    gg_ta_call u;
    NaiveSpace x;
    gg_ta_unpack(call, &u);
    if (!u.dout)
        return cudaErrorInvalidValue;
    space_of(u, u.workspace, x);
    const cudaStream_t stream = (cudaStream_t)u.stream;
    const Shape s = shape_of(u);
    GG_TRY_CUDA(make_weights(u, x, true));
    const StoreSquare store = {x.ds, x.ld, u.N};
    const Product<StoreSquare> dp =
        whole_product(rows_matrix(u, u.dout, nullptr), rows_matrix(u, u.v, x.words),
                      u.N, u.N, u.D, store);
    GG_TRY_CUDA((launch_product<false, false>(dp, planes_of(u), stream)));
    const Rows rows = {s, queries_of(u), x.ld, x.words, x.p, x.ds, x.p16, x.ds16, true};
    GG_TRY_CUDA(launch(score_gradient_kernel, strided_blocks(rows.count, THREADS / 32),
                       THREADS, 0, stream, rows));
    GG_TRY_CUDA(make_row_gradients(u, x));
    if (!u.dbias)
        return 0;
    const size_t count = bias_planes_of(u) * u.N * u.N;
    const SumRows sum = {s, x.ds, u.dbias, count, x.ld, u.dbias_f32 != 0};
    return launch(dbias_kernel, strided_blocks(count, THREADS), THREADS, 0, stream,
                  sum);
}

extern "C" const gg_kernel gg_ta_naive_cuda = {
    GG_ABI_VERSION,
    sizeof(gg_kernel),
    "naive",
    "triangle_attention",
    "stores scores, probabilities, dP and dS in full",
    kDLCUDA,
    GG_REPEAT_RUN_TO_RUN,
    gg_ta_inputs,
    gg_ta_outputs,
    nullptr,
    gg_ta_naive_limits,
    GG_TA_LIMITS_NOTE,
    supports,
    gg_ta_saved_nothing,
    workspace_bytes,
    forward,
    backward,
    1,
    gg_ta_naive_roundings,
};
