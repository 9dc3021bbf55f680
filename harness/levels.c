/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/levels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge.h"
#include "harness/subject.h"

static const struct {
    const char *name, *summary;
    gg_subject_run *run;
} levels[GG_LEVELS] = {
    {"idle", "same process, stream, addresses and poison; nothing else runs",
     gg_subject_idle},
    {"load", "while other work runs on other streams (GPU) or threads (host)",
     gg_subject_under_load},
    {"placement", "fresh allocations at other offsets, memory holds other poison",
     gg_subject_elsewhere},
    {"process", "each run in a fresh process", gg_subject_in_process},
    {"twin", "the bits of the host twin (GPU only)", gg_subject_twin},
    {"together", "beside other calls of the kernel, on streams (GPU) or threads of their own",
     gg_subject_together},
};

const char *gg_level_name(gg_level level) { return levels[level].name; }

const char *gg_level_summary(gg_level level) { return levels[level].summary; }

gg_status gg_levels_parse(const char *text, unsigned *set)
{
    *set = 0;
    if (strcmp(text, "all") == 0) *set = (1u << GG_LEVELS) - 1;
    for (const char *word = text; *set + 1 != 1u << GG_LEVELS;) {
        size_t length = strcspn(word, ",");
        int level = 0;
        while (level < GG_LEVELS && (strlen(levels[level].name) != length ||
                                     strncmp(word, levels[level].name, length) != 0))
            level++;
        if (level == GG_LEVELS)
            return gg_fail(GG_BAD_INPUT, "--levels takes all, or some of idle, load, "
                           "placement, process, twin and together, such as idle,load; not '%s'",
                           text);
        *set |= 1u << level;
        if (word[length] == '\0') break;
        word += length + 1;
    }
    return GG_OK;
}

void gg_levels_text(unsigned set, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int l = 0; l < GG_LEVELS; l++)
        if (set >> l & 1u && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "",
                                     levels[l].name);
}

/* One run's outputs against the reference. A difference goes to `record`, unless NULL,
 * and a map of it to the case. */
static gg_status compare(const gg_subject *s, int k, void *const *outputs, bool *differs,
                         gg_level_record *record, gg_case_record *c)
{
    const gg_trial *t = s->against != NULL ? s->against : &s->trial;
    const gg_backend *b = t->plan->backend;
    *differs = false;
    for (int o = 0; o < t->outputs; o++) {
        gg_tensor first = t->output[o];
        gg_difference d;
        first.data = t->first[o];
        GG_TRY(b->compare(b, &first, outputs[o], 0, 0, &d));
        if (d.differing == 0) continue;
        *differs = true;
        if (record == NULL) continue;
        GG_TRY(gg_map_bits(b, &first, outputs[o], d.differing,
                           s->plan.worst ? &s->plan.worst->share[o] : NULL, &c->outputs[o]));
        gg_level_difference *seen = record->differences;
        const char *name = t->op->outputs[o].name;
        while (seen < record->differences + record->difference_count &&
               strcmp(seen->output, name) != 0)
            seen++;
        if (seen == record->differences + record->difference_count) {
            size_t size = gg_dtype_bytes(first.dtype), at = (size_t)d.first * size;
            *seen = (gg_level_difference){.run = k, .first = d.first};
            snprintf(seen->output, sizeof seen->output, "%s", name);
            GG_TRY(b->download(&seen->bits[0], (const char *)t->first[o] + at, size));
            GG_TRY(b->download(&seen->bits[1], (const char *)outputs[o] + at, size));
            record->difference_count++;
        }
        seen->runs++;
        if (d.differing > seen->differing) seen->differing = d.differing;
        if (d.ulps > seen->ulps) seen->ulps = d.ulps;
    }
    return GG_OK;
}

static int most_processes(const gg_plan *plan)
{
    return plan->backend->device == kDLCPU ? GG_PROCESS_RUNS : GG_PROCESS_RUNS_CUDA;
}

