/* SPDX-License-Identifier: Apache-2.0
 * Forward pass of `twopass` and `split`: o, e, m and inv (README.md).
 *
 * A CTA owns 128 queries of three rows r. Three warpgroups compute, one row each, all with
 * the same bias tiles, which so cost a third of their traffic; a fourth copies. Each of the
 * three holds two blocks of 64 queries that take turns: the products of one run on the
 * tensor cores while the exponentials of the other run beside them.
 *
 * Registers of a computing thread, W = 32: scores 64, weights 16 (with pairs 32; the other
 * block's are scores at that time), o 32, l and m 8: 120 of 160, and what loads need. As a
 * shared operand q takes none; in registers it would take 16 and ptxas would serialise.
 * Shared memory: q of three rows (24 KB at W = 32), three or four stages of k and v of
 * three rows (64 x W each) and the bias of 128 queries x 64 keys: 40 KB (BF16) or 56 KB
 * (FP32) a stage at W = 32. */
#include "kernels/triangle_attention/twopass_device.cuh"

namespace {

struct Forward {
    CUtensorMap q, k, v;
    const char *bias;                 /* bias tiles, rows are queries */
    const uint64_t *words;            /* [B R][tiles] */
    uint16_t *o, *error;              /* bf16 [B,R,H,N,D] or NULL */
    float *m, *inv;                   /* [B,R,H,N] */
    int R, H, N, D, tiles, key_tiles; /* key_tiles: of a row of bias tiles */
    int blocks, row_groups;           /* of 128 queries; of three rows */
    float sc;
};

template <int W, class Bias>
struct Plan {
    static constexpr int ROWS = 3, WARPS = 4 * ROWS, THREADS = 128 * ROWS + 128;
    static constexpr int TILE = 64 * W * 2, BLOCK = 2 * BiasTile<Bias>::BYTES;
    static constexpr int STAGE = ROWS * 2 * TILE + 2 * BLOCK;
    static constexpr int STAGES = W == 32 && sizeof(Bias) == 4 ? 3 : 4;
    static constexpr int QUERIES = STAGES * STAGE, BARRIERS = QUERIES + 2 * ROWS * TILE;
    static constexpr int READY = BARRIERS + 16 * STAGES;
    static constexpr int SHARED = READY + 8 + ALIGNMENT;
};

/* The key tiles that a CTA walks: all, or those with a valid key in one of its rows. */
template <bool MASKED>
struct Walk {
    const uint64_t *words; /* of row r0; the next rows' follow */
    int tiles, rows;

