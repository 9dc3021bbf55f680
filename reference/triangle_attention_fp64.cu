/* SPDX-License-Identifier: Apache-2.0
 * Triangle attention in binary64 on the GPU, forward and backward, with the bits of
 * triangle_attention_fp64.c. Formulas, order of operations: triangle_attention.h.
 *
 * Slices (b, r, h) are handled in chunks that fit the scratch memory, in ascending
 * order. Each chunk goes through
 *   norms        sc |q|, |k|                                   for allowances
 *   scores       S twice, first for the maximum, then e = exp(S - m) and l
 *   rows         dP and X, tile by tile; delta, Xbar, Abar     one thread per query
 *   differences  dP and X again; dS, Z, and dbias summed over the rows of the chunk
 *   reductions   o, dq, dv, dk
 * (the last three in triangle_attention_upstream.cuh and _reduction.cuh). Products over
 * d cost less than the traffic they save, so S, dP and X are computed twice and only e,
 * dS and Z are stored. The sum over rows goes on from what the chunk before left in
 * dbias. */
#include <math.h>

#include "reference/cuda_check.h"
#include "reference/exp64.h"
#include "reference/triangle_attention.h"
#include "reference/triangle_attention_reduction.cuh"
#include "reference/triangle_attention_upstream.cuh"

extern "C" { /* gg_triangle_attention_check; the header speaks C only */
#include "reference/triangle_attention_internal.h"
}

constexpr int PLAIN_THREADS = 256;

/* Enough slices at a time to fill the GPU at every size; a share of its memory that
 * leaves room for the caller's arrays. */
static const int64_t scratch_limit = (int64_t)8 << 30;

static inline int64_t up(int64_t count, int64_t step)
{
    return (count + step - 1) / step;
}

static __device__ __forceinline__ float widen(float x) { return x; }
static __device__ __forceinline__ float widen(uint16_t x)
{
    return (float)gg_bf16_value(x);
}

/* bias [B H][i: N][j: N] to g.bias [B H][j: N][i: LD], padding zero. 32 x 32 tiles. */
template <typename T>
static __global__ void bias_kernel(attention g, const T *bias, int64_t matrices)
{
    __shared__ float tile[32][33];
    int x = (int)threadIdx.x % 32;
    int64_t tiles = (g.N + 31) / 32;
    int64_t i0 = blockIdx.x % tiles * 32, j0 = blockIdx.x / tiles * 32;
    for (int64_t n = blockIdx.y; n < matrices; n += gridDim.y) {
        for (int y = (int)threadIdx.x / 32; y < 32; y += PLAIN_THREADS / 32) {
            bool inside = i0 + y < g.N && j0 + x < g.N;
            tile[y][x] = inside ? widen(bias[(n * g.N + i0 + y) * g.N + j0 + x]) : 0.0f;
        }
        __syncthreads();
        for (int y = (int)threadIdx.x / 32; y < 32; y += PLAIN_THREADS / 32)
            if (i0 + x < g.LD && j0 + y < g.N)
                g.bias[(n * g.N + j0 + y) * g.LD + i0 + x] = tile[x][y];
        __syncthreads();
    }
}

/* One thread per token: |.| is the square root of a chain over d. */
static __global__ void norms_kernel(attention g)
{
    int64_t thread = (int64_t)blockIdx.x * PLAIN_THREADS + threadIdx.x;
    int64_t local = thread / g.LD, n = thread % g.LD, slice = g.first + local;
    if (local >= g.count) return;
    double q = 0.0, k = 0.0;
    if (n < g.N) {
        const int64_t row = (slice * g.N + n) * g.D;
        bool valid = keys_of(g, slice).valid((int)n);
        for (int64_t d = 0; d < g.D; d++) {
            double x = gg_bf16_value(g.q[row + d]);
            q = fma(x, x, q);
            double y = valid ? gg_bf16_value(g.k[row + d]) : 0.0;
            k = fma(y, y, k);
        }
    }
    g.q_norm[thread] = g.sc * sqrt(q);
    g.k_norm[thread] = sqrt(k);
}

