/* SPDX-License-Identifier: Apache-2.0
 * lanes.h for x86 with AVX-512 (F, BW, DQ). */
#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,fma")))

#include "kernels/arithmetic/ex2.h"

/* A row of 64 words in four registers, looked up by the low 6 bits of i. */
static inline TARGET __m512i look_up(const __m512i table[4], __m512i i)
{
    __m512i low = _mm512_permutex2var_epi32(table[0], i, table[1]);
    __m512i high = _mm512_permutex2var_epi32(table[2], i, table[3]);
    __mmask16 upper = _mm512_test_epi32_mask(i, _mm512_set1_epi32(32));
    return _mm512_mask_mov_epi32(low, upper, high);
}

/* gg_ex2_square() */
static inline TARGET __m512i square(__m512i x)
{
    __m512i sum = _mm512_setzero_si512();
#pragma GCC unroll 15
    for (unsigned bit = 2; bit < 17; bit++) {
        __mmask16 set = _mm512_test_epi32_mask(x, _mm512_set1_epi32(1 << bit));
        sum = _mm512_mask_add_epi32(sum, set, sum, _mm512_srli_epi32(x, 18 - bit));
    }
    return _mm512_srli_epi32(sum, 1);
}

/* gg_ex2_significand() of the fraction f; two look-ups of one word each: the constant,
 * and slope and curve together. */
static inline TARGET __m512i significands(__m512i f)
{
    const __m512i *pairs = (const __m512i *)(const void *)gg_ex2_pieces;
    const __m512i even =
        _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_or_si512(even, _mm512_set1_epi32(1));
    __m512i constants[4], others[4];
    for (int i = 0; i < 4; i++) {
        __m512i first = _mm512_loadu_si512(&pairs[2 * i]);
        __m512i second = _mm512_loadu_si512(&pairs[2 * i + 1]);
        constants[i] = _mm512_permutex2var_epi32(first, even, second);
        others[i] = _mm512_permutex2var_epi32(first, odd, second);
    }
    __m512i piece = _mm512_srli_epi32(f, 17);
    __m512i x = _mm512_and_si512(f, _mm512_set1_epi32(0x1ffff));
    __m512i constant = look_up(constants, piece), other = look_up(others, piece);
    __m512i slope = _mm512_and_si512(other, _mm512_set1_epi32(0xffff));
    __m512i curve = _mm512_srli_epi32(other, 16);
    __m512i three = _mm512_set1_epi32(3);
    __m512i low = _mm512_mullo_epi32(slope, _mm512_and_si512(x, three));
    low = _mm512_add_epi32(low, _mm512_mullo_epi32(curve, square(x)));
    low = _mm512_add_epi32(low, _mm512_set1_epi32(30690));
    __m512i middle = _mm512_mullo_epi32(slope, _mm512_srli_epi32(x, 2));
    __m512i rest = _mm512_slli_epi32(_mm512_and_si512(constant, three), 11);
    middle =
        _mm512_add_epi32(middle, _mm512_add_epi32(rest, _mm512_srli_epi32(low, 2)));
    return _mm512_add_epi32(_mm512_srli_epi32(constant, 2),
                            _mm512_srli_epi32(middle, 13));
}

