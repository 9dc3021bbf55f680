/* SPDX-License-Identifier: Apache-2.0
 * Backward pass of `twopass` and `split` that owns keys: dk and dv (README.md).
 *
 * A piece of work is 128 keys of two rows r and all query tiles; as many CTAs as there are
 * multiprocessors take pieces in turn, with the copies for the next under way while the results
 * of one are stored. Four warpgroups compute, each 64 keys of one row; a fifth copies, the bias
 * for two CTAs where all keys are valid. Rows of the accumulators are keys: S^T = k q^T and
 * dP^T = v dout^T come out as the A operands that dv = P^T dout and dk = dS^T q need. With four
 * warpgroups at hand the steps of one hide the waits of another without pipelining in the
 * source.
 *
 * A product of an invalid key stays in that key's own row of dk and dv, which is stored as
 * zero, so the inner loop knows no mask.
 *
 * Registers of a computing thread, W = 32: k and v 16, dk and dv 32, S and dP 32, operands
 * 16 (32 with pairs), ones 4: at most 112, because scores become operands piece by piece. The bias
 * that scores start from is loaded into them under the products of the step before.
 * Shared memory: three or four stages of q and dout of two rows (64 x W each), the bias of 128
 * keys x 64 queries and row values between zeros, 53 KB a stage at W = 32; k and v of a piece of
 * work, copied
 * while the one before is under way, 32 KB; and 32 KB for results on their way out.
 * W = 64: one row, two warpgroups, 240 registers: k and v 32, dk and dv 64, S and dP 32,
 * operands 16 (32 with pairs); stages of 49 KB. */
#include "kernels/triangle_attention/twopass_device.cuh"

namespace {

struct Keys {
    CUtensorMap q, dout, k, v;
    const char *bias;      /* bias tiles, rows are keys */
    const uint16_t *values; /* row values */
    const uint64_t *words; /* [B R][word_stride], or NULL: every key is valid */
    const int *order;      /* [B R], rows in order of work, or NULL */
    void *dk, *dv;         /* [B,R,H,N,D] or NULL */
    int R, H, N, D, tiles;
    int blocks, row_groups, items; /* of 128 keys; of rows; pieces of work */
    int fellows;                   /* see Piece */
    int skew;                      /* see Deal */
    float sc, c1; /* 1 / sqrt(D); a logit to units of log 2 */
    bool f32;
};

template <int W>
struct Plan {
    static constexpr int ROWS = W == 64 ? 1 : 2, HALVES = 2, GROUPS = ROWS * HALVES;
    static constexpr int WARPS = 4 * GROUPS;
    static constexpr int THREADS = 128 * GROUPS + 128, STAGES = W == 16 ? 4 : 3;
    static constexpr int TILE = 64 * W * 2, BLOCK = 2 * BIAS_TILE;
    static constexpr int BIAS = 2 * ROWS * TILE, VALUES = BIAS + HALVES * BLOCK;
    /* Row values of each row between zeros of the same size (set_ones_operand()). */
    static constexpr int COPIED = VALUES + ROWS * ROW_VALUES;
    static constexpr int STAGE = VALUES + (2 * ROWS + 1) * ROW_VALUES;
    static __host__ __device__ constexpr int values_of(int row)
    {
        return (2 * row + 1) * ROW_VALUES;
    }
    static constexpr int OPERANDS = STAGES * STAGE;
    static constexpr int ONES = OPERANDS + 2 * GROUPS * TILE;
    static constexpr int OUT = ONES + ONES_OPERAND_BYTES; /* four buffers a warp */
    static constexpr int HEADERS = OUT + WARPS * 4 * ROWS_OUT<W>;
    static constexpr int BARRIERS = HEADERS + 2 * GROUPS * 16;
    static constexpr int OPERAND_BARRIERS = BARRIERS + 16 * STAGES;
    static constexpr int FREE_BARRIERS = OPERAND_BARRIERS + 16;
    static constexpr int SHARED = FREE_BARRIERS + 8 * STAGES;
    static_assert(STAGE % (16 * W) == 0 && OPERANDS % (16 * W) == 0
                      && SHARED <= SHARED_LIMIT,
                  "every stage is aligned");
};

/* The zeros of a stage, before, between and behind the row values of its rows. */
template <class Plan>
__device__ __forceinline__ void clear_zeros(uint32_t values)
{
    constexpr int WORDS = ROW_VALUES / 4;
    for (int x = (int)threadIdx.x; x < (Plan::ROWS + 1) * WORDS; x += Plan::THREADS)
        asm volatile("st.shared.b32 [%0], %1;"
                     :
                     : "r"(values + x / WORDS * 2 * ROW_VALUES + x % WORDS * 4), "r"(0)
                     : "memory");
}

/* The pieces of work of a CTA: one of each round of as many pieces as there are CTAs, `skew`
 * places further on each time. Without that a CTA whose number of fellows the blocks divide
 * would have the same block each time: all alive, or all beyond the keys of most rows. */
struct Deal {
    int round, place;

