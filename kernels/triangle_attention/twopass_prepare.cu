/* SPDX-License-Identifier: Apache-2.0
 * What is made before and after the tile kernels of `twopass` and `split`: bias tiles, key
 * words, k and v without invalid keys, row values with delta, and the ordered sum of dbias
 * slabs. Layouts: twopass.cuh; arithmetic: README.md. All of it is bound by
 * memory, so one thread handles whole 16-byte pieces where it can. */
#include "kernels/arithmetic/log2.h"
#include "kernels/triangle_attention/device.cuh"
#include "kernels/triangle_attention/twopass.cuh"

namespace {

enum { THREADS = 256 };

static inline size_t blocks_for(size_t threads)
{
    return (threads + THREADS - 1) / THREADS;
}

struct BiasTiles {
    void *out;        /* [B H][row_tiles][column_tiles] of two 64 x 32 tiles */
    const void *bias; /* [B H][N][N] */
    int N, row_tiles, column_tiles;
    bool turned; /* rows of the tiles are keys, else queries */
};

template <class Bias>
__device__ __forceinline__ Bias minus_infinity();

template <>
__device__ __forceinline__ float minus_infinity<float>()
{
    return -INFINITY;
}

template <>
__device__ __forceinline__ uint16_t minus_infinity<uint16_t>()
{
    return 0xff80;
}

/* One CTA for 64 x 64. Element i of thread t of a 64 x 32 tile: row 16 (t / 32) + t % 32 /
 * 4
 * + 8 (i / 2 % 2), column 8 (i / 4) + 2 (t % 4) + i % 2. */
template <class Bias>
__global__ void __launch_bounds__(THREADS) bias_tiles_kernel(BiasTiles a)
{
    constexpr int SIZE = 16 / (int)sizeof(Bias), PIECES = 16 / SIZE;
    __shared__ Bias tile[64][64 + 4 / sizeof(Bias)]; /* [query][key] */
    const int column_tile = (int)(blockIdx.x % (unsigned)a.column_tiles);
    const unsigned rest = blockIdx.x / (unsigned)a.column_tiles;
    const int row_tile = (int)(rest % (unsigned)a.row_tiles);
    const size_t plane = (size_t)(rest / (unsigned)a.row_tiles) * a.N * a.N;
    const int query0 = 64 * (a.turned ? column_tile : row_tile);
    const int key0 = 64 * (a.turned ? row_tile : column_tile);
    const Bias *bias = static_cast<const Bias *>(a.bias);
    for (int x = (int)threadIdx.x; x < 64 * 64; x += THREADS) {
        const int i = x / 64, j = x % 64;
        const bool inside = query0 + i < a.N && key0 + j < a.N;
        tile[i][j] = inside ? bias[plane + (size_t)(query0 + i) * a.N + key0 + j]
                            : minus_infinity<Bias>();
    }
    __syncthreads();
    uint4 *out = static_cast<uint4 *>(a.out) + (size_t)blockIdx.x * (2 * PIECES * 128);
    for (int x = (int)threadIdx.x; x < 2 * PIECES * 128; x += THREADS) {
        const int thread = x % 128, piece = x / 128 % PIECES, half = x / 128 / PIECES;
        const int row = 16 * (thread >> 5) + (thread >> 2 & 7);
        const int column = 32 * half + 2 * (thread & 3);
        alignas(16) Bias value[SIZE];
#pragma unroll
        for (int e = 0; e < SIZE; e++) {
            const int i = piece * SIZE + e;
            const int y = row + 8 * (i >> 1 & 1), z = column + 8 * (i >> 2) + (i & 1);
            value[e] = a.turned ? tile[z][y] : tile[y][z];
        }
        out[x] = *reinterpret_cast<const uint4 *>(value);
    }
}

struct KeyWords {
    uint64_t *words;        /* [rows][word_stride], rows = B R */
    const uint8_t *mask;    /* [rows][N] or NULL */
    const int32_t *lengths; /* [rows] or NULL */
    size_t count;           /* rows tiles */
    int N, tiles;
};

/* One warp a word. */
__global__ void __launch_bounds__(THREADS) words_kernel(KeyWords a)
{
    const size_t at = (size_t)blockIdx.x * (THREADS / 32) + (threadIdx.x >> 5);
    if (at >= a.count)
        return;
    const size_t row = at / a.tiles;
    uint64_t word = 0;
    for (int half = 0; half < 2; half++) {
        const int key = (int)(at % a.tiles) * 64 + 32 * half + (int)(threadIdx.x & 31);
        bool valid = key < a.N;
        if (valid && a.mask)
            valid = a.mask[row * a.N + key] != 0;
        if (valid && a.lengths)
            valid = key < a.lengths[row];
        word |= (uint64_t)__ballot_sync(0xffffffffu, valid) << (32 * half);
    }
    if ((threadIdx.x & 31) == 0)
        a.words[row * word_stride(a.tiles) + at % a.tiles] = word;
}

struct LiveRows {
    uint64_t *words; /* [B R][word_stride] */
    int *order;      /* [B R] */
    int R, N, tiles, ranges;
    size_t count; /* B R */
};

__global__ void __launch_bounds__(THREADS) live_kernel(LiveRows a)
{
    const size_t row = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= a.count)
        return;
    uint64_t *words = a.words + row * word_stride(a.tiles), whole = 0, part = 0;
    int live = 0;
    for (int t = 0; t < a.tiles; t++) {
        const uint64_t word = words[t];
        if (word == whole_tile(t, a.N))
            whole |= 1ull << t;
        else if (word != 0)
            part |= 1ull << t;
        if (word != 0)
            live = t + 1;
    }
    for (int t = a.tiles; t < row_word(RowWord::STEPS, a.tiles); t++)
        words[t] = 0;
    uint16_t *steps = reinterpret_cast<uint16_t *>(words + row_word(RowWord::STEPS, a.tiles));
    for (int range = 0; range < 8; range++) {
        unsigned kinds = 0;
        for (int u = 0; range + u * a.ranges < a.tiles && range < a.ranges; u++) {
            const int t = range + u * a.ranges;
            kinds |= (unsigned)((whole >> t & 1) | (part >> t & 1) << 1) << (2 * u);
        }
        steps[range] = (uint16_t)kinds;
    }
    words[row_word(RowWord::WHOLE, a.tiles)] = whole;
    words[row_word(RowWord::PART, a.tiles)] = part;
    words[row_word(RowWord::LIVE, a.tiles)] = (uint64_t)live;
}

