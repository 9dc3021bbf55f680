/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* realpath */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reports/case_json.h"
#include "reports/consistent.h"
#include "reports/document.h"
#include "reports/fields.h"
#include "reports/report.h"

gg_status gg_report_evidence(const gg_run_record *run, uint64_t *digest)
{
    gg_json_out out = {.hash = XXH3_createState()};
    if (!out.hash) return gg_fail(GG_NO_MEMORY, "no memory for a digest");
    XXH3_64bits_reset(out.hash);
    gg_out_open(&out, NULL, '{');
    gg_identity_write(&out, run);
    gg_out_open(&out, "tests", '[');
    for (int i = 0; i < run->count; i++)
        gg_case_write(&out, run->symbols, &run->cases[i], false);
    gg_out_close(&out);
    gg_out_close(&out);
    *digest = XXH3_64bits_digest(out.hash);
    XXH3_freeState(out.hash);
    return GG_OK;
}

static void write_counts(gg_json_out *out, const gg_run_record *run)
{
    gg_out_open(out, "summary", '{');
    gg_out_integer(out, "tests", run->count);
    gg_out_integer(out, "passed", gg_run_count(run, GG_PASSED));
    gg_out_integer(out, "failed", gg_run_count(run, GG_FAILED));
    gg_out_integer(out, "skipped", 0);
    gg_out_integer(out, "pending", 0);
    gg_out_integer(out, "other", gg_run_count(run, GG_NOT_VERIFIED));
    gg_out_integer(out, "start", gg_epoch_milliseconds(run->place.started));
    gg_out_integer(out, "stop", gg_epoch_milliseconds(run->place.finished));
    gg_out_close(out);
}

static void write_results(gg_json_out *out, const gg_run_record *run,
                          const gg_summary *summary, uint64_t evidence)
{
    gg_out_open(out, "tool", '{');
    gg_out_name(out, "name", "gradgate");
    gg_out_text(out, "version", run->version, sizeof run->version);
    gg_out_close(out);
    write_counts(out, run);
    gg_out_open(out, "environment", '{');
    gg_out_open(out, "extra", '{');
    gg_fields_write(out, gg_place_fields, &run->place);
    gg_out_close(out);
    gg_out_close(out);
    gg_out_open(out, "extra", '{');
    gg_out_name(out, "schema", GG_REPORT_SCHEMA);
    gg_out_name(out, "verdict", gg_verdict_name(gg_run_verdict(run)));
    gg_out_digest(out, "evidence", evidence);
    gg_identity_write(out, run);
    gg_summary_write(out, run, summary);
    gg_out_close(out);
    gg_out_open(out, "tests", '[');
    for (int i = 0; i < run->count; i++)
        gg_case_write(out, run->symbols, &run->cases[i], true);
    gg_out_close(out);
}

static void write_document(FILE *file, const gg_run_record *run,
                           const gg_summary *summary, uint64_t evidence)
{
    gg_json_out out = {.file = file};
    gg_out_open(&out, NULL, '{');
    gg_out_name(&out, "reportFormat", "CTRF");
    gg_out_name(&out, "specVersion", GG_CTRF_VERSION);
    gg_out_open(&out, "results", '{');
    write_results(&out, run, summary, evidence);
    gg_out_close(&out);
    gg_out_close(&out);
    fputc('\n', file);
}

static gg_status io_fault(const char *what, const char *path, int code)
{
    const char *remedy = code == ENOSPC || code == EDQUOT || code == EFBIG
                             ? "free some space or give another path"
                             : "check the folder and its permissions";
    return gg_fail(GG_IO, "report %s: %s: %s; %s", path, what, strerror(code),
                   remedy);
}

/* Writes, syncs and closes; with `device` a sync that is not possible is no fault. */
static gg_status fill_file(int fd, const char *path, const gg_run_record *run,
                           const gg_summary *summary, uint64_t evidence, bool device)
{
    FILE *file = fdopen(fd, "w");
    if (!file) {
        int code = errno;
        close(fd);
        return io_fault("cannot be written", path, code);
    }
    errno = 0;
    write_document(file, run, summary, evidence);
    bool good = fflush(file) == 0 && !ferror(file);
    int code = errno ? errno : EIO;
    if (good && !device && fsync(fd) != 0) good = false, code = errno;
    if (fclose(file) != 0 && good) good = false, code = errno;
    return good ? GG_OK : io_fault("cannot be written", path, code);
}

/* The new name must survive a power cut too, so the folder is synced. Some file systems
 * refuse that: the file itself is safe by then, so it is no fault. */
static void sync_folder(const char *path)
{
    char *copy = strdup(path);
    if (!copy) return;
    int fd = open(dirname(copy), O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(copy);
}

static gg_status replace_file(const char *path, const gg_run_record *run,
                              const gg_summary *summary, uint64_t evidence)
{
    size_t room = strlen(path) + 32;
    char *part = malloc(room);
    if (!part) return gg_fail(GG_NO_MEMORY, "no memory to write %s", path);
    snprintf(part, room, "%s.tmp-%ld", path, (long)getpid());
    /* a file of that name is from a process that died with our number */
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    gg_status status = GG_OK;
    if (fd < 0) status = io_fault("cannot be created", path, errno);
    else {
        status = fill_file(fd, path, run, summary, evidence, false);
        if (status == GG_OK && rename(part, path) != 0)
            status = io_fault("cannot be replaced", path, errno);
        if (status != GG_OK) unlink(part);
        else sync_folder(path);
    }
    free(part);
    return status;
}

/* /dev/stdout, a pipe or /dev/full: something that must not be renamed over. */
static gg_status write_device(const char *path, const gg_run_record *run,
                              const gg_summary *summary, uint64_t evidence)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return io_fault("cannot be opened", path, errno);
    return fill_file(fd, path, run, summary, evidence, true);
}

static gg_status write_to(const char *path, const gg_run_record *run,
                          const gg_summary *summary, uint64_t evidence)
{
    struct stat there;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        if (S_ISDIR(there.st_mode)) return io_fault("cannot be written", path, EISDIR);
        return write_device(path, run, summary, evidence);
    }
    char *target = realpath(path, NULL); /* through a link, NULL when it is new */
    gg_status status = replace_file(target ? target : path, run, summary, evidence);
    free(target);
    return status;
}

gg_status gg_report_write(const gg_run_record *run, const char *path)
{
    char fault[GG_FAULT_SIZE];
    if (gg_run_fault(run, fault))
        return gg_fail(GG_INTERNAL, "report %s not written: %s", path, fault);
    uint64_t evidence;
    GG_TRY(gg_report_evidence(run, &evidence));
    gg_summary summary;
    GG_TRY(gg_summary_make(run, &summary));
    gg_status status = write_to(path, run, &summary, evidence);
    gg_summary_free(&summary);
    return status;
}
