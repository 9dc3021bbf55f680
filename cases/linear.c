/* SPDX-License-Identifier: Apache-2.0
 * How the linear layer declares itself: the smallest operator, and the proof that the
 * harness knows none by name. */
#include "reference/linear.h"

#include "cases/fill.h"
#include "cases/operator.h"

#define BF16 (1u << GG_BF16)
#define BF16_F32 (1u << GG_BF16 | 1u << GG_F32)

static const gg_tensor_decl inputs[] = {
    {"x", "MK", GG_ROLE_INPUT, BF16, GG_BF16},
    {"w", "NK", GG_ROLE_INPUT, BF16, GG_BF16},
    {"dy", "MN", GG_ROLE_UPSTREAM, BF16, GG_BF16},
    {0},
};

static const gg_tensor_decl outputs[] = {
    {"y", "MN", GG_ROLE_RESULT, BF16_F32, GG_BF16},
    {"dx", "MK", GG_ROLE_GRADIENT, BF16_F32, GG_BF16},
    {"dw", "NK", GG_ROLE_GRADIENT, BF16_F32, GG_F32},
    {0},
};

/* Whole numbers from -3 to 3: sums of products are exact in binary32. */
static gg_status fill_counting(const gg_problem *p, int input, uint64_t seed,
                               gg_tensor *out)
{
    (void)p;
    for (int64_t at = 0; at < gg_tensor_count(out); at++)
        gg_fill_set(out, at, gg_choose(seed, (uint32_t)input, at, 7) - 3);
    return GG_OK;
}

/* Column 0 holds 16, the others 1/16 (x) or 1: y is 256 and then many sixteenths. A sum
 * kept in BF16 stops growing there, also when it takes 16 terms at a time (K4). */
static gg_status fill_canary(const gg_problem *p, int input, uint64_t seed,
                             gg_tensor *out)
{
    (void)p;
    (void)seed;
    for (int64_t at = 0; at < gg_tensor_count(out); at++) {
        bool first = at % out->shape[1] == 0;
        gg_fill_set(out, at, first ? 16 : input == GG_LINEAR_X ? 0.0625 : 1);
    }
    return GG_OK;
}

/* A matrix read as sum operand: element (a, t) for outer index a and summed index t. */
typedef struct operand {
    const gg_tensor *tensor;
    int64_t outer, inner; /* strides */
} operand;

static double at_of(operand o, int64_t a, int64_t t)
{
    return gg_fill_get(o.tensor, a * o.outer + t * o.inner);
}

/* Sums of whole numbers and sixteenths in long double: nothing is rounded. */
static gg_status answer_counting(const gg_problem *p, int output, double *values,
                                 bool *exact)
{
    const int64_t M = p->extent[GG_LINEAR_M], N = p->extent[GG_LINEAR_N];
    const int64_t K = p->extent[GG_LINEAR_K];
    const gg_tensor *x = &p->input[GG_LINEAR_X], *w = &p->input[GG_LINEAR_W];
    const gg_tensor *dy = &p->input[GG_LINEAR_DY];
    const struct {
        int64_t rows, columns, terms;
        operand left, right;
    } sums[GG_LINEAR_OUTPUTS] = {
        [GG_LINEAR_Y] = {M, N, K, {x, K, 1}, {w, K, 1}},
        [GG_LINEAR_DX] = {M, K, N, {dy, N, 1}, {w, 1, K}},
        [GG_LINEAR_DW] = {N, K, M, {dy, 1, N}, {x, 1, K}},
    };
    const int64_t rows = sums[output].rows, columns = sums[output].columns;
    const int64_t terms = sums[output].terms;
    const operand left = sums[output].left, right = sums[output].right;
    *exact = terms <= INT64_C(1) << 15; /* times 256 the largest product: 23 bits */
    for (int64_t a = 0; a < rows; a++)
        for (int64_t b = 0; b < columns; b++) {
            long double sum = 0;
            for (int64_t t = 0; t < terms; t++)
                sum += (long double)at_of(left, a, t) * (long double)at_of(right, b, t);
            values[a * columns + b] = (double)sum;
        }
    return GG_OK;
}

#define DRAWS(law_, scale_, mean_)                                                     \
    .draw = {[GG_LINEAR_X] = {.law = (law_), .scale = (scale_), .mean = (mean_)},      \
             [GG_LINEAR_W] = {.law = (law_), .scale = (scale_), .mean = (mean_)},      \
             [GG_LINEAR_DY] = {.law = (law_), .scale = (scale_), .mean = (mean_)}}

static const gg_family families[] = {
    {.name = "normal",
     .summary = "independent standard normals",
     DRAWS(GG_LAW_NORMAL, 1, 0)},
    {.name = "heavy",
     .summary = "Student's t with 3 degrees of freedom",
     DRAWS(GG_LAW_HEAVY, 1, 0)},
    {.name = "mean", .summary = "normals with mean 1", DRAWS(GG_LAW_NORMAL, 1, 1)},
    {.name = "counting",
     .summary = "K1: whole numbers; every sum is exact",
     DRAWS(GG_LAW_HOST, 0, 0),
     .host = fill_counting,
     .answer = answer_counting},
    {.name = "canary",
     .summary = "K4: one large and many small terms; exact",
     DRAWS(GG_LAW_HOST, 0, 0),
     .host = fill_canary,
     .answer = answer_counting},
    {0},
};

static gg_cost cost(const gg_problem *p)
{
    double product = 2;
    for (int i = GG_LINEAR_M; i <= GG_LINEAR_K; i++) product *= (double)p->extent[i];
    return (gg_cost){.flops = {product, 2 * product}};
}

const gg_operator gg_linear = {
    .name = "linear",
    .summary = "matrix product y = x w^T without bias, forward and backward",
    .symbols = "MNK",
    .inputs = inputs,
    .outputs = outputs,
    .reference =
        {
            .host = gg_linear_host,
#if defined(GG_CUDA) && GG_CUDA
            .cuda = gg_linear_cuda,
            .cuda_scratch = gg_linear_cuda_scratch,
#endif
            .exact = gg_linear_exact,
            .exact_share = gg_linear_exact_share,
            .terms = gg_linear_terms,
        },
    .families = families,
    .independent = "MNK",
    .cost = cost,
    .size = 'M',
    .graded = "dx",
    .determinism = {"determinism_linear", "determinism_linear"},
};
