/* SPDX-License-Identifier: Apache-2.0
 * recompute: one pass per gradient, scores and probabilities recomputed in each,
 * nothing of size N x N stored. dk and dv: backward.cuh. Here:
 * - dq: a CTA owns 64 queries of one (b, r, h) and walks the live key tiles;
 * - dbias: a CTA owns 64 queries x 64 keys of one (b, h) and walks the rows r, the sum
 *   in registers.
 * Both hold scores as [query][key] accumulators, as forward.cuh does.
 * Contract: README.md, "Backward, per element" and `recompute`. */
#include "kernels/triangle_attention/backward.cuh"
#include "kernels/triangle_attention/forward.cuh"
#include "kernels/triangle_attention/limits.h"

/* What a thread knows of its queries g and g + 8 of the warp. */
struct QueryRows {
    float m[2], inv[2], delta[2];
};

/* s (dP in ds) to P, then ds = mul(P, sub(dP, delta)); +0 at an invalid key. */
__device__ __forceinline__ void score_gradient(float (&ds)[8][4], float (&s)[8][4],
                                               const float *bias, const QueryRows &rows,
                                               float c1, uint64_t word)
{
    const uint64_t mine = word >> (2 * (lane_id() & 3));
#pragma unroll
    for (int n = 0; n < 8; n++) {
        const float4 b4 = *reinterpret_cast<const float4 *>(bias + accumulator_at(n));
        const float b[4] = {b4.x, b4.y, b4.z, b4.w};
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int half = e >> 1;
            const float t = __fmaf_rn(s[n][e], c1, b[e]);
            const float p = __fmul_rn(ex2(__fsub_rn(t, rows.m[half])), rows.inv[half]);
            ds[n][e] = __fmul_rn(p, __fsub_rn(ds[n][e], rows.delta[half]));
        }
    }
    if (word == ~0ull)
        return;
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (!(mine >> (8 * n + (e & 1)) & 1))
                ds[n][e] = 0.0f;
}

struct QueryPass {
    Shape s;
    const uint16_t *q, *k, *v, *dout; /* [B,R,H,N,D] */
    const float *bias;                /* bias tiles, rows are queries */
    const float *m, *inv, *delta;     /* [B,R,H,N] */
    const uint64_t *words;            /* key words */
    void *out;                        /* dq [B,R,H,N,D] or dbias [B,H,N,N] */
    float c1, sc;
    bool f32; /* type of out */
};

template <int DP>
struct DqMemory {
    ForwardStage<DP> stage[2];
    uint16_t q[TILE * (DP + 8)], dout[TILE * (DP + 8)];
};

