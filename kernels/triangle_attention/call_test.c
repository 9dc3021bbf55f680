/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/triangle_attention/twin_fixture.h"
#include "kernels/triangle_attention/twopass_plan.h"

TestSuite(call, .timeout = 60);

static const shape usual = {2, 3, 2, 9, 16, GG_TA_KEYS_MASKED, 0, 1};

static void assert_refused(const fixture *f, const char *why)
{
    const char *said = gg_ta_refuse(&f->call);
    cr_assert_not_null(said, "passes, although %s", why);
    cr_assert_not_null(strstr(said, why), "\"%s\" does not speak of \"%s\"", said, why);
}

Test(call, usual_calls_pass)
{
    for (int keys = GG_TA_KEYS_ALL; keys <= GG_TA_KEYS_COUNTED; keys++)
        for (int f32 = 0; f32 < 2; f32++) {
            fixture f;
            shape s = usual;
            s.keys = (gg_ta_keys)keys;
            s.f32 = f32;
            fixture_init(&f, &s, 1);
            cr_assert_null(gg_ta_refuse(&f.call));
            f.inputs[IN_DOUT] = NULL;
            for (int i = 0; i < OUTPUTS; i++) f.outputs[i] = NULL;
            cr_assert_null(gg_ta_refuse(&f.call));
            fixture_free(&f);
        }
}

Test(call, head_sizes)
{
    fixture f;
    fixture_init(&f, &usual, 1);
    f.head[4] = 12;
    assert_refused(&f, "multiple of 8");
    f.head[4] = 72;
    assert_refused(&f, "larger than 64");
    f.head[4] = 0;
    assert_refused(&f, "not positive");
    f.head[4] = 16;
    f.head[1] = INT64_C(1) << 40;
    assert_refused(&f, "exceeds");
    f.head[1] = 1 << 24;
    f.head[3] = 1 << 24;
    assert_refused(&f, "exceeds");
    fixture_free(&f);
}

Test(call, both_kinds_of_mask)
{
    fixture f;
    fixture_init(&f, &usual, 1);
    f.inputs[IN_LENGTHS] = &f.in[IN_LENGTHS];
    assert_refused(&f, "exclude each other");
    fixture_free(&f);
}

Test(call, absent_inputs)
{
    fixture f;
    fixture_init(&f, &usual, 1);
    for (int i = IN_Q; i <= IN_BIAS; i++) {
        f.inputs[i] = NULL;
        assert_refused(&f, "absent");
        f.inputs[i] = &f.in[i];
    }
    fixture_free(&f);
}

Test(call, types)
{
    fixture f;
    fixture_init(&f, &usual, 1);
    for (int i = 0; i < INPUTS; i++) {
        DLDataType type = f.in[i].dtype;
        f.inputs[i] = i == IN_LENGTHS ? NULL : &f.in[i];
        f.in[i].dtype = (DLDataType){kDLFloat, 16, 1};
        if (f.inputs[i]) assert_refused(&f, "wrong element type");
        f.in[i].dtype = type;
        f.in[i].dtype.lanes = 2;
        if (f.inputs[i]) assert_refused(&f, "wrong element type");
        f.in[i].dtype = type;
    }
    f.out[OUT_DK].dtype = (DLDataType){kDLFloat, 32, 1};
    assert_refused(&f, "different types");
    f.outputs[OUT_DK] = NULL;
    cr_assert_null(gg_ta_refuse(&f.call));
    f.out[OUT_O].dtype = (DLDataType){kDLFloat, 32, 1};
    assert_refused(&f, "o: wrong element type");
    fixture_free(&f);
}

Test(call, shapes_strides_and_addresses)
{
    fixture f;
    fixture_init(&f, &usual, 1);
    int64_t other[5] = {2, 3, 2, 9, 8};
    int64_t strides[5] = {3 * 2 * 9 * 16, 2 * 9 * 16, 9 * 16, 16, 1};
    f.in[IN_V].shape = other;
    assert_refused(&f, "v: wrong shape");
    f.in[IN_V].shape = f.head;
    f.in[IN_K].ndim = 4;
    assert_refused(&f, "k: wrong number of dimensions");
    f.in[IN_K].ndim = 5;
    f.in[IN_K].strides = strides;
    cr_assert_null(gg_ta_refuse(&f.call));
    strides[3] = 32;
    assert_refused(&f, "k: not dense");
    f.in[IN_K].strides = NULL;
    f.out[OUT_DV].byte_offset = 2;
    assert_refused(&f, "dv: does not start");
    void *data = f.out[OUT_DV].data;
    f.out[OUT_DV].data = NULL;
    cr_assert_null(gg_ta_refuse(&f.call),
                   "an address is looked at only when there is one");
    f.out[OUT_DV].data = data;
    fixture_free(&f);
}

Test(call, unpacks_offsets_and_the_saved_buffer)
{
    fixture f;
    gg_ta_call u;
    static char saved[1 << 16];
    fixture_init(&f, &usual, 1);
    f.in[IN_Q].byte_offset = 32;
    f.call.saved = saved;
    gg_ta_unpack(&f.call, &u);
    cr_assert_eq((const char *)u.q, (char *)f.in[IN_Q].data + 32);
    cr_assert_eq(u.keys, GG_TA_KEYS_MASKED);
    cr_assert(u.compensation);
    size_t rows = 2 * 3 * 2 * 9, row_bytes = 512, error_bytes = 3584;
    cr_assert_eq(row_bytes, (rows * 4 + 255) / 256 * 256);
    cr_assert_eq((char *)u.m, saved);
    cr_assert_eq((char *)u.inv, saved + row_bytes);
    cr_assert_eq((char *)u.e, saved + 2 * row_bytes);
    cr_assert_eq(gg_ta_saved_bytes(&f.call), 2 * row_bytes + error_bytes);
    f.call.features = 0;
    gg_ta_unpack(&f.call, &u);
    cr_assert_null(u.e);
    cr_assert_eq(gg_ta_saved_bytes(&f.call), 2 * row_bytes);
    f.in[IN_Q].byte_offset = 0;
    fixture_free(&f);
}

Test(call, chunks_of_rows)
{
    for (int R = 1; R < 200; R++) {
        int rows = gg_ta_chunk_rows(R), count = gg_ta_chunk_count(R);
        cr_assert(count <= 16 && rows * count >= R && rows * (count - 1) < R, "%d", R);
    }
}

/* A cluster has eight CTAs at most, and a CTA whole steps of 32 keys in each half. */
Test(call, key_ranges_of_twopass)
{
    for (int D = 8; D <= GG_TA_MAX_HEAD; D += 8)
        for (int N = 1; N <= GG_TA_TWOPASS_MAX_KEYS; N++) {
            int half = gg_ta_twopass_half(N, D), ranges = gg_ta_twopass_ranges(N, D);
            cr_assert(half % 32 == 0 && half <= 192 && ranges <= 8, "N %d D %d", N, D);
            cr_assert(2 * half * ranges >= N && 2 * half * (ranges - 1) < N, "%d %d", N, D);
            cr_assert(D <= GG_TA_TWOPASS_NARROW || half == 192, "N %d D %d", N, D);
        }
    cr_assert_eq(gg_ta_twopass_half(256, 32), 128);
}
