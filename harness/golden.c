/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/golden.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/data.h"
#include "reports/file_out.h"

enum { GOLDEN_HEADER_LINES = 6, GOLDEN_MAX_ENTRIES = 1 << 20 };

static gg_status malformed(const char *path, int line)
{
    return gg_fail(GG_BAD_INPUT, "%s: line %d is not what a golden file has there: make the "
                   "file again with 'gradgate golden'", path, line);
}

static bool read_header(FILE *file, gg_golden *golden, int *entries, int *line)
{
    char text[256];
    int version = 0;
    for (int i = 0; i < GOLDEN_HEADER_LINES; i++, ++*line) {
        if (fgets(text, sizeof text, file) == NULL) return false;
        bool good = false;
        switch (i) {
        case 0: good = sscanf(text, "gradgate-golden %d", &version) == 1 && version == 1; break;
        case 1: good = sscanf(text, "operator %31s", golden->operator_name) == 1; break;
        case 2: good = sscanf(text, "kernel %63s", golden->kernel) == 1; break;
        case 3:
            good = sscanf(text, "suite %63s %" SCNx64, golden->suite,
                          &golden->suite_digest) == 2;
            break;
        case 4: good = sscanf(text, "source %127[^\n]", golden->source) == 1; break;
        default: good = sscanf(text, "entries %d", entries) == 1;
        }
        if (!good) return false;
    }
    return true;
}

static gg_status read_entries(FILE *file, const char *path, gg_golden *golden, int entries,
                              int line)
{
    char text[256];
    int capacity = 0;
    for (; fgets(text, sizeof text, file) != NULL; line++) {
        if (golden->count == capacity) {
            capacity = capacity ? 2 * capacity : 1024;
            void *more = capacity > GOLDEN_MAX_ENTRIES
                             ? NULL : realloc(golden->entries,
                                              (size_t)capacity * sizeof *golden->entries);
            if (more == NULL)
                return capacity > GOLDEN_MAX_ENTRIES
                           ? gg_fail(GG_BAD_INPUT, "%s: too many lines (%d)", path, line)
                           : gg_fail(GG_NO_MEMORY, "%s: no memory to read it", path);
            golden->entries = more;
        }
        gg_golden_entry *e = &golden->entries[golden->count];
        int end = 0;
        if (sscanf(text, "%95s %15s %" SCNx64 " %" SCNx64 "%n", e->id, e->output,
                   &e->input_digest, &e->digest, &end) != 4 ||
            strcmp(text + end, "\n") != 0)
            return malformed(path, line);
        golden->count++;
    }
    if (ferror(file)) return gg_fail(GG_IO, "%s: cannot be read", path);
    if (golden->count != entries || entries == 0)
        return gg_fail(GG_BAD_INPUT, "%s: holds %d digests and announces %d: it was cut off",
                       path, golden->count, entries);
    return GG_OK;
}

/* A path, or the name of a file that comes with gradgate, "turbo-twin300". */
static FILE *open_named(const char *name)
{
    FILE *file = fopen(name, "r");
    char folder[GG_DATA_FOLDERS][GG_DATA_PATH], path[GG_DATA_PATH];
    if (file != NULL || strchr(name, '/') != NULL) return file;
    int code = errno;
    gg_data_folders("golden", folder);
    for (int i = 0; i < GG_DATA_FOLDERS && file == NULL; i++) {
        if (folder[i][0] == '\0') continue;
        int length = snprintf(path, sizeof path, "%s/%s.txt", folder[i], name);
        if (length < GG_DATA_PATH) file = fopen(path, "r");
    }
    errno = code;
    return file;
}

gg_status gg_golden_load(const char *path, gg_golden *golden)
{
    *golden = (gg_golden){.count = 0};
    FILE *file = open_named(path);
    if (file == NULL && errno == ENOMEM)
        return gg_fail(GG_NO_MEMORY, "%s: no memory to read it", path);
    if (file == NULL)
        return gg_fail(GG_BAD_INPUT, "%s: %s: name a golden file", path, strerror(errno));
    int line = 1, entries = 0;
    gg_status status = read_header(file, golden, &entries, &line)
                           ? read_entries(file, path, golden, entries, line)
                           : malformed(path, line);
    fclose(file);
    if (status != GG_OK) gg_golden_free(golden);
    return status;
}

void gg_golden_free(gg_golden *golden)
{
    free(golden->entries);
    *golden = (gg_golden){.count = 0};
}

const gg_golden_entry *gg_golden_find(const gg_golden *golden, const char *id,
                                      const char *output)
{
    for (int i = 0; i < golden->count; i++)
        if (strcmp(golden->entries[i].id, id) == 0 &&
            strcmp(golden->entries[i].output, output) == 0)
            return &golden->entries[i];
    return NULL;
}

static gg_status write_all(const void *context, FILE *file)
{
    const gg_run_record *run = context;
    int entries = 0;
    for (int i = 0; i < run->count; i++) entries += run->cases[i].output_count;
    fprintf(file, "gradgate-golden 1\noperator %s\nkernel %s\nsuite %s %016" PRIx64 "\n"
            "source %s; gradgate %s %s\nentries %d\n", run->operator_name, run->kernel, run->suite,
            run->suite_digest, run->place.gpu[0] ? run->place.gpu : "host twin", run->version,
            run->commit, entries);
    for (int i = 0; i < run->count; i++) {
        const gg_case_record *c = &run->cases[i];
        for (int o = 0; o < c->output_count; o++)
            fprintf(file, "%s\t%s\t%016" PRIx64 "\t%016" PRIx64 "\n", c->id,
                    c->outputs[o].name, c->input_digest, c->outputs[o].digest);
    }
    return GG_OK;
}

/* Digests are worth keeping only of bits that come back. */
static gg_status refuse_case(const gg_case_record *c)
{
    if (c->output_count == 0)
        return gg_fail(GG_BAD_INPUT, "case %s did not run: no digest to keep", c->id);
    if (c->runs < 2)
        return gg_fail(GG_BAD_INPUT, "case %s ran once: no sign that its bits come back; "
                       "run with --repeats 2 or more", c->id);
    for (int o = 0; o < c->output_count; o++)
        if (c->outputs[o].repeat_differing > 0)
            return gg_fail(GG_BAD_INPUT, "case %s: %s changed from run to run: its digest "
                           "predicts nothing", c->id, c->outputs[o].name);
    return GG_OK;
}

gg_status gg_golden_write(const gg_run_record *run, const char *path)
{
    if (run->count == 0) return gg_fail(GG_BAD_INPUT, "the report holds no case");
    for (int i = 0; i < run->count; i++) GG_TRY(refuse_case(&run->cases[i]));
    return gg_file_write(path, "golden file", write_all, run);
}
