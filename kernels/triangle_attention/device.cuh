/* SPDX-License-Identifier: Apache-2.0
 * The PTX instructions and the launch that the kernels of this folder and of ../linear
 * use. Each is one instruction with one meaning, so that a contract can name it. */
#ifndef KERNELS_TRIANGLE_ATTENTION_DEVICE_CUH
#define KERNELS_TRIANGLE_ATTENTION_DEVICE_CUH

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

/* ex2.approx.ftz.f32: a pure function, modelled for all inputs in ../arithmetic. */
__device__ __forceinline__ float ex2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* Adds four (two) floats, each by itself atomic, in no order. */
__device__ __forceinline__ void add_atomically(float4 *to, float4 x)
{
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(to), "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w)
                 : "memory");
}

__device__ __forceinline__ void add_atomically(float2 *to, float2 x)
{
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};"
                 :
                 : "l"(to), "f"(x.x), "f"(x.y)
                 : "memory");
}

/* Two FP32 to BF16, nearest even, NaN to 0x7fff; `low` in the low half. */
__device__ __forceinline__ uint32_t pack_bf16(float low, float high)
{
    uint32_t y;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
    return y;
}

__device__ __forceinline__ float low_bf16(uint32_t pair)
{
    return __uint_as_float(pair << 16);
}

__device__ __forceinline__ float high_bf16(uint32_t pair)
{
    return __uint_as_float(pair & 0xffff0000u);
}

/* Sum of eight products, ascending; binary64 holds each. g: pairs of BF16. */
template <class Sum>
__device__ __forceinline__ Sum chain_of(const uint32_t (&g)[4], const float (&y)[8])
{
    Sum sum = 0;
#pragma unroll
    for (int x = 0; x < 4; x++) {
        sum = fma((Sum)low_bf16(g[x]), (Sum)y[2 * x], sum);
        sum = fma((Sum)high_bf16(g[x]), (Sum)y[2 * x + 1], sum);
    }
    return sum;
}

__device__ __forceinline__ float from_bf16(uint16_t x)
{
    return __uint_as_float((uint32_t)x << 16);
}

/* c = c + a b in one tensor-core step: m16n8k16, BF16 in, FP32 accumulator. */
__device__ __forceinline__ void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                    uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* Four 8x8 matrices of 16-bit elements; lane 8 i + j gives row j of matrix i. All 32
 * lanes take part. `turned`: each matrix transposed. */
__device__ __forceinline__ void ldmatrix(uint32_t (&f)[4], const uint16_t *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3])
                 : "r"(shared_address(row))
                 : "memory");
}

__device__ __forceinline__ void ldmatrix_turned(uint32_t (&f)[4], const uint16_t *row)
{
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3])
        : "r"(shared_address(row))
        : "memory");
}

/* Asynchronous copies to shared memory; of the 16 (4) bytes written the first `bytes`
 * are read, the others are zero. Both addresses are aligned to 16 (4). */
__device__ __forceinline__ void copy16(void *to, const void *from, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(to)), "l"(from), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void copy4(void *to, const void *from, int bytes)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :
                 : "r"(shared_address(to)), "l"(from), "r"(bytes)
                 : "memory");
}

/* Waits for all copies that this thread has queued. */
__device__ __forceinline__ void wait_copies()
{
    asm volatile("cp.async.wait_all;" : : : "memory");
}

/* Which of the 64 keys from `first` on are valid in `row` of a mask [rows][N] or of lengths [rows]
 * (or NULL): bit j, key first + j. All threads of a warp. */
__device__ __forceinline__ uint64_t valid_keys(const uint8_t *mask, const int32_t *lengths,
                                               size_t row, int first, int N)
{
    uint64_t word = 0;
    for (int half = 0; half < 2; half++) {
        const int key = first + 32 * half + (int)(threadIdx.x & 31);
        bool valid = key < N;
        if (valid && mask)
            valid = mask[row * N + key] != 0;
        if (valid && lengths)
            valid = key < lengths[row];
        word |= (uint64_t)__ballot_sync(0xffffffffu, valid) << (32 * half);
    }
    return word;
}

/* The dynamic shared memory of the CTA, at a multiple of every swizzle. */
__device__ __forceinline__ unsigned char *shared_memory()
{
    extern __shared__ __align__(1024) unsigned char gg_shared[];
    return gg_shared;
}

/* Multiprocessors of the current device: how many CTAs a persistent kernel starts. It
 * decides where work is done, never in which order a sum is formed. */
static inline cudaError_t multiprocessors(int *count)
{
    int device;
    const cudaError_t error = cudaGetDevice(&device);
    if (error != cudaSuccess)
        return error;
    return cudaDeviceGetAttribute(count, cudaDevAttrMultiProcessorCount, device);
}

/* Of a grid queued behind another (Launch): waits until the one before it on the stream has ended
 * and all that it wrote is seen; at once in any other. Before it a CTA may only prepare itself. */
__device__ __forceinline__ void wait_for_grid_before()
{
    asm volatile("griddepcontrol.wait;" : : : "memory");
}

/* The grid behind may start once every CTA has come here or ended. */
__device__ __forceinline__ void let_grid_behind_start()
{
    asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
}

/* How a grid is queued. cluster: CTAs of one along x, up to the 8 that every device promises; 0:
 * no cluster.
 * behind: CTAs may start while those of the grid before still run, as soon as that one lets
 * them; each must wait_for_grid_before(), or what is behind it in turn would not know that all
 * grids before have ended. */
struct Launch {
    dim3 grid;
    int threads;
    size_t shared_bytes;
    cudaStream_t stream;
    int cluster;
    bool behind;
};

/* Queues kernel(arguments) and returns the launch error. */
template <class Arguments>
static inline cudaError_t launch(void (*kernel)(Arguments), const Launch &how,
                                 const Arguments &arguments)
{
    if (how.shared_bytes > 48 * 1024) {
        const cudaError_t error = cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)how.shared_bytes);
        if (error != cudaSuccess)
            return error;
    }
    cudaLaunchAttribute given[2] = {};
    cudaLaunchConfig_t config = {};
    config.gridDim = how.grid;
    config.blockDim = dim3((unsigned)how.threads);
    config.dynamicSmemBytes = how.shared_bytes;
    config.stream = how.stream;
    config.attrs = given;
    if (how.cluster > 0) {
        cudaLaunchAttribute &cluster = given[config.numAttrs++];
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim.x = (unsigned)how.cluster;
        cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    }
    if (how.behind) {
        cudaLaunchAttribute &behind = given[config.numAttrs++];
        behind.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        behind.val.programmaticStreamSerializationAllowed = 1;
    }
    return cudaLaunchKernelEx(&config, kernel, arguments);
}

template <class Arguments>
static inline cudaError_t launch(void (*kernel)(Arguments), size_t blocks, int threads,
                                 size_t shared_bytes, cudaStream_t stream,
                                 const Arguments &arguments, bool behind = false)
{
    const Launch how = {dim3((unsigned)blocks), threads, shared_bytes, stream, 0, behind};
    return launch(kernel, how, arguments);
}

#endif
