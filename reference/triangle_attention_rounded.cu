/* SPDX-License-Identifier: Apache-2.0
 * Triangle attention with chosen roundings on the GPU, with the bits of
 * triangle_attention_rounded.c. Slices (b, r, h) are handled in chunks that fit the
 * scratch memory, in ascending order; P and dS of a chunk lie in it, queries fastest.
 *
 *   queries   o, dq, P and dS    one thread a query
 *   keys      dk, dv             one thread a key and GROUP columns d
 *   bias      dbias              one thread a query and key, rows ascending */
#include "reference/cuda_check.h"
#include "reference/triangle_attention_rounded_core.h"

constexpr int THREADS = 128;
constexpr int GROUP = 8; /* columns d of one thread of the keys kernel */
constexpr int64_t SCRATCH_LIMIT = (int64_t)8 << 30;

struct chunk {
    gg_rounded_scheme s;
    gg_dtype output[GG_TA_OUTPUTS];
    double *value[GG_TA_OUTPUTS];
    int64_t first, count; /* slices */
    int64_t LD;           /* N rounded up to a warp */
    double *p, *ds;       /* [count][j: N][i: LD] */
};

static __device__ void put(const chunk &c, int output, int64_t at, double x)
{
    if (c.value[output] != nullptr)
        c.value[output][at] = gg_rounded_stored(&c.s, c.output[output], x);
}

/* HEAD: D, or 0 for any. */
template <int HEAD> static __global__ void queries_kernel(chunk c)
{
    const int64_t D = HEAD > 0 ? HEAD : c.s.D, N = c.s.N;
    int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    int64_t local = thread / c.LD, i = thread % c.LD;
    double o[GG_TA_ROUNDED_HEAD], dq[GG_TA_ROUNDED_HEAD];
    if (local >= c.count || i >= N) return;
    gg_rounded_query t;
    t.slice = c.first + local;
    t.i = i;
    t.p = c.p + local * N * c.LD + i;
    t.ds = c.ds + local * N * c.LD + i;
    t.stride = c.LD;
    t.o = o;
    t.dq = dq;
    const double inverse = gg_rounded_run_forward(&c.s, &t, D);
    GG_TA_UNROLL
    for (int64_t d = 0; d < D; d++) put(c, GG_TA_O, (t.slice * N + i) * D + d, o[d]);
    gg_rounded_run_backward(&c.s, &t, inverse, D);
    GG_TA_UNROLL
    for (int64_t d = 0; d < D; d++) put(c, GG_TA_DQ, (t.slice * N + i) * D + d, dq[d]);
}

static __global__ void keys_kernel(chunk c)
{
    const int64_t N = c.s.N, D = c.s.D, groups = (D + GROUP - 1) / GROUP;
    int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    int64_t local = thread / (N * groups), j = thread / groups % N;
    int64_t d0 = thread % groups * GROUP;
    double dk[GROUP] = {}, dv[GROUP] = {};
    if (local >= c.count) return;
    const int64_t slice = c.first + local, at = (local * N + j) * c.LD;
    for (int64_t i = 0; i < N; i++) {
        double p = gg_rounded_at(&c.s, GG_TA_P_DV, GG_TA_P_DV_PAIR, c.p[at + i]);
        double ds = gg_rounded_at(&c.s, GG_TA_DS, GG_TA_DS_PAIR, c.ds[at + i]);
        bool ends = gg_rounded_step_ends(i, N);
#pragma unroll
        for (int g = 0; g < GROUP; g++) {
            if (d0 + g >= D) break;
            const int64_t from = (slice * N + i) * D + d0 + g;
            if (p != 0) dv[g] += p * gg_bf16_value(c.s.dout[from]);
            if (p != 0) dk[g] += ds * gg_bf16_value(c.s.q[from]);
            if (ends) dv[g] = gg_rounded_cut(&c.s, dv[g]);
            if (ends) dk[g] = gg_rounded_cut(&c.s, dk[g]);
        }
    }
#pragma unroll
    for (int g = 0; g < GROUP; g++) {
        if (d0 + g >= D) break;
        const int64_t to = (slice * N + j) * D + d0 + g;
        put(c, GG_TA_DK, to, gg_rounded_f32(&c.s, dk[g] * c.s.sc));
        put(c, GG_TA_DV, to, dv[g]);
    }
}

