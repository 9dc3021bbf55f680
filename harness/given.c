/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/given.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "harness/backend.h"
#include "harness/digest.h"
#include "harness/environment.h"
#include "reports/safetensors.h"

static const gg_family given = {.name = "given", .summary = "inputs from a file"};

/* Nothing in the file may go unnoticed, such as a misspelt optional tensor. */
static gg_status check_names(const gg_operator *op, const gg_safetensors *file, const char *path)
{
    for (int i = 0; i < file->count; i++) {
        const char *name = file->tensors[i].name;
        if (gg_tensor_find(op->inputs, name) < 0 && gg_tensor_find(op->outputs, name) < 0)
            return gg_fail(GG_BAD_INPUT, "%s: operator %s has no tensor '%s': see 'gradgate list "
                           "operators'", path, op->name, name);
    }
    return GG_OK;
}

static gg_status check_type(const gg_operator *op, const gg_tensor_decl *decl,
                            const gg_safetensor *t, const char *path)
{
    char allowed[64] = "";
    size_t used = 0;
    for (int d = 0; d < GG_DTYPES; d++) {
        if (!(decl->dtypes >> d & 1u)) continue;
        if ((int)t->tensor.dtype == d) return GG_OK;
        used += (size_t)snprintf(allowed + used, sizeof allowed - used, "%s%s",
                                 used ? " or " : "", gg_safetensors_type((gg_dtype)d));
    }
    return gg_fail(GG_BAD_INPUT, "%s: %s is %s, operator %s takes %s: convert it, nothing is "
                   "converted here", path, decl->name, t->type, op->name, allowed);
}

/* Takes each extent from the first tensor that has it, and holds the others to it. */
static gg_status check_shape(const gg_operator *op, const gg_tensor_decl *decl,
                             const gg_safetensor *t, const char *path, int64_t *extent)
{
    int wanted = (int)strlen(decl->shape);
    if (t->tensor.ndim != wanted)
        return gg_fail(GG_BAD_INPUT, "%s: %s has %d dimensions, operator %s asks for %d: %s",
                       path, decl->name, t->tensor.ndim, op->name, wanted, decl->shape);
    for (int i = 0; i < wanted; i++) {
        int64_t *known = &extent[strchr(op->symbols, decl->shape[i]) - op->symbols];
        int64_t value = t->tensor.shape[i];
        if (value > GG_MAX_EXTENT)
            return gg_fail(GG_BAD_INPUT, "%s: %s has an extent of %" PRId64 ", more than %" PRId64,
                           path, decl->name, value, (int64_t)GG_MAX_EXTENT);
        if (*known == 0) *known = value;
        if (*known == value) continue;
        return gg_fail(GG_BAD_INPUT, "%s: %s has %c = %" PRId64 ", another tensor has %" PRId64,
                       path, decl->name, decl->shape[i], value, *known);
    }
    return GG_OK;
}

static gg_status describe(const gg_operator *op, const gg_safetensors *file, gg_case *what)
{
    const char *path = what->source;
    what->present = 0;
    memset(what->extent, 0, sizeof what->extent);
    GG_TRY(check_names(op, file, path));
    for (int i = 0; op->inputs[i].name != NULL; i++) {
        const gg_tensor_decl *decl = &op->inputs[i];
        const gg_safetensor *t = gg_safetensors_find(file, decl->name);
        what->input_dtype[i] = decl->dtype;
        if (t == NULL && decl->role == GG_ROLE_OPTIONAL) continue;
        if (t == NULL)
            return gg_fail(GG_BAD_INPUT, "%s: there is no tensor '%s', which operator %s needs",
                           path, decl->name, op->name);
        GG_TRY(check_type(op, decl, t, path));
        GG_TRY(check_shape(op, decl, t, path, what->extent));
        what->input_dtype[i] = t->tensor.dtype;
        what->present |= 1u << i;
    }
    return GG_OK;
}

gg_status gg_given_describe(const gg_operator *op, gg_case *what)
{
    gg_safetensors file;
    GG_TRY(gg_safetensors_read(what->source, &file));
    gg_status status = describe(op, &file, what);
    gg_safetensors_free(&file);
    return status;
}

