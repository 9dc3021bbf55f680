/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "reference/triangle_attention_fixture.h"

TestSuite(triangle_attention_reads, .timeout = 60);

typedef struct copy {
    const gg_problem *from;
    gg_problem to;
    int64_t elements;
} copy;

static gg_status take(void *context, int input, int64_t first, int64_t count)
{
    copy *c = context;
    const gg_tensor *from = &c->from->input[input];
    size_t size = gg_dtype_bytes(from->dtype), at = (size_t)first * size;
    cr_assert(first >= 0 && count > 0 && first + count <= gg_tensor_count(from));
    memcpy((char *)c->to.input[input].data + at, (char *)from->data + at,
           (size_t)count * size);
    c->elements += count;
    return GG_OK;
}

/* The problem with NaN (or lengths far outside) everywhere but where the points look. */
static copy part_of(const gg_problem *problem, const gg_point *points, int count)
{
    copy c = {.from = problem, .to = *problem};
    for (int i = 0; i < GG_MAX_INPUTS; i++) {
        if (problem->input[i].data == NULL) continue;
        size_t bytes = gg_tensor_bytes(&problem->input[i]);
        c.to.input[i].data = malloc(bytes);
        memset(c.to.input[i].data, 0xff, bytes);
    }
    cr_assert_eq(gg_triangle_attention_exact_reads(problem, points, count, take, &c), GG_OK);
    return c;
}

static void close_copy(copy *c)
{
    for (int i = 0; i < GG_MAX_INPUTS; i++) free(c->to.input[i].data);
}

/* A few random points, twice: from all inputs and from those that are said to be read. */
static void check(const shape *s, int most, uint64_t seed)
{
    fixture f = fixture_open(s, seed);
    for (int round = 0; round < 30; round++) {
        gg_point whole[8], part[8];
        int count = 1 + round % most;
        for (int p = 0; p < count; p++) {
            int output = (int)(fixture_uniform() * GG_TA_OUTPUTS);
            int64_t element = (int64_t)(fixture_uniform() * (double)fixture_count(&f, output));
            whole[p] = part[p] = (gg_point){.output = output, .element = element};
        }
        copy c = part_of(&f.problem, part, count);
        cr_assert_eq(gg_triangle_attention_exact(&f.problem, whole, count, 1), GG_OK);
        cr_assert_eq(gg_triangle_attention_exact(&c.to, part, count, 1), GG_OK);
        for (int p = 0; p < count; p++)
            cr_assert_eq(memcmp(&part[p].value, &whole[p].value, sizeof part[p].value), 0,
                         "output %d element %lld of %d points: %a, not %a", part[p].output,
                         (long long)part[p].element, count, part[p].value, whole[p].value);
        close_copy(&c);
    }
    fixture_close(&f);
}

Test(triangle_attention_reads, what_is_not_named_does_not_matter)
{
    static const shape shapes[] = {{2, 3, 2, 7, 5, ALL_KEYS, GG_F32, 1.0},
                                   {1, 4, 3, 6, 4, MASKED, GG_BF16, 1.0},
                                   {2, 3, 1, 8, 3, LENGTHS, GG_F32, 1.0}};
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++)
        for (int most = 1; most <= 8; most += 7) check(&shapes[k], most, 300 + k);
}

/* That is the use of it. */
Test(triangle_attention_reads, few_points_read_little)
{
    shape s = {1, 8, 4, 16, 8, ALL_KEYS, GG_F32, 1.0};
    fixture f = fixture_open(&s, 7);
    const int64_t slice = s.N * s.D;
    static const int outputs[] = {GG_TA_O, GG_TA_DV, GG_TA_DBIAS};
    int64_t most[] = {2 * slice + 2 * s.D + s.N, 4 * slice + s.N * s.N,
                      s.R * (2 * slice + 2 * s.D) + s.N};
    for (int k = 0; k < 3; k++) {
        gg_point points[2] = {{.output = outputs[k], .element = 40},
                              {.output = outputs[k], .element = 41}};
        copy c = part_of(&f.problem, points, 2);
        cr_assert_eq(c.elements, most[k], "output %d: %lld", outputs[k],
                     (long long)c.elements);
        close_copy(&c);
    }
    fixture_close(&f);
}
