/* SPDX-License-Identifier: Apache-2.0
 * Forward pass of `twopass` and `split`: o, what it loses in BF16, m and inv (README.md).
 *
 * A piece of work is 128 queries of three rows r. As many CTAs as there are multiprocessors
 * take pieces in turn: while the last results of one are stored, the copies for the next are
 * under way. Three warpgroups compute, one row each, all with the same bias tiles, which so
 * cost a third of their traffic, or, shared by two CTAs, a sixth; a fourth copies. Each of the
 * three holds two blocks of 64 queries that take turns: the products of one run on the tensor
 * cores while the exponentials of the other run beside them.
 *
 * Without pairs two launches: all pieces with the maxima of their rows' first tiles, then those
 * with a row that is beyond them, again.
 *
 * With pairs the products of a tile are sums of their own, added to o afterwards: a chain through
 * all of N, which rounds toward zero, would take too much off (README.md).
 * The tensor cores form the row sums too, which would cost instructions beside the exponentials:
 * as eight more columns of the product with v, all ones, or with pairs two of them for each step.
 *
 * Registers of a computing thread, W = 32: scores 64, weights 16 (with pairs 32; the other
 * block's are scores at that time), o 32, row sums 8, m 4: 124 of 160, and what loads need.
 * With pairs a tile's part of o and l takes 20 and leaves none for m and l, which are in shared
 * memory. q takes 8 for each block that keeps it; the other's is a shared operand.
 * Shared memory: q of three rows, twice (48 KB at W = 32), three or four stages of k and v
 * of three rows (64 x W each) and the bias of 128 queries x 64 keys: 56 KB a stage at W = 32.
 * Results pass through the tiles of q that they are of, those of the first block under the last
 * product of the second; then q's stage is released.
 * W = 64: two rows, 240 registers, of which o takes 64; three stages of 64 KB, and q once. */
#include "kernels/triangle_attention/twopass_forward_block.cuh"

namespace {

/* What a warpgroup carries from one piece of work to the next. */
template <int W, Pass PASS>
struct Place {
    typedef Plan<W> P;
    static constexpr bool PAIRS = PASS == Pass::PAIRS;
    typedef Ring<P::STAGES, PAIRS && W == 32> Stages; /* there a register is short */
    Stages ring;
    int count;            /* pieces of work done, from which the rest follows */
    uint32_t start, bias; /* shared addresses; of the first stage, for this thread */
    uint32_t keys;        /* start word of k of the first stage */
    int row;              /* of P::ROWS */
    int place;            /* AGAIN: of the piece at hand among all of the CTA */

    /* Where this thread has the row sums of q[0]; of q[1] 8 on. */
    __device__ __forceinline__ uint32_t sums() const
    {
        return bias + (P::SUMS - 2 * P::ROWS * P::TILE) + 128 * 16 * row;
    }