    __device__ __forceinline__ Deal(const Keys &a) : round(0), place(first_piece(a.fellows)) {}
    __device__ __forceinline__ int item() const { return round + place; }
    __device__ __forceinline__ void next(const Keys &a)
    {
        const int ctas = pieces_at_a_time(a.fellows);
        round += ctas;
        place += a.skew;
        if (place >= ctas)
            place -= ctas;
    }
};

/* Valid keys of one key tile of row r; 0 for a tile beyond N. */
__device__ __forceinline__ uint64_t key_word(const Keys &a, int b, int r, int tile)
{
    if (!a.words)
        return ~0ull;
    return tile < a.tiles ? a.words[(size_t)(b * a.R + r) * word_stride(a.tiles) + tile]
                          : 0;
}

/* What a warpgroup needs to know of its keys, made by the copying thread, which has the time:
 * at 16 bytes in shared memory, for this piece of work and the next. */
struct Header {
    uint32_t plane;    /* of [B R H] */
    uint32_t state;    /* bit 0: the piece has a valid key; bit 1: the row is not a repeat */
    uint64_t word;     /* valid keys of the 64 */

    __device__ __forceinline__ bool alive() const { return state & 1; }
    __device__ __forceinline__ bool mine() const { return state & 2; }
    __device__ __forceinline__ void put(uint32_t to) const
    {
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
                     :
                     : "r"(to), "r"(plane), "r"(state), "r"((uint32_t)word),
                       "r"((uint32_t)(word >> 32))
                     : "memory");
    }
    static __device__ __forceinline__ Header get(uint32_t from)
    {
        uint32_t x[4];
        asm volatile("ld.volatile.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(from));
        return {x[0], x[1], (uint64_t)x[3] << 32 | x[2]};
    }
};

/* Headers, k and v of a piece of work. Returns whether it has a valid key. */
template <int W>
__device__ __forceinline__ bool copy_operands(const Keys &a, uint32_t start,
                                              const Piece<Plan<W>::ROWS> &p, Ring<1> &ring)
{
    typedef Plan<W> P;
    Header all[P::GROUPS];
    uint64_t any = 0;
#pragma unroll
    for (int i = 0; i < P::GROUPS; i++) {
        const int row = i / 2, r = p.row(a, row);
        all[i].plane = (uint32_t)((p.b * a.R + r) * a.H + p.h);
        all[i].word = key_word(a, p.b, r, 2 * p.block + i % 2);
        all[i].state = row < p.rows ? 2 : 0;
        any |= all[i].word;
    }
    barrier_wait(ring.empty(), ring.parity);
#pragma unroll
    for (int i = 0; i < P::GROUPS; i++) {
        all[i].state |= any != 0;
        all[i].put(start + P::HEADERS + ((ring.parity ^ 1) * P::GROUPS + i) * 16);
    }
    barrier_expect(ring.full(), 2 * P::GROUPS * P::TILE);
#pragma unroll
    for (int i = 0; i < P::GROUPS; i++) {
        const uint32_t to = start + P::OPERANDS + 2 * i * P::TILE;
        const int key = 128 * p.block + 64 * (i % 2), plane = (int)all[i].plane;
        copy_box(to, &a.k, key, plane, ring.full());
        copy_box(to + P::TILE, &a.v, key, plane, ring.full());
    }
    ring.advance();
    return any != 0;
}

template <int W>
__device__ __forceinline__ void copy_item(const Keys &a, uint32_t start,
                                          const Piece<Plan<W>::ROWS> &p,
                                          Ring<Plan<W>::STAGES> &ring)
{
    typedef Plan<W> P;
    const char *bias =
        a.bias
        + ((size_t)(p.b * a.H + p.h) * (2 * a.blocks) + 2 * p.block) * a.tiles * P::BLOCK;
    int plane[P::ROWS];
#pragma unroll
    for (int i = 0; i < P::ROWS; i++)
        plane[i] = (p.b * a.R + p.row(a, i)) * a.H + p.h;
    for (int t = 0; t < a.tiles; t++, ring.advance()) {
        barrier_wait(ring.empty(), ring.parity);
        const uint32_t full = ring.full(), to = start + ring.stage * P::STAGE;
        barrier_expect(full, P::COPIED);
#pragma unroll
        for (int i = 0; i < P::ROWS; i++) {
            copy_box(to + 2 * i * P::TILE, &a.q, 64 * t, plane[i], full);
            copy_box(to + (2 * i + 1) * P::TILE, &a.dout, 64 * t, plane[i], full);
            copy_bytes(to + P::VALUES + P::values_of(i),
                       a.values + ((size_t)plane[i] * a.tiles + t) * (ROW_VALUES / 2), ROW_VALUES,
                       full);
        }
        copy_bias(a.fellows, to + P::BIAS, bias + (size_t)t * P::BLOCK,
                  (size_t)a.tiles * P::BLOCK, ring, start + P::FREE_BARRIERS);
    }
}

/* A thread's part of one row of dk or dv in FP32, times `factor`; +0 unless valid. x: its
 * first element, those of 8 columns on are 4 apart. */
template <int W>
__device__ __forceinline__ void store_row(float *to, const float *x, float factor, bool valid,
                                          int D)
{
    float2 *row = reinterpret_cast<float2 *>(to);
#pragma unroll
    for (int n = 0; n < W / 8; n++)
        if (8 * n < D)
            row[4 * n] = valid ? make_float2(x[4 * n] * factor, x[4 * n + 1] * factor)
                               : make_float2(0.0f, 0.0f);
}

/* 64 keys of one row. A step takes 32 queries. */
template <int W, bool PAIRS>
struct Block {
    uint32_t k[W / 16][4], v[W / 16][4];
    float dk[W / 2], dv[W / 2];
    uint32_t ones[4]; /* of set_ones_operand() */

