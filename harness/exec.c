/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "harness/exec_process.h"
#include "harness/environment.h"
#include "harness/exec_place.h"

typedef struct gg_exec {
    gg_outside outside; /* first: they are one */
    const char *text;   /* the command without its prefix */
    bool serves;
    gg_exec_place place;
    gg_process process; /* serve: the process; exec: the one of this call */
} gg_exec;

static const char exec_prefix[] = "exec:", serve_prefix[] = "serve:";

static bool starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool gg_exec_named(const char *text)
{
    return text != NULL && (starts(text, exec_prefix) || starts(text, serve_prefix));
}

/* The last line that the command left on its standard error, "" when none. */
static const char *last_words(const gg_exec *e)
{
    static _Thread_local char text[160];
    char tail[2048];
    size_t got = gg_exec_place_log(&e->place, tail, sizeof tail - 1);
    while (got > 0 && (tail[got - 1] == '\n' || tail[got - 1] == ' ')) got--;
    size_t from = got;
    while (from > 0 && tail[from - 1] != '\n') from--;
    tail[got] = '\0';
    snprintf(text, sizeof text, "%s%.150s", got > from ? ": " : "", tail + from);
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) *c = '?';
    return text;
}

/* What the process said or how it ended, as a status. */
static gg_status judge_ending(gg_exec *e, const gg_process_answer *a)
{
    switch (a->kind) {
    case GG_PROCESS_LATE:
        return gg_fail(GG_KERNEL_FAULT, "the command gave no answer within %d s (--timeout) and "
                       "was ended%s", e->outside.timeout, last_words(e));
    case GG_PROCESS_SIGNAL:
        return gg_fail(GG_KERNEL_FAULT, "the command was ended by signal %d%s", a->code,
                       last_words(e));
    case GG_PROCESS_EXIT:
        if (!e->serves && a->code == 0) return GG_OK;
        if (!e->serves && a->code == GG_EXEC_DECLINES)
            return gg_fail(GG_BAD_INPUT, "the command declines%s", last_words(e));
        if (a->code == 126 || a->code == 127)
            return gg_fail(GG_BAD_INPUT, "the command cannot be started%s", last_words(e));
        return gg_fail(GG_KERNEL_FAULT, "the command ended with exit code %d%s%s", a->code,
                       e->serves ? " instead of an answer" : "", last_words(e));
    default: break;
    }
    if (strcmp(a->line, "ok") == 0) return GG_OK;
    if (starts(a->line, "declined "))
        return gg_fail(GG_BAD_INPUT, "the command declines: %.200s", a->line + 9);
    if (starts(a->line, "error "))
        return gg_fail(GG_DEVICE_FAULT, "the command failed: %.200s", a->line + 6);
    return gg_fail(GG_KERNEL_FAULT, "the command answered '%.80s', not ok, declined REASON or "
                   "error TEXT", a->line);
}

static gg_status start(gg_exec *e, const char *folder)
{
    GG_TRY(gg_process_start(&e->process, e->text, folder, e->place.log));
    gg_warden_watch(&e->place.warden, e->process.pid);
    return GG_OK;
}

/* A served process that said something else than a proper line is not asked again. */
static gg_status ask(gg_exec *e, const char *folder)
{
    gg_process_answer answer;
    double patience = (double)e->outside.timeout;
    if (!e->serves) {
        GG_TRY(start(e, folder));
        gg_process_wait(&e->process, patience, &answer);
        return judge_ending(e, &answer);
    }
    if (e->process.pid == 0) GG_TRY(start(e, NULL));
    gg_process_ask(&e->process, folder, patience, &answer);
    gg_status status = judge_ending(e, &answer);
    if (status == GG_KERNEL_FAULT) gg_process_end(&e->process);
    return status;
}

static gg_status call(gg_exec *e, const char *folder)
{
    gg_status status = ask(e, folder);
    if (e->process.pid == 0) gg_warden_watch(&e->place.warden, 0);
    return status;
}

