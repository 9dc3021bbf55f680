/* SPDX-License-Identifier: Apache-2.0
 * wgmma.m64nNk16 with BF16 operands and an FP32 accumulator, as PTX ISA 9 has it. One
 * instruction is one step of `chain` (README.md) for 64 x N outputs.
 *
 * A comes from registers or shared memory, B from shared memory through a descriptor. A
 * tile of [rows][W] BF16, W = 16, 32 or 64, is stored with rows of 2 W bytes and the swizzle
 * of 2 W bytes that the tensor copy writes. The same tile serves as B[n = row][k = W]
 * and, turned, as B[k = row][n = W].
 *
 * Thread (g = lane / 4, c = lane % 4) of warp w holds, of an accumulator, rows 16 w + g and
 * 16 w + g + 8: d[4 n + 0, 1] = row g, columns 8 n + 2 c, + 1; [4 n + 2, 3] = row g + 8. */
#ifndef KERNELS_TRIANGLE_ATTENTION_WGMMA_CUH
#define KERNELS_TRIANGLE_ATTENTION_WGMMA_CUH

#include <stdint.h>

#define GG_OUT4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define GG_OUT8(d, i) GG_OUT4(d, i), GG_OUT4(d, i + 4)
#define GG_OUT16(d, i) GG_OUT8(d, i), GG_OUT8(d, i + 8)
#define GG_OUT32(d, i) GG_OUT16(d, i), GG_OUT16(d, i + 16)
#define GG_IN4(a) "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])
#define GG_F32_BF16 ".f32.bf16.bf16 "

/* d = keep d + a b, A in registers, B [n][k]. The overload follows from d: N = 2 elements
 * of it. With TURNED, B is stored [k][n]. keep is 0 or 1; 0 starts from +0. */
template <int TURNED>
__device__ __forceinline__ void wgmma(float (&d)[8], const uint32_t *a, uint64_t b,
                                      int keep)
{
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %13, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n16k16" GG_F32_BF16
        "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, p, 1, 1, %14;\n}\n"
        : GG_OUT8(d, 0)
        : GG_IN4(a), "l"(b), "r"(keep), "n"(TURNED));
}

template <int TURNED>
__device__ __forceinline__ void wgmma(float (&d)[16], const uint32_t *a, uint64_t b,
                                      int keep)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n32k16" GG_F32_BF16
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
                 "{%16, %17, %18, %19}, %20, p, 1, 1, %22;\n}\n"
                 : GG_OUT16(d, 0)
                 : GG_IN4(a), "l"(b), "r"(keep), "n"(TURNED));
}

template <int TURNED>
__device__ __forceinline__ void wgmma(float (&d)[32], const uint32_t *a, uint64_t b,
                                      int keep)
{
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16" GG_F32_BF16
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, "
        "%31}, {%32, %33, %34, %35}, %36, p, 1, 1, %38;\n}\n"
        : GG_OUT32(d, 0)
        : GG_IN4(a), "l"(b), "r"(keep), "n"(TURNED));
}

/* N = 16, 32, 64 and eight more, B [k][n]. keep is a constant. */
__device__ __forceinline__ void wgmma_turned(float (&d)[12], const uint32_t *a, uint64_t b,
                                             int keep)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %17, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n24k16" GG_F32_BF16
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11}, "
                 "{%12, %13, %14, %15}, %16, p, 1, 1, 1;\n}\n"
                 : GG_OUT8(d, 0), GG_OUT4(d, 8)
                 : GG_IN4(a), "l"(b), "r"(keep));
}

__device__ __forceinline__ void wgmma_turned(float (&d)[20], const uint32_t *a, uint64_t b,
                                             int keep)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %25, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n40k16" GG_F32_BF16
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19}, {%20, %21, %22, %23}, %24, p, 1, 1, 1;\n}\n"
                 : GG_OUT16(d, 0), GG_OUT4(d, 16)
                 : GG_IN4(a), "l"(b), "r"(keep));
}

__device__ __forceinline__ void wgmma_turned(float (&d)[36], const uint32_t *a, uint64_t b,
                                             int keep)
{
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %41, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n72k16" GG_F32_BF16
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, "
        "%31, %32, %33, %34, %35}, {%36, %37, %38, %39}, %40, p, 1, 1, 1;\n}\n"
        : GG_OUT32(d, 0), GG_OUT4(d, 32)
        : GG_IN4(a), "l"(b), "r"(keep));
}