    float s[16]; /* of the step at hand, or the bias that those of the next start from */
    /* q, dout, values: start words of the step's 32 tile rows and row values. then: the
     * thread's first piece of the next step's bias. */
    __device__ __forceinline__ void step(uint32_t q, uint32_t dout, uint32_t values,
                                         uint32_t then, float c1)
    {
        float ds[16];
        settled(s);
        wgmma_fence();
#pragma unroll
        for (int x = 0; x < W / 16; x++)
            wgmma<0>(s, k[x], tile_descriptor<W>(q + 2 * x), 1);
        wgmma<0>(s, ones, plain_descriptor<false>(values), 1);
        wgmma<0>(ds, ones, plain_descriptor<false>(values - ROW_VALUES / 16), 0);
#pragma unroll
        for (int x = 0; x < W / 16; x++)
            wgmma<0>(ds, v[x], tile_descriptor<W>(dout + 2 * x), 1);
        wgmma_commit();
        wgmma_wait();
        settled(s);
        settled(ds);
        uint32_t p_high[8], p_low[PAIRS ? 8 : 1], ds_high[8], ds_low[PAIRS ? 8 : 1];
#pragma unroll
        for (int x = 0; x < 2; x++) { /* products of one half run under the work on the other */
#pragma unroll
            for (int i = 8 * x; i < 8 * x + 8; i++) {
                s[i] = ex2(s[i] * c1);
                ds[i] *= s[i];
            }
            to_operand<PAIRS>(s + 8 * x, p_high + 4 * x, PAIRS ? p_low + 4 * x : p_low);
            to_operand<PAIRS>(ds + 8 * x, ds_high + 4 * x, PAIRS ? ds_low + 4 * x : ds_low);
            wgmma_fence();
            multiply_rows<W, PAIRS, 1>(dv, p_high + 4 * x, PAIRS ? p_low + 4 * x : p_low,
                                       dout + x * 2 * W, 1);
            multiply_rows<W, PAIRS, 1>(dk, ds_high + 4 * x, PAIRS ? ds_low + 4 * x : ds_low,
                                       q + x * 2 * W, 1);
        }
        wgmma_commit();
        if (!PAIRS) /* asked for before the wait, if there are registers */
            load_accumulators(s, then);
        wgmma_wait();
        settled(dv);
        settled(dk);
        if (PAIRS)
            load_accumulators(s, then);
    }

