#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The smallest adapter: y = x w^T, dx = dy w, dw = dy^T x in plain Python.

    gradgate run --suite linear60 --kernel 'serve:python3 scripts/peers/linear_python.py' \
        --case '*-K15-*' --limits-of plain
"""
import struct
import sys

import exchange


def unpack(tensor):
    kind, (rows, columns), data = tensor
    if kind != "BF16":
        raise exchange.Declined(f"{kind} is not BF16")
    bits = struct.unpack(f"<{rows * columns}H", data)
    values = [struct.unpack("<f", struct.pack("<I", b << 16))[0] for b in bits]
    return [values[i * columns:(i + 1) * columns] for i in range(rows)]


def bf16(value):
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF


def pack(matrix, kind):
    flat = [value for row in matrix for value in row]
    data = (struct.pack(f"<{len(flat)}f", *flat) if kind == "F32"
            else struct.pack(f"<{len(flat)}H", *map(bf16, flat)))
    return kind, (len(matrix), len(matrix[0])), data


def product(a, b):
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def turned(a):
    return [list(column) for column in zip(*a)]


def linear(inputs, wanted):
    x, w, dy = (unpack(inputs[name]) for name in ("x", "w", "dy"))
    outputs = {"y": product(x, turned(w)), "dx": product(dy, w), "dw": product(turned(dy), x)}
    return {name: pack(outputs[name], kind) for name, kind in wanted.items()}


if __name__ == "__main__":
    sys.exit(exchange.serve(linear, *sys.argv[1:2]))