    /* The piece of work at hand: formed again rather than kept through the loop. */
    template <bool MASKED>
    __device__ __forceinline__ int item() const
    {
        return first_piece(FELLOWS<MASKED>)
               + (PASS == Pass::AGAIN ? place : count) * pieces_at_a_time(FELLOWS<MASKED>);
    }
};

/* One row's 128 queries: q[0] and q[1] take turns over the key tiles of the walk. */
template <int W, Pass PASS, bool MASKED>
__device__ __forceinline__ void attend(const Forward &a, Place<W, PASS> &p,
                                       Block<W, PASS, MASKED> (&q)[2],
                                       const Walk<MASKED, PASS> &walk)
{
    typedef Plan<W> P;
    constexpr bool PAIRS = PASS == Pass::PAIRS;
    const uint32_t first = p.start + (2 * p.row + 1) * P::TILE; /* v of the first stage */
    const uint32_t values = kept_uniform(turned_start(first, p.start + P::ONES));
    const uint32_t queries =
        p.start + P::QUERIES + p.count % P::QUERY_STAGES * P::QUERY_STAGE + 2 * p.row * P::TILE;
    const uint32_t tile = tile_start(queries);
    q[0].template take_queries<0>(queries);
    q[1].template take_queries<1>(queries + P::TILE);
    Products<W> y; /* with pairs, for the block whose products are under way */
    int t = walk.first(a.tiles);
    barrier_wait(p.ring.full(), p.ring.phase());
    q[0].take_bias(p.bias + p.ring.stage * P::STAGE);
    q[1].take_bias(p.bias + p.ring.stage * P::STAGE + P::BLOCK);
    settled(q[0].s);
    settled(q[1].s);
    wgmma_fence();
    q[0].template multiply_keys<0>(tile, p.keys + p.ring.stage * (P::STAGE / 16));
    q[1].template multiply_keys<1>(tile + P::TILE / 16, p.keys + p.ring.stage * (P::STAGE / 16));
    wgmma_commit();
    wgmma_wait();
    settled(q[0].s);
    settled(q[1].s);
    if constexpr (PASS == Pass::FIRST && !MASKED) {
        q[0].take_maxima();
        q[1].take_maxima();
    }
    q[0].soften(walk, t, a, p.sums());
    for (int next = walk.next(t + 1, a.tiles); uniform<MASKED>(next < a.tiles);
         next = walk.next(t + 1, a.tiles)) {
        const typename Place<W, PASS>::Stages ahead = p.ring.next();
        const int at = p.ring.stage * P::STAGE, to = ahead.stage * P::STAGE;
        barrier_wait(ahead.full(), ahead.phase());
        q[0].take_bias(p.bias + to);
        settled(q[0].s);
        wgmma_fence();
        q[0].multiply_values(values, at / 16, y);
        q[0].template multiply_keys<0>(tile, p.keys + to / 16);
        wgmma_commit();
        q[1].soften(walk, t, a, p.sums() + 8);
        constexpr int EARLY = PAIRS ? 0 : 4; /* quads asked for before the wait: as many as fit */
        q[1].template take_bias<0, EARLY>(p.bias + to + P::BLOCK);
        wgmma_wait();
        q[0].add_products(y, p.sums());
        settled(q[0].s);
        q[1].template take_bias<EARLY, 8>(p.bias + to + P::BLOCK);
        settled(q[1].s);
        wgmma_fence();
        q[1].multiply_values(values, at / 16, y);
        q[1].template multiply_keys<1>(tile + P::TILE / 16, p.keys + to / 16);
        wgmma_commit();
        q[0].soften(walk, next, a, p.sums());
        wgmma_wait();
        q[1].add_products(y, p.sums() + 8);
        settled(q[1].s);
        release_stage(p.ring.empty());
        p.ring = ahead;
        t = next;
    }
    const int at = p.ring.stage * P::STAGE;
    wgmma_fence();
    q[0].multiply_values(values, at / 16, y);
    wgmma_commit();
    q[1].soften(walk, t, a, p.sums() + 8);
    wgmma_wait();
    q[0].add_products(y, p.sums());
    wgmma_fence();
    q[1].multiply_values(values, at / 16, y);
    wgmma_commit();
    warpgroup_sync(p.row); /* all have done with q: a quarter of it is each warp's buffer */
    typedef Results<W, PASS == Pass::PAIRS> Out;
    uint32_t buffer = p.start + P::QUERIES + (threadIdx.x >> 5) * (2 * Out::BYTES);
    asm volatile("" : "+r"(buffer)); /* kept through the loop: with one register more to spare
                                      * ptxas moves more ahead there, and spills */
    const int stage = p.count % P::QUERY_STAGES;
    const Out to(a, buffer + stage * P::QUERY_STAGE,
                        Origin::read<P>(p.start, P::ROWS * stage + p.row));
    const int item = p.template item<MASKED>();
    const uint32_t stored = q[0].lay(a, to, 0, p.sums(), item);
    const typename Out::Pieces before = to.take();
    wgmma_wait();
    q[1].add_products(y, p.sums() + 8);
    release_stage(p.ring.empty());
    p.ring.advance();
    to.put(a, 0, before, stored);
    const uint32_t also = q[1].lay(a, to, 1, p.sums() + 8, item);
    const typename Out::Pieces last = to.take();
    release_stage(p.start + P::QUERY_BARRIERS + 8 * (P::QUERY_STAGES + stage));
    to.put(a, 1, last, also);
}

template <int W, Pass PASS, bool MASKED>
__device__ __forceinline__ void work(const Forward &a, uint32_t start, int warp)
{
    typedef Plan<W> P;
    Place<W, PASS> p = {{start + P::BARRIERS, 0, 0}};
    p.start = start;
    p.row = warp >> 2;
    p.keys = kept_uniform(tile_start(start + 2 * p.row * P::TILE));
    p.bias = start + 2 * P::ROWS * P::TILE + 16 * (thread_now() & 127);
    for (p.place = 0;; p.place++, p.count++) {
        while (PASS == Pass::AGAIN && p.template item<MASKED>() < a.items
               && uniform<true>(!is_taken<PASS>(a, p.template item<MASKED>())))
            p.place++;
        if (p.template item<MASKED>() >= a.items)
            return;
        const uint32_t ready = start + P::QUERY_BARRIERS + p.count % P::QUERY_STAGES * 8;
        Block<W, PASS, MASKED> q[2];
        q[0].clear(p.sums());
        q[1].clear(p.sums() + 8);
        barrier_wait(ready, p.count / P::QUERY_STAGES & 1);
        Walk<MASKED, PASS> walk(start + P::KEY_WORDS + p.count % P::QUERY_STAGES * P::WALK,
                                MASKED ? p.template item<MASKED>() % a.blocks : 0);
        if (MASKED) {
            walk.template start<P::ROWS>(a.tiles);
            walk.join(p.row, a.tiles);
        }
        attend(a, p, q, walk);
    }
}

template <int W, Pass PASS, bool MASKED>
__global__ void __launch_bounds__(Plan<W>::THREADS, 1)
    forward_kernel(const __grid_constant__ Forward a)
{
    typedef Plan<W> P;
    const uint32_t start = shared_start();
    const int warp = __shfl_sync(0xffffffffu, (int)(threadIdx.x >> 5), 0);
    if (PASS == Pass::AGAIN) {
        wait_for_grid_before();
        if (a.again[0] == 0)
            return;
    }
    for (int i = (int)threadIdx.x; i < P::ONES_BYTES / 4; i += P::THREADS)
        asm volatile("st.shared.b32 [%0], %1;"
                     :
                     : "r"(start + P::ONES + 4 * i),
                       "r"(PASS == Pass::PAIRS ? ones_by_step<W>(i) : 0x3f803f80u)
                     : "memory");
    if (threadIdx.x == 0) {
        ring_init<P::STAGES>(start + P::BARRIERS, P::WARPS);
        ring_init<P::QUERY_STAGES>(start + P::QUERY_BARRIERS, P::WARPS);
        for (int i = 0; !MASKED && i < P::STAGES; i++)
            barrier_init(start + P::FREE_BARRIERS + 8 * i, 1);
    }
    publish_shared();
    cluster_sync();
    if (PASS != Pass::AGAIN)
        wait_for_grid_before();
    if (warp >= P::WARPS) {
        give_registers<P::ROWS>();
        if (warp == P::WARPS && (threadIdx.x & 31) == 0)
            copy_tiles<W, PASS, MASKED>(a, start);
        return;
    }
    take_registers<P::ROWS>();
    work<W, PASS, MASKED>(a, start, warp);
}

template <int W, Pass PASS, bool MASKED>
cudaError_t start(const gg_ta_call &u, const Forward &a)
{
    typedef Plan<W> P;
    int ctas;
    GG_TRY_CUDA(multiprocessors(&ctas));
    const Launch how = {dim3((unsigned)(a.fellows * min(ctas / a.fellows, a.items))), P::THREADS,
                        P::SHARED, (cudaStream_t)u.stream, a.fellows, true};
    return launch(forward_kernel<W, PASS, MASKED>, how, a);
}

template <int W, Pass PASS>
cudaError_t by_keys(const gg_ta_call &u, const Forward &a)
{
    return u.keys == GG_TA_KEYS_ALL ? start<W, PASS, false>(u, a) : start<W, PASS, true>(u, a);
}

template <int W>
cudaError_t passes(const gg_ta_call &u, const Forward &a, bool pairs)
{
    if (pairs)
        return by_keys<W, Pass::PAIRS>(u, a);
    GG_TRY_CUDA((by_keys<W, Pass::FIRST>(u, a)));
    return by_keys<W, Pass::AGAIN>(u, a);
}

} // namespace

