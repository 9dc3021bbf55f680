/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/consistent.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/fields.h"

#define SAY(...) (snprintf(text, GG_FAULT_SIZE, __VA_ARGS__), true)

static bool check_fault(const gg_check *check, const char *output,
                        char text[GG_FAULT_SIZE])
{
    const char *unfit = gg_fields_unfit(gg_check_fields, check);
    if (unfit) return SAY("a check of output %s has an impossible %s", output, unfit);
    if (!check->name[0]) return SAY("a check of output %s has no name", output);
    if (check->verdict == GG_PASSED &&
        gg_judge(check->value, check->limit) != GG_PASSED)
        return SAY("check %s of output %s says passed but %g is not <= %g", check->name,
                   output, check->value, check->limit);
    return false;
}

static bool shape_fault(const gg_output_record *output, char text[GG_FAULT_SIZE])
{
    if (output->ndim < 0 || output->ndim > GG_MAX_DIMS)
        return SAY("output %s has %d dimensions", output->name, output->ndim);
    int64_t product = 1;
    for (int i = 0; i < output->ndim; i++) {
        int64_t extent = output->shape[i];
        if (extent < 0 || extent > GG_COUNT_MAX)
            return SAY("output %s has an extent of %" PRId64, output->name, extent);
        if (extent && product > GG_COUNT_MAX / extent)
            return SAY("output %s has more than 2^53 elements", output->name);
        product *= extent;
    }
    if (product != output->count)
        return SAY("output %s has %" PRId64 " elements by its shape but count %" PRId64,
                   output->name, product, output->count);
    return false;
}

static bool map_fault(const gg_output_record *output, const gg_map *map)
{
    gg_map right = gg_map_of(output);
    return map->rows != 0 &&
           (gg_fields_unfit(gg_map_fields, map) || map->rows != right.rows ||
            map->columns != right.columns || map->cell_rows != right.cell_rows ||
            map->cell_columns != right.cell_columns);
}

static bool output_fault(const gg_output_record *output, char text[GG_FAULT_SIZE])
{
    const char *unfit = gg_fields_unfit(gg_output_fields, output);
    if (unfit) return SAY("output %.15s has an impossible %s", output->name, unfit);
    if (!output->name[0]) return SAY("an output has no name");
    if (shape_fault(output, text)) return true;
    const struct {
        const char *name;
        int64_t value, low, high;
    } bounded[] = {
        {"unwritten", output->unwritten, 0, output->count},
        {"pattern_mismatch", output->pattern_mismatch, 0, output->count},
        {"repeat_differing", output->repeat_differing, 0, output->count},
        {"gauge_max_at", output->gauge_max_at, -1, output->count},
        {"pattern_first", output->pattern_first, -1, output->count},
        {"repeat_first", output->repeat_first, -1, output->count},
        {"certificate_at", output->certificate_at, 0, output->count},
        {"certified", output->certified, 0, GG_COUNT_MAX},
    };
    for (size_t i = 0; i < sizeof bounded / sizeof *bounded; i++)
        if (bounded[i].value < bounded[i].low || bounded[i].value > bounded[i].high)
            return SAY("output %s of %" PRId64 " elements has %s %" PRId64,
                       output->name, output->count, bounded[i].name, bounded[i].value);
    if (map_fault(output, &output->bits_map) || map_fault(output, &output->error_map))
        return SAY("output %s has a map of another shape", output->name);
    if (output->check_count < 0 || output->check_count > GG_MAX_CHECKS)
        return SAY("output %s has %d checks", output->name, output->check_count);
    for (int i = 0; i < output->check_count; i++)
        if (check_fault(&output->checks[i], output->name, text)) return true;
    return false;
}

static bool difference_fault(const gg_case_record *record, const gg_level_record *level,
                             const gg_level_difference *d, char text[GG_FAULT_SIZE])
{
    const gg_output_record *output = NULL;
    const char *unfit = gg_fields_unfit(gg_level_difference_fields, d);
    if (unfit) return SAY("level %s has a difference with an impossible %s", level->name, unfit);
    for (int o = 0; o < record->output_count; o++)
        if (strcmp(record->outputs[o].name, d->output) == 0) output = &record->outputs[o];
    if (!output)
        return SAY("level %s has a difference of output %s, which the case lacks",
                   level->name, d->output);
    if (d->runs < 1 || d->runs > level->differed || d->run < 1 || d->differing < 1 ||
        d->differing > output->count || d->first < 0 || d->first >= output->count)
        return SAY("level %s: the difference of output %s cannot be", level->name, d->output);
    return false;
}

