/* SPDX-License-Identifier: Apache-2.0
 * Triangle attention on the GPU: everything that needs dP = dout v^T and X.
 *
 *   rows         delta, Xbar, Abar: one chain over the keys for each query
 *   differences  dS, Z, and their sums over rows, dbias and its allowance
 *
 * Both work on tiles of 64 queries and 32 keys and compute dP and X for themselves:
 * 2 D multiply-adds cost less than two doubles to memory and back. Formulas and the
 * order of operations: triangle_attention.h. */
#ifndef REFERENCE_TRIANGLE_ATTENTION_UPSTREAM_CUH
#define REFERENCE_TRIANGLE_ATTENTION_UPSTREAM_CUH

#include <cuda_pipeline_primitives.h>

#include "reference/triangle_attention_chunk.cuh"

constexpr int KEYS = 32; /* keys of a tile; its queries are EDGE */
constexpr int KEYS_ROW = KEYS + TILE_PAD;
constexpr int KEYS_TX = 8; /* threads along the keys, 4 x 4 elements each */
constexpr int SLOTS = 8; /* pairs of elements per thread */
constexpr int BATCH = 16; /* keys whose loads are in flight together */

/* dP, and with ABS X, for a tile of 64 queries and 32 keys; 4 x 4 for each thread. */
template <bool ABS>
static __device__ __forceinline__ void
upstream_tile(double (&dp)[4][4], double (&x)[4][4], const attention &g,
              double *dout_slab, double *v_slab, int64_t slice, int i0, int j0,
              const key_set &keys, tile_place at, bool has_dout)
{
    const int N = g.N, D = g.D;
    const uint16_t *dout = g.dout + slice * N * D, *v = g.v + slice * N * D;
    tile_clear(dp);
    tile_clear(x);
    for (int d0 = 0; d0 < D; d0 += TILE_SLAB) {
        __syncthreads(); /* the slabs' last readers */
        if (!has_dout || D > TILE_SLAB)
            tile_load<EDGE>(dout_slab, dout, D, i0, d0, g.wide,
                            [=](int n) { return n < N; });
        tile_load<KEYS>(v_slab, v, D, j0, d0, g.wide,
                        [=](int n) { return keys.valid(n); });
        __syncthreads();
        int count = D - d0 < TILE_SLAB ? D - d0 : TILE_SLAB;
        tile_product<4, 4, KEYS_TX, ABS>(dp, x, dout_slab, v_slab, count, at);
    }
}

/* One query: where its column of each matrix starts, and its factors. */
struct row_walk {
    const double *e; /* [j][LD] */
    const float *bias; /* [j][LD] */
    const double *k_norm;
    double inv_l, q_norm;
};

/* delta goes on over the tile's keys from j0, ascending; dp is [KEYS][EDGE_ROW]. */
static __device__ __forceinline__ void walk_delta(const attention &g,
                                                  const row_walk &row, int j0,
                                                  const double *dp, double &delta)
{
    for (int first = 0; first < KEYS && j0 + first < g.N; first += BATCH) {
        double e[BATCH];
#pragma unroll
        for (int n = 0; n < BATCH; n++) {
            int j = j0 + first + n;
            e[n] = j < g.N ? row.e[(int64_t)j * g.LD] : TILE_NOTHING;
        }
#pragma unroll
        for (int n = 0; n < BATCH; n++) {
            double next = fma(e[n] * row.inv_l, dp[(first + n) * EDGE_ROW], delta);
            if (!is_nothing(e[n])) delta = next;
        }
    }
}

/* Abar and, with BACKWARD, Xbar likewise. A key of probability 0 adds nothing to Abar,
 * even when a bias of -infinity makes A infinite. */
