/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/arithmetic/bf16.h"
#include "kernels/arithmetic/tensor_core.h"
#include "kernels/linear/call.h"
#include "kernels/registry.h"

TestSuite(plain_twin, .timeout = 60);

enum { X, W, DY, INPUTS };
enum { MOST = 600 * 80 };

typedef struct fixture {
    int64_t mk[2], nk[2], mn[2];
    DLTensor in[INPUTS], out[INPUTS];
    const DLTensor *inputs[INPUTS];
    DLTensor *outputs[INPUTS];
    gg_call call;
    _Alignas(16) uint16_t x[MOST];
    _Alignas(16) uint16_t w[MOST];
    _Alignas(16) uint16_t dy[MOST];
    _Alignas(16) float y[MOST];
    _Alignas(16) float dx[MOST];
    _Alignas(16) float dw[MOST];
} fixture;

static uint16_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return gg_bf16_from_float((float)(int32_t)(*state >> 32) * 0x1p-30f);
}

static void init(fixture *f, int64_t M, int64_t N, int64_t K, int bits)
{
    uint64_t state = 1;
    memset(f, 0, sizeof *f);
    memcpy(f->mk, (int64_t[]){M, K}, sizeof f->mk);
    memcpy(f->nk, (int64_t[]){N, K}, sizeof f->nk);
    memcpy(f->mn, (int64_t[]){M, N}, sizeof f->mn);
    int64_t *in[] = {f->mk, f->nk, f->mn}, *out[] = {f->mn, f->mk, f->nk};
    void *in_data[] = {f->x, f->w, f->dy}, *out_data[] = {f->y, f->dx, f->dw};
    for (int i = 0; i < INPUTS; i++) {
        DLDataTypeCode code = bits == 32 ? kDLFloat : kDLBfloat;
        f->in[i] =
            (DLTensor){in_data[i], {kDLCPU, 0}, 2, {kDLBfloat, 16, 1}, in[i], NULL, 0};
        f->out[i] = f->in[i];
        f->out[i].data = out_data[i];
        f->out[i].shape = out[i];
        f->out[i].dtype = (DLDataType){(uint8_t)code, (uint8_t)bits, 1};
        f->inputs[i] = &f->in[i];
        f->outputs[i] = &f->out[i];
    }
    for (int i = 0; i < MOST; i++) {
        f->x[i] = draw(&state);
        f->w[i] = draw(&state);
        f->dy[i] = draw(&state);
    }
    f->call = (gg_call){.inputs = f->inputs, .outputs = f->outputs};
}

static void run(fixture *f, int threads)
{
    const gg_kernel *kernel = &gg_linear_plain_twin;
    f->call.threads = threads;
    cr_assert_null(kernel->supports(&f->call));
    f->call.workspace = malloc(kernel->workspace_bytes(&f->call));
    cr_assert_eq(kernel->forward(&f->call), 0);
    cr_assert_eq(kernel->backward(&f->call), 0);
    free(f->call.workspace);
}

/* out[i][j] against the chain over t of a[i * ai + t * at] and b[t * bt + j * bj]. */
static void check(const fixture *f, int output, size_t count, const uint16_t *a,
                  const size_t ai_at[2], const uint16_t *b, const size_t bt_bj[2])
{
    const DLTensor *out = &f->out[output];
    size_t rows = (size_t)out->shape[0], columns = (size_t)out->shape[1];
    uint16_t x[600], y[600];
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            for (size_t t = 0; t < count; t++) {
                x[t] = a[i * ai_at[0] + t * ai_at[1]];
                y[t] = b[t * bt_bj[0] + j * bt_bj[1]];
            }
            float value = gg_float_from_bits(gg_tc_chain(0, x, y, count));
            size_t at = i * columns + j;
            if (out->dtype.bits == 32)
                cr_assert_eq(gg_float_bits(((float *)out->data)[at]),
                             gg_float_bits(value));
            else cr_assert_eq(((uint16_t *)out->data)[at], gg_bf16_from_float(value));
        }
}

Test(plain_twin, has_the_bits_of_the_contract)
{
    static fixture f;
    const size_t sizes[][3] = {{1, 1, 1}, {70, 33, 50}, {16, 64, 600}, {600, 3, 17}};
    for (int n = 0; n < 8; n++) {
        size_t M = sizes[n / 2][0], N = sizes[n / 2][1], K = sizes[n / 2][2];
        init(&f, (int64_t)M, (int64_t)N, (int64_t)K, n % 2 ? 16 : 32);
        run(&f, 1 + n);
        check(&f, 0, K, f.x, (size_t[]){K, 1}, f.w, (size_t[]){1, K});
        check(&f, 1, N, f.dy, (size_t[]){N, 1}, f.w, (size_t[]){K, 1});
        check(&f, 2, M, f.dy, (size_t[]){1, N}, f.x, (size_t[]){K, 1});
    }
}

Test(plain_twin, refusals)
{
    static fixture f;
    init(&f, 5, 6, 7, 32);
    cr_assert_null(gg_linear_refuse(&f.call));
    f.inputs[DY] = NULL;
    f.outputs[1] = NULL;
    cr_assert_null(gg_linear_refuse(&f.call));
    f.inputs[W] = NULL;
    cr_assert_not_null(gg_linear_refuse(&f.call));
    f.inputs[W] = &f.in[W];
    f.nk[1] = 8;
    cr_assert_not_null(gg_linear_refuse(&f.call));
    f.nk[1] = 7;
    f.out[2].dtype = (DLDataType){kDLBfloat, 16, 1}; /* each output has its own type */
    cr_assert_null(gg_linear_refuse(&f.call));
    f.out[2].dtype = (DLDataType){kDLFloat, 64, 1};
    cr_assert_not_null(gg_linear_refuse(&f.call));
    f.out[2].dtype = (DLDataType){kDLBfloat, 16, 1};
    f.mk[0] = 0;
    cr_assert_not_null(gg_linear_refuse(&f.call));
}