    /* key0: the block's first key; word: its valid keys; buffers: the warp's. */
    __device__ __forceinline__ void store(const Keys &a, size_t plane, int key0, uint64_t word,
                                          uint32_t buffers)
    {
        const int warp_row = 16 * (int)(threadIdx.x >> 5 & 3);
        const size_t first = (plane * a.N + key0 + warp_row) * a.D;
        if (a.f32)
            store_wide(a, first, a.N - key0 - warp_row, word >> warp_row);
        else
            store_rounded(a, first, a.N - key0 - warp_row, word >> warp_row, buffers);
    }

    /* first: index of the warp's first key, of which `count` lie inside N; word: from it on. */
    __device__ __forceinline__ void store_wide(const Keys &a, size_t first, int count,
                                               uint64_t word)
    {
        const int row = (int)(threadIdx.x >> 2 & 7);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int key = row + 8 * half;
            if (key >= count)
                continue;
            const bool valid = word >> key & 1;
            const size_t at = first + (size_t)key * a.D + 2 * (threadIdx.x & 3);
            if (a.dk)
                store_row<W>(static_cast<float *>(a.dk) + at, dk + 2 * half, a.sc, valid, a.D);
            if (a.dv)
                store_row<W>(static_cast<float *>(a.dv) + at, dv + 2 * half, 1.0f, valid, a.D);
        }
    }

    __device__ __forceinline__ void store_rounded(const Keys &a, size_t first, int count,
                                                  uint64_t word, uint32_t buffers)
    {
        __syncwarp(); /* the piece before has been read */
#pragma unroll
        for (int half = 0; half < 2; half++) {
            round_rows<W>(buffers + 2 * half * ROWS_OUT<W>, dk + 2 * half, a.sc);
            round_rows<W>(buffers + (2 * half + 1) * ROWS_OUT<W>, dv + 2 * half, 1.0f);
        }
        __syncwarp();
        const RowPiece<W> mine;
#pragma unroll
        for (int i = 0; i < 2 * ROW_PARTS<W>; i++) {
            const int half = i / ROW_PARTS<W>;
            const RowPiece<W> lane(mine, i % ROW_PARTS<W>);
            if (!lane.inside(count - 8 * half, a.D))
                continue;
            const int key = 8 * half + (int)lane.row;
            const bool valid = word >> key & 1;
            const size_t at = first + (size_t)key * a.D + 8 * lane.piece;
            const uint32_t from = buffers + 2 * half * ROWS_OUT<W>;
            const uint4 zero = make_uint4(0, 0, 0, 0);
            if (a.dk)
                *reinterpret_cast<uint4 *>(static_cast<uint16_t *>(a.dk) + at) =
                    valid ? lane.take(from) : zero;
            if (a.dv)
                *reinterpret_cast<uint4 *>(static_cast<uint16_t *>(a.dv) + at) =
                    valid ? lane.take(from + ROWS_OUT<W>) : zero;
        }
    }
};

