#!/usr/bin/env python3
"""Fits the convolution part of configs/kernel_efficiency/*.yaml, by the equations of ops/kernels/convolution.hpp.

Forward passes: NeuSight's 3 x 3 convolutions of 0.5 ms or more, each algorithm on the rows that used it, a random half
of them (all errors printed are the other half's). `--trace`: passes of a ResNet-50 step on V100 by the Kineto trace of
../shared/data/traces/resnet50_v100_loader_in_process, as measured / predicted at the rate of forward 3 x 3 ones.

Usage: tools/derive/convolution_profiles.py --data ../shared/data [--trace]     (needs numpy and scipy)
"""
import argparse
import collections
import csv
import gzip
import json
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import gemm_profiles as gemm

# GPU -> SMs, FP32 FLOP/s, DRAM B/s; tile, efficiency, fixed_depth and half_warps of its batched products (gemm_profiles).
GPUS = {
    "Tesla V100-PCIE-32GB": ((80, 14.13e12, 0, 898e9), (64, 64, 2), 0.840, 8.2, 4.68),
    "Tesla P100-PCIE-16GB": ((56, 9.34e12, 0, 732e9), (64, 128, 4), 0.937, 20.7, 1.59),
    "NVIDIA A100 80GB PCIe": ((108, 19.49e12, 0, 1935e9), (128, 128, 8), 0.947, 11.7, 0.32),
    "Tesla T4": ((40, 8.141e12, 0, 320e9), (64, 128, 4), 0.464, 2.0, 5.00),
    "Tesla P4": ((20, 5.443e12, 0, 192.2e9), (64, 128, 4), 0.734, 22.4, 4.05),
}
TRACE_GPU = (80, 15.7e12, 0, 898e9)  # V100-DGXS at 1530 MHz
TILES = [(128, 128, 8), (128, 64, 4), (128, 32, 4)]  # scudnn_128x128, 128x64, 128x32
REGIONS = [(1, 4, 8), (2, 4, 4), (4, 4, 2), (4, 2, 4), (2, 2, 8), (4, 1, 8)]  # scudnn_winograd_128x128 tile148, 244, ...
SHORTEST = 5e-4  # s
IMAGES = 16  # the unfused kernels compute whole groups of so many images (grids of all of NeuSight's)


def product(gpu, batch, m, n, k, tiles, efficiency, splits=(1,), **constants):
    m = np.asarray(m, float)
    rows = np.stack([np.broadcast_to(x, m.shape).astype(float) for x in (batch, m, n, k, 0)], axis=1)
    of = gemm.Fit("", rows, gpu, gpu[1], 4, False, tiles, splits, (), ())
    return gemm.predict(rows, efficiency, {**gemm.NEUTRAL, "memory": 1e9, "fixed": 0, **constants}, of)


def implicit(rows, x, device):
    batch, inputs, outputs, size = rows.T
    return product(GPUS[device][0], 1, batch * size**2, outputs, 9 * inputs, TILES, x[:3], (1, 2, 4, 8),
                   fixed_depth=x[3], half_warps=0.5) + x[4]


def fused(rows, x, device):
    batch, inputs, outputs, size = rows.T
    gpu = GPUS[device][0]
    tiles = np.ceil(size / 2)
    blocks = np.min([np.ceil(batch / b) * np.ceil(tiles / h) * np.ceil(tiles / w) for b, h, w in REGIONS], axis=0)
    return np.ceil(blocks * np.ceil(outputs / 32) / gpu[0]) * 2 * 16 * 32 * 32 * (inputs + 15) / (gpu[1] / gpu[0] * x[0]) + x[1]


def unfused(rows, x, device):
    batch, inputs, outputs, size = rows.T
    gpu, tile, efficiency, depth, half_warps = GPUS[device]
    tiles = np.ceil(batch / IMAGES) * IMAGES * np.ceil(size / 4)**2
    moved = 4 * (batch * (inputs + outputs) * size**2 + 36 * tiles * (inputs + outputs) + 45 * inputs * outputs)
    return product(gpu, 36, tiles, outputs, inputs, [tile], np.array([efficiency * x[0]]), memory=x[1],
                   fixed_depth=depth, half_warps=half_warps) + moved / (gpu[3] * x[1]) + x[2]


# Name in the kernels -> model, first guess, lowest, highest; the last is the call's time on the host, not used.
ALGORITHMS = {
    "implicit": (implicit, [0.8, 0.75, 0.7, 15, 5e-5], [0.3, 0.3, 0.3, 2, 5e-6], [1, 1, 1, 60, 1.5e-4]),
    "fused": (fused, [0.75, 5e-5], [0.3, 5e-6], [1, 1.5e-4]),
    "unfused": (unfused, [0.8, 0.7, 8e-5], [0.3, 0.3, 5e-6], [1, 0.95, 1.5e-4]),
}


def algorithm_of(kernels):
    return ("unfused" if "winograd_nonfused" in kernels else "fused" if "winograd" in kernels else
            "implicit" if "scudnn" in kernels else "other")


def read(folder, device):
    with gzip.open(folder / f"{device}.csv.gz", "rt") as text:
        rows = [row for row in csv.DictReader(text) if float(row["Latency"]) * 1e-3 >= SHORTEST]
    shapes = np.array([[float(row[key]) for key in ("B", "Input_Channel", "Output_Channel", "Input_Size")] for row in rows])
    return shapes, np.array([float(row["Latency"]) * 1e-3 for row in rows]), np.array([algorithm_of(row["Kernels"]) for row in rows])


