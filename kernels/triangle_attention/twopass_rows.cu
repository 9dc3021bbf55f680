/* SPDX-License-Identifier: Apache-2.0
 * Row values of `twopass` and `split`, with delta (README.md, "Backward"; layout: twopass.cuh):
 * bound by memory. */
#include "kernels/triangle_attention/twopass_device.cuh"

namespace {

enum {
    WARPS = 4,   /* of a CTA */
    QUERIES = 32 /* of a warp */
};

struct RowValues {
    uint4 *values;                     /* row values, a query each */
    const float *m, *inv;              /* [planes][N] */
    const uint16_t *dout, *o;          /* [planes][N][D] */
    const uint16_t *beyond;            /* the same; at most one of the two is there */
    const uint8_t *beyond_byte;
    const uint64_t *words;             /* [B R][word_stride], or NULL: every key is valid */
    char *dq;                          /* [planes][N][D], or NULL */
    int dq_bytes;                      /* of an element */
    unsigned parts;                    /* of QUERIES */
    int H, N, D, tiles;
    float rc1, rc1_low;
};

/* What eight neighbouring outputs from element `at` on have beyond BF16, as gg_ta_whole() takes it.
 * Bytes: as gg_ta_beyond_byte() has it. */
template <bool BYTES>
__device__ __forceinline__ uint4 load_beyond(const RowValues &a, size_t at)
{
    if (!BYTES && a.beyond)
        return *reinterpret_cast<const uint4 *>(a.beyond + at);
    if (BYTES && a.beyond_byte) {
        const uint2 x = *reinterpret_cast<const uint2 *>(a.beyond_byte + at);
        return make_uint4(__byte_perm(x.x, 0, 0x1404), __byte_perm(x.x, 0, 0x3424),
                          __byte_perm(x.y, 0, 0x1404), __byte_perm(x.y, 0, 0x3424));
    }
    const uint32_t nothing = GG_TA_NOTHING_BEYOND << 16 | GG_TA_NOTHING_BEYOND;
    return make_uint4(nothing, nothing, nothing, nothing);
}

/* gg_ta_whole() of two outputs. */
__device__ __forceinline__ float2 whole_pair(uint32_t rounded, uint32_t beyond)
{
    const uint32_t nothing = GG_TA_NOTHING_BEYOND;
    return make_float2(__uint_as_float(__byte_perm(beyond, rounded, 0x5410) - nothing),
                       __uint_as_float(__byte_perm(beyond, rounded, 0x7632) - nothing));
}

/* The chain over eight neighbouring d from element `at` on. */
template <class Sum, bool BYTES>
__device__ __forceinline__ Sum chain_from(const RowValues &a, size_t at)
{
    const uint4 dout = *reinterpret_cast<const uint4 *>(a.dout + at);
    const uint4 o = *reinterpret_cast<const uint4 *>(a.o + at);
    const uint4 u = load_beyond<BYTES>(a, at);
    const uint32_t g[4] = {dout.x, dout.y, dout.z, dout.w};
    const uint32_t rounded[4] = {o.x, o.y, o.z, o.w}, beyond[4] = {u.x, u.y, u.z, u.w};
    float y[8];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float2 pair = whole_pair(rounded[i], beyond[i]);
        y[2 * i] = pair.x, y[2 * i + 1] = pair.y;
    }
    return chain_of<Sum>(g, y);
}

/* delta of a query from its chains. */
__device__ __forceinline__ float sum_of(const float *chain, int count, float)
{
    float delta = chain[0];
    for (int x = 1; x < count; x++)
        delta = __fadd_rn(delta, chain[x]);
    return delta;
}

__device__ __forceinline__ float sum_of(const double *chain, int count, float inv)
{
    return gg_ta_wide_delta(chain, count, inv);
}

