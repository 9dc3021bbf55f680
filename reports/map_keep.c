/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "reports/record.h"

enum { KINDS = 2 };

static gg_map *map_of(gg_output_record *output, int kind)
{
    return kind == 0 ? &output->bits_map : &output->error_map;
}

static bool larger(double a, double b)
{
    return !isnan(b) && (isnan(a) || a > b);
}

static void clear(gg_map *map) { memset(map, 0, sizeof *map); }

/* The map of an output of that name so far; NULL before the first. */
typedef struct kept {
    const char *output;
    gg_map *map[KINDS];
} kept;

void gg_maps_keep_worst(gg_run_record *run)
{
    kept all[GG_MAX_OUTPUTS] = {{.output = NULL}};
    for (int i = 0; i < run->count; i++)
        for (int o = 0; o < run->cases[i].output_count; o++) {
            gg_output_record *output = &run->cases[i].outputs[o];
            int at = 0;
            while (at < GG_MAX_OUTPUTS && all[at].output != NULL &&
                   strcmp(all[at].output, output->name) != 0)
                at++;
            if (at == GG_MAX_OUTPUTS) continue;
            all[at].output = output->name;
            for (int kind = 0; kind < KINDS; kind++) {
                gg_map *map = map_of(output, kind), **best = &all[at].map[kind];
                if (map->rows == 0) continue;
                if (*best != NULL && !larger(map->value, (*best)->value)) {
                    clear(map);
                    continue;
                }
                if (*best != NULL) clear(*best);
                *best = map;
            }
        }
}

gg_map gg_map_of(const gg_output_record *output)
{
    int64_t rows = output->ndim >= 2 ? output->shape[output->ndim - 2] : 1;
    int64_t columns = output->ndim >= 1 ? output->shape[output->ndim - 1] : 1;
    gg_map map = {.rows = 0};
    if (rows < 1 || columns < 1) return map;
    map.cell_rows = (rows + GG_MAP_CELLS - 1) / GG_MAP_CELLS;
    map.cell_columns = (columns + GG_MAP_CELLS - 1) / GG_MAP_CELLS;
    map.rows = (int)((rows + map.cell_rows - 1) / map.cell_rows);
    map.columns = (int)((columns + map.cell_columns - 1) / map.cell_columns);
    return map;
}