/* Copies, because data in a file may lie at any address. */
static gg_status take(const gg_operator *op, const gg_safetensors *file, const gg_case *what,
                      gg_problem *host)
{
    gg_case again = *what;
    GG_TRY(describe(op, file, &again));
    if (memcmp(again.extent, what->extent, sizeof again.extent) != 0 ||
        again.present != what->present)
        return gg_fail(GG_BAD_INPUT, "%s: changed while it was used", what->source);
    for (int i = 0; op->inputs[i].name != NULL; i++) {
        const gg_safetensor *t = gg_safetensors_find(file, op->inputs[i].name);
        if (t == NULL) continue;
        host->input[i] = t->tensor;
        host->input[i].data = malloc(t->bytes);
        if (host->input[i].data == NULL)
            return gg_fail(GG_NO_MEMORY, "no memory for the inputs of %s", what->source);
        memcpy(host->input[i].data, t->tensor.data, t->bytes);
    }
    memcpy(host->extent, what->extent, sizeof host->extent);
    return GG_OK;
}

gg_status gg_given_read(const gg_operator *op, const gg_case *what, gg_problem *host)
{
    gg_safetensors file;
    *host = (gg_problem){.extent = {0}};
    GG_TRY(gg_safetensors_read(what->source, &file));
    gg_status status = take(op, &file, what, host);
    gg_safetensors_free(&file);
    return status;
}

gg_status gg_given_digest(const gg_operator *op, const gg_problem *host, int threads,
                          uint64_t *digest)
{
    uint64_t each[GG_MAX_INPUTS] = {0};
    int inputs = gg_tensor_decls(op->inputs);
    for (int i = 0; i < inputs; i++) {
        const gg_tensor *t = &host->input[i];
        if (t->data != NULL)
            GG_TRY(gg_digest_host(t->data, gg_tensor_bytes(t), threads, &each[i]));
    }
    *digest = XXH64(each, sizeof each[0] * (size_t)inputs, 0);
    return GG_OK;
}

/* The reference refuses what no problem is, such as a length beyond the keys; one point
 * makes it look. */
static gg_status try_values(const gg_operator *op, const gg_case *what)
{
    gg_problem host;
    gg_point point = {.output = 0, .element = 0};
    gg_status status = gg_given_read(op, what, &host);
    if (status == GG_OK) {
        status = op->reference.exact(&host, &point, 1, 1);
        if (status == GG_BAD_INPUT) {
            char text[256];
            snprintf(text, sizeof text, "%s", gg_message());
            gg_fail(status, "%s: %s", what->source, text);
        }
    }
    gg_problem_release(&host);
    return status;
}

/* "layer3" of "dumps/layer3.safetensors", with nothing that a shell would take apart. */
static gg_status name_case(gg_case *what)
{
    const char *slash = strrchr(what->source, '/'), *base = slash ? slash + 1 : what->source;
    const char *end = strstr(base, ".safetensors");
    size_t length = end != NULL ? (size_t)(end - base) : strlen(base);
    if (length == 0 || length >= sizeof what->id)
        return gg_fail(GG_BAD_INPUT, "%s: its name is too long or too short for a case",
                       what->source);
    for (size_t i = 0; i < length; i++)
        what->id[i] = isalnum((unsigned char)base[i]) || strchr("_.-+", base[i]) ? base[i] : '_';
    return GG_OK;
}

static gg_status add_case(const gg_operator *op, const char *path, gg_suite *suite,
                          uint64_t *digest)
{
    gg_case *what = &suite->cases[suite->count++];
    what->family = &given;
    what->source = strdup(path);
    if (what->source == NULL) return gg_fail(GG_NO_MEMORY, "no memory for a case");
    for (int o = 0; op->outputs[o].name != NULL; o++)
        what->output_dtype[o] = op->outputs[o].dtype;
    GG_TRY(name_case(what));
    for (int i = 0; i + 1 < suite->count; i++)
        if (strcmp(suite->cases[i].id, what->id) == 0)
            return gg_fail(GG_BAD_INPUT, "%s and %s would be one case: give them other names",
                           suite->cases[i].source, path);
    GG_TRY(gg_given_describe(op, what));
    GG_TRY(try_values(op, what));
    return gg_file_digest(path, digest);
}

gg_status gg_given_suite(const gg_operator *op, const char *const *paths, int count,
                         gg_suite *suite)
{
    *suite = (gg_suite){.op = op, .cases = calloc((size_t)count, sizeof *suite->cases)};
    uint64_t *digests = calloc((size_t)count, sizeof *digests);
    gg_status status = suite->cases != NULL && digests != NULL
                           ? GG_OK : gg_fail(GG_NO_MEMORY, "no memory for %d cases", count);
    snprintf(suite->name, sizeof suite->name, "inputs");
    snprintf(suite->summary, sizeof suite->summary, "inputs from files");
    for (int i = 0; i < count && status == GG_OK; i++)
        status = add_case(op, paths[i], suite, &digests[i]);
    if (status == GG_OK) suite->digest = XXH3_64bits(digests, (size_t)count * sizeof *digests);
    free(digests);
    return status;
}
