/* SPDX-License-Identifier: Apache-2.0
 * Backward pass by key tiles (README.md, "Backward, per element"): turbo, atomic, and
 * the dk and dv passes of recompute.
 *
 * A CTA owns 64 keys of one (b, h) and a chunk of rows r; a warp owns 16 of the keys.
 * For each row it walks the query tiles in ascending order and holds dk and dv. Scores
 * are [key][query] accumulators: thread (g, c) holds keys g and g + 8, queries 8 n + 2
 * c and the next. Rounded to BF16 they are the A operand of dv and dk; dS passes
 * through shared memory to become, turned, the A operand of the dq partial. dS itself
 * is added to the CTA's own slab: one (chunk, b, h, key tile) has one owner, and each
 * thread reads only what it wrote, so the order is that of the rows and there is
 * nothing to synchronise. */
#ifndef KERNELS_TRIANGLE_ATTENTION_BACKWARD_CUH
#define KERNELS_TRIANGLE_ATTENTION_BACKWARD_CUH

#include "kernels/triangle_attention/prepare.cuh"

/* What a pass makes. ATOMIC: dq parts and dS are added by atomics, in no order. */
enum { MAKES_DV = 1, MAKES_DK = 2, MAKES_DQ = 4, MAKES_DBIAS = 8, ATOMIC = 16 };

struct KeyPass {
    Shape s;
    int chunk_rows, chunks;           /* rows of one CTA; ceil(R / chunk_rows) */
    const uint16_t *q, *k, *v, *dout; /* [B,R,H,N,D] */
    const float *bias;                /* bias tiles, rows are keys */
    const float *m, *inv, *delta;     /* [B,R,H,N] */
    const uint64_t *words;            /* key words */
    float *parts;         /* dq: [tiles][B,R,H,N,D], with ATOMIC [B,R,H,N,D]; */
                          /* NULL: dq is not wanted */
    size_t part_elements; /* B R H N D, with ATOMIC 0 */
    float *slabs;         /* dbias: [chunks][B H][tiles][tiles][4096], with */
                          /* ATOMIC one chunk; NULL: dbias is not wanted */
    void *dk, *dv;        /* [B,R,H,N,D] or NULL */
    float c1, sc;
    bool f32; /* dk and dv are FP32, else BF16 */
};

enum { TURNED = TILE + 8 }; /* row stride of the dS tile */

template <int DP>
struct QueryStage {
    uint16_t q[TILE * (DP + 8)], dout[TILE * (DP + 8)];
    float bias[TILE_FLOATS];
    float m[TILE], inv[TILE], delta[TILE];
};

template <int DP>
struct KeyMemory {
    QueryStage<DP> stage[2];
    uint16_t k[TILE * (DP + 8)], v[TILE * (DP + 8)];
    uint16_t ds[TILE * TURNED]; /* [key][query], BF16 */
};

/* P = mul(ex2(sub(fma(S, c1, bias), m)), inv) in place; column blocks n0 .. n0+NB-1. */
template <int DP, int NB>
__device__ __forceinline__ void
weights_by_key(float (&s)[NB][4], const QueryStage<DP> &x, int n0, float c1)
{
    const int c = lane_id() & 3;
#pragma unroll
    for (int n = 0; n < NB; n++) {
        const int query = 8 * (n0 + n) + 2 * c;
        const float4 b =
            *reinterpret_cast<const float4 *>(x.bias + accumulator_at(n0 + n));
        const float2 m = *reinterpret_cast<const float2 *>(x.m + query);
        const float2 inv = *reinterpret_cast<const float2 *>(x.inv + query);
        s[n][0] = __fmul_rn(ex2(__fsub_rn(__fmaf_rn(s[n][0], c1, b.x), m.x)), inv.x);
        s[n][1] = __fmul_rn(ex2(__fsub_rn(__fmaf_rn(s[n][1], c1, b.y), m.y)), inv.y);
        s[n][2] = __fmul_rn(ex2(__fsub_rn(__fmaf_rn(s[n][2], c1, b.z), m.x)), inv.x);
        s[n][3] = __fmul_rn(ex2(__fsub_rn(__fmaf_rn(s[n][3], c1, b.w), m.y)), inv.y);
    }
}