static gg_status produce(gg_outside *outside, gg_trial *t, char path[GG_OUTSIDE_PATH])
{
    gg_exec *e = (gg_exec *)(void *)outside;
    char folder[GG_EXEC_FOLDER];
    struct stat there;
    GG_TRY(gg_exec_place_inputs(&e->place, t));
    GG_TRY(gg_exec_place_call(&e->place, folder));
    gg_status status = call(e, folder);
    snprintf(path, GG_OUTSIDE_PATH, "%s/out.safetensors", folder);
    if (status == GG_OK && stat(path, &there) != 0)
        status = gg_fail(GG_KERNEL_FAULT, "the command said ok and wrote no out.safetensors%s",
                         last_words(e));
    if (status != GG_OK) gg_exec_place_done(&e->place);
    return status;
}

static void done(gg_outside *outside)
{
    gg_exec_place_done(&((gg_exec *)(void *)outside)->place);
}

static void close_exec(gg_outside *outside)
{
    gg_exec *e = (gg_exec *)(void *)outside;
    gg_process_end(&e->process);
    gg_exec_place_close(&e->place);
    free(e);
}

/* Found now and not case by case, where the command is but a program and its arguments. */
static gg_status find_program(const char *command)
{
    char word[512], path[1024];
    size_t length = strcspn(command, " ");
    const char *folders = getenv("PATH");
    if (length == 0)
        return gg_fail(GG_BAD_INPUT, "--kernel: a command must follow exec: or serve:");
    if (length >= sizeof word || command[strcspn(command, "\"'$`\\=(){};&|<>*?~#!")] != '\0')
        return GG_OK; /* the shell's business */
    snprintf(word, sizeof word, "%.*s", (int)length, command);
    if (strchr(word, '/') != NULL) {
        if (access(word, X_OK) == 0) return GG_OK;
        return gg_fail(GG_BAD_INPUT, "%s cannot be run: %s", word, strerror(errno));
    }
    while (folders != NULL && *folders != '\0') {
        size_t part = strcspn(folders, ":");
        int used = snprintf(path, sizeof path, "%.*s/%s", (int)part, folders, word);
        if (used > 0 && (size_t)used < sizeof path && access(path, X_OK) == 0) return GG_OK;
        folders += part + (folders[part] == ':');
    }
    return gg_fail(GG_BAD_INPUT, "there is no program '%s' on the PATH", word);
}

/* The command's text, and every file that a word of it names: the script it runs. */
static uint64_t digest_of(const char *command)
{
    uint64_t digest = XXH3_64bits(command, strlen(command)), file;
    char word[512];
    for (const char *at = command; *at != '\0';) {
        size_t length = strcspn(at, " ");
        struct stat there;
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (length > 0 && length < sizeof word && stat(word, &there) == 0 &&
            S_ISREG(there.st_mode) && gg_file_digest(word, &file) == GG_OK)
            digest = XXH3_64bits_withSeed(&file, sizeof file, digest);
        at += length;
        at += strspn(at, " ");
    }
    return digest;
}

gg_status gg_exec_open(const char *text, const char *device, gg_outside **outside,
                       uint64_t *digest)
{
    bool serves = starts(text, serve_prefix);
    const char *command = text + strlen(serves ? serve_prefix : exec_prefix);
    command += strspn(command, " ");
    GG_TRY(find_program(command));
    gg_exec *e = calloc(1, sizeof *e);
    if (e == NULL || setenv("GRADGATE_DEVICE", device, 1) != 0) {
        free(e);
        return gg_fail(GG_NO_MEMORY, "no memory for a command");
    }
    e->outside = (gg_outside){.produce = produce, .done = done, .close = close_exec,
                              .timeout = GG_EXEC_TIMEOUT};
    e->text = command;
    e->serves = serves;
    *digest = digest_of(text);
    *outside = &e->outside;
    return GG_OK;
}
