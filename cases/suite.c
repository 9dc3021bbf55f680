/* SPDX-License-Identifier: Apache-2.0
 * Where suites are: names, folders and files. suite_parse.c reads what is in them. */
#include "cases/suite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases/data.h"
#include "cases/suite_parse.h"

enum { FOLDERS = 1 + GG_DATA_FOLDERS };

/* Searched in this order; the same folder twice does no harm. "": none. */
static void folders(char folder[FOLDERS][GG_DATA_PATH])
{
    const char *own = getenv("GRADGATE_SUITES");
    snprintf(folder[0], GG_DATA_PATH, "%s", own != NULL ? own : "");
    gg_data_folders("suites", &folder[1]);
}

static gg_status read_open(const char *path, int fd, char **text, size_t *bytes)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return gg_fail(GG_BAD_INPUT,
                       "%.300s: is not a file; give a suite's file or name", path);
    *text = malloc((size_t)GG_SUITE_MAX_BYTES + 2);
    if (*text == NULL) return gg_fail(GG_NO_MEMORY, "no memory to read %.300s", path);
    *bytes = 0;
    for (;;) { /* one byte beyond the limit shows that there is more */
        ssize_t got = read(fd, *text + *bytes, (size_t)GG_SUITE_MAX_BYTES + 1 - *bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return gg_fail(GG_IO, "%.300s: %s", path, strerror(errno));
        if (got == 0) break;
        *bytes += (size_t)got;
    }
    if (*bytes > GG_SUITE_MAX_BYTES)
        return gg_fail(GG_BAD_INPUT, "%.300s: is larger than %d bytes; split the suite",
                       path, (int)GG_SUITE_MAX_BYTES);
    (*text)[*bytes] = '\0';
    return GG_OK;
}

static gg_status load_file(const char *path, gg_suite *suite)
{
    char *text = NULL;
    size_t bytes = 0;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO must not block */
    if (fd < 0)
        return gg_fail(GG_BAD_INPUT, "%.300s: %s; give a suite's file or name", path,
                       strerror(errno));
    gg_status status = read_open(path, fd, &text, &bytes);
    close(fd);
    if (status == GG_OK) status = gg_suite_parse(path, text, bytes, suite);
    free(text);
    return status;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), wanted = strlen(end);
    return length > wanted && strcmp(text + length - wanted, end) == 0;
}

static gg_status refuse_unknown(const char *name)
{
    char known[600] = "";
    char **names = gg_suite_names();
    if (names == NULL) return GG_NO_MEMORY;
    for (int i = 0; names != NULL && names[i] != NULL; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, " %s", names[i]);
    }
    gg_suite_names_free(names);
    return gg_fail(GG_BAD_INPUT,
                   "no suite named '%.80s'; known:%s; a file needs its path or .json",
                   name, known[0] != '\0' ? known : " none (set GRADGATE_SUITES)");
}

gg_status gg_suite_load(const char *name_or_path, gg_suite *suite)
{
    char folder[FOLDERS][GG_DATA_PATH];
    memset(suite, 0, sizeof *suite);
    if (strchr(name_or_path, '/') != NULL || ends_with(name_or_path, ".json"))
        return load_file(name_or_path, suite);
    folders(folder);
    for (int i = 0; i < FOLDERS && name_or_path[0] != '\0'; i++) {
        char path[GG_DATA_PATH];
        if (folder[i][0] == '\0') continue;
        int length = snprintf(path, sizeof path, "%s/%s.json", folder[i], name_or_path);
        if (length < 0 || length >= GG_DATA_PATH) continue;
        if (access(path, F_OK) == 0) return load_file(path, suite);
    }
    return refuse_unknown(name_or_path);
}

void gg_suite_free(gg_suite *suite)
{
    for (int i = 0; suite->cases != NULL && i < suite->count; i++) free(suite->cases[i].source);
    free(suite->cases);
    memset(suite, 0, sizeof *suite);
}

bool gg_case_matches(const gg_case *c, const char *glob)
{
    return fnmatch(glob, c->id, 0) == 0;
}

typedef struct name_list {
    char **names; /* count names and a NULL */
    int count;
} name_list;

static bool has_name(const name_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->names[i], name) == 0) return true;
    return false;
}

/* Adds the stem of "name.json" unless it is there; false without memory. */
static bool add_name(name_list *list, const char *file)
{
    char *stem = strdup(file);
    char **more = realloc(list->names, ((size_t)list->count + 2) * sizeof *more);
    if (more != NULL) list->names = more;
    if (stem == NULL || more == NULL) {
        free(stem);
        return false;
    }
    stem[strlen(stem) - strlen(".json")] = '\0';
    if (has_name(list, stem))
        free(stem);
    else
        list->names[list->count++] = stem;
    list->names[list->count] = NULL;
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **gg_suite_names(void)
{
    name_list list = {.names = calloc(1, sizeof(char *))};
    char folder[FOLDERS][GG_DATA_PATH];
    folders(folder);
    bool whole = list.names != NULL;
    for (int i = 0; i < FOLDERS && whole; i++) {
        errno = 0;
        DIR *dir = folder[i][0] == '\0' ? NULL : opendir(folder[i]);
        whole = dir != NULL || errno != ENOMEM;
        if (dir == NULL) continue;
        for (struct dirent *entry = readdir(dir); entry != NULL && whole; entry = readdir(dir))
            if (ends_with(entry->d_name, ".json")) whole = add_name(&list, entry->d_name);
        closedir(dir);
    }
    if (!whole) {
        gg_suite_names_free(list.names);
        gg_fail(GG_NO_MEMORY, "no memory for the names of the suites");
        return NULL;
    }
    if (list.count > 0)
        qsort(list.names, (size_t)list.count, sizeof *list.names, by_name);
    return list.names;
}

void gg_suite_names_free(char **names)
{
    for (int i = 0; names != NULL && names[i] != NULL; i++) free(names[i]);
    free(names);
}