/* What a level that passed must have: at least one comparison, no difference, a control
 * that differed, and a load where one belongs to it (not so for a NaN). */
static bool level_fault(const gg_case_record *record, const gg_level_record *level,
                        char text[GG_FAULT_SIZE])
{
    const char *unfit = gg_fields_unfit(gg_level_fields, level);
    if (unfit) return SAY("level %.15s has an impossible %s", level->name, unfit);
    if (!level->name[0]) return SAY("has a level without a name");
    if (level->runs < 0 || level->differed < 0 || level->control_runs < 0)
        return SAY("level %s has a negative count", level->name);
    if (level->difference_count < 0 || level->difference_count > GG_MAX_OUTPUTS)
        return SAY("level %s has %d differences", level->name, level->difference_count);
    for (int i = 0; i < level->difference_count; i++)
        if (difference_fault(record, level, &level->differences[i], text)) return true;
    bool equal = level->differed == 0 && level->difference_count == 0;
    bool loaded = isnan(level->overlap_least) || level->overlap >= level->overlap_least;
    if (level->verdict == GG_PASSED &&
        !(level->runs >= 2 && equal && loaded && level->control_differed == 1))
        return SAY("level %s says passed without the evidence for it", level->name);
    if (level->verdict != GG_FAILED && !equal)
        return SAY("level %s says %s but outputs differed", level->name,
                   gg_verdict_name(level->verdict));
    return false;
}

/* The case's verdict against those of its levels. */
static bool levels_fault(const gg_case_record *record, char text[GG_FAULT_SIZE])
{
    if (record->level_count < 0 || record->level_count > GG_MAX_LEVELS)
        return SAY("has %d levels", record->level_count);
    for (int i = 0; i < record->level_count; i++) {
        const gg_level_record *level = &record->levels[i];
        if (level_fault(record, level, text)) return true;
        for (int j = 0; j < i; j++)
            if (strcmp(level->name, record->levels[j].name) == 0)
                return SAY("has level %s twice", level->name);
        if (gg_verdict_worse(record->verdict, level->verdict) != record->verdict)
            return SAY("says %s but level %s is %s", gg_verdict_name(record->verdict),
                       level->name, gg_verdict_name(level->verdict));
    }
    return false;
}

/* The case's verdict against those of its checks. */
static bool verdict_fault(const gg_case_record *record, char text[GG_FAULT_SIZE])
{
    bool passed = record->verdict == GG_PASSED;
    if (passed && record->output_count == 0)
        return SAY("says passed but nothing was compared");
    if (passed && record->runs < 1) return SAY("says passed but has no run");
    for (int o = 0; o < record->output_count; o++) {
        const gg_output_record *output = &record->outputs[o];
        if (passed && output->check_count == 0)
            return SAY("says passed but output %s has no check", output->name);
        for (int i = 0; i < output->check_count; i++) {
            const gg_check *check = &output->checks[i];
            if (gg_verdict_worse(record->verdict, check->verdict) == record->verdict)
                continue;
            return SAY("says %s but check %s of output %s is %s",
                       gg_verdict_name(record->verdict), check->name, output->name,
                       gg_verdict_name(check->verdict));
        }
    }
    return false;
}

