# SPDX-License-Identifier: Apache-2.0
"""The protocol of `gradgate run --kernel exec:CMD | serve:CMD` (gradgate help exchange), with
nothing but Python's own library. An adapter calls serve(function); the function gets

    inputs   {name: (type, shape, bytes)}, such as {"q": ("BF16", [1, 24, 4, 24, 16], ...)}
    outputs  {name: type} that are wanted

and returns {name: (type, shape, bytes-like)}. It raises Declined(reason) for what it cannot do;
any other exception is reported as an error, and the next call is served."""
import json
import os
import struct
import sys


class Declined(Exception):
    pass


def read(path):
    """The tensors of a safetensors file, and its notes."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = bytearray(os.fstat(file.fileno()).st_size - 8 - length)
        file.readinto(data)
    notes = header.pop("__metadata__", {})
    return {name: (t["dtype"], t["shape"], memoryview(data)[slice(*t["data_offsets"])])
            for name, t in header.items()}, notes


def write(path, tensors):
    """Under a name of its own first: the file is there whole or not at all."""
    header, at = {}, 0
    for name, (kind, shape, data) in tensors.items():
        size = memoryview(data).nbytes
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".part", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(memoryview(data).cast("B"))
    os.rename(path + ".part", path)


def call(function, folder):
    inputs, notes = read(os.path.join(folder, "in.safetensors"))
    wanted = dict(pair.split(":") for pair in notes["outputs"].split())
    write(os.path.join(folder, "out.safetensors"), function(inputs, wanted))


def one_line(error):
    text = " ".join(str(error).split())[:250]
    return f"{type(error).__name__}: {text}" if not isinstance(error, Declined) else text


def answer(function, folder):
    try:
        call(function, folder)
        return "ok"
    except Declined as why:
        return "declined " + one_line(why)
    except Exception as error:  # whatever a foreign kernel does
        return "error " + one_line(error)


def serve(function, folder=None):
    """With a folder: one call (exec:). Without: all that standard input names (serve:)."""
    if folder is not None:
        text = answer(function, folder)
        if text != "ok":
            print(text.split(" ", 1)[1], file=sys.stderr)
        return {"ok": 0, "declined": 77}.get(text.split(" ", 1)[0], 1)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    for line in sys.stdin:
        print(answer(function, line.rstrip("\n")), file=out, flush=True)
    return 0