/* gg_ex2() of 16 lanes. A shift by more than 31 gives 0, right on both sides. */
static inline TARGET void ex2_lanes(float *lanes)
{
    const __m512i zero = _mm512_setzero_si512();
    const __m512i fraction = _mm512_set1_epi32(0x7fffff);
    __m512i bits = _mm512_loadu_si512(lanes);
    __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
    __m512i e =
        _mm512_sub_epi32(_mm512_srli_epi32(magnitude, 23), _mm512_set1_epi32(127));
    __m512i fixed = _mm512_or_si512(_mm512_and_si512(magnitude, fraction),
                                    _mm512_set1_epi32(0x800000));
    fixed = _mm512_sllv_epi32(fixed, _mm512_max_epi32(e, zero));
    fixed = _mm512_srlv_epi32(fixed, _mm512_max_epi32(_mm512_sub_epi32(zero, e), zero));

    __mmask16 negative = _mm512_movepi32_mask(bits);
    __m512i n = _mm512_srli_epi32(fixed, 23), f = _mm512_and_si512(fixed, fraction);
    __mmask16 flip = negative & _mm512_test_epi32_mask(f, f);
    n = _mm512_mask_sub_epi32(n, negative, zero, n);
    n = _mm512_mask_sub_epi32(n, flip, n, _mm512_set1_epi32(1));
    f = _mm512_mask_xor_epi32(f, flip, f, fraction);

    __m512i result = _mm512_slli_epi32(_mm512_add_epi32(n, _mm512_set1_epi32(126)), 23);
    result = _mm512_add_epi32(result, significands(f));
    /* n = -127 may still reach 2^-126 when the significand is 2^24 */
    __mmask16 tiny = _mm512_cmplt_epi32_mask(n, _mm512_set1_epi32(-126)) &
                     _mm512_cmpneq_epi32_mask(result, _mm512_set1_epi32(0x800000));
    __mmask16 huge = _mm512_cmpge_epi32_mask(magnitude, _mm512_set1_epi32(0x43000000));
    __mmask16 nan = _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32(0x7f800000));
    result = _mm512_mask_mov_epi32(result, tiny | (huge & negative), zero);
    result = _mm512_mask_mov_epi32(result, huge & (__mmask16)~negative,
                                   _mm512_set1_epi32(0x7f800000));
    result = _mm512_mask_mov_epi32(result, nan, _mm512_set1_epi32(0x7fffffff));
    _mm512_storeu_si512(lanes, result);
}

#define OWN_EX2
#define OWN_CHAIN
#include "kernels/arithmetic/lanes_body.h"

/* One step of 16 lanes in FP32 and int32, given the largest exponent of the products.
 * Right where the largest exponent E lies within +-100: then a product or c that FP32
 * cannot hold exactly is below 2^(E - 25) and counts as 0 either way. Returns the lanes
 * it is not right for, which keep their c. */
