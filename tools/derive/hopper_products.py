#!/usr/bin/env python3
"""Fits the tensor-core products of configs/kernel_efficiency/hopper_cublas_13.yaml to calibration/measurements.

The equation and the way of fitting are those of gemm_profiles.py; rows are cuBLAS 13.1's of up to 1 ms, at a clock within 5 % of the boost's. Two in
three of the weight have kernels' own times: products of training steps (step_products.csv) and single ones (pytorch_products.csv). The others are single
ones timed by two events each (gemm.csv), less what events have beside a short kernel; what they have beside a product is one more constant, `timing`,
and no part of the profile. Prints a YAML block for 16 bits and for TF32, its errors on the rows that were not fitted and on the other GPU's, and what
rows leave of the rate that are no multiple of 16 bytes (pytorch_products.csv).

Usage: /usr/bin/python3 tools/derive/hopper_products.py     (needs numpy and scipy)
"""
import argparse
import math
from pathlib import Path

import numpy as np

from gemm_profiles import RANGES, Fit, SPLITS, fit, predict

MEASUREMENTS = Path(__file__).resolve().parents[2] / "calibration" / "measurements"
# SMs, FP32, tensor cores' (by type, below), memory: data sheets
GPUS = {"h100": (132, 66.9e12, 0, 3352e9), "h200": (132, 66.9e12, 0, 4800e9)}
PEAKS = {"fp16": 989.4e12, "bf16": 989.4e12, "tf32": 494.7e12}
BYTES = {"fp16": 2, "bf16": 2, "tf32": 4}
EVENTS = 1.4e-6  # s: host_call.csv, kernel_between_events less the 1.3 us of the kernel itself
BOOST = 1880     # MHz, of 1980
FLOOR = (1e-6, 5e-6)  # s: least and most of `fixed`
TILES = {(128, 256, 8): 1, (256, 128, 8): 1, (192, 192, 8): 1, (128, 128, 4): 0.98, (64, 256, 4): 0.85, (64, 128, 4): 0.8, (64, 64, 4): 0.7}
# TF32's by the kernels' names (sm90_xmma_gemm_f32f32_tf32f32_f32_*_tilesize*, and cutlass_80's of few tiles)
TF32_TILES = {(128, 256, 8): 1, (256, 128, 8): 1, (128, 128, 4): 0.98, (64, 128, 4): 0.8, (128, 64, 4): 0.8, (64, 64, 4): 0.7}

RANGES["memory"] = (0.80, 0.83, 0.95)  # of TF32 given: narrow products move 2.6 to 2.7 of 3.35 TB/s (16,384 x 64 x 16,384); free it pays for tiles
RANGES["fixed_depth"] = (2, 60, 600)  # a tile's first loads and last stores, beside faster products than the other GPUs'


def table(file):
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    names = lines[0].split(",")
    return [dict(zip(names, line.split(","))) for line in lines[1:]]


def row_bytes(row):
    """The largest power of two, up to 16, that divides the bytes of a row of each matrix."""
    size, layout = BYTES[row["type"]], row["layout"]
    m, n, k = (int(row[key]) for key in "mnk")
    rows = (m if layout[0] == "t" else k, k if layout[1] == "t" else n, n)
    return min(math.gcd(length * size, 16) for length in rows)


def across_k(layout):
    """Of how many operands the rows do not run along k."""
    return (layout[0] == "t") + (layout[1] == "n")


def measured(gpu, types):
    """[batch, m, n, k, seconds, operands whose rows do not run along k, 1: by events] of aligned products."""
    found = []
    for row in table(MEASUREMENTS / gpu / "gemm.csv"):
        seconds = float(row["median_us"]) * 1e-6 - EVENTS
        if (row["type"] in types and row["library"] == "cublas" and row["cache"] == "cold" and row["batch"] == "1"
                and row_bytes(row) == 16 and float(row["sm_clock_mhz"]) >= BOOST and 3e-6 < seconds < 1e-3 and min(int(row[key]) for key in "mnk") >= 16):
            found.append((1, int(row["m"]), int(row["n"]), int(row["k"]), seconds, across_k(row["layout"]), 1))
    return np.array(found, float)


def own_times(gpu, types):
    """As measured(), of kernels' own times: the median of each type and size in single products and in training steps."""
    found = {}
    for name, column in (("pytorch_products.csv", "median_us"), ("step_products.csv", "mean_us")):
        for row in table(MEASUREMENTS / gpu / name):
            sizes = [int(row.get("batch", 1))] + [int(row[key]) for key in "mnk"]
            if row["type"] in types and row_bytes(row) == 16 and float(row[column]) < 1e3 and min(sizes[1:]) >= 16:
                found.setdefault((name, row["type"] if name[0] == "p" else "", row["layout"], *sizes), []).append(float(row[column]) * 1e-6)
    return np.array([(*key[3:], np.median(times), across_k(key[2]), 0) for key, times in sorted(found.items())], float)