/* +0 where the key is invalid (keys: bit 0 for g, bit 1 for g + 8) or the query is
 * beyond N: there a non-finite k or v would otherwise make NaN of a zero. */
template <int NB>
__device__ __forceinline__ void keep_valid(float (&s)[NB][4], uint32_t keys,
                                           uint64_t queries, int n0)
{
    const uint64_t mine = queries >> (8 * n0 + 2 * (lane_id() & 3));
#pragma unroll
    for (int n = 0; n < NB; n++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (!(keys >> (e >> 1) & 1 && mine >> (8 * n + (e & 1)) & 1))
                s[n][e] = 0.0f;
}

/* slab += dS for column blocks n0 ..; `slab` is the tile's start. */
template <unsigned WORK, int NB>
__device__ __forceinline__ void add_to_slab(float *slab, const float (&ds)[NB][4],
                                            int n0, bool first)
{
#pragma unroll
    for (int n = 0; n < NB; n++) {
        float4 *at = reinterpret_cast<float4 *>(slab + accumulator_at(n0 + n));
        if (WORK & ATOMIC) {
            add_atomically(at, make_float4(ds[n][0], ds[n][1], ds[n][2], ds[n][3]));
        } else {
            float4 sum = first ? make_float4(0.0f, 0.0f, 0.0f, 0.0f) : *at;
            sum.x = __fadd_rn(sum.x, ds[n][0]);
            sum.y = __fadd_rn(sum.y, ds[n][1]);
            sum.z = __fadd_rn(sum.z, ds[n][2]);
            sum.w = __fadd_rn(sum.w, ds[n][3]);
            *at = sum;
        }
    }
}

/* part[query][d] = chain(+0; dS16, k over the 64 keys), the warp's 16 queries. */
template <int DP, unsigned WORK>
__device__ __forceinline__ void make_dq_part(float *part, const KeyMemory<DP> &x, int D,
                                             int count)
{
    const int g = lane_id() >> 2, c = lane_id() & 3, first = 16 * warp_id();
    float acc[DP / 8][4];
    uint32_t ds[4][4];
    clear(acc);
#pragma unroll
    for (int s = 0; s < 4; s++)
        load_a_turned<TURNED>(ds[s], x.ds, first, 16 * s);
    product_columns<DP, 4>(acc, ds, x.k, 0);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int query = first + g + 8 * half;
        if (query >= count)
            continue;
#pragma unroll
        for (int n = 0; n < DP / 8; n++) {
            if (8 * n >= D)
                continue;
            float2 *at = reinterpret_cast<float2 *>(part + query * D + 8 * n + 2 * c);
            const float2 value = make_float2(acc[n][2 * half], acc[n][2 * half + 1]);
            if (WORK & ATOMIC)
                add_atomically(at, value);
            else /* read once, by the reduction: leave L2 to the slabs */
                __stcs(at, value);
        }
    }
}

/* One tile of 64 keys x 64 queries. keys: validity of the thread's two keys; queries:
 * of the 64 queries; masked: some key or query is not valid. NB column blocks at a
 * time, to bound the registers. */
