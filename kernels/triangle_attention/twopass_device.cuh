/* SPDX-License-Identifier: Apache-2.0
 * Device parts of the three tile kernels of `twopass` and `split`. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_DEVICE_CUH
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_DEVICE_CUH

#include "kernels/triangle_attention/cluster.cuh"
#include "kernels/triangle_attention/device.cuh"
#include "kernels/triangle_attention/tma.cuh"
#include "kernels/triangle_attention/twopass.cuh"
#include "kernels/triangle_attention/twopass_row.h"
#include "kernels/triangle_attention/wgmma.cuh"

enum {
    BIAS_TILE = 64 * 32 * 4, /* bytes of a bias tile of 64 x 32 */
    /* Of the words of a row (twopass.cuh), up to PART. */
    ROW_WORDS = (GG_TA_TWOPASS_MAX_KEYS / GG_TA_TILE + 2) * 8,
    ROW_VALUES = GG_TA_TILE * 16,    /* bytes of the row values of 64 queries */
    SHARED_LIMIT = 227 * 1024        /* of a CTA on sm_90 */
};

/* What a persistent CTA takes at a time: 128 queries or keys from 128 `block` on, ROWS rows;
 * beyond the last row, it again. Where all keys are valid two CTAs, fellows, form a cluster: a
 * piece of work is twice as many rows, half of them for each, and they share the bias. Arguments
 * have blocks, row_groups, fellows (2, or 1), order, R and H. */
template <int ROWS>
struct Piece {
    int block, r0, h, b; /* r0: place of the first row in their order */
    int rows;            /* of ROWS; 0 or less: none is left */

    template <class Arguments>
    __device__ __forceinline__ Piece(const Arguments &a, int piece)
    {
        block = piece % a.blocks;
        piece /= a.blocks;
        r0 = (piece % a.row_groups * a.fellows + (int)cluster_rank()) * ROWS;
        piece /= a.row_groups;
        h = piece % a.H;
        b = piece / a.H;
        rows = min(ROWS, a.R - r0);
    }
    template <class Arguments>
    __device__ __forceinline__ int row(const Arguments &a, int i) const
    {
        return ordered_row(a.order, b, a.R, min(r0 + i, a.R - 1));
    }
};

/* With a mask more rows would share tiles that are dead in some of them. */
template <bool MASKED>
constexpr int FELLOWS = MASKED ? 1 : 2;

static inline int fellows_of(const gg_ta_call &u)
{
    return u.keys == GG_TA_KEYS_ALL ? FELLOWS<false> : FELLOWS<true>;
}

/* How many pieces are taken at a time, and which of them is this CTA's. */
__device__ __forceinline__ int pieces_at_a_time(int fellows)
{
    return (int)gridDim.x >> (fellows - 1);
}

__device__ __forceinline__ int first_piece(int fellows)
{
    int cta;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(cta)); /* read again, not kept */
    return cta >> (fellows - 1);
}

/* Two blocks of bias, `stride` bytes apart, to a stage of the ring, of which the copying thread has
 * waited for its own warps. Fellows bring one each, for both, so that L2 is asked for it once: when
 * the other has waited for its warps too. `free`: a barrier for each stage, at which it says so. */
template <int STAGES>
__device__ __forceinline__ void copy_bias(int fellows, uint32_t to, const char *from, size_t stride,
                                          const Ring<STAGES> &ring, uint32_t free)
{
    constexpr int BLOCK = 2 * BIAS_TILE;
    if (fellows == 1) {
        for (int i = 0; i < 2; i++)
            copy_bytes(to + i * BLOCK, from + i * stride, BLOCK, ring.full());
        return;
    }
    const int rank = (int)cluster_rank();
    const uint32_t mine = free + 8 * ring.stage;
    cluster_arrive(cluster_address(mine, rank ^ 1));
    barrier_wait(mine, ring.parity ^ 1);
    copy_bytes_to(3, to + rank * BLOCK, from + rank * stride, BLOCK, ring.full());
}

/* Where k and v of a key tile come from: as they are, from the copy without its invalid keys,
 * or, to be zero, from beyond the tensor. */
enum class TileSource { ALL, PART, NONE };