    __device__ __forceinline__ Walk(const Forward &a, int b, int r0)
        : words(MASKED ? a.words + (size_t)(b * a.R + r0) * a.tiles : nullptr),
          tiles(a.tiles), rows(min(3, a.R - r0))
    {
    }
    __device__ __forceinline__ const uint64_t *at(int row, int t) const
    {
        return words + (size_t)row * tiles + t;
    }
    __device__ __forceinline__ int next(int t) const
    {
        if (MASKED)
            while (t < tiles
                   && (*at(0, t) | *at(min(1, rows - 1), t) | *at(rows - 1, t)) == 0)
                t++;
        return t;
    }
};

template <int W, class Bias, bool MASKED>
__device__ __forceinline__ void copy_tiles(const Forward &a, uint32_t start, int block,
                                           int r0, int h, int b)
{
    typedef Plan<W, Bias> P;
    const Walk<MASKED> walk(a, b, r0);
    const char *bias =
        a.bias
        + ((size_t)(b * a.H + h) * (2 * a.blocks) + 2 * block) * a.key_tiles * P::BLOCK;
    barrier_expect(start + P::READY, 2 * P::ROWS * P::TILE);
    for (int i = 0; i < 2 * P::ROWS; i++)
        copy_box(start + P::QUERIES + i * P::TILE, &a.q, 128 * block + 64 * (i & 1),
                 (b * a.R + min(r0 + i / 2, a.R - 1)) * a.H + h, start + P::READY);
    Ring<P::STAGES> ring = {start + P::BARRIERS, 0, 1};
    for (int t = walk.next(0); t < a.tiles; t = walk.next(t + 1), ring.advance()) {
        barrier_wait(ring.empty(), ring.parity);
        const uint32_t full = ring.full(), to = start + ring.stage * P::STAGE;
        barrier_expect(full, P::STAGE);
        for (int i = 0; i < P::ROWS; i++) {
            const int plane = (b * a.R + min(r0 + i, a.R - 1)) * a.H + h;
            copy_box(to + 2 * i * P::TILE, &a.k, 64 * t, plane, full);
            copy_box(to + (2 * i + 1) * P::TILE, &a.v, 64 * t, plane, full);
        }
        for (int i = 0; i < 2; i++)
            copy_bytes(to + 2 * P::ROWS * P::TILE + i * P::BLOCK,
                       bias + ((size_t)i * a.key_tiles + t) * P::BLOCK, P::BLOCK, full);
    }
}

/* 64 queries of one row. */
template <int W, class Bias, bool PAIRS, bool MASKED>
struct Block {
    uint32_t q; /* shared address of the tile */
    float s[32], o[W / 2];
    float m[2], l[2]; /* of rows g, g + 8; l: the lane's own columns */
    uint32_t high[16], low[PAIRS ? 16 : 1];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < W / 2; i++)
            o[i] = 0.0f;
        l[0] = l[1] = 0.0f;
        m[0] = m[1] = GG_TA_TWOPASS_BOTTOM;
    }

    __device__ __forceinline__ void multiply_keys(uint32_t k)
    {
#pragma unroll
        for (int x = 0; x < W / 16; x++)
            wgmma_shared(s, tile_descriptor<W>(tile_start(q) + 2 * x),
                         tile_descriptor<W>(tile_start(k) + 2 * x), x > 0);
    }

    __device__ __forceinline__ void multiply_values(uint32_t v)
    {
        multiply_rows<W, PAIRS, 4>(o, high, low, tile_start(v), 1);
    }

    /* Moves the running maxima of rows g, g + 8 where this tile exceeds them by enough. */
    __device__ __forceinline__ void raise(float top0, float top1)
    {
        const bool up0 = top0 > m[0] + GG_TA_TWOPASS_GROWTH;
        const bool up1 = top1 > m[1] + GG_TA_TWOPASS_GROWTH;
        if (!__any_sync(0xffffffffu, up0 || up1))
            return;
        const float f0 =
            up0 ? ex2(__fmaf_rn(m[0], GG_TA_TWOPASS_LOG2E, -(top0 * GG_TA_TWOPASS_LOG2E)))
                : 1.0f;
        const float f1 =
            up1 ? ex2(__fmaf_rn(m[1], GG_TA_TWOPASS_LOG2E, -(top1 * GG_TA_TWOPASS_LOG2E)))
                : 1.0f;
        m[0] = up0 ? top0 : m[0];
        m[1] = up1 ? top1 : m[1];
#pragma unroll
        for (int i = 0; i < W / 2; i++)
            o[i] *= i & 2 ? f1 : f0;
        l[0] *= f0;
        l[1] *= f1;
    }

    /* Scores to weights: u, the maxima, ex2, operands. */
    __device__ __forceinline__ void soften(uint32_t bias, const uint32_t *words, float sc)
    {
#pragma unroll
        for (int j = 0; j < 2; j++) {
            BiasPieces<Bias, 4> b;
            b.load(bias + j * BiasTile<Bias>::BYTES);
            const uint32_t kept = MASKED ? words[j] >> 2 * (threadIdx.x & 3) : 0;
#pragma unroll
            for (int i = 0; i < 16; i++) {
                float &x = s[16 * j + i];
                x = __fmaf_rn(x, sc, b.value(i));
                if (MASKED && !(kept >> (8 * (i >> 2) + (i & 1)) & 1))
                    x = -INFINITY;
            }
        }
        float top0 = s[0], top1 = s[2];
#pragma unroll
        for (int n = 0; n < 8; n++) {
            top0 = fmaxf(top0, fmaxf(s[4 * n], s[4 * n + 1]));
            top1 = fmaxf(top1, fmaxf(s[4 * n + 2], s[4 * n + 3]));
        }
#pragma unroll
        for (int lane = 1; lane <= 2; lane *= 2) {
            top0 = fmaxf(top0, __shfl_xor_sync(0xffffffffu, top0, lane));
            top1 = fmaxf(top1, __shfl_xor_sync(0xffffffffu, top1, lane));
        }
        raise(top0, top1);
        const float nm0 = -(m[0] * GG_TA_TWOPASS_LOG2E),
                    nm1 = -(m[1] * GG_TA_TWOPASS_LOG2E);
        float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float *x = s + 8 * k;
            uint32_t *pair = high + 4 * k;
#pragma unroll
            for (int i = 0; i < 8; i++)
                x[i] = ex2(__fmaf_rn(x[i], GG_TA_TWOPASS_LOG2E, i & 2 ? nm1 : nm0));
            to_operand<PAIRS>(x, pair, PAIRS ? low + 4 * k : low);
            if (PAIRS)
#pragma unroll
                for (int i = 0; i < 8; i++)
                    sum[i & 3] += x[i];
        }
        if (!PAIRS)
