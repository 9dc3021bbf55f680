/* SPDX-License-Identifier: Apache-2.0
 * A map as a member of an output in a report; one that is not there leaves no trace. */
#ifndef REPORTS_MAP_JSON_H
#define REPORTS_MAP_JSON_H

#include "reports/json_in.h"
#include "reports/json_out.h"
#include "reports/record.h"

void gg_map_write(gg_json_out *out, const char *key, const gg_map *map);
gg_status gg_map_read(gg_json_in *in, const cJSON *output, const char *key, gg_map *map);

#endif
