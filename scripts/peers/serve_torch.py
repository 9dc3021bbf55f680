#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peers of triangle_attention.py on gradgate's own inputs, judged by gradgate:

    gradgate run --suite scripts/peers/peers.json --device cuda --limits-of turbo \
        --kernel 'serve:python3 scripts/peers/serve_torch.py sdpa' --kernel-name sdpa

One of stock, sdpa, flex (PyTorch alone), trifast, cuequivariance, openfold3. The gradient of a
BF16 bias comes as BF16: a case that asks for another type is declined, nothing is converted."""
import ctypes
import os
import sys
import warnings

import exchange
import triangle_attention as peers
import torch

TYPES = {"BF16": torch.bfloat16, "F32": torch.float32}
NAMES = ("o", "dq", "dk", "dv", "dbias")
SQUARE = ("trifast", "openfold3")  # their masks are made for as many rows as tokens
loaded = {}


def kernel(name, n, d):
    """Loaded, and compiled, once a shape."""
    if (name, n, d) not in loaded:
        loaded[name, n, d] = peers.PEERS[name](n, d)
    return loaded[name, n, d]


def tensor(kind, shape, data):
    if kind not in TYPES:
        raise exchange.Declined(f"a tensor of type {kind}")
    return torch.frombuffer(data, dtype=TYPES[kind]).reshape(shape).to(peers.DEVICE)


def packed(name, value, kind):
    value = value.detach().to("cpu").contiguous()
    if value.dtype != TYPES.get(kind):
        raise exchange.Declined(f"{name} comes as {value.dtype}, {kind} is asked for")
    size = value.numel() * value.element_size()
    return kind, tuple(value.shape), bytes((ctypes.c_char * size).from_address(value.data_ptr()))


def batch(name, q, k, v, dout, bias):
    """One batch index: q, k, v, dout [R,H,N,D], bias [H,N,N]."""
    rows, _, n, d = q.shape
    if name in SQUARE and rows != n:
        raise exchange.Declined(f"{rows} rows of {n} tokens: only squares")
    try:
        to_native, forward, from_native = kernel(name, n, d)
    except ImportError as missing:
        raise exchange.Declined(str(missing))
    q, k, v, dout, bias = to_native(q, k, v, dout, bias)
    leaves = [t.detach().clone().requires_grad_() for t in (q, k, v, bias)]
    out = forward(*leaves)
    return from_native(out, *torch.autograd.grad(out, leaves, dout.contiguous()))


def attention(name, inputs, wanted):
    for optional in ("mask", "key_lengths"):
        if optional in inputs:
            raise exchange.Declined(f"{optional} is not passed on")
    q, k, v, dout, bias = (tensor(*inputs[t]) for t in ("q", "k", "v", "dout", "bias"))
    parts = [batch(name, *(t[b] for t in (q, k, v, dout, bias))) for b in range(q.shape[0])]
    outputs = dict(zip(NAMES, (torch.stack(part) for part in zip(*parts))))
    result = {t: packed(t, outputs[t], kind) for t, kind in wanted.items()}
    if peers.DEVICE == "cuda":
        torch.cuda.empty_cache()  # the card is gradgate's, too
    return result


def main():
    name, folder = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    if name not in peers.PEERS:
        raise SystemExit(f"unknown kernel {name}: one of {', '.join(peers.PEERS)}")
    where = os.environ.get("GRADGATE_DEVICE", "cuda")
    peers.DEVICE = "cpu" if where == "host" else "cuda"
    if peers.DEVICE == "cuda":
        torch.cuda.set_device(int(where.partition(":")[2] or 0))
    warnings.filterwarnings("ignore")
    return exchange.serve(lambda inputs, wanted: attention(name, inputs, wanted), folder)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # compile workers must not hold the process
