/* SPDX-License-Identifier: Apache-2.0
 * Forward pass of recompute, atomic and turbo: online softmax (README.md, "Forward").
 *
 * A CTA owns 64 queries of one (b, r, h), a warp 16 of them, and walks the live key
 * tiles in ascending order. Scores are [query][key] accumulators: thread (g, c) holds
 * rows g and g + 8, columns 8 n + 2 c and the next, which is the order of the
 * contract's row sums. */
#ifndef KERNELS_TRIANGLE_ATTENTION_FORWARD_CUH
#define KERNELS_TRIANGLE_ATTENTION_FORWARD_CUH

#include "kernels/triangle_attention/prepare.cuh"

struct Forward {
    Shape s;
    const uint16_t *q, *k, *v; /* [B,R,H,N,D] */
    const float *bias;         /* bias tiles, rows are queries */
    const uint64_t *words;     /* key words */
    uint16_t *o, *error;       /* [B,R,H,N,D] or NULL */
    float *m, *inv;            /* [B,R,H,N] */
    float c1;
};

/* Shared memory of one stage: k and v tiles [64][DP + 8], bias tile. Two stages. */
template <int DP>
struct ForwardStage {
    uint16_t k[TILE * (DP + 8)], v[TILE * (DP + 8)];
    float bias[TILE_FLOATS];
};

/* First live tile at or after t, or `tiles`. */
__device__ __forceinline__ int next_live(const uint64_t *words, int t, int tiles)
{
    while (t < tiles && words[t] == 0)
        t++;
    return t;
}

/* t = fma(S, c1, bias) in place; -infinity at an invalid key. */
__device__ __forceinline__ void scores_by_query(float (&s)[8][4], const float *bias,
                                                float c1, uint64_t word)
{
#pragma unroll
    for (int n = 0; n < 8; n++) {
        const float4 b = *reinterpret_cast<const float4 *>(bias + accumulator_at(n));
        s[n][0] = __fmaf_rn(s[n][0], c1, b.x);
        s[n][1] = __fmaf_rn(s[n][1], c1, b.y);
        s[n][2] = __fmaf_rn(s[n][2], c1, b.z);
        s[n][3] = __fmaf_rn(s[n][3], c1, b.w);
    }
    if (word == ~0ull)
        return;
    const uint64_t mine = word >> (2 * (lane_id() & 3));
#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (!(mine >> (8 * n + (e & 1)) & 1))
                s[n][e] = -INFINITY;
}

/* One tile of the online softmax for the thread's rows `half` = 0 (g) or 1 (g + 8): s
 * becomes ex2(t - ref), unrounded; a is the factor of the old sums. */
__device__ __forceinline__ void softmax_step(float (&s)[8][4], int half, float &m,
                                             float &a)
{
    float top = m;
#pragma unroll
    for (int n = 0; n < 8; n++)
        top = fmaxf(top, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
    const float ref = top == -INFINITY ? 0.0f : top;
    a = ex2(__fsub_rn(m, ref));
#pragma unroll
    for (int n = 0; n < 8; n++) {
        s[n][2 * half] = ex2(__fsub_rn(s[n][2 * half], ref));
        s[n][2 * half + 1] = ex2(__fsub_rn(s[n][2 * half + 1], ref));
    }
    m = top;
}

/* l = fma(l, a, (l_0 + l_1) + (l_2 + l_3)), l_c the sum of the rounded p of lane c. */
__device__ __forceinline__ float add_row(float l, float a, const uint32_t (&p)[4][4],
                                         int half)
{
    float sum = 0.0f;
#pragma unroll
    for (int n = 0; n < 8; n++) {
        const uint32_t pair = p[n / 2][2 * (n & 1) + half];
        sum = __fadd_rn(sum, low_bf16(pair));
        sum = __fadd_rn(sum, high_bf16(pair));
    }
    sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 1));
    sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 2));
    return __fmaf_rn(l, a, sum);
}

/* Writes o, e, m and inv of the thread's row `half`; row is its index in [B,R,H,N]. */
template <int DP>
__device__ __forceinline__ void store_forward(const Forward &f, size_t row, int half,
                                              float l, float m,
                                              const float (&o)[DP / 8][4])
{
    const int c = lane_id() & 3;
    const float inv = l == 0.0f ? 0.0f : __frcp_rn(l);
#pragma unroll
    for (int n = 0; n < DP / 8; n++) {
        if (8 * n >= f.s.D)
            continue;
        const float x = __fmul_rn(o[n][2 * half], inv);
        const float y = __fmul_rn(o[n][2 * half + 1], inv);
        const uint32_t rounded = pack_bf16(x, y); /* FP32 to BF16: 2^-9 of o */
        const size_t at = row * f.s.D + 8 * n + 2 * c;
        if (f.o)
            *reinterpret_cast<uint32_t *>(f.o + at) = rounded;
        if (f.error) /* what that rounding lost, itself rounded: 2^-18 of o is left */
            *reinterpret_cast<uint32_t *>(f.error + at) = pack_bf16(
                __fsub_rn(x, low_bf16(rounded)), __fsub_rn(y, high_bf16(rounded)));
    }
    if (c == 0) {
        f.inv[row] = inv;
        f.m[row] = m == -INFINITY ? 0.0f : m;
    }
}

