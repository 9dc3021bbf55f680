/* SPDX-License-Identifier: Apache-2.0
 * What is made before and after the tile kernels of `twopass` and `split`: bias tiles, key
 * words, k and v without invalid keys, and the ordered sum of dbias slabs (row values:
 * twopass_rows.cu). Layouts: twopass.cuh; arithmetic: README.md. All of it is bound by memory, so
 * one thread handles whole 16-byte pieces where it can. */
#include "kernels/triangle_attention/device.cuh"
#include "kernels/triangle_attention/twopass.cuh"

namespace {

enum { THREADS = 256, BIAS_THREADS = 512 };

static inline size_t blocks_for(size_t threads)
{
    return (threads + THREADS - 1) / THREADS;
}

struct BiasTiles {
    float4 *out, *turned; /* [B H][row tiles][column tiles] of two 64 x 32 tiles, whose rows
                           * are queries; are keys */
    const void *bias;      /* [B H][N][N] */
    const uint64_t *alive; /* [B][tiles]: keys that any row of b has, or NULL: all */
    uint32_t *again;       /* [again_words], to be cleared */
    size_t again_words;
    int H, N, tiles;
    int row_tiles, out_columns, turned_columns, column_tiles; /* the last: that are made */
    float root;                                               /* sqrt(D) */
};

__device__ __forceinline__ float to_float(float x)
{
    return x;
}

__device__ __forceinline__ float to_float(uint16_t x)
{
    return from_bf16(x);
}

/* PIECE neighbouring values of a row, `count` of them inside it. */
template <class Bias, int PIECE, class Use>
__device__ __forceinline__ void read_piece(const Bias *row, bool aligned, int count, Use use)
{
    if (aligned && count == PIECE) {
        alignas(16) Bias x[PIECE];
        *reinterpret_cast<uint4 *>(x) = *reinterpret_cast<const uint4 *>(row);
#pragma unroll
        for (int e = 0; e < PIECE; e++)
            use(e, to_float(x[e]));
    } else {
        for (int e = 0; e < count; e++)
            use(e, to_float(row[e]));
    }
}

/* Four accumulators of a thread: rows y and y + 8, columns z and z + 1. */
__device__ __forceinline__ float4 quad(const float (&tile)[64][64 + 1], int y, int z,
                                       bool turned)
{
    return turned ? make_float4(tile[z][y], tile[z + 1][y], tile[z][y + 8], tile[z + 1][y + 8])
                  : make_float4(tile[y][z], tile[y][z + 1], tile[y + 8][z], tile[y + 8][z + 1]);
}

/* A CTA has 64 queries and every gridDim.y-th key tile; what the queries' bias is lowered by
 * each finds for itself. Element i of thread t of a 64 x 32 tile: row 16 (t / 32) + t % 32 / 4
 * + 8 (i / 2 % 2), column 8 (i / 4) + 2 (t % 4) + i % 2. */
template <class Bias>
__global__ void __launch_bounds__(BIAS_THREADS) bias_tiles_kernel(BiasTiles a)
{
    wait_for_grid_before();
    let_grid_behind_start();
    constexpr int PIECE = 16 / (int)sizeof(Bias);
    __shared__ float tile[64][64 + 1], lowered[64]; /* [query][key] */
    const int queries = (int)(blockIdx.x % (unsigned)a.row_tiles);
    const size_t head = blockIdx.x / (unsigned)a.row_tiles;
    const Bias *bias = static_cast<const Bias *>(a.bias) + (head * a.N + 64 * queries) * a.N;
    const uint64_t *alive = a.alive ? a.alive + head / a.H * a.tiles : nullptr;
    const bool aligned = a.N % PIECE == 0 && reinterpret_cast<uintptr_t>(a.bias) % 16 == 0;
    const int inside = a.N - 64 * queries; /* queries inside N */
    const size_t cta = (size_t)blockIdx.y * gridDim.x + blockIdx.x;
    for (size_t x = cta * BIAS_THREADS + threadIdx.x; x < a.again_words;
         x += (size_t)gridDim.x * gridDim.y * BIAS_THREADS)
        a.again[x] = 0;
    constexpr int WARPS = BIAS_THREADS / 32, ROWS = 64 / WARPS; /* of a warp, all at once */
    const int first = (int)threadIdx.x / 32;
    if (first < inside) {
        float top[ROWS]; /* the largest finite one */
#pragma unroll
        for (int k = 0; k < ROWS; k++)
            top[k] = -INFINITY;
        for (int j = PIECE * (int)(threadIdx.x & 31); j < a.N; j += 32 * PIECE)
#pragma unroll
            for (int k = 0; k < ROWS; k++) {
                const int i = min(first + k * WARPS, inside - 1);
                read_piece<Bias, PIECE>(bias + (size_t)i * a.N + j, aligned,
                                        min(PIECE, a.N - j), [&](int e, float x) {
                                            const int key = j + e;
                                            if (x < INFINITY
                                                && (!alive
                                                    || (alive[key / 64] >> (key % 64) & 1)))
                                                top[k] = fmaxf(top[k], x);
                                        });
            }
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            for (int lane = 16; lane > 0; lane /= 2)
                top[k] = fmaxf(top[k], __shfl_xor_sync(0xffffffffu, top[k], lane));
            if ((threadIdx.x & 31) == 0)
                lowered[first + k * WARPS] = gg_ta_twopass_lowered(top[k]);
        }
    }
    const size_t block = 2 * 4 * 128, rows = head * a.row_tiles;
    for (int keys = (int)blockIdx.y; keys < a.column_tiles; keys += (int)gridDim.y) {
        __syncthreads();
        for (int x = (int)threadIdx.x; x < 64 * 64 / PIECE; x += BIAS_THREADS) {
            const int i = x / (64 / PIECE), j = x % (64 / PIECE) * PIECE;
            const int count = i < inside ? max(0, min(PIECE, a.N - 64 * keys - j)) : 0;
            read_piece<Bias, PIECE>(bias + (size_t)i * a.N + 64 * keys + j, aligned, count,
                                    [&](int e, float x) {
                                        tile[i][j + e] =
                                            __fmul_rn(__fsub_rn(x, lowered[i]), a.root);
                                    });
            for (int e = count; e < PIECE; e++)
                tile[i][j + e] = -INFINITY;
        }
        __syncthreads();
        float4 *out = a.out + ((rows + queries) * a.out_columns + keys) * block;
        float4 *turned = a.turned + ((rows + keys) * a.turned_columns + queries) * block;
        for (int x = (int)threadIdx.x; x < (int)block; x += BIAS_THREADS) {
            const int thread = x % 128, column = 8 * (x / 128) + 2 * (thread & 3);
            const int row = 16 * (thread >> 5) + (thread >> 2 & 7);
            if (keys < a.out_columns)
                out[x] = quad(tile, row, column, false);
            if (keys < a.row_tiles && queries < a.turned_columns)
                turned[x] = quad(tile, row, column, true);
        }
    }
}

