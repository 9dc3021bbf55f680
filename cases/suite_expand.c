/* SPDX-License-Identifier: Apache-2.0
 * From a checked group to its cases: families outermost, then extents in the operator's
 * order (the last symbol fastest), then seeds. */
#include <stdarg.h>
#include <stdio.h>

#include "cases/suite_parse.h"

int gg_suite_symbols(const gg_operator *op) { return (int)strlen(op->symbols); }

int gg_suite_symbol(const gg_operator *op, const char *name)
{
    const char *found = name[0] != '\0' && name[1] == '\0'
                            ? strchr(op->symbols, name[0])
                            : NULL;
    return found == NULL ? -1 : (int)(found - op->symbols);
}

/* The current choice of each symbol: an item of its list, or the number itself. */
typedef struct odometer {
    const cJSON *item[GG_MAX_SYMBOLS];
} odometer;

static const cJSON *first_item(const cJSON *json)
{
    return cJSON_IsArray(json) ? json->child : json;
}

/* Steps to the next combination; false after the last. */
static bool step(odometer *o, const gg_suite_group *g, int symbols)
{
    for (int s = symbols - 1; s >= 0; s--) {
        if (g->tied[s] >= 0 || !cJSON_IsArray(g->extent[s])) continue;
        o->item[s] = o->item[s]->next;
        if (o->item[s] != NULL) return true;
        o->item[s] = g->extent[s]->child;
    }
    return false;
}

static gg_status check_tensors(const gg_suite_reader *r, const char *place,
                               const gg_tensor_decl *decls, const int64_t *extent)
{
    for (; decls->name != NULL; decls++) {
        gg_tensor t = gg_tensor_make(r->op, decls, extent, GG_U8);
        int64_t count = 1;
        for (int i = 0; i < t.ndim; i++) {
            if (t.shape[i] > GG_MAX_ELEMENTS / count)
                return gg_suite_refuse(
                    r, place,
                    "%s would have more than %lld elements; lower the "
                    "extents",
                    decls->name, (long long)GG_MAX_ELEMENTS);
            count *= t.shape[i];
        }
    }
    return GG_OK;
}

/* Appends to the id; false once it does not fit. */
__attribute__((format(printf, 3, 4))) static bool append(gg_case *c, size_t *used,
                                                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(c->id + *used, sizeof c->id - *used, format, args);
    va_end(args);
    if (length < 0 || *used + (size_t)length >= sizeof c->id) return false;
    *used += (size_t)length;
    return true;
}

/* family, shown extents, types other than the operator's own, seed. */
static bool make_id(const gg_suite_reader *r, const gg_suite_group *g, gg_case *c)
{
    const gg_operator *op = r->op;
    size_t used = 0;
    bool fits = append(c, &used, "%s", c->family->name);
    for (int s = 0; s < gg_suite_symbols(op); s++)
        if (r->shown_given ? r->shown[s] : g->tied[s] < 0)
            fits = fits &&
                   append(c, &used, "-%c%lld", op->symbols[s], (long long)c->extent[s]);
    for (int i = 0; op->inputs[i].name != NULL; i++)
        if (c->input_dtype[i] != op->inputs[i].dtype)
            fits = fits && append(c, &used, "-%s_%s", op->inputs[i].name,
                                  gg_dtype_name(c->input_dtype[i]));
    for (int i = 0; op->outputs[i].name != NULL; i++)
        if (c->output_dtype[i] != op->outputs[i].dtype)
            fits = fits && append(c, &used, "-%s_%s", op->outputs[i].name,
                                  gg_dtype_name(c->output_dtype[i]));
    return fits && append(c, &used, "-s%03llu", (unsigned long long)c->seed);
}

static gg_status add_seeds(const gg_suite_reader *r, const gg_suite_group *g,
                           const gg_case *pattern, const char *place, gg_suite *suite)
{
    for (int64_t i = 0; i < g->seeds; i++) {
        gg_case *c = &suite->cases[suite->count];
        *c = *pattern;
        c->seed = g->first_seed + (uint64_t)i;
        if (!make_id(r, g, c))
            return gg_suite_refuse(
                r, place,
                "case id %.40s... is longer than %d characters; name "
                "fewer extents in id",
                c->id, (int)sizeof c->id - 1);
        suite->count++;
    }
    return GG_OK;
}

gg_status gg_suite_expand(const gg_suite_reader *r, const gg_suite_group *g, int index,
                          gg_suite *suite)
{
    const int symbols = gg_suite_symbols(r->op);
    char place[32];
    snprintf(place, sizeof place, "cases[%d]", index);
    gg_case pattern = {0};
    memcpy(pattern.input_dtype, g->input_dtype, sizeof pattern.input_dtype);
    memcpy(pattern.output_dtype, g->output_dtype, sizeof pattern.output_dtype);
    for (const cJSON *f = g->families->child; f != NULL; f = f->next) {
        odometer o = {{NULL}};
        pattern.family = gg_family_find(r->op, f->valuestring);
        for (int s = 0; s < symbols; s++)
            if (g->tied[s] < 0) o.item[s] = first_item(g->extent[s]);
        do {
            for (int s = 0; s < symbols; s++) {
                int source = g->tied[s] < 0 ? s : g->tied[s];
                pattern.extent[s] = (int64_t)o.item[source]->valuedouble;
            }
            GG_TRY(check_tensors(r, place, r->op->inputs, pattern.extent));
            GG_TRY(check_tensors(r, place, r->op->outputs, pattern.extent));
            GG_TRY(add_seeds(r, g, &pattern, place, suite));
        } while (step(&o, g, symbols));
    }
    return GG_OK;
}
