#!/usr/bin/env python3
"""rung's row kernels beside torch, torch.compile, Triton and Liger: one process, one GPU, in turns.

usage: compare_torch.py [--modules DIR] [--shapes 8192x3584,...] [--rounds N] [--out FILE]

The kernels are loaded from their modules (rung-n4.cuda.so: build with -Dlink=both) through the plugin ABI.
Each implementation is captured in a CUDA graph whose launches rotate through operands of more than twice
the L2; a round replays every graph once, in an order that is shuffled each time. What is printed is the
median time of one launch and the median of its ratio to torch's eager time of the same round. Results are
checked against fp64 first. What is not installed is left out with a line that says so.
"""
import argparse
import ctypes
import json
import pathlib
import random
import statistics
import sys

try:
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    sys.exit(f"compare_torch.py: skipped: {missing}")

SHAPES = "8192x3584,2048x3584,8192x2048,2048x2048,16384x8192,32x3584,1x3584,32x152064,1x152064,4096x152064"
EPS = 1e-6


# ---- the plugin ABI, as core/include/rung/plugin.h has it --------------------------------

class Case(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("dtype", ctypes.c_int), ("family", ctypes.c_char_p),
                ("dim", ctypes.c_int64 * 4), ("ld", ctypes.c_int64 * 6), ("offset", ctypes.c_int64),
                ("alpha", ctypes.c_float), ("beta", ctypes.c_float), ("eps", ctypes.c_float),
                ("sm", ctypes.c_uint32), ("sm_count", ctypes.c_uint32),
                ("reserved", ctypes.c_uint64 * 6)]


class Operand(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("role", ctypes.c_int), ("dtype", ctypes.c_int),
                ("data", ctypes.c_void_p), ("dim", ctypes.c_int64 * 4), ("stride", ctypes.c_int64 * 4),
                ("n_dims", ctypes.c_uint32), ("align", ctypes.c_uint32)]


class Set(ctypes.Structure):
    _fields_ = [("index", ctypes.c_uint32), ("n_operands", ctypes.c_uint32), ("operand", Operand * 6),
                ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_size_t)]


CAN = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.POINTER(Case), ctypes.c_char_p, ctypes.c_size_t)
BYTES = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.POINTER(Case))
LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Set), ctypes.c_void_p)


class Plugin(ctypes.Structure):
    _fields_ = [("abi_major", ctypes.c_uint32), ("abi_minor", ctypes.c_uint32),
                ("struct_size", ctypes.c_uint32), ("sm_floor", ctypes.c_uint32),
                ("text", ctypes.c_char_p * 6), ("build", ctypes.c_char_p * 4),
                ("needs", ctypes.c_uint64), ("traits", ctypes.c_uint64),
                ("entries", ctypes.c_void_p), ("n_entries", ctypes.c_uint64),
                ("limits", ctypes.c_void_p), ("n_limits", ctypes.c_uint64),
                ("accepts", ctypes.c_void_p), ("workspace_bytes", ctypes.c_void_p),
                ("prepare", ctypes.c_void_p), ("launch", ctypes.c_void_p)]


class Kernel:
    """One module; without a prepare of its own, the state of a launch is the case."""

    def __init__(self, folder, ident):
        library = ctypes.CDLL(str(folder / f"rung-{ident}.cuda.so"))
        self.plugin = Plugin.in_dll(library, f"rung_plugin_{ident}_cuda")
        if self.plugin.abi_major != 1 or self.plugin.prepare:
            raise OSError(f"{ident}: not a kernel of ABI 1 without prepare")

    def bind(self, family, tensors, ld):
        rows, cols = tensors[0].shape
        props = torch.cuda.get_device_properties(0)
        case = Case(ctypes.sizeof(Case), 1, family.encode(), (rows, cols, 0, 0), ld, 0, 1.0, 0.0, EPS,
                    props.major * 10 + props.minor, props.multi_processor_count)
        reason = ctypes.create_string_buffer(256)
        if self.plugin.accepts and not CAN(self.plugin.accepts)(case, reason, 256):
            return None
        operands = Set(0, len(tensors))
        for i, t in enumerate(tensors):
            shape = (1, *t.shape) if t.dim() == 1 else t.shape
            operands.operand[i] = Operand(b"", 1, 1, t.data_ptr(), (*shape, 1, 1),
                                          (shape[1], 1, 0, 0), 2, 256)
        if self.plugin.workspace_bytes:
            need = BYTES(self.plugin.workspace_bytes)(case)
            self.workspace = torch.zeros(max(need, 1), dtype=torch.uint8, device="cuda")
            operands.workspace, operands.workspace_bytes = self.workspace.data_ptr(), need
        launch = LAUNCH(self.plugin.launch)

        def run(case=case, operands=operands):
            if launch(ctypes.addressof(case), operands, torch.cuda.current_stream().cuda_stream):
                raise RuntimeError("launch failed")
        return run


# ---- the peers -----------------------------------------------------------------------------

def triton_kernels():
    import triton
    import triton.language as tl

    @triton.jit
    def rms(x, w, y, n, eps, BLOCK: tl.constexpr):
        row, at = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
        v = tl.load(x + row * n + at, mask=at < n, other=0.0)
        r = tl.rsqrt(tl.sum(v * v) / n + eps)
        tl.store(y + row * n + at, v * r * tl.load(w + at, mask=at < n, other=0.0), mask=at < n)

    @triton.jit
    def soft(x, y, n, BLOCK: tl.constexpr):
        row, at = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
        v = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
        e = tl.exp(v - tl.max(v))
        tl.store(y + row * n + at, e / tl.sum(e), mask=at < n)

    def warps(n):
        return 4 if n <= 2048 else 8 if n <= 8192 else 16 if n <= 32768 else 32

    def run_rms(x, w, y):
        n = x.shape[1]
        rms[(x.shape[0],)](x, w, y, n, EPS, BLOCK=triton.next_power_of_2(n), num_warps=warps(n))

    def run_soft(x, y):
        n = x.shape[1]
        soft[(x.shape[0],)](x, y, n, BLOCK=triton.next_power_of_2(n), num_warps=warps(n))
    return run_rms, run_soft


