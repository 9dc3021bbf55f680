#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Triangle attention in JAX on gradgate's own inputs, judged by gradgate:

    gradgate run --suite scripts/peers/peers.json --device cuda --limits-of turbo \
        --kernel 'serve:python3 scripts/peers/serve_jax.py stock' --kernel-name jax-stock

stock: einsum and softmax, scores in FP32. nn: jax.nn.dot_product_attention. Both compiled, with
the gradients that JAX derives. XLA runs on its default device: JAX_PLATFORMS=cpu for the host."""
import functools
import math
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the card is gradgate's, too
if os.environ.get("GRADGATE_DEVICE") == "host":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")

import exchange  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

TYPES = {"BF16": jnp.bfloat16, "F32": jnp.float32}
NAMES = ("o", "dq", "dk", "dv", "dbias")


# q, k, v [B,R,H,N,D], bias [B,H,N,N]
def stock(q, k, v, bias):
    scores = jnp.einsum("brhid,brhjd->brhij", q, k, preferred_element_type=jnp.float32)
    weights = jax.nn.softmax(scores / math.sqrt(q.shape[-1]) + bias[:, None], axis=-1)
    return jnp.einsum("brhij,brhjd->brhid", weights.astype(v.dtype), v)


def nn(q, k, v, bias):
    b, r, h, n, d = q.shape

    def swap(t):  # to [B R, N, H, D]
        return t.reshape(b * r, h, n, d).transpose(0, 2, 1, 3)

    wide = jnp.broadcast_to(bias[:, None], (b, r, h, n, n)).reshape(b * r, h, n, n)
    out = jax.nn.dot_product_attention(swap(q), swap(k), swap(v), bias=wide)
    return out.transpose(0, 2, 1, 3).reshape(b, r, h, n, d)


@functools.partial(jax.jit, static_argnums=0)
def both(forward, q, k, v, bias, dout):
    out, backward = jax.vjp(forward, q, k, v, bias)
    return (out, *backward(dout))


def attention(forward, inputs, wanted):
    for optional in ("mask", "key_lengths"):
        if optional in inputs:
            raise exchange.Declined(f"{optional} is not passed on")
    arrays = []
    for name in ("q", "k", "v", "bias", "dout"):
        kind, shape, data = inputs[name]
        arrays.append(jnp.asarray(np.frombuffer(data, dtype=TYPES[kind]).reshape(shape)))
    result = {}
    for name, value in zip(NAMES, both(forward, *arrays)):
        if value.dtype != TYPES[wanted[name]]:
            raise exchange.Declined(f"{name} comes as {value.dtype}, {wanted[name]} is asked for")
        result[name] = wanted[name], value.shape, np.asarray(value).tobytes()
    return result


def main():
    forward = {"stock": stock, "nn": nn}.get(sys.argv[1])
    if forward is None:
        raise SystemExit(f"unknown kernel {sys.argv[1]}: one of stock, nn")
    return exchange.serve(functools.partial(attention, forward), *sys.argv[2:3])


if __name__ == "__main__":
    sys.exit(main())