bool gg_case_fault(const gg_case_record *record, const char *symbols,
                   char text[GG_FAULT_SIZE])
{
    if (strnlen(record->id, sizeof record->id) == sizeof record->id || !record->id[0])
        return SAY("has no id");
    if (strnlen(record->reason, sizeof record->reason) == sizeof record->reason)
        return SAY("has an endless reason");
    const char *unfit = gg_fields_unfit(gg_case_fields, record);
    if (unfit) return SAY("has an impossible %s", unfit);
    if ((unsigned)record->verdict > GG_FAILED) return SAY("has an impossible verdict");
    if (record->index < 0) return SAY("has index %d", record->index);
    if (record->runs < 0) return SAY("has %d runs", record->runs);
    if (strnlen(record->device, sizeof record->device) == sizeof record->device)
        return SAY("has an endless device");
    if (record->across != 0 && (record->across < 2 || record->across > GG_MAX_DEVICES))
        return SAY("says it was compared across %d devices", record->across);
    for (size_t i = symbols ? strlen(symbols) : 0; symbols && i < GG_MAX_SYMBOLS; i++)
        if (record->extent[i] != 0)
            return SAY("has more extents than the symbols %s", symbols);
    for (int i = 0; i < GG_MAX_SYMBOLS; i++)
        if (record->extent[i] < 0 || record->extent[i] > GG_COUNT_MAX)
            return SAY("has an extent of %" PRId64, record->extent[i]);
    if (record->output_count < 0 || record->output_count > GG_MAX_OUTPUTS)
        return SAY("has %d outputs", record->output_count);
    for (int i = 0; i < record->output_count; i++) {
        if (output_fault(&record->outputs[i], text)) return true;
        for (int j = 0; j < i; j++)
            if (strcmp(record->outputs[i].name, record->outputs[j].name) == 0)
                return SAY("has output %s twice", record->outputs[i].name);
    }
    return levels_fault(record, text) || verdict_fault(record, text);
}

static int by_id(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool id_fault(const gg_run_record *run, char text[GG_FAULT_SIZE])
{
    if (run->count < 2) return false;
    const char **ids = malloc((size_t)run->count * sizeof *ids);
    if (!ids) return SAY("no memory to compare the ids of %d cases", run->count);
    for (int i = 0; i < run->count; i++) ids[i] = run->cases[i].id;
    qsort(ids, (size_t)run->count, sizeof *ids, by_id);
    bool twice = false;
    for (int i = 1; i < run->count && !twice; i++)
        if (strcmp(ids[i - 1], ids[i]) == 0) twice = SAY("case %s comes twice", ids[i]);
    free(ids);
    return twice;
}

static bool names_fault(const gg_run_record *run, char text[GG_FAULT_SIZE])
{
    const char *names[GG_MAX_OUTPUTS];
    int count = 0;
    for (int i = 0; i < run->count; i++)
        for (int o = 0; o < run->cases[i].output_count; o++) {
            const char *name = run->cases[i].outputs[o].name;
            int k = 0;
            while (k < count && strcmp(names[k], name) != 0) k++;
            if (k == GG_MAX_OUTPUTS) return SAY("has more than %d outputs", k);
            if (k == count) names[count++] = name;
        }
    return false;
}

bool gg_run_fault(const gg_run_record *run, char text[GG_FAULT_SIZE])
{
    const char *unfit = gg_fields_unfit(gg_run_fields, run);
    if (!unfit) unfit = gg_fields_unfit(gg_place_fields, &run->place);
    for (int i = 0; !unfit && i < run->place.device_count && i < GG_MAX_DEVICES; i++)
        unfit = gg_fields_unfit(gg_device_fields, &run->place.devices[i]);
    if (unfit) return SAY("the run has an impossible %s", unfit);
    if (run->place.device_count < 0 || run->place.device_count > GG_MAX_DEVICES)
        return SAY("the run has %d devices", run->place.device_count);
    if (run->limit_count < 0 || run->limit_count > GG_MAX_OUTPUTS)
        return SAY("the run has %d limits", run->limit_count);
    if (run->count < 0 || strlen(run->symbols) > GG_MAX_SYMBOLS)
        return SAY("the run has %d cases and symbols %s", run->count, run->symbols);
    for (int i = 0; i < run->count; i++) {
        const gg_case_record *record = &run->cases[i];
        char inner[GG_FAULT_SIZE];
        if (gg_case_fault(record, run->symbols, inner))
            return SAY("case %.95s %.200s", record->id, inner);
        if (i && record->index <= run->cases[i - 1].index)
            return SAY("case %s is not in suite order", record->id);
        if (record->index >= run->suite_count)
            return SAY("case %s has index %d in a suite of %d", record->id,
                       record->index, run->suite_count);
    }
    return names_fault(run, text) || id_fault(run, text);
}
