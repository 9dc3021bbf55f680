/* SPDX-License-Identifier: Apache-2.0
 * Inputs from a counter: element `index` of tensor `tensor` of case `seed` is a function
 * of those three numbers alone, by operations that are exact or correctly rounded on
 * every machine, so host and GPU make the same bits wherever they are used. */
#ifndef CASES_DRAW_H
#define CASES_DRAW_H

#include "reference/truth.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gg_law {
    GG_LAW_NORMAL = 0, /* mean + scale * standard normal */
    GG_LAW_HEAVY,      /* mean + scale * Student's t with 3 degrees of freedom, scaled to
                          unit variance */
    GG_LAW_CONSTANT,   /* mean */
    GG_LAW_OUTPUT,     /* scale * the true value of forward output `output` at the same
                          index: the gradient of a mean of squares is scale = 2 / count
                          (scale 0 stands for exactly that) */
    GG_LAW_HOST        /* the family's `host` function fills the tensor */
} gg_law;

typedef struct gg_draw {
    gg_law law;
    double scale, mean;
    int output; /* GG_LAW_OUTPUT */
} gg_draw;

typedef struct gg_family {
    const char *name;
    const char *summary;
    gg_draw draw[GG_MAX_INPUTS]; /* by input */
    unsigned optional;           /* bit set of inputs (role optional) that are present */
    /* Fills input `input` (host memory, dtype and shape set) for GG_LAW_HOST. */
    gg_status (*host)(const gg_problem *problem, int input, uint64_t seed, gg_tensor *out);
    /* Probes: the closed-form values of an output, known without the reference; the truth
     * must agree to 1e-12 of the largest. Reads problem's inputs, which must be in host
     * memory. *exact: the kernel must hit each value exactly (once rounded to the
     * output's type). NULL: no closed form. */
    gg_status (*answer)(const gg_problem *problem, int output, double *values,
                        bool *exact);
} gg_family;

/* Fills `out` (bf16 or f32, host memory; for the CUDA one device memory) by law NORMAL,
 * HEAVY or CONSTANT. One rounding: binary64 to the tensor's type. */
gg_status gg_draw_host(const gg_draw *draw, uint64_t seed, int tensor, gg_tensor *out,
                       int threads);
gg_status gg_draw_cuda(const gg_draw *draw, uint64_t seed, int tensor, gg_tensor *out,
                       void *stream);

/* GG_LAW_OUTPUT: out = round(scale * truth), element by element. */
gg_status gg_draw_output_host(double scale, const double *truth, gg_tensor *out,
                              int threads);
gg_status gg_draw_output_cuda(double scale, const double *truth, gg_tensor *out,
                              void *stream);

#ifdef __cplusplus
}
#endif
#endif