/* A row's place is the number of rows before it; and the next row with a key. One CTA for
 * THREADS rows of one b. */
__global__ void __launch_bounds__(THREADS) order_kernel(LiveRows a)
{
    __shared__ uint32_t others[THREADS];
    const unsigned ctas = (unsigned)((a.R + THREADS - 1) / THREADS);
    const size_t first = (size_t)(blockIdx.x / ctas) * a.R;
    const int r = (int)(blockIdx.x % ctas) * THREADS + (int)threadIdx.x;
    const int stride = word_stride(a.tiles);
    uint64_t *live = a.words + first * stride + row_word(RowWord::LIVE, a.tiles);
    uint64_t *nexts = a.words + first * stride + row_word(RowWord::NEXT, a.tiles);
    const uint32_t mine = r < a.R ? (uint32_t)live[(size_t)r * stride] : 0;
    int place = 0, next = a.R;
    for (int from = 0; from < a.R; from += THREADS) {
        const int x = from + (int)threadIdx.x, count = min(THREADS, a.R - from);
        __syncthreads();
        if (x < a.R)
            others[threadIdx.x] = (uint32_t)live[(size_t)x * stride];
        __syncthreads();
#pragma unroll 8
        for (int i = 0; i < count; i++) {
            const uint32_t other = others[i];
            place += other > mine || (other == mine && from + i < r);
            if (other != 0 && from + i > r)
                next = min(next, from + i);
        }
    }
    if (r >= a.R)
        return;
    a.order[first + place] = r;
    nexts[(size_t)r * stride] = (uint64_t)next;
}