struct KeyWords {
    uint64_t *words;        /* [rows][word_stride], rows = B R */
    const uint8_t *mask;    /* [rows][N] or NULL */
    const int32_t *lengths; /* [rows] or NULL */
    int N, tiles, ranges, steps; /* steps: of a row with all keys */
};

/* All words of a row but NEXT. A CTA a row, a warp a word. */
__global__ void __launch_bounds__(THREADS) words_kernel(KeyWords a)
{
    wait_for_grid_before();
    let_grid_behind_start();
    __shared__ uint64_t valid[GG_TA_TWOPASS_MAX_KEYS / GG_TA_TILE];
    const size_t row = blockIdx.x;
    const int lane = (int)(threadIdx.x & 31), x = (int)threadIdx.x;
    uint64_t *words = a.words + row * word_stride(a.tiles);
    for (int t = x / 32; t < a.tiles; t += THREADS / 32) {
        const uint64_t word = valid_keys(a.mask, a.lengths, row, t * GG_TA_TILE, a.N);
        if (lane == 0)
            valid[t] = word;
    }
    __syncthreads();
    if (x < row_word(RowWord::WHOLE, a.tiles))
        words[x] = x < a.tiles ? valid[x] : 0;
    if (x < RANGE_WORDS * MAX_RANGES) {
        const int t = x / RANGE_WORDS + x % RANGE_WORDS * a.ranges;
        words[range_words(a.tiles) + x] = t < a.tiles ? valid[t] : 0;
    }
    if (x >= 32)
        return;
    uint64_t whole = 0, part = 0;
    for (int from = 0; from < a.tiles; from += 32) {
        const int t = from + lane;
        const uint64_t word = t < a.tiles ? valid[t] : 0;
        const bool all = t < a.tiles && word == whole_tile(t, a.N);
        whole |= (uint64_t)__ballot_sync(0xffffffffu, all) << from;
        part |= (uint64_t)__ballot_sync(0xffffffffu, word != 0 && !all) << from;
    }
    if (lane > 0)
        return;
    words[row_word(RowWord::WHOLE, a.tiles)] = whole;
    words[row_word(RowWord::PART, a.tiles)] = part;
    const int live = 64 - __clzll((long long)(whole | part)), grain = ROW_GRAIN * a.ranges;
    const int steps = min(a.steps, (live + grain - 1) / grain * ROW_GRAIN);
    words[row_word(RowWord::LIVE, a.tiles)] = (uint64_t)steps << 32 | (unsigned)live;
}

