/* SPDX-License-Identifier: Apache-2.0
 * Triangle attention on the GPU: the last step, four reductions over keys or queries.
 *
 *   o_i  = sum_j P v      dq_i = sc sum_j dS k      and, of absolute terms,
 *   dv_j = sum_i P dout   dk_j = sc sum_i dS q      Pw or Z with |v| |k| |dout| |q|
 *
 * Formulas and the order of operations: triangle_attention.h. */
#ifndef REFERENCE_TRIANGLE_ATTENTION_REDUCTION_CUH
#define REFERENCE_TRIANGLE_ATTENTION_REDUCTION_CUH

#include <cuda_pipeline_primitives.h>

#include "reference/triangle_attention_chunk.cuh"

/* BY_KEY: outputs are keys and the sum runs over queries, else the other way round.
 * DIFF: left factors dS and Z, else P and P w made from e. ABS: allowances too. */
template <int DO, bool BY_KEY, bool DIFF, bool ABS>
struct reduction {
    static constexpr int rows = 128; /* outputs per block, each DO wide */
    /* Small enough for the blocks per SM that the registers allow, large enough to keep
     * memory busy when products are few. */
    static constexpr int slab = BY_KEY && (DIFF || DO == 32) ? 8 : 16;
    static constexpr int blocks = ABS && (DO == 32 || !DIFF) ? 2 : 3; /* per SM */
    static constexpr int stride = BY_KEY ? slab + 2 : rows; /* of the fast axis, i */
    static constexpr int matrix = BY_KEY ? rows * stride : slab * stride;
    static constexpr int TX = DO / 4, TY = TILE_THREADS / TX;
    static constexpr int MI = rows / TY, MJ = 4;
    static constexpr int vectors = ABS && !DIFF ? 3 : 1;
    /* left: two stages of the first factor, then of Z or one buffer of P w */
    static constexpr int left = (2 + (!ABS ? 0 : DIFF ? 2 : 1)) * matrix;
    static constexpr size_t bytes =
        sizeof(double) * (left + 2 * slab * DO + vectors * (rows + 2 * slab));

    const attention &g;
    const key_set keys;
    const int64_t slice, local;
    const int row0, d0;
    double *const first, *const second, *const right, *const still, *const moving;
    const uint16_t *const right_rows;
    const float *const bias_rows;
    tile_place at;

    __device__ reduction(const attention &all, double *shared, int tiles)
        : g(all), keys(keys_of(all, all.first + (int)blockIdx.x / tiles)),
          slice(all.first + (int)blockIdx.x / tiles), local((int)blockIdx.x / tiles),
          row0((int)blockIdx.x % tiles * rows), d0((int)blockIdx.y * DO), first(shared),
          second(first + 2 * matrix), right(shared + left),
          still(right + 2 * slab * DO), moving(still + vectors * rows),
          right_rows((BY_KEY ? DIFF ? all.q : all.dout
                      : DIFF ? all.k
                             : all.v) +
                     slice * all.N * all.D),
          bias_rows(bias_of(all, slice)), at(tile_find<TX>((int)threadIdx.x))
    {
    }

    /* This thread's piece-th pair of the left matrices: at j, and at i and i + 1. */
    __device__ __forceinline__ void pair_at(int piece, int &j, int &i) const
    {
        int pair = (int)threadIdx.x + piece * TILE_THREADS;
        constexpr int pairs = (BY_KEY ? slab : rows) / 2;
        j = pair / pairs;
        i = pair % pairs * 2;
    }

    static constexpr int pieces = rows * slab / 2 / TILE_THREADS;

    __device__ __forceinline__ void fetch_vector(double *to, const double *from, int n,
                                                 int count) const
    {
        if ((int)threadIdx.x >= count) return;
        n += (int)threadIdx.x;
        bool inside = n < g.N;
        __pipeline_memcpy_async(to + threadIdx.x, from + (inside ? n : 0), 8,
                                inside ? 0 : 8);
    }

    /* Vectors over queries (1/l, sc |q|, Abar) and over keys (|k|). */
    __device__ __forceinline__ void fetch_vectors(double *to, bool by_query, int n,
                                                  int count) const
    {
        int64_t base = local * g.LD;
        if (!by_query) {
            if (ABS && !DIFF) fetch_vector(to, g.k_norm + base, n, count);
            return;
        }
        fetch_vector(to, g.inv_l + base, n, count);
        if (ABS && !DIFF) {
            fetch_vector(to + count, g.q_norm + base, n, count);
            fetch_vector(to + 2 * count, g.a_bar + base, n, count);
        }
    }

