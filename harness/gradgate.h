/* SPDX-License-Identifier: Apache-2.0
 * libgradgate: judging a kernel from a program of one's own. Installed as
 * <gradgate/gradgate.h>; compile with $(pkg-config --cflags --libs gradgate).
 *
 *     gg_evidence *evidence;
 *     gg_settings settings = {.bytes = sizeof settings, .suite = "mine.json"};
 *     int code = gg_judge_kernel(&mine, &settings, &evidence);
 *     if (evidence == NULL) fprintf(stderr, "%s\n", gg_error());
 *     else gg_evidence_print(evidence, stdout);
 *     gg_evidence_free(evidence);
 *     return code;
 *
 * A kernel is a gg_kernel (gradgate/abi.h), with its tensors, shapes and units there.
 * Every call that returns int returns an exit code of the program: GG_EXIT_PASSED means
 * that it did what it says, and where it judges, that the verdict is passed. The library
 * never ends the process, writes only to the files that it is given, and keeps nothing
 * between calls but the message of gg_error(). One call at a time: it is not reentrant. The
 * kernel runs in this process; one that crashes takes the process with it.
 *
 * Stable within a major version of the library: struct fields and functions may be added
 * at the end, `bytes` says which a program knows. Only what this header declares is
 * exported. */
#ifndef HARNESS_GRADGATE_H
#define HARNESS_GRADGATE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Marks what the shared library exports; the list of its symbols is made from it. */
#define GG_API extern

enum {
    GG_EXIT_PASSED = 0,
    GG_EXIT_FAILED = 1,
    GG_EXIT_NOT_VERIFIED = 2, /* no device or memory, or not enough was measured */
    GG_EXIT_USAGE = 3         /* bad argument, suite, kernel or file */
};

/* What a kernel is tried on. Zero means: the default. */
typedef struct gg_settings {
    size_t bytes;       /* sizeof(gg_settings) */
    const char *suite;  /* name ('gradgate list suites') or path of a suite file; needed */
    const char *device; /* "host", "cuda", "cuda:1"; NULL: host or cuda, as the kernel says */
    const char *cases;  /* shell pattern of case ids; NULL: all */
    const char *ablate; /* feature for the paired ablation; NULL: the first; "none" */
    const char *golden; /* golden file that the bits must equal; NULL: none */
    int repeats;        /* runs on the same input, 1 ... 1000000; 0: 5 */
    int certify;        /* cases whose truth MPFR certifies; 0: all; negative: none */
    int threads;        /* host threads, 1 ... 256; 0: all */
} gg_settings;

/* What a run or a report holds. */
typedef struct gg_evidence gg_evidence;

/* Runs the kernel on the suite and judges it, as 'gradgate run' does. *evidence is the
 * outcome, or NULL when nothing could be measured (gg_error() says why). */
GG_API int gg_judge_kernel(const gg_kernel *kernel, const gg_settings *settings,
                           gg_evidence **evidence);
/* Reads a stored report, plain or gzip; returns its verdict. *evidence as above. */
GG_API int gg_evidence_read(const char *path, gg_evidence **evidence);
/* NULL is allowed. */
GG_API void gg_evidence_free(gg_evidence *evidence);

GG_API int gg_evidence_verdict(const gg_evidence *evidence);
/* Writes a report: as "json", which gradgate reads again, "junit", "html" or "markdown".
 * The file is there whole or not at all. */
GG_API int gg_evidence_write(const gg_evidence *evidence, const char *form, const char *path);
/* The table of 'gradgate run'. */
GG_API int gg_evidence_print(const gg_evidence *evidence, FILE *out);
/* Judges the evidence against a baseline, as 'gradgate gate' does, and prints the rules to
 * `out` (NULL: nowhere). `exact` not 0: a changed bit fails. */
GG_API int gg_evidence_gate(const gg_evidence *evidence, const gg_evidence *baseline, int exact,
                            FILE *out);

/* One case. Texts live as long as the evidence. */
typedef struct gg_case_result {
    size_t bytes;       /* set by the caller to sizeof(gg_case_result) */
    const char *id;     /* "normal-M1-N3-K15-s000" */
    const char *family;
    const char *reason; /* "" when it passed: the first check that did not, or why nothing
                           was measured */
    int verdict;        /* as an exit code */
    int runs;           /* runs of the kernel whose outputs were compared */
    int outputs;        /* with a gg_output_result each; 0 when nothing was measured */
    double seconds;
} gg_case_result;

/* One output of one case. Errors are in the unit of the output, which is that of the
 * operator's definition, over all elements where truth and output are finite. */
typedef struct gg_output_result {
    size_t bytes;       /* set by the caller to sizeof(gg_output_result) */
    const char *name;   /* "dx" */
    int64_t count;      /* elements; all are compared */
    double rmse;        /* sqrt(mean (output - truth)^2); the truth is FP64 */
    double floor_rmse;  /* the same for the truth rounded to the output's type */
    double truth_rms;
    double gauge_p99;   /* |error| over what rounding allows: 99th percentile */
    double gauge_max;   /* and largest */
    int64_t gauge_max_at;     /* flat index of the largest; -1: none */
    int64_t pattern_mismatch; /* NaN or infinity where the truth has none, or reverse */
    int64_t unwritten;        /* elements that no run wrote */
    int64_t repeat_differing; /* elements whose bits changed between equal runs */
    double ablated_rmse;      /* rmse with the ablated feature off; NaN: not run */
    uint64_t digest;          /* of the bits of the first run */
} gg_output_result;

/* Number of cases, in suite order. */
GG_API int gg_evidence_cases(const gg_evidence *evidence);
GG_API int gg_evidence_case(const gg_evidence *evidence, int index, gg_case_result *result);
GG_API int gg_evidence_output(const gg_evidence *evidence, int index, int output,
                              gg_output_result *result);

/* One line on the latest call of this thread that returned GG_EXIT_USAGE, or
 * GG_EXIT_NOT_VERIFIED without evidence: what, where, what to do. "" before any. */
GG_API const char *gg_error(void);
/* "0.1.0 (commit)" */
GG_API const char *gg_version(void);

#ifdef __cplusplus
}
#endif
#endif
