/* SPDX-License-Identifier: Apache-2.0
 * Parts of one run become one record: its shards, or runs of disjoint selections. */
#ifndef REPORTS_MERGE_H
#define REPORTS_MERGE_H

#include "reports/record.h"

/* `paths` name the parts in messages. The result equals the record of the run in one
 * piece but for place and time: started is the earliest, finished the latest, seconds
 * the sum. Selections that cover the suite together become the whole suite.
 * GG_BAD_INPUT with one line that says which parts and which cases, when
 * - the parts are of different builds, kernels, suites, devices, repeats or limits (any
 *   field of the run but selection and shard; on a GPU its model and driver too);
 * - a shard is missing or comes twice, or a case comes twice;
 * - a case of the selection is missing: named when the suite's file can still be read.
 * `merged` is independent of the parts; free it with gg_run_free. */
gg_status gg_merge(const gg_run_record *parts, const char *const *paths, int count,
                   gg_run_record *merged);

#endif