    /* Queues the copy of the left factors for the summed indices c0 .. c0 + slab. */
    __device__ __forceinline__ void fetch(int stage, int c0) const
    {
        const double *from = (DIFF ? g.ds : g.e) + local * g.N * g.LD;
        const double *from_z = g.z + local * g.N * g.LD;
#pragma unroll 4
        for (int piece = 0; piece < pieces; piece++) {
            int jj, ii;
            pair_at(piece, jj, ii);
            int j = jj + (BY_KEY ? row0 : c0), i = ii + (BY_KEY ? c0 : row0);
            int inside = j < g.N && i < g.N ? g.N - i : 0;
            size_t zeros = inside >= 2 ? 0 : inside == 1 ? 8 : 16;
            int64_t offset = inside ? (int64_t)j * g.LD + i : 0;
            int to = stage * matrix + jj * stride + ii;
            __pipeline_memcpy_async(first + to, from + offset, 16, zeros);
            if (ABS && DIFF)
                __pipeline_memcpy_async(second + to, from_z + offset, 16, zeros);
        }
        fetch_vectors(moving + stage * vectors * slab, BY_KEY, c0, slab);
        __pipeline_commit();
    }

    /* The bias beside this thread's pairs, in flight during the product. */
    __device__ __forceinline__ void fetch_bias(float2 (&b)[pieces], int c0) const
    {
#pragma unroll
        for (int piece = 0; piece < pieces; piece++) {
            int jj, ii;
            pair_at(piece, jj, ii);
            int j = jj + (BY_KEY ? row0 : c0), i = ii + (BY_KEY ? c0 : row0);
            b[piece] = make_float2(0.0f, 0.0f);
            if (j < g.N && i < g.N)
                b[piece] = *(const float2 *)(bias_rows + (int64_t)j * g.LD + i);
        }
    }

    static constexpr int rights = slab * DO / TILE_THREADS;

    /* This thread's elements of the right factor, in flight during the product. Of a
     * dead query, one with 1/l = 0, the element is dropped when it is stored: a load
     * that waited for 1/l would hold up the product. */
    struct right_part {
        uint16_t bits[rights];
        double inv_l[BY_KEY ? rights : 1];
    };

    __device__ __forceinline__ void fetch_right(right_part &part, int c0) const
    {
#pragma unroll
        for (int n = 0; n < rights; n++) {
            int place = (int)threadIdx.x + n * TILE_THREADS;
            int c = c0 + place / DO, d = d0 + place % DO;
            bool use = c < g.N && d < g.D && (BY_KEY || keys.valid(c));
            part.bits[n] =
                use ? right_rows[(int64_t)c * g.D + d] : (uint16_t)0x8000u; /* -0 */
            if (BY_KEY) part.inv_l[n] = c < g.N ? g.inv_l[local * g.LD + c] : 0.0;
        }
    }

    __device__ __forceinline__ void store_right(const right_part &part, int stage) const
    {
#pragma unroll
        for (int n = 0; n < rights; n++) {
            bool drop = BY_KEY && part.inv_l[n] == 0.0;
            right[stage * slab * DO + (int)threadIdx.x + n * TILE_THREADS] =
                gg_bf16_value(drop ? (uint16_t)0x8000u : part.bits[n]);
        }
    }

    /* e to P in place, P w beside it, for the pairs that this thread itself fetched. */
    __device__ __forceinline__ void weigh(int stage, const float2 (&b)[pieces]) const
    {
        const double *over_i = BY_KEY ? moving + stage * vectors * slab : still;
        const double *over_j = BY_KEY ? still : moving + stage * vectors * slab;
        constexpr int queries = BY_KEY ? slab : rows;
#pragma unroll
        for (int piece = 0; piece < pieces; piece++) {
            int jj, ii;
            pair_at(piece, jj, ii);
            double2 *place = (double2 *)(first + stage * matrix + jj * stride + ii);
            double2 e = *place, p;
            p.x = is_nothing(e.x) ? 0.0 : e.x * over_i[ii];
            p.y = is_nothing(e.y) ? 0.0 : e.y * over_i[ii + 1];
            *place = p;
            if (!ABS) continue;
            const double *q = over_i + queries, *a_bar = q + queries;
            double k = over_j[jj];
            double2 pw;
            pw.x = weighted(p.x, score_size(q[ii], k, b[piece].x), a_bar[ii]);
            pw.y = weighted(p.y, score_size(q[ii + 1], k, b[piece].y), a_bar[ii + 1]);
            *(double2 *)(second + jj * stride + ii) = pw;
        }
    }

    __device__ __forceinline__ int out_row(int m) const
    {
        return BY_KEY ? at.ty + m * TY : tile_index<TY>(at.ty, m);
    }

    template <bool SIZE>
    __device__ __forceinline__ void
    multiply_add(double (&sum)[MI][MJ], const double (&x)[MI], const double *y_at) const
    {
        double y[MJ];
#pragma unroll
        for (int n = 0; n < MJ; n += 2) {
            double2 pair = *(const double2 *)(y_at + tile_index<TX>(at.tx, n));
            y[n] = SIZE ? fabs(pair.x) : pair.x;
            y[n + 1] = SIZE ? fabs(pair.y) : pair.y;
        }
#pragma unroll
        for (int m = 0; m < MI; m++)
#pragma unroll
            for (int n = 0; n < MJ; n++) sum[m][n] = fma(x[m], y[n], sum[m][n]);
    }

