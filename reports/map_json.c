/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/map_json.h"

#include <string.h>

#include "reports/fields.h"

static const char digits[] = "0123456789abcdef";

void gg_map_write(gg_json_out *out, const char *key, const gg_map *map)
{
    char text[2 * sizeof map->cells + 1];
    size_t count = (size_t)map->rows * (size_t)map->columns;
    if (map->rows == 0) return;
    for (size_t i = 0; i < count; i++) {
        text[2 * i] = digits[map->cells[i] >> 4];
        text[2 * i + 1] = digits[map->cells[i] & 15];
    }
    text[2 * count] = 0;
    gg_out_open_line(out, key, '{');
    gg_fields_write(out, gg_map_fields, map);
    gg_out_text(out, "cells", text, sizeof text);
    gg_out_close(out);
}

static gg_status read_cells(gg_json_in *in, const cJSON *object, gg_map *map)
{
    char text[2 * sizeof map->cells + 1];
    if (map->rows < 1 || map->rows > GG_MAP_CELLS || map->columns < 1 ||
        map->columns > GG_MAP_CELLS)
        return gg_in_refuse(in, "map of %d by %d cells", map->rows, map->columns);
    size_t count = (size_t)map->rows * (size_t)map->columns;
    GG_TRY(gg_in_text(in, object, "cells", text, sizeof text));
    if (strlen(text) != 2 * count || strspn(text, digits) != 2 * count)
        return gg_in_refuse(in, "map's cells are not %zu hexadecimal digits", 2 * count);
    for (size_t i = 0; i < count; i++)
        map->cells[i] = (uint8_t)((strchr(digits, text[2 * i]) - digits) << 4 |
                                  (strchr(digits, text[2 * i + 1]) - digits));
    return GG_OK;
}

gg_status gg_map_read(gg_json_in *in, const cJSON *output, const char *key, gg_map *map)
{
    static const char *const others[] = {"cells", NULL};
    const cJSON *object = gg_in_get(output, key);
    if (!object) return GG_OK;
    size_t mark = gg_in_enter(in, key, 0);
    GG_TRY(gg_fields_read(in, object, gg_map_fields, others, map));
    GG_TRY(read_cells(in, object, map));
    gg_in_leave(in, mark);
    return GG_OK;
}
