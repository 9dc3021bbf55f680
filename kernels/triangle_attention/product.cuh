/* SPDX-License-Identifier: Apache-2.0
 * A tiled matrix product on stored BF16 operands, for `naive` and ../linear:
 *   C[m][n] = chain(+0; A_mk, B_kn over k)
 * A is stored [m][k] or turned, [k][m]; B is stored [n][k] or turned, [k][n]. A CTA
 * makes 64 x 64 elements of C, a warp 16 rows, in one accumulator each, k ascending
 * by 16. What becomes of an element is up to the Store, a struct with
 *   __device__ void operator()(size_t batch, int m, int n, float x) const; */
#ifndef KERNELS_TRIANGLE_ATTENTION_PRODUCT_CUH
#define KERNELS_TRIANGLE_ATTENTION_PRODUCT_CUH

#include "kernels/triangle_attention/tiles.cuh"

/* A batch of stored matrices, BF16 [rows][columns], row stride ld elements. */
struct Matrix {
    const uint16_t *data;
    size_t batch_stride, ld;
    int rows, columns;
    const uint64_t *words; /* rows whose bit is clear read as zero; NULL: none */
    int words_of;          /* batches that share one line of words */
};

template <class Store>
struct Product {
    Matrix a, b;
    int M, N, K;
    int tiles_m, tiles_n; /* 64 x 64 tiles of C */
    int splits, split; /* the k of split s: s * split .. min((s + 1) * split, K) - 1; */
                       /* `split` is a multiple of 16 unless splits is 1 */
    Store store;
};

enum { SQUARE_LD = TILE + 8 };

static inline bool pieces_aligned(const Matrix &m)
{
    return reinterpret_cast<uintptr_t>(m.data) % 16 == 0 && m.ld % 8 == 0
           && m.batch_stride % 8 == 0;
}

/* Copies the 64 x 64 block at (row0, column0), zero beyond the matrix and in rows that
 * are not valid. ALIGNED: rows start at multiples of 16 bytes, asynchronous. */
template <bool ALIGNED>
__device__ __forceinline__ void copy_block(uint16_t *tile, const Matrix &m,
                                           size_t batch, int row0, int column0)
{
    uint64_t valid = first_bits(m.rows - row0);
    if (m.words) {
        const int tiles = (m.rows + TILE - 1) / TILE;
        valid &= m.words[batch / m.words_of * tiles + row0 / TILE];
    }
    const uint16_t *block = m.data + batch * m.batch_stride + row0 * m.ld + column0;
#pragma unroll
    for (int i = 0; i < TILE * 8 / THREADS; i++) {
        const int piece = i * THREADS + (int)threadIdx.x;
        const int row = piece / 8, x = piece % 8 * 8;
        const int left = valid >> row & 1 ? m.columns - column0 - x : 0;
        const int count = left <= 0 ? 0 : left < 8 ? left : 8;
        uint16_t *to = tile + row * SQUARE_LD + x;
        const uint16_t *from = count ? block + row * m.ld + x : m.data;
        if (ALIGNED) {
            copy16(to, from, count * 2);
        } else {
            uint32_t pair[4];
#pragma unroll
            for (int e = 0; e < 4; e++) {
                pair[e] = 2 * e < count ? from[2 * e] : 0u;
                pair[e] |= 2 * e + 1 < count ? (uint32_t)from[2 * e + 1] << 16 : 0u;
            }
            *reinterpret_cast<uint4 *>(to) =
                make_uint4(pair[0], pair[1], pair[2], pair[3]);
        }
    }
}

template <bool A_TURNED, bool B_TURNED, bool ALIGNED, class Store>
static __global__ void __launch_bounds__(THREADS) product_kernel(Product<Store> p)
{
    __shared__ __align__(16) uint16_t a[2][TILE * SQUARE_LD], b[2][TILE * SQUARE_LD];
    const int n0 = (int)(blockIdx.x % (unsigned)p.tiles_n) * TILE;
    unsigned rest = blockIdx.x / (unsigned)p.tiles_n;
    const int m0 = (int)(rest % (unsigned)p.tiles_m) * TILE;
    rest /= (unsigned)p.tiles_m;
    const int k_begin = (int)(rest % (unsigned)p.splits) * p.split;
    const int k_end = min(p.K, k_begin + p.split);
    const size_t batch = rest / (unsigned)p.splits;
    const int pairs = (min(p.N - n0, (int)TILE) + 15) / 16; /* 16 columns each */

    const auto fetch = [&](int k, int stage) {
        copy_block<ALIGNED>(a[stage], p.a, batch, A_TURNED ? k : m0, A_TURNED ? m0 : k);
        copy_block<ALIGNED>(b[stage], p.b, batch, B_TURNED ? k : n0, B_TURNED ? n0 : k);
    };
    float acc[8][4];
    clear(acc);
    int stage = 0;
    if (k_begin < k_end)
        fetch(k_begin, 0);
    for (int k = k_begin; k < k_end; k += TILE) {
        wait_copies();
        __syncthreads(); /* this stage has come, the other has been read */
        if (k + TILE < k_end)
            fetch(k + TILE, stage ^ 1);
        for (int x = 0; x < TILE && k + x < k_end; x += 16) {
            uint32_t fa[4], fb[4];
            if (A_TURNED)
                load_a_turned<SQUARE_LD>(fa, a[stage], 16 * warp_id(), x);
            else
                load_a<SQUARE_LD>(fa, a[stage], 16 * warp_id(), x);
#pragma unroll
            for (int n = 0; n < 4; n++) {
                if (n >= pairs)
                    continue;
                if (B_TURNED)
                    load_b_turned<SQUARE_LD>(fb, b[stage], 16 * n, x);
                else
                    load_b<SQUARE_LD>(fb, b[stage], 16 * n, x);
                mma(acc[2 * n], fa, fb[0], fb[1]);
                mma(acc[2 * n + 1], fa, fb[2], fb[3]);
            }
        }
        stage ^= 1;
    }

#pragma unroll
    for (int n = 0; n < 8; n++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int i = m0 + 16 * warp_id() + (lane_id() >> 2) + 8 * (e >> 1);
            const int j = n0 + 8 * n + 2 * (lane_id() & 3) + (e & 1);
            if (i < p.M && j < p.N)
                p.store(batch, i, j, acc[n][e]);
        }
}

/* One product, its k not split. */
template <class Store>
static Product<Store> whole_product(const Matrix &a, const Matrix &b, int M, int N,
                                    int K, const Store &store)
{
    return Product<Store>{a, b, M, N, K, 0, 0, 1, K, store};
}

/* Fills the tiling in and queues `batches` products. */
template <bool A_TURNED, bool B_TURNED, class Store>
static cudaError_t launch_product(Product<Store> p, size_t batches, cudaStream_t stream)
{
    p.tiles_m = (p.M + TILE - 1) / TILE;
    p.tiles_n = (p.N + TILE - 1) / TILE;
    const size_t blocks = batches * p.splits * p.tiles_m * p.tiles_n;
    if (pieces_aligned(p.a) && pieces_aligned(p.b))
        return launch(product_kernel<A_TURNED, B_TURNED, true, Store>, blocks, THREADS,
                      0, stream, p);
    return launch(product_kernel<A_TURNED, B_TURNED, false, Store>, blocks, THREADS, 0,
                  stream, p);
}

#endif
