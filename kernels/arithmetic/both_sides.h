/* SPDX-License-Identifier: Apache-2.0
 * What a function is declared as that host and device have in common. */
#ifndef KERNELS_ARITHMETIC_BOTH_SIDES_H
#define KERNELS_ARITHMETIC_BOTH_SIDES_H

#ifdef __CUDACC__
#define GG_BOTH_SIDES __host__ __device__ __forceinline__
#else
#define GG_BOTH_SIDES inline
#endif

#endif
