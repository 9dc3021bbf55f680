/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "cases/fill.h"
#include "cases/suite.h"
#include "reference/triangle_attention.h"

static const gg_operator *op(void) { return gg_operator_find("triangle_attention"); }

static gg_problem problem_of(int64_t R, int64_t H, int64_t N, int64_t D)
{
    return (gg_problem){.extent = {1, R, H, N, D}};
}

/* Makes input `input` of a family as the harness would, GG_LAW_OUTPUT aside. */
static void make(gg_problem *p, const gg_family *f, int input, uint64_t seed,
                 gg_dtype type)
{
    const gg_tensor_decl *decl = &op()->inputs[input];
    gg_tensor *t = &p->input[input];
    if (decl->role == GG_ROLE_OPTIONAL && !(f->optional >> input & 1u)) return;
    *t = gg_tensor_make(op(), decl, p->extent, type);
    t->data = calloc(1, gg_tensor_bytes(t));
    cr_assert_not_null(t->data);
    if (f->draw[input].law == GG_LAW_HOST) {
        cr_assert_not_null(f->host, "%s makes %s on the host", f->name, decl->name);
        cr_assert_eq(f->host(p, input, seed, t), GG_OK);
    } else if (f->draw[input].law != GG_LAW_OUTPUT) {
        cr_assert_eq(gg_draw_host(&f->draw[input], seed, input, t, 1), GG_OK);
    }
}

static void make_all(gg_problem *p, const char *family, uint64_t seed)
{
    const gg_family *f = gg_family_find(op(), family);
    cr_assert_not_null(f, "%s", family);
    for (int i = 0; op()->inputs[i].name != NULL; i++)
        make(p, f, i, seed, op()->inputs[i].dtype);
}

static void release(gg_problem *p)
{
    for (int i = 0; i < GG_MAX_INPUTS; i++) free(p->input[i].data);
}

Test(triangle_attention_cases, table_is_sound)
{
    cr_assert_eq(gg_tensor_decls(op()->inputs), 7);
    cr_assert_eq(gg_tensor_decls(op()->outputs), GG_TA_OUTPUTS);
    cr_assert_eq(gg_tensor_find(op()->inputs, "key_lengths"), GG_TA_KEY_LENGTHS);
    cr_assert_eq(gg_tensor_find(op()->outputs, "dbias"), GG_TA_DBIAS);
    for (const gg_family *f = op()->families; f->name != NULL; f++) {
        cr_expect_eq(gg_family_find(op(), f->name), f, "%s stands twice", f->name);
        cr_expect_not_null(f->summary);
        cr_expect(strspn(f->name, "abcdefghijklmnopqrstuvwxyz_") == strlen(f->name));
        for (int i = 0; i < 7;
             i++) /* a scale left out would make every element equal */
            cr_expect(f->draw[i].law > GG_LAW_HEAVY || f->draw[i].scale > 0, "%s %s",
                      f->name, op()->inputs[i].name);
    }
    cr_assert_null(gg_family_find(op(), "nothing"));
}

/* Every family, twice the same, with other bits for another seed, and finite unless its
 * point is not to be. Both types of bias. */
Test(triangle_attention_cases, families_are_functions_of_the_seed)
{
    for (const gg_family *f = op()->families; f->name != NULL; f++) {
        bool differs = false;
        for (int i = 0; i < 7; i++) {
            gg_problem a = problem_of(9, 2, 33, 16), b = a, c = a;
            gg_dtype type = i == GG_TA_BIAS ? GG_F32 : op()->inputs[i].dtype;
            make(&a, f, i, 5, type);
            make(&b, f, i, 5, type);
            make(&c, f, i, 6, type);
            if (a.input[i].data == NULL) continue;
            size_t bytes = gg_tensor_bytes(&a.input[i]);
            cr_expect_arr_eq(a.input[i].data, b.input[i].data, bytes, "%s", f->name);
            differs |= memcmp(a.input[i].data, c.input[i].data, bytes) != 0;
            for (int64_t e = 0; e < gg_tensor_count(&a.input[i]); e++)
                if (strncmp(f->name, "nan_", 4) != 0)
                    cr_assert(isfinite(gg_fill_get(&a.input[i], e)), "%s", f->name);
            release(&a), release(&b), release(&c);
        }
        cr_expect(differs, "%s is the same for every seed", f->name);
    }
}