#pragma unroll
            for (int i = 0; i < 32; i++)
                sum[i & 3] += i & 1 ? high_bf16(high[i / 2]) : low_bf16(high[i / 2]);
        l[0] += sum[0] + sum[1];
        l[1] += sum[2] + sum[3];
    }

    /* `first`: index in [B,R,H,N] of the block's first query, `count` of them inside N. */
    __device__ __forceinline__ void store(const Forward &a, size_t first, int count)
    {
        const int lane = (int)(threadIdx.x & 31), warp = (int)(threadIdx.x >> 5 & 3);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = 16 * warp + (lane >> 2) + 8 * half;
            float sum = l[half];
            sum += __shfl_xor_sync(0xffffffffu, sum, 1);
            sum += __shfl_xor_sync(0xffffffffu, sum, 2);
            if (row >= count)
                continue;
            const bool empty = sum == 0.0f;
            const float inv = empty ? 0.0f : __frcp_rn(sum);
            const size_t at = first + row;
            if ((lane & 3) == 0) {
                a.m[at] = empty ? 0.0f : m[half];
                a.inv[at] = inv;
            }
#pragma unroll
            for (int n = 0; n < W / 8; n++) {
                if (8 * n >= a.D)
                    continue;
                const float x = o[4 * n + 2 * half] * inv,
                            y = o[4 * n + 2 * half + 1] * inv;
                const uint32_t rounded = pack_bf16(x, y); /* FP32 to BF16: 2^-9 of o */
                const size_t to = at * a.D + 8 * n + 2 * (lane & 3);
                if (a.o)
                    *reinterpret_cast<uint32_t *>(a.o + to) = rounded;
                if (a.error) /* what that lost, itself rounded: 2^-18 of o is left */
                    *reinterpret_cast<uint32_t *>(a.error + to) =
                        pack_bf16(x - low_bf16(rounded), y - high_bf16(rounded));
            }
        }
    }
};

