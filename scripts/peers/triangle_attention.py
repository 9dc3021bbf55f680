#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other people's kernels for triangle attention, timed as `gradgate bench` times ours.

Prints one JSON object a line (README.md beside this file), for `gradgate bench --peers`:

    python3 scripts/peers/triangle_attention.py --out peers.jsonl

Inputs are standard normal and drawn by torch: the law of family `normal`, not its bits. A
kernel that cannot run says why and costs nothing else. Each line is written as soon as it
is known, so a run that is cut short leaves what it has.
"""
import argparse
import importlib.util
import json
import math
import os
import signal
import sys
import time
import warnings

START = time.monotonic()
import torch  # noqa: E402  (its import counts as time spent)
import torch.nn.functional as F  # noqa: E402

HEADS = 4
NAMES = ("o", "dq", "dk", "dv", "dbias")


class OutOfTime(Exception):
    pass


# A peer: `load()` raises when it is not here, else gives (to_native, forward, from_native).
# Tensors go in as q, k, v, dout [R,H,N,D] and bias [H,N,N]; layouts are changed outside of
# what is timed. from_native maps (o, dq, dk, dv, dbias) back.
def same(*tensors):
    return tensors


def load_stock(_n, _d):
    def forward(q, k, v, bias):
        scores = q @ k.transpose(-1, -2) * (1 / math.sqrt(q.shape[-1])) + bias
        return torch.softmax(scores, -1, dtype=torch.float32).to(q.dtype) @ v

    return same, forward, same


def load_sdpa(_n, _d):
    def forward(q, k, v, bias):
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=bias[None].expand(q.shape[0], -1, -1, -1))

    return same, forward, same


def load_flex(_n, _d):
    from torch.nn.attention.flex_attention import flex_attention

    torch._dynamo.reset()

    def forward(q, k, v, bias):
        def add_bias(score, _row, head, i, j):
            return score + bias[head, i, j]

        return flex_attention(q, k, v, score_mod=add_bias)

    return same, torch.compile(forward, dynamic=False), same


def load_trifast(n, _d):
    from trifast import triangle_attention

    mask = torch.zeros(1, n, n, dtype=torch.bool, device=DEVICE)  # True: left out

    def swap(t):
        return t.permute(1, 0, 2, 3)[None].contiguous()

    def to_native(q, k, v, dout, bias):
        return swap(q), swap(k), swap(v), swap(dout), bias[None].contiguous()

    def forward(q, k, v, bias):
        return triangle_attention(q, k, v, bias, mask)

    def from_native(*tensors):
        return [t[0].permute(1, 0, 2, 3) for t in tensors[:4]] + [tensors[4][0]]

    return to_native, forward, from_native


def load_cuequivariance(_n, _d):
    if importlib.util.find_spec("cuequivariance_ops_torch") is None:
        raise ImportError("no module cuequivariance_ops_torch: a slow fallback only")
    from cuequivariance_torch import triangle_attention

    def to_native(q, k, v, dout, bias):
        return q[None], k[None], v[None], dout[None], bias[None, None]

    def forward(q, k, v, bias):
        return triangle_attention(q, k, v, bias, scale=1 / math.sqrt(q.shape[-1]))

    def from_native(*tensors):
        return [t[0] for t in tensors[:4]] + [tensors[4][0, 0]]

    return to_native, forward, from_native


def load_openfold3(n, _d):
    # The one file that is needed; the package would import much that is not.
    package = importlib.util.find_spec("openfold3")
    if package is None:
        raise ImportError("no module openfold3")
    path = os.path.join(list(package.submodule_search_locations)[0],
                        "core/kernels/triton/evoformer.py")
    spec = importlib.util.spec_from_file_location("gradgate_peer_evoformer", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # added to the scores
    mask = torch.zeros(1, n, 1, 1, n, dtype=torch.bfloat16, device=DEVICE)

    def swap(t):
        return t.transpose(1, 2)[None].contiguous()

    def to_native(q, k, v, dout, bias):
        return swap(q), swap(k), swap(v), swap(dout), bias[None, None].contiguous()

    def forward(q, k, v, bias):
        return module.TritonEvoformer(q, k, v, mask, bias)

    def from_native(*tensors):
        return [t[0].transpose(1, 2) for t in tensors[:4]] + [tensors[4][0, 0]]

    return to_native, forward, from_native


PEERS = {"stock": load_stock, "sdpa": load_sdpa, "flex": load_flex, "trifast": load_trifast,
         "cuequivariance": load_cuequivariance, "openfold3": load_openfold3}


def left(options):
    return options.budget - (time.monotonic() - START)


def finish():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def draw(n, d, seed):
    generator = torch.Generator(device=DEVICE)
    generator.manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, device=DEVICE).bfloat16()

    q, k, v = (normal(n, HEADS, n, d) for _ in range(3))
    return q, k, v, normal(n, HEADS, n, d), normal(HEADS, n, n)  # dout, bias


def count_sets(n, d):
    """As many sets of inputs as exceed the cache twice; two at least."""
    cache = torch.cuda.get_device_properties(0).L2_cache_size if DEVICE == "cuda" else 0
    one = 2 * (4 * n * HEADS * n * d + HEADS * n * n)
    return max(2, min(64, 2 * cache // one + 1))


def truth_of(inputs, rows):
    """o, dq, dk, dv of `rows`, and dbias (None unless they are all), in FP64."""
    q, k, v, dout, bias = inputs
    n, d = q.shape[0], q.shape[-1]
    scale, bias = 1 / math.sqrt(d), bias.double()
    parts = ([], [], [], [])
    dbias = torch.zeros_like(bias)
    for chunk in torch.split(rows, 4):
        Q, K, V, G = (t[chunk].double() for t in (q, k, v, dout))
        P = torch.softmax(scale * (Q @ K.transpose(-1, -2)) + bias, -1)
        O = P @ V
        dS = P * (G @ V.transpose(-1, -2) - (G * O).sum(-1, keepdim=True))
        dbias += dS.sum(0)
        for part, t in zip(parts, (O, scale * (dS @ K), scale * (dS.transpose(-1, -2) @ Q),
                                   P.transpose(-1, -2) @ G)):
            part.append(t)
    values = [torch.cat(part) for part in parts]
    return values + [dbias if len(rows) == n else None]


def rms(t):
    return float(t.square().mean().sqrt())


def compare(outputs, truth, rows):
    """RMSE, rounding floor of each output's own type, rms of the truth."""
    rmse, floor, size = {}, {}, {}
    for name, out, exact in zip(NAMES, outputs, truth):
        if exact is None:
            continue
        got = out[rows] if name != "dbias" else out
        error = rms(got.double() - exact)
        rmse[name] = error if math.isfinite(error) else 1e30  # JSON has no NaN
        floor[name] = rms(exact.to(out.dtype).double() - exact)
        size[name] = rms(exact)
    return {"rmse": rmse, "floor": floor, "truth_rms": size}


