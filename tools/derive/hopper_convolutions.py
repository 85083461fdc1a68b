#!/usr/bin/env python3
"""Fits `tensor_convolution` of configs/kernel_efficiency/h100.yaml and `tf32_convolution` of hopper_cublas_13.yaml to calibration/measurements.

Rows are ResNet-50's convolutions in channels last, of filters of 3 x 3 and of strided ones of one pixel (all others are cuBLAS' products), cuDNN 9.19, on
an H100. Forward and the input's gradient share one set of tiles, the filters' gradient has one that splits k; equations: ops/kernels/gemm.hpp and
tensor_convolution.hpp. Prints constants and errors, those of the H200's rows, which are not fitted, apart; and what a tile of the copies between
layouts takes.

Usage: /usr/bin/python3 tools/derive/hopper_convolutions.py     (needs numpy and scipy)
"""
import collections
import csv
import math
import re
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

MEASUREMENTS = Path(__file__).resolve().parents[2] / "calibration" / "measurements"
SMS, FULL_WARPS = 132, 16
PEAK = {"bf16": 989.4e12, "tf32": 494.7e12}
BYTES = {"bf16": 2, "tf32": 4}
DRAM = {"h100": 3352e9, "h200": 4800e9}
HALF_WARPS = {"bf16": 0.46, "tf32": 0.2}  # as the products' of the type
MEMORY_OF_GRADIENT = 0.80
SPLITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)
SPLIT_LAUNCH, SHORTEST_DEPTH = 1.5, 32
TILES = {"bf16": [(128, 128, 4), (256, 64, 4)], "tf32": [(256, 128, 8), (128, 128, 4), (64, 256, 4), (128, 64, 4)]}
GRADIENT_TILES = [(128, 256, 8), (128, 128, 4), (64, 128, 4), (64, 64, 4)]
Row = collections.namedtuple("Row", "gpu kind shape m n k moved seconds")


def table(gpu):
    with open(MEASUREMENTS / gpu / "pytorch_images.csv", encoding="utf-8") as file:
        yield from (row for row in csv.DictReader(line for line in file if not line.startswith("#")) if row["operator"] == "conv")