template <bool BACKWARD>
static __device__ __forceinline__ void
walk_sizes(const attention &g, const row_walk &row, int j0, const double *x,
           double &a_bar, double &x_bar)
{
    for (int first = 0; first < KEYS && j0 + first < g.N; first += BATCH) {
        double e[BATCH], k[BATCH];
        float bias[BATCH];
#pragma unroll
        for (int n = 0; n < BATCH; n++) {
            int j = j0 + first + n;
            bool inside = j < g.N;
            e[n] = inside ? row.e[(int64_t)j * g.LD] : TILE_NOTHING;
            bias[n] = inside ? row.bias[(int64_t)j * g.LD] : 0.0f;
            k[n] = inside ? row.k_norm[j] : 0.0;
        }
#pragma unroll
        for (int n = 0; n < BATCH; n++) {
            double p = e[n] * row.inv_l;
            double next = fma(p, score_size(row.q_norm, k[n], bias[n]), a_bar);
            if (!is_nothing(e[n]) && p != 0.0) a_bar = next;
            if (!BACKWARD) continue;
            next = fma(p, x[(first + n) * EDGE_ROW], x_bar);
            if (!is_nothing(e[n])) x_bar = next;
        }
    }
}

/* A block owns 64 queries of a slice. Threads 0 .. 63 carry delta, the others Xbar and
 * Abar, each along the keys of its query. */
template <bool BACKWARD, bool ABS>
static __global__ void __launch_bounds__(TILE_THREADS, 3) rows_kernel(attention g)
{
    extern __shared__ __align__(16) double gg_shared[];
    double *dout_slab = gg_shared, *v_slab = dout_slab + TILE_SLAB * EDGE_ROW;
    double *dp_tile = v_slab + TILE_SLAB * KEYS_ROW; /* [KEYS][EDGE_ROW] */
    double *x_tile = dp_tile + KEYS * EDGE_ROW;
    constexpr int TY = TILE_THREADS / KEYS_TX;
    const int tiles = (g.N + EDGE - 1) / EDGE, i0 = (int)blockIdx.x % tiles * EDGE;
    const int64_t local = (int)blockIdx.x / tiles, slice = g.first + local;
    const key_set keys = keys_of(g, slice);
    const tile_place at = tile_find<KEYS_TX>((int)threadIdx.x);

    const int own = (int)threadIdx.x % EDGE, i = i0 + own;
    const bool first_half = (int)threadIdx.x < EDGE;
    const int64_t at_i = local * g.LD + i;
    const bool works = i < g.N && (first_half ? BACKWARD : ABS);
    const row_walk row = {g.e + local * g.N * g.LD + i, bias_of(g, slice) + i,
                          g.k_norm + local * g.LD, works ? g.inv_l[at_i] : 0.0,
                          ABS && works ? g.q_norm[at_i] : 0.0};
    double delta = 0.0, x_bar = 0.0, a_bar = 0.0;

    for (int j0 = 0; j0 < g.N; j0 += KEYS) {
        if (BACKWARD) {
            double dp[4][4], x[4][4];
            upstream_tile<ABS>(dp, x, g, dout_slab, v_slab, slice, i0, j0, keys, at,
                               j0 > 0);
#pragma unroll
            for (int n = 0; n < 4; n++)
#pragma unroll
                for (int m = 0; m < 4; m += 2) {
                    int to = tile_index<KEYS_TX>(at.tx, n) * EDGE_ROW +
                             tile_index<TY>(at.ty, m);
                    *(double2 *)(dp_tile + to) = make_double2(dp[m][n], dp[m + 1][n]);
                    if (ABS)
                        *(double2 *)(x_tile + to) = make_double2(x[m][n], x[m + 1][n]);
                }
            __syncthreads();
        }
        if (!works) continue; /* upstream_tile waits for the others */
        if (first_half)
            walk_delta(g, row, j0, dp_tile + own, delta);
        else
            walk_sizes<BACKWARD>(g, row, j0, x_tile + own, a_bar, x_bar);
    }
    if (!works) return;
    if (first_half) {
        g.delta[at_i] = delta;
    } else {
        g.a_bar[at_i] = a_bar;
        if (BACKWARD) g.x_bar[at_i] = x_bar;
    }
}

