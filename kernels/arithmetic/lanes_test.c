/* SPDX-License-Identifier: Apache-2.0
 * Every vector form has the bits of the scalar definitions. */
#include "kernels/arithmetic/lanes.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/arithmetic/ex2.h"
#include "kernels/arithmetic/tensor_core.h"

TestSuite(lanes, .timeout = 120);

enum { ROWS = 5, STEPS = 3, TERMS = STEPS * GG_TC_TERMS, COLUMNS = 80, ROUNDS = 150 };

static uint64_t state = 1;

static uint32_t draw(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 32);
}

/* A BF16 with an exponent field in [centre - spread, centre + spread]. */
static uint16_t draw_near(uint32_t centre, uint32_t spread)
{
    uint32_t field = centre - spread + draw() % (2 * spread + 1);
    return (uint16_t)((draw() & 0x807fu) | field << 7);
}

enum { CLOSE, SPREAD, FINITE, BITS, TINY, HUGE_, SPARSE, EQUAL, WEIGHTS, EDGE, KINDS };

static uint16_t draw_operand(int kind, int is_a)
{
    static const uint16_t sparse[] = {0,      0x8000, 0,      0x3f80,
                                      0xbf80, 0x0001, 0x7f7f, 0x8000};
    switch (kind) {
    case CLOSE: return draw_near(127, 8);
    case SPREAD: return draw_near(127, 40);
    case FINITE: return draw_near(127, 127);
    case BITS: return (uint16_t)draw();
    case TINY: return draw_near(is_a ? 8 : 100, is_a ? 8 : 20);
    case HUGE_: return draw_near(190, 4);
    case SPARSE: return draw() % 4 ? sparse[draw() % 2] : sparse[draw() % 8];
    case EQUAL:
        return 0x3fff; /* 16 * 1.99^2 * 2^25 just fits an int32; with c it does not */
    case WEIGHTS:
        return is_a ? (uint16_t)(draw_near(117, 10) & 0x7fffu) : draw_near(127, 2);
    default:
        return draw_near(draw() % 2 ? 177 : 77, 2); /* sums of exponents near +-100 */
    }
}

static float draw_start(int kind)
{
    if (draw() % 3 == 0) return draw() % 2 ? 0.0f : -0.0f;
    if (kind == EQUAL) return gg_float_from_bits(0x3fffffffu);
    uint32_t low = draw() & 0xffffu, high = draw_operand(kind, 0);
    if (kind == TINY) high = draw_operand(kind, 1);
    return gg_float_from_bits(high << 16 | low);
}

typedef struct operands {
    uint16_t a[ROWS * TERMS], b[TERMS * COLUMNS];
    float start[ROWS * COLUMNS];
    uint32_t expected[ROWS * COLUMNS];
} operands;

static void fill(operands *x, int kind)
{
    for (int i = 0; i < ROWS * TERMS; i++) x->a[i] = draw_operand(kind, 1);
    for (int i = 0; i < TERMS * COLUMNS; i++) x->b[i] = draw_operand(kind, 0);
    for (int i = 0; i < ROWS * COLUMNS; i++) x->start[i] = draw_start(kind);
    for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < COLUMNS; j++) {
            uint16_t column[TERMS];
            for (int k = 0; k < TERMS; k++) column[k] = x->b[k * COLUMNS + j];
            int at = r * COLUMNS + j;
            x->expected[at] = gg_tc_chain(gg_float_bits(x->start[at]), x->a + r * TERMS,
                                          column, TERMS);
        }
}

static void check_chain(const gg_lanes *lanes, const operands *x, int kind)
{
    static float a_value[ROWS * TERMS], b_value[TERMS * COLUMNS], out[ROWS * COLUMNS];
    static int16_t a_exponent[ROWS * TERMS], b_exponent[TERMS * COLUMNS];
    gg_decoded a = {a_value, a_exponent, TERMS}, b = {b_value, b_exponent, COLUMNS};
    lanes->decode(a_value, a_exponent, x->a, ROWS * TERMS);
    lanes->decode(b_value, b_exponent, x->b, TERMS * COLUMNS);
    memcpy(out, x->start, sizeof out);
    lanes->chain(out, COLUMNS, &a, &b, ROWS, COLUMNS, STEPS);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        cr_assert_eq(gg_float_bits(out[i]), x->expected[i],
                     "%s, kind %d, from %08x: %08x, not %08x", lanes->name, kind,
                     gg_float_bits(x->start[i]), gg_float_bits(out[i]), x->expected[i]);
}

/* 10 kinds x 150 rounds x 400 chains of 3 steps of 16 terms. */
Test(lanes, chains_equal_the_scalar_step)
{
    static operands x;
    for (int kind = 0; kind < KINDS; kind++)
        for (int round = 0; round < ROUNDS; round++) {
            fill(&x, kind);
            for (size_t i = 0; gg_lanes_all[i]; i++)
                if (gg_lanes_all[i]->usable()) check_chain(gg_lanes_all[i], &x, kind);
        }
}

