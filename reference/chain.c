/* SPDX-License-Identifier: Apache-2.0 */
#include "reference/chain.h"

#include <math.h>
#include <stdatomic.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#pragma GCC optimize("O3")

#define CHAIN(name) name##_portable
#define VEC double
#define WIDTH 1
#define LOAD(p) (*(p))
#define STORE(p, x) (*(p) = (x))
#define SPREAD(x) (x)
#define FMA(a, b, c) fma(a, b, c)
#define ZERO 0.0
#define TALL 3
#define WIDE 4
#include "reference/chain_body.h"
#undef CHAIN
#undef VEC
#undef WIDTH
#undef LOAD
#undef STORE
#undef SPREAD
#undef FMA
#undef ZERO
#undef TALL
#undef WIDE

#if defined(__x86_64__)

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define CHAIN(name) name##_avx2
#define VEC __m256d
#define WIDTH 4
#define LOAD(p) _mm256_loadu_pd(p)
#define STORE(p, x) _mm256_storeu_pd(p, x)
#define SPREAD(x) _mm256_set1_pd(x)
#define FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define ZERO _mm256_setzero_pd()
#define TALL 6 /* 12 sums, 2 of B, 1 of A: 15 of 16 registers */
#define WIDE 2
#include "reference/chain_body.h"
#undef CHAIN
#undef VEC
#undef WIDTH
#undef LOAD
#undef STORE
#undef SPREAD
#undef FMA
#undef ZERO
#undef TALL
#undef WIDE
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f")
#define CHAIN(name) name##_avx512
#define VEC __m512d
#define WIDTH 8
#define LOAD(p) _mm512_loadu_pd(p)
#define STORE(p, x) _mm512_storeu_pd(p, x)
#define SPREAD(x) _mm512_set1_pd(x)
#define FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define ZERO _mm512_setzero_pd()
#define TALL 12 /* 24 sums, 2 of B, 1 of A: 27 of 32 registers */
#define WIDE 2
#include "reference/chain_body.h"
#pragma GCC pop_options

#endif

static atomic_int limit = GG_AVX512;

void gg_instructions_limit(gg_instructions highest)
{
    atomic_store(&limit, (int)highest);
}

gg_instructions gg_instructions_used(void)
{
    int highest = atomic_load(&limit);
#if defined(__x86_64__)
    if (highest >= GG_AVX512 && __builtin_cpu_supports("avx512f")) return GG_AVX512;
    if (highest >= GG_AVX2 && __builtin_cpu_supports("avx2") &&
        __builtin_cpu_supports("fma"))
        return GG_AVX2;
#endif
    (void)highest;
    return GG_PORTABLE;
}

void gg_chain_run(const gg_chain *chain)
{
    switch (gg_instructions_used()) {
#if defined(__x86_64__)
    case GG_AVX512: run_avx512(chain); return;
    case GG_AVX2: run_avx2(chain); return;
#endif
    default: run_portable(chain);
    }
}