template <int W, class Bias, bool PAIRS, bool MASKED>
__global__ void __launch_bounds__(Plan<W, Bias>::THREADS, 1)
    forward_kernel(const __grid_constant__ Forward a)
{
    typedef Plan<W, Bias> P;
    const uint32_t start = shared_start();
    const int warp = __shfl_sync(0xffffffffu, (int)(threadIdx.x >> 5), 0);
    const int block = (int)(blockIdx.x % (unsigned)a.blocks);
    const int rest = (int)(blockIdx.x / (unsigned)a.blocks);
    const int r0 = rest % a.row_groups * P::ROWS, bh = rest / a.row_groups;
    const int h = bh % a.H, b = bh / a.H;
    if (threadIdx.x == 0) {
        ring_init<P::STAGES>(start + P::BARRIERS, P::WARPS);
        barrier_init(start + P::READY, 1);
    }
    publish_shared();
    __syncthreads();
    if (warp >= P::WARPS) {
        give_registers();
        if (warp == P::WARPS && (threadIdx.x & 31) == 0)
            copy_tiles<W, Bias, MASKED>(a, start, block, r0, h, b);
        return;
    }
    take_registers<P::ROWS>();

    const int row = warp >> 2, r = min(r0 + row, a.R - 1), query0 = 128 * block;
    const size_t first = ((size_t)(b * a.R + r) * a.H + h) * a.N + query0;
    const uint32_t keys = start + 2 * row * P::TILE;
    const uint32_t bias = start + 2 * P::ROWS * P::TILE + 16 * (threadIdx.x & 127);
    const Walk<MASKED> walk(a, b, r0);
    Block<W, Bias, PAIRS, MASKED> q[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        q[i].q = start + P::QUERIES + (2 * row + i) * P::TILE;
        q[i].clear();
    }
    const auto word = [&](int tile) {
        return MASKED ? reinterpret_cast<const uint32_t *>(walk.at(r - r0, tile)) : nullptr;
    };
    Ring<P::STAGES> ring = {start + P::BARRIERS, 0, 0};
    int t = walk.next(0);
    barrier_wait(start + P::READY, 0);
    if (t < a.tiles) {
        barrier_wait(ring.full(), 0);
        wgmma_fence();
        q[0].multiply_keys(keys);
        q[1].multiply_keys(keys);
        wgmma_commit();
        wgmma_wait();
        settled(q[0].s);
        settled(q[1].s);
        q[0].soften(bias, word(t), a.sc);
        for (int next = walk.next(t + 1); next < a.tiles; next = walk.next(t + 1)) {
            const Ring<P::STAGES> ahead = ring.next();
            const int at = ring.stage * P::STAGE, to = ahead.stage * P::STAGE;
            barrier_wait(ahead.full(), ahead.parity);
            wgmma_fence();
            q[0].multiply_values(keys + at + P::TILE);
            q[0].multiply_keys(keys + to);
            wgmma_commit();
            q[1].soften(bias + at + P::BLOCK, word(t), a.sc);
            wgmma_wait();
            settled(q[0].o);
            settled(q[0].s);
            wgmma_fence();
            q[1].multiply_values(keys + at + P::TILE);
            q[1].multiply_keys(keys + to);
            wgmma_commit();
            q[0].soften(bias + to, word(next), a.sc);
            wgmma_wait();
            settled(q[1].o);
            settled(q[1].s);
            release_stage(ring.empty());
            ring = ahead;
            t = next;
        }
        const int at = ring.stage * P::STAGE;
        wgmma_fence();
        q[0].multiply_values(keys + at + P::TILE);
        wgmma_commit();
        q[1].soften(bias + at + P::BLOCK, word(t), a.sc);
        wgmma_wait();
        settled(q[0].o);
        wgmma_fence();
        q[1].multiply_values(keys + at + P::TILE);
        wgmma_commit();
        wgmma_wait();
        settled(q[1].o);
    }
    if (r0 + row < a.R) {
        q[0].store(a, first, a.N - query0);
        q[1].store(a, first + 64, a.N - query0 - 64);
    }
}

template <int W, class Bias, bool PAIRS, bool MASKED>
cudaError_t start(const gg_ta_call &u, const Forward &a)
{
    typedef Plan<W, Bias> P;
    const size_t ctas = (size_t)a.blocks * a.row_groups * bias_planes_of(u);
    return launch(forward_kernel<W, Bias, PAIRS, MASKED>, ctas, P::THREADS, P::SHARED,
                  (cudaStream_t)u.stream, a);
}

template <int W, class Bias, bool PAIRS>
cudaError_t by_keys(const gg_ta_call &u, const Forward &a)
{
    return u.keys == GG_TA_KEYS_ALL ? start<W, Bias, PAIRS, false>(u, a)
                                    : start<W, Bias, PAIRS, true>(u, a);
}

template <int W, bool PAIRS>
cudaError_t by_bias(const gg_ta_call &u, const Forward &a)
{
    return u.bias_f32 ? by_keys<W, float, PAIRS>(u, a) : by_keys<W, uint16_t, PAIRS>(u, a);
}

} // namespace

cudaError_t gg_ta_twopass_forward(const gg_ta_call &u, const TwopassSpace &space,
                                  bool pairs)
{
    const TwopassTiles t = twopass_tiles(u);
    const int W = u.D <= 16 ? 16 : 32;
    Forward a = {};
    a.bias = static_cast<const char *>(space.bias);
    a.words = space.words;
    a.o = u.o, a.error = u.e, a.m = u.m, a.inv = u.inv;
    a.R = u.R, a.H = u.H, a.N = u.N, a.D = u.D;
    a.tiles = t.tiles, a.key_tiles = t.keys;
    a.blocks = t.even / 2, a.row_groups = (u.R + 2) / 3;
    a.sc = u.sc;
    GG_TRY_CUDA(make_tensor_map(&a.q, u.q, planes_of(u), u.N, u.D, W, 64));
    GG_TRY_CUDA(make_tensor_map(&a.k, space.k, planes_of(u), u.N, u.D, W, 64));
    GG_TRY_CUDA(make_tensor_map(&a.v, space.v, planes_of(u), u.N, u.D, W, 64));
    if (W == 16)
        return pairs ? by_bias<16, true>(u, a) : by_bias<16, false>(u, a);
    return pairs ? by_bias<32, true>(u, a) : by_bias<32, false>(u, a);
}