/* The larger, or NaN as soon as one is: a NaN score makes its whole query NaN, also
 * where every other score is -infinity. */
static __device__ __forceinline__ double larger(double s, double m)
{
    return s > m || s != s ? s : m;
}

/* S of a 64 x 64 tile. q stays in shared memory when D permits; the bias is loaded
 * while the products run. */
static __device__ __forceinline__ void score_tile(double (&s)[8][4], const attention &g,
                                                  double *q_slab, double *k_slab,
                                                  int64_t slice, int i0, int j0,
                                                  const key_set &keys, tile_place at,
                                                  bool has_q)
{
    const int N = g.N, D = g.D;
    const uint16_t *q = g.q + slice * N * D, *k = g.k + slice * N * D;
    const float *bias = bias_of(g, slice);
    float2 b[4][4]; /* pair of queries, key */
    tile_clear(s);
    for (int d0 = 0; d0 < D; d0 += TILE_SLAB) {
        __syncthreads(); /* the slabs' last readers */
        if (!has_q || D > TILE_SLAB)
            tile_load<EDGE>(q_slab, q, D, i0, d0, g.wide, [=](int n) { return n < N; });
        tile_load<EDGE>(k_slab, k, D, j0, d0, g.wide,
                        [=](int n) { return keys.valid(n); });
        if (d0 == 0) { /* once the registers of the loads are free */
#pragma unroll
            for (int n = 0; n < 4; n++)
#pragma unroll
                for (int a = 0; a < 4; a++) {
                    int j = j0 + tile_index<16>(at.tx, n);
                    int i = i0 + tile_index<8>(at.ty, 2 * a);
                    b[a][n] = make_float2(0.0f, 0.0f);
                    if (j < N && i < N)
                        b[a][n] = *(const float2 *)(bias + (int64_t)j * g.LD + i);
                }
        }
        __syncthreads();
        int count = D - d0 < TILE_SLAB ? D - d0 : TILE_SLAB;
        tile_product<8, 4, 16, false>(s, s, q_slab, k_slab, count, at);
    }
#pragma unroll
    for (int n = 0; n < 4; n++)
#pragma unroll
        for (int a = 0; a < 4; a++) {
            s[2 * a][n] = fma(s[2 * a][n], g.sc, (double)b[a][n].x);
            s[2 * a + 1][n] = fma(s[2 * a + 1][n], g.sc, (double)b[a][n].y);
        }
}

/* S to e in the tile, for the pairs that this thread itself put there, and in g.e. */
static __device__ __forceinline__ void exponentials(const attention &g, double *tile,
                                                    const double *m_row, double *e,
                                                    int i0, int j0, const key_set &keys,
                                                    tile_place at)
{
#pragma unroll 4
    for (int pair = 0; pair < 16; pair++) {
        int row = tile_index<16>(at.tx, pair / 4);
        int column = tile_index<8>(at.ty, pair % 4 * 2);
        int j = j0 + row, i = i0 + column;
        double2 *place = (double2 *)(tile + row * EDGE_ROW + column);
        double2 m = *(const double2 *)(m_row + column), x = *place;
        bool valid = keys.valid(j);
        x.x = gg_exp64(x.x - m.x);
        x.y = gg_exp64(x.y - m.y);
        if (!valid || m.x == -INFINITY) x.x = TILE_NOTHING;
        if (!valid || m.y == -INFINITY) x.y = TILE_NOTHING;
        *place = x;
        if (j < g.N && i < g.N) *(double2 *)(e + (int64_t)j * g.LD + i) = x;
    }
}