/* By two bits of RowWord. */
__device__ __forceinline__ TileSource tile_source(bool whole, bool part)
{
    return whole ? TileSource::ALL : part ? TileSource::PART : TileSource::NONE;
}

/* Start of the dynamic shared memory, aligned (device.cuh), as a 32-bit shared address: as a
 * generic pointer it would turn every load into a generic one. */
__device__ __forceinline__ uint32_t shared_start()
{
    return shared_address(shared_memory());
}

/* A volatile read: neither it nor what follows from it is kept in registers through a loop, as
 * with threadIdx.x. */
__device__ __forceinline__ uint32_t lane_now()
{
    uint32_t lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

__device__ __forceinline__ uint32_t thread_now()
{
    uint32_t thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}

__device__ __forceinline__ uint32_t lane_in_four()
{
    return lane_now() & 3;
}

/* Loads stay behind the barrier waits because both are volatile. */
__device__ __forceinline__ uint32_t load_shared_word(uint32_t address)
{
    uint32_t x;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(address));
    return x;
}

/* x, the same in all threads of the warp, known as that and kept: what follows from shared
 * addresses alone would be formed again in front of each product. */
__device__ __forceinline__ uint32_t kept_uniform(uint32_t x)
{
    return __shfl_sync(0xffffffffu, x, 0);
}

/* A word of shared memory that all threads of the warp read: so that the compiler knows. What it
 * takes for different from thread to thread costs descriptors in ordinary registers. */
__device__ __forceinline__ uint32_t load_shared_uniform(uint32_t address)
{
    return kept_uniform(load_shared_word(address));
}

/* A condition that is the same in all threads of the warp, made known by a vote: unlike one on a
 * loaded word it leaves what hangs on it, such as descriptors, in uniform registers. */
template <bool ASKED>
__device__ __forceinline__ bool uniform(bool x)
{
    return ASKED ? __any_sync(0xffffffffu, x) : x;
}

/* ld.volatile: equal loads would be merged, and the value copied register by register. */
__device__ __forceinline__ uint4 load_shared_piece(uint32_t address)
{
    uint4 x;
    asm volatile("ld.volatile.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "r"(address));
    return x;
}

/* The same as FP32: of bits made into FP32 ptxas would allocate the accumulators otherwise. */
__device__ __forceinline__ float4 load_shared4(uint32_t address)
{
    float4 x;
    asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
                 : "r"(address));
    return x;
}

/* 16 or eight bytes to an address in global memory, if `inside`: without a branch. */
__device__ __forceinline__ void store_piece(uint64_t to, const uint4 &x, bool inside)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\n"
                 "@p st.global.v4.b32 [%0], {%1, %2, %3, %4};\n}\n"
                 :
                 : "l"(to), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"((int)inside)
                 : "memory");
}

__device__ __forceinline__ void store_piece(uint64_t to, const uint2 &x, bool inside)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %3, 0;\n"
                 "@p st.global.v2.b32 [%0], {%1, %2};\n}\n"
                 :
                 : "l"(to), "r"(x.x), "r"(x.y), "r"((int)inside)
                 : "memory");
}

__device__ __forceinline__ void store_shared(uint32_t address, float x)
{
    asm volatile("st.shared.f32 [%0], %1;" : : "r"(address), "f"(x) : "memory");
}

/* N accumulators of a thread from [N / 4][128 threads][4]: its part of a bias tile, or of two,
 * which scores start from; or of dq. FROM, TO: of its quads, if not all. */
template <int N, int FROM = 0, int TO = N / 4>
__device__ __forceinline__ void load_accumulators(float (&s)[N], uint32_t address)
{
#pragma unroll
    for (int n = FROM; n < TO; n++) {
        const float4 x = load_shared4(address + n * (128 * 16));
        s[4 * n] = x.x, s[4 * n + 1] = x.y, s[4 * n + 2] = x.z, s[4 * n + 3] = x.w;
    }
}

/* Ones in shared memory that add up a query's pieces in a step: eight rows alike with a one at
 * the k of those of its scores, eight of zeros for k from 8 on; and the same for dP, 256 bytes
 * on. ONES_BYTES at `start`, all threads of the CTA. */