template <int DP>
static __global__ void __launch_bounds__(THREADS, DP <= 32 ? 3 : 2)
    dq_kernel(QueryPass a)
{
    DqMemory<DP> &x = *reinterpret_cast<DqMemory<DP> *>(shared_memory());
    const Shape s = a.s;
    const int query_tile = (int)(blockIdx.x % (unsigned)s.tiles);
    const int query0 = query_tile * TILE;
    const int plane = (int)(blockIdx.x / (unsigned)s.tiles); /* of [B,R,H] */
    const int h = plane % s.H, br = plane / s.H, b = br / s.R;
    const size_t rows = (size_t)plane * s.N;
    const uint64_t *words = a.words + (size_t)br * s.tiles;
    const float *bias =
        a.bias + (((size_t)b * s.H + h) * s.tiles + query_tile) * s.tiles * TILE_FLOATS;
    const auto fetch = [&](int tile, ForwardStage<DP> &to) {
        const size_t first = (rows + (size_t)tile * TILE) * s.D;
        copy_rows<DP>(to.k, a.k + first, s.D, words[tile]);
        copy_rows<DP>(to.v, a.v + first, s.D, words[tile]);
        copy_accumulator_tile(to.bias, bias + (size_t)tile * TILE_FLOATS);
    };

    const uint64_t queries = first_bits(s.N - query0);
    copy_rows<DP>(x.q, a.q + (rows + query0) * s.D, s.D, queries);
    copy_rows<DP>(x.dout, a.dout + (rows + query0) * s.D, s.D, queries);
    QueryRows mine;
    for (int half = 0; half < 2; half++) {
        const int query = query0 + 16 * warp_id() + (lane_id() >> 2) + 8 * half;
        const bool real = query < s.N;
        mine.m[half] = real ? a.m[rows + query] : 0.0f;
        mine.inv[half] = real ? a.inv[rows + query] : 0.0f;
        mine.delta[half] = real ? a.delta[rows + query] : 0.0f;
    }

    float dq[DP / 8][4];
    clear(dq);
    int t = next_live(words, 0, s.tiles), at = 0;
    if (t < s.tiles)
        fetch(t, x.stage[0]);
    while (t < s.tiles) {
        const int next = next_live(words, t + 1, s.tiles);
        const ForwardStage<DP> &y = x.stage[at];
        wait_copies();
        __syncthreads(); /* this stage has come, the other has been read */
        if (next < s.tiles)
            fetch(next, x.stage[at ^ 1]);
        float p[8][4], ds[8][4];
        uint32_t ds16[4][4];
        product_rows<DP, 8>(p, x.q, 16 * warp_id(), y.k, 0);
        product_rows<DP, 8>(ds, x.dout, 16 * warp_id(), y.v, 0);
        score_gradient(ds, p, y.bias, mine, a.c1, words[t]);
        pack_fragments<8>(ds16, ds); /* FP32 to BF16: 2^-9 of each dS */
        product_columns<DP, 4>(dq, ds16, y.k, 0);
        t = next;
        at ^= 1;
    }
    wait_copies();
    store_rows<DP>(a.out, rows + query0 + 16 * warp_id(), s.D,
                   s.N - query0 - 16 * warp_id(), 0xffff, dq, a.sc, a.f32);
}

/* One row r for the dbias pass. */
template <int DP>
struct RowStage {
    uint16_t q[TILE * (DP + 8)], dout[TILE * (DP + 8)];
    uint16_t k[TILE * (DP + 8)], v[TILE * (DP + 8)];
    float m[TILE], inv[TILE], delta[TILE];
};

template <int DP>
struct DbiasMemory {
    RowStage<DP> stage[2];
    float bias[TILE_FLOATS];
};

template <int DP>
__device__ __forceinline__ void copy_row_stage(const QueryPass &a, RowStage<DP> &to,
                                               size_t plane, int query0, int key0,
                                               uint64_t word)
{
    const int count = a.s.N - query0, i = (int)threadIdx.x;
    const size_t queries = plane * a.s.N + query0, keys = plane * a.s.N + key0;
    copy_rows<DP>(to.q, a.q + queries * a.s.D, a.s.D, first_bits(count));
    copy_rows<DP>(to.dout, a.dout + queries * a.s.D, a.s.D, first_bits(count));
    copy_rows<DP>(to.k, a.k + keys * a.s.D, a.s.D, word);
    copy_rows<DP>(to.v, a.v + keys * a.s.D, a.s.D, word);
    if (i < TILE) {
        copy_float(to.m, a.m + queries, i, count);
        copy_float(to.delta, a.delta + queries, i, count);
    } else {
        copy_float(to.inv, a.inv + queries, i - TILE, count);
    }
}

/* Writes the tile's sums, [query][key]. */
__device__ __forceinline__ void store_dbias(const QueryPass &a, size_t plane,
                                            int query0, int key0,
                                            const float (&sum)[8][4])
{
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int i = query0 + 16 * warp_id() + (lane_id() >> 2) + 8 * (e >> 1);
            const int j = key0 + 8 * n + 2 * (lane_id() & 3) + (e & 1);
            const size_t at = (plane * a.s.N + i) * a.s.N + j;
            if (i >= a.s.N || j >= a.s.N)
                continue;
            if (a.f32)
                static_cast<float *>(a.out)[at] = sum[n][e];
            else
                static_cast<uint16_t *>(a.out)[at] =
                    (uint16_t)pack_bf16(sum[n][e], 0.0f);
        }
}

