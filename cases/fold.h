/* SPDX-License-Identifier: Apache-2.0
 * A synthetic folded chain: one point an amino acid (its alpha carbon), and the pair
 * bias that its distance map gives. Bias maps of trained pair models are local,
 * symmetric in space and far from independent noise; this is the cheapest input with
 * those properties that needs no data set.
 *
 * Model. The chain is a sequence of helices (6 to 20 residues), strands (4 to 9) and
 * loops (2 to 7). Each point lies 3.8 A after the one before; the direction follows
 * from the angle between bonds and the dihedral of four points. Helix 91 and 50
 * degrees, strand 124 and -170 (virtual-bond geometry of Levitt, J. Mol. Biol. 104
 * (1976) 59). In a loop, eight candidates are drawn and the best kept: least overlap
 * (below 4 A), then nearest to the centre of what is built, so that the chain stays
 * compact. Real folds have a radius of gyration of about 2.2 N^0.38 A (Skolnick,
 * Kolinski, Ortiz, J. Mol. Biol. 265 (1997) 217); the test asks for between half and
 * twice that. Helices and strands do not look where they go, so some points overlap: an
 * input, no protein.
 *
 * Angles enter as tangents of half angles, t: cos = (1-t^2)/(1+t^2), sin = 2t/(1+t^2).
 * With + - * / and sqrt alone, each correctly rounded, every machine makes one chain.
 */
#ifndef CASES_FOLD_H
#define CASES_FOLD_H

#include "reference/tensor.h"

typedef struct gg_point3 {
    double x, y, z; /* A = 1e-10 m */
} gg_point3;

/* points: count elements. Chain number `chain` of case `seed`. */
void gg_fold_chain(uint64_t seed, int64_t chain, gg_point3 *points, int64_t count);

/* bias [B,H,N,N]: 4 (2 / (1 + (distance / L_h)^2) - 1), in [-4, 4], falling from +4 at
 * distance 0 through 0 at the head's length L_h = 4, 8, 16, 32 A (then again from 4),
 * plus noise of standard deviation 1/4. One chain a batch. */
gg_status gg_fold_bias(gg_tensor *bias, uint64_t seed, int tensor);

#endif
