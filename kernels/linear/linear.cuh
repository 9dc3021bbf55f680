/* SPDX-License-Identifier: Apache-2.0
 * The three products of a linear layer (README.md) on
 * ../triangle_attention/product.cuh. */
#ifndef KERNELS_LINEAR_LINEAR_CUH
#define KERNELS_LINEAR_LINEAR_CUH

#include "kernels/linear/call.h"
#include "kernels/triangle_attention/product.cuh"

/* One row-major matrix of the call. */
static inline Matrix matrix_of(const uint16_t *data, int rows, int columns)
{
    return Matrix{data, 0, (size_t)columns, rows, columns, nullptr, 1};
}

static inline size_t ceiling(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* A grid must hold the tiles of each of y, dx and dw, `splits` times. */
static inline const char *refuse_grid(const gg_linear_call &u, size_t splits)
{
    const size_t m = ceiling((size_t)u.M, TILE), n = ceiling((size_t)u.N, TILE);
    const size_t k = ceiling((size_t)u.K, TILE), most = (size_t)INT32_MAX / splits;
    return m * n > most || m * k > most || n * k > most
               ? "more tiles than one grid has blocks"
               : nullptr;
}

/* Splits the summed index into `splits` parts of a multiple of 16 (one part: all of
 * it); trailing parts may be empty. */
template <class Store>
static inline Product<Store> product_of(Matrix a, Matrix b, int M, int N, int K,
                                        int splits, const Store &store)
{
    const int part =
        splits == 1 ? K : (int)ceiling(ceiling((size_t)K, (size_t)splits), 16) * 16;
    return Product<Store>{a, b, M, N, K, 0, 0, splits, part, store};
}

/* y_mn = chain(+0; x_mk, w_nk over k) */
template <class Store>
static cudaError_t launch_y(const gg_linear_call &u, int splits, const Store &store)
{
    return launch_product<false, false>(product_of(matrix_of(u.x, u.M, u.K),
                                                   matrix_of(u.w, u.N, u.K), u.M, u.N,
                                                   u.K, splits, store),
                                        1, (cudaStream_t)u.stream);
}

/* dx_mk = chain(+0; dy_mn, w_nk over n) */
template <class Store>
static cudaError_t launch_dx(const gg_linear_call &u, int splits, const Store &store)
{
    return launch_product<false, true>(product_of(matrix_of(u.dy, u.M, u.N),
                                                  matrix_of(u.w, u.N, u.K), u.M, u.K,
                                                  u.N, splits, store),
                                       1, (cudaStream_t)u.stream);
}

/* dw_nk = chain(+0; dy_mn, x_mk over m) */
template <class Store>
static cudaError_t launch_dw(const gg_linear_call &u, int splits, const Store &store)
{
    return launch_product<true, true>(product_of(matrix_of(u.dy, u.M, u.N),
                                                 matrix_of(u.x, u.M, u.K), u.N, u.K,
                                                 u.M, splits, store),
                                      1, (cudaStream_t)u.stream);
}

#endif