/* A block owns 64 queries of a slice: m, then e and l, over all keys. */
static __global__ void __launch_bounds__(TILE_THREADS, 3) scores_kernel(attention g)
{
    extern __shared__ __align__(16) double gg_shared[];
    double *q_slab = gg_shared, *k_slab = q_slab + TILE_SLAB * EDGE_ROW;
    double *e_tile = k_slab + TILE_SLAB * EDGE_ROW; /* [EDGE j][EDGE_ROW] */
    double *m_row = e_tile + EDGE * EDGE_ROW; /* [EDGE] */
    const int tiles = (g.N + EDGE - 1) / EDGE, i0 = (int)blockIdx.x % tiles * EDGE;
    const int64_t local = (int)blockIdx.x / tiles, slice = g.first + local;
    const key_set keys = keys_of(g, slice);
    double *e = g.e + local * g.N * g.LD;
    const tile_place at = tile_find<16>((int)threadIdx.x);
    const int own = (int)threadIdx.x;
    double s[8][4], m[8], l = 0.0;

#pragma unroll
    for (int a = 0; a < 8; a++) m[a] = -INFINITY;
    for (int j0 = 0; j0 < g.N; j0 += EDGE) {
        score_tile(s, g, q_slab, k_slab, slice, i0, j0, keys, at, j0 > 0);
#pragma unroll
        for (int n = 0; n < 4; n++)
            if (keys.valid(j0 + tile_index<16>(at.tx, n)))
#pragma unroll
                for (int a = 0; a < 8; a++) m[a] = larger(s[a][n], m[a]);
    }
    /* The maximum over the 16 threads that share a query; e_tile is still free. */
#pragma unroll
    for (int a = 0; a < 8; a++)
        e_tile[at.tx * EDGE_ROW + tile_index<8>(at.ty, a)] = m[a];
    __syncthreads();
    if (own < EDGE) {
        double most = -INFINITY;
        for (int tx = 0; tx < 16; tx++)
            most = larger(e_tile[tx * EDGE_ROW + own], most);
        m_row[own] = most; /* read after the barriers of score_tile */
    }

    for (int j0 = 0; j0 < g.N; j0 += EDGE) {
        score_tile(s, g, q_slab, k_slab, slice, i0, j0, keys, at, true);
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
            for (int a = 0; a < 8; a += 2) {
                int to = tile_index<16>(at.tx, n) * EDGE_ROW + tile_index<8>(at.ty, a);
                *(double2 *)(e_tile + to) = make_double2(s[a][n], s[a + 1][n]);
            }
        exponentials(g, e_tile, m_row, e, i0, j0, keys, at);
        __syncthreads();
        int count = g.N - j0 < EDGE ? g.N - j0 : EDGE;
        if (own < EDGE) /* the next tile waits for these in score_tile */
            for (int j = 0; j < count; j++) l += e_tile[j * EDGE_ROW + own];
    }
    if (own < EDGE && i0 + own < g.N)
        g.inv_l[local * g.LD + i0 + own] = l == 0.0 ? 0.0 : 1.0 / l;
}

/* Scratch memory: a part for the call, then one for each slice of a chunk. */
struct scratch_plan {
    int64_t LD;
    int64_t slices; /* of one chunk */
    int64_t bias_bytes, vector_bytes, matrix_bytes; /* last two: of one slice */
    int64_t bytes;
};

constexpr int VECTORS = 6, MATRICES = 3;
constexpr int LONGEST = 1 << 20; /* N and D; their blocks can still be counted */

static scratch_plan plan_scratch(const int64_t *extent)
{
    const int64_t N = extent[GG_TA_N];
    const int64_t all = extent[GG_TA_B] * extent[GG_TA_R] * extent[GG_TA_H];
    scratch_plan plan;
    plan.LD = up(N, 8) * 8;
    plan.bias_bytes =
        up(extent[GG_TA_B] * extent[GG_TA_H] * N * plan.LD * 4, 256) * 256;
    plan.vector_bytes = plan.LD * 8;
    plan.matrix_bytes = N * plan.LD * 8;
    int64_t each = VECTORS * plan.vector_bytes + MATRICES * plan.matrix_bytes;
    int64_t most = scratch_limit / each;
    if (most < 1) most = 1;
    plan.slices = up(all, up(all, most)); /* chunks of one size, but for the last */
    plan.bytes = plan.bias_bytes + plan.slices * each;
    return plan;
}

