/* SPDX-License-Identifier: Apache-2.0
 * Draws on host threads. Work is cut into pieces at fixed places and each element is a
 * function of its index, so the number of threads cannot change a bit. The loops below
 * only arrange draw_core.h so that it vectorises. */
#include "cases/draw.h"

#include "cases/draw_core.h"
#include "reference/parallel.h"

enum { BLOCK = 256, BLOCKS_PER_PIECE = 256, PIECE = BLOCK * BLOCKS_PER_PIECE };

/* fma is a library call on a plain x86-64; compiled again for wider machines it is one
 * instruction (75 million normals: 0.35 s on one core with AVX-512, 3.3 s without). The
 * result is the same. Sanitizers and run-time dispatch do not mix. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                 \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE                                                                           \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"),       \
                   optimize("O3"), flatten))
#else
#define WIDE
#endif

typedef struct job {
    const gg_draw *draw;
    const double *truth; /* GG_LAW_OUTPUT: the forward output, as many as out has */
    double scale;        /* GG_LAW_OUTPUT */
    uint64_t seed;
    int tensor;
    gg_tensor *out;
    int64_t count;
} job;

WIDE static void normal_block(uint64_t seed, uint32_t tensor, uint64_t first, double *z)
{
    uint32_t word[BLOCK];
    for (int i = 0; i < BLOCK / 4; i++) {
        gg_philox block = gg_philox_block(seed, first / 4 + (uint64_t)i, tensor,
                                          GG_STREAM_NORMAL);
        word[4 * i] = block.word[0];
        word[4 * i + 1] = block.word[1];
        word[4 * i + 2] = block.word[2];
        word[4 * i + 3] = block.word[3];
    }
    for (int i = 0; i < BLOCK; i++) z[i] = gg_normal(word[i]);
}

WIDE static void heavy_block(uint64_t seed, uint32_t tensor, uint64_t first, double *z)
{
    uint32_t w0[BLOCK], w1[BLOCK], w2[BLOCK], w3[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        gg_philox block = gg_philox_block(seed, first + (uint64_t)i, tensor,
                                          GG_STREAM_HEAVY);
        w0[i] = block.word[0];
        w1[i] = block.word[1];
        w2[i] = block.word[2];
        w3[i] = block.word[3];
    }
    for (int i = 0; i < BLOCK; i++) z[i] = gg_heavy(w0[i], w1[i], w2[i], w3[i]);
}

WIDE static void scale_block(const gg_draw *draw, double *z)
{
    for (int i = 0; i < BLOCK; i++) z[i] = gg_draw_scaled(draw, z[i]);
}

WIDE static void store_bf16(const double *value, uint16_t *out, int64_t count)
{
    for (int64_t i = 0; i < count; i++) out[i] = gg_bf16_round(value[i]);
}

WIDE static void store_f32(const double *value, float *out, int64_t count)
{
    for (int64_t i = 0; i < count; i++) out[i] = (float)value[i];
}

static void store(const double *value, gg_tensor *out, int64_t first, int64_t count)
{
    if (out->dtype == GG_BF16)
        store_bf16(value, (uint16_t *)out->data + first, count);
    else
        store_f32(value, (float *)out->data + first, count);
}

static void values_of(const job *j, int64_t first, int64_t count, double *value)
{
    if (j->truth != NULL) {
        for (int64_t i = 0; i < count; i++) value[i] = j->scale * j->truth[first + i];
        return;
    }
    if (j->draw->law == GG_LAW_CONSTANT) {
        for (int64_t i = 0; i < count; i++) value[i] = j->draw->mean;
        return;
    }
    if (j->draw->law == GG_LAW_NORMAL)
        normal_block(j->seed, (uint32_t)j->tensor, (uint64_t)first, value);
    else
        heavy_block(j->seed, (uint32_t)j->tensor, (uint64_t)first, value);
    scale_block(j->draw, value);
}

static void piece(void *context, int64_t index, int worker)
{
    const job *j = context;
    (void)worker;
    double value[BLOCK];
    int64_t end = (index + 1) * PIECE < j->count ? (index + 1) * PIECE : j->count;
    for (int64_t first = index * PIECE; first < end; first += BLOCK) {
        int64_t count = end - first < BLOCK ? end - first : BLOCK;
        values_of(j, first, count, value);
        store(value, j->out, first, count);
    }
}

static gg_status check_type(const gg_tensor *out)
{
    if (out->dtype == GG_BF16 || out->dtype == GG_F32) return GG_OK;
    return gg_fail(GG_INTERNAL, "drawing %s elements is not possible; use bf16 or f32",
                   gg_dtype_name(out->dtype));
}

gg_status gg_draw_host(const gg_draw *draw, uint64_t seed, int tensor, gg_tensor *out,
                       int threads)
{
    GG_TRY(check_type(out));
    if (draw->law > GG_LAW_CONSTANT)
        return gg_fail(GG_INTERNAL, "law %d is not drawn from a counter",
                       (int)draw->law);
    job j = {.draw = draw,
             .seed = seed,
             .tensor = tensor,
             .out = out,
             .count = gg_tensor_count(out)};
    gg_parallel((j.count + PIECE - 1) / PIECE, threads, piece, &j);
    return GG_OK;
}

gg_status gg_draw_output_host(double scale, const double *truth, gg_tensor *out,
                              int threads)
{
    GG_TRY(check_type(out));
    job j = {.truth = truth, .scale = scale, .out = out, .count = gg_tensor_count(out)};
    if (j.scale == 0 && j.count > 0) j.scale = 2.0 / (double)j.count;
    gg_parallel((j.count + PIECE - 1) / PIECE, threads, piece, &j);
    return GG_OK;
}
