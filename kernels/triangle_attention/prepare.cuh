/* SPDX-License-Identifier: Apache-2.0
 * What is made once before the tiles are walked (README.md):
 * - key words [B R][tiles], uint64: bit j, key j of that tile is valid. One form for no
 *   mask, a dense mask and key lengths; 0 is a dead tile.
 * - bias tiles [B H][tiles][tiles] of 64x64, FP32: mul(bias, LOG2E), +0 beyond N, in
 *   the order in which a thread holds its accumulators, so that a tile is read in whole
 *   16-byte pieces whatever N's parity and the bias type.
 * - delta [B,R,H,N], FP32: chain of fma(dout_d, y_d, .) over d ascending. */
#ifndef KERNELS_TRIANGLE_ATTENTION_PREPARE_CUH
#define KERNELS_TRIANGLE_ATTENTION_PREPARE_CUH

#include "kernels/triangle_attention/problem.cuh"
#include "kernels/triangle_attention/tiles.cuh"

#define GG_LOG2E 0x1.715476p+0f

/* Extents as the kernels take them; every product with N or D is formed in 64 bits. */
struct Shape {
    int R, H, N, D, tiles;
};

static inline Shape shape_of(const gg_ta_call &u)
{
    return Shape{u.R, u.H, u.N, u.D, (int)tiles_of(u)};
}

struct KeyWords {
    uint64_t *words;        /* [B R][tiles] */
    const uint8_t *mask;    /* [B R][N] or NULL */
    const int32_t *lengths; /* [B R] or NULL */
    size_t count;           /* B R tiles */
    int N, tiles;
};

/* One warp a word. */
static __global__ void key_words_kernel(KeyWords a)
{
    const size_t at = (size_t)blockIdx.x * (THREADS / 32) + warp_id();
    if (at >= a.count)
        return;
    const size_t row = at / a.tiles;
    const uint64_t word =
        valid_keys(a.mask, a.lengths, row, (int)(at % a.tiles) * TILE, a.N);
    if (lane_id() == 0)
        a.words[at] = word;
}

static cudaError_t make_key_words(const gg_ta_call &u, uint64_t *words)
{
    const size_t count = (size_t)u.B * u.R * tiles_of(u);
    const KeyWords a = {words, u.mask, u.lengths, count, u.N, (int)tiles_of(u)};
    return launch(key_words_kernel, (count + THREADS / 32 - 1) / (THREADS / 32),
                  THREADS, 0, (cudaStream_t)u.stream, a);
}

struct BiasTiles {
    float *tiles_out; /* [B H][row tiles][column tiles][4096] */
    const void *bias; /* [B H][N][N], float or bf16 */
    int N, tiles;
    bool f32, key_rows; /* key_rows: keys are the tiles' rows, else queries */
};

/* One CTA a tile. Element (i, j) of a tile, i its row, belongs to warp i / 16, column
 * block j / 8, lane 4 (i % 8) + (j % 8) / 2, register 2 (i % 16 / 8) + j % 2. */
static __global__ void __launch_bounds__(THREADS) bias_tiles_kernel(BiasTiles a)
{
    __shared__ float tile[TILE][TILE + 1]; /* [query][key] */
    const int column_tile = (int)(blockIdx.x % (unsigned)a.tiles);
    const unsigned rest = blockIdx.x / (unsigned)a.tiles;
    const int row_tile = (int)(rest % (unsigned)a.tiles);
    const size_t plane = (size_t)(rest / (unsigned)a.tiles) * a.N * a.N;
    const int query0 = (a.key_rows ? column_tile : row_tile) * TILE;
    const int key0 = (a.key_rows ? row_tile : column_tile) * TILE;

    for (int x = (int)threadIdx.x; x < TILE_FLOATS; x += THREADS) {
        const int i = x / TILE, j = x % TILE;
        float value = 0.0f;
        if (query0 + i < a.N && key0 + j < a.N) {
            const size_t at = plane + (size_t)(query0 + i) * a.N + key0 + j;
            value = a.f32 ? static_cast<const float *>(a.bias)[at]
                          : from_bf16(static_cast<const uint16_t *>(a.bias)[at]);
            value = __fmul_rn(value, GG_LOG2E);
        }
        tile[i][j] = value;
    }
    __syncthreads();

    float *out = a.tiles_out + (size_t)blockIdx.x * TILE_FLOATS;
    for (int x = (int)threadIdx.x; x < TILE_FLOATS; x += THREADS) {
        const int e = x & 3, lane = x >> 2 & 31, n = x >> 7 & 7, w = x >> 10;
        const int i = 16 * w + (lane >> 2) + 8 * (e >> 1);
        const int j = 8 * n + 2 * (lane & 3) + (e & 1);
        out[x] = a.key_rows ? tile[j][i] : tile[i][j];
    }
}

static cudaError_t make_bias_tiles(const gg_ta_call &u, float *tiles_out, bool key_rows)
{
    const size_t tiles = tiles_of(u);
    const BiasTiles a = {tiles_out, u.bias, u.N, (int)tiles, u.bias_f32 != 0, key_rows};
    return launch(bias_tiles_kernel, bias_planes_of(u) * tiles * tiles, THREADS, 0,
                  (cudaStream_t)u.stream, a);
}

struct Delta {
    float *delta;                     /* [B,R,H,N] */
    const uint16_t *dout, *o, *error; /* [B,R,H,N,D]; error is e, or NULL */
    size_t count;                     /* B R H N */
    int D;
};

/* One thread a query; D is a multiple of 8, so rows come in 16-byte pieces. */
static __global__ void __launch_bounds__(THREADS) delta_kernel(Delta a)
{
    const size_t query = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (query >= a.count)
        return;
    const size_t at = query * a.D;
    float sum = 0.0f;
    for (int d = 0; d < a.D; d += 8) {
        const uint4 g4 = *reinterpret_cast<const uint4 *>(a.dout + at + d);
        const uint4 o4 = *reinterpret_cast<const uint4 *>(a.o + at + d);
        uint4 e4 = make_uint4(0, 0, 0, 0);
        if (a.error)
            e4 = *reinterpret_cast<const uint4 *>(a.error + at + d);
        const uint32_t g[4] = {g4.x, g4.y, g4.z, g4.w}, o[4] = {o4.x, o4.y, o4.z, o4.w};
        const uint32_t e[4] = {e4.x, e4.y, e4.z, e4.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float y0 = low_bf16(o[i]), y1 = high_bf16(o[i]);
            if (a.error) { /* exact unless o and e overlap: one rounding to FP32 */
                y0 = __fadd_rn(y0, low_bf16(e[i]));
                y1 = __fadd_rn(y1, high_bf16(e[i]));
            }
            sum = __fmaf_rn(low_bf16(g[i]), y0, sum);
            sum = __fmaf_rn(high_bf16(g[i]), y1, sum);
        }
    }
    a.delta[query] = sum;
}

static cudaError_t make_delta(const gg_ta_call &u, float *delta)
{
    const size_t count = queries_of(u);
    const Delta a = {delta, u.dout, u.o, u.e, count, u.D};
    return launch(delta_kernel, (count + THREADS - 1) / THREADS, THREADS, 0,
                  (cudaStream_t)u.stream, a);
}

#endif