size_t gg_triangle_attention_cuda_scratch(const gg_problem *problem)
{
    for (int i = GG_TA_B; i <= GG_TA_D; i++)
        if (problem->extent[i] < 1) return 0; /* the call will refuse it */
    return (size_t)plan_scratch(problem->extent).bytes;
}

static attention describe(const gg_problem *problem, const scratch_plan &plan,
                          void *scratch)
{
    const gg_tensor *in = problem->input;
    const int64_t *extent = problem->extent;
    attention g = {};
    g.q = (const uint16_t *)in[GG_TA_Q].data;
    g.k = (const uint16_t *)in[GG_TA_K].data;
    g.v = (const uint16_t *)in[GG_TA_V].data;
    g.dout = (const uint16_t *)in[GG_TA_DOUT].data;
    g.mask = (const uint8_t *)in[GG_TA_MASK].data;
    g.lengths = (const int32_t *)in[GG_TA_KEY_LENGTHS].data;
    g.R = extent[GG_TA_R];
    g.H = extent[GG_TA_H];
    g.N = (int)extent[GG_TA_N];
    g.D = (int)extent[GG_TA_D];
    g.LD = (int)plan.LD;
    g.wide = tile_wide(g.q, g.D) && tile_wide(g.k, g.D) && tile_wide(g.v, g.D) &&
             tile_wide(g.dout, g.D);
    g.sc = 1.0 / sqrt((double)g.D);
    g.bias = (float *)scratch;
    double *next = (double *)((char *)scratch + plan.bias_bytes);
    double **const vectors[VECTORS] = {&g.inv_l, &g.q_norm, &g.k_norm,
                                       &g.a_bar, &g.delta,  &g.x_bar};
    double **const matrices[MATRICES] = {&g.e, &g.ds, &g.z};
    for (int i = 0; i < VECTORS; i++, next += plan.slices * plan.vector_bytes / 8)
        *vectors[i] = next;
    for (int i = 0; i < MATRICES; i++, next += plan.slices * plan.matrix_bytes / 8)
        *matrices[i] = next;
    return g;
}

template <int DO, bool BY_KEY, bool DIFF, bool ABS>
static gg_status reduce_as(const attention &g, double *value, double *allowance,
                           cudaStream_t stream)
{
    using step = reduction<DO, BY_KEY, DIFF, ABS>;
    dim3 blocks((unsigned)(g.count * up(g.N, step::rows)), (unsigned)up(g.D, DO));
    return gg_launch("triangle_attention: reduction",
                     reduction_kernel<DO, BY_KEY, DIFF, ABS>, blocks, TILE_THREADS,
                     step::bytes, stream, g, value, allowance);
}

/* One output of the chunk, when it is wanted. */
template <bool BY_KEY, bool DIFF>
static gg_status reduce(const attention &g, const gg_truth *truth, int output,
                        cudaStream_t stream)
{
    double *value = truth->value[output], *allowance = truth->allowance[output];
    if (!value && !allowance) return GG_OK;
    if (g.D <= 16 && allowance)
        return reduce_as<16, BY_KEY, DIFF, true>(g, value, allowance, stream);
    if (g.D <= 16)
        return reduce_as<16, BY_KEY, DIFF, false>(g, value, allowance, stream);
    if (allowance)
        return reduce_as<32, BY_KEY, DIFF, true>(g, value, allowance, stream);
    return reduce_as<32, BY_KEY, DIFF, false>(g, value, allowance, stream);
}

static gg_status differences(const attention &g, const gg_truth *truth, bool allowances,
                             cudaStream_t stream)
{
    const int64_t row = g.R * g.H;
    int64_t batches = (g.first + g.count - 1) / row - g.first / row + 1;
    dim3 blocks((unsigned)(batches * g.H * up(g.N, EDGE) * up(g.N, KEYS)));
    return gg_launch("triangle_attention: differences",
                     allowances ? differences_kernel<true> : differences_kernel<false>,
                     blocks, TILE_THREADS, differences_shared(), stream, g,
                     truth->value[GG_TA_DBIAS], truth->allowance[GG_TA_DBIAS]);
}