/* The same with A [m][k] in shared memory; B [n][k]. */
__device__ __forceinline__ void wgmma_shared(float (&d)[16], uint64_t a, uint64_t b,
                                             int keep)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n32k16" GG_F32_BF16
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
                 "%16, %17, p, 1, 1, 0, 0;\n}\n"
                 : GG_OUT16(d, 0)
                 : "l"(a), "l"(b), "r"(keep));
}

__device__ __forceinline__ void wgmma_shared(float (&d)[32], uint64_t a, uint64_t b,
                                             int keep)
{
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16" GG_F32_BF16
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, "
        "%31}, %32, %33, p, 1, 1, 0, 0;\n}\n"
        : GG_OUT32(d, 0)
        : "l"(a), "l"(b), "r"(keep));
}

#undef GG_OUT4
#undef GG_OUT8
#undef GG_OUT16
#undef GG_OUT32
#undef GG_IN4
#undef GG_F32_BF16

__device__ __forceinline__ void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}

__device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
}

/* Waits for all groups. Waiting for fewer inside a rolled loop makes ptxas serialise. */
__device__ __forceinline__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned 0;" : : : "memory");
}

/* After wgmma_wait(): the compiler may use d only from here on. Before wgmma_fence(): what d
 * starts from is in its registers. */
template <int N>
__device__ __forceinline__ void settled(float (&d)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(d[i]) : : "memory");
}

/* Low word of the descriptor of a tile at a shared address: 16-byte units in 14 bits (in a cluster
 * the CTA's rank lies beyond them), and the leading offset, which these shapes do not use. Moving
 * on by 16 k of a row is + 2, by n rows + n W / 8, within the low word. */
__device__ __forceinline__ uint32_t tile_start(uint32_t address)
{
    return address >> 4 | 0x10000u;
}

/* The high word is a constant: 8 rows of 2 W bytes apart, and the swizzle. */
template <int W>
__device__ __forceinline__ uint64_t tile_descriptor(uint32_t start)
{
    constexpr uint32_t high = ((8 * W * 2) >> 4) | (W == 64 ? 1u : W == 32 ? 2u : 3u) << 30;
    uint64_t y;
    asm("mov.b64 %0, {%1, %2};" : "=l"(y) : "r"(start), "r"(high));
    return y;
}

/* Low word for wgmma_turned(): the columns beyond W of a tile are those of another at `beyond`,
 * behind it, whatever the row: moving on by 16-byte units in the tile is + units * KEEP_BEYOND. */
constexpr uint32_t KEEP_BEYOND = 1u - (1u << 16);
__device__ __forceinline__ uint32_t turned_start(uint32_t address, uint32_t beyond)
{
    return (address >> 4 & 0x3fffu) | (beyond - address) >> 4 << 16;
}

/* Low word and descriptor of [rows][8] BF16, 16 bytes a row, not swizzled: a step's first eight
 * k. LEADING bytes on lie the other eight: 0, the same again. With ALIKE all rows are the
 * first eight. */
template <int LEADING>
__device__ __forceinline__ uint32_t plain_start(uint32_t address)
{
    return (address >> 4 & 0x3fffu) | (uint32_t)(LEADING >> 4) << 16;
}

template <bool ALIKE>
__device__ __forceinline__ uint64_t plain_descriptor(uint32_t start)
{
    constexpr uint32_t high = ALIKE ? 0 : 128 >> 4;
    uint64_t y;
    asm("mov.b64 %0, {%1, %2};" : "=l"(y) : "r"(start), "r"(high));
    return y;
}

/* The 128 threads of a warpgroup wait for each other. */
__device__ __forceinline__ void warpgroup_sync(int warpgroup)
{
    asm volatile("bar.sync %0, 128;" : : "r"(warpgroup + 1) : "memory");
}

/* Registers of the warpgroups that compute and of the one that copies, in eights and together
 * no more than the CTA starts with, which is what 65536 leave each thread, rounded down to an
 * eight: with 2, 3 and 4 of the former 240, 160 and 112, and 24, 32 and 32 for the latter. */
template <int WARPGROUPS>
__device__ __forceinline__ void take_registers()
{
    constexpr int count = WARPGROUPS == 2 ? 240 : WARPGROUPS == 3 ? 160 : 112;
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(count));
}

template <int WARPGROUPS>
__device__ __forceinline__ void give_registers()
{
    constexpr int count = WARPGROUPS == 2 ? 24 : 32;
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(count));
}

#endif
