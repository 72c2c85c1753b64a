#!/usr/bin/env python3
"""torch-timing.py TESSERA DEVICE OUT.csv: times cuBLAS through PyTorch and through `tessera bench 0`.

Both call cuBLAS on the same products in the same way: row-major operands in device memory, uniform in [-1, 1), one
sample a graph of many products between two events, queued behind work that fills the launch; sample after sample for
the same time; the median counts. Each product is timed by PyTorch, by tessera, and by PyTorch again, so that a drift of
the card's clocks is in both. Needs PyTorch on a machine with a card; exits with 1 if a ratio is off by more than LIMIT.
"""
import csv
import io
import json
import math
import os
import re
import statistics
import subprocess
import sys

import torch

LIMIT = 0.02
SECONDS = 2.0
CASES = [("f32", size) for size in (1024, 2048, 4096, 8192)] + [("bf16", size) for size in (2048, 4096, 8192)]
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
FILLER_CYCLES = 1000000  # half a millisecond, longer than it takes to launch a graph


def seconds_of(work):
    """Seconds on the card's clock of what `work` queues."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(FILLER_CYCLES)
    start.record()
    work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


def make_graph(product, repeats):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            product()
    return graph


def time_torch(kind, size):
    """Samples of the seconds of one product."""
    torch.manual_seed(1)
    make = lambda: (torch.rand(size, size, device="cuda") * 2 - 1).to(TYPES[kind])
    a, b, c = make(), make(), make()
    product = lambda: torch.matmul(a, b, out=c)
    for _ in range(3):
        once = seconds_of(product)
    repeats = min(500, max(1, math.ceil(SECONDS / 40 / once)))
    graph = make_graph(product, repeats)
    seconds_of(graph.replay)
    samples, spent = [], 0.0
    while spent < SECONDS:
        sample = seconds_of(graph.replay)
        samples.append(sample / repeats)
        spent += sample
    return samples


def time_tessera(tessera, device, kind, size, environment):
    """The row of `bench 0`; None if it failed."""
    command = [tessera, "bench", "0", "--device", device, "--sizes", str(size), "--type", kind, "--peer", "cublas",
               "--mode", "continuous", "--min-time", str(SECONDS), "--max-time", str(SECONDS), "--no-verify",
               "--quiet", "--csv", "-"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    if done.returncode != 0:
        print("tessera failed: " + done.stderr.strip(), flush=True)
        return None
    return next(csv.DictReader(io.StringIO(done.stdout)))


def loaded_libraries():
    """The files of CUDA's libraries that this process uses, by name."""
    torch.matmul(torch.rand(64, 64, device="cuda"), torch.rand(64, 64, device="cuda"))
    with open("/proc/self/maps") as maps:
        paths = set(re.findall(r"(/\S*/(lib(?:cublas|cublasLt|cuda|nvrtc|nvidia-ml)\.so[.\d]*))$", maps.read(), re.M))
    return {name: path for path, name in paths}


def same_cublas(libraries):
    """An environment in which tessera finds the cuBLAS of PyTorch, beside the driver and NVRTC it finds by itself."""
    cublas = [os.path.dirname(path) for name, path in libraries.items() if name.startswith("libcublas.so")]
    environment = dict(os.environ)
    if cublas:
        environment["LD_LIBRARY_PATH"] = ":".join(cublas + [environment.get("LD_LIBRARY_PATH", "")]).rstrip(":")
    return environment


def tessera_cublas(tessera, environment):
    """The version of cuBLAS that tessera finds."""
    done = subprocess.run([tessera, "devices", "--json", "-"], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        return json.loads(done.stdout)["context"]["libraries"]["cuBLAS"]
    except (ValueError, KeyError):
        return "unknown"


def main():
    tessera, device, out = sys.argv[1:4]
    torch.backends.cuda.matmul.allow_tf32 = False
    if hasattr(torch.backends.cuda, "preferred_blas_library"):
        torch.backends.cuda.preferred_blas_library("cublas")
    libraries = loaded_libraries()
    environment = same_cublas(libraries)
    ours = tessera_cublas(tessera, environment)
    print(f"cuBLAS: torch {' '.join(sorted(n for n in libraries if 'cublas' in n))}, tessera {ours}", flush=True)
    rows = []
    for kind, size in CASES:
        before = time_torch(kind, size)
        row = time_tessera(tessera, device, kind, size, environment)
        if row is None:
            continue
        samples = sorted(before + time_torch(kind, size))
        theirs, mine = statistics.median(samples) * 1e3, float(row["time_ms"])
        tenth = len(samples) // 10
        rows.append({"type": kind, "m": size, "n": size, "k": size, "mode": "continuous",
                     "torch_ms": theirs, "torch_p10_ms": samples[tenth] * 1e3, "torch_p90_ms": samples[-1 - tenth] * 1e3,
                     "torch_samples": len(samples), "tessera_ms": mine, "tessera_p10_ms": row["p10_ms"],
                     "tessera_p90_ms": row["p90_ms"], "tessera_samples": row["samples"], "ratio": mine / theirs,
                     "clock_mhz": row["clock_mhz"], "power_w": row["power_w"], "throttled": row["throttled"]})
        print(f"{kind:5} {size:5}  torch {theirs:9.4f} ms  tessera {mine:9.4f} ms  ratio {mine / theirs:.4f}"
              f"  {row['throttled']}", flush=True)
    if not rows:
        return 1
    with open(out, "w", newline="") as file:
        file.write(f"# model: {torch.cuda.get_device_name()}\n# torch: {torch.__version__}, CUDA {torch.version.cuda}\n")
        file.write("# cublas: " + " ".join(sorted(n for n in libraries if "cublas" in n)) + "\n")
        file.write(f"# tessera_cublas: {ours}\n")
        file.write("# command: sh scripts/gpu.sh torch\n")
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    worst = max(abs(row["ratio"] - 1) for row in rows)
    print(f"worst difference {100 * worst:.2f} % of {len(rows)} products; the limit is {100 * LIMIT:.0f} %")
    return 1 if worst > LIMIT or len(rows) < len(CASES) else 0


if __name__ == "__main__":
    sys.exit(main())
