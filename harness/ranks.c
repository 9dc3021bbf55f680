/* SPDX-License-Identifier: Apache-2.0
 * Messages are texts whose first letter says what they are. To a rank:
 *   S start a worker   T tell it the rest   D dismiss it   E end it   Q go home
 * and from it:
 *   F could not start it, why   L a line of it   G it will say no more
 *   X how it ended: "kernel", "itself" as 0 or 1, and the text   H it is there
 * Nobody waits in an MPI call for a message that may not come. */
#include "harness/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/crew.h"
#include "harness/environment.h"
#include "reference/parallel.h"

#if GG_MPI
#include <mpi.h>

/* A rank that is there says so every second; when it has not for LOST_SECONDS, it is lost. */
#ifndef GG_LOST_SECONDS /* a test does not wait for half a minute */
#define GG_LOST_SECONDS 30
#endif
enum { TAG = 17, ANSWER_SECONDS = 20, BEAT_SECONDS = 1, LOST_SECONDS = GG_LOST_SECONDS };

static struct {
    int rank, count;
    int local, locals; /* of the ranks on this host */
    bool joined;
    bool *lost;        /* by rank: it does not answer any more */
    double *heard;     /* by rank: when it last did */
    double sent;       /* when this rank last sent something */
} job = {.count = 1, .locals = 1};

static void pause_shortly(void)
{
    const struct timespec pause = {.tv_nsec = 500000};
    nanosleep(&pause, NULL);
}

gg_status gg_ranks_open(void)
{
    MPI_Comm host;
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS)
        return gg_fail(GG_BAD_INPUT, "MPI does not start: start gradgate with mpirun or srun");
    job.joined = true;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.count);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, job.rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &job.local);
    MPI_Comm_size(host, &job.locals);
    MPI_Comm_free(&host);
    job.lost = calloc((size_t)job.count, sizeof *job.lost);
    job.heard = calloc((size_t)job.count, sizeof *job.heard);
    if (job.lost == NULL || job.heard == NULL)
        return gg_fail(GG_NO_MEMORY, "no memory for %d ranks", job.count);
    for (int r = 0; r < job.count; r++) job.heard[r] = gg_seconds();
    return GG_OK;
}

int gg_ranks_rank(void) { return job.rank; }

int gg_ranks_count(void) { return job.count; }

static void send_text(int rank, char kind, const char *text)
{
    size_t size = strlen(text) + 2;
    char *message = malloc(size);
    if (message == NULL || job.lost[rank]) {
        free(message);
        return;
    }
    job.sent = gg_seconds();
    message[0] = kind;
    memcpy(message + 1, text, size - 1);
    if (MPI_Send(message, (int)size, MPI_CHAR, rank, TAG, MPI_COMM_WORLD) != MPI_SUCCESS)
        job.lost[rank] = true;
    free(message);
}