enum { ONES_BYTES = 4 * 128, DELTA_ONES = 2 * 128 };

__device__ __forceinline__ void set_ones(uint32_t start)
{
    for (int x = (int)threadIdx.x; x < ONES_BYTES / 4; x += (int)blockDim.x) {
        const int k = 2 * (x % 4), which = x / 32;
        const int from = which == 0 ? 0 : GG_TA_SHIFT_PIECES;
        const int to = which == 0 ? GG_TA_SHIFT_PIECES : which == 2 ? GG_TA_ROW_PIECES : 0;
        const uint32_t low = k >= from && k < to ? 0x3f80u : 0u;
        const uint32_t high = k + 1 >= from && k + 1 < to ? 0x3f80u : 0u;
        asm volatile("st.shared.b32 [%0], %1;" : : "r"(start + 4 * x), "r"(low | high << 16)
                     : "memory");
    }
}

/* Ones that add up a query's pieces in a step, as the A operand of both products: at the eight k of
 * the lower half for those of its scores, at those of the upper half for those of dP. So the row
 * values are B with zeros behind for the former, and zeros before them for the latter: ROW_VALUES
 * of them lie on either side. A register operand costs no shared memory, and one load brings it
 * whole: of values that it knows to be alike ptxas makes a copy for each product. */
enum { ONES_OPERAND_BYTES = 32 * 16 };

__device__ __forceinline__ void set_ones_operand(uint32_t start)
{
    if (threadIdx.x >= 32)
        return;
    const uint32_t k = 2 * (threadIdx.x & 3), one = 0x3f80u;
    const uint32_t of_scores = (k < GG_TA_SHIFT_PIECES ? one : 0u)
                               | (k + 1 < GG_TA_SHIFT_PIECES ? one << 16 : 0u);
    asm volatile("st.shared.v4.b32 [%0], {%1, %1, %2, %2};"
                 :
                 : "r"(start + 16 * threadIdx.x), "r"(of_scores),
                   "r"(of_scores ^ (one | one << 16))
                 : "memory");
}

__device__ __forceinline__ void load_ones_operand(uint32_t (&a)[4], uint32_t start)
{
    const uint4 x = load_shared_piece(start + 16 * lane_now());
    a[0] = x.x, a[1] = x.y, a[2] = x.z, a[3] = x.w;
}

/* 16 columns, an A operand of four registers, from eight accumulators: the high part is
 * rounded to BF16 (2^-9 of x), the low part is what that lost, rounded too: 2^-18 left. */
template <bool PAIRS>
__device__ __forceinline__ void to_operand(const float *x, uint32_t *high, uint32_t *low)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        high[i] = pack_bf16(x[2 * i], x[2 * i + 1]);
        if (PAIRS)
            low[i] = pack_bf16(__fsub_rn(x[2 * i], low_bf16(high[i])),
                               __fsub_rn(x[2 * i + 1], high_bf16(high[i])));
    }
}

/* What the swizzle of a tile does to the 16-byte pieces of a row: their numbers are turned. */
template <int W>
__device__ __forceinline__ uint32_t turn_of_row(uint32_t row)
{
    return W == 64 ? row & 7 : W == 32 ? row >> 1 & 3 : row >> 2 & 1;
}

/* acc = chain(acc; x, tile rows [k][W]) over 16 STEPS values of k, high then low in each
 * step; the first step starts from +0 unless keep. */
template <int W, bool PAIRS, int STEPS>
__device__ __forceinline__ void multiply_rows(float (&acc)[W / 2], const uint32_t *high,
                                              const uint32_t *low, uint32_t start, int keep)
{
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        const uint64_t b = tile_descriptor<W>(start + k * 2 * W);
        wgmma<1>(acc, high + 4 * k, b, k > 0 || keep);
        if (PAIRS)
            wgmma<1>(acc, low + 4 * k, b, 1);
    }
}

/* acc = chain(acc; x, tile rows [k][W]) over 16 STEPS values of k, and in its last four the same of
 * x and the ones that lie beyond the tile's columns. start: turned_start(). */
