/* SPDX-License-Identifier: Apache-2.0
 * Register-tiled binary64 products in which every output is one chain of fma.
 *
 * A block of 128 threads owns a tile of outputs, each thread MI x MJ of them; shared
 * memory holds a slab of the summed index, slabs come in ascending order. Nothing is
 * summed across threads, so the order of operations is that of a plain loop. */
#ifndef REFERENCE_FP64_TILE_CUH
#define REFERENCE_FP64_TILE_CUH

#include "reference/tensor.h"

constexpr int TILE_THREADS = 128;
constexpr int TILE_SLAB = 32; /* summed index per slab */
/* Doubles after each slab row: rows stay 16-byte aligned, and stores down a column meet
 * two to a bank instead of 32. */
constexpr int TILE_PAD = 2;

/* What is stored where there is nothing. x + (+0)(-0) = x for every x, -0 included, so
 * such a term leaves a chain's bits alone when the other factor is +0. */
#define TILE_NOTHING (-0.0)

/* Thread's place in a grid of TX x 128/TX threads. Neighbouring lanes alternate between
 * the two directions so that 16-byte loads of either operand are shared by pairs. */
struct tile_place {
    int tx, ty;
};

template <int TX>
static __device__ __forceinline__ tile_place tile_find(int thread)
{
    constexpr int warps_x = TX / 4;
    int lane = thread & 31, warp = thread >> 5;
    int x = (lane & 1) | (lane >> 1 & 2);
    int y = (lane >> 1 & 1) | (lane >> 2 & 6);
    return {x | (warp % warps_x) << 2, y | (warp / warps_x) << 3};
}

/* Index inside the tile of a thread's m-th row or column: pairs, `threads` pairs apart,
 * so that a warp reads shared memory and writes global memory in one piece. */
template <int THREADS>
static __device__ __forceinline__ int tile_index(int place, int m)
{
    return 2 * place + (m & 1) + (m >> 1) * 2 * THREADS;
}

/* Whether rows of `columns` BF16 from `data` can be read 16 bytes at a time. */
static inline bool tile_wide(const void *data, int64_t columns)
{
    return columns % 8 == 0 && (uintptr_t)data % 16 == 0;
}

/* Rows first .. first + ROWS of rows[N][D] (BF16), columns d0 .. d0 + columns, to
 * slab[TILE_SLAB][ROWS + TILE_PAD]. keep(row) says which rows may be read. With `wide`
 * (see tile_wide) a thread has all its loads in flight at once, and only columns below
 * D are stored. */
template <int ROWS, typename Keep>
static __device__ __forceinline__ void tile_load(double *slab, const uint16_t *rows,
                                                 int D, int first, int d0, bool wide,
                                                 Keep keep)
{
    constexpr int row_size = ROWS + TILE_PAD;
    if (wide) {
        constexpr int pieces = ROWS * TILE_SLAB / 8 / TILE_THREADS;
        constexpr int step = TILE_THREADS / ROWS * 8; /* columns from piece to piece */
        const int row = (int)threadIdx.x % ROWS, d = (int)threadIdx.x / ROWS * 8;
        const bool kept = keep(first + row);
        const uint16_t *from = rows + (int64_t)(first + row) * D + d0 + d;
        uint4 bits[pieces];
#pragma unroll
        for (int n = 0; n < pieces; n++) {
            const unsigned nothing = 0x80008000u; /* two of TILE_NOTHING */
            bits[n] = make_uint4(nothing, nothing, nothing, nothing);
            if (kept && d0 + d + n * step < D)
                bits[n] = *(const uint4 *)(from + n * step);
        }
        slab += d * row_size + row;
#pragma unroll
        for (int n = 0; n < pieces; n++, slab += step * row_size) {
            if (d0 + d + n * step >= D) break;
            const unsigned pairs[4] = {bits[n].x, bits[n].y, bits[n].z, bits[n].w};
#pragma unroll
            for (int p = 0; p < 4; p++) {
                double *to = slab + 2 * p * row_size;
                to[0] = gg_bf16_value((uint16_t)pairs[p]);
                to[row_size] = gg_bf16_value((uint16_t)(pairs[p] >> 16));
            }
        }
        return;
    }
    int d = (int)threadIdx.x % TILE_SLAB;
#pragma unroll 4
    for (int row = (int)threadIdx.x / TILE_SLAB; row < ROWS;
         row += TILE_THREADS / TILE_SLAB) {
        double value = TILE_NOTHING;
        if (d0 + d < D && keep(first + row))
            value = gg_bf16_value(rows[(int64_t)(first + row) * D + d0 + d]);
        slab[d * row_size + row] = value;
    }
}

template <int MI, int MJ>
static __device__ __forceinline__ void tile_clear(double (&sum)[MI][MJ])
{
#pragma unroll
    for (int m = 0; m < MI; m++)
#pragma unroll
        for (int n = 0; n < MJ; n++) sum[m][n] = 0.0;
}

/* sum[m][n] = fma(a, b, sum), and with ABS mag[m][n] = fma(|a|, |b|, mag), for the
 * first `count` rows of two slabs: a[.][MI TY + pad], b[.][MJ TX + pad]. */
template <int MI, int MJ, int TX, bool ABS>
static __device__ __forceinline__ void
tile_product(double (&sum)[MI][MJ], double (&mag)[MI][MJ], const double *a,
             const double *b, int count, tile_place at)
{
    constexpr int TY = TILE_THREADS / TX;
    constexpr int row_a = MI * TY + TILE_PAD, row_b = MJ * TX + TILE_PAD;
    a += 2 * at.ty;
    b += 2 * at.tx;
#pragma unroll 1 /* more would not fit in registers beside the sums */
    for (int c = 0; c < count; c++, a += row_a, b += row_b) {
        double x[MI], y[MJ];
#pragma unroll
        for (int m = 0; m < MI; m += 2) {
            double2 pair = *(const double2 *)(a + m * TY);
            x[m] = pair.x;
            x[m + 1] = pair.y;
        }
#pragma unroll
        for (int n = 0; n < MJ; n += 2) {
            double2 pair = *(const double2 *)(b + n * TX);
            y[n] = pair.x;
            y[n + 1] = pair.y;
        }
#pragma unroll
        for (int m = 0; m < MI; m++)
#pragma unroll
            for (int n = 0; n < MJ; n++) {
                sum[m][n] = fma(x[m], y[n], sum[m][n]);
                if (ABS) mag[m][n] = fma(fabs(x[m]), fabs(y[n]), mag[m][n]);
            }
    }
}

#endif
