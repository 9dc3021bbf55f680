/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer: a safetensors file. Every byte of an accepted tensor is read.
 * plant: reports/safetensors.c s/length > size - 8/length > size + 8/ */
#include "reports/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gg_safetensors file;
    __attribute__((unused)) static volatile unsigned sum;
    gg_status status = gg_safetensors_parse("fuzz", data, size, &file);
    if (status != GG_OK && file.tensors != NULL) __builtin_trap();
    for (int i = 0; i < file.count; i++) {
        const gg_safetensor *t = &file.tensors[i];
        const uint8_t *byte = t->tensor.data;
        if (t->tensor.dtype != GG_DTYPES && gg_tensor_bytes(&t->tensor) != t->bytes)
            __builtin_trap();
        for (size_t k = 0; k < t->bytes; k++) sum += byte[k];
    }
    if (status == GG_OK) gg_safetensors_free(&file);
    return 0;
}