/* The keys of one warpgroup through all query tiles of a piece of work. key0: its first. */
template <int W, bool PAIRS>
__device__ __forceinline__ void one_item(const Keys &a, uint32_t start, int key0,
                                         Ring<Plan<W>::STAGES> &ring, Ring<1> &operands,
                                         int warp)
{
    typedef Plan<W> P;
    const int group = warp >> 2, half = group & 1, row = group >> 1;
    const uint32_t header = start + P::HEADERS + (operands.parity * P::GROUPS + group) * 16;
    Block<W, PAIRS> keys;
    load_ones_operand(keys.ones, start + P::ONES);
    barrier_wait(operands.full(), operands.parity);
    const uint32_t mine = start + P::OPERANDS + 2 * group * P::TILE + operand_of_lane<W>();
    load_operand<W>(keys.k, mine);
    load_operand<W>(keys.v, mine + P::TILE);
    const Header my = Header::get(header);
    release_stage(operands.empty());
    operands.advance();
#pragma unroll
    for (int i = 0; i < W / 2; i++)
        keys.dk[i] = keys.dv[i] = 0.0f;

    const uint32_t bias = start + P::BIAS + half * P::BLOCK + 16 * (threadIdx.x & 127);
    const uint32_t values =
        kept_uniform(plain_start<ROW_VALUES>(start + P::VALUES + P::values_of(row)));
    const uint32_t queries = kept_uniform(tile_start(start + 2 * row * P::TILE));
    if (uniform<true>(my.alive())) {
        const bool valid = uniform<true>(my.word != 0);
        barrier_wait(ring.full(), ring.parity);
        load_accumulators(keys.s, bias + ring.stage * P::STAGE);
        for (int t = 0; t < a.tiles; t++) {
            const int at = ring.stage * P::STAGE;
            const uint32_t q = queries + at / 16, second = 32 * W * 2 / 16;
            Ring<P::STAGES> ahead = ring; /* behind the last tile: any bias will do */
            if (t + 1 < a.tiles)
                ahead.advance();
            if (valid)
                keys.step(q, q + P::TILE / 16, values + at / 16,
                          bias + at + BIAS_TILE, a.c1);
            barrier_wait(ahead.full(), ahead.parity);
            if (valid)
                keys.step(q + second, q + second + P::TILE / 16, values + at / 16 + 32,
                          bias + ahead.stage * P::STAGE, a.c1);
            release_stage(ring.empty());
            ring.advance();
        }
    }
    const Header again = Header::get(header); /* rather than kept through the loop */
    if (again.mine())
        keys.store(a, again.plane, key0, again.word,
                   start + P::OUT + warp * 4 * ROWS_OUT<W>);
}

