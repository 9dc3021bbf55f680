/* SPDX-License-Identifier: Apache-2.0
 * The evidence of one run, as the harness fills it and as a report stores it: what was
 * run on what, and for each case what was measured and what follows. Everything a judge
 * needs is in here (limits included), so stored evidence can be judged again without a
 * GPU. No pointer leads out of a record but `cases`. */
#ifndef REPORTS_RECORD_H
#define REPORTS_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "reference/tensor.h"

/* Zeroed memory reads "not verified", never "passed". */
typedef enum gg_verdict { GG_NOT_VERIFIED = 0, GG_PASSED, GG_FAILED } gg_verdict;

/* The worse of two: failed > not verified > passed. */
gg_verdict gg_verdict_worse(gg_verdict a, gg_verdict b);
/* value <= limit, written so that a NaN on either side fails. */
gg_verdict gg_judge(double value, double limit);
const char *gg_verdict_name(gg_verdict verdict); /* "passed", "failed", "not verified" */

/* The kernel_summary of outputs that came as files: there is no kernel to run again. */
#define GG_FROM_FILES "outputs from files"

/* "%d case%s" of a number. */
#define GG_S(count) ((count) == 1 ? "" : "s")

enum { GG_MAX_CHECKS = 24, GG_MAX_FEATURES = 8, GG_MAX_LEVELS = 8, GG_MAX_DEVICES = 64 };

/* One check of one output of one case. It passed when value <= limit. */
typedef struct gg_check {
    char name[24];   /* "written", "nan_pattern", "rmse", "gauge_p99", "repeat", ... */
    gg_verdict verdict;
    double value, limit; /* counts are whole numbers; limit INFINITY: stated unlimited */
    char note[192];      /* where and how much when it did not pass, else "" */
} gg_check;

/* Where in an output something is: cells over its last two dimensions, all others taken
 * together, rows from the top. rows == 0: there is no map. */
enum { GG_MAP_CELLS = 32 };
typedef struct gg_map {
    int rows, columns;               /* of cells, at most GG_MAP_CELLS each */
    int64_t cell_rows, cell_columns; /* elements of a cell; fewer in the last ones */
    double value; /* what made this case's map the one that is kept: the larger, the better */
    double full;  /* what a cell of 255 stands for; 0 is nothing */
    uint8_t cells[GG_MAP_CELLS * GG_MAP_CELLS]; /* [rows][columns] */
} gg_map;

typedef struct gg_output_record {
    char name[16];
    gg_dtype dtype;
    int ndim;
    int64_t shape[GG_MAX_DIMS];
    int64_t count;            /* elements; all were compared */

    /* against the truth, over elements where truth and output are finite */
    double rmse;              /* sqrt(mean (output - truth)^2) */
    double truth_rms;
    double floor_rmse;        /* RMSE of the truth rounded to dtype: the physical limit */
    double allowance_rms;     /* rms of the allowance (reference/truth.h) */
    double gauge_max;         /* largest |error| / (allowance + half an ulp + 2^-114) */
    double gauge_p99;
    int64_t gauge_max_at;     /* flat index of gauge_max */
    double output_there, truth_there;
    int64_t unwritten;        /* elements that still hold the poison of every run */
    int64_t pattern_mismatch; /* NaN or infinity where the truth has none, or reverse */
    int64_t pattern_first;    /* flat index of the first, -1 when none */

    /* against the other runs of the same input, as bits */
    int64_t repeat_differing; /* elements that differed from the first run in any repeat */
    int64_t repeat_first;     /* flat index of the first difference, -1 when none */
    uint32_t repeat_bits[2];  /* first run's and the repeat's bits there */
    int64_t repeat_ulps;      /* largest distance in units of the last place */
    uint64_t digest;          /* tree digest of the first run's bits (harness/digest.h) */

    /* truth against MPFR */
    int certified;            /* elements compared */
    double certificate;       /* largest |FP64 - MPFR| / (allowance + half an ulp) */
    int64_t certificate_at;   /* flat index of it */
    double certified_error;   /* rms of |output - MPFR| over the same elements, in the same
                                 unit */
    char certified_elements[384]; /* their flat indices: "0,17,4096", "all"; "" in reports
                                     that have neither of these two */

    /* an evaluation in FP64 with the roundings that the kernel states (harness/rounded.h): its
       RMSE against the truth, and that of those points alone whose errors are right in size
       only; 0: not made, or exact */
    double stated_rmse, stated_rough;

    /* the same kernel with the ablated feature off, same input; NaN when not run */
    double ablated_rmse;

    /* of the run's worst case alone (gg_maps_keep_worst) */
    gg_map bits_map;          /* share of a cell's elements whose bits differed in the run
                                 that differed most; value: the share of the output's */
    gg_map error_map;         /* largest |error| / allowance of a cell; value: gauge_max */

    gg_check checks[GG_MAX_CHECKS];
    int check_count;
} gg_output_record;

/* How one output differed from the reference run. */
typedef struct gg_level_difference {
    char output[16];
    int runs;          /* that differed in this output */
    int run;           /* the first of them */
    int64_t differing; /* elements, most in one run */
    int64_t first;     /* flat index of the first, in run `run` */
    uint32_t bits[2];  /* the reference's and the run's bits there */
    int64_t ulps;      /* largest distance in units of the last place */
} gg_level_difference;