template <int W, int STEPS>
__device__ __forceinline__ void multiply_rows_and_ones(float (&acc)[W / 2 + 4], const uint32_t *x,
                                                       uint32_t start)
{
#pragma unroll
    for (int k = 0; k < STEPS; k++)
        wgmma_turned(acc, x + 4 * k, tile_descriptor<W>(start + k * 2 * W * KEEP_BEYOND), 1);
}

/* acc = chain(+0; low, tile rows), then chain(acc; high, tile rows): what is small first. In the
 * last four of acc, columns 2 s and 2 s + 1 of eight, the sums chain(chain(+0; low, 1); high, 1)
 * over the 16 k of step s: ones beyond the tile are ones_by_step(), so that thread c of four
 * holds the sum of step c, which steps that add zeros leave as it is. start: turned_start(). */
template <int W, int STEPS>
__device__ __forceinline__ void multiply_rows_and_steps(float (&acc)[W / 2 + 4],
                                                        const uint32_t *high, const uint32_t *low,
                                                        uint32_t start)
{
#pragma unroll
    for (int i = 0; i < 2 * STEPS; i++) {
        constexpr int PIECES = W / 8; /* of 16 bytes in a row */
        const int k = i % STEPS;
        const uint32_t ones = (k % PIECES + k / PIECES * 2 * W) << 16;
        wgmma_turned(acc, (i < STEPS ? low : high) + 4 * k,
                     tile_descriptor<W>(start + k * 2 * W * KEEP_BEYOND + ones), i > 0);
    }
}

/* Ones beyond a tile, by step: 16 rows all alike, as a tile swizzled, or two where W = 16; in
 * columns 8 s .. + 7, which step s takes, columns 2 s and 2 s + 1 of the eight are ones. Word i. */
template <int W>
__device__ __forceinline__ uint32_t ones_by_step(int i)
{
    const int row = i / (W / 2) % 16, piece = i / 4 % (W / 8);
    const int step = (piece ^ (int)turn_of_row<W>((uint32_t)row)) + i / (8 * W) * (W / 8);
    return i % 4 == step ? 0x3f803f80u : 0;
}

/* The row of a tile of 64 that a lane addresses for ldmatrix, and where in a tile with rows of W
 * columns the first piece lies that it addresses. */
__device__ __forceinline__ uint32_t row_of_lane()
{
    return (thread_now() >> 1 & 48) + (lane_now() & 15);
}

template <int W>
__device__ __forceinline__ uint32_t operand_of_lane()
{
    const uint32_t row = row_of_lane();
    return row * (2 * W) + (((lane_now() >> 4) ^ turn_of_row<W>(row)) << 4);
}

/* A operands of a warp's 16 rows from a tile in shared memory, swizzled, by ldmatrix: all of it,
 * zero included where there is nothing. at: of the tile, operand_of_lane() on; the pieces two on
 * have the same turn. */
template <int W>
__device__ __forceinline__ void load_operand(uint32_t (&a)[W / 16][4], uint32_t at)
{
#pragma unroll
    for (int x = 0; x < W / 16; x++)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a[x][0]), "=r"(a[x][1]), "=r"(a[x][2]), "=r"(a[x][3])
                     : "r"(at ^ 32 * x)
                     : "memory");
}

/* The A operand of a warp's 16 rows from [64][8] BF16 that is not swizzled, by ldmatrix: the upper
 * eight k are the lower ones again, for a B that has zeros there. One load, and so four registers
 * that ptxas does not know to be alike: it would copy them for each product. row: the one of this
 * lane, row_of_lane(). */
__device__ __forceinline__ void load_row_values(uint32_t (&a)[4], uint32_t row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(row)
                 : "memory");
}

/* Two neighbouring elements as FP32 or rounded to BF16; `at` is even. */
__device__ __forceinline__ void store_two(void *to, size_t at, float x, float y, bool f32)
{
    if (f32)
        *reinterpret_cast<float2 *>(static_cast<float *>(to) + at) = make_float2(x, y);
    else
        *reinterpret_cast<uint32_t *>(static_cast<uint16_t *>(to) + at) = pack_bf16(x, y);
}

