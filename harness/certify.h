/* SPDX-License-Identifier: Apache-2.0
 * The truth's certificate: chosen elements of a case computed again in MPFR, the distance
 * of the FP64 truth from them, and that of the kernel. */
#ifndef HARNESS_CERTIFY_H
#define HARNESS_CERTIFY_H

#include "harness/plan.h"

/* In MPFR exponentials (gg_exact_share.cost): a case whose elements cost no more one by
 * one is certified in full; an output gets several groups where they cost no more than
 * this, or than one group of the dearest output. */
#define GG_CERTIFY_ALL 2e5
#define GG_CERTIFY_CHEAP 512.0

/* Cost of certifying every element of the problem one by one. */
double gg_certify_cost_all(const gg_operator *op, const gg_problem *problem);

typedef struct gg_certificate gg_certificate;

/* Chooses elements, fetches what they read and starts to compute them in MPFR, in a thread,
 * so that the device works on meanwhile; `sums` are those of the first run, one an output.
 * Elements: all when that is cheap; else those of up to 16 groups an output that share
 * their work (one when it is dear): around the worst of the kernel, the truth's largest,
 * smallest and most cancelled element (the seed says which comes first), the first, the
 * last and random ones; in a dear group its own largest, smallest and most cancelled,
 * its ends, both sides of the edges of tiles of 64, and random ones. The problem, its
 * truth and the first outputs must stay as they are until gg_certify_finish(). */
gg_status gg_certify_start(const gg_sight *sight, const gg_sums *sums, uint64_t seed,
                           const gg_output_record *outputs, int output_count,
                           gg_certificate **started);

/* Waits, and fills the certificate of each record. Ends `started` in any case; NULL: nothing. */
gg_status gg_certify_finish(gg_certificate *started, gg_output_record *outputs);

#endif
