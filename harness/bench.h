/* SPDX-License-Identifier: Apache-2.0
 * How fast kernels are, and whether what was timed was right: gradgate bench.
 *
 * A kernel is timed on inputs that rotate, so that no set is still in the cache when it
 * comes again. The outputs of the last timed run are measured against the truth and
 * compared, as bits, with an untimed run: a fast wrong kernel is no win. Times are
 * compared within a class of precision; across classes the ratio is confounded. */
#ifndef HARNESS_BENCH_H
#define HARNESS_BENCH_H

#include <stdio.h>

#include "cases/suite.h"
#include "harness/backend.h"
#include "kernels/abi.h"
#include "reports/record.h"
#include "reports/view.h"

#define GG_BENCH_SCHEMA "gradgate-bench-1"

enum { GG_BENCH_REPS = 200, GG_BENCH_KERNELS = 32, GG_BENCH_SETS = 64 };

/* By RMSE / rounding floor of the output that the operator grades kernels by. */
typedef enum gg_precision {
    GG_PRECISION_UNKNOWN = 0,
    GG_PRECISION_FLOOR, /* <= 1.02 */
    GG_PRECISION_FINE,  /* <= 1.3 */
    GG_PRECISION_FAIR,  /* <= 2 */
    GG_PRECISION_COARSE /* more, NaN included */
} gg_precision;

/* Milliseconds. `median` is NaN and `count` 0 when nothing was timed; a peer's report may
 * give the median alone. */
typedef struct gg_times {
    double median, least, most;
    int count;
    double sample[GG_BENCH_REPS]; /* in the order of the runs */
} gg_times;

/* One output against the truth. */
typedef struct gg_bench_output {
    char name[16];
    gg_dtype dtype;
    double rmse, floor, truth_rms; /* NaN: not told */
    double gauge_p99, gauge_max;
} gg_bench_output;

typedef struct gg_bench_entry {
    int at;               /* index in gg_bench.cases */
    char kernel[64];
    bool peer;            /* its figures are those of a peer script, not ours */
    gg_verdict verdict;   /* failed: wrong. A peer whose figures give no alarm: passed */
    bool declined;        /* the kernel said in advance that it cannot */
    char reason[256];     /* why it is wrong or was not timed */
    gg_times forward, total;
    int64_t saved_bytes, workspace_bytes;
    double extra_bytes;   /* memory beyond inputs and outputs; NaN: not told */
    int same_bits;        /* 1, 0, -1 not told */
    gg_bench_output outputs[GG_MAX_OUTPUTS];
    int output_count;
    double graded;        /* RMSE / floor of the graded output; NaN: not told */
    gg_precision precision;
    int rank, ranked;     /* by time among the right ones of the class; 0: not ranked */
} gg_bench_entry;

typedef struct gg_bench_case {
    char id[96], family[32];
    uint64_t seed;
    int64_t extent[GG_MAX_SYMBOLS];
    gg_dtype input_dtype[GG_MAX_INPUTS], output_dtype[GG_MAX_OUTPUTS];
    gg_cost cost;         /* zero: the operator does not tell */
    int sets;             /* of inputs, in rotation */
    int64_t set_bytes;
} gg_bench_case;

/* time = a * size^exponent, fitted over the cases that differ in the size alone. */
typedef struct gg_growth {
    char kernel[64], group[96]; /* "normal H=4 D=32" */
    int first;                  /* index of its first entry */
    int sizes;
    double forward, total;
} gg_growth;

typedef struct gg_bench {
    const gg_operator *op;
    gg_run_record made;      /* build and place; no cases in it */
    char suite[64], selection[96], device[8];
    uint64_t suite_digest;
    int reps;
    int64_t cache_bytes;
    double peak_flops;       /* a second; 0: unknown */
    char peak_source[96];
    char clocks[2][200];     /* at start and end; "not read" */
    char peers_about[320];   /* what the peer script says of itself */
    int peers_unmatched;     /* lines of peers that fit no case */
    gg_bench_case *cases;
    int case_count;
    gg_bench_entry *entries; /* by case; ours first, in the order asked for */
    int entry_count, entry_room;
    gg_growth *growth;
    int growth_count;
} gg_bench;