template <int DP>
static __global__ void __launch_bounds__(THREADS, DP <= 32 ? 4 : 3)
    forward_kernel(Forward f)
{
    typedef ForwardStage<DP> Stage;
    Stage *stage = reinterpret_cast<Stage *>(shared_memory());
    const Shape s = f.s;
    const int query_tile = (int)(blockIdx.x % (unsigned)s.tiles);
    const int query0 = query_tile * TILE;
    const int plane = (int)(blockIdx.x / (unsigned)s.tiles); /* of [B,R,H] */
    const int h = plane % s.H, br = plane / s.H, b = br / s.R;
    const size_t rows = (size_t)plane * s.N;
    const uint64_t *words = f.words + (size_t)br * s.tiles;
    const float *bias =
        f.bias + (((size_t)b * s.H + h) * s.tiles + query_tile) * s.tiles * TILE_FLOATS;
    const uint16_t *k = f.k + rows * s.D, *v = f.v + rows * s.D;

    /* The warp's 16 queries stay in registers; they pass through the second stage. */
    copy_rows<DP>(stage[1].k, f.q + (rows + query0) * s.D, s.D,
                  first_bits(s.N - query0));
    int t = next_live(words, 0, s.tiles), at = 0;
    const auto fetch = [&](int tile, Stage &to) {
        const size_t first = (size_t)tile * TILE * s.D;
        copy_rows<DP>(to.k, k + first, s.D, words[tile]);
        copy_rows<DP>(to.v, v + first, s.D, words[tile]);
        copy_accumulator_tile(to.bias, bias + (size_t)tile * TILE_FLOATS);
    };
    if (t < s.tiles)
        fetch(t, stage[0]);
    wait_copies();
    __syncthreads();
    uint32_t q[DP / 16][4];
#pragma unroll
    for (int x = 0; x < DP / 16; x++)
        load_a<DP + 8>(q[x], stage[1].k, 16 * warp_id(), 16 * x);

    float o[DP / 8][4], m[2] = {-INFINITY, -INFINITY}, l[2] = {0.0f, 0.0f};
    clear(o);
    while (t < s.tiles) {
        const int next = next_live(words, t + 1, s.tiles);
        wait_copies();
        __syncthreads(); /* this stage has come, the other has been read */
        if (next < s.tiles)
            fetch(next, stage[at ^ 1]);

        float p[8][4], a[2];
        clear(p);
#pragma unroll
        for (int x = 0; x < DP / 16; x++)
#pragma unroll
            for (int n = 0; n < 8; n += 2) {
                uint32_t fb[4];
                load_b<DP + 8>(fb, stage[at].k, 8 * n, 16 * x);
                mma(p[n], q[x], fb[0], fb[1]);
                mma(p[n + 1], q[x], fb[2], fb[3]);
            }
        scores_by_query(p, stage[at].bias, f.c1, words[t]);
        softmax_step(p, 0, m[0], a[0]);
        softmax_step(p, 1, m[1], a[1]);
        uint32_t p16[4][4];
        pack_fragments<8>(p16, p); /* FP32 to BF16: 2^-9 of each weight */
        l[0] = add_row(l[0], a[0], p16, 0);
        l[1] = add_row(l[1], a[1], p16, 1);
#pragma unroll
        for (int n = 0; n < DP / 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                o[n][e] = __fmul_rn(o[n][e], a[e >> 1]);
        product_columns<DP, 4>(o, p16, stage[at].v, 0);
        t = next;
        at ^= 1;
    }

    const int query = query0 + 16 * warp_id() + (lane_id() >> 2);
    for (int half = 0; half < 2; half++)
        if (query + 8 * half < s.N)
            store_forward<DP>(f, rows + query + 8 * half, half, l[half], m[half], o);
}

/* Workspace of the forward pass. */
struct ForwardSpace {
    float *bias;     /* bias tiles, rows are queries */
    uint64_t *words; /* key words */
};

static inline size_t forward_space(const gg_ta_call &u, void *base, ForwardSpace &space)
{
    Cutter cut = {static_cast<char *>(base), 0};
    cut.take(space.bias, square_bytes(u));
    cut.take(space.words, word_bytes(u));
    return cut.used;
}

template <int DP>
static cudaError_t launch_forward(const gg_ta_call &u, const Forward &f)
{
    return launch(forward_kernel<DP>, planes_of(u) * tiles_of(u), THREADS,
                  2 * sizeof(ForwardStage<DP>), (cudaStream_t)u.stream, f);
}

static int online_forward(const gg_call *call)
{
    gg_ta_call u;
    ForwardSpace space;
    gg_ta_unpack(call, &u);
    GG_TRY_CUDA(check_alignment(u));
    forward_space(u, u.workspace, space);
    GG_TRY_CUDA(make_key_words(u, space.words));
    GG_TRY_CUDA(make_bias_tiles(u, space.bias, false));
    const Forward f = {shape_of(u), u.q, u.k, u.v,   space.bias, space.words,
                       u.o,         u.e, u.m, u.inv, u.c1};
    switch ((u.D + 15) / 16) {
    case 1: return launch_forward<16>(u, f);
    case 2: return launch_forward<32>(u, f);
    case 3: return launch_forward<48>(u, f);
    default: return launch_forward<64>(u, f);
    }
}

#endif