/* Runs of a level beside the reference. */
static int runs_of(const gg_plan *plan, gg_level level)
{
    int most = plan->level_runs < 2 ? 1 : plan->level_runs - 1;
    if (level == GG_LEVEL_TWIN) return 1;
    if (level == GG_LEVEL_PROCESS && most > most_processes(plan)) return most_processes(plan);
    return most;
}

/* Seconds of some runs, and of those the ones shared with the load. */
typedef struct shared_time {
    double seconds, shared;
    int runs;
} shared_time;

static double overlap_of(const shared_time *t)
{
    return t->seconds > 0 ? t->shared / t->seconds : 0;
}

static void add_time(const gg_subject *s, shared_time *t)
{
    t->seconds += s->loaded;
    t->shared += s->shared;
    t->runs++;
}

/* A run counts when it was under load; so many are tried for one that counts. */
enum { TRIES_A_RUN = 5, TRIES_MORE = 20 };

/* Levels whose runs prove something only beside other work. */
static bool needs_company(gg_level level)
{
    return level == GG_LEVEL_LOAD || level == GG_LEVEL_TOGETHER;
}

static bool go_on(gg_level level, const shared_time *all, const shared_time *counted, int runs)
{
    if (counted->runs >= runs) return false;
    if (!needs_company(level)) return true;
    if (counted->runs == 0 && all->runs >= 3 && all->seconds > 5) return false;
    return all->runs < TRIES_A_RUN * runs + TRIES_MORE;
}

/* No thread or stream of a level stays for those after it. */
static void end_company(gg_subject *s)
{
    if (s->load != NULL) s->plan.backend->load_close(s->load);
    gg_together_close(s->together);
    s->load = NULL;
    s->together = NULL;
    s->against = NULL;
}

static gg_status try_kernel(gg_subject *s, gg_level level, gg_level_record *record,
                            gg_case_record *c)
{
    int runs = runs_of(&s->plan, level);
    bool company = needs_company(level);
    double least = company ? s->plan.backend->overlap_least : 0;
    shared_time all = {.runs = 0}, counted = {.runs = 0};
    record->runs = 1;
    if (company) record->overlap_least = least;
    for (int k = 1; go_on(level, &all, &counted, runs); k++) {
        void *const *outputs;
        bool differs;
        s->shared = s->loaded = 0;
        GG_TRY(levels[level].run(s, k, &outputs));
        GG_TRY(compare(s, k, outputs, &differs, record, c));
        add_time(s, &all);
        record->differed += differs;
        if (company && !differs && !(s->loaded > 0 && s->shared >= least * s->loaded)) continue;
        add_time(s, &counted);
        record->runs++;
        if (company) record->overlap = overlap_of(&counted);
    }
    if (company && counted.runs == 0) record->overlap = overlap_of(&all);
    return GG_OK;
}

/* The control has as many runs as the kernel had, or a few more where those were few: its
 * order is drawn by chance, and can come twice. It stops when it has differed. */
enum { CONTROL_RUNS = 20, CONTROL_CALLS = 100 /* that need to meet */ };

static gg_status try_control(gg_subject *s, gg_level level, gg_level_record *record)
{
    int runs = record->runs - 1, least = CONTROL_RUNS;
    bool differs = false;
    if (level == GG_LEVEL_TWIN) least = 1; /* its reference is compared, once */
    if (level == GG_LEVEL_TOGETHER) least = CONTROL_CALLS;
    if (level == GG_LEVEL_PROCESS) least = most_processes(&s->plan);
    if (runs < least) runs = least;
    for (int k = 1; k <= runs && !differs; k++) {
        void *const *outputs;
        GG_TRY(levels[level].run(s, k, &outputs));
        GG_TRY(compare(s, k, outputs, &differs, NULL, NULL));
        record->control_runs++;
    }
    record->control_differed = differs;
    return GG_OK;
}