static inline TARGET __mmask16 step_narrow(__m512 *c, __m512i e, const float *av,
                                           const float *bv, size_t stride)
{
    const __m512i limit = _mm512_set1_epi32(100);
    __m512i bits = _mm512_castps_si512(*c);
    __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
    __m512i field = _mm512_srli_epi32(magnitude, 23);
    field = _mm512_max_epi32(field, _mm512_set1_epi32(1));
    __m512i ce = _mm512_sub_epi32(field, _mm512_set1_epi32(127));
    e = _mm512_mask_max_epi32(e, _mm512_test_epi32_mask(magnitude, magnitude), e, ce);
    /* no term at all: any scale will do */
    e = _mm512_maskz_mov_epi32(_mm512_cmpgt_epi32_mask(e, _mm512_set1_epi32(NO_TERM)),
                               e);
    __mmask16 bad = _mm512_cmpgt_epi32_mask(_mm512_abs_epi32(e), limit);

    __m512i up = _mm512_sub_epi32(_mm512_set1_epi32(127 + GG_TC_FRACTION), e);
    __m512 scale = _mm512_castsi512_ps(_mm512_slli_epi32(up, 23));
    __m512i down = _mm512_add_epi32(_mm512_set1_epi32(127 - GG_TC_FRACTION), e);
    __m512 unit = _mm512_castsi512_ps(_mm512_slli_epi32(down, 23));

    __m512i sum = _mm512_setzero_si512();
#pragma GCC unroll 16
    for (size_t k = 0; k < GG_TC_TERMS; k++) {
        __m512 product =
            _mm512_mul_ps(_mm512_set1_ps(av[k]), _mm512_loadu_ps(bv + k * stride));
        sum = _mm512_add_epi32(sum, _mm512_cvttps_epi32(_mm512_mul_ps(product, scale)));
    }
    __m512i start = _mm512_cvttps_epi32(_mm512_mul_ps(*c, scale));
    __m512i total = _mm512_add_epi32(sum, start);
    /* only this last sum can leave int32: then its sign differs from both operands' */
    __m512i overflow =
        _mm512_and_si512(_mm512_xor_si512(total, sum), _mm512_xor_si512(total, start));
    bad |= _mm512_movepi32_mask(overflow);
    /* the one rounding of the step, toward zero */
    __m512 rounded =
        _mm512_cvt_roundepi32_ps(total, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    *c = _mm512_mask_mul_ps(*c, (__mmask16)~bad, rounded, unit);
    return bad;
}

/* Redoes the step for the lanes in `bad`. */
static TARGET __attribute__((noinline)) void repair(__m512 *c, __mmask16 bad,
                                                    const float *av, const int16_t *ae,
                                                    const float *bv, const int16_t *be,
                                                    size_t stride)
{
    float lanes[GG_LANES];
    int16_t masked[GG_LANES * GG_TC_TERMS];
    float values[GG_LANES * GG_TC_TERMS];
    _mm512_storeu_ps(lanes, _mm512_maskz_mov_ps(bad, *c));
    for (size_t k = 0; k < GG_TC_TERMS; k++)
        for (size_t l = 0; l < GG_LANES; l++) {
            int wanted = bad >> l & 1;
            values[k * GG_LANES + l] = wanted ? bv[k * stride + l] : 0;
            masked[k * GG_LANES + l] = wanted ? be[k * stride + l] : GG_EXPONENT_ZERO;
        }
    step_wide(lanes, av, ae, values, masked, GG_LANES);
    *c = _mm512_mask_mov_ps(*c, bad, _mm512_loadu_ps(lanes));
}

/* Largest exponent of 16 products for 32 lanes, as 16-bit numbers. */
static inline TARGET __m512i product_exponents(const int16_t *ae, const int16_t *be,
                                               size_t stride)
{
    __m512i e = _mm512_set1_epi16(-20000);
#pragma GCC unroll 16
    for (size_t k = 0; k < GG_TC_TERMS; k++) {
        __m512i sum = _mm512_add_epi16(_mm512_set1_epi16(ae[k]),
                                       _mm512_loadu_si512(be + k * stride));
        e = _mm512_max_epi16(e, sum);
    }
    return e;
}

/* The same for 16 lanes. */
static inline TARGET __m256i product_exponents_half(const int16_t *ae,
                                                    const int16_t *be, size_t stride)
{
    __m256i e = _mm256_set1_epi16(-20000);
    for (size_t k = 0; k < GG_TC_TERMS; k++) {
        const __m256i *row = (const __m256i *)(const void *)(be + k * stride);
        __m256i sum =
            _mm256_add_epi16(_mm256_set1_epi16(ae[k]), _mm256_loadu_si256(row));
        e = _mm256_max_epi16(e, sum);
    }
    return e;
}

static TARGET void chain(float *c, size_t ldc, const gg_decoded *a, const gg_decoded *b,
                         size_t rows, size_t columns, size_t steps)
{
    size_t stride = b->stride;
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < columns; j += 2 * GG_LANES) {
            int both = j + GG_LANES < columns;
            float *out = c + r * ldc + j;
            __m512 low = _mm512_loadu_ps(out), high = low;
            if (both) high = _mm512_loadu_ps(out + GG_LANES);
            for (size_t k = 0; k < steps * GG_TC_TERMS; k += GG_TC_TERMS) {
                const float *av = a->value + r * a->stride + k;
                const float *bv = b->value + k * stride + j;
                const int16_t *ae = a->exponent + r * a->stride + k;
                const int16_t *be = b->exponent + k * stride + j;
                __m256i first, second;
                if (both) {
                    __m512i e = product_exponents(ae, be, stride);
                    first = _mm512_castsi512_si256(e);
                    second = _mm512_extracti64x4_epi64(e, 1);
                    __mmask16 bad = step_narrow(&high, _mm512_cvtepi16_epi32(second),
                                                av, bv + GG_LANES, stride);
                    if (bad)
                        repair(&high, bad, av, ae, bv + GG_LANES, be + GG_LANES,
                               stride);
                } else {
                    first = product_exponents_half(ae, be, stride);
                }
                __mmask16 bad =
                    step_narrow(&low, _mm512_cvtepi16_epi32(first), av, bv, stride);
                if (bad) repair(&low, bad, av, ae, bv, be, stride);
            }
            _mm512_storeu_ps(out, low);
            if (both) _mm512_storeu_ps(out + GG_LANES, high);
        }
}

static int usable(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq");
}

extern const gg_lanes gg_lanes_avx512;
const gg_lanes gg_lanes_avx512 = {
    .name = "avx512",
    .usable = usable,
    .chain = chain,
    .decode = decode,
    .round = round_row,
    .logits = logits,
    .weights = weights,
    .gradient = gradient,
    .accumulate = accumulate,
};

#else
typedef int gg_lanes_avx512_unused; /* ISO C forbids an empty file */
#endif
