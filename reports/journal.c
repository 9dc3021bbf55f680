/* SPDX-License-Identifier: Apache-2.0
 * A journal: one header line {"journal": ..., "run": ..., "limits": ...}, then one line
 * a case, the same JSON as in a report. A line counts when its newline is there; what a
 * kill or a power cut left after the last newline is cut off on resume. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases/json_memory.h"
#include "reports/case_json.h"
#include "reports/consistent.h"
#include "reports/document.h"
#include "reports/fields.h"
#include "reports/json_scan.h"
#include "reports/report.h"

#define JOURNAL_NAME "gradgate-journal-1"
enum { LINE_MAX_BYTES = 1 << 20 };

struct gg_journal {
    int fd;
    char *path;
};

static gg_status io_fault(const char *what, const char *path)
{
    if (errno == ENOMEM) return gg_fail(GG_NO_MEMORY, "journal %s: no memory", path);
    return gg_fail(GG_IO,
                   "journal %s: cannot %s: %s; check its folder and the free space",
                   path, what, strerror(errno));
}

/* One line of JSON in memory, for the caller to free; NULL when there is no memory. */
static char *line_of(const gg_run_record *run, const gg_case_record *record,
                     size_t *size)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, size);
    if (!file) return NULL;
    gg_json_out out = {.file = file, .line_depth = 1};
    if (record) gg_case_write(&out, run->symbols, record, true);
    else {
        gg_out_open(&out, NULL, '{');
        gg_out_name(&out, "journal", JOURNAL_NAME);
        gg_identity_write(&out, run);
        gg_out_close(&out);
    }
    fputc('\n', file);
    if (fclose(file) == 0) return text;
    free(text);
    return NULL;
}

static gg_status write_all(int fd, const char *text, size_t size)
{
    while (size) {
        ssize_t wrote = write(fd, text, size);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return GG_IO;
        text += wrote;
        size -= (size_t)wrote;
    }
    return fdatasync(fd) == 0 ? GG_OK : GG_IO;
}

/* Appends a line whole or not at all: half a line of a full disk is cut off again, so
 * that a later line cannot be glued to it. */
static gg_status append_line(int fd, const char *path, const gg_run_record *run,
                             const gg_case_record *record)
{
    size_t size = 0;
    char *text = line_of(run, record, &size);
    if (!text) return gg_fail(GG_NO_MEMORY, "journal %s: no memory for a line", path);
    off_t before = lseek(fd, 0, SEEK_END);
    gg_status status = before < 0 ? GG_IO : write_all(fd, text, size);
    free(text);
    if (status == GG_OK) return GG_OK;
    int code = errno;
    if (before >= 0 && ftruncate(fd, before) != 0) code = errno;
    errno = code;
    return io_fault("be written", path);
}

/* Opens and locks. When the file was renamed or removed between the two, the lock is on
 * a file that no one else will see, so it starts again. */
static gg_status open_locked(const char *path, int *result)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0) return io_fault("be opened", path);
        struct stat opened, there;
        if (fstat(fd, &opened) == 0 && !S_ISREG(opened.st_mode)) {
            close(fd);
            return gg_fail(GG_BAD_INPUT, "journal %s: not a regular file", path);
        }
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            bool busy = errno == EWOULDBLOCK;
            gg_status status = busy ? GG_BAD_INPUT : io_fault("be locked", path);
            close(fd);
            if (!busy) return status;
            return gg_fail(status,
                           "journal %s: another process is writing it; wait for "
                           "it or give another report path",
                           path);
        }
        if (stat(path, &there) == 0 && there.st_ino == opened.st_ino &&
            there.st_dev == opened.st_dev) {
            *result = fd;
            return GG_OK;
        }
        close(fd);
    }
    return gg_fail(GG_IO, "journal %s: something keeps replacing it", path);
}

static gg_status differ(const char *path, const char *field, const char *was,
                        const char *is)
{
    return gg_fail(GG_BAD_INPUT,
                   "journal %s is of another run: %s was \"%s\", is \"%s\"; "
                   "remove it to start anew",
                   path, field, was, is);
}

static gg_status check_header(const char *path, const gg_run_record *run,
                              const gg_run_record *old)
{
    char was[256], is[256];
    const char *field = gg_fields_differ(gg_run_fields, old, run, was, is);
    if (field) return differ(path, field, was, is);
    snprintf(was, sizeof was, "%d", old->limit_count);
    snprintf(is, sizeof is, "%d", run->limit_count);
    if (old->limit_count != run->limit_count)
        return differ(path, "number of limits", was, is);
    for (int i = 0; i < run->limit_count; i++) {
        field = gg_fields_differ(gg_limit_fields, &old->limits[i], &run->limits[i], was,
                                 is);
        char name[64];
        snprintf(name, sizeof name, "limit %s of %.15s", field ? field : "",
                 run->limits[i].output);
        if (field) return differ(path, name, was, is);
    }
    return GG_OK;
}

static gg_status read_header(const char *path, const char *line, size_t length,
                             const gg_run_record *run)
{
    static const char *const keys[] = {"journal", "run", "limits", NULL};
    gg_json_in in = {.file = path};
    gg_run_record *old = calloc(1, sizeof *old);
    bool starved;
    cJSON *header = gg_json_parse(line, length, false, NULL, &starved);
    gg_status status = gg_scan_text(path, 1, line, length);
    if (status == GG_OK && (!old || starved))
        status = gg_fail(GG_NO_MEMORY, "journal %s: no memory", path);
    if (status == GG_OK) status = gg_in_keys(&in, header, keys);
    if (status == GG_OK) status = gg_in_constant(&in, header, "journal", JOURNAL_NAME);
    if (status == GG_OK) status = gg_identity_read(&in, header, old);
    if (status == GG_OK) status = check_header(path, run, old);
    cJSON_Delete(header);
    free(old);
    return status;
}