struct Sanitise {
    const uint4 *k, *v;
    uint4 *k_out, *v_out;    /* bf16 [B R][H][N][D] in pieces of 8 */
    const uint64_t *words;   /* [B R][word_stride] */
    int H, N, tiles, pieces; /* pieces: of a key */
};

/* In key tiles that are valid in part, rows of invalid keys become zero, whatever they hold.
 * One CTA for a tile of a row. */
__global__ void __launch_bounds__(THREADS) sanitise_kernel(Sanitise a)
{
    const size_t row = blockIdx.x / (unsigned)a.tiles;
    const int tile = (int)(blockIdx.x % (unsigned)a.tiles);
    const uint64_t word = a.words[row * word_stride(a.tiles) + tile];
    if (word == 0 || word == whole_tile(tile, a.N))
        return;
    const int keys = min(GG_TA_TILE, a.N - GG_TA_TILE * tile), count = keys * a.pieces;
    for (int h = 0; h < a.H; h++) {
        const size_t first = ((row * a.H + h) * a.N + GG_TA_TILE * tile) * a.pieces;
        for (int x = (int)threadIdx.x; x < count; x += THREADS) {
            const bool valid = word >> (x / a.pieces) & 1;
            const uint4 zero = make_uint4(0, 0, 0, 0);
            a.k_out[first + x] = valid ? a.k[first + x] : zero;
            a.v_out[first + x] = valid ? a.v[first + x] : zero;
        }
    }
}

struct RowValues {
    float *values;                    /* [planes][tiles][2 or 3][64] */
    const float *m, *inv;             /* [planes][N] */
    const uint16_t *dout, *o, *error; /* [planes][N][D]; error is e, or NULL */
    const float *wide;                /* o32, or NULL */
    int N, D, tiles;
    bool pairs;
};

/* y of eight neighbouring d: o32, o + e, or o. */
__device__ __forceinline__ void load_y(const RowValues &a, size_t at, float (&y)[8])
{
    if (a.wide) {
        const float4 x0 = *reinterpret_cast<const float4 *>(a.wide + at);
        const float4 x1 = *reinterpret_cast<const float4 *>(a.wide + at + 4);
        y[0] = x0.x, y[1] = x0.y, y[2] = x0.z, y[3] = x0.w;
        y[4] = x1.x, y[5] = x1.y, y[6] = x1.z, y[7] = x1.w;
        return;
    }
    const uint4 o4 = *reinterpret_cast<const uint4 *>(a.o + at);
    const uint32_t o[4] = {o4.x, o4.y, o4.z, o4.w};
    uint4 e4 = make_uint4(0, 0, 0, 0);
    if (a.error)
        e4 = *reinterpret_cast<const uint4 *>(a.error + at);
    const uint32_t e[4] = {e4.x, e4.y, e4.z, e4.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        y[2 * i] = low_bf16(o[i]), y[2 * i + 1] = high_bf16(o[i]);
        if (a.error) { /* exact unless o and e overlap: one rounding to FP32 */
            y[2 * i] = __fadd_rn(y[2 * i], low_bf16(e[i]));
            y[2 * i + 1] = __fadd_rn(y[2 * i + 1], high_bf16(e[i]));
        }
    }
}

/* A CTA has 64 queries, D / 8 threads each: a chain over eight d in every thread, then the
 * chains' sum in ascending order. */