Test(triangle_attention_cases, lengths_and_prefix_mask_are_one_problem)
{
    gg_problem a = problem_of(40, 1, 21, 8), b = a;
    int zeros = 0, full = 0;
    make_all(&a, "key_lengths_same", 3);
    make_all(&b, "prefix_mask", 3);
    for (int i = GG_TA_Q; i <= GG_TA_DOUT; i++)
        cr_assert_arr_eq(a.input[i].data, b.input[i].data,
                         gg_tensor_bytes(&a.input[i]));
    for (int64_t r = 0; r < 40; r++) {
        int length = (int)gg_fill_get(&a.input[GG_TA_KEY_LENGTHS], r);
        zeros += length == 0;
        full += length == 21;
        for (int64_t j = 0; j < 21; j++)
            cr_assert_eq(gg_fill_get(&b.input[GG_TA_MASK], r * 21 + j), j < length);
    }
    cr_expect(zeros > 0 && full > 0 && zeros + full < 40, "%d and %d of 40", zeros,
              full);
    release(&a), release(&b);
}

Test(triangle_attention_cases, shifted_rows_differ_by_one_constant_each)
{
    gg_problem a = problem_of(2, 2, 33, 8), b = a;
    int moved = 0;
    make_all(&a, "unshifted_row", 1);
    make_all(&b, "shifted_row", 1);
    for (int64_t row = 0; row < 2 * 33; row++) {
        double shift = gg_fill_get(&b.input[GG_TA_BIAS], row * 33) -
                       gg_fill_get(&a.input[GG_TA_BIAS], row * 33);
        moved += shift != 0;
        for (int64_t at = row * 33; at < row * 33 + 33; at++)
            cr_assert_eq(gg_fill_get(&a.input[GG_TA_BIAS], at) + shift,
                         gg_fill_get(&b.input[GG_TA_BIAS], at));
    }
    cr_expect(moved > 33, "%d rows of 66 moved", moved);
    release(&a), release(&b);
}

/* NaN and infinity stand at invalid keys of k and v, all of them, and nowhere else. */
static void check_padding(const char *family, int rule)
{
    const int64_t R = 6, H = 2, N = 25, D = 8;
    gg_problem p = problem_of(R, H, N, D);
    int poisoned = 0;
    make_all(&p, family, 4);
    for (int64_t at = 0; at < R * H * N * D; at++) {
        int64_t r = at / (H * N * D), j = at / D % N;
        bool valid = rule == GG_TA_MASK
                         ? gg_fill_get(&p.input[GG_TA_MASK], r * N + j) != 0
                         : j < (int64_t)gg_fill_get(&p.input[GG_TA_KEY_LENGTHS], r);
        cr_assert_eq(isfinite(gg_fill_get(&p.input[GG_TA_K], at)) != 0, valid);
        cr_assert_eq(isfinite(gg_fill_get(&p.input[GG_TA_V], at)) != 0, valid);
        poisoned += !valid;
    }
    for (int64_t at = N - 1; at < H * N * N;
         at += N) /* the last column is never seen */
        cr_assert(!isfinite(gg_fill_get(&p.input[GG_TA_BIAS], at)));
    for (int64_t at = 0; at < R * H * N * D; at++)
        cr_assert(isfinite(gg_fill_get(&p.input[GG_TA_Q], at)));
    cr_expect(poisoned > 0 && poisoned < R * H * N * D);
    release(&p);
}

Test(triangle_attention_cases, poison_stands_where_keys_are_invalid)
{
    check_padding("nan_padding", GG_TA_MASK);
    check_padding("nan_padding_lengths", GG_TA_KEY_LENGTHS);
}

