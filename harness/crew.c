/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/crew.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/environment.h"
#include "harness/exec.h"
#include "harness/ranks.h"
#include "harness/wire.h"
#include "harness/worker.h"
#include "reference/parallel.h"
#include "reports/fields.h"

enum { TICK_MILLISECONDS = 100, RANKS_MILLISECONDS = 1, START_SECONDS = 600, FAILED_STARTS = 3 };

/* A place for one worker after the other. */
typedef struct post {
    char name[24];     /* in the records: "host:1", "cuda:1", "rank:1" */
    int rank;          /* MPI rank that lends it, 0: this process */
    char device[16];   /* "host", "cuda:1" */
    char gpu_uuid[64];
    char serve[48];    /* "--serve=DEVICE,THREADS", an argument */
    gg_worker worker;
    bool greeted;      /* the worker has said what it is */
    bool waits;        /* it waits for a case */
    bool answered;     /* it has given a record, and not yet asked for the next case */
    int task;          /* of the deal, -1: none */
    int index;         /* of the task's case */
    double began;      /* gg_seconds() when it was given */
    double patience;   /* seconds for one call of the kernel */
    int losses;        /* workers lost in a row */
    int failed_starts; /* of them, before they could work */
    bool closed;       /* given up */
} post;

struct gg_crew {
    const gg_run_options *options;
    const gg_suite *suite;
    const gg_run_record *run;
    post posts[GG_MAX_WORKERS];
    int count;
    int gpus;          /* of this host, as the latest worker saw */
    char last[192];    /* how the latest worker was lost */
};

/* What a kernel is trusted to do at least, flops a second: far below any that is worth
 * a trial. A multiply-add counts as two. */
static const double slowest_host = 1e7, slowest_cuda = 1e10;
static const double least_patience = 120; /* seconds: a foreign one may compile first */

double gg_crew_patience(const gg_run_options *options, const gg_suite *suite, int index)
{
    const gg_operator *op = suite->op;
    double slowest = strcmp(options->device, "host") == 0 ? slowest_host : slowest_cuda;
    gg_problem problem = {.extent = {0}};
    if (options->timeout > 0) return options->timeout;
    if (gg_exec_named(options->kernel)) return GG_EXEC_TIMEOUT;
    if (op->cost == NULL) return 10 * least_patience;
    memcpy(problem.extent, suite->cases[index].extent, sizeof problem.extent);
    gg_cost cost = op->cost(&problem);
    return least_patience + (cost.flops[0] + cost.flops[1]) / slowest;
}

gg_status gg_crew_launch(const gg_run_options *o, char *serve, gg_worker *worker)
{
    char program[1024];
    char **argv = calloc((size_t)o->argc + 3, sizeof *argv);
    if (argv == NULL) return gg_fail(GG_NO_MEMORY, "no memory for workers");
    snprintf(program, sizeof program, "%s", o->program != NULL ? o->program : "/proc/self/exe");
    argv[0] = program;
    argv[1] = o->argv[0];
    argv[2] = serve;
    for (int i = 1; i < o->argc; i++) argv[i + 2] = o->argv[i];
    gg_status status = gg_worker_start(argv, worker);
    free(argv);
    return status;
}

static gg_status start(gg_crew *crew, post *p)
{
    p->greeted = p->waits = p->answered = false;
    p->task = -1;
    p->patience = START_SECONDS;
    return p->rank > 0 ? gg_ranks_start(p->rank, &p->worker)
                       : gg_crew_launch(crew->options, p->serve, &p->worker);
}

/* Whether a worker is what the first one was. */
static gg_status check_same(const gg_crew *crew, const post *p, const gg_run_record *other)
{
    char was[256], is[256];
    const gg_place *a = &crew->run->place, *b = &other->place;
    const char *key = gg_fields_differ(gg_run_fields, crew->run, other, was, is);
    if (key == NULL && strcmp(a->gpu, b->gpu) != 0) {
        key = "GPU";
        snprintf(was, sizeof was, "%s", a->gpu);
        snprintf(is, sizeof is, "%s", b->gpu);
    }
    if (key == NULL) return GG_OK;
    return gg_fail(GG_BAD_INPUT, "the workers on %s and %s differ: %s is %.100s and %.100s",
                   crew->posts[0].name, p->name, key, was, is);
}

static gg_status greet(gg_crew *crew, post *p, const char *line, size_t length,
                       gg_run_record *said)
{
    GG_TRY(gg_wire_read_hello(line, length, said, &crew->gpus));
    p->greeted = true;
    snprintf(p->gpu_uuid, sizeof p->gpu_uuid, "%s", said->place.gpu_uuid);
    return crew->run == NULL ? GG_OK : check_same(crew, p, said);
}