/* Two neighbouring queries. */
static __device__ __forceinline__ double2 pair_of(const double *values, int64_t at)
{
    return *(const double2 *)(values + at);
}

/* A thread's own part of a 64 x 32 tile, in shared memory since the products need its
 * registers: slot 4 p + n holds its p-th pair of queries at its n-th key. */
struct pair_slots {
    double2 *slots; /* [SLOTS][TILE_THREADS] */
    __device__ double2 &at(int slot) const
    {
        return slots[slot * TILE_THREADS + (int)threadIdx.x];
    }
};

/* The sums so far, from or to an output [B H][i: N][j: N]; NULL: none, starts at 0. */
template <bool WRITE>
static __device__ __forceinline__ void move_sums(const pair_slots &sums, double *array,
                                                 int N, int64_t matrix, int i0, int j0,
                                                 tile_place place)
{
    constexpr int TY = TILE_THREADS / KEYS_TX;
    for (int slot = 0; slot < SLOTS; slot++) {
        int i = i0 + tile_index<TY>(place.ty, slot / 4 * 2);
        int j = j0 + tile_index<KEYS_TX>(place.tx, slot % 4);
        bool first = array && i < N && j < N, second = array && i + 1 < N && j < N;
        double *to = array + (matrix * N + i) * N + j;
        double2 &sum = sums.at(slot);
        if (WRITE) {
            if (first) to[0] = sum.x;
            if (second) to[N] = sum.y;
        } else {
            sum = make_double2(first ? to[0] : 0.0, second ? to[N] : 0.0);
        }
    }
}

/* dS and Z of two queries (i, i + 1) and four keys, added to the sums over rows. */
template <bool ABS>
static __device__ __forceinline__ void
difference_pair(const attention &g, const float *bias, int64_t local, int i, int j0,
                int tx, const double (&dp)[2][4], const double (&x)[2][4],
                const pair_slots &e_slots, const pair_slots &sum,
                const pair_slots &size, int slot)
{
    const int64_t at_i = local * g.LD + i;
    const double2 inv_l = pair_of(g.inv_l, at_i), delta = pair_of(g.delta, at_i);
    double2 x_bar, a_bar, q_norm;
    if (ABS) {
        x_bar = pair_of(g.x_bar, at_i);
        a_bar = pair_of(g.a_bar, at_i);
        q_norm = pair_of(g.q_norm, at_i);
    }
#pragma unroll
    for (int n = 0; n < 4; n++) {
        int j = j0 + tile_index<KEYS_TX>(tx, n);
        if (j >= g.N) continue;
        const int64_t place = (local * g.N + j) * g.LD + i;
        const double2 e = e_slots.at(slot + n);
        const double2 p = make_double2(e.x * inv_l.x, e.y * inv_l.y);
        const bool none_x = is_nothing(e.x), none_y = is_nothing(e.y);
        double2 ds;
        ds.x = none_x ? 0.0 : p.x * (dp[0][n] - delta.x);
        ds.y = none_y ? 0.0 : p.y * (dp[1][n] - delta.y);
        *(double2 *)(g.ds + place) = ds;
        double2 &total = sum.at(slot + n);
        total = make_double2(total.x + ds.x, total.y + ds.y);
        if (!ABS) continue;
        float2 b = *(const float2 *)(bias + (int64_t)j * g.LD + i);
        double k = g.k_norm[local * g.LD + j];
        double pw_x = weighted(p.x, score_size(q_norm.x, k, b.x), a_bar.x);
        double pw_y = weighted(p.y, score_size(q_norm.y, k, b.y), a_bar.y);
        double2 z;
        z.x = none_x ? 0.0 : pw_x * (x[0][n] + x_bar.x);
        z.y = none_y ? 0.0 : pw_y * (x[1][n] + x_bar.y);
        *(double2 *)(g.z + place) = z;
        double2 &total_size = size.at(slot + n);
        total_size = make_double2(total_size.x + z.x, total_size.y + z.y);
    }
}

