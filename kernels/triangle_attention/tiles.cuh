/* SPDX-License-Identifier: Apache-2.0
 * Warp-level parts for 64-row BF16 tiles in shared memory: asynchronous copies,
 * ldmatrix, mma.sync.m16n8k16, ex2 and BF16 packing. Nothing here knows an operator.
 *
 * Fragments of m16n8k16 (PTX ISA), with g = lane / 4 and c = lane % 4:
 *   A[16][16]  a0: row g,   k 2c 2c+1     a1: row g+8, k 2c 2c+1
 *              a2: row g,   k 2c+8 2c+9   a3: row g+8, k 2c+8 2c+9
 *   B[16][8]   b0: k 2c 2c+1, column g    b1: k 2c+8 2c+9, column g
 *   C[16][8]   c0 c1: row g, columns 2c 2c+1     c2 c3: row g+8, columns 2c 2c+1
 * so two C fragments of neighbouring columns, rounded to BF16, are one A fragment.
 *
 * One mma is one step of `chain` (README.md); every loop over k below ascends. A tile
 * row has DP elements, D padded with zeros to a multiple of 16, and 8 more that are
 * never read: with a stride of DP + 8 the eight 16-byte rows of an ldmatrix lie in
 * different banks. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TILES_CUH
#define KERNELS_TRIANGLE_ATTENTION_TILES_CUH

#include "kernels/triangle_attention/device.cuh"

enum { TILE = 64, THREADS = 128, TILE_FLOATS = TILE * TILE };

__device__ __forceinline__ int lane_id()
{
    return (int)(threadIdx.x & 31);
}
__device__ __forceinline__ int warp_id()
{
    return (int)(threadIdx.x >> 5);
}

/* Bits 0..n-1 set, n clamped to [0, 64]. */
__device__ __forceinline__ uint64_t first_bits(int n)
{
    return n >= TILE ? ~0ull : n <= 0 ? 0ull : (1ull << n) - 1;
}

/* A[row .. row+15][k .. k+15] of a tile stored [row][k]. */
template <int LD>
__device__ __forceinline__ void load_a(uint32_t (&f)[4], const uint16_t *tile, int row,
                                       int k)
{
    const int lane = lane_id();
    ldmatrix(f, tile + (row + (lane & 15)) * LD + k + (lane >> 4) * 8);
}

/* The same of a tile stored [k][row]. */
template <int LD>
__device__ __forceinline__ void load_a_turned(uint32_t (&f)[4], const uint16_t *tile,
                                              int row, int k)
{
    const int lane = lane_id();
    ldmatrix_turned(f, tile + (k + (lane & 7) + (lane >> 4) * 8) * LD + row
                           + ((lane >> 3) & 1) * 8);
}

/* B[k .. k+15][column .. column+15] of a tile stored [column][k]: f[0], f[1] belong to
 * columns 0..7, f[2], f[3] to columns 8..15. */
template <int LD>
__device__ __forceinline__ void load_b(uint32_t (&f)[4], const uint16_t *tile,
                                       int column, int k)
{
    const int lane = lane_id();
    ldmatrix(f, tile + (column + (lane & 7) + (lane >> 4) * 8) * LD + k
                    + ((lane >> 3) & 1) * 8);
}

/* The same of a tile stored [k][column]. */
template <int LD>
__device__ __forceinline__ void load_b_turned(uint32_t (&f)[4], const uint16_t *tile,
                                              int column, int k)
{
    const int lane = lane_id();
    ldmatrix_turned(f, tile + (k + (lane & 15)) * LD + column + (lane >> 4) * 8);
}