__global__ void __launch_bounds__(8 * GG_TA_TILE) rows_kernel(RowValues a)
{
    __shared__ float chain[8 * GG_TA_TILE];
    const int pieces = a.D / 8, i = (int)threadIdx.x / pieces;
    const int d = 8 * ((int)threadIdx.x % pieces);
    const size_t plane = blockIdx.x / (unsigned)a.tiles;
    const int first = (int)(blockIdx.x % (unsigned)a.tiles) * GG_TA_TILE;
    if (first + i < a.N) {
        const size_t at = (plane * a.N + first + i) * a.D + d;
        const uint4 g4 = *reinterpret_cast<const uint4 *>(a.dout + at);
        const uint32_t g[4] = {g4.x, g4.y, g4.z, g4.w};
        float y[8], sum = 0.0f;
        load_y(a, at, y);
#pragma unroll
        for (int x = 0; x < 4; x++) {
            sum = __fmaf_rn(low_bf16(g[x]), y[2 * x], sum);
            sum = __fmaf_rn(high_bf16(g[x]), y[2 * x + 1], sum);
        }
        chain[threadIdx.x] = sum;
    }
    __syncthreads();
    const int row = (int)threadIdx.x, query = first + row;
    if (row >= GG_TA_TILE)
        return;
    float shift = 0.0f, delta = 0.0f, inv = 0.0f;
    if (query < a.N) {
        const float m = a.m[plane * a.N + query];
        inv = a.inv[plane * a.N + query];
        if (a.pairs)
            shift = -__fmul_rn(m, GG_TA_TWOPASS_LOG2E);
        else if (inv != 0.0f)
            shift = __fmaf_rn(-m, GG_TA_TWOPASS_LOG2E, gg_log2(inv));
        delta = chain[row * pieces];
        for (int x = 1; x < pieces; x++)
            delta = __fadd_rn(delta, chain[row * pieces + x]);
    }
    float *to =
        a.values + (size_t)blockIdx.x * (twopass_row_values(a.pairs) * GG_TA_TILE) + row;
    to[0] = shift;
    to[GG_TA_TILE] = -delta;
    if (a.pairs)
        to[2 * GG_TA_TILE] = inv;
}

__device__ __forceinline__ float4 add4(float4 a, float4 b)
{
    return make_float4(__fadd_rn(a.x, b.x), __fadd_rn(a.y, b.y), __fadd_rn(a.z, b.z),
                       __fadd_rn(a.w, b.w));
}

__device__ __forceinline__ void store_four(void *to, size_t at, float4 x, bool f32)
{
    if (f32)
        *reinterpret_cast<float4 *>(static_cast<float *>(to) + at) = x;
    else
        *reinterpret_cast<uint2 *>(static_cast<uint16_t *>(to) + at) =
            make_uint2(pack_bf16(x.x, x.y), pack_bf16(x.z, x.w));
}

struct SumDbias {
    const float *slabs;                   /* [chunks][B H][rows][columns] */
    void *dbias;                          /* [B H][N][N] */
    size_t slab_elements, count;          /* count: B H N rows of `pieces` */
    int N, rows, columns, chunks, pieces; /* pieces: of four keys */
    bool f32;
};

__global__ void __launch_bounds__(THREADS) sum_dbias_kernel(SumDbias a)
{
    const size_t x = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (x >= a.count)
        return;
    const int key = (int)(x % a.pieces) * 4;
    const size_t row = x / a.pieces, plane = row / a.N;
    const int query = (int)(row % a.N);
    const float *slab = a.slabs + (plane * a.rows + query) * a.columns + key;
    float4 sum = *reinterpret_cast<const float4 *>(slab);
#pragma unroll 4
    for (int c = 1; c < a.chunks; c++)
        sum = add4(sum, *reinterpret_cast<const float4 *>(slab + c * a.slab_elements));
    const size_t at = row * a.N + key;
    if (a.N % 4 == 0) {
        store_four(a.dbias, at, sum, a.f32);
        return;
    }
    const float y[4] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (key + i >= a.N)
            continue;
        if (a.f32)
            static_cast<float *>(a.dbias)[at + i] = y[i];
        else
            static_cast<uint16_t *>(a.dbias)[at + i] = (uint16_t)pack_bf16(y[i], 0.0f);
    }
}

} // namespace