static gg_status read_case(const char *path, int64_t number, char *line, size_t length,
                           gg_run_record *run)
{
    GG_TRY(gg_scan_text(path, number, line, length));
    gg_case_record *cases =
        realloc(run->cases, ((size_t)run->count + 1) * sizeof *cases);
    if (!cases) return gg_fail(GG_NO_MEMORY, "journal %s: no memory", path);
    run->cases = cases;
    gg_json_in in = {.file = path};
    snprintf(in.path, sizeof in.path, "line %" PRId64, number);
    line[length] = 0; /* where the newline was */
    GG_TRY(gg_case_read(&in, line, length, &cases[run->count]));
    run->count++;
    return GG_OK;
}

static int by_index(const void *a, const void *b)
{
    const gg_case_record *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

/* Reads the complete lines and says where the last of them ends. */
static gg_status read_lines(FILE *file, const char *path, gg_run_record *run,
                            off_t *complete)
{
    char *line = NULL;
    size_t room = 0;
    gg_status status = GG_OK;
    *complete = 0;
    for (int64_t number = 1; status == GG_OK; number++) {
        ssize_t got = getline(&line, &room, file);
        if (got <= 0 || line[got - 1] != '\n') break;
        if (got > LINE_MAX_BYTES)
            status = gg_fail(GG_BAD_INPUT, "journal %s: line %" PRId64 " is too long",
                             path, number);
        else if (number == 1) status = read_header(path, line, (size_t)got - 1, run);
        else status = read_case(path, number, line, (size_t)got - 1, run);
        *complete += got;
    }
    if (status == GG_OK && ferror(file)) status = io_fault("be read", path);
    free(line);
    return status;
}

/* A file without a single whole line is ours only when it is the start of our header:
 * a journal path that names somebody's notes must not empty them. */
static gg_status check_torn_header(FILE *file, const char *path,
                                   const gg_run_record *run)
{
    size_t size = 0;
    char *ours = line_of(run, NULL, &size);
    if (!ours) return gg_fail(GG_NO_MEMORY, "journal %s: no memory", path);
    bool torn = true;
    rewind(file);
    for (size_t i = 0; torn; i++) {
        int c = getc(file);
        if (c == EOF) break;
        torn = i < size && (unsigned char)ours[i] == c;
    }
    free(ours);
    return torn ? GG_OK : gg_fail(GG_BAD_INPUT, "%s is not a journal of this run; give "
                                  "another path or remove it", path);
}

static gg_status resume_from(int fd, const char *path, gg_run_record *run)
{
    int copy = dup(fd);
    FILE *file = copy < 0 ? NULL : fdopen(copy, "r");
    if (!file) {
        if (copy >= 0) close(copy);
        return io_fault("be read", path);
    }
    rewind(file);
    off_t complete = 0;
    gg_status status = read_lines(file, path, run, &complete);
    if (status == GG_OK && complete == 0) status = check_torn_header(file, path, run);
    fclose(file);
    if (status != GG_OK) return status;
    if (ftruncate(fd, complete) != 0) return io_fault("be shortened", path);
    if (run->count) qsort(run->cases, (size_t)run->count, sizeof *run->cases, by_index);
    char fault[GG_FAULT_SIZE];
    if (gg_run_fault(run, fault))
        return gg_fail(GG_BAD_INPUT, "journal %s contradicts itself: %s", path, fault);
    return complete ? GG_OK : append_line(fd, path, run, NULL);
}

gg_status gg_journal_open(const char *path, bool resume, gg_run_record *run,
                          gg_journal **journal)
{
    int fd = -1;
    *journal = NULL;
    GG_TRY(open_locked(path, &fd));
    struct stat there;
    gg_status status = GG_OK;
    int before = run->count;
    if (fstat(fd, &there) != 0) status = io_fault("be read", path);
    else if (there.st_size == 0) status = append_line(fd, path, run, NULL);
    else if (resume) status = resume_from(fd, path, run);
    else
        status = gg_fail(GG_BAD_INPUT,
                         "journal %s exists: a run was interrupted; go on "
                         "with --resume or remove it",
                         path);
    gg_journal *result = status == GG_OK ? calloc(1, sizeof *result) : NULL;
    char *copy = result ? strdup(path) : NULL;
    if (status == GG_OK && !copy)
        status = gg_fail(GG_NO_MEMORY, "no memory for %s", path);
    if (status != GG_OK) {
        run->count = before;
        free(result);
        close(fd);
        return status;
    }
    *result = (gg_journal){fd, copy};
    *journal = result;
    return GG_OK;
}

gg_status gg_journal_append(gg_journal *journal, const gg_run_record *run,
                            const gg_case_record *record)
{
    char fault[GG_FAULT_SIZE];
    if (gg_case_fault(record, run->symbols, fault))
        return gg_fail(GG_INTERNAL, "journal %s: case %.95s %s", journal->path,
                       record->id, fault);
    return append_line(journal->fd, journal->path, run, record);
}

void gg_journal_close(gg_journal *journal, bool finished)
{
    if (!journal) return;
    if (finished) unlink(journal->path);
    close(journal->fd); /* after the unlink: until then the lock holds */
    free(journal->path);
    free(journal);
}