template <int DP, unsigned WORK, int NB>
__device__ __forceinline__ void
key_tile(float (&dk)[DP / 8][4], float (&dv)[DP / 8][4], KeyMemory<DP> &x,
         const QueryStage<DP> &y, float *slab, float c1, uint32_t keys,
         uint64_t queries, bool masked, bool first, bool want_dq)
{
    const int key = 16 * warp_id(), g = lane_id() >> 2, c = lane_id() & 3;
#pragma unroll
    for (int n0 = 0; n0 < 8; n0 += NB) {
        float p[NB][4], ds[NB][4];
        uint32_t rounded[NB / 2][4]; /* P, then dS, FP32 to BF16: 2^-9 of each */
        product_rows<DP, NB>(p, x.k, key, y.q, 8 * n0);
        weights_by_key<DP, NB>(p, y, n0, c1);
        if (masked)
            keep_valid<NB>(p, keys, queries, n0);
        if (WORK & MAKES_DV) {
            pack_fragments<NB>(rounded, p);
            product_columns<DP, NB / 2>(dv, rounded, y.dout, 8 * n0);
        }
        if (!(WORK & (MAKES_DK | MAKES_DQ | MAKES_DBIAS)))
            continue;
        product_rows<DP, NB>(ds, x.v, key, y.dout, 8 * n0);
#pragma unroll
        for (int n = 0; n < NB; n++) {
            const float2 delta =
                *reinterpret_cast<const float2 *>(y.delta + 8 * (n0 + n) + 2 * c);
#pragma unroll
            for (int e = 0; e < 4; e++)
                ds[n][e] =
                    __fmul_rn(p[n][e], __fsub_rn(ds[n][e], e & 1 ? delta.y : delta.x));
        }
        if (masked)
            keep_valid<NB>(ds, keys, queries, n0);
        if ((WORK & MAKES_DBIAS) && slab)
            add_to_slab<WORK, NB>(slab, ds, n0, first);
        pack_fragments<NB>(rounded, ds);
        if (WORK & MAKES_DK)
            product_columns<DP, NB / 2>(dk, rounded, y.q, 8 * n0);
        if ((WORK & MAKES_DQ) && want_dq) {
#pragma unroll
            for (int n = 0; n < NB; n++)
#pragma unroll
                for (int half = 0; half < 2; half++)
                    *reinterpret_cast<uint32_t *>(x.ds + (key + g + 8 * half) * TURNED
                                                  + 8 * (n0 + n) + 2 * c) =
                        rounded[n / 2][2 * (n & 1) + half];
        }
    }
}

/* Queues the copies of one query tile. */
template <int DP, unsigned WORK>
__device__ __forceinline__ void copy_query_tile(const KeyPass &a, QueryStage<DP> &to,
                                                size_t rows, int tile,
                                                const float *bias)
{
    const int first = tile * TILE, count = a.s.N - first, i = (int)threadIdx.x;
    const size_t at = rows + first;
    copy_rows<DP>(to.q, a.q + at * a.s.D, a.s.D, first_bits(count));
    copy_rows<DP>(to.dout, a.dout + at * a.s.D, a.s.D, first_bits(count));
    copy_accumulator_tile(to.bias, bias + (size_t)tile * TILE_FLOATS);
    if (i < TILE)
        copy_float(to.m, a.m + at, i, count);
    else
        copy_float(to.inv, a.inv + at, i - TILE, count);
    if ((WORK & (MAKES_DK | MAKES_DQ | MAKES_DBIAS)) && i < TILE)
        copy_float(to.delta, a.delta + at, i, count);
}

/* Column blocks at a time and CTAs of a multiprocessor, by what the registers and the
 * shared memory hold. */
template <int DP>
struct KeyTuning {
    enum { BLOCKS = DP <= 32 ? 8 : 4, RESIDENT = DP <= 32 ? 3 : 2 };
};