cudaError_t gg_ta_twopass_bias(const gg_ta_call &u, void *tiles, bool turned)
{
    const TwopassTiles t = twopass_tiles(u);
    const BiasTiles a = {tiles, u.bias, u.N, t.even, turned ? t.tiles : t.keys, turned};
    const size_t ctas = bias_planes_of(u) * a.row_tiles * a.column_tiles;
    return launch(u.bias_f32 ? bias_tiles_kernel<float> : bias_tiles_kernel<uint16_t>, ctas,
                  THREADS, 0, (cudaStream_t)u.stream, a);
}

static cudaError_t make_words(const gg_ta_call &u, const TwopassSpace &space)
{
    const size_t count = (size_t)u.B * u.R * tiles_of(u);
    const KeyWords a = {space.words, u.mask, u.lengths, count, u.N, (int)tiles_of(u)};
    GG_TRY_CUDA(launch(words_kernel, blocks_for(count * 32), THREADS, 0,
                       (cudaStream_t)u.stream, a));
    const LiveRows rows = {space.words, space.order, u.R, u.N, (int)tiles_of(u),
                           twopass_tiles(u).ranges, (size_t)u.B * u.R};
    GG_TRY_CUDA(launch(live_kernel, blocks_for(rows.count), THREADS, 0,
                       (cudaStream_t)u.stream, rows));
    return launch(order_kernel, u.B * blocks_for(u.R), THREADS, 0, (cudaStream_t)u.stream,
                  rows);
}

static cudaError_t sanitise(const gg_ta_call &u, const TwopassSpace &space)
{
    const Sanitise a = {reinterpret_cast<const uint4 *>(u.k),
                        reinterpret_cast<const uint4 *>(u.v),
                        reinterpret_cast<uint4 *>(space.k),
                        reinterpret_cast<uint4 *>(space.v),
                        space.words,
                        u.H,
                        u.N,
                        (int)tiles_of(u),
                        u.D / 8};
    return launch(sanitise_kernel, (size_t)u.B * u.R * tiles_of(u), THREADS, 0,
                  (cudaStream_t)u.stream, a);
}

cudaError_t gg_ta_twopass_prepare(const gg_ta_call &u, bool backward, TwopassSpace &space)
{
    GG_TRY_CUDA(gg_ta_twopass_bias(u, space.bias, false));
    if (backward)
        GG_TRY_CUDA(gg_ta_twopass_bias(u, space.bias_turned, true));
    if (u.keys == GG_TA_KEYS_ALL)
        return cudaSuccess;
    GG_TRY_CUDA(make_words(u, space));
    return sanitise(u, space);
}

cudaError_t gg_ta_twopass_rows(const gg_ta_call &u, const gg_ta_twopass_saved &saved,
                               const TwopassSpace &space, bool pairs)
{
    const RowValues a = {space.rows, saved.m, saved.inv, u.dout, u.o,
                         saved.e,    saved.o32, u.N, u.D, (int)tiles_of(u), pairs};
    return launch(rows_kernel, planes_of(u) * tiles_of(u), 8 * u.D, 0,
                  (cudaStream_t)u.stream, a);
}

cudaError_t gg_ta_twopass_sum_dbias(const gg_ta_call &u, const TwopassSpace &space)
{
    const TwopassTiles t = twopass_tiles(u);
    if (!u.dbias)
        return cudaSuccess;
    SumDbias a = {};
    a.slabs = space.slabs;
    a.dbias = u.dbias;
    a.slab_elements = bias_planes_of(u) * t.tiles * 64 * t.keys * 64;
    a.N = u.N, a.rows = 64 * t.tiles, a.columns = 64 * t.keys;
    a.chunks = t.chunks, a.pieces = (u.N + 3) / 4;
    a.count = bias_planes_of(u) * u.N * a.pieces;
    a.f32 = u.dbias_f32 != 0;
    return launch(sum_dbias_kernel, blocks_for(a.count), THREADS, 0, (cudaStream_t)u.stream,
                  a);
}