def figures(predicted, measured):
    error = predicted / measured - 1
    return (f"geometric mean {100 * np.exp(np.log(np.abs(error) + 4e-4).mean()):.1f} %, mean {100 * np.abs(error).mean():.1f} %, "
            f"bias {100 * np.median(error):+.1f} %")


def fit(device, folder):
    shapes, times, used = read(folder, device)
    fitted = np.random.default_rng(0).permutation(len(times)) < len(times) // 2
    best = np.full((~fitted).sum(), np.inf)
    for name, (model, guess, low, high) in ALGORITHMS.items():
        rows = shapes[fitted & (used == name)]
        measured = times[fitted & (used == name)]
        low, x, high = np.log(low), np.log(guess), np.log(high)

        def loss(x):
            outside = np.sum(np.maximum(0, low - x) + np.maximum(0, x - high))
            return outside + np.mean(np.abs(np.log(model(rows, np.exp(np.clip(x, low, high)), device) / measured)))

        for _ in range(3):
            start = np.vstack([x, x + np.diag(np.full(len(x), -0.15))])
            x = np.clip(minimize(loss, x, method="Nelder-Mead", options={"maxiter": 500, "initial_simplex": start}).x, low, high)
        rest = ~fitted & (used == name)
        print(f"{device} {name}: {np.round(np.exp(x), 4)}; {rest.sum()} rows not fitted, "
              f"{figures(model(shapes[rest], np.exp(x), device), times[rest])}")
        best = np.minimum(best, model(shapes[~fitted], np.exp(x), device))
    print(f"{device} best of three, all {len(best)} rows not fitted: {figures(best, times[~fitted])}", flush=True)


def trace_passes(file, efficiency):
    """Medians of predicted / measured of the passes without Winograd, at the rate of forward 3 x 3 ones: of all, whose
    algorithms cuDNN guessed (`guessed`), and of those whose kernel is that of larger filters, volta_scudnn_* (`tuned`:
    what it would have found by timing them)."""
    with gzip.open(file) as text:
        events = [event for event in json.load(text)["traceEvents"] if event.get("ph") == "X"]
    kernels = collections.defaultdict(list)
    for event in events:
        if event["cat"] == "Kernel":
            kernels[event["args"]["external id"]].append((event["name"], event["dur"] * 1e-6))
    operators = collections.defaultdict(list)
    for event in sorted((e for e in events if e["cat"] == "Operator"), key=lambda e: e["ts"]):
        operators[event["name"]].append((event["args"].get("Input Dims", []), kernels.get(event["args"].get("External id"), [])))
    forward, data, weight = (operators["aten::cudnn_convolution" + part] for part in ("", "_backward_input", "_backward_weight"))
    steps, layers = 6, 53
    ratios, tuned = collections.defaultdict(list), collections.defaultdict(list)
    for layer in range(layers):
        (batch, inputs, size, _), (outputs, _, height, _) = forward[layer][0][:2]
        back = layers - 1 - layer
        images = [dims for dims in weight[back][0] if len(dims) == 4]
        after = next(dims for dims in images if dims[1] == outputs)[2]
        stride = size // after
        gather = lambda m, n, k, splits: product(TRACE_GPU, 1, [m], n, k, TILES, efficiency, splits, fixed_depth=12,
                                                 half_warps=0.5)[0]
        passes = [("1 x 1" if height == 1 else "larger", forward, layer, layers,
                   gather(batch * after**2, outputs, inputs * height**2, (1, 2, 4, 8)))]
        if inputs > 3:
            passes.append(("data", data, back, layers - 1,
                           gather(batch * size**2, inputs, outputs * height**2 / stride**2, (1, 2, 4, 8))))
        passes.append(("weight", weight, back, layers,
                       min(gather(inputs * height**2, outputs, batch * after**2, gemm.SPLITS),
                           gather(outputs, inputs * height**2, batch * after**2, gemm.SPLITS))))
        for name, table, index, count, predicted in passes:
            calls = [table[step * count + index][1] for step in range(steps)]
            if any("winograd" in kernel for kernel, _ in calls[0]):
                continue
            ratio = predicted / np.mean([sum(time for _, time in call) for call in calls])
            ratios[name].append(ratio)
            if any("scudnn" in kernel for kernel, _ in calls[0]):
                tuned[name].append(ratio)
    for chosen, passes in (("guessed", ratios), ("tuned", tuned)):
        for name, found in passes.items():
            print(f"ResNet-50 on V100, {chosen}, {name}: median {np.median(found):.2f} of the rate, "
                  f"{min(found):.2f} to {max(found):.2f}, {len(found)} layers")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, required=True)
    arguments.add_argument("--trace", action="store_true")
    arguments = arguments.parse_args()
    if arguments.trace:
        folder = arguments.data / "traces/resnet50_v100_loader_in_process"
        trace_passes(sorted(folder.glob("*.gz"))[0], np.array([0.947, 0.852, 0.819]))
        return
    for device in GPUS:
        fit(device, arguments.data / "kernels/neusight/dataset/train/collect/conv/p2.1.0")


if __name__ == "__main__":
    main()
