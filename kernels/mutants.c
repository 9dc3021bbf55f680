/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/linear/mutant.h"
#include "kernels/triangle_attention/mutant.h"

const gg_mutant_set *const gg_mutant_sets[] = {&gg_ta_mutants, &gg_linear_mutants, NULL};