/* The next message of a rank, for the caller to free; NULL when there is none now. */
static char *receive_text(int rank)
{
    MPI_Status status;
    int there = 0, size = 0;
    if (job.lost[rank]) return NULL;
    if (MPI_Iprobe(rank, TAG, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS) {
        job.lost[rank] = true;
        return NULL;
    }
    if (!there) return NULL;
    MPI_Get_count(&status, MPI_CHAR, &size);
    char *message = malloc((size_t)size + 1);
    if (message == NULL) return NULL;
    if (MPI_Recv(message, size, MPI_CHAR, rank, TAG, MPI_COMM_WORLD, &status) != MPI_SUCCESS) {
        job.lost[rank] = true;
        free(message);
        return NULL;
    }
    message[size] = '\0';
    job.heard[rank] = gg_seconds();
    return message;
}

/* The next one that says more than that it is there. Without any, and without a sign of
 * life for long, the rank is lost: the signs of one that lives are waiting to be read. */
static char *next_text(int rank)
{
    char *message;
    while ((message = receive_text(rank)) != NULL && message[0] == 'H') free(message);
    if (message == NULL && gg_seconds() - job.heard[rank] > LOST_SECONDS) job.lost[rank] = true;
    return message;
}

void gg_ranks_close(int code)
{
    bool whole = true;
    if (!job.joined) return;
    for (int r = 1; r < job.count && job.rank == 0; r++) {
        send_text(r, 'Q', "");
        whole = whole && !job.lost[r];
    }
    free(job.lost);
    free(job.heard);
    job.joined = false;
    fflush(stdout);
    if (whole) MPI_Finalize();
    else MPI_Abort(MPI_COMM_WORLD, code);
}

/* Rank 0's side of a worker elsewhere. */

static bool tell(gg_worker *w, const char *line)
{
    send_text(w->rank, 'T', line);
    return !job.lost[w->rank];
}

static void dismiss(gg_worker *w) { send_text(w->rank, 'D', ""); }

static bool next(gg_worker *w, char **line, size_t *length, bool *ended)
{
    free(w->text);
    w->text = next_text(w->rank);
    *ended = job.lost[w->rank] || (w->text != NULL && w->text[0] != 'L');
    if (w->text == NULL) return false;
    w->since = gg_seconds();
    *line = w->text + 1;
    *length = strlen(*line);
    if (w->text[0] == 'F') gg_fail(GG_INTERNAL, "rank %d: %s", w->rank, *line);
    return !*ended;
}

static gg_ending end(gg_worker *w)
{
    gg_ending e = {.in_kernel = w->doing[0] != '\0'};
    int kernel = 0, itself = 0, used = 0;
    double start = gg_seconds();
    bool answered = false;
    send_text(w->rank, 'E', "");
    while (!answered && !job.lost[w->rank] && gg_seconds() - start < ANSWER_SECONDS) {
        char *message = next_text(w->rank);
        answered = message != NULL &&
                   sscanf(message, "X%1d%1d%n", &kernel, &itself, &used) == 2;
        if (answered) snprintf(e.text, sizeof e.text, "%s", message + used);
        free(message);
        if (!answered) pause_shortly();
    }
    if (answered) {
        e.in_kernel = kernel != 0;
        e.by_itself = itself != 0;
    } else {
        job.lost[w->rank] = true;
        snprintf(e.text, sizeof e.text, "was lost with rank %d, which does not answer", w->rank);
    }
    return e;
}

gg_status gg_ranks_start(int rank, gg_worker *w)
{
    static const gg_relay relay = {tell, next, dismiss, end};
    *w = (gg_worker){.fd = -1, .relay = &relay, .rank = rank, .pid = 1, .since = gg_seconds()};
    send_text(rank, 'S', "");
    if (!job.lost[rank]) return GG_OK;
    *w = (gg_worker){.fd = -1};
    return gg_fail(GG_DEVICE_FAULT, "rank %d does not answer", rank);
}

/* The other ranks. */

static void start_own(const gg_run_options *options, gg_worker *w)
{
    char serve[48];
    gg_ranks_share(options, serve, sizeof serve);
    if (gg_crew_launch(options, serve, w) != GG_OK) send_text(0, 'F', gg_message());
}

/* Ends the worker, and what was still on its way to rank 0 with it. */
static void end_own(gg_worker *w)
{
    char text[128];
    gg_ending e = {.text = "had not started"};
    if (w->pid > 0) e = gg_worker_end(w);
    snprintf(text, sizeof text, "%d%d%s", e.in_kernel, e.by_itself, e.text);
    send_text(0, 'X', text);
}

/* What the worker says, as long as it says something. */
static void pass_on(gg_worker *w, bool *told)
{
    char *line;
    size_t length;
    bool ended = false;
    while (gg_worker_next(w, &line, &length, &ended)) {
        gg_worker_note(w, line);
        send_text(0, 'L', line);
    }
    if (ended && !*told) send_text(0, 'G', "");
    *told = *told || ended;
}

int gg_ranks_serve(const gg_run_options *options)
{
    gg_worker w = {.fd = -1};
    bool home = false, told = false;
    while (!home && !job.lost[0]) {
        char *message = receive_text(0);
        switch (message != NULL ? message[0] : ' ') {
        case 'S':
            told = false;
            start_own(options, &w);
            break;
        case 'T': gg_worker_tell(&w, message + 1); break;
        case 'D': gg_worker_dismiss(&w); break;
        case 'E': end_own(&w); break;
        case 'Q': home = true; break;
        default:
            if (w.pid > 0) pass_on(&w, &told);
            if (gg_seconds() - job.sent > BEAT_SECONDS) send_text(0, 'H', "");
            pause_shortly();
        }
        free(message);
    }
    if (w.pid > 0) gg_worker_end(&w);
    gg_ranks_close(0);
    return 0;
}

#else

static const struct {
    int local, locals;
} job = {.locals = 1};

gg_status gg_ranks_open(void)
{
    return gg_fail(GG_BAD_INPUT, "this gradgate was built without MPI: build it with make MPI=1");
}

void gg_ranks_close(int code) { (void)code; }

int gg_ranks_rank(void) { return 0; }

int gg_ranks_count(void) { return 1; }

gg_status gg_ranks_start(int rank, gg_worker *w)
{
    (void)w;
    return gg_fail(GG_INTERNAL, "no rank %d without MPI", rank);
}

int gg_ranks_serve(const gg_run_options *options)
{
    (void)options;
    return 2;
}

#endif

void gg_ranks_share(const gg_run_options *options, char *text, size_t size)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int mine = gg_processors(), share = (int)(online / job.locals);
    if (share < 1) share = 1;
    if (mine < share) share = mine; /* mpirun has bound this rank to fewer */
    if (options->threads > 0) share = options->threads;
    if (strcmp(options->device, "host") == 0) snprintf(text, size, "--serve=host,%d", share);
    else snprintf(text, size, "--serve=cuda:+%d,%d", job.local, share);
}