template <int NB>
__device__ __forceinline__ void clear(float (&acc)[NB][4])
{
#pragma unroll
    for (int n = 0; n < NB; n++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            acc[n][e] = 0.0f;
}

/* acc[16 rows][8 NB columns] = chain(+0; a[row + .][x], b[column + .][x] over x < DP),
 * both tiles stored [.][x] with a stride of DP + 8. */
template <int DP, int NB>
__device__ __forceinline__ void product_rows(float (&acc)[NB][4], const uint16_t *a,
                                             int row, const uint16_t *b, int column)
{
    clear(acc);
#pragma unroll
    for (int x = 0; x < DP; x += 16) {
        uint32_t fa[4];
        load_a<DP + 8>(fa, a, row, x);
#pragma unroll
        for (int n = 0; n < NB; n += 2) {
            uint32_t fb[4];
            load_b<DP + 8>(fb, b, column + 8 * n, x);
            mma(acc[n], fa, fb[0], fb[1]);
            mma(acc[n + 1], fa, fb[2], fb[3]);
        }
    }
}

/* acc[16 rows][DP columns] = chain(acc; a, b[x0 + x][.] over the 16 KS values of x), a
 * in fragments, b stored [x][.]. */
template <int DP, int KS>
__device__ __forceinline__ void product_columns(float (&acc)[DP / 8][4],
                                                const uint32_t (&a)[KS][4],
                                                const uint16_t *b, int x0)
{
#pragma unroll
    for (int s = 0; s < KS; s++) {
#pragma unroll
        for (int n = 0; n < DP / 8; n += 2) {
            uint32_t fb[4];
            load_b_turned<DP + 8>(fb, b, 8 * n, x0 + 16 * s);
            mma(acc[n], a[s], fb[0], fb[1]);
            mma(acc[n + 1], a[s], fb[2], fb[3]);
        }
    }
}

/* Accumulators rounded to BF16 (nearest even), as A fragments of 16 columns each. */
template <int NB>
__device__ __forceinline__ void pack_fragments(uint32_t (&a)[NB / 2][4],
                                               const float (&acc)[NB][4])
{
#pragma unroll
    for (int s = 0; s < NB / 2; s++) {
        a[s][0] = pack_bf16(acc[2 * s][0], acc[2 * s][1]);
        a[s][1] = pack_bf16(acc[2 * s][2], acc[2 * s][3]);
        a[s][2] = pack_bf16(acc[2 * s + 1][0], acc[2 * s + 1][1]);
        a[s][3] = pack_bf16(acc[2 * s + 1][2], acc[2 * s + 1][3]);
    }
}

/* Queues the copy of 64 rows of D elements, `rows` pointing at the first, into a tile;
 * rows whose bit is clear and elements D..DP-1 become zero without being read. */
template <int DP>
__device__ __forceinline__ void copy_rows(uint16_t *tile, const uint16_t *rows, int D,
                                          uint64_t valid)
{
    constexpr int PIECES = DP / 8; /* 16 bytes each */
#pragma unroll
    for (int i = 0; i < TILE * PIECES / THREADS; i++) {
        const int piece = i * THREADS + (int)threadIdx.x;
        const int row = piece / PIECES, x = piece % PIECES * 8;
        const bool read = (valid >> row & 1) && x < D;
        copy16(tile + row * (DP + 8) + x, read ? rows + (row * D + x) : rows,
               read ? 16 : 0);
    }
}

/* Queues the copy of one float of each of up to 64 rows; the rest become zero. Called
 * by 64 threads, i = 0..63. */
__device__ __forceinline__ void copy_float(float *to, const float *from, int i,
                                           int count)
{
    copy4(to + i, i < count ? from + i : from, i < count ? 4 : 0);
}

/* Queues the copy of a 64x64 FP32 tile stored in accumulator order (prepare.cuh). */
__device__ __forceinline__ void copy_accumulator_tile(float *to, const float *from)
{
#pragma unroll
    for (int i = 0; i < TILE_FLOATS / 4 / THREADS; i++) {
        const int at = (i * THREADS + (int)threadIdx.x) * 4;
        copy16(to + at, from + at, 16);
    }
}

/* Where a thread's four values of column block n lie in such a tile. */
__device__ __forceinline__ int accumulator_at(int n)
{
    return ((warp_id() * 8 + n) * 32 + lane_id()) * 4;
}

/* Stores two neighbouring elements as FP32 or rounded to BF16; `at` is even. */
__device__ __forceinline__ void store_pair(void *to, size_t at, float x, float y,
                                           bool f32)
{
    if (f32)
        *reinterpret_cast<float2 *>(static_cast<float *>(to) + at) = make_float2(x, y);
    else
        *reinterpret_cast<uint32_t *>(static_cast<uint16_t *>(to) + at) =
            pack_bf16(x, y);
}

/* Writes acc[16 rows][DP columns] * factor to rows row0 .. of [.][D]; rows whose bit in
 * `valid` (bit 0: row0) is clear become +0, rows >= count are left. */
template <int DP>
__device__ __forceinline__ void
store_rows(void *to, size_t row0, int D, int count, uint32_t valid,
           const float (&acc)[DP / 8][4], float factor, bool f32)
{
    const int g = lane_id() >> 2, c = lane_id() & 3;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = g + 8 * half;
        if (row >= count)
            continue;
        const bool live = valid >> row & 1;
#pragma unroll
        for (int n = 0; n < DP / 8; n++) {
            if (8 * n >= D)
                continue;
            const float x = live ? __fmul_rn(acc[n][2 * half], factor) : 0.0f;
            const float y = live ? __fmul_rn(acc[n][2 * half + 1], factor) : 0.0f;
            store_pair(to, (row0 + row) * D + 8 * n + 2 * c, x, y, f32);
        }
    }
}

#endif