def alike(rows):
    """Weights with which kernels' own times count twice as much as those by events, and of each the orientations as much as each other, as a
    training step has them: forward, the input's gradient, the weight's."""
    kinds, index, counts = np.unique(rows[:, 5:7], axis=0, return_inverse=True, return_counts=True)
    return np.where(rows[:, 6] == 0, 2, 1) / counts[index.ravel()]


def of(gpu, types):
    peak = PEAKS[types[0]]
    sms, fp32, _, memory = GPUS[gpu]
    rows, machine = np.vstack([own_times(gpu, types), measured(gpu, types)]), (sms, fp32, peak, memory)
    title = f"{gpu} {'/'.join(types)}"
    free = ("fixed_depth", "half_warps", "fixed", "timing")
    if types[0] != "tf32":
        return Fit(title, rows, machine, peak, BYTES[types[0]], False, TILES, SPLITS[:8], FLOOR, ("memory", *free), weights=alike)
    # TF32's own instructions read both operands along k: others are transposed on their way
    return Fit(title, rows, machine, peak, BYTES["tf32"], False, TF32_TILES, SPLITS[:8], FLOOR, (*free, "one_across_k", "both_across_k"),
               {"memory": 0.80}, weights=alike)


def tell(title, rows, predicted):
    for events, low, high in ((events, *span) for events in (0, 1) for span in ((0, 1e-5), (1e-5, 5e-5), (5e-5, 1))):
        part = (rows[:, 4] >= low) & (rows[:, 4] < high) & (rows[:, 6] == events)
        if part.any():
            signed = np.log(predicted[part] / rows[part, 4])
            error = np.abs(predicted[part] / rows[part, 4] - 1)
            print(f"#   {title}, {'by events' if events else 'own times'}, {low * 1e6:.0f} us on: {part.sum()} rows, mean {100 * error.mean():.1f} %, geometric "
                  f"{100 * np.exp(np.log(error + 4e-4).mean()):.1f} %, bias {100 * signed.mean():+.1f} %")


def unaligned(gpu, type_, constants):
    """Means of the rate that rows which are so many bytes' multiple leave: what makes the loop over k, beside which a tile's fixed part loses
    nothing, as much longer than the aligned neighbour's as was measured."""
    times = {}
    for row in table(MEASUREMENTS / gpu / "pytorch_products.csv"):
        if row["type"] in type_:
            times[row["type"], row["layout"], int(row["m"]), int(row["n"]), int(row["k"])] = float(row["median_us"]), row_bytes(row)
    found, depth = {}, constants["fixed_depth"]
    for (name, layout, m, n, k), (time, bytes_) in times.items():
        aligned = times.get((name, layout, *(round(size / 8) * 8 if abs(size / 8 - round(size / 8)) * 8 <= 4 else size for size in (m, n, k))))
        if bytes_ < 16 and aligned and aligned[1] == 16 and aligned[0] > 30:
            loop = k / (1, constants["one_across_k"], constants["both_across_k"])[across_k(layout)]
            rate = k / (time / aligned[0] * (loop + depth) - depth)
            found.setdefault((bytes_, layout), []).append(rate)
    for key, rates in sorted(found.items()):
        print(f"#   {gpu} {'/'.join(type_)} {key}: {len(rates)} products, of the rate {np.exp(np.mean(np.log(rates))):.3f} ({min(rates):.3f} to {max(rates):.3f})")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", choices=["16", "tf32"])
    only = arguments.parse_args().only
    for name, types in (("16", ("fp16", "bf16")), ("tf32", ("tf32",))):
        if only not in (None, name):
            continue
        here, other = (of(gpu, types) for gpu in GPUS)
        efficiency, constants, held_out = fit(here)
        print(f"# {here.title}: {len(here.rows)} rows")
        tell("not fitted", held_out, predict(held_out, efficiency, constants, here))
        tell("H200's", other.rows, predict(other.rows, efficiency, constants, other))
        for across in (0, 1, 2) if name == "tf32" else ():
            rows = other.rows[other.rows[:, 5] == across]
            tell(f"H200's, {across} operands across k", rows, predict(rows, efficiency, constants, other))
        for gpu in GPUS:
            unaligned(gpu, types, constants)
        for (rows, columns, warps), fraction in zip(here.tiles, efficiency):
            print(f"  - {{rows: {rows}, columns: {columns}, warps: {warps}, efficiency: {fraction:.3f}}}")
        told = [key for key in here.free if key not in ("fixed", "timing")]
        print("".join(f"  {key}: {constants[key]:.2f}\n" for key in told) + f"  fixed: {constants['fixed'] * 1e6:.2f} us\n  # timing: "
              f"{constants['timing'] * 1e6:.2f} us", flush=True)


if __name__ == "__main__":
    main()