/* The rows of a batch and head that lie in the chunk; the sums go on from what the
 * chunk before left, and are stored as the output holds them after the last row. */
static __global__ void bias_kernel(chunk c, int64_t heads)
{
    const int64_t N = c.s.N, H = c.s.H, R = c.s.R;
    int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    int64_t head = thread / (N * c.LD), j = thread / c.LD % N, i = thread % c.LD;
    if (head >= heads || i >= N) return;
    double *out = c.value[GG_TA_DBIAS] + (head * N + i) * N + j;
    const int64_t start = head / H * R * H + head % H; /* slice of row 0 */
    int64_t low = c.first > start ? (c.first - start + H - 1) / H : 0;
    int64_t high = (c.first + c.count - start + H - 1) / H;
    if (high > R) high = R;
    if (low >= high) return;
    double sum = low > 0 ? *out : 0.0;
    for (int64_t r = low; r < high; r++) {
        int64_t local = start + r * H - c.first;
        sum = gg_rounded_f32(&c.s, sum + c.ds[(local * N + j) * c.LD + i]);
    }
    *out = high == R ? gg_rounded_stored(&c.s, c.output[GG_TA_DBIAS], sum) : sum;
}

static int64_t up(int64_t count, int64_t step) { return (count + step - 1) / step; }

/* Slices of one chunk. */
static int64_t slices_of(const int64_t *extent)
{
    int64_t all = extent[GG_TA_B] * extent[GG_TA_R] * extent[GG_TA_H];
    int64_t one = extent[GG_TA_N] * up(extent[GG_TA_N], 32) * 32 * 2 * 8;
    int64_t most = SCRATCH_LIMIT / one < 1 ? 1 : SCRATCH_LIMIT / one;
    return up(all, up(all, most));
}

size_t gg_triangle_attention_rounded_scratch(const gg_problem *problem)
{
    const int64_t *extent = problem->extent;
    for (int i = GG_TA_B; i <= GG_TA_D; i++)
        if (extent[i] < 1) return 0; /* the call will refuse it */
    return (size_t)(slices_of(extent) * extent[GG_TA_N] * up(extent[GG_TA_N], 32) * 32 *
                    2 * 8);
}

static gg_status run_chunk(const chunk &c, int64_t heads, cudaStream_t stream)
{
    const int64_t N = c.s.N, D = c.s.D;
    const dim3 blocks((unsigned)up(c.count * c.LD, THREADS));
    GG_TRY(gg_launch("triangle_attention: rounded queries",
                     D == 16   ? queries_kernel<16>
                     : D == 32 ? queries_kernel<32>
                               : queries_kernel<0>,
                     blocks, THREADS, 0, stream, c));
    if (c.value[GG_TA_DK] != nullptr || c.value[GG_TA_DV] != nullptr)
        GG_TRY(gg_launch("triangle_attention: rounded keys", keys_kernel,
                         dim3((unsigned)up(c.count * N * up(D, GROUP), THREADS)), THREADS, 0,
                         stream, c));
    if (c.value[GG_TA_DBIAS] == nullptr) return GG_OK;
    return gg_launch("triangle_attention: rounded bias", bias_kernel,
                     dim3((unsigned)up(heads * N * c.LD, THREADS)), THREADS, 0, stream, c,
                     heads);
}

gg_status gg_triangle_attention_rounded_cuda(const gg_problem *problem,
                                             const gg_roundings *roundings,
                                             const gg_truth *truth, void *scratch,
                                             void *stream)
{
    GG_TRY(gg_triangle_attention_rounded_check(problem, roundings));
    const int64_t *extent = problem->extent;
    const int64_t heads = extent[GG_TA_B] * extent[GG_TA_H], all = heads * extent[GG_TA_R];
    const int64_t slices = slices_of(extent);
    chunk c = {};
    c.s = gg_rounded_scheme_of(problem, roundings);
    c.LD = up(c.s.N, 32) * 32;
    c.p = (double *)scratch;
    c.ds = c.p + slices * c.s.N * c.LD;
    for (int o = 0; o < GG_TA_OUTPUTS; o++) {
        c.output[o] = roundings->output[o];
        c.value[o] = truth->value[o];
    }
    for (c.first = 0; c.first < all; c.first += slices) {
        c.count = all - c.first < slices ? all - c.first : slices;
        GG_TRY(run_chunk(c, heads, (cudaStream_t)stream));
    }
    return GG_OK;
}
