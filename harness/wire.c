/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/wire.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/case_json.h"
#include "reports/consistent.h"
#include "reports/document.h"
#include "reports/fields.h"
#include "reports/json_scan.h"

static const char source[] = "worker process";

static void write_hello(gg_json_out *out, gg_status status, const char *message,
                        const gg_run_record *run, int gpus)
{
    gg_out_open(out, NULL, '{');
    gg_out_integer(out, "status", status);
    gg_out_name(out, "message", status == GG_OK ? "" : message);
    if (status == GG_OK) {
        gg_out_integer(out, "gpus", gpus);
        gg_identity_write(out, run);
        gg_out_open(out, "place", '{');
        gg_place_write(out, &run->place);
        gg_out_close(out);
    }
    gg_out_close(out);
}

/* A line under way, in memory. */
typedef struct line {
    char *text;
    size_t size;
    gg_json_out out;
} line;

static bool open_line(line *l)
{
    *l = (line){.out = {.line_depth = 1}};
    l->out.file = open_memstream(&l->text, &l->size);
    return l->out.file != NULL;
}

static char *close_line(line *l)
{
    fputc('\n', l->out.file);
    if (fclose(l->out.file) == 0) return l->text;
    free(l->text);
    return NULL;
}

char *gg_wire_hello(gg_status status, const char *message, const gg_run_record *run, int gpus)
{
    line l;
    if (!open_line(&l)) return NULL;
    write_hello(&l.out, status, message, run, gpus);
    return close_line(&l);
}

char *gg_wire_case(const gg_run_record *run, const gg_case_record *record)
{
    line l;
    if (!open_line(&l)) return NULL;
    gg_case_write(&l.out, run->symbols, record, true);
    return close_line(&l);
}

static gg_status read_hello(gg_json_in *in, const cJSON *hello, gg_run_record *run, int *gpus)
{
    static const char *const keys[] = {"status", "message", "?gpus", "?run", "?limits", "?place",
                                       NULL};
    char message[1024];
    int64_t status, visible;
    GG_TRY(gg_in_keys(in, hello, keys));
    GG_TRY(gg_in_integer(in, hello, "status", GG_OK, GG_INTERNAL, &status));
    GG_TRY(gg_in_text(in, hello, "message", message, sizeof message));
    if (status != GG_OK) return gg_fail((gg_status)status, "%s", message);
    GG_TRY(gg_in_integer(in, hello, "gpus", 0, INT_MAX, &visible));
    *gpus = (int)visible;
    GG_TRY(gg_identity_read(in, hello, run));
    return gg_place_read(in, gg_in_get(hello, "place"), &run->place);
}

gg_status gg_wire_read_hello(const char *text, size_t length, gg_run_record *run, int *gpus)
{
    gg_json_in in = {.file = source};
    *run = (gg_run_record){.count = 0};
    GG_TRY(gg_scan_text(source, 1, text, length));
    cJSON *hello = cJSON_ParseWithLengthOpts(text, length + 1, NULL, 1);
    if (hello == NULL) return gg_in_refuse(&in, "cannot be parsed as JSON");
    gg_status status = read_hello(&in, hello, run, gpus);
    cJSON_Delete(hello);
    return status;
}

gg_status gg_wire_read_case(const char *text, size_t length, const char *symbols,
                            gg_case_record *record)
{
    char fault[GG_FAULT_SIZE];
    gg_json_in in = {.file = source};
    GG_TRY(gg_scan_text(source, 1, text, length));
    GG_TRY(gg_case_read(&in, text, length, record));
    if (gg_case_fault(record, symbols, fault))
        return gg_in_refuse(&in, "case %.95s %s", record->id, fault);
    return GG_OK;
}