def implementations(family, sets, kernels, notes):
    """name -> a list of functions, one an operand set, each enqueueing one launch."""
    rms = family == "rmsnorm"
    n = sets[0]["x"].shape[1]
    out = {}

    def each(function):
        return [lambda s=s: function(s) for s in sets]

    def eager(s):
        if rms:
            return F.rms_norm(s["x"], (n,), s["w"], EPS)
        return torch.softmax(s["x"], 1)

    out["torch"] = each(eager)
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, w: F.rms_norm(x, (n,), w, EPS) if rms else torch.softmax(x, 1),
                             dynamic=False)
    out["torch.compile"] = each(lambda s: compiled(s["x"], s["w"]))
    try:
        run_rms, run_soft = triton_kernels()
        out["triton"] = each(lambda s: run_rms(s["x"], s["w"], s["y"]) if rms else run_soft(s["x"], s["y"]))
    except ImportError as missing:
        notes.add(f"triton left out: {missing}")
    try:
        from liger_kernel.ops.rms_norm import LigerRMSNormFunction
        if rms:
            out["liger"] = each(lambda s: LigerRMSNormFunction.apply(s["x"], s["w"], EPS))
    except ImportError as missing:
        notes.add(f"liger left out: {missing}")
    out["copy"] = each(lambda s: s["y"].copy_(s["x"]))
    for ident, kernel in kernels.items():
        if (ident[0] == "n") != rms:
            continue
        bound = [kernel.bind(family, [s["x"], s["w"], s["y"]] if rms else [s["x"], s["y"]],
                             (n, 0, n, 0, 0, 0) if rms else (n, n, 0, 0, 0, 0)) for s in sets]
        if bound[0]:
            out[ident] = bound
    return out


def check(name, run, s, rms):
    s["y"].fill_(float("nan"))
    got = run()
    got = s["y"] if got is None else got
    x = s["x"].double()
    want = (x * torch.rsqrt((x * x).mean(1, keepdim=True) + EPS) * s["w"].double()
            if rms else torch.softmax(x, 1))
    error = ((got.double() - want).abs() / want.abs().clamp_min(1e-30)).max().item()
    if not error < 1e-4:
        raise SystemExit(f"{name}: wrong result, relative error {error}")


def measure(family, rows, cols, kernels, rounds, notes):
    rms = family == "rmsnorm"
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    n_sets = min(64, max(2, -(-2 * l2 // (8 * rows * cols)) + 1))
    sets = [{"x": torch.randn(rows, cols, device="cuda"), "w": torch.randn(cols, device="cuda"),
             "y": torch.empty(rows, cols, device="cuda")} for _ in range(n_sets)]
    graphs, keep = {}, []
    for name, runs in implementations(family, sets, kernels, notes).items():
        try:
            if name != "copy":
                check(name, runs[0], sets[0], rms)
            for run in runs[:2]:
                run()
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                keep.append([run() for run in runs])
            graphs[name] = graph
        except (RuntimeError, torch.cuda.OutOfMemoryError, Exception) as failed:  # a peer's own limits
            notes.add(f"{name} at {rows}x{cols} left out: {str(failed).splitlines()[0][:100]}")
    time = {name: [] for name in graphs}
    repeat = {}
    for name, graph in graphs.items():
        ms = replay(graph, 3) / (3 * n_sets)
        repeat[name] = max(1, min(200, int(2.0 / (ms * n_sets + 1e-6))))
    for _ in range(rounds):
        for name in random.sample(list(graphs), len(graphs)):
            time[name].append(replay(graphs[name], repeat[name]) / (repeat[name] * n_sets))
    return {name: (statistics.median(t) * 1e3,
                   statistics.median(a / b for a, b in zip(time["torch"], t)))
            for name, t in time.items()}


def replay(graph, times):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    graph.replay()
    begin.record()
    for _ in range(times):
        graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--modules", type=pathlib.Path, default=pathlib.Path("build/modules"))
    p.add_argument("--shapes", default=SHAPES)
    p.add_argument("--rounds", type=int, default=21)
    p.add_argument("--out", type=pathlib.Path)
    o = p.parse_args()
    if not torch.cuda.is_available():
        sys.exit("compare_torch.py: skipped: torch sees no GPU")
    notes, kernels, table = set(), {}, []
    for ident in ("n4", "n5", "s4", "s5"):
        try:
            kernels[ident] = Kernel(o.modules, ident)
        except OSError as missing:
            notes.add(f"{ident} left out: {missing}")
    random.seed(1)
    print(f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}; µs a launch (times as fast as torch)")
    for family in ("rmsnorm", "softmax"):
        for shape in o.shapes.split(","):
            rows, cols = map(int, shape.split("x"))
            got = measure(family, rows, cols, kernels, o.rounds, notes)
            table.append({"family": family, "shape": shape, "us": {k: v[0] for k, v in got.items()},
                          "ratio": {k: v[1] for k, v in got.items()}})
            print(f"{family} {shape}: " + "  ".join(f"{k} {v[0]:.2f} ({v[1]:.2f})"
                                                  for k, v in got.items()), flush=True)
            torch.cuda.empty_cache()
    for note in sorted(notes):
        print(note)
    if o.out:
        o.out.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