/* Equal inputs under one condition (harness/levels.h): were the bits those of the
 * reference run, which had the device to itself? */
typedef struct gg_level_record {
    char name[16];      /* "idle", "load", "placement", "process", "twin", ... */
    gg_verdict verdict;
    int runs;           /* compared, the reference included */
    int differed;       /* runs that differed from it */
    double overlap_least; /* of a load: less is not verified; NaN: no load belongs to it */
    char control[64];   /* a kernel that must differ under the same condition; "": none */
    int control_differed; /* it did: 1 */
    char note[192];     /* where it differed, or why it is not verified; else "" */
    /* time: not compared between equal runs */
    double overlap;     /* share of the runs' time during which the load was running */
    int control_runs;   /* of the control, until it differed */
    gg_level_difference differences[GG_MAX_OUTPUTS]; /* outputs that differed */
    int difference_count;
} gg_level_record;

typedef struct gg_case_record {
    int index;                /* position in the suite */
    char id[96];
    char family[32];
    uint64_t seed;
    int64_t extent[GG_MAX_SYMBOLS];
    uint64_t input_digest;    /* of all inputs, in declared order */
    int runs;                 /* kernel runs whose outputs were compared */
    gg_verdict verdict;
    char reason[256];         /* first check that did not pass, or why nothing was measured */
    gg_output_record outputs[GG_MAX_OUTPUTS];
    int output_count;
    gg_level_record levels[GG_MAX_LEVELS]; /* that were asked for and can be tried here */
    int level_count;
    /* time and place: not compared between equal runs */
    double seconds;
    char device[24];          /* that ran it, of several (gg_place.devices); "": the only one */
    int across;               /* devices whose bits were compared, this one included; 0: none */
} gg_case_record;

typedef struct gg_limit_record {
    char output[16];
    double rmse_over_floor, gauge_p99, gauge_max;
} gg_limit_record;

/* One of several devices, or of several worker processes on the host. */
typedef struct gg_device_record {
    char name[24]; /* "cuda:1", "host:1" */
    char gpu_uuid[64];
} gg_device_record;

/* Where and when: these fields may differ between equal runs; nothing else may. */
typedef struct gg_place {
    char started[32], finished[32]; /* RFC 3339, UTC */
    char host_cpu[96];
    int host_threads;
    char gpu[96];                   /* "" on the host */
    char gpu_uuid[64];
    char driver[64];                /* driver and runtime versions */
    double seconds;
    gg_device_record devices[GG_MAX_DEVICES];
    int device_count;               /* 0 when there was one */
} gg_place;

typedef struct gg_run_record {
    char version[32];         /* of gradgate */
    char commit[64];          /* git commit of the build; "+dirty" when the tree was not clean */
    char compiler[128];       /* host and device compilers with their flags' digest */
    char operator_name[32];
    char symbols[8];          /* of extents: "BRHND" */
    char kernel[64];
    char kernel_summary[160];
    uint64_t kernel_digest;   /* of the program or shared object that holds the kernel */
    char device[8];           /* "host" or "cuda" */
    char suite[64];
    uint64_t suite_digest;
    int suite_count;          /* cases in the suite; `count` of them are in this record */
    char selection[96];       /* the --case glob, "" for all */
    int shard, shards;        /* 1-based; 1 of 1 when not sharded */
    int repeats;              /* asked for */
    char promise[24];         /* "run to run" or "not guaranteed" */
    char features[160];       /* "compensation=on" */
    char ablation[32];        /* feature switched off for ablated_rmse, "" when none */
    char golden[128];         /* golden digests the bits were compared with, "" when none */
    int certify;              /* cases asked to be certified by MPFR */
    int roundings;            /* cases asked to be held to the roundings that the kernel states */
    char levels[96];          /* asked for, "idle load"; "": none */
    int level_runs;           /* of each level, asked for; 0 without levels */
    gg_limit_record limits[GG_MAX_OUTPUTS];
    int limit_count;
    char limits_note[192];
    gg_place place;
    gg_case_record *cases;    /* in suite order */
    int count;
} gg_run_record;

/* Worst verdict over the cases; not verified when there is none, or when some are
 * missing although the whole suite was asked for (no selection, one shard). */
gg_verdict gg_run_verdict(const gg_run_record *run);
/* Whether a check of that name failed in any output. */
bool gg_case_has_failed(const gg_case_record *record, const char *check);
/* Number of cases with a verdict. */
int gg_run_count(const gg_run_record *run, gg_verdict verdict);
/* Number of cases with an output that was measured against a truth at which MPFR has not
 * looked. */
int gg_run_uncertified(const gg_run_record *run);
/* Of each kind of map leaves, for each output, the one with the largest value (a NaN is
 * larger than any), in the first of equal cases. map_keep.c */
void gg_maps_keep_worst(gg_run_record *run);
/* Cells for an output of that shape; all are 0. */
gg_map gg_map_of(const gg_output_record *output);
void gg_run_free(gg_run_record *run);

#endif