cudaError_t gg_ta_twopass_forward(const gg_ta_call &u, const gg_ta_twopass_saved &saved,
                                  const TwopassSpace &space, bool pairs)
{
    const TwopassTiles t = twopass_tiles(u);
    const int W = twopass_columns(u.D);
    Forward a = {};
    a.fellows = fellows_of(u);
    const int rows = a.fellows * (W == 64 ? Plan<64>::ROWS : Plan<32>::ROWS);
    a.bias = static_cast<const char *>(space.bias);
    a.words = space.words;
    a.order = u.keys == GG_TA_KEYS_ALL ? nullptr : space.order;
    a.o = u.o;
    a.beyond = saved.beyond ? static_cast<void *>(saved.beyond) : saved.beyond_byte;
    a.m = saved.m, a.inv = saved.inv, a.again = space.again;
    a.R = u.R, a.H = u.H, a.N = u.N, a.D = u.D;
    a.tiles = t.tiles, a.key_tiles = t.keys;
    a.blocks = t.even / 2, a.row_groups = (u.R + rows - 1) / rows;
    a.items = (int)(bias_planes_of(u) * a.blocks * a.row_groups);
    a.c1 = u.c1, a.rc1 = u.rc1, a.growth = GG_TA_TWOPASS_GROWTH * u.root;
    GG_TRY_CUDA(make_tensor_map(&a.q, u.q, planes_of(u), u.N, u.D, W));
    GG_TRY_CUDA(make_tensor_map(&a.k, u.k, planes_of(u), u.N, u.D, W));
    GG_TRY_CUDA(make_tensor_map(&a.v, u.v, planes_of(u), u.N, u.D, W));
    if (u.keys != GG_TA_KEYS_ALL) {
        GG_TRY_CUDA(make_tensor_map(&a.clean_k, space.k, planes_of(u), u.N, u.D, W));
        GG_TRY_CUDA(make_tensor_map(&a.clean_v, space.v, planes_of(u), u.N, u.D, W));
    }
    return W == 16   ? passes<16>(u, a, pairs)
           : W == 32 ? passes<32>(u, a, pairs)
                     : passes<64>(u, a, pairs);
}
