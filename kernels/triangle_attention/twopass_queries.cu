/* SPDX-License-Identifier: Apache-2.0
 * dq and dbias of `twopass`, and which of the two sets of instances a call needs. */
#include "kernels/triangle_attention/twopass_queries.cuh"

cudaError_t gg_ta_twopass_queries(const gg_ta_call &u, const TwopassSpace &space,
                                  bool pairs)
{
    return pairs ? gg_ta_split_queries(u, space) : twopass_queries<false>(u, space);
}