/* Never loops: number is not negative. ptxas schedules what has no branch as one piece: it
 * moves products behind the work that they should run beside, or the work before or behind
 * them, and moves too much ahead, and spills; not across this. Cuts need different numbers: a
 * condition that has been asked is not asked again. */
__device__ __forceinline__ void cut_schedule(int number)
{
    asm volatile("mov.b32 %0, %0;" : "+r"(number)); /* or it would be asked once, outside */
    while (number < 0)
        asm volatile("nanosleep.u32 20;" : : : "memory");
}

/* One arrival of a warp that has read a stage. Elected: threadIdx would be read afresh, and
 * waited for, each time. */
__device__ __forceinline__ void release_stage(uint32_t empty)
{
    __syncwarp();
    asm volatile("{\n.reg .pred p;\n"
                 "elect.sync _|p, 0xffffffff;\n"
                 "@p mbarrier.arrive.shared::cta.b64 _, [%0];\n}\n"
                 :
                 : "r"(empty)
                 : "memory");
}

/* Eight rows of W BF16 columns on their way out of a warp: from accumulators, where a thread
 * has two neighbours of every eighth column, to pieces of 16 bytes of a row, through
 * ROWS_OUT<W> bytes of shared memory of the warp's own, at `buffer`, a multiple of 16. (A
 * store of two columns a thread would touch eight lines of memory, of which it fills an
 * eighth.) The buffer is swizzled, so that neither side meets a bank twice. */
template <int W>
constexpr int ROWS_OUT = 8 * W * 2;

template <int W>
__device__ __forceinline__ uint32_t piece_of_row(uint32_t buffer, uint32_t row, uint32_t piece)
{
    return buffer + row * (2 * W) + ((piece ^ turn_of_row<W>(row)) << 4);
}

/* x[n]: columns 8 n + 2 (lane % 4) and the next of row lane / 4. A __syncwarp() lies between
 * this and RowPiece::take(), and between that and the next use of the buffer. */
template <int W>
__device__ __forceinline__ void lay_rows(uint32_t buffer, const uint32_t (&x)[W / 8])
{
    const uint32_t lane = lane_now();
    const uint32_t to = piece_of_row<W>(buffer, lane & 7, lane >> 3 & (W / 8 - 1));
    if constexpr (W >= 32)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                     :
                     : "r"(to), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
                     : "memory");
    if constexpr (W == 64)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                     :
                     : "r"(piece_of_row<W>(buffer, lane & 7, 4 + (lane >> 3))), "r"(x[4]),
                       "r"(x[5]), "r"(x[6]), "r"(x[7])
                     : "memory");
    if constexpr (W == 16)
        asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
                     :
                     : "r"(to), "r"(x[0]), "r"(x[1])
                     : "memory");
}

/* Accumulators x[4 n], x[4 n + 1], times `factor`, rounded to BF16: 2^-9. */
template <int W>
__device__ __forceinline__ void round_rows(uint32_t buffer, const float *x, float factor)
{
    uint32_t rounded[W / 8];
#pragma unroll
    for (int n = 0; n < W / 8; n++)
        rounded[n] = pack_bf16(x[4 * n] * factor, x[4 * n + 1] * factor);
    lay_rows<W>(buffer, rounded);
}

/* The row and the piece of it that a lane takes out; with W = 16 the upper half has none. With
 * W = 64 a lane has two, a second one four rows on: part 1. */
template <int W>
constexpr int ROW_PARTS = W == 64 ? 2 : 1;

template <int W>
struct RowPiece {
    uint32_t row, piece;

    __device__ __forceinline__ RowPiece()
    {
        const uint32_t lane = lane_now();
        row = lane / (W / 8), piece = lane % (W / 8);
    }
    __device__ __forceinline__ RowPiece(const RowPiece &first, int part)
        : row(first.row + 4 * (uint32_t)part), piece(first.piece)
    {
    }
    __device__ __forceinline__ uint4 take(uint32_t buffer) const
    {
        return load_shared_piece(piece_of_row<W>(buffer, row & 7, piece));
    }
    /* Is it in the first `count` rows and D columns? */
    __device__ __forceinline__ bool inside(int count, int D) const
    {
        return row < 8 && (int)row < count && 8 * (int)piece < D;
    }
};

#endif