struct AliveKeys {
    const uint64_t *words; /* [B R][word_stride] */
    uint64_t *alive;       /* [B][tiles] */
    int R, tiles;
};

/* One CTA for a key tile of one b. */
__global__ void __launch_bounds__(THREADS) alive_kernel(AliveKeys a)
{
    wait_for_grid_before();
    let_grid_behind_start();
    const size_t first = (size_t)(blockIdx.x / (unsigned)a.tiles) * a.R;
    const int tile = (int)(blockIdx.x % (unsigned)a.tiles);
    __shared__ unsigned long long keys;
    if (threadIdx.x == 0)
        keys = 0;
    __syncthreads();
    unsigned long long mine = 0;
    for (int r = (int)threadIdx.x; r < a.R; r += THREADS)
        mine |= a.words[(first + r) * word_stride(a.tiles) + tile];
    atomicOr(&keys, mine); /* in any order the same */
    __syncthreads();
    if (threadIdx.x == 0)
        a.alive[blockIdx.x] = keys;
}

struct LiveRows {
    uint64_t *words; /* [B R][word_stride] */
    int *order;      /* [B R] */
    int R, tiles;
    size_t count; /* B R */
};

/* A row's place is the number of rows before it; and the next row with a key. A warp a row. */
__global__ void __launch_bounds__(THREADS) order_kernel(LiveRows a)
{
    wait_for_grid_before();
    let_grid_behind_start();
    const size_t row = (size_t)blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
    if (row >= a.count)
        return;
    const int r = (int)(row % a.R), stride = word_stride(a.tiles);
    const size_t first = row - r;
    const uint64_t *live = a.words + first * stride + row_word(RowWord::LIVE, a.tiles);
    const uint32_t mine = (uint32_t)live[(size_t)r * stride];
    int place = 0, next = a.R;
#pragma unroll 8
    for (int x = (int)(threadIdx.x & 31); x < a.R; x += 32) {
        const uint32_t other = (uint32_t)live[(size_t)x * stride];
        place += other > mine || (other == mine && x < r);
        if (other != 0 && x > r)
            next = min(next, x);
    }
    place = (int)__reduce_add_sync(0xffffffffu, (unsigned)place);
    next = (int)__reduce_min_sync(0xffffffffu, (unsigned)next);
    if ((threadIdx.x & 31) > 0)
        return;
    a.order[first + place] = r;
    a.words[row * stride + row_word(RowWord::NEXT, a.tiles)] = (uint64_t)next;
}

struct Sanitise {
    const uint4 *k, *v;
    uint4 *k_out, *v_out;    /* bf16 [B R][H][N][D] in pieces of 8 */
    const uint64_t *words;   /* [B R][word_stride] */
    int H, N, tiles, pieces; /* pieces: of a key */
};

/* In key tiles that are valid in part, rows of invalid keys become zero, whatever they hold.
 * One CTA for a row of one head. */
__global__ void __launch_bounds__(THREADS) sanitise_kernel(Sanitise a)
{
    wait_for_grid_before();
    let_grid_behind_start();
    const size_t row = blockIdx.x / (unsigned)a.H;
    const uint64_t *words = a.words + row * word_stride(a.tiles);
    uint64_t part = words[row_word(RowWord::PART, a.tiles)];
    for (; part != 0; part &= part - 1) {
        const int tile = __ffsll((long long)part) - 1;
        const int keys = min(GG_TA_TILE, a.N - GG_TA_TILE * tile), count = keys * a.pieces;
        const uint64_t word = words[tile];
        const size_t first = ((size_t)blockIdx.x * a.N + GG_TA_TILE * tile) * a.pieces;
#pragma unroll 1
        for (int x = (int)threadIdx.x; x < count; x += THREADS) {
            const bool valid = word >> (x / a.pieces) & 1;
            const uint4 zero = make_uint4(0, 0, 0, 0);
            a.k_out[first + x] = valid ? a.k[first + x] : zero;
            a.v_out[first + x] = valid ? a.v[first + x] : zero;
        }
    }
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
    gg_ta_chunks chunks;
    int N, rows, columns, pieces;         /* pieces: of four keys */
    bool f32;
};

