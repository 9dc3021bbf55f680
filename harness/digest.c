/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/digest.h"

#include <stdlib.h>
#include <xxhash.h>

#include "reference/parallel.h"

typedef struct job {
    const unsigned char *data;
    size_t bytes;
    uint64_t *digests;
} job;

static void one_block(void *context, int64_t index, int worker)
{
    const job *j = context;
    size_t start = (size_t)index * GG_DIGEST_BLOCK, rest = j->bytes - start;
    (void)worker;
    j->digests[index] =
        XXH64(j->data + start, rest < GG_DIGEST_BLOCK ? rest : GG_DIGEST_BLOCK, 0);
}

uint64_t gg_digest_blocks(const uint64_t *digests, size_t blocks, size_t bytes)
{
    return XXH64(digests, blocks * sizeof *digests, bytes);
}

gg_status gg_digest_host(const void *data, size_t bytes, int threads, uint64_t *digest)
{
    size_t blocks = (bytes + GG_DIGEST_BLOCK - 1) / GG_DIGEST_BLOCK;
    uint64_t *digests = malloc((blocks + 1) * sizeof *digests);
    if (digests == NULL)
        return gg_fail(GG_NO_MEMORY, "cannot allocate the digests of %zu bytes", bytes);
    job j = {data, bytes, digests};
    gg_parallel((int64_t)blocks, blocks < 256 ? 1 : threads, one_block, &j);
    *digest = gg_digest_blocks(digests, blocks, bytes);
    free(digests);
    return GG_OK;
}
