/* SPDX-License-Identifier: Apache-2.0
 * dq and dbias with dS as BF16 pairs: instances in a file of their own, because they take
 * long to compile. */
#include "kernels/triangle_attention/twopass_queries.cuh"

cudaError_t gg_ta_split_queries(const gg_ta_call &u, const TwopassSpace &space)
{
    return twopass_queries<true>(u, space);
}
