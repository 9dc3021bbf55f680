/* SPDX-License-Identifier: Apache-2.0
 * Cases whose inputs are given as safetensors files instead of drawn: a user's own
 * activations, and what `gradgate export` wrote. Types are never converted. */
#ifndef HARNESS_GIVEN_H
#define HARNESS_GIVEN_H

#include "cases/suite.h"

/* Makes a suite of one case a file, named as the files are (without folder and ending).
 * The extents follow from the shapes. GG_BAD_INPUT when a tensor is missing, not the
 * operator's, of a wrong type or shape, or holds values that no problem has. Tensors named
 * as the operator's outputs are left alone. Free with gg_suite_free() whatever comes back. */
gg_status gg_given_suite(const gg_operator *op, const char *const *paths, int count,
                         gg_suite *suite);

/* Fills in what the case's `source` decides: extents, types, which inputs are there. */
gg_status gg_given_describe(const gg_operator *op, gg_case *what);

/* The inputs of a case with a `source`, in host memory. Release with gg_problem_release()
 * (harness/backend.h) whatever comes back. */
gg_status gg_given_read(const gg_operator *op, const gg_case *what, gg_problem *host);

/* What gg_trial_digest_inputs() (harness/trial.h) finds for the same inputs. */
gg_status gg_given_digest(const gg_operator *op, const gg_problem *host, int threads,
                          uint64_t *digest);

#endif
