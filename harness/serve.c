/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/commands.h"
#include "harness/session.h"
#include "harness/watch.h"
#include "harness/wire.h"
#include "harness/worker.h"

char *gg_serve_take(int *argc, char ***argv)
{
    static const char option[] = "--serve=";
    if (*argc < 2 || strncmp((*argv)[1], option, sizeof option - 1) != 0) return NULL;
    char *order = (*argv)[1] + sizeof option - 1;
    (*argv)[1] = (*argv)[0];
    *argv += 1;
    *argc -= 1;
    return order;
}

static gg_status refuse(void)
{
    return gg_fail(GG_BAD_INPUT, "--serve is for gradgate's own worker processes");
}

gg_status gg_serve_apply(char *order, gg_run_options *o)
{
    char *threads = strchr(order, ',');
    if (threads == NULL) return refuse();
    *threads++ = '\0';
    char *shared = strchr(threads, ',');
    if (shared != NULL) *shared = '\0';
    o->device = order;
    o->shares = shared != NULL;
    return gg_parse_int("serve", threads, 1, 256, &o->threads);
}

static bool say(const char *line)
{
    return line != NULL && gg_write_all(GG_WORKER_FD, line, strlen(line));
}

static bool say_and_free(char *line)
{
    bool said = say(line);
    free(line);
    return said;
}

/* The parent's next line, "case I" or "digest I"; false when it has gone or speaks
 * otherwise. */
static bool next_task(int *index, bool *digests_only)
{
    char text[32], rest;
    size_t used = 0;
    while (used < sizeof text) {
        ssize_t got = read(GG_WORKER_FD, text + used, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        if (text[used] == '\n') break;
        used++;
    }
    if (used == sizeof text) return false;
    text[used] = '\0';
    *digests_only = sscanf(text, "digest %d%c", index, &rest) == 1;
    return *digests_only || sscanf(text, "case %d%c", index, &rest) == 1;
}

/* After a CUDA error that stays, a process measures nothing more; another one can. */
static bool is_usable(const gg_session *s) { return s->backend.finish(&s->backend) == GG_OK; }

static bool serve_case(const gg_session *s, int index, bool digests_only, gg_arena *arena,
                       gg_run_record *run, gg_case_record *record)
{
    if (index < 0 || index >= s->suite.count) return false;
    (digests_only ? gg_case_digest : gg_case_run)(&s->plan, index, arena, record);
    bool usable = record->verdict == GG_PASSED || is_usable(s);
    return say_and_free(gg_wire_case(run, record)) && usable;
}

int gg_serve(const gg_run_options *options)
{
    gg_session session;
    gg_run_record run;
    gg_case_record *record = malloc(sizeof *record);
    int index;
    bool digests;
    struct stat there;
    if (fstat(GG_WORKER_FD, &there) != 0 || !S_ISSOCK(there.st_mode)) {
        free(record);
        return gg_complain(refuse());
    }
    fcntl(GG_WORKER_FD, F_SETFD, FD_CLOEXEC); /* no child of ours keeps it open */
    gg_watch_open(GG_WORKER_FD);
    gg_watch_kernel("its loading"); /* a foreign kernel's constructors run now */
    gg_status status = gg_session_open(options, &session, &run);
    gg_watch_harness();
    if (status == GG_OK && record == NULL)
        status = gg_fail(GG_NO_MEMORY, "no memory for a case record");
    bool usable = say_and_free(gg_wire_hello(status, gg_message(), &run,
                                             session.backend.visible));
    gg_arena arena = {.backend = &session.backend};
    while (status == GG_OK && usable && say("ready\n") && next_task(&index, &digests))
        usable = serve_case(&session, index, digests, &arena, &run, record);
    gg_arena_free(&arena);
    gg_session_close(&session);
    free(record);
    return 0;
}