template <int DP>
static __global__ void __launch_bounds__(THREADS, DP <= 32 ? 3 : 2)
    dbias_kernel(QueryPass a)
{
    DbiasMemory<DP> &x = *reinterpret_cast<DbiasMemory<DP> *>(shared_memory());
    const Shape s = a.s;
    const int key_tile = (int)(blockIdx.x % (unsigned)s.tiles);
    const unsigned rest = blockIdx.x / (unsigned)s.tiles;
    const int query0 = (int)(rest % (unsigned)s.tiles) * TILE, key0 = key_tile * TILE;
    const size_t bh = rest / (unsigned)s.tiles, b = bh / s.H, h = bh % s.H;
    const uint64_t *words = a.words + b * s.R * s.tiles + key_tile; /* [r][tiles] */
    const auto next_row = [&](int r) {
        while (r < s.R && words[(size_t)r * s.tiles] == 0)
            r++;
        return r;
    };
    const auto fetch = [&](int r, RowStage<DP> &to) {
        copy_row_stage<DP>(a, to, (b * s.R + r) * s.H + h, query0, key0,
                           words[(size_t)r * s.tiles]);
    };

    /* Rows where the key tile is dead add dS = +0 to a sum from +0: no bit changes. */
    float sum[8][4];
    clear(sum);
    int r = next_row(0), at = 0;
    copy_accumulator_tile(x.bias, a.bias + (size_t)blockIdx.x * TILE_FLOATS);
    if (r < s.R)
        fetch(r, x.stage[0]);
    while (r < s.R) {
        const int next = next_row(r + 1), first = 16 * warp_id() + (lane_id() >> 2);
        const RowStage<DP> &y = x.stage[at];
        wait_copies();
        __syncthreads(); /* this stage has come, the other has been read */
        if (next < s.R)
            fetch(next, x.stage[at ^ 1]);
        const QueryRows mine = {{y.m[first], y.m[first + 8]},
                                {y.inv[first], y.inv[first + 8]},
                                {y.delta[first], y.delta[first + 8]}};
        float p[8][4], ds[8][4];
        product_rows<DP, 8>(p, y.q, 16 * warp_id(), y.k, 0);
        product_rows<DP, 8>(ds, y.dout, 16 * warp_id(), y.v, 0);
        score_gradient(ds, p, x.bias, mine, a.c1, words[(size_t)r * s.tiles]);
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sum[n][e] = __fadd_rn(sum[n][e], ds[n][e]);
        r = next;
        at ^= 1;
    }
    wait_copies();
    store_dbias(a, bh, query0, key0, sum);
}

struct RecomputeSpace {
    float *by_query, *by_key; /* bias tiles, rows are queries, keys */
    uint64_t *words;          /* key words */
    float *delta;             /* [B,R,H,N] */
};

static size_t space_of(const gg_ta_call &u, void *base, RecomputeSpace &space)
{
    Cutter cut = {static_cast<char *>(base), 0};
    cut.take(space.by_query, square_bytes(u));
    cut.take(space.by_key, square_bytes(u));
    cut.take(space.words, word_bytes(u));
    cut.take(space.delta, times(queries_of(u), sizeof(float)));
    return cut.used;
}

static size_t workspace_bytes(const gg_call *call)
{
    gg_ta_call u;
    RecomputeSpace space;
    gg_ta_unpack(call, &u);
    return space_of(u, nullptr, space); /* more than forward needs */
}

static const char *supports(const gg_call *call)
{
    gg_ta_call u;
    const char *why = gg_ta_refuse(call);
    if (why)
        return why;
    gg_ta_unpack(call, &u);
    return refuse_size(u, workspace_bytes(call));
}

