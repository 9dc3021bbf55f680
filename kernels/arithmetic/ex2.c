/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/arithmetic/ex2.h"

#include "kernels/arithmetic/bf16.h"

/* Fitted to a dump of all 2^23 fractions of one H200; unique for this form. */
const gg_ex2_piece gg_ex2_pieces[64] = {
    {33554432, 22713, 494}, {33919815, 22960, 501}, {34289179, 23210, 506},
    {34662562, 23463, 511}, {35040015, 23718, 518}, {35421574, 23977, 521},
    {35807289, 24238, 527}, {36197206, 24502, 532}, {36591369, 24768, 541},
    {36989822, 25038, 546}, {37392613, 25311, 551}, {37799794, 25586, 559},
    {38211406, 25865, 564}, {38627501, 26147, 568}, {39048128, 26431, 577},
    {39473334, 26719, 583}, {39903170, 27010, 589}, {40337687, 27304, 596},
    {40776934, 27602, 600}, {41220967, 27902, 609}, {41669833, 28206, 615},
    {42123589, 28513, 622}, {42582283, 28824, 627}, {43045974, 29138, 633},
    {43514714, 29455, 641}, {43988558, 29776, 647}, {44467562, 30100, 655},
    {44951783, 30428, 661}, {45441275, 30759, 670}, {45936098, 31094, 677},
    {46436311, 31432, 686}, {46941968, 31775, 691}, {47453132, 32121, 699},
    {47969864, 32471, 705}, {48492222, 32824, 715}, {49020266, 33182, 721},
    {49554062, 33543, 730}, {50093671, 33908, 739}, {50639156, 34277, 748},
    {51190579, 34651, 753}, {51748008, 35028, 763}, {52311507, 35409, 773},
    {52881143, 35795, 779}, {53456980, 36185, 787}, {54039088, 36579, 796},
    {54627535, 36977, 806}, {55222390, 37380, 813}, {55823722, 37787, 822},
    {56431604, 38198, 833}, {57046103, 38614, 842}, {57667294, 39035, 849},
    {58295251, 39460, 858}, {58930045, 39889, 870}, {59571751, 40324, 877},
    {60220444, 40763, 887}, {60876202, 41207, 896}, {61539101, 41655, 909},
    {62209217, 42109, 917}, {62886631, 42568, 925}, {63571421, 43031, 938},
    {64263669, 43500, 946}, {64963455, 43973, 959}, {65670860, 44452, 969},
    {66385969, 44936, 980},
};

float gg_ex2(float x)
{
    uint32_t bits = gg_float_bits(x), magnitude = bits & 0x7fffffffu;
    int negative = (int)(bits >> 31), exponent = (int)(magnitude >> 23) - 127;
    if (magnitude > 0x7f800000u) return gg_float_from_bits(GG_NAN_F32);
    if (exponent >= 8) return negative ? 0.0f : gg_float_from_bits(0x7f800000u);
    if (exponent < -23) return 1.0f;

    uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    uint32_t fixed = exponent >= 0 ? significand << exponent : significand >> -exponent;
    int n = (int)(fixed >> 23);
    uint32_t f = fixed & 0x7fffffu;
    if (negative) {
        n = f ? -n - 1 : -n;
        f = f ? f ^ 0x7fffffu : 0;
    }
    const gg_ex2_piece *piece = &gg_ex2_pieces[f >> 17];
    uint32_t x17 = f & 0x1ffffu;
    uint32_t s = gg_ex2_significand(piece->constant, piece->slope, piece->curve, x17,
                                    gg_ex2_square(x17));
    /* s has the hidden bit, so the exponent field starts one lower; s may be 2^24 */
    int64_t result = (int64_t)(n + 126) * 0x800000 + s;
    if (result >= 0x7f800000) return gg_float_from_bits(0x7f800000u);
    if (result < 0x00800000) return 0.0f;
    return gg_float_from_bits((uint32_t)result);
}
