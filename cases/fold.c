/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/fold.h"

#include <math.h>
#include <stdlib.h>

#include "cases/fill.h"

enum { CANDIDATES = 8, HEAD_LENGTHS = 4 };

/* Uses of the choice stream, apart from those in triangle_attention_fill.c. */
enum { SEGMENT_KIND = 0x100, SEGMENT_LENGTH, LOOP_BEND, LOOP_TWIST, LOOP_SIDE };

static const double BOND = 3.8;    /* A, between neighbouring alpha carbons */
static const double CONTACT = 4.0; /* A, nearer than this is an overlap */

/* Angle between bonds (0, pi) and dihedral, as tangents of their halves. */
typedef struct turn {
    double bend, twist;
} turn;

static const turn HELIX = {1.0176, 0.4663};    /* tan(91/2), tan(50/2) degrees */
static const turn STRAND = {1.8807, -11.4301}; /* tan(124/2), tan(-170/2) */

static gg_point3 add(gg_point3 a, gg_point3 b, double scale)
{
    return (gg_point3){a.x + scale * b.x, a.y + scale * b.y, a.z + scale * b.z};
}

static double dot(gg_point3 a, gg_point3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static gg_point3 cross(gg_point3 a, gg_point3 b)
{
    return (gg_point3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z,
                       a.x * b.y - a.y * b.x};
}

static gg_point3 unit(gg_point3 a)
{
    double length = sqrt(dot(a, a));
    return (gg_point3){a.x / length, a.y / length, a.z / length};
}

static double distance2(gg_point3 a, gg_point3 b)
{
    gg_point3 d = add(a, b, -1.0);
    return dot(d, d);
}

/* The point after c of the chain a, b, c: cosine and sine of the bend (between the
 * bonds c->b and c->next) and of the dihedral a, b, c, next. */
static gg_point3 extend(const gg_point3 *c, turn t)
{
    double bend2 = t.bend * t.bend, twist2 = t.twist * t.twist;
    double cos_bend = (1 - bend2) / (1 + bend2), sin_bend = 2 * t.bend / (1 + bend2);
    double cos_twist = (1 - twist2) / (1 + twist2),
           sin_twist = 2 * t.twist / (1 + twist2);
    gg_point3 along = unit(add(c[0], c[-1], -1.0));
    gg_point3 normal = unit(cross(add(c[-1], c[-2], -1.0), along));
    gg_point3 across = cross(normal, along);
    gg_point3 next = add(c[0], along, -BOND * cos_bend);
    next = add(next, across, BOND * sin_bend * cos_twist);
    return add(next, normal, BOND * sin_bend * sin_twist);
}

/* Overlaps with points before `last`, and squared distance to the centre in units of
 * the squared bond: an overlap weighs more than any distance gained. */
static double penalty(const gg_point3 *points, int64_t last, gg_point3 centre,
                      gg_point3 p)
{
    double overlaps = 0;
    for (int64_t i = 0; i < last; i++)
        if (distance2(points[i], p) < CONTACT * CONTACT) overlaps += 1;
    return 1e3 * overlaps + distance2(centre, p) / (BOND * BOND);
}

static gg_point3 extend_loop(const gg_point3 *points, int64_t last, gg_point3 centre,
                             uint64_t seed, int64_t index)
{
    gg_point3 best = {0, 0, 0};
    double least = INFINITY;
    for (int c = 0; c < CANDIDATES; c++) {
        int64_t draw = index * CANDIDATES + c;
        /* bend between 85 and 145 degrees; twist half-tangent in all four quadrants */
        double bend = 0.92 + gg_choose(seed, LOOP_BEND, draw, 1024) * (2.25 / 1024);
        double twist = (gg_choose(seed, LOOP_TWIST, draw, 1024) - 511.5) / 512;
        if (gg_choose(seed, LOOP_SIDE, draw, 2)) twist = 1 / twist;
        gg_point3 p = extend(points + last, (turn){bend, twist});
        double cost = penalty(points, last, centre, p);
        if (cost < least) {
            least = cost;
            best = p;
        }
    }
    return best;
}

void gg_fold_chain(uint64_t seed, int64_t chain, gg_point3 *points, int64_t count)
{
    gg_point3 start[3] = {{0, 0, 0}, {BOND, 0, 0}, {4.5, 3.735, 0}};
    gg_point3 sum = {0, 0, 0};
    const turn *kind = NULL; /* NULL: loop */
    int64_t left = 0, segment = 0;
    for (int64_t i = 0; i < count; i++, left--) {
        int64_t index = (chain << 32) + i;
        if (left == 0) { /* loop and structure take turns */
            int64_t draw = (chain << 32) + segment++;
            int helix = gg_choose(seed, SEGMENT_KIND, draw, 2);
            kind = segment % 2 ? (helix ? &HELIX : &STRAND) : NULL;
            int shortest = kind == &HELIX ? 6 : kind == &STRAND ? 4 : 2;
            int choices = kind == &HELIX ? 15 : 6;
            left = shortest + gg_choose(seed, SEGMENT_LENGTH, draw, choices);
        }
        gg_point3 centre = {0, 0, 0};
        if (i > 0) centre = add(centre, sum, 1.0 / (double)i);
        if (i < 3)
            points[i] = start[i];
        else if (kind != NULL)
            points[i] = extend(points + i - 1, *kind);
        else
            points[i] = extend_loop(points, i - 1, centre, seed, index);
        sum = add(sum, points[i], 1.0);
    }
}

gg_status gg_fold_bias(gg_tensor *bias, uint64_t seed, int tensor)
{
    const int64_t B = bias->shape[0], H = bias->shape[1], N = bias->shape[2];
    gg_point3 *points = malloc((size_t)N * sizeof *points);
    if (points == NULL)
        return gg_fail(GG_NO_MEMORY, "no memory for a chain of %lld points",
                       (long long)N);
    for (int64_t b = 0; b < B; b++) {
        gg_fold_chain(seed, b, points, N);
        for (int64_t h = 0; h < H; h++) {
            double length = (double)(4 << (h % HEAD_LENGTHS)); /* A */
            for (int64_t i = 0; i < N; i++) {
                for (int64_t j = 0; j < N; j++) {
                    int64_t at = ((b * H + h) * N + i) * N + j;
                    double ratio2 = distance2(points[i], points[j]) / (length * length);
                    double noise = gg_draw_normal(seed, tensor, (uint64_t)at);
                    gg_fill_set(bias, at, 4 * (2 / (1 + ratio2) - 1) + 0.25 * noise);
                }
            }
        }
    }
    free(points);
    return GG_OK;
}