template <int DP>
static cudaError_t launch_query_passes(const gg_ta_call &u, QueryPass a)
{
    const cudaStream_t stream = (cudaStream_t)u.stream;
    const size_t tiles = tiles_of(u);
    if (u.dq) {
        a.out = u.dq;
        a.f32 = u.grad_f32 != 0;
        GG_TRY_CUDA(launch(dq_kernel<DP>, planes_of(u) * tiles, THREADS,
                           sizeof(DqMemory<DP>), stream, a));
    }
    if (u.dbias) {
        a.out = u.dbias;
        a.f32 = u.dbias_f32 != 0;
        GG_TRY_CUDA(launch(dbias_kernel<DP>, bias_planes_of(u) * tiles * tiles, THREADS,
                           sizeof(DbiasMemory<DP>), stream, a));
    }
    return cudaSuccess;
}

static cudaError_t query_passes(const gg_ta_call &u, const RecomputeSpace &space)
{
    const QueryPass a = {shape_of(u),    u.q,  u.k,   u.v,         u.dout,
                         space.by_query, u.m,  u.inv, space.delta, space.words,
                         nullptr,        u.c1, u.sc,  false};
    switch ((u.D + 15) / 16) {
    case 1: return launch_query_passes<16>(u, a);
    case 2: return launch_query_passes<32>(u, a);
    case 3: return launch_query_passes<48>(u, a);
    default: return launch_query_passes<64>(u, a);
    }
}

static cudaError_t key_passes(const gg_ta_call &u, const RecomputeSpace &space)
{
    KeyPass a = {};
    a.s = shape_of(u);
    a.chunk_rows = 1;
    a.chunks = u.R;
    a.q = u.q, a.k = u.k, a.v = u.v, a.dout = u.dout;
    a.bias = space.by_key;
    a.m = u.m, a.inv = u.inv, a.delta = space.delta;
    a.words = space.words;
    a.dk = u.dk, a.dv = u.dv;
    a.c1 = u.c1, a.sc = u.sc;
    a.f32 = u.grad_f32 != 0;
    if (u.dk)
        GG_TRY_CUDA(launch_key_pass<MAKES_DK>(u, a));
    if (u.dv)
        GG_TRY_CUDA(launch_key_pass<MAKES_DV>(u, a));
    return cudaSuccess;
}

static int backward(const gg_call *call)
{
    gg_ta_call u;
    RecomputeSpace space;
    gg_ta_unpack(call, &u);
    if (!u.dout || !u.o || !u.m)
        return cudaErrorInvalidValue;
    GG_TRY_CUDA(check_alignment(u));
    space_of(u, u.workspace, space);
    GG_TRY_CUDA(make_key_words(u, space.words));
    GG_TRY_CUDA(make_delta(u, space.delta));
    if (u.dq || u.dbias) {
        GG_TRY_CUDA(make_bias_tiles(u, space.by_query, false));
        GG_TRY_CUDA(query_passes(u, space));
    }
    if (u.dk || u.dv) {
        GG_TRY_CUDA(make_bias_tiles(u, space.by_key, true));
        GG_TRY_CUDA(key_passes(u, space));
    }
    return 0;
}

extern "C" const gg_kernel gg_ta_recompute_cuda = {
    GG_ABI_VERSION,
    sizeof(gg_kernel),
    "recompute",
    "triangle_attention",
    "one pass per gradient, probabilities recomputed in each",
    kDLCUDA,
    GG_REPEAT_RUN_TO_RUN,
    gg_ta_inputs,
    gg_ta_outputs,
    gg_ta_features,
    gg_ta_limits,
    GG_TA_LIMITS_NOTE,
    supports,
    gg_ta_saved_bytes,
    workspace_bytes,
    online_forward,
    backward,
    1,
    gg_ta_roundings,
};