def rows(kind):
    """Forward and input's gradient, and filters' gradient, of both GPUs."""
    found = ([], [])
    for gpu in DRAM:
        for row in table(gpu):
            batch, inputs, outputs, side, stride, size = shape = tuple(int(row[key]) for key in ("batch", "in", "out", "filter", "stride", "size"))
            if row["type"] != kind or row["order"] != "nhwc" or inputs == 3 or side == stride == 1:
                continue
            after, area = size // stride, side**2
            is_gradient = row["pass"] == "input_gradient"
            met = size**2 if side > 1 or is_gradient else after**2  # pixels that a strided filter of one meets
            moved = BYTES[kind] * (batch * (inputs * met + outputs * after**2) + inputs * outputs * area)
            m, n, k = {"forward": (batch * after**2, outputs, inputs * area),
                       "input_gradient": (batch * size**2, inputs, max(1, outputs * area // stride**2)),
                       "weight_gradient": (inputs * area, outputs, batch * after**2)}[row["pass"]]
            found[row["pass"] == "weight_gradient"].append(Row(gpu, row["pass"], shape, m, n, k, moved, float(row["median_us"]) * 1e-6))
    return found


def product(row, m, n, kind, tiles, efficiency, depth, memory, fixed, splits=(1,)):
    best = math.inf
    for split in splits:
        if split > 1 and row.k < split * SHORTEST_DEPTH:
            break
        moved = row.moved + (BYTES[kind] * m * n * (split + 1) if split > 1 else 0)
        for (down, across, warps), part in zip(tiles, efficiency):
            blocks = math.ceil(math.ceil(m / down) * math.ceil(n / across) * split / SMS)
            busy = min(blocks * warps, FULL_WARPS)
            full = busy / (busy + HALF_WARPS[kind]) * (FULL_WARPS + HALF_WARPS[kind]) / FULL_WARPS
            compute = 2 * blocks * down * across * (math.ceil(row.k / split) + depth) / (PEAK[kind] / SMS * part * full)
            best = min(best, max(compute, moved / (DRAM[row.gpu] * memory)) + fixed * (SPLIT_LAUNCH if split > 1 else 1))
    return best


def tell(title, of, predicted):
    for gpu in DRAM:
        error = np.array([abs(time / row.seconds - 1) for row, time in zip(of, predicted) if row.gpu == gpu])
        print(f"#   {title}, {gpu}: {len(error)} rows, mean {100 * error.mean():.1f} %, geometric {100 * np.exp(np.log(error + 4e-4).mean()):.1f} %")


def fit(title, of, equation, names, start, low, high):
    """Of the H100's rows: least mean |ln(predicted / measured)|, within bounds."""
    fitted = [row for row in of if row.gpu == "h100"]
    low, high = np.array(low), np.array(high)

    def loss(x):
        if np.any(x < low) or np.any(x > high):
            return 9
        return np.mean([abs(math.log(equation(row, x) / row.seconds)) for row in fitted])

    random, best = np.random.default_rng(2), None
    for _ in range(6):
        x = np.clip(np.array(start) * np.exp(random.normal(0, 0.2, len(start))), low + 1e-3, high - 1e-3)
        found = minimize(loss, x, method="Nelder-Mead", options={"maxiter": 1500, "xatol": 1e-3, "fatol": 1e-5})
        best = found if best is None or found.fun < best.fun else best
    tell(title, of, [equation(row, best.x) for row in of])
    print("  " + "\n  ".join(f"{name}: {value:.3f}" for name, value in zip(names, best.x)), flush=True)


def copies():
    """Nanoseconds of a tile of 32 x 32, of copies that fill the GPU."""
    found = collections.defaultdict(list)
    for gpu in DRAM:
        for row in table(gpu):
            if row["order"] != "nchw" or row["type"] != "bf16":
                continue
            batch, inputs, outputs, stride, size = (int(row[key]) for key in ("batch", "in", "out", "stride", "size"))
            tiles = {"in": batch * math.ceil(inputs / 32) * math.ceil(size**2 / 32), "out": batch * math.ceil(outputs / 32) * math.ceil((size // stride)**2 / 32)}
            of = {"forward": {"nchwToNhwc": "in", "nhwcToNchw": "out"}, "input_gradient": {"nchwToNhwc": "out", "nhwcToNchw": "in"}}.get(row["pass"], {})
            for way, which in of.items():
                times = [float(time) for time in re.findall(way + r"Kernel[^+]* ([0-9.]+)(?: \+|$)", row["names"])]
                if times and tiles[which] >= 12544:
                    found[gpu, way, "three" if which == "in" and inputs == 3 else "all"].append(max(times) * 1e3 / tiles[which])
    for key, times in sorted(found.items()):
        print(f"# {key}: {len(times)} copies, {min(times):.2f} to {max(times):.2f} ns a tile, median {np.median(times):.2f}")


def main():
    copies()
    for kind in PEAK:
        forward, gradient = rows(kind)
        count = len(TILES[kind])

        def both(row, x):
            part = 1 if row.kind == "forward" else x[3] if row.shape[4] == 1 else x[4]
            return product(row, row.m, row.n, kind, TILES[kind], part * x[5:], x[0], x[1], x[2] * 1e-6)

        def of_filters(row, x):
            return min(product(row, m, n, kind, GRADIENT_TILES, x[2:], x[0], MEMORY_OF_GRADIENT, x[1] * 1e-6, SPLITS) for m, n in ((row.m, row.n), (row.n, row.m)))

        fit(f"{kind}, forward and input's gradient", forward, both,
            ["fixed_depth", "memory", "fixed", "data_gradient", "strided_data_gradient"] + [f"{tile}" for tile in TILES[kind]],
            [150, 0.82, 4, 0.95, 0.8] + [0.75] * count, [0, 0.7, 2, 0.7, 0.5] + [0.35] * count, [260, 0.95, 7, 1, 1] + [0.97] * count)
        fit(f"{kind}, filters' gradient", gradient, of_filters, ["fixed_depth", "fixed"] + [f"{tile}" for tile in GRADIENT_TILES],
            [100, 8, 0.7, 0.65, 0.6, 0.5], [0, 2] + [0.2] * 4, [260, 12] + [0.95] * 4)


if __name__ == "__main__":
    main()