Test(triangle_attention_cases, extreme_levels)
{
    static const double levels[4] = {120, 200, 2e4, 6e4};
    for (uint64_t seed = 0; seed < 4; seed++) {
        gg_problem low = problem_of(2, 1, 20, 8), high = low;
        make_all(&low, "extreme_low", seed);
        make_all(&high, "extreme_high", seed);
        for (int64_t at = 0; at < 400; at++) {
            double limit = 8 + levels[seed] / 256;
            double down = gg_fill_get(&low.input[GG_TA_BIAS], at) + levels[seed];
            double up = gg_fill_get(&high.input[GG_TA_BIAS], at) - levels[seed];
            cr_assert(fabs(down) <= limit && fabs(up) <= limit);
        }
        release(&low), release(&high);
    }
}

Test(triangle_attention_cases, masks_hit_what_they_are_named_for)
{
    const int64_t N = 129;
    for (uint64_t seed = 0; seed < 4; seed++) {
        gg_problem first = problem_of(12, 1, N, 8), last = first, dead = first;
        int cut = 0;
        make_all(&first, "first_tile_masked", seed);
        make_all(&last, "last_tile_masked", seed);
        make_all(&dead, "dead_rows", seed);
        for (int64_t r = 0; r < 12; r++) {
            const uint8_t *f = (uint8_t *)first.input[GG_TA_MASK].data + r * N;
            const uint8_t *l = (uint8_t *)last.input[GG_TA_MASK].data + r * N;
            const uint8_t *d = (uint8_t *)dead.input[GG_TA_MASK].data + r * N;
            int64_t tile = 16 << seed;
            cr_assert(f[N - 1] == 1 && l[0] == 1 && f[tile] == 1 &&
                      l[N - 1 - tile] == 1);
            cr_assert(f[0] == f[tile - 1] && l[N - 1] == l[N - tile]);
            cut += !f[0];
            for (int64_t j = 0; j < N; j++) cr_assert_eq(d[j], seed != 3 && r % 2 == 0);
        }
        cr_expect(cut > 0 && cut < 12);
        release(&first), release(&last), release(&dead);
    }
}

/* Largest difference from the reference over the largest value. */
static double answer_error(const gg_problem *p, const gg_family *f, int output,
                           double *got, const double *truth, bool *exact)
{
    double worst = 0, largest = 0;
    cr_assert_eq(f->answer(p, output, got, exact), GG_OK);
    gg_tensor t = gg_tensor_make(op(), &op()->outputs[output], p->extent, GG_F64);
    for (int64_t i = 0; i < gg_tensor_count(&t); i++) {
        worst = fmax(worst, fabs(got[i] - truth[i]));
        largest = fmax(largest, fabs(truth[i]));
    }
    return worst == 0 ? 0 : worst / largest;
}

static void check_answers(const char *family, int64_t N, int64_t D, uint64_t seed)
{
    const gg_family *f = gg_family_find(op(), family);
    gg_problem p = problem_of(3, 2, N, D);
    size_t most = (size_t)(6 * N * (D > N ? D : N));
    double *got = malloc(most * sizeof *got), *all = calloc(5 * most, sizeof *all);
    gg_truth truth = {0};
    make_all(&p, family, seed);
    for (int o = 0; o < GG_TA_OUTPUTS; o++) truth.value[o] = all + (size_t)o * most;
    cr_assert_eq(gg_triangle_attention_host(&p, &truth, 2), GG_OK, "%s", gg_message());
    for (int o = 0; o < GG_TA_OUTPUTS; o++) {
        bool exact = false;
        double error = answer_error(&p, f, o, got, truth.value[o], &exact);
        cr_expect(error <= 1e-12, "%s N %d D %d %s: %.3g", family, (int)N, (int)D,
                  op()->outputs[o].name, error);
        bool dyadic = (N & (N - 1)) == 0 && (o == GG_TA_O || o >= GG_TA_DV || D == 16);
        if (strcmp(family, "numbers") == 0) dyadic = true;
        cr_expect_eq(exact, dyadic && strcmp(family, "two_keys") != 0);
    }
    free(got);
    free(all);
    release(&p);
}