/* Waits for the sockets of all workers, at most a tick. */
static void wait_for_news(const gg_crew *crew)
{
    struct pollfd fds[GG_MAX_WORKERS];
    nfds_t count = 0;
    int patience = TICK_MILLISECONDS;
    for (int i = 0; i < crew->count; i++)
        if (crew->posts[i].rank > 0) patience = RANKS_MILLISECONDS;
        else if (crew->posts[i].worker.pid > 0)
            fds[count++] = (struct pollfd){.fd = crew->posts[i].worker.fd, .events = POLLIN};
    poll(fds, count, patience);
}

/* The first greeting of a worker, waited for. */
static gg_status await_greeting(gg_crew *crew, post *p, gg_run_record *said)
{
    char *line;
    size_t length;
    bool ended = false;
    double began = gg_seconds();
    while (!gg_worker_hear(&p->worker, &line, &length, &ended)) {
        if (ended)
            return gg_fail(GG_DEVICE_FAULT, "the worker on %s %s before its first case",
                           p->name, gg_worker_end(&p->worker).text);
        if (gg_seconds() - began > START_SECONDS)
            return gg_fail(GG_DEVICE_FAULT, "the worker on %s says nothing for %d s",
                           p->name, START_SECONDS);
        wait_for_news(crew);
    }
    return greet(crew, p, line, length, said);
}

static post *add_post(gg_crew *crew, const char *device, int threads, const char *shared)
{
    post *p = &crew->posts[crew->count++];
    snprintf(p->name, sizeof p->name, "%s", device);
    snprintf(p->device, sizeof p->device, "%s", device);
    snprintf(p->serve, sizeof p->serve, "--serve=%.15s,%d%s", device, threads, shared);
    return p;
}

static int threads_of(const gg_run_options *o, int workers)
{
    int threads = o->threads > 0 ? o->threads : gg_processors();
    return threads > workers ? threads / workers : 1;
}

