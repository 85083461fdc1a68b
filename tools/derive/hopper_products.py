#!/usr/bin/env python3
"""Fits the tensor-core products of configs/kernel_efficiency/hopper_cublas_13.yaml, and TF32 of h100.yaml, to calibration/measurements.

The equation and the way of fitting are those of gemm_profiles.py; rows are cuBLAS 13.1's, single products, cold, of 3 us to 1 ms at a clock within 5 % of
the boost's, less what two events add to a kernel. Prints a YAML block for 16 bits and for TF32, its errors on the rows that were not fitted and on the other
GPU's, and what rows leave of the rate that are no multiple of 16 bytes.

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
TILES = {(128, 256, 8): 1, (256, 128, 8): 1, (192, 192, 8): 1, (128, 128, 4): 0.98, (64, 256, 4): 0.85, (64, 128, 4): 0.8, (64, 64, 4): 0.7}


RANGES["memory"] = (0.80, 0.83, 0.95)  # narrow products of TF32 move 2.6 to 2.7 of 3.35 TB/s (16,384 x 64 x 16,384); where it is free it pays for tiles
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


def measured(gpu, types, layouts):
    """[batch, m, n, k, seconds] of aligned products."""
    found = []
    for row in table(MEASUREMENTS / gpu / "gemm.csv"):
        seconds = float(row["median_us"]) * 1e-6 - EVENTS
        if (row["type"] in types and row["layout"] in layouts and row["library"] == "cublas" and row["cache"] == "cold" and row["batch"] == "1"
                and row_bytes(row) == 16 and float(row["sm_clock_mhz"]) >= BOOST and 3e-6 < seconds < 1e-3 and min(int(row[key]) for key in "mnk") >= 16):
            found.append((1, int(row["m"]), int(row["n"]), int(row["k"]), seconds))
    return np.array(found, float)


def of(gpu, types, layouts):
    peak = PEAKS[types[0]]
    sms, fp32, _, memory = GPUS[gpu]
    return Fit(f"{gpu} {'/'.join(types)}", measured(gpu, types, layouts), (sms, fp32, peak, memory), peak, BYTES[types[0]], False, TILES, SPLITS[:8],
               (1e-6, 9e-6), ("fixed_depth", "half_warps", "memory", "fixed"))


def tell(title, rows, predicted):
    for low, high in ((3e-6, 2e-5), (2e-5, 1e-4), (1e-4, 1)):
        part = (rows[:, 4] >= low) & (rows[:, 4] < high)
        if part.any():
            signed = np.log(predicted[part] / rows[part, 4])
            error = np.abs(predicted[part] / rows[part, 4] - 1)
            print(f"#   {title}, {low * 1e6:.0f} us on: {part.sum()} rows, mean {100 * error.mean():.1f} %, geometric "
                  f"{100 * np.exp(np.log(error + 4e-4).mean()):.1f} %, bias {100 * signed.mean():+.1f} %")


def unaligned(gpu):
    """Median of (time of a product whose rows are so many bytes' multiple) over that of its aligned neighbour."""
    times = {}
    for row in table(MEASUREMENTS / gpu / "pytorch_products.csv"):
        times[row["type"], row["layout"], int(row["m"]), int(row["n"]), int(row["k"])] = float(row["median_us"]), row_bytes(row)
    found = {}
    for (type_, layout, m, n, k), (time, bytes_) in times.items():
        aligned = times.get((type_, layout, *(round(size / 8) * 8 if abs(size / 8 - round(size / 8)) * 8 <= 4 else size for size in (m, n, k))))
        if bytes_ < 16 and aligned and aligned[1] == 16 and aligned[0] > 30:
            found.setdefault((type_, bytes_, layout), []).append(aligned[0] / time)
    for key, ratios in sorted(found.items()):
        print(f"#   {gpu} {key}: {len(ratios)} products, of the rate {np.exp(np.mean(np.log(ratios))):.3f} ({min(ratios):.2f} to {max(ratios):.2f})")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", choices=["16", "tf32", "unaligned"])
    only = arguments.parse_args().only
    for gpu in GPUS:
        if only in (None, "unaligned"):
            unaligned(gpu)
    # TF32's own instructions read both operands along k: with a transposed A there are other kernels.
    for name, types, layouts in (("16", ("fp16", "bf16"), ("nn", "nt", "tn")), ("tf32", ("tf32",), ("nn", "nt"))):
        if only not in (None, name):
            continue
        here, other = of("h100", types, layouts), of("h200", types, layouts)
        efficiency, constants, held_out = fit(here)
        print(f"# {here.title}: {len(here.rows)} rows")
        tell("not fitted", held_out, predict(held_out, efficiency, constants, here))
        tell("H200's", other.rows, predict(other.rows, efficiency, constants, other))
        if name == "tf32":
            for gpu in GPUS:
                transposed = of(gpu, types, ("tn",))
                ratio = predict(transposed.rows, efficiency, constants, transposed) / transposed.rows[:, 4]
                ratio = ratio[transposed.rows[:, 4] > 3e-5]
                print(f"#   {gpu}, transposed A: {len(ratio)} products, of the rate {np.exp(np.log(ratio).mean()):.2f} ({min(ratio):.2f} to {max(ratio):.2f})")
        for (rows, columns, warps), fraction in zip(here.tiles, efficiency):
            print(f"  - {{rows: {rows}, columns: {columns}, warps: {warps}, efficiency: {fraction:.3f}}}")
        print("".join(f"  {key}: {constants[key]:.2f}\n" for key in ("fixed_depth", "half_warps", "memory")) + f"  fixed: {constants['fixed'] * 1e6:.2f} us", flush=True)


if __name__ == "__main__":
    main()
