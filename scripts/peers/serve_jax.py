#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Triangle attention in JAX on gradgate's own inputs, judged by gradgate:

    gradgate run --suite scripts/peers/peers.json --device cuda --limits-of turbo \
        --kernel 'serve:python3 scripts/peers/serve_jax.py stock' --kernel-name jax-stock

stock: einsum and softmax, scores in FP32. nn: jax.nn.dot_product_attention; cudnn: the same on
cuDNN's flash attention (a GPU alone). Compiled, with the gradients that JAX derives. They run on
the device of the run or decline: JAX itself would take the CPU where it finds no GPU. Products in
FP32 are FP32 and not TF32: JAX_DEFAULT_MATMUL_PRECISION=default for JAX's own choice."""
import functools
import math
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the card is gradgate's, too
os.environ.setdefault("JAX_DEFAULT_MATMUL_PRECISION", "highest")
WHERE = os.environ.get("GRADGATE_DEVICE", "cuda")
if WHERE == "host":
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


# The bias is one for all rows: [1,H,N,N] beside [R,N,H,D], a batch index at a time.
def library(implementation, q, k, v, bias):
    def one(q, k, v, bias):
        q, k, v = (t.transpose(0, 2, 1, 3) for t in (q, k, v))
        out = jax.nn.dot_product_attention(q, k, v, bias=bias[None], implementation=implementation)
        return out.transpose(0, 2, 1, 3)

    return jnp.stack([one(*part) for part in zip(q, k, v, bias)])


KERNELS = {"stock": stock, "nn": functools.partial(library, "xla"),
           "cudnn": functools.partial(library, "cudnn")}


def place():
    """The device of the run, and what it is in words."""
    kind, _, index = WHERE.partition(":")
    try:
        devices = jax.devices({"host": "cpu"}.get(kind, kind))
    except Exception as error:  # of several types, one of them without a text
        raise exchange.Declined(f"JAX has no {kind} device ({exchange.one_line(error)[:90]}); its "
                                f"reason: python3 -c 'import jax; jax.devices(\"{kind}\")'")
    if int(index or 0) >= len(devices):
        raise exchange.Declined(f"JAX has {len(devices)} {kind} devices, {WHERE} is asked for")
    device = devices[int(index or 0)]
    return device, (f"JAX {jax.__version__} on {device.platform} {device.id}, {device.device_kind},"
                    f" matmul precision {jax.config.jax_default_matmul_precision}")


@functools.partial(jax.jit, static_argnums=0)
def both(forward, q, k, v, bias, dout):
    out, backward = jax.vjp(forward, q, k, v, bias)
    return (out, *backward(dout))


def attention(forward, inputs, wanted):
    device, _ = place()
    for optional in ("mask", "key_lengths"):
        if optional in inputs:
            raise exchange.Declined(f"{optional} is not passed on")
    arrays = []
    for name in ("q", "k", "v", "bias", "dout"):
        kind, shape, data = inputs[name]
        host = np.frombuffer(data, dtype=TYPES[kind]).reshape(shape)
        arrays.append(jax.device_put(host, device))
    result = {}
    for name, value in zip(NAMES, both(forward, *arrays)):
        if value.devices() != {device}:
            raise RuntimeError(f"{name} was computed on {value.devices()}, not on {device}")
        if value.dtype != TYPES[wanted[name]]:
            raise exchange.Declined(f"{name} comes as {value.dtype}, {wanted[name]} is asked for")
        result[name] = wanted[name], value.shape, np.asarray(value).tobytes()
    return result


def main():
    forward = KERNELS.get(sys.argv[1])
    if forward is None:
        raise SystemExit(f"unknown kernel {sys.argv[1]}: one of {', '.join(KERNELS)}")
    try:
        print(place()[1], file=sys.stderr, flush=True)
    except exchange.Declined as why:
        print(why, file=sys.stderr, flush=True)  # and so does each call
    return exchange.serve(functools.partial(attention, forward), *sys.argv[2:3])


if __name__ == "__main__":
    sys.exit(main())
