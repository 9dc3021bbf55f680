/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/document.h"

#include <stdio.h>
#include <string.h>

#include "reports/fields.h"

void gg_identity_write(gg_json_out *out, const gg_run_record *run)
{
    gg_out_open(out, "run", '{');
    gg_fields_write(out, gg_run_fields, run);
    gg_out_close(out);
    gg_out_open(out, "limits", '[');
    for (int i = 0; i < run->limit_count; i++) {
        gg_out_open_line(out, NULL, '{');
        gg_fields_write(out, gg_limit_fields, &run->limits[i]);
        gg_out_close(out);
    }
    gg_out_close(out);
}

gg_status gg_identity_read(gg_json_in *in, const cJSON *object, gg_run_record *run)
{
    size_t mark = gg_in_enter(in, "run", 0);
    GG_TRY(gg_fields_read(in, gg_in_get(object, "run"), gg_run_fields, NULL, run));
    gg_in_leave(in, mark);
    if (strlen(run->symbols) > GG_MAX_SYMBOLS)
        return gg_in_refuse(in, "run.symbols \"%s\" names more than %d extents",
                            run->symbols, GG_MAX_SYMBOLS);
    GG_TRY(gg_in_array(in, object, "limits", 0, GG_MAX_OUTPUTS, &run->limit_count));
    const cJSON *item;
    int i = 0;
    mark = gg_in_enter(in, "limits", 0);
    cJSON_ArrayForEach(item, gg_in_get(object, "limits")) {
        size_t inner = gg_in_enter(in, NULL, i);
        GG_TRY(gg_fields_read(in, item, gg_limit_fields, NULL, &run->limits[i++]));
        gg_in_leave(in, inner);
    }
    gg_in_leave(in, mark);
    return GG_OK;
}

void gg_place_write(gg_json_out *out, const gg_place *place)
{
    gg_fields_write(out, gg_place_fields, place);
    if (place->device_count == 0) return;
    gg_out_open(out, "devices", '[');
    for (int i = 0; i < place->device_count; i++) {
        gg_out_open_line(out, NULL, '{');
        gg_fields_write(out, gg_device_fields, &place->devices[i]);
        gg_out_close(out);
    }
    gg_out_close(out);
}

gg_status gg_place_read(gg_json_in *in, const cJSON *object, gg_place *place)
{
    static const char *const others[] = {"?devices", NULL};
    GG_TRY(gg_fields_read(in, object, gg_place_fields, others, place));
    if (!gg_in_get(object, "devices")) return GG_OK;
    GG_TRY(gg_in_array(in, object, "devices", 1, GG_MAX_DEVICES, &place->device_count));
    const cJSON *item;
    int i = 0;
    size_t mark = gg_in_enter(in, "devices", 0);
    cJSON_ArrayForEach(item, gg_in_get(object, "devices")) {
        size_t inner = gg_in_enter(in, NULL, i);
        GG_TRY(gg_fields_read(in, item, gg_device_fields, NULL, &place->devices[i++]));
        gg_in_leave(in, inner);
    }
    gg_in_leave(in, mark);
    return GG_OK;
}

static void write_case_name(gg_json_out *out, const char *key, const gg_run_record *run,
                            int at)
{
    gg_out_text(out, key, run->cases[at].id, sizeof run->cases[at].id);
}

static void write_row(gg_json_out *out, const gg_run_record *run,
                      const gg_summary_row *row, bool shape)
{
    gg_out_open_line(out, NULL, '{');
    gg_out_name(out, "output", row->output);
    if (shape) {
        gg_out_open(out, "extent", '[');
        for (size_t i = 0; i < strlen(run->symbols) && i < GG_MAX_SYMBOLS; i++)
            gg_out_integer(out, NULL, row->extent[i]);
        gg_out_close(out);
    } else gg_out_name(out, "family", row->family);
    gg_out_integer(out, "cases", row->cases);
    gg_out_decimal(out, "mean_rmse", row->rmse);
    gg_out_decimal(out, "mean_truth_rms", row->truth_rms);
    gg_out_decimal(out, "mean_floor", row->floor_rmse);
    gg_out_decimal(out, "rmse_over_floor", row->ratio);
    gg_out_decimal(out, "gauge_max", row->gauge_max);
    write_case_name(out, "gauge_max_case", run, row->gauge_max_case);
    gg_out_decimal(out, "gauge_p99", row->gauge_p99);
    write_case_name(out, "gauge_p99_case", run, row->gauge_p99_case);
    gg_out_integer(out, "repeated", row->repeated);
    gg_out_integer(out, "identical", row->identical);
    gg_out_integer(out, "certified", row->certified);
    gg_out_decimal(out, "certificate", row->certificate);
    gg_out_close(out);
}