Test(triangle_attention_cases, answers_agree_with_the_reference)
{
    static const int64_t sizes[] = {1, 2, 3, 16, 33, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (uint64_t seed = 0; seed < 2; seed++)
            for (int64_t D = 16; D <= 24; D += 8) {
                check_answers("two_keys", sizes[i], D, seed);
                check_answers("counting", sizes[i], D, seed);
                check_answers("one_hot", sizes[i], D, seed);
                check_answers("numbers", sizes[i], D, seed);
            }
}

/* At the extents of suite selftest: 64 slices of 64 x 32. */
Test(triangle_attention_cases, every_finite_number_is_in_v_and_in_dout)
{
    gg_problem p = problem_of(32, 2, 64, 32);
    make_all(&p, "numbers", 0);
    const uint16_t *v = p.input[GG_TA_V].data, *dout = p.input[GG_TA_DOUT].data;
    int64_t count = gg_tensor_count(&p.input[GG_TA_V]);
    static bool in_v[65536], in_dout[65536];
    for (int64_t i = 0; i < count; i++) {
        in_v[v[i]] = in_dout[dout[i]] = true;
        cr_assert(v[i] == 0 || dout[i] == 0);
    }
    for (int bits = 0; bits < 65536; bits++) {
        bool finite = (bits & 0x7f80) != 0x7f80;
        cr_expect_eq(in_v[bits], finite, "%04x", (unsigned)bits);
        cr_expect_eq(in_dout[bits], finite, "%04x", (unsigned)bits);
    }
    release(&p);
}

/* An exact answer is one that a kernel can hit: every value fits in binary32, and o and
 * dS in bf16. dS is seen through dbias with one row. */
Test(triangle_attention_cases, exact_answers_fit)
{
    for (int64_t N = 2; N <= 256; N *= 2) {
        const gg_family *f = gg_family_find(op(), "counting");
        gg_problem p = problem_of(1, 1, N, 16);
        double *values = malloc((size_t)(N * (N > 16 ? N : 16)) * sizeof *values);
        make_all(&p, "counting", 1);
        for (int o = 0; o < GG_TA_OUTPUTS; o++) {
            bool exact = false;
            gg_tensor t = gg_tensor_make(op(), &op()->outputs[o], p.extent, GG_F64);
            cr_assert_eq(f->answer(&p, o, values, &exact), GG_OK);
            cr_assert(exact);
            for (int64_t i = 0; i < gg_tensor_count(&t); i++) {
                cr_assert_eq((double)(float)values[i], values[i]);
                if (o == GG_TA_O || o == GG_TA_DBIAS)
                    cr_assert_eq(gg_bf16_value(gg_bf16_round(values[i])), values[i]);
            }
        }
        free(values);
        release(&p);
    }
}

/* The hand-solved case of public bug 11: weights 1/4 and 3/4 for a bias of 0 and ln 3.
 */
Test(triangle_attention_cases, two_keys_by_hand)
{
    float bias[4] = {0, 1.0986123F, 0, 1.0986123F};
    uint16_t zero[2] = {0}, v[2] = {gg_bf16_round(0), gg_bf16_round(4)};
    double o[2];
    bool exact = true;
    gg_problem p = problem_of(1, 1, 2, 1);
    for (int i = GG_TA_Q; i <= GG_TA_DOUT; i++) {
        p.input[i] = gg_tensor_make(op(), &op()->inputs[i], p.extent, GG_BF16);
        p.input[i].data = i == GG_TA_V ? v : zero;
    }
    p.input[GG_TA_BIAS].dtype = GG_F32;
    p.input[GG_TA_BIAS].data = bias;
    cr_assert_eq(gg_family_find(op(), "two_keys")->answer(&p, GG_TA_O, o, &exact),
                 GG_OK);
    cr_assert(!exact);
    cr_assert_float_eq(o[0], 3.0, 1e-6);
    cr_assert_float_eq(o[1], 3.0, 1e-6);
}
