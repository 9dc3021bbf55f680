/* SPDX-License-Identifier: Apache-2.0
 * Maps of where an output's bits differ and where its errors are (gg_map). They cost a
 * pass over the output on the host, so they are made only for what is the worst so far. */
#ifndef HARNESS_MAPS_H
#define HARNESS_MAPS_H

#include "harness/backend.h"
#include "reports/record.h"

/* Largest so far in this process, by output in declared order; starts zeroed. */
typedef struct gg_worst {
    double share[GG_MAX_OUTPUTS]; /* of elements that differed in one run */
    double gauge[GG_MAX_OUTPUTS];
} gg_worst;

/* Makes out->bits_map when `differing` elements are as many as ever. `worst` is the
 * output's in gg_worst, NULL: no maps. Both outputs are in the backend's memory. */
gg_status gg_map_bits(const gg_backend *b, const gg_tensor *first, const void *again,
                      int64_t differing, double *worst, gg_output_record *out);
/* Makes out->error_map when out->gauge_max is as large as ever. */
gg_status gg_map_errors(const gg_backend *b, const gg_tensor *output, const double *truth,
                        const double *allowance, double *worst, gg_output_record *out);

#endif