enum { NOTE = sizeof(((gg_level_record *)0)->note) };

/* "[B=0,H=1,N=3,N=5]" of a flat index. */
static void name_place(const gg_operator *op, const gg_output_record *o, int64_t flat,
                       char *text, size_t size)
{
    const char *letters = op->outputs[gg_tensor_find(op->outputs, o->name)].shape;
    int64_t index[GG_MAX_DIMS] = {0};
    size_t used = 0;
    for (int i = o->ndim - 1; i >= 0; flat /= o->shape[i--]) index[i] = flat % o->shape[i];
    for (int i = 0; i < o->ndim && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%c%c=%" PRId64, i ? ',' : '[',
                                 letters[i], index[i]);
    if (used < size) snprintf(text + used, size - used, "]");
}

/* "dbias[B=0,H=1,N=3,N=5] 0x3f80 then 0x3f81 ..." of the first output that differed. */
static void note_difference(const gg_operator *op, const gg_case_record *c,
                            const gg_level_record *record, char note[NOTE])
{
    const gg_level_difference *d = &record->differences[0];
    char where[96] = "";
    int digits = 8;
    int64_t count = 0;
    for (int o = 0; o < c->output_count; o++) {
        const gg_output_record *out = &c->outputs[o];
        if (strcmp(out->name, d->output) != 0) continue;
        name_place(op, out, d->first, where, sizeof where);
        digits = out->dtype == GG_BF16 ? 4 : 8;
        count = out->count;
    }
    snprintf(note, NOTE,
             "%d of %d runs differed; run %d: %s%s 0x%0*" PRIx32 " then 0x%0*" PRIx32
             ", up to %" PRId64 " of %" PRId64 " elements and %" PRId64 " ulp",
             record->differed, record->runs - 1, d->run, d->output, where, digits, d->bits[0],
             digits, d->bits[1], d->differing, count, d->ulps);
}

static void note_overlap(const gg_level_record *record, char note[NOTE])
{
    const char *connections = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    char advice[64] = "is the device or the machine busy?";
    if (connections != NULL)
        snprintf(advice, sizeof advice, "unset CUDA_DEVICE_MAX_CONNECTIONS=%.8s", connections);
    bool load = strcmp(record->name, levels[GG_LEVEL_LOAD].name) == 0;
    snprintf(note, NOTE, "%s during %.0f %% of the kernel's time, at least %.0f %% are needed: %s",
             load ? "the load ran" : "other calls were under way", 100 * record->overlap,
             100 * record->overlap_least, advice);
}

/* `trouble`: why something could not be run, "" when all was. */
static gg_verdict judge(const gg_operator *op, const gg_case_record *c,
                        const gg_level_record *record, const char *trouble, char note[NOTE])
{
    note[0] = '\0';
    if (record->differed > 0) {
        note_difference(op, c, record, note);
        return GG_FAILED;
    }
    if (trouble[0] != '\0')
        snprintf(note, NOTE, "%s", trouble);
    else if (!isnan(record->overlap_least) && !(record->overlap >= record->overlap_least))
        note_overlap(record, note);
    else if (record->runs < 2)
        snprintf(note, NOTE, "one run shows no difference: --repeats 2");
    else if (record->control[0] == '\0')
        snprintf(note, NOTE, "no control: a kernel of this operator whose bits differ from run "
                 "to run");
    else if (record->control_differed != 1)
        snprintf(note, NOTE, "the control %s did not differ in %d runs: this shape and "
                 "condition cannot show a race", record->control, record->control_runs);
    else
        return GG_PASSED;
    return GG_NOT_VERIFIED;
}

static void name_control(const gg_subject *control, gg_level_record *record)
{
    static const char *const shares[] = {"", " sharing saved tensors", " sharing workspace"};
    if (control->plan.kernel == NULL) return;
    snprintf(record->control, sizeof record->control, "%.40s%s", control->plan.kernel->name,
             shares[control->share]);
}