__global__ void __launch_bounds__(THREADS) sum_dbias_kernel(SumDbias a)
{
    wait_for_grid_before();
    let_grid_behind_start();
    const size_t x = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (x >= a.count)
        return;
    const int key = (int)(x % a.pieces) * 4;
    const size_t row = x / a.pieces, plane = row / a.N;
    const int query = (int)(row % a.N);
    const float *slab = a.slabs + (plane * a.rows + query) * a.columns + key;
    float4 sum = *reinterpret_cast<const float4 *>(slab);
    const int tile = (int)plane * (a.rows / 64) + query / 64;
    const int chunks = gg_ta_twopass_chunk_of(&a.chunks, tile, a.chunks.R - 1) + 1;
#pragma unroll 4
    for (int c = 1; c < chunks; c++)
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

static cudaError_t bias_tiles(const gg_ta_call &u, const TwopassSpace &space)
{
    const TwopassTiles t = twopass_tiles(u);
    BiasTiles a = {};
    a.out = static_cast<float4 *>(space.bias), a.turned = static_cast<float4 *>(space.bias_turned);
    a.bias = u.bias;
    a.alive = u.keys == GG_TA_KEYS_ALL ? nullptr : space.alive;
    a.again = space.again, a.again_words = t.again_words;
    a.H = u.H, a.N = u.N, a.tiles = t.tiles;
    a.row_tiles = t.even, a.out_columns = t.keys, a.turned_columns = t.tiles;
    a.column_tiles = max(t.keys, t.even);
    a.root = u.root;
    const size_t rows = bias_planes_of(u) * a.row_tiles;
    int ctas; /* for each queries; two find room on a multiprocessor */
    GG_TRY_CUDA(multiprocessors(&ctas));
    const int each = (int)max((size_t)1, 2 * ctas / rows);
    const int turns = (a.column_tiles + each - 1) / each;
    const dim3 grid((unsigned)rows, (unsigned)((a.column_tiles + turns - 1) / turns));
    const Launch how = {grid, BIAS_THREADS, 0, (cudaStream_t)u.stream, 0, true};
    return launch(u.bias_f32 ? bias_tiles_kernel<float> : bias_tiles_kernel<uint16_t>, how, a);
}

static cudaError_t make_words(const gg_ta_call &u, const TwopassSpace &space)
{
    const size_t rows = (size_t)u.B * u.R;
    const TwopassTiles t = twopass_tiles(u);
    const KeyWords a = {space.words, u.mask, u.lengths, u.N, t.tiles, t.ranges, t.half / 32};
    GG_TRY_CUDA(launch(words_kernel, rows, THREADS, 0, (cudaStream_t)u.stream, a, true));
    const LiveRows live = {space.words, space.order, u.R, (int)tiles_of(u), rows};
    GG_TRY_CUDA(launch(order_kernel, blocks_for(rows * 32), THREADS, 0,
                       (cudaStream_t)u.stream, live, true));
    const AliveKeys keys = {space.words, space.alive, u.R, (int)tiles_of(u)};
    return launch(alive_kernel, (size_t)u.B * tiles_of(u), THREADS, 0, (cudaStream_t)u.stream,
                  keys, true);
}

cudaError_t gg_ta_twopass_sanitise(const gg_ta_call &u, const TwopassSpace &space)
{
    if (u.keys == GG_TA_KEYS_ALL)
        return cudaSuccess;
    const Sanitise a = {reinterpret_cast<const uint4 *>(u.k),
                        reinterpret_cast<const uint4 *>(u.v),
                        reinterpret_cast<uint4 *>(space.k),
                        reinterpret_cast<uint4 *>(space.v),
                        space.words,
                        u.H,
                        u.N,
                        (int)tiles_of(u),
                        u.D / 8};
    return launch(sanitise_kernel, planes_of(u), THREADS, 0,
                  (cudaStream_t)u.stream, a, true);
}

cudaError_t gg_ta_twopass_prepare(const gg_ta_call &u, const TwopassSpace &space)
{
    if (u.keys != GG_TA_KEYS_ALL)
        GG_TRY_CUDA(make_words(u, space));
    return bias_tiles(u, space);
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
    a.chunks = gg_ta_twopass_chunks(u.B, u.R, u.H, u.N, u.D);
    a.pieces = (u.N + 3) / 4;
    a.count = bias_planes_of(u) * u.N * a.pieces;
    a.f32 = u.dbias_f32 != 0;
    return launch(sum_dbias_kernel, blocks_for(a.count), THREADS, 0, (cudaStream_t)u.stream,
                  a, true);
}