typedef struct gg_bench_options {
    const char *suite, *kernels, *device, *glob, *peers, *out, *markdown, *html;
    int reps, threads;
} gg_bench_options;

/* Loads suite and peers, finds the kernels, measures. Free the bench whatever the
 * status. `trial`, ended by NULL, takes the place of options->kernels (NULL: not). */
gg_status gg_bench_run(const gg_bench_options *options, const gg_kernel *const *trial,
                       gg_bench *bench);
void gg_bench_free(gg_bench *bench);

/* Failed when a kernel of ours is wrong; not verified when one could not be measured
 * although it did not decline, or when none was. */
gg_verdict gg_bench_verdict(const gg_bench *bench);

/* A new entry, zeroed but for what is "not told"; NULL without memory. */
gg_bench_entry *gg_bench_add(gg_bench *bench, int at, const char *kernel);

/* bench_case.c: one case through all kernels; faults are in the entries. */
struct gg_arena;
void gg_bench_case_run(gg_bench *bench, const gg_backend *backend, const gg_suite *suite,
                       int index, const gg_kernel *const *kernels,
                       struct gg_arena *arena, struct gg_arena *spare);

/* bench_figures.c */
void gg_times_settle(gg_times *times); /* median, least and most of the samples */
double gg_times_error(const gg_times *times); /* standard error of log(median), once settled */
double gg_times_spread(const gg_times *times); /* (most - least) / median; NaN */
gg_precision gg_precision_of(double rmse_over_floor);
const char *gg_precision_name(gg_precision precision);
/* Slope of log y over log x by least squares; NaN without two different x. */
double gg_fit_exponent(const double *x, const double *y, int count);
/* Fills classes, ranks and growth. */
gg_status gg_bench_derive(gg_bench *bench);
/* The right entry of that case and kernel to compare others with, or NULL. */
const gg_bench_entry *gg_bench_base(const gg_bench *bench, int at);
/* Whether the entry is one of those that the growth was fitted over. */
bool gg_bench_grows(const gg_bench *bench, const gg_growth *growth, const gg_bench_entry *entry);
/* What stands beside the ratio of two entries: "" or "confounded by precision" ... */
const char *gg_bench_caveat(const gg_bench_entry *a, const gg_bench_entry *b);
/* FLOP/s of a direction (0 forward, 1 both); NaN when not known. */
double gg_bench_rate(const gg_bench *bench, const gg_bench_entry *entry, int both);

/* bench_place.c: clocks and temperature as the driver's tool tells them, else "not
 * read"; the stated peak of a GPU by its name, 0 when there is none. */
void gg_bench_clocks(const gg_backend *backend, char *text, size_t size);
double gg_bench_peak(const char *gpu, const char **source);

/* bench_peers.c: merges the lines of a file. A line that cannot be accepted is
 * GG_BAD_INPUT with its number. */
gg_status gg_bench_peers(const char *path, gg_bench *bench);

/* bench_read.c: a bench from its file. GG_OK and *is_bench false: the file, if there is one,
 * is something else. Every fault of a bench is GG_BAD_INPUT with its place. Free it in any
 * case. */
gg_status gg_bench_read(const char *path, gg_bench *bench, bool *is_bench);

/* bench_view.c, bench_json.c, bench_html.c. All but the table are for gg_file_write. The
 * grids of the view stand in this order; that of the reasons may be missing. */
enum { GG_BENCH_SPEED, GG_BENCH_RATIOS, GG_BENCH_ACCURACY, GG_BENCH_GROWTH, GG_BENCH_REASONS };
void gg_bench_view(const gg_bench *bench, gg_view *view);
gg_status gg_bench_html(const void *bench, FILE *out);
/* "declines", "wrong", "not timed", "right", ... */
const char *gg_bench_outcome(const gg_bench_entry *entry);
gg_status gg_bench_table(const gg_bench *bench, FILE *out, int width);
gg_status gg_bench_markdown(const void *bench, FILE *out);
gg_status gg_bench_json(const void *bench, FILE *out);

#endif
