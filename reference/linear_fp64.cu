/* SPDX-License-Identifier: Apache-2.0
 * Linear layer without bias in binary64 on the GPU, forward and backward, with the bits
 * of the host truth. Formulas and the order of operations: linear.h.
 *
 * All three outputs are one kernel, out[m,n] = sum_c a(m,c) b(n,c), a block of threads
 * owning 64 x 64 outputs and all of the sum. */
#include "reference/cuda_check.h"
#include "reference/fp64_tile.cuh"
#include "reference/linear.h"

extern "C" { /* gg_linear_check; the header speaks C only */
#include "reference/linear_internal.h"
}

constexpr int LINEAR_EDGE = 64, LINEAR_ROW = LINEAR_EDGE + TILE_PAD, LINEAR_TX = 16;

/* An operand as a matrix [outer][summed] or, with `summed_rows`, [summed][outer]. */
struct operand {
    const uint16_t *bits; /* bf16 */
    bool summed_rows;
    int64_t outer;
};

/* Outer first .. first + 64, summed c0 .. c0 + 32 of `from` to slab[32][66]; lanes go
 * along the fast axis of memory. */
static __device__ __forceinline__ void linear_load(double *slab, const operand &from,
                                                   int64_t summed, int64_t first,
                                                   int64_t c0)
{
#pragma unroll 4
    for (int n = (int)threadIdx.x; n < LINEAR_EDGE * TILE_SLAB; n += TILE_THREADS) {
        int c = from.summed_rows ? n / LINEAR_EDGE : n % TILE_SLAB;
        int row = from.summed_rows ? n % LINEAR_EDGE : n / TILE_SLAB;
        int64_t at = first + row, at_c = c0 + c;
        double value = 0.0;
        if (at < from.outer && at_c < summed)
            value = gg_bf16_value(from.bits[from.summed_rows ? at_c * from.outer + at
                                                             : at * summed + at_c]);
        slab[c * LINEAR_ROW + row] = value;
    }
}

template <bool ABS>
static __global__ void __launch_bounds__(TILE_THREADS, 2)
    linear_kernel(operand a, operand b, int64_t summed, double *value,
                  double *allowance)
{
    __shared__ double2 slabs[2][TILE_SLAB * LINEAR_ROW / 2];
    double *a_slab = &slabs[0][0].x, *b_slab = &slabs[1][0].x;
    constexpr int TY = TILE_THREADS / LINEAR_TX;
    const int64_t tiles = (b.outer + LINEAR_EDGE - 1) / LINEAR_EDGE;
    const int64_t m0 = blockIdx.x / tiles * LINEAR_EDGE;
    const int64_t n0 = blockIdx.x % tiles * LINEAR_EDGE;
    const tile_place at = tile_find<LINEAR_TX>((int)threadIdx.x);
    double sum[8][4], mag[8][4];
    tile_clear(sum);
    tile_clear(mag);
    for (int64_t c0 = 0; c0 < summed; c0 += TILE_SLAB) {
        __syncthreads(); /* the slabs' last readers */
        linear_load(a_slab, a, summed, m0, c0);
        linear_load(b_slab, b, summed, n0, c0);
        __syncthreads();
        int count = summed - c0 < TILE_SLAB ? (int)(summed - c0) : TILE_SLAB;
        tile_product<8, 4, LINEAR_TX, ABS>(sum, mag, a_slab, b_slab, count, at);
    }
    const double roundings = (double)((summed + 15) / 16 + 1) * 0x1p-23;
#pragma unroll
    for (int m = 0; m < 8; m++)
#pragma unroll
        for (int n = 0; n < 4; n++) {
            int64_t row = m0 + tile_index<TY>(at.ty, m);
            int64_t column = n0 + tile_index<LINEAR_TX>(at.tx, n);
            if (row >= a.outer || column >= b.outer) continue;
            if (value) value[row * b.outer + column] = sum[m][n];
            if (ABS && allowance)
                allowance[row * b.outer + column] = roundings * mag[m][n];
        }
}

static gg_status linear_output(operand a, operand b, int64_t summed,
                               const gg_truth *truth, int output, cudaStream_t stream)
{
    double *value = truth->value[output], *allowance = truth->allowance[output];
    if (!value && !allowance) return GG_OK;
    int64_t blocks = (a.outer + LINEAR_EDGE - 1) / LINEAR_EDGE *
                     ((b.outer + LINEAR_EDGE - 1) / LINEAR_EDGE);
    if (blocks > 0x7fffffff)
        return gg_fail(GG_BAD_INPUT, "linear: output %d is too large for one launch",
                       output);
    return gg_launch("linear", allowance ? linear_kernel<true> : linear_kernel<false>,
                     dim3((unsigned)blocks), TILE_THREADS, 0, stream, a, b, summed,
                     value, allowance);
}

size_t gg_linear_cuda_scratch(const gg_problem *problem)
{
    (void)problem;
    return 0;
}

gg_status gg_linear_cuda(const gg_problem *problem, const gg_truth *truth,
                         void *scratch, void *stream_handle)
{
    (void)scratch;
    cudaStream_t stream = (cudaStream_t)stream_handle;
    bool wanted[GG_LINEAR_OUTPUTS];
    for (int i = 0; i < GG_LINEAR_OUTPUTS; i++)
        wanted[i] = truth->value[i] || truth->allowance[i];
    GG_TRY(gg_linear_check(problem, wanted));
    const int64_t M = problem->extent[GG_LINEAR_M], N = problem->extent[GG_LINEAR_N];
    const int64_t K = problem->extent[GG_LINEAR_K];
    const uint16_t *x = (const uint16_t *)problem->input[GG_LINEAR_X].data;
    const uint16_t *w = (const uint16_t *)problem->input[GG_LINEAR_W].data;
    const uint16_t *dy = (const uint16_t *)problem->input[GG_LINEAR_DY].data;
    GG_TRY(linear_output({x, false, M}, {w, false, N}, K, truth, GG_LINEAR_Y, stream));
    GG_TRY(linear_output({dy, false, M}, {w, true, K}, N, truth, GG_LINEAR_DX, stream));
    return linear_output({dy, true, N}, {x, true, K}, M, truth, GG_LINEAR_DW, stream);
}
