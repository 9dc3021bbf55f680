/* SPDX-License-Identifier: Apache-2.0
 * The forward kernel of `twopass` and `split` (twopass_forward.cu): the way of a block's results
 * out of a warp. */
#ifndef KERNELS_TRIANGLE_ATTENTION_TWOPASS_FORWARD_RESULTS_CUH
#define KERNELS_TRIANGLE_ATTENTION_TWOPASS_FORWARD_RESULTS_CUH

#include <type_traits>

#include "kernels/triangle_attention/twopass_forward_copy.cuh"

namespace {

/* gg_ta_beyond() of two outputs, of which `rounded` has the BF16 forms. BYTES:
 * gg_ta_beyond_byte(), in the upper halves. The distance before its offset is -2^15 to 2^15, or
 * 2^16 - 1 of a NaN (0x7fffffff, as arithmetic leaves it): min(distance + 2^15, 2^16 - 1) is
 * saturation to 16 bits, signed. */
template <bool BYTES>
__device__ __forceinline__ uint32_t beyond_pair(float x, float y, uint32_t rounded)
{
    const uint32_t half = BYTES ? 128 : 0;
    uint32_t both;
    asm("cvt.pack.sat.s16.s32 %0, %1, %2;"
        : "=r"(both)
        : "r"(__float_as_uint(y) + half - (rounded & 0xffff0000u)),
          "r"(__float_as_uint(x) + half - (rounded << 16)));
    return both ^ (GG_TA_NOTHING_BEYOND << 16 | GG_TA_NOTHING_BEYOND);
}

/* 16 rows of a block, W BF16 columns of o and of what it loses, go from accumulators, where a
 * thread has two neighbours of every eighth column, to pieces of eight columns of a row: a store of
 * two a thread would touch eight lines of memory, of which it fills an eighth. The buffer
 * between, 2 BYTES of the warp's own, is swizzled as a tile, so that neither side meets a bank
 * twice. What a lane needs for it is formed once for both blocks. */
template <int W, bool PAIRS>
struct Results {
    static constexpr int PARTS = W / 16; /* pieces of a lane of 16 rows */
    static constexpr int ROWS = 256 / W; /* from one to the next: 512 bytes of the buffer */
    static constexpr int BYTES = 16 * 2 * W;
    static constexpr int BEYOND = PAIRS ? 2 : 1; /* bytes in memory */
    struct Pieces {
        uint4 o[PARTS];
        typename std::conditional<PAIRS, uint4, uint2>::type beyond[PARTS];
    };

    uint32_t lane;
    uint32_t to, from;  /* shared addresses: where this lane lays down, and takes out */
    int rows, pieces;   /* of block 0 inside N from its m or inv, and from its first piece, on */
    float *sum;         /* its m (lanes 0, 1 of four, of rows g, g + 8) or inv (2, 3) */
    uint64_t o, beyond; /* its first piece, in global memory */

    __device__ __forceinline__ Results(const Forward &a, uint32_t buffer, const Origin &at)
    {
        const uint32_t thread = thread_now(), strip = thread >> 1 & 48;
        lane = thread & 31;
        const uint32_t row = lane / (W / 8), piece = lane % (W / 8);
        const uint32_t g = lane >> 2 | (lane & 1) << 3;
        to = piece_of_row<W>(buffer, lane & 15, lane >> 4);
        from = piece_of_row<W>(buffer, row, piece);
        rows = at.count - (int)(strip | g);
        pieces = 8 * (int)piece < a.D ? at.count - (int)(strip | row) : 0;
        sum = (lane & 2 ? a.inv : a.m) + at.first + (strip | g);
        const uint64_t first = (at.first + (strip | row)) * a.D + 8 * piece;
        o = __cvta_generic_to_global(a.o) + 2 * first;
        beyond = __cvta_generic_to_global(a.beyond) + BEYOND * first;
        /* as they are: or the address of each piece would be formed of its parts */
        asm volatile("" : "+l"(o), "+l"(beyond));
    }

    /* x[n]: columns 8 n + 2 (lane % 4) and the next of row lane / 4; y: of the row 8 on. Part 0
     * is o. A __syncwarp() lies between this and take(), and between that and the next block. */
    __device__ __forceinline__ void lay(int part, const uint32_t (&x)[W / 8],
                                        const uint32_t (&y)[W / 8]) const
    {
#pragma unroll
        for (int n = 0; n < W / 8; n += 2)
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                         :
                         : "r"((to ^ n << 4) + part * BYTES), "r"(x[n]), "r"(y[n]),
                           "r"(x[n + 1]), "r"(y[n + 1])
                         : "memory");
    }

    __device__ __forceinline__ Pieces take() const
    {
        Pieces x;
#pragma unroll
        for (int i = 0; i < PARTS; i++) {
            /* W = 64: four rows on, the other half of a swizzled row */
            const uint32_t at = (W == 64 && i & 1 ? from ^ 64 : from) + 512 * i;
            x.o[i] = load_shared_piece(at);
            const uint4 beyond = load_shared_piece(at + BYTES);
            if constexpr (PAIRS)
                x.beyond[i] = beyond;
            else /* the upper half of each */
                x.beyond[i] = make_uint2(__byte_perm(beyond.x, beyond.y, 0x7531),
                                         __byte_perm(beyond.z, beyond.w, 0x7531));
        }
        return x;
    }

    /* stored: a bit for each of a warp's 16 rows. */
    __device__ __forceinline__ void put(const Forward &a, int block, const Pieces &x,
                                        uint32_t stored) const
    {
#pragma unroll
        for (int i = 0; i < PARTS; i++) {
            const int row = 64 * block + ROWS * i;
            const bool inside = row < pieces && (stored >> (lane / (W / 8) + ROWS * i) & 1);
            store_piece(o + 2 * row * a.D, x.o[i], a.o && inside);
            store_piece(beyond + BEYOND * row * a.D, x.beyond[i], a.beyond && inside);
        }
    }
};

} // namespace

#endif