template <int DP, unsigned WORK>
static __global__ void __launch_bounds__(THREADS, KeyTuning<DP>::RESIDENT)
    key_pass(KeyPass a)
{
    KeyMemory<DP> &x = *reinterpret_cast<KeyMemory<DP> *>(shared_memory());
    const Shape s = a.s;
    const int key_tile_index = (int)(blockIdx.x % (unsigned)s.tiles);
    unsigned rest = blockIdx.x / (unsigned)s.tiles;
    const int h = (int)(rest % (unsigned)s.H);
    rest /= (unsigned)s.H;
    const int chunk = (int)(rest % (unsigned)a.chunks);
    const int b = (int)(rest / (unsigned)a.chunks);
    const int key0 = key_tile_index * TILE, warp_key = 16 * warp_id();
    const size_t strip = (size_t)s.tiles * TILE_FLOATS; /* one key tile, all queries */
    const size_t bh = (size_t)b * s.H + h, bh_count = gridDim.x / s.tiles / a.chunks;
    const float *bias = a.bias + (bh * s.tiles + key_tile_index) * strip;
    const size_t slab_row = (WORK & ATOMIC ? 0 : (size_t)chunk * bh_count) + bh;
    float *slab = nullptr;
    if (a.slabs)
        slab = a.slabs + (slab_row * s.tiles + key_tile_index) * strip;
    bool first = true;

    const int r_end = min(s.R, (chunk + 1) * a.chunk_rows);
    for (int r = chunk * a.chunk_rows; r < r_end; r++) {
        const uint64_t word = a.words[((size_t)b * s.R + r) * s.tiles + key_tile_index];
        const size_t rows = (((size_t)b * s.R + r) * s.H + h) * s.N;
        const uint32_t warp_keys = (uint32_t)(word >> warp_key) & 0xffff;
        float dk[DP / 8][4], dv[DP / 8][4];
        clear(dk);
        clear(dv);

        if (word != 0) { /* else dead: parts, slab and gradients get +0 */
            const uint32_t keys = (warp_keys >> (lane_id() >> 2) & 1)
                                  | (warp_keys >> ((lane_id() >> 2) + 8) & 1) << 1;
            __syncthreads(); /* the previous row's tiles have been read */
            copy_rows<DP>(x.k, a.k + (rows + key0) * s.D, s.D, word);
            copy_rows<DP>(x.v, a.v + (rows + key0) * s.D, s.D, word);
            copy_query_tile<DP, WORK>(a, x.stage[0], rows, 0, bias);
            for (int t = 0; t < s.tiles; t++) {
                QueryStage<DP> &y = x.stage[t & 1];
                const uint64_t queries = first_bits(s.N - t * TILE);
                wait_copies();
                __syncthreads(); /* this stage has come; the other and ds are read */
                if (t + 1 < s.tiles)
                    copy_query_tile<DP, WORK>(a, x.stage[(t + 1) & 1], rows, t + 1,
                                              bias);
                key_tile<DP, WORK, KeyTuning<DP>::BLOCKS>(
                    dk, dv, x, y, slab ? slab + (size_t)t * TILE_FLOATS : nullptr, a.c1,
                    keys, queries, (word & queries) != ~0ull, first,
                    a.parts != nullptr);
                if ((WORK & MAKES_DQ) && a.parts) {
                    __syncthreads(); /* ds is complete */
                    const size_t part = (size_t)key_tile_index * a.part_elements;
                    make_dq_part<DP, WORK>(a.parts + part + (rows + t * TILE) * s.D, x,
                                           s.D, s.N - t * TILE);
                }
            }
            first = false;
        }
        const int count = s.N - key0 - warp_key;
        if ((WORK & MAKES_DK) && a.dk)
            store_rows<DP>(a.dk, rows + key0 + warp_key, s.D, count, warp_keys, dk,
                           a.sc, a.f32);
        if ((WORK & MAKES_DV) && a.dv)
            store_rows<DP>(a.dv, rows + key0 + warp_key, s.D, count, warp_keys, dv,
                           1.0f, a.f32);
    }

    if ((WORK & MAKES_DBIAS) && !(WORK & ATOMIC) && slab && first)
        for (size_t at = threadIdx.x * 4; at < strip; at += THREADS * 4)
            *reinterpret_cast<float4 *>(slab + at) =
                make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

template <int DP, unsigned WORK>
static cudaError_t launch_key_pass_as(const gg_ta_call &u, const KeyPass &a)
{
    return launch(key_pass<DP, WORK>, bias_planes_of(u) * a.chunks * tiles_of(u),
                  THREADS, sizeof(KeyMemory<DP>), (cudaStream_t)u.stream, a);
}

template <unsigned WORK>
static cudaError_t launch_key_pass(const gg_ta_call &u, const KeyPass &a)
{
    switch ((u.D + 15) / 16) {
    case 1: return launch_key_pass_as<16, WORK>(u, a);
    case 2: return launch_key_pass_as<32, WORK>(u, a);
    case 3: return launch_key_pass_as<48, WORK>(u, a);
    default: return launch_key_pass_as<64, WORK>(u, a);
    }
}

#endif
