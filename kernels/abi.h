/* SPDX-License-Identifier: Apache-2.0
 * What a kernel on trial is. This header and DLPack's are all that a kernel needs.
 *
 * A kernel is one `gg_kernel` struct, listed in kernels/registry.c or brought by a shared
 * object (GG_PLUGIN below, then `--kernel ./mine.so`). It works on DLPack tensors and never
 * allocates: the caller brings outputs, saved tensors and workspace, all filled with
 * poison, so a byte that was not written shows, and all between guard bands, so a byte
 * written outside shows too. `gradgate list operators` has the tensors of each operator. */
#ifndef KERNELS_ABI_H
#define KERNELS_ABI_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GG_ABI_VERSION 1u

/* One call, forward or backward. Tensors stand in the order of the kernel's `inputs` and
 * `outputs` names. They are dense and row-major (strides == NULL or equal to it).
 * NULL among inputs: an absent optional tensor. NULL among outputs: not wanted.
 * For supports(), saved_bytes() and workspace_bytes() the data pointers may be NULL. */
typedef struct gg_call {
    const DLTensor *const *inputs;
    DLTensor *const *outputs;
    uint64_t features;  /* bit i set: features[i] of the kernel is on */
    void *saved;        /* written by forward, read by backward; saved_bytes() */
    void *workspace;    /* scratch, poisoned before each call; workspace_bytes() */
    void *stream;       /* cudaStream_t; unused by a host kernel */
    int threads;        /* host kernels: threads to use, >= 1 */
} gg_call;

/* A switch for ablation, e.g. "compensation". */
typedef struct gg_feature {
    const char *name;
    const char *summary; /* one line for `gradgate list kernels` */
    int on;              /* default */
} gg_feature;

/* What equal inputs promise (names as CUB and Warp use them). */
typedef enum gg_repeat { GG_REPEAT_NOT_GUARANTEED = 0, GG_REPEAT_RUN_TO_RUN } gg_repeat;

/* The kernel's own limits for one output; the harness fails what exceeds them.
 * INFINITY means: stated to be unlimited. NAN, no limits at all, or INFINITY for all that
 * are judged: not stated, so that check is "not verified". So it is where all that are judged
 * are beyond what an 8-bit float needs: a gauge above 32, rmse above 32 (FP32: 32 x 128) where
 * zeros would pass too. Loosening one needs a reason (limits_note). */
typedef struct gg_limits {
    double rmse_over_floor; /* BF16: RMSE / RMSE of the truth rounded to BF16 */
    double gauge_p99;       /* 99th percentile of |error| / (allowance + half an ulp) */
    double gauge_max;       /* largest of the same */
    double rmse_f32;        /* FP32: RMSE / (rms of the allowance / 128), for the floor
                               of FP32 lies far below what BF16 operands allow */
} gg_limits;

/* A place where the kernel rounds, by its name in the operator's table (`gradgate budget`
 * asks which share of the error comes from it). */
typedef struct gg_rounding {
    const char *point;   /* "ds" */
    const char *feature; /* the point is there only while this feature ... */
    int on;              /* ... is on (1) or off (0); NULL: always there */
} gg_rounding;

typedef struct gg_kernel {
    uint32_t abi_version;         /* GG_ABI_VERSION */
    uint32_t struct_bytes;        /* sizeof(gg_kernel) */
    const char *name;             /* "turbo" */
    const char *operator_name;    /* "triangle_attention" */
    const char *summary;          /* one line */
    DLDeviceType device;          /* kDLCUDA, or kDLCPU for a host twin */
    gg_repeat repeat;
    const char *const *inputs;    /* tensor names in call order, NULL-terminated */
    const char *const *outputs;
    const gg_feature *features;   /* ended by name == NULL; NULL: none */
    const gg_limits *limits;      /* one per output, in output order; NULL: not stated */
    const char *limits_note;      /* where the limits come from; NULL without limits */

    /* In a shared object the next three may be left out: everything is accepted, nothing
     * is saved, no workspace is needed.
     * NULL when the call can be done, else why not, in one line. Looks at shapes, types
     * and features only, before anything is allocated. */
    const char *(*supports)(const gg_call *call);
    size_t (*saved_bytes)(const gg_call *call);
    size_t (*workspace_bytes)(const gg_call *call);
    /* 0, or a cudaError_t (GPU) / errno (host) of what failed. Forward writes the first
     * `forward_outputs` outputs and `saved`; backward the others. Work is queued on the
     * stream; the caller waits. Inputs are read only. Calls whose outputs, saved tensors and
     * workspace are disjoint may be under way at the same time, on different streams or
     * host threads: whatever a kernel keeps elsewhere must not let them meet. */
    int (*forward)(const gg_call *call);
    int (*backward)(const gg_call *call);
    int forward_outputs;
    const gg_rounding *roundings; /* ended by point == NULL; NULL: not stated */
} gg_kernel;

/* The one symbol that a shared object exports: its kernels, ended by NULL. Refused, with
 * exit code 3: another abi_version or struct_bytes, an operator that is not known, tensor
 * names other than the operator's, a missing function. Example: scripts/examples/plugin. */
#define GG_PLUGIN_ENTRY "gg_plugin"
typedef const gg_kernel *const *gg_plugin_entry(void);

/* GG_PLUGIN(&mine, &other); at file scope defines it. */
#ifdef __cplusplus
#define GG_PLUGIN_LINKAGE extern "C"
#else
#define GG_PLUGIN_LINKAGE
#endif
#define GG_PLUGIN(...)                                                              \
    GG_PLUGIN_LINKAGE __attribute__((visibility("default")))                       \
    const gg_kernel *const *gg_plugin(void);                                        \
    GG_PLUGIN_LINKAGE const gg_kernel *const *gg_plugin(void)                       \
    {                                                                               \
        static const gg_kernel *const list[] = {__VA_ARGS__, NULL};                 \
        return list;                                                                \
    }                                                                               \
    typedef int gg_plugin_is_defined /* takes the semicolon */

#ifdef __cplusplus
}
#endif
#endif