/* Of rows without a valid key, which the queries kernel leaves out, dq becomes zero here. */
__device__ __forceinline__ void clear_dead_dq(const RowValues &a, int plane, int query,
                                              int queries)
{
    if (!a.words || !a.dq
        || a.words[plane / a.H * word_stride(a.tiles) + row_word(RowWord::LIVE, a.tiles)] != 0)
        return;
    const size_t row_bytes = (size_t)a.D * a.dq_bytes;
    uint4 *dq = reinterpret_cast<uint4 *>(a.dq + ((size_t)plane * a.N + query) * row_bytes);
    for (int x = (int)lane_now(); x < queries * (int)row_bytes / 16; x += 32)
        dq[x] = make_uint4(0, 0, 0, 0);
}

/* A warp has 32 queries, up to a multiple of 64 beyond N, whose row values are 0: its lanes take
 * chains of eight d in turn, then each a query. Dynamic shared memory: the chains. */
template <class Sum, bool BYTES>
__global__ void __launch_bounds__(32 * WARPS) row_values_kernel(RowValues a)
{
    wait_for_grid_before();
    let_grid_behind_start();
    const int of_query = a.D / 8, lane = (int)(threadIdx.x & 31), warp = (int)threadIdx.x / 32;
    const int parts = a.tiles * (GG_TA_TILE / QUERIES); /* of a plane */
    const unsigned part = blockIdx.x * WARPS + warp;
    const int plane = (int)(part / parts), query = (int)(part % parts) * QUERIES;
    const int queries = min((int)QUERIES, a.N - query); /* or none, beyond N */
    const size_t row = (size_t)plane * a.N + query;
    if (part >= a.parts)
        return;
    Sum *chain = reinterpret_cast<Sum *>(shared_memory()) + warp * QUERIES * of_query;
#pragma unroll 4
    for (int x = lane; x < queries * of_query; x += 32)
        chain[x] = chain_from<Sum, BYTES>(a, row * a.D + 8 * x);
    clear_dead_dq(a, plane, query, queries);
    __syncwarp();
    uint16_t piece[GG_TA_ROW_PIECES] = {};
    if (lane < queries) {
        const float inv = a.inv[row + lane];
        const float delta = sum_of(chain + lane * of_query, of_query, inv);
        gg_ta_row(a.m[row + lane], inv, delta, a.rc1, a.rc1_low, piece);
    }
    a.values[(size_t)part * QUERIES + lane] =
        make_uint4(piece[0] | piece[1] << 16, piece[2] | piece[3] << 16,
                   piece[4] | piece[5] << 16, piece[6] | piece[7] << 16);
}

} // namespace

cudaError_t gg_ta_twopass_rows(const gg_ta_call &u, const gg_ta_twopass_saved &saved,
                               const TwopassSpace &space, bool wide)
{
    RowValues a = {};
    a.values = reinterpret_cast<uint4 *>(space.rows);
    a.m = saved.m, a.inv = saved.inv;
    a.dout = u.dout, a.o = u.o;
    a.beyond = saved.beyond, a.beyond_byte = saved.beyond_byte;
    a.words = u.keys == GG_TA_KEYS_ALL ? nullptr : space.words;
    a.dq = static_cast<char *>(u.dq), a.dq_bytes = u.grad_f32 ? 4 : 2;
    a.H = u.H, a.N = u.N, a.D = u.D, a.tiles = (int)tiles_of(u);
    a.rc1 = u.rc1, a.rc1_low = u.rc1_low;
    a.parts = (unsigned)(planes_of(u) * a.tiles * (GG_TA_TILE / QUERIES));
    const size_t chains = (size_t)WARPS * QUERIES * (u.D / 8) * (wide ? 8 : 4);
    const size_t ctas = ((size_t)a.parts + WARPS - 1) / WARPS;
    const auto kernel = !wide         ? row_values_kernel<float, true>
                        : saved.beyond ? row_values_kernel<double, false>
                                       : row_values_kernel<double, true>;
    return launch(kernel, ctas, 32 * WARPS, chains, (cudaStream_t)u.stream, a, true);
}