static void measure(gg_level level, gg_subject *kernel, gg_subject *control,
                    const char *no_control, gg_case_record *c)
{
    gg_level_record *record = &c->levels[c->level_count++];
    char trouble[192] = "";
    *record = (gg_level_record){.overlap_least = NAN, .overlap = NAN};
    snprintf(record->name, sizeof record->name, "%s", levels[level].name);
    name_control(control, record);
    if (try_kernel(kernel, level, record, c) != GG_OK)
        snprintf(trouble, sizeof trouble, "%s", gg_message());
    else if (record->control[0] != '\0' && no_control[0] != '\0')
        snprintf(trouble, sizeof trouble, "control: %s", no_control);
    else if (record->control[0] != '\0' && record->differed == 0 &&
             try_control(control, level, record) != GG_OK)
        snprintf(trouble, sizeof trouble, "control: %s", gg_message());
    end_company(kernel);
    end_company(control);
    char note[NOTE];
    record->verdict = judge(kernel->trial.op, c, record, trouble, note);
    memcpy(record->note, note, sizeof note);
}

/* With a control of its own, if there is one. */
static void measure_together(const gg_trial *t, gg_subject *kernel, gg_subject *usual,
                             const char *no_usual, gg_case_record *c)
{
    gg_subject sharer;
    gg_shared share;
    char no_control[192] = "";
    const gg_kernel *right = gg_subject_sharer_of(t, &share);
    if (right == NULL) {
        measure(GG_LEVEL_TOGETHER, kernel, usual, no_usual, c);
        return;
    }
    if (gg_subject_open(t, right, true, &sharer) != GG_OK)
        snprintf(no_control, sizeof no_control, "%s", gg_message());
    sharer.share = share;
    measure(GG_LEVEL_TOGETHER, kernel, &sharer, no_control, c);
    gg_subject_close(&sharer);
}

/* A level that was not tried. */
static void give_up(gg_level level, const char *why, gg_case_record *c)
{
    gg_level_record *record = &c->levels[c->level_count++];
    *record = (gg_level_record){.overlap_least = NAN, .overlap = NAN};
    snprintf(record->name, sizeof record->name, "%s", levels[level].name);
    snprintf(record->note, sizeof record->note, "%s", why);
}

/* Among all levels a twin that takes too long is left out; asked for by name it is missed. */
static void leave_twin(const gg_plan *plan, gg_case_record *c)
{
    if (plan->levels != (1u << GG_LEVELS) - 1)
        give_up(GG_LEVEL_TWIN, "the host twin would take too long in this case: choose smaller "
                "ones with --case", c);
}

void gg_levels_measure(const gg_trial *t, gg_case_record *c)
{
    const gg_plan *plan = t->plan;
    gg_subject kernel, control = {.control = true};
    char no_control[192] = "";
    if (plan->levels == 0) return;
    if (gg_subject_open(t, plan->kernel, false, &kernel) != GG_OK) {
        for (int l = 0; l < GG_LEVELS; l++)
            if (plan->levels >> l & 1u) give_up((gg_level)l, gg_message(), c);
        gg_subject_close(&kernel);
        return;
    }
    bool controlled = plan->control != NULL;
    if (controlled && gg_subject_open(t, plan->control, true, &control) != GG_OK)
        snprintf(no_control, sizeof no_control, "%s", gg_message());
    kernel.twin = control.twin = gg_subject_twin_of(t);
    for (int l = 0; l < GG_LEVELS; l++) {
        if (!(plan->levels >> l & 1u)) continue;
        if (l == GG_LEVEL_TWIN && kernel.twin == NULL) leave_twin(plan, c);
        else if (l == GG_LEVEL_TOGETHER) measure_together(t, &kernel, &control, no_control, c);
        else measure((gg_level)l, &kernel, &control, no_control, c);
    }
    if (controlled) gg_subject_close(&control);
    gg_subject_close(&kernel);
}