static void write_determinism(gg_json_out *out, const gg_determinism_row *row)
{
    gg_out_open_line(out, NULL, '{');
    gg_out_name(out, "family", row->family);
    gg_out_integer(out, "runs", row->runs);
    gg_out_integer(out, "cases", row->cases);
    gg_out_integer(out, "identical", row->identical);
    gg_out_decimal(out, "excluded_above", row->excluded);
    gg_out_close(out);
}

static void write_level(gg_json_out *out, const gg_level_row *row)
{
    gg_out_open_line(out, NULL, '{');
    gg_out_name(out, "level", row->name);
    gg_out_integer(out, "cases", row->cases);
    gg_out_integer(out, "passed", row->passed);
    gg_out_integer(out, "failed", row->failed);
    gg_out_integer(out, "not_verified", row->unverified);
    gg_out_integer(out, "runs", row->runs);
    gg_out_decimal(out, "excluded_above", row->excluded);
    gg_out_close(out);
}

static void write_ablation(gg_json_out *out, const gg_ablation_row *row)
{
    gg_out_open_line(out, NULL, '{');
    gg_out_name(out, "output", row->output);
    gg_out_name(out, "family", row->family);
    gg_out_integer(out, "pairs", row->pairs);
    gg_out_decimal(out, "mean_reduction", row->mean);
    gg_out_decimal(out, "low", row->low);
    gg_out_decimal(out, "high", row->high);
    gg_out_bool(out, "all_equal", row->equal);
    gg_out_name(out, "outcome", gg_outcome_name(row->outcome));
    gg_out_close(out);
}

void gg_summary_write(gg_json_out *out, const gg_run_record *run,
                      const gg_summary *summary)
{
    gg_out_open(out, "summary", '{');
    gg_out_open(out, "outputs", '[');
    for (int i = 0; i < summary->row_count; i++)
        write_row(out, run, &summary->rows[i], false);
    gg_out_close(out);
    gg_out_open(out, "shapes", '[');
    for (int i = 0; i < summary->shape_count; i++)
        write_row(out, run, &summary->shapes[i], true);
    gg_out_close(out);
    gg_out_open(out, "determinism", '[');
    for (int i = 0; i < summary->determinism_count; i++)
        write_determinism(out, &summary->determinism[i]);
    gg_out_close(out);
    if (summary->level_count > 0) { /* as before there were levels */
        gg_out_open(out, "levels", '[');
        for (int i = 0; i < summary->level_count; i++)
            write_level(out, &summary->levels[i]);
        gg_out_close(out);
    }
    gg_out_open(out, "ablation", '[');
    for (int i = 0; i < summary->ablation_count; i++)
        write_ablation(out, &summary->ablation[i]);
    gg_out_close(out);
    gg_out_close(out);
}

/* Days from 1970-01-01 of a Gregorian date; years are counted from March so that the
 * leap day is the last of its year. */
static int64_t days(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return 365 * y + y / 4 - y / 100 + y / 400 + of_year - 719468;
}

int64_t gg_epoch_milliseconds(const char *time)
{
    int year, month, day, hour, minute, second, end = 0;
    if (sscanf(time, "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute,
               &second, &end) != 6 || end != 19)
        return 0;
    bool sane = year >= 1970 && month >= 1 && month <= 12 && day >= 1 && day <= 31 &&
                hour >= 0 && hour <= 23 && minute >= 0 && minute <= 59 && second >= 0 &&
                second <= 60;
    if (!sane) return 0;
    int64_t fraction = 0, weight = 100;
    const char *rest = time + end;
    if (*rest == '.')
        for (rest++; *rest >= '0' && *rest <= '9'; rest++, weight /= 10)
            fraction += weight * (*rest - '0');
    if (strcmp(rest, "Z") != 0) return 0;
    int64_t seconds =
        ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    return seconds * 1000 + fraction;
}
