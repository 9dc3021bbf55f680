/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/fold.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <xxhash.h>

#include "cases/fill.h"

enum { LONG = 384 };

static double apart(gg_point3 a, gg_point3 b)
{
    double x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
    return sqrt(x * x + y * y + z * z);
}

Test(fold, bonds_are_3_8)
{
    gg_point3 p[LONG];
    for (uint64_t seed = 0; seed < 8; seed++) {
        gg_fold_chain(seed, 0, p, LONG);
        for (int i = 1; i < LONG; i++)
            cr_assert_float_eq(apart(p[i], p[i - 1]), 3.8, 1e-3);
    }
}

/* In a helix points three apart are 5.0 A from each other, in a strand 10 A; a chain of
 * helices, strands and loops has many of both. */
Test(fold, has_helices_and_strands)
{
    gg_point3 p[LONG];
    int helix = 0, strand = 0;
    gg_fold_chain(3, 0, p, LONG);
    for (int i = 3; i < LONG; i++) {
        double d = apart(p[i], p[i - 3]);
        helix += d > 4.7 && d < 5.4;
        strand += d > 9.6 && d < 10.5;
    }
    cr_expect(helix >= LONG / 8, "%d places of a helix", helix);
    cr_expect(strand >= LONG / 16, "%d places of a strand", strand);
}

Test(fold, is_as_compact_as_a_protein)
{
    static gg_point3 p[768];
    for (uint64_t seed = 0; seed < 6; seed++)
        for (int n = 96; n <= 768; n *= 2) {
            double x = 0, y = 0, z = 0, square = 0;
            gg_fold_chain(seed, 0, p, n);
            for (int i = 0; i < n; i++)
                x += p[i].x / n, y += p[i].y / n, z += p[i].z / n;
            for (int i = 0; i < n; i++) {
                double d = apart(p[i], (gg_point3){x, y, z});
                square += d * d / n;
            }
            double ratio = sqrt(square) / (2.2 * pow(n, 0.38));
            cr_expect(ratio >= 0.5 && ratio <= 2, "N %d seed %d: %.2f", n, (int)seed,
                      ratio);
        }
}

static gg_tensor bias_of(uint64_t seed, int64_t B, int64_t N)
{
    gg_tensor t = {.dtype = GG_BF16, .ndim = 4, .shape = {B, 4, N, N}};
    t.data = malloc(gg_tensor_bytes(&t));
    cr_assert_not_null(t.data);
    cr_assert_eq(gg_fold_bias(&t, seed, 3), GG_OK);
    return t;
}

/* Near +4 on the diagonal, falling with distance, slower in heads of longer range;
 * equal both ways up to the noise, which is not. */
Test(fold, bias_follows_distance)
{
    enum { N = 64 };
    gg_tensor t = bias_of(1, 1, N);
    double diagonal = 0, mean[4] = {0}, asymmetry = 0;
    for (int h = 0; h < 4; h++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                double b = gg_fill_get(&t, (h * N + i) * N + j);
                mean[h] += b / (N * N);
                asymmetry += fabs(b - gg_fill_get(&t, (h * N + j) * N + i)) /
                             (4 * N * N);
                if (i == j) diagonal += b / (4 * N);
                cr_assert(fabs(b) <= 4 + 0.25 * 6.4);
            }
    cr_expect_float_eq(diagonal, 4.0, 0.1);
    cr_expect(mean[0] < mean[1] && mean[1] < mean[2] && mean[2] < mean[3]);
    cr_expect(asymmetry > 0.1 && asymmetry < 0.5, "%.3f", asymmetry);
    free(t.data);
}

Test(fold, batches_and_seeds_have_their_own_chain)
{
    gg_tensor a = bias_of(1, 2, 48), b = bias_of(2, 2, 48);
    size_t half = gg_tensor_bytes(&a) / 2;
    cr_assert(memcmp(a.data, (char *)a.data + half, half) != 0);
    cr_assert(memcmp(a.data, b.data, half) != 0);
    uint64_t digest = XXH3_64bits(a.data, 2 * half);
    cr_expect_eq(digest, UINT64_C(0x91daf098db941680), "0x%016llx",
                 (unsigned long long)digest);
    free(a.data);
    free(b.data);
}

Test(fold, shortest_chains)
{
    gg_point3 p[4];
    for (int n = 1; n <= 4; n++) gg_fold_chain(5, 0, p, n);
    for (int i = 0; i < 4; i++) cr_assert(isfinite(p[i].x + p[i].y + p[i].z));
}
