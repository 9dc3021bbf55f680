/* SPDX-License-Identifier: Apache-2.0
 * What a linear problem must look like, and each output as one product. */
#include "reference/linear_internal.h"

static const struct {
    const char *name;
    int rows, columns;                /* symbols */
    bool serves[GG_LINEAR_OUTPUTS];   /* outputs that read it */
} inputs[] = {
    [GG_LINEAR_X] = {"x", GG_LINEAR_M, GG_LINEAR_K,
                     {[GG_LINEAR_Y] = 1, [GG_LINEAR_DW] = 1}},
    [GG_LINEAR_W] = {"w", GG_LINEAR_N, GG_LINEAR_K,
                     {[GG_LINEAR_Y] = 1, [GG_LINEAR_DX] = 1}},
    [GG_LINEAR_DY] = {"dy", GG_LINEAR_M, GG_LINEAR_N,
                      {[GG_LINEAR_DX] = 1, [GG_LINEAR_DW] = 1}},
};

gg_linear_product gg_linear_product_of(const gg_problem *problem, int output)
{
    int64_t m = problem->extent[GG_LINEAR_M], n = problem->extent[GG_LINEAR_N];
    int64_t k = problem->extent[GG_LINEAR_K];
    const uint16_t *x = problem->input[GG_LINEAR_X].data;
    const uint16_t *w = problem->input[GG_LINEAR_W].data;
    const uint16_t *dy = problem->input[GG_LINEAR_DY].data;
    switch (output) {
    case GG_LINEAR_Y: return (gg_linear_product){m, n, k, x, w, k, 1, 1, k};
    case GG_LINEAR_DX: return (gg_linear_product){m, k, n, dy, w, n, 1, k, 1};
    default: return (gg_linear_product){n, k, m, dy, x, 1, n, k, 1};
    }
}

static gg_status check_input(const gg_problem *problem, int i)
{
    const gg_tensor *got = &problem->input[i];
    int64_t rows = problem->extent[inputs[i].rows];
    int64_t columns = problem->extent[inputs[i].columns];
    if (got->data == NULL)
        return gg_fail(GG_BAD_INPUT, "linear: %s is missing", inputs[i].name);
    if (got->dtype == GG_BF16 && got->ndim == 2 && got->shape[0] == rows &&
        got->shape[1] == columns)
        return GG_OK;
    return gg_fail(GG_BAD_INPUT,
                   "linear: %s is %s with %d dimensions [%lld,%lld], expected "
                   "bf16 [%lld,%lld]",
                   inputs[i].name, gg_dtype_name(got->dtype), got->ndim,
                   (long long)got->shape[0], (long long)got->shape[1], (long long)rows,
                   (long long)columns);
}

gg_status gg_linear_check(const gg_problem *problem,
                          const bool wanted[GG_LINEAR_OUTPUTS])
{
    static const char names[] = "MNK";
    for (int i = 0; i < 3; i++)
        if (problem->extent[i] < 1 || problem->extent[i] >= (1 << 28))
            return gg_fail(GG_BAD_INPUT, "linear: %c = %lld, must be in [1, 2^28)",
                           names[i], (long long)problem->extent[i]);
    for (int i = GG_LINEAR_X; i <= GG_LINEAR_DY; i++) {
        bool needed = false;
        for (int output = 0; output < GG_LINEAR_OUTPUTS; output++)
            needed = needed || (wanted[output] && inputs[i].serves[output]);
        if (needed || problem->input[i].data) GG_TRY(check_input(problem, i));
    }
    return GG_OK;
}