/* A block owns 64 queries by 32 keys of one batch and head, and goes through those of
 * its rows that lie in the chunk. */
template <bool ABS>
static __global__ void __launch_bounds__(TILE_THREADS, 3)
    differences_kernel(attention g, double *dbias, double *dbias_size)
{
    extern __shared__ __align__(16) double gg_shared[];
    double *dout_slab = gg_shared, *v_slab = dout_slab + TILE_SLAB * EDGE_ROW;
    const pair_slots sum = {(double2 *)(v_slab + TILE_SLAB * KEYS_ROW)};
    const pair_slots size = {sum.slots + SLOTS * TILE_THREADS};
    const pair_slots e = {size.slots + SLOTS * TILE_THREADS};
    constexpr int TY = TILE_THREADS / KEYS_TX;
    const int tiles_j = (g.N + KEYS - 1) / KEYS, tiles_i = (g.N + EDGE - 1) / EDGE;
    const int j0 = (int)blockIdx.x % tiles_j * KEYS;
    const int i0 = (int)blockIdx.x / tiles_j % tiles_i * EDGE;
    const int64_t head = (int)blockIdx.x / (tiles_j * tiles_i), h = head % g.H;
    const int64_t b = g.first / (g.R * g.H) + head / g.H;
    const tile_place at = tile_find<KEYS_TX>((int)threadIdx.x);
    const int64_t matrix = b * g.H + h;
    const float *bias = g.bias + matrix * g.N * g.LD;
    const int64_t start = b * g.R * g.H + h; /* slice of row 0; rows are H apart */

    int64_t low = g.first > start ? (g.first - start + g.H - 1) / g.H : 0;
    int64_t high = (g.first + g.count - start + g.H - 1) / g.H;
    if (high > g.R) high = g.R;
    if (low >= high) return;
    move_sums<false>(sum, low > 0 ? dbias : nullptr, g.N, matrix, i0, j0, at);
    if (ABS)
        move_sums<false>(size, low > 0 ? dbias_size : nullptr, g.N, matrix, i0, j0, at);
    for (int64_t r = low; r < high; r++) {
        const int64_t slice = start + r * g.H, local = slice - g.first;
        double dp[4][4], x[4][4];
#pragma unroll 2
        for (int slot = 0; slot < SLOTS; slot++) { /* e, in flight during the product */
            int i = i0 + tile_index<TY>(at.ty, slot / 4 * 2);
            int j = j0 + tile_index<KEYS_TX>(at.tx, slot % 4);
            if (i < g.N && j < g.N)
                __pipeline_memcpy_async(&e.at(slot), g.e + (local * g.N + j) * g.LD + i,
                                        16);
        }
        __pipeline_commit();
        upstream_tile<ABS>(dp, x, g, dout_slab, v_slab, slice, i0, j0,
                           keys_of(g, slice), at, false);
        __pipeline_wait_prior(0);
#pragma unroll
        for (int pair = 0; pair < 2; pair++) {
            int i = i0 + tile_index<TY>(at.ty, 2 * pair);
            if (i >= g.N) continue;
            difference_pair<ABS>(
                g, bias, local, i, j0, at.tx, *(const double(*)[2][4]) & dp[2 * pair],
                *(const double(*)[2][4]) & x[2 * pair], e, sum, size, 4 * pair);
        }
    }
    move_sums<true>(sum, dbias, g.N, matrix, i0, j0, at);
    if (ABS) move_sums<true>(size, dbias_size, g.N, matrix, i0, j0, at);
}

static inline size_t rows_shared(void)
{
    return sizeof(double) * (TILE_SLAB * (EDGE_ROW + KEYS_ROW) + 2 * KEYS * EDGE_ROW);
}

static inline size_t differences_shared(void)
{
    return sizeof(double) * TILE_SLAB * (EDGE_ROW + KEYS_ROW) +
           sizeof(double2) * 3 * SLOTS * TILE_THREADS;
}

#endif
