"""numpy-timing.py LIBTESSERA-BLAS.so [FILE.csv [SIZES]]: how long NumPy's a @ b takes as it is, and with the library preloaded.

The same script runs in processes of its own with and without LD_PRELOAD, in turns; of each product the least time of a process, and
of the processes the median. Half a minute; fewer SIZES ("4,8") take less. Results of both are compared: they may differ by rounding alone.
"""
import csv
import json
import os
import statistics
import subprocess
import sys

ROUNDS = 5
SIZES = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]

CHILD = """
import json, sys, time
import numpy as np
found = {"numpy": np.__version__}
for n in json.loads(sys.argv[1]):
    for kind in "float32", "float64":
        random = np.random.default_rng(n)
        a, b = (random.random((n, n)).astype(kind) for _ in range(2))
        calls = max(1, min(20000, int(2e7 / (n ** 3 + 2e4))))
        times = []
        for _ in range(3 if n > 1024 else 7):
            begin = time.perf_counter()
            for _ in range(calls):
                c = a @ b
            times.append((time.perf_counter() - begin) / calls)
        found[f"{n} {kind}"] = [min(times) * 1e6, float(c.sum(dtype="float64"))]
print(json.dumps(found))
"""


def measure(preload, sizes):
    environment = dict(os.environ)
    if preload:
        environment["LD_PRELOAD"] = preload
    child = subprocess.run([sys.executable, "-c", CHILD, json.dumps(sizes)], env=environment, check=True,
                           capture_output=True, text=True)
    return json.loads(child.stdout)


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: python3 scripts/numpy-timing.py LIBTESSERA-BLAS.so [FILE.csv [SIZES]]")
    if subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True).returncode != 0:
        sys.exit(f"there is no NumPy for {sys.executable}")
    library = os.path.abspath(sys.argv[1])
    if not os.path.exists(library):
        sys.exit(f"there is no {library}; make builds it")
    sizes = [int(size) for size in sys.argv[3].split(",")] if len(sys.argv) > 3 else SIZES
    runs = [(measure(None, sizes), measure(library, sizes)) for _ in range(ROUNDS)]
    rows = []
    for case in [key for key in runs[0][0] if key != "numpy"]:
        size, kind = case.split()
        own, ours = (statistics.median(run[side][case][0] for run in runs) for side in (0, 1))
        sums = [run[side][case][1] for run in runs for side in (0, 1)]
        if max(sums) - min(sums) > 1e-5 * abs(sums[0]):
            sys.exit(f"{case}: the products differ: their elements add up to {min(sums)} and {max(sums)}")
        rows.append([runs[0][0]["numpy"], int(size), kind, f"{own:.3f}", f"{ours:.3f}", f"{own / ours:.2f}"])
    header = ["numpy", "size", "type", "own_us", "preloaded_us", "ratio"]
    for row in [header] + rows:
        print("  ".join(str(cell).rjust(12) for cell in row))
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header] + rows)


main()
