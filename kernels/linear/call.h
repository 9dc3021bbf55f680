/* SPDX-License-Identifier: Apache-2.0
 * One call of a linear kernel, unpacked from DLPack tensors and checked. Shared by the
 * CUDA kernels and the host twin; it computes nothing. */
#ifndef KERNELS_LINEAR_CALL_H
#define KERNELS_LINEAR_CALL_H

#include "kernels/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pointers are where the tensors are (device or host), byte_offset added. An output
 * that is not wanted is NULL. dy is NULL in a forward call that came without it. */
typedef struct gg_linear_call {
    int M, N, K;
    const uint16_t *x, *w, *dy; /* bf16 [M,K], [N,K], [M,N] */
    void *y, *dx, *dw;          /* [M,N], [M,K], [N,K], NULL: not wanted */
    int y_f32, dx_f32, dw_f32;  /* float, else bf16 */
    void *workspace, *stream;
    int threads;
} gg_linear_call;

/* NULL when the call can be done, else why not. Reads no element of a tensor. */
const char *gg_linear_refuse(const gg_call *call);

/* Fills `unpacked` from a call that gg_linear_refuse() lets pass. */
void gg_linear_unpack(const gg_call *call, gg_linear_call *unpacked);

/* gg_kernel.saved_bytes: 0, the inputs are all that backward needs. */
size_t gg_linear_saved_nothing(const gg_call *call);

/* gg_kernel.inputs and .outputs of every kernel of this operator. */
extern const char *const gg_linear_inputs[];
extern const char *const gg_linear_outputs[];

#ifdef __cplusplus
}
#endif
#endif
