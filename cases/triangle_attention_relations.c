/* SPDX-License-Identifier: Apache-2.0
 * Triangle attention problems written in another way. What is stored at an invalid key
 * is nobody's to read, and which keys are valid can be said by lengths or by a mask. */
#include <math.h>
#include <stdlib.h>

#include "cases/fill.h"
#include "cases/triangle_attention_fill.h"

static bool has_lengths(const gg_problem *p)
{
    return p->input[GG_TA_KEY_LENGTHS].data != NULL;
}

static bool has_mask(const gg_problem *p) { return p->input[GG_TA_MASK].data != NULL; }

static bool has_invalid_keys(const gg_problem *p)
{
    return has_lengths(p) || has_mask(p);
}

static bool has_no_choice(const gg_problem *p) { return !has_invalid_keys(p); }

static bool is_valid(const gg_problem *p, int64_t row, int64_t j)
{
    if (has_lengths(p)) return j < (int64_t)gg_fill_get(&p->input[GG_TA_KEY_LENGTHS], row);
    if (!has_mask(p)) return true;
    return gg_fill_get(&p->input[GG_TA_MASK], row * p->extent[GG_TA_N] + j) != 0;
}

/* Any byte but 0 says valid. */
static gg_status as_mask(gg_problem *p)
{
    const int64_t rows = p->extent[GG_TA_B] * p->extent[GG_TA_R], N = p->extent[GG_TA_N];
    gg_tensor mask = p->input[GG_TA_MASK];
    mask.data = malloc((size_t)(rows * N));
    if (mask.data == NULL) return gg_fail(GG_NO_MEMORY, "no memory for a mask");
    for (int64_t at = 0; at < rows * N; at++)
        gg_fill_set(&mask, at, is_valid(p, at / N, at % N) ? 1 + (double)(at % 3) : 0);
    p->input[GG_TA_MASK] = mask;
    free(p->input[GG_TA_KEY_LENGTHS].data);
    p->input[GG_TA_KEY_LENGTHS].data = NULL;
    return GG_OK;
}

static gg_status as_lengths(gg_problem *p)
{
    const int64_t rows = p->extent[GG_TA_B] * p->extent[GG_TA_R];
    gg_tensor lengths = p->input[GG_TA_KEY_LENGTHS];
    lengths.data = malloc((size_t)rows * sizeof(int32_t));
    if (lengths.data == NULL) return gg_fail(GG_NO_MEMORY, "no memory for key lengths");
    for (int64_t row = 0; row < rows; row++)
        gg_fill_set(&lengths, row, (double)p->extent[GG_TA_N]);
    p->input[GG_TA_KEY_LENGTHS] = lengths;
    return GG_OK;
}

/* k and v of every invalid key, and the bias columns that no row sees. */
static gg_status poison_padding(gg_problem *p)
{
    const int64_t R = p->extent[GG_TA_R], H = p->extent[GG_TA_H], N = p->extent[GG_TA_N];
    const int64_t D = p->extent[GG_TA_D], rows = p->extent[GG_TA_B] * R;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t hj = 0; hj < H * N; hj++)
            for (int64_t d = 0; d < D && !is_valid(p, row, hj % N); d++) {
                gg_fill_set(&p->input[GG_TA_K], (row * H * N + hj) * D + d, (double)NAN);
                gg_fill_set(&p->input[GG_TA_V], (row * H * N + hj) * D + d, (double)NAN);
            }
    for (int64_t b = 0; b < p->extent[GG_TA_B]; b++)
        for (int64_t j = 0; j < N; j++) {
            bool seen = false;
            for (int64_t r = 0; r < R; r++) seen |= is_valid(p, b * R + r, j);
            for (int64_t hi = 0; hi < H * N && !seen; hi++)
                gg_fill_set(&p->input[GG_TA_BIAS], (b * H * N + hi) * N + j, (double)NAN);
        }
    return GG_OK;
}

const gg_relation gg_ta_relations[] = {
    {"lengths_as_mask", "key lengths and the dense prefix mask give the same bits",
     has_lengths, as_mask},
    {"no_mask_as_mask", "a mask of ones and no mask give the same bits", has_no_choice,
     as_mask},
    {"no_mask_as_lengths", "lengths of N and no lengths give the same bits",
     has_no_choice, as_lengths},
    {"padding", "NaN in k, v and bias of invalid keys changes no bit", has_invalid_keys,
     poison_padding},
    {0},
};

/* dv_j = sum_i P_ij dout_i, and the P_ij of a query are 1 in sum over j, or all 0 where no
 * key is valid. sums [B,R,H,D]. */
static gg_status sums_of_dv(const gg_problem *p, double *sums)
{
    const int64_t H = p->extent[GG_TA_H], N = p->extent[GG_TA_N], D = p->extent[GG_TA_D];
    const int64_t rows = p->extent[GG_TA_B] * p->extent[GG_TA_R];
    for (int64_t row = 0; row < rows; row++) {
        bool live = false;
        for (int64_t j = 0; j < N; j++) live |= is_valid(p, row, j);
        for (int64_t hd = 0; hd < H * D; hd++) {
            double sum = 0;
            int64_t first = (row * H + hd / D) * N * D + hd % D;
            for (int64_t i = 0; i < N && live; i++)
                sum += gg_fill_get(&p->input[GG_TA_DOUT], first + i * D);
            sums[row * H * D + hd] = sum;
        }
    }
    return GG_OK;
}

const gg_balance gg_ta_balances[] = {
    {"dv_sums", "dv summed over keys is dout summed over queries, 0 where no key is valid",
     "dv", 'N', sums_of_dv},
    {0},
};