    /* Queries lie side by side: one summed index at a time. */
    __device__ __forceinline__ void
    product_by_query(double (&sum)[MI][MJ], double (&mag)[MI][MJ], int stage) const
    {
        const double *a = first + stage * matrix;
        const double *a2 = second + (DIFF ? stage * matrix : 0);
        const double *b = right + stage * slab * DO;
#pragma unroll 1
        for (int c = 0; c < slab; c++) {
            double x[MI];
#pragma unroll
            for (int m = 0; m < MI; m += 2) {
                double2 pair = *(const double2 *)(a + c * stride + out_row(m));
                x[m] = pair.x;
                x[m + 1] = pair.y;
            }
            multiply_add<false>(sum, x, b + c * DO);
            if constexpr (ABS) {
#pragma unroll
                for (int m = 0; m < MI; m += 2) {
                    double2 pair = *(const double2 *)(a2 + c * stride + out_row(m));
                    x[m] = pair.x;
                    x[m + 1] = pair.y;
                }
                multiply_add<true>(mag, x, b + c * DO);
            }
        }
    }

    /* Summed indices lie side by side: two of them at a time, in order. */
    __device__ __forceinline__ void two_by_key(double (&sum)[MI][MJ], const double *a,
                                               const double (&y)[2][MJ]) const
    {
#pragma unroll
        for (int m = 0; m < MI; m++) {
            double2 x = *(const double2 *)(a + out_row(m) * stride);
#pragma unroll
            for (int n = 0; n < MJ; n++) sum[m][n] = fma(x.x, y[0][n], sum[m][n]);
#pragma unroll
            for (int n = 0; n < MJ; n++) sum[m][n] = fma(x.y, y[1][n], sum[m][n]);
        }
    }

    __device__ __forceinline__ void
    product_by_key(double (&sum)[MI][MJ], double (&mag)[MI][MJ], int stage) const
    {
        const double *a = first + stage * matrix;
        const double *a2 = second + (DIFF ? stage * matrix : 0);
        const double *b = right + stage * slab * DO;
#pragma unroll 1
        for (int c = 0; c < slab; c += 2) {
            double y[2][MJ];
#pragma unroll
            for (int n = 0; n < 2 * MJ; n += 2) {
                int step = n / MJ, column = n % MJ;
                double2 pair = *(const double2 *)(b + (c + step) * DO +
                                                  tile_index<TX>(at.tx, column));
                y[step][column] = pair.x;
                y[step][column + 1] = pair.y;
            }
            two_by_key(sum, a + c, y);
            if constexpr (ABS) {
#pragma unroll
                for (int n = 0; n < MJ; n++) {
                    y[0][n] = fabs(y[0][n]);
                    y[1][n] = fabs(y[1][n]);
                }
                two_by_key(mag, a2 + c, y);
            }
        }
    }

    __device__ __forceinline__ void run(double *value, double *allowance) const
    {
        double sum[MI][MJ], mag[MI][MJ];
        right_part part;
        float2 bias[pieces];
        tile_clear(sum);
        tile_clear(mag);
        fetch_vectors(still, !BY_KEY, row0, rows);
        fetch(0, 0);
        fetch_right(part, 0);
        if (ABS && !DIFF) fetch_bias(bias, 0);
        int stage = 0;
        for (int c0 = 0; c0 < g.N; c0 += slab, stage ^= 1) {
            store_right(part, stage);
            __pipeline_wait_prior(0);
            if (!DIFF) { /* vectors fetched by others; P w no longer in use */
                __syncthreads();
                weigh(stage, bias);
            }
            __syncthreads();
            if (c0 + slab < g.N) {
                fetch(stage ^ 1, c0 + slab);
                fetch_right(part, c0 + slab);
                if (ABS && !DIFF) fetch_bias(bias, c0 + slab);
            }
            if (BY_KEY)
                product_by_key(sum, mag, stage);
            else
                product_by_query(sum, mag, stage);
        }
#pragma unroll
        for (int m = 0; m < MI; m++) {
            int row = row0 + out_row(m);
            if (row >= g.N) continue;
            bool dead = BY_KEY ? !keys.valid(row) : still[out_row(m)] == 0.0;
#pragma unroll
            for (int n = 0; n < MJ; n++) {
                int d = d0 + tile_index<TX>(at.tx, n);
                if (d >= g.D) continue;
                int64_t out = (slice * g.N + row) * g.D + d;
                double scale = DIFF ? g.sc : 1.0;
                if (value) value[out] = dead ? 0.0 : scale * sum[m][n];
                if (ABS && allowance) allowance[out] = dead ? 0.0 : scale * mag[m][n];
            }
        }
    }
};

/* Blocks: slices times tiles of 128 outputs, and tiles of DO columns. */
template <int DO, bool BY_KEY, bool DIFF, bool ABS>
static __global__ void __launch_bounds__(TILE_THREADS,
                                         reduction<DO, BY_KEY, DIFF, ABS>::blocks)
    reduction_kernel(attention g, double *value, double *allowance)
{
    extern __shared__ __align__(16) double gg_shared[];
    using step = reduction<DO, BY_KEY, DIFF, ABS>;
    step(g, gg_shared, (g.N + step::rows - 1) / step::rows).run(value, allowance);
}

#endif
