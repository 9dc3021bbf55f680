/* SPDX-License-Identifier: Apache-2.0
 * The two directions of `twopass` and `split` as the ABI asks for them: what they decline,
 * the workspace, the order of the stages. It computes nothing itself. */
#include "kernels/triangle_attention/twopass.cuh"

/* Lays out what forward makes and backward reads too: the first of the saved tensors, where it
 * does not depend on features. */
static size_t lay_out_kept(const gg_ta_call &u, void *base, TwopassSpace &space)
{
    const TwopassTiles t = twopass_tiles(u);
    const size_t block = 64 * 64 * sizeof(float);
    const bool masked = u.keys != GG_TA_KEYS_ALL;
    const size_t bias_rows = times(bias_planes_of(u), (size_t)t.even);
    Cutter cut = {static_cast<char *>(base), 0};
    cut.take(space.bias, times(times(bias_rows, (size_t)t.keys), block));
    cut.take(space.bias_turned, times(times(bias_rows, (size_t)t.tiles), block));
    cut.take(space.words, masked ? times((size_t)u.B * u.R * word_stride(t.tiles), 8) : 0);
    cut.take(space.order, masked ? (size_t)u.B * u.R * sizeof(int) : 0);
    return cut.used;
}

/* Lays out the workspace. */
static size_t lay_out_scratch(const gg_ta_call &u, bool backward, void *base,
                              TwopassSpace &space)
{
    const TwopassTiles t = twopass_tiles(u);
    const size_t block = 64 * 64 * sizeof(float);
    const bool masked = u.keys != GG_TA_KEYS_ALL;
    const size_t planes = planes_of(u), copies = masked ? times(elements_of(u), 2) : 0;
    Cutter cut = {static_cast<char *>(base), 0};
    cut.take(space.k, copies);
    cut.take(space.v, copies);
    cut.take(space.alive, masked ? times((size_t)u.B * t.tiles, 8) : 0);
    if (!backward) {
        cut.take(space.again, times(t.again_words, 4));
        return cut.used;
    }
    const gg_ta_chunks chunks = gg_ta_twopass_chunks(u.B, u.R, u.H, u.N, u.D);
    cut.take(space.rows, times(times(planes, (size_t)t.tiles), 64 * 16));
    cut.take(space.slabs,
             times(times(times(bias_planes_of(u), (size_t)t.tiles), (size_t)t.keys),
                   times((size_t)gg_ta_twopass_slabs(&chunks), block)));
    return cut.used;
}

size_t gg_ta_twopass_workspace(const gg_call *call)
{
    gg_ta_call u;
    TwopassSpace space;
    gg_ta_unpack(call, &u);
    return lay_out_scratch(u, true, nullptr, space);
}

size_t gg_ta_twopass_saved_bytes(const gg_call *call)
{
    gg_ta_call u;
    TwopassSpace space;
    gg_ta_unpack(call, &u);
    return plus(gg_ta_twopass_save(call).bytes, lay_out_kept(u, nullptr, space));
}

/* The other saved tensors. */
static gg_ta_twopass_saved results_of(const gg_call *call, const gg_ta_call &u)
{
    TwopassSpace space;
    gg_call behind = *call;
    behind.saved = static_cast<char *>(call->saved) + lay_out_kept(u, nullptr, space);
    return gg_ta_twopass_save(&behind);
}

/* All that the kernels of a direction use. */
static TwopassSpace space_of(const gg_call *call, const gg_ta_call &u, bool backward)
{
    TwopassSpace space = {};
    lay_out_kept(u, call->saved, space);
    lay_out_scratch(u, backward, u.workspace, space);
    return space;
}

/* Blocks of a grid are counted in 31 bits, tensor maps' planes in 32. */
const char *gg_ta_twopass_supports(const gg_call *call)
{
    gg_ta_call u;
    const char *why = gg_ta_refuse(call);
    if (why)
        return why;
    gg_ta_unpack(call, &u);
    if (u.N > GG_TA_TWOPASS_MAX_KEYS)
        return "N is larger than 3072";
    const TwopassTiles t = twopass_tiles(u);
    const size_t most = INT32_MAX, bias_planes = bias_planes_of(u);
    const size_t square = times(times(bias_planes, (size_t)t.even), (size_t)t.keys);
    if (times(planes_of(u), (size_t)t.tiles) > most || square > most
        || times(times(square, 64), 16) / 256 > most || elements_of(u) / 1024 >= most)
        return "more tiles than one grid has blocks";
    if (times(times((size_t)u.H, (size_t)u.N), (size_t)u.D * 4) > UINT32_MAX)
        return "dq of one r would be beyond 4 GiB in FP32"; /* TwopassQueries.row_bytes */
    return refuse_size(u, plus(gg_ta_twopass_workspace(call),
                               gg_ta_twopass_saved_bytes(call)));
}

int gg_ta_twopass_run_forward(const gg_call *call, TwopassKind kind)
{
    gg_ta_call u;
    gg_ta_unpack(call, &u);
    if (!call->saved)
        return cudaErrorInvalidValue;
    GG_TRY_CUDA(check_alignment(u));
    const TwopassSpace space = space_of(call, u, false);
    GG_TRY_CUDA(gg_ta_twopass_prepare(u, space));
    GG_TRY_CUDA(gg_ta_twopass_sanitise(u, space));
    return gg_ta_twopass_forward(u, results_of(call, u), space, kind.pairs);
}

int gg_ta_twopass_run_backward(const gg_call *call, TwopassKind kind)
{
    gg_ta_call u;
    gg_ta_unpack(call, &u);
    if (!u.dout || !u.o || !call->saved)
        return cudaErrorInvalidValue;
    GG_TRY_CUDA(check_alignment(u));
    const TwopassSpace space = space_of(call, u, true);
    GG_TRY_CUDA(gg_ta_twopass_sanitise(u, space));
    GG_TRY_CUDA(gg_ta_twopass_rows(u, results_of(call, u), space, kind.wide));
    if (u.dk || u.dv)
        GG_TRY_CUDA(gg_ta_twopass_keys(u, space, kind.pairs));
    if (!u.dq && !u.dbias)
        return cudaSuccess;
    GG_TRY_CUDA(gg_ta_twopass_queries(u, space, kind.pairs));
    return gg_ta_twopass_sum_dbias(u, space);
}