static gg_status run_chunk(const attention &g, const gg_truth *truth, bool backward,
                           bool allowances, cudaStream_t stream)
{
    const dim3 blocks((unsigned)(g.count * up(g.N, EDGE)));
    if (allowances)
        GG_TRY(gg_launch("triangle_attention: norms", norms_kernel,
                         dim3((unsigned)up(g.count * g.LD, PLAIN_THREADS)),
                         PLAIN_THREADS, 0, stream, g));
    GG_TRY(gg_launch("triangle_attention: scores", scores_kernel, blocks, TILE_THREADS,
                     sizeof(double) * ((2 * TILE_SLAB + EDGE) * EDGE_ROW + EDGE),
                     stream, g));
    if (backward || allowances)
        GG_TRY(gg_launch("triangle_attention: rows",
                         !backward    ? rows_kernel<false, true>
                         : allowances ? rows_kernel<true, true>
                                      : rows_kernel<true, false>,
                         blocks, TILE_THREADS, rows_shared(), stream, g));
    GG_TRY((reduce<false, false>(g, truth, GG_TA_O, stream)));
    if (!backward) return GG_OK;
    GG_TRY(differences(g, truth, allowances, stream));
    GG_TRY((reduce<false, true>(g, truth, GG_TA_DQ, stream)));
    GG_TRY((reduce<true, true>(g, truth, GG_TA_DK, stream)));
    return reduce<true, false>(g, truth, GG_TA_DV, stream);
}

gg_status gg_triangle_attention_cuda(const gg_problem *problem, const gg_truth *truth,
                                     void *scratch, void *stream_handle)
{
    cudaStream_t stream = (cudaStream_t)stream_handle;
    bool backward = false, allowances = false, forward = false;
    for (int i = 0; i < GG_TA_OUTPUTS; i++) {
        bool wanted = truth->value[i] || truth->allowance[i];
        forward = forward || wanted;
        backward = backward || (wanted && i != GG_TA_O);
        allowances = allowances || truth->allowance[i];
    }
    if (!forward) return GG_OK;
    GG_TRY(gg_triangle_attention_check(problem, backward));
    if (problem->extent[GG_TA_N] > LONGEST || problem->extent[GG_TA_D] > LONGEST)
        return gg_fail(GG_BAD_INPUT, "triangle_attention: N and D up to %d on a GPU",
                       LONGEST);
    const scratch_plan plan = plan_scratch(problem->extent);
    attention g = describe(problem, plan, scratch);
    const int64_t matrices = problem->extent[GG_TA_B] * g.H, all = matrices * g.R;

    dim3 blocks((unsigned)(up(g.N, 32) * up(g.N, 32)),
                (unsigned)(matrices < 65535 ? matrices : 65535));
    const gg_tensor *bias = &problem->input[GG_TA_BIAS];
    if (bias->dtype == GG_F32)
        GG_TRY(gg_launch("triangle_attention: bias", bias_kernel<float>, blocks,
                         PLAIN_THREADS, 0, stream, g, (const float *)bias->data,
                         matrices));
    else
        GG_TRY(gg_launch("triangle_attention: bias", bias_kernel<uint16_t>, blocks,
                         PLAIN_THREADS, 0, stream, g, (const uint16_t *)bias->data,
                         matrices));
    /* Padding of the vectors is read beside the last query and must be a number. */
    GG_CUDA_TRY(cudaMemsetAsync(
        g.inv_l, 0, (size_t)(VECTORS * plan.slices * plan.vector_bytes), stream));
    for (g.first = 0; g.first < all; g.first += plan.slices) {
        g.count = all - g.first < plan.slices ? all - g.first : plan.slices;
        GG_TRY(run_chunk(g, truth, backward, allowances, stream));
    }
    return GG_OK;
}
