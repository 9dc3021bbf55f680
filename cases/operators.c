/* SPDX-License-Identifier: Apache-2.0
 * All operators. A new one is a line here and a file of its own. */
#include "cases/operator.h"

extern const gg_operator gg_triangle_attention; /* triangle_attention.c */
extern const gg_operator gg_linear;             /* linear.c */

const gg_operator *const gg_operators[] = {&gg_triangle_attention, &gg_linear, NULL};

const gg_operator *gg_operator_find(const char *name)
{
    for (int i = 0; gg_operators[i] != NULL; i++)
        if (strcmp(gg_operators[i]->name, name) == 0) return gg_operators[i];
    return NULL;
}

const gg_family *gg_family_find(const gg_operator *op, const char *name)
{
    for (const gg_family *f = op->families; f->name != NULL; f++)
        if (strcmp(f->name, name) == 0) return f;
    return NULL;
}

int gg_tensor_find(const gg_tensor_decl *decls, const char *name)
{
    for (int i = 0; decls[i].name != NULL; i++)
        if (strcmp(decls[i].name, name) == 0) return i;
    return -1;
}

int gg_tensor_decls(const gg_tensor_decl *decls)
{
    int count = 0;
    while (decls[count].name != NULL) count++;
    return count;
}

gg_tensor gg_tensor_make(const gg_operator *op, const gg_tensor_decl *decl,
                         const int64_t *extent, gg_dtype dtype)
{
    gg_tensor tensor = {.dtype = dtype};
    for (const char *s = decl->shape; *s != '\0'; s++)
        tensor.shape[tensor.ndim++] = extent[strchr(op->symbols, *s) - op->symbols];
    return tensor;
}