/* "cuda:0,2": each GPU once. */
static gg_status make_listed(gg_crew *crew, const char *list)
{
    int count = 1;
    for (const char *c = list; *c != '\0'; c++) count += *c == ',';
    for (const char *at = list + strlen("cuda:"); at != NULL;) {
        char device[16];
        int ordinal = -1, length = 0;
        if (sscanf(at, "%4d%n", &ordinal, &length) != 1 || ordinal < 0 || *at == '-' ||
            (at[length] != ',' && at[length] != '\0') || crew->count == GG_MAX_WORKERS)
            return gg_fail(GG_BAD_INPUT, "unknown devices '%s': say cuda:all, or numbers of "
                           "at most %d GPUs such as cuda:0,2", list, GG_MAX_WORKERS);
        snprintf(device, sizeof device, "cuda:%d", ordinal);
        for (int i = 0; i < crew->count; i++)
            if (strcmp(crew->posts[i].device, device) == 0)
                return gg_fail(GG_BAD_INPUT, "--device '%s' names %s twice", list, device);
        add_post(crew, device, threads_of(crew->options, count), "");
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return GG_OK;
}

/* One for each rank, this one first. */
static gg_status make_ranks(gg_crew *crew)
{
    const gg_run_options *o = crew->options;
    bool host = strcmp(o->device, "host") == 0;
    if ((!host && strcmp(o->device, "cuda") != 0) || o->workers > 0)
        return gg_fail(GG_BAD_INPUT, "with --mpi each rank has one worker, on the GPU of its "
                       "number: say --device cuda or host, and no --workers");
    if (gg_ranks_count() > GG_MAX_WORKERS)
        return gg_fail(GG_BAD_INPUT, "%d ranks are more than the %d that a run can use",
                       gg_ranks_count(), GG_MAX_WORKERS);
    for (int rank = 0; rank < gg_ranks_count(); rank++) {
        post *p = add_post(crew, o->device, 1, "");
        p->rank = rank;
        if (rank == 0) gg_ranks_share(o, p->serve, sizeof p->serve);
        if (gg_ranks_count() > 1) snprintf(p->name, sizeof p->name, "rank:%d", rank);
    }
    return GG_OK;
}

static gg_status make_posts(gg_crew *crew)
{
    const gg_run_options *o = crew->options;
    bool host = strcmp(o->device, "host") == 0;
    int workers = o->workers > 0 ? o->workers : 1;
    if (o->mpi) return make_ranks(crew);
    if (!host && o->workers > 0)
        return gg_fail(GG_BAD_INPUT, "--workers is for --device host: a GPU has one worker, and "
                       "--device cuda:all takes all GPUs");
    if (strcmp(o->device, "cuda:all") == 0)
        add_post(crew, "cuda:0", threads_of(o, 1), ",shared"); /* the first counts them */
    else if (strchr(o->device, ',') != NULL && strncmp(o->device, "cuda:", 5) == 0)
        return make_listed(crew, o->device);
    else if (strlen(o->device) >= sizeof crew->posts[0].device)
        return gg_fail(GG_BAD_INPUT, "unknown device '%s': say host, cuda or cuda:NUMBER",
                       o->device);
    for (int i = 0; crew->count < workers; i++) {
        post *p = add_post(crew, o->device, threads_of(o, workers), "");
        if (workers > 1) snprintf(p->name, sizeof p->name, "host:%d", i);
    }
    return GG_OK;
}

/* Starts those from `first` on, and waits until they can work. */
static gg_status start_posts(gg_crew *crew, int first, gg_run_record *run)
{
    gg_run_record said;
    for (int i = first; i < crew->count; i++) GG_TRY(start(crew, &crew->posts[i]));
    for (int i = first; i < crew->count; i++) {
        GG_TRY(await_greeting(crew, &crew->posts[i], i == 0 ? run : &said));
        crew->run = run;
    }
    return GG_OK;
}

static void list_devices(const gg_crew *crew, gg_place *place)
{
    for (int i = 0; i < crew->count && crew->count > 1; i++) {
        gg_device_record *device = &place->devices[place->device_count++];
        snprintf(device->name, sizeof device->name, "%s", crew->posts[i].name);
        snprintf(device->gpu_uuid, sizeof device->gpu_uuid, "%s", crew->posts[i].gpu_uuid);
    }
}

gg_status gg_crew_start(const gg_run_options *options, const gg_suite *suite,
                        gg_crew **result, gg_run_record *run)
{
    char device[16];
    gg_crew *crew = calloc(1, sizeof *crew);
    *result = crew;
    if (crew == NULL) return gg_fail(GG_NO_MEMORY, "no memory for workers");
    *crew = (gg_crew){.options = options, .suite = suite};
    GG_TRY(make_posts(crew));
    GG_TRY(start_posts(crew, 0, run));
    if (strcmp(options->device, "cuda:all") == 0) {
        int gpus = crew->gpus < GG_MAX_WORKERS ? crew->gpus : GG_MAX_WORKERS;
        while (crew->count < gpus) {
            snprintf(device, sizeof device, "cuda:%d", crew->count);
            add_post(crew, device, threads_of(options, 1), ",shared");
        }
        GG_TRY(start_posts(crew, 1, run));
    }
    list_devices(crew, &run->place);
    return GG_OK;
}

void gg_crew_end(gg_crew *crew)
{
    if (crew == NULL) return;
    for (int i = 0; i < crew->count; i++)
        if (crew->posts[i].waits) gg_worker_dismiss(&crew->posts[i].worker);
    for (int i = 0; i < crew->count; i++)
        if (crew->posts[i].worker.pid > 0) gg_worker_end(&crew->posts[i].worker);
    free(crew);
}

/* The work under way. */
typedef struct work {
    gg_crew *crew;
    gg_deal *deal;
    gg_status status;
} work;

/* Ends a worker; what it was running gets `verdict` and `reason`. A place that only loses
 * workers is given up. */
static void replace(work *w, post *p, gg_verdict verdict, const char *reason)
{
    gg_crew *crew = w->crew;
    int place = (int)(p - crew->posts);
    if (p->worker.pid > 0) gg_worker_end(&p->worker);
    if (p->task >= 0)
        w->status = gg_deal_lost(w->deal, place, p->task, gg_seconds() - p->began, verdict,
                                 reason);
    snprintf(crew->last, sizeof crew->last, "%s", reason);
    p->losses++;
    p->failed_starts = p->greeted ? 0 : p->failed_starts + 1;
    p->closed = p->losses >= GG_LOSSES_IN_A_ROW || p->failed_starts >= FAILED_STARTS;
    if (!p->closed && w->status == GG_OK && start(crew, p) != GG_OK) {
        snprintf(crew->last, sizeof crew->last, "%s", gg_message());
        p->closed = true;
    }
    if (p->closed && w->status == GG_OK)
        w->status = gg_deal_leave(w->deal, place, crew->last);
}

/* The kernel answers for what happens during its calls: for its own faults and exits, not
 * for a signal that somebody sent (an operator, or a system short of memory). */
static void lose(work *w, post *p)
{
    char reason[256];
    gg_ending e = gg_worker_end(&p->worker);
    bool guilty = e.in_kernel && e.by_itself;
    if (p->answered) snprintf(reason, sizeof reason, "the device could not be used any more");
    else
        snprintf(reason, sizeof reason, "the %s process %s",
                 e.in_kernel ? "kernel's" : "harness's", e.text);
    replace(w, p, guilty ? GG_FAILED : GG_NOT_VERIFIED, reason);
}

static void answer(work *w, post *p, const char *line, size_t length)
{
    gg_case_record *record = malloc(sizeof *record);
    gg_status status = record == NULL
                           ? gg_fail(GG_NO_MEMORY, "no memory for a case record")
                           : gg_wire_read_case(line, length, w->crew->run->symbols, record);
    if (status == GG_OK && record->index != p->index)
        status = gg_fail(GG_INTERNAL, "a worker answered for case %s, which it was not asked",
                         record->id);
    if (status == GG_OK) {
        w->status = gg_deal_answer(w->deal, (int)(p - w->crew->posts), p->task, record);
        p->task = -1;
        p->answered = true;
    } else replace(w, p, GG_NOT_VERIFIED, gg_message());
    free(record);
}

/* One line of a worker; false when there is no more to hear from it now. */
static bool hear(work *w, post *p)
{
    char *line;
    size_t length;
    bool ended;
    gg_run_record said;
    if (!gg_worker_hear(&p->worker, &line, &length, &ended)) {
        if (ended) lose(w, p);
        return false;
    }
    if (strcmp(line, "ready") == 0 && p->greeted && p->task < 0) {
        if (p->answered) p->losses = 0;
        p->answered = false;
        p->waits = true;
        return true;
    }
    if (!p->greeted) {
        if (greet(w->crew, p, line, length, &said) == GG_OK) return true;
        replace(w, p, GG_NOT_VERIFIED, gg_message());
        return false;
    }
    if (p->task >= 0) answer(w, p, line, length);
    else replace(w, p, GG_NOT_VERIFIED, "a worker spoke out of turn");
    return p->worker.pid > 0 && w->status == GG_OK;
}

static void check_time(work *w, post *p)
{
    char reason[256];
    double silent = gg_seconds() - p->worker.since;
    bool in_kernel = p->greeted && p->worker.doing[0] != '\0';
    double most = !p->greeted ? START_SECONDS : in_kernel ? p->patience : 10 * p->patience;
    if (p->waits || silent < most) return;
    if (in_kernel)
        snprintf(reason, sizeof reason, "no answer from the kernel's %s within %g s "
                 "(--timeout): its process was ended", p->worker.doing, most);
    else
        snprintf(reason, sizeof reason, "the harness's process was silent for %g s: it was "
                 "ended", most);
    replace(w, p, in_kernel ? GG_FAILED : GG_NOT_VERIFIED, reason);
}

/* The next task, when there is one. */
static void give(work *w, post *p)
{
    char line[32];
    bool digests;
    p->task = gg_deal_next(w->deal, (int)(p - w->crew->posts), &p->index, &digests);
    if (p->task < 0) return;
    snprintf(line, sizeof line, "%s %d\n", digests ? "digest" : "case", p->index);
    p->began = gg_seconds();
    p->patience = gg_crew_patience(w->crew->options, w->crew->suite, p->index);
    p->waits = false;
    gg_worker_tell(&p->worker, line);
}

static bool all_closed(const gg_crew *crew)
{
    for (int i = 0; i < crew->count; i++)
        if (!crew->posts[i].closed) return false;
    return true;
}

/* What every post has to say and to be told now. */
static void attend(work *w)
{
    for (int i = 0; i < w->crew->count && w->status == GG_OK; i++) {
        post *p = &w->crew->posts[i];
        while (!p->closed && w->status == GG_OK && hear(w, p)) continue;
        if (!p->closed && w->status == GG_OK && p->waits) give(w, p);
        if (!p->closed && w->status == GG_OK) check_time(w, p);
    }
}

gg_status gg_crew_work(gg_crew *crew, const int *indices, int count, gg_finish *finish,
                       void *context)
{
    work w = {.crew = crew};
    const char *names[GG_MAX_WORKERS];
    char reason[256];
    for (int i = 0; i < crew->count; i++) names[i] = crew->posts[i].name;
    w.status = gg_deal_open(crew->suite, indices, count, names, crew->count, finish, context,
                            &w.deal);
    while (w.status == GG_OK && !gg_deal_done(w.deal) && !all_closed(crew)) {
        attend(&w);
        if (w.status == GG_OK && !gg_deal_done(w.deal)) wait_for_news(crew);
    }
    snprintf(reason, sizeof reason, "not run: %d worker processes in a row were lost; last: %s",
             crew->posts[0].losses, crew->last);
    if (w.status == GG_OK && !gg_deal_done(w.deal)) w.status = gg_deal_give_up(w.deal, reason);
    gg_deal_close(w.deal);
    return w.status;
}