class Clock:
    """Intervals on the stream; without a GPU, of the host."""

    def __init__(self):
        self.cuda = DEVICE == "cuda"
        if self.cuda:
            self.a, self.b = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def start(self):
        if self.cuda:
            self.a.record()
        else:
            self.a = time.perf_counter()

    def stop(self):
        if self.cuda:
            self.b.record()
        else:
            self.b = time.perf_counter()

    def milliseconds(self):
        return self.a.elapsed_time(self.b) if self.cuda else 1e3 * (self.b - self.a)


def median(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def timed(call, sets, reps):
    """All runs are queued before the first is waited for."""
    clocks = [Clock() for _ in range(reps)]
    for i, clock in enumerate(clocks):
        clock.start()
        call(sets[i % len(sets)])
        clock.stop()
    finish()
    return median([clock.milliseconds() for clock in clocks])


def bits(t):
    return t.contiguous().view(torch.int16 if t.element_size() == 2 else torch.int32)


def measure(load, n, d, sets, truth, rows, options):
    to_native, forward, from_native = load(n, d)
    native = []
    for one in sets:
        q, k, v, dout, bias = (t.detach() for t in to_native(*one))
        leaves = [t.clone().requires_grad_() for t in (q, k, v, bias)]
        native.append((leaves, dout.contiguous()))

    def both(one):
        out = forward(*one[0])
        return (out, *torch.autograd.grad(out, one[0], one[1]))

    first = [t.detach().clone() for t in both(native[0])]  # compiles and tunes, too
    equal = True
    for _ in range(4):
        equal = all(torch.equal(bits(a), bits(b.detach()))
                    for a, b in zip(first, both(native[0]))) and equal
    figures = compare([t.detach() for t in from_native(*first)], truth, rows)
    extra = None
    if DEVICE == "cuda":
        finish()
        outputs = sum(t.numel() * t.element_size() for t in first)
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        both(native[0])
        extra = max(0, torch.cuda.max_memory_allocated() - before - outputs)
    del first
    for one in native:
        forward(*one[0])
    forward_ms = timed(lambda one: forward(*one[0]), native, options.reps)
    for one in native:
        both(one)
    total_ms = timed(both, native, options.reps)
    return {"forward_ms": forward_ms, "total_ms": total_ms, "same_bits": equal,
            "peak_extra_bytes": extra, "rmse_rows": len(rows), **figures}


def why(error):
    text = " ".join(str(error).split())[:180]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def emit(options, line):
    options.file.write(json.dumps(line, allow_nan=False) + "\n")
    options.file.flush()


def attempt(name, n, d, sets, truth, rows, options):
    """The figures of one kernel, or {"reason": why not}."""
    if name == "flex" and (n not in options.flex_n or d not in options.flex_d):
        return {"reason": "not asked for: --flex-n, --flex-d"}
    seconds = min(left(options), options.each)
    if seconds < 2:
        return {"reason": "no time left in the budget"}
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return measure(PEERS[name], n, d, sets, truth, rows, options)
    except OutOfTime:
        return {"reason": f"not done within {seconds:.0f} s"}
    except Exception as error:  # whatever a foreign kernel does
        return {"reason": why(error)}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def run_size(n, d, options):
    place = {"family": "normal", "B": 1, "R": n, "H": HEADS, "N": n, "D": d}
    sets, truth, lost = None, None, None
    try:
        if left(options) < 3:
            raise OutOfTime
        sets = [draw(n, d, seed) for seed in range(count_sets(n, d))]
        step = max(1, n // options.rows) if options.rows else 1
        rows = torch.arange(0, n, step, device=DEVICE)
        truth = truth_of(sets[0], rows)
        finish()
    except OutOfTime:
        lost = "no time left in the budget"
    except Exception as error:
        lost = "inputs or truth: " + why(error)
    for name in options.kernels:
        result = {"reason": lost}
        if not lost:
            result = attempt(name, n, d, sets, truth, rows, options)
        emit(options, {"kernel": name, **place, **result})
        if DEVICE != "cuda" or lost:
            continue
        try:
            finish()
            torch.cuda.empty_cache()
        except Exception as error:  # the device is lost to this process
            lost = f"after {name}: " + why(error)


def numbers(text):
    return [int(part) for part in text.split(",") if part]


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--n", type=numbers, default=[768, 384, 640])
    p.add_argument("--d", type=numbers, default=[32, 16])
    p.add_argument("--flex-n", type=numbers, default=[384, 768], help="compiles long")
    p.add_argument("--flex-d", type=numbers, default=[32])
    p.add_argument("--kernels", type=lambda t: t.split(","), default=list(PEERS))
    p.add_argument("--reps", type=int, default=7)
    p.add_argument("--rows", type=int, default=0, help="rows of the FP64 truth; 0: all")
    p.add_argument("--budget", type=float, default=95, help="seconds for all")
    p.add_argument("--each", type=float, default=45, help="seconds a kernel and size")
    p.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    p.add_argument("--out", default="-")
    options = p.parse_args()
    unknown = [name for name in options.kernels if name not in PEERS]
    if unknown:
        p.error(f"unknown kernel {unknown[0]}: one of {', '.join(PEERS)}")
    return options


def about(options):
    try:
        import triton
        version = triton.__version__
    except Exception:
        version = "none"
    gpu = torch.cuda.get_device_name(0) if DEVICE == "cuda" else "host"
    return (f"torch {torch.__version__}, triton {version}, {gpu}; inputs by torch.randn, "
            f"not gradgate's; forward in training mode; median of {options.reps}, inputs "
            "rotate; bits over 5 calls; memory beyond inputs and outputs")[:319]


def ring(_signal, _frame):
    raise OutOfTime


def main():
    global DEVICE
    options = parse()
    DEVICE = options.device
    if DEVICE == "cuda" and not torch.cuda.is_available():
        print("peers: no CUDA device: use --device cpu to try the script", file=sys.stderr)
        return 2
    warnings.filterwarnings("ignore")
    signal.signal(signal.SIGALRM, ring)
    options.file = sys.stdout if options.out == "-" else open(options.out, "w")
    emit(options, {"about": about(options)})
    for d in options.d:
        for n in options.n:
            run_size(n, d, options)
    if options.file is not sys.stdout:
        options.file.close()
    print(f"peers: {time.monotonic() - START:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # compile workers must not hold the process