template <int W, bool PAIRS>
__global__ void __launch_bounds__(Plan<W>::THREADS, 1)
    keys_kernel(const __grid_constant__ Keys a)
{
    typedef Plan<W> P;
    const uint32_t start = shared_start();
    const int warp = __shfl_sync(0xffffffffu, (int)(threadIdx.x >> 5), 0);
    set_ones_operand(start + P::ONES);
    for (int i = 0; i < P::STAGES; i++)
        clear_zeros<P>(start + i * P::STAGE + P::VALUES);
    if (threadIdx.x == 0) {
        ring_init<P::STAGES>(start + P::BARRIERS, P::WARPS);
        ring_init<1>(start + P::OPERAND_BARRIERS, P::WARPS);
        for (int i = 0; i < P::STAGES; i++)
            barrier_init(start + P::FREE_BARRIERS + 8 * i, 1);
    }
    publish_shared();
    cluster_sync();
    wait_for_grid_before();
    let_grid_behind_start();
    if (warp >= P::WARPS) {
        give_registers<P::GROUPS>();
        Ring<P::STAGES> ring = {start + P::BARRIERS, 0, 1};
        Ring<1> operands = {start + P::OPERAND_BARRIERS, 0, 1};
        if (warp == P::WARPS && (threadIdx.x & 31) == 0)
            for (Deal deal(a); deal.item() < a.items; deal.next(a)) {
                const Piece<P::ROWS> p(a, deal.item());
                if (copy_operands<W>(a, start, p, operands))
                    copy_item<W>(a, start, p, ring);
            }
        return;
    }
    take_registers<P::GROUPS>();
    Ring<P::STAGES> ring = {start + P::BARRIERS, 0, 0};
    Ring<1> operands = {start + P::OPERAND_BARRIERS, 0, 0};
    for (Deal deal(a); deal.item() < a.items; deal.next(a))
        one_item<W, PAIRS>(a, start,
                           128 * (deal.item() % a.blocks) + 64 * (warp >> 2 & 1), ring,
                           operands, warp);
}

int common_divisor(int x, int y)
{
    return y == 0 ? x : common_divisor(y, x % y);
}

template <int W, bool PAIRS>
cudaError_t start(const gg_ta_call &u, Keys a)
{
    typedef Plan<W> P;
    int ctas;
    GG_TRY_CUDA(multiprocessors(&ctas));
    const int at_a_time = min(ctas / a.fellows, a.items);
    while (common_divisor(at_a_time + a.skew, a.blocks) > 1)
        a.skew++;
    const Launch how = {dim3((unsigned)(a.fellows * at_a_time)), P::THREADS, P::SHARED,
                        (cudaStream_t)u.stream, a.fellows, true};
    return launch(keys_kernel<W, PAIRS>, how, a);
}

} // namespace

cudaError_t gg_ta_twopass_keys(const gg_ta_call &u, const TwopassSpace &space, bool pairs)
{
    const TwopassTiles t = twopass_tiles(u);
    const int W = twopass_columns(u.D);
    Keys a = {};
    a.fellows = fellows_of(u);
    const int rows = a.fellows * (W == 64 ? Plan<64>::ROWS : Plan<32>::ROWS);
    a.bias = static_cast<const char *>(space.bias_turned);
    a.values = space.rows;
    a.words = u.keys == GG_TA_KEYS_ALL ? nullptr : space.words;
    a.order = u.keys == GG_TA_KEYS_ALL ? nullptr : space.order;
    a.dk = u.dk, a.dv = u.dv;
    a.R = u.R, a.H = u.H, a.N = u.N, a.D = u.D, a.tiles = t.tiles;
    a.blocks = t.even / 2, a.row_groups = (u.R + rows - 1) / rows;
    a.items = (int)(bias_planes_of(u) * a.blocks * a.row_groups);
    a.sc = u.sc, a.c1 = u.c1;
    a.f32 = u.grad_f32 != 0;
    GG_TRY_CUDA(make_tensor_map(&a.q, u.q, planes_of(u), u.N, u.D, W));
    GG_TRY_CUDA(make_tensor_map(&a.dout, u.dout, planes_of(u), u.N, u.D, W));
    GG_TRY_CUDA(make_tensor_map(&a.k, u.k, planes_of(u), u.N, u.D, W));
    GG_TRY_CUDA(make_tensor_map(&a.v, u.v, planes_of(u), u.N, u.D, W));
    if (W == 16)
        return pairs ? start<16, true>(u, a) : start<16, false>(u, a);
    if (W == 32)
        return pairs ? start<32, true>(u, a) : start<32, false>(u, a);
    return pairs ? start<64, true>(u, a) : start<64, false>(u, a);
}