static uint32_t canonical(float x)
{
    return gg_float_bits(gg_float_canonical(x));
}

enum { N = 1 << 16 };
static float in[N], other[N], third[N], out[N];
static uint32_t valid[N];
static int16_t exponent[N];
static uint16_t narrow[N];

static void fill_rows(void)
{
    for (int i = 0; i < N; i++) {
        in[i] = gg_float_from_bits(draw());
        if (i % 2) in[i] = (float)(int32_t)draw() * 0x1p-24f;
        other[i] = gg_float_from_bits(draw());
        if (i % 4 < 2) other[i] = (float)(int32_t)draw() * 0x1p-26f;
        third[i] = (float)(int32_t)draw() * 0x1p-28f;
        valid[i] = draw() % 5 ? ~UINT32_C(0) : 0;
        narrow[i] = (uint16_t)(i);
    }
}

static void check_conversions(const gg_lanes *lanes)
{
    lanes->round(out, exponent, in, N);
    for (int i = 0; i < N; i++)
        cr_assert_eq(gg_float_bits(out[i]), (uint32_t)gg_bf16_from_float(in[i]) << 16);
    lanes->decode(out, exponent, narrow, N); /* every BF16 */
    for (int i = 0; i < N; i++) {
        int field = i >> 7 & 255, expected = field ? field - 127 : -126;
        if (field == 255) expected = GG_EXPONENT_INFINITE;
        if ((i & 0x7fff) == 0) expected = GG_EXPONENT_ZERO;
        cr_assert_eq(gg_float_bits(out[i]), (uint32_t)i << 16);
        cr_assert_eq(exponent[i], expected, "%04x", (unsigned)i);
    }
}

static void check_scores(const gg_lanes *lanes)
{
    lanes->logits(out, in, other, valid, 0.3f, N);
    for (int i = 0; i < N; i++)
        cr_assert_eq(canonical(out[i]),
                     valid[i] ? canonical(fmaf(in[i], 0.3f, other[i])) : 0xff800000u);
    memcpy(out, in, sizeof out);
    lanes->weights(out, out, valid, 3.25f, N);
    for (int i = 0; i < N; i++)
        cr_assert_eq(gg_float_bits(out[i]),
                     valid[i] ? gg_float_bits(gg_ex2(in[i] - 3.25f)) : 0u);
    memcpy(out, third, sizeof out);
    lanes->accumulate(out, in, other, N);
    for (int i = 0; i < N; i++)
        cr_assert_eq(canonical(out[i]), canonical(fmaf(in[i], other[i], third[i])));
}

static void check_gradient(const gg_lanes *lanes)
{
    static float p[N], ds[N];
    memcpy(p, in, sizeof p);
    memcpy(ds, other, sizeof ds);
    gg_gradient_row row = {p, ds, valid, 1.5f, 0.7f, -0.2f};
    lanes->gradient(&row, N);
    for (int i = 0; i < N; i++) {
        volatile float weight = valid[i] ? gg_ex2(in[i] - 1.5f) * 0.7f : 0;
        volatile float difference = other[i] + 0.2f;
        float gradient = valid[i] ? weight * difference : 0;
        cr_assert_eq(canonical(p[i]), canonical(weight));
        cr_assert_eq(canonical(ds[i]), canonical(gradient));
    }
}

Test(lanes, rows_equal_the_scalar_operations)
{
    fill_rows();
    for (size_t i = 0; gg_lanes_all[i]; i++) {
        if (!gg_lanes_all[i]->usable()) continue;
        check_conversions(gg_lanes_all[i]);
        check_scores(gg_lanes_all[i]);
        check_gradient(gg_lanes_all[i]);
    }
}

Test(lanes, ex2_of_every_form)
{
    for (uint64_t x = 0; x < UINT64_C(1) << 32; x += 16 * 4099)
        for (size_t i = 0; gg_lanes_all[i]; i++) {
            float y[GG_LANES];
            uint32_t all[GG_LANES];
            if (!gg_lanes_all[i]->usable()) continue;
            for (uint32_t l = 0; l < GG_LANES; l++) {
                y[l] = gg_float_from_bits((uint32_t)x + l * 4099);
                all[l] = ~UINT32_C(0);
            }
            gg_lanes_all[i]->weights(y, y, all, 0, GG_LANES);
            for (uint32_t l = 0; l < GG_LANES; l++) {
                float input = gg_float_from_bits((uint32_t)x + l * 4099);
                cr_assert_eq(gg_float_bits(y[l]), gg_float_bits(gg_ex2(input)), "%s %a",
                             gg_lanes_all[i]->name, (double)input);
            }
        }
}
