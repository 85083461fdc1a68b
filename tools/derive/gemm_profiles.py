#!/usr/bin/env python3
"""Fits the matrix-product part of configs/kernel_efficiency/*.yaml to measured products.

The equation is that of ops/kernels/gemm.hpp; the loss is the mean |ln(predicted / measured)| over a random
half of the rows (the other half is only reported). Prints one YAML block per GPU and kind of product.

Usage: tools/derive/gemm_profiles.py --data ../shared/data     (needs numpy and scipy)
"""
import argparse
import csv
import glob
import gzip
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

# GPU -> SMs, FP32 FLOP/s, tensor FLOP/s, DRAM B/s at the clocks of the measurements (data sheets).
GPUS = {
    "Tesla V100-PCIE-32GB": (80, 14.13e12, 112e12, 898e9),
    "Tesla P100-PCIE-16GB": (56, 9.34e12, 0, 732e9),
    "NVIDIA A100-PCIE-40GB": (108, 19.49e12, 312e12, 1555e9),
    "NVIDIA H100 80GB HBM3": (132, 66.9e12, 989e12, 3352e9),
    "a100": (108, 19.49e12, 312e12, 2039e9),
    "h100": (132, 66.9e12, 989e12, 3352e9),
}
# rows, columns, warps: from the kernel names in the NeuSight files (cuBLAS calls the columns first).
SGEMM = [(128, 128, 8), (64, 128, 4), (64, 64, 2), (32, 128, 4), (128, 32, 4), (32, 64, 4), (32, 32, 4)]
# Small tiles rarely win among NeuSight's large products, so the fit is drawn (weakly) towards their rates relative
# to the largest tile in DLRM's small V100 products (iteration_kernel_traces_v100, gemm_samples_v100).
SMALL_TILES = np.array([1, 0.98, 0.96, 0.89, 0.70, 0.71, 0.59])
TENSOR_SHAPES = np.array([1, 1, 0.98, 0.85, 0.7])  # likewise, from A100's products
TENSOR = [(128, 256, 8), (256, 128, 8), (128, 128, 4), (64, 256, 4), (64, 64, 4)]
SPLITS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128]
SHORTEST = 150e-6  # s: below, NeuSight's latencies are those of the host
FULL_WARPS = 16    # warps an SM needs at most to reach its full rate


def neusight(folder: Path, operator: str, device: str):
    """[batch, rows, columns, depth, seconds]; NeuSight's N is the depth, its K the columns."""
    files = glob.glob(f"{folder}/train/collect/{operator}/p2.1.0/{device}.csv.gz") or [f"{folder}/test/{operator}.csv.gz"]
    rows = []
    for file in files:
        with gzip.open(file, "rt") as text:
            for row in csv.DictReader(text):
                if row["Device"] != device or float(row["Latency"]) * 1e-3 < SHORTEST:
                    continue
                batch, m, depth, columns = (int(float(row[key])) for key in "BMNK")
                rows.append((batch, m, columns, depth, float(row["Latency"]) * 1e-3))
    rows = np.array(rows, float)
    sizes = rows[:, 1:4]
    return rows[(sizes.min(1) >= 16) & (sizes.max(1) <= 40000)]


def vidur(folder: Path):
    """FP16 products of transformer layers; times are means over the models that share a shape."""
    found = {}
    for file in sorted(folder.glob("*.csv.gz")):
        with gzip.open(file, "rt") as text:
            for row in csv.DictReader(text):
                try:
                    tokens, split = int(row["num_tokens"]), int(row["num_tensor_parallel_workers"])
                    width, wide = int(row["n_embd"]), int(row["n_expanded_embd"])
                    head = width // int(row["n_head"])
                    heads = int(row["n_head"]) + 2 * int(row["n_kv_head"])
                except ValueError:
                    continue
                up = (2 if row["use_gated_mlp"] == "True" else 1) * wide
                shapes = {"attn_pre_proj": (heads * head // split, width), "attn_post_proj": (width, width // split),
                          "mlp_up_proj": (up // split, width), "mlp_down_proj": (width, wide // split)}
                for name, (columns, depth) in shapes.items():
                    time = row.get(f"time_stats.{name}.median")
                    if time:
                        found.setdefault((tokens, columns, depth), []).append(float(time) * 1e-3)
    return np.array([(1, *shape, np.mean(times)) for shape, times in sorted(found.items())], float)


def predict(rows, parameters, tiles, splits, gpu, peak, element):
    sms, dram = gpu[0], gpu[3]
    batch, m, n, k, _ = rows.T
    efficiency = parameters[:len(tiles)]
    fixed_depth, half_warps, memory, fixed = parameters[len(tiles):]
    best = np.full(len(rows), np.inf)
    for (tile_rows, tile_columns, warps), fraction in zip(tiles, efficiency):
        count = batch * np.ceil(m / tile_rows) * np.ceil(n / tile_columns)
        for split in splits:
            blocks = np.ceil(count * split / sms)
            resident = np.minimum(blocks * warps, FULL_WARPS)
            full = resident / (resident + half_warps) * (FULL_WARPS + half_warps) / FULL_WARPS
            compute = 2 * blocks * tile_rows * tile_columns * (np.ceil(k / split) + fixed_depth) / (
                peak / sms * fraction * full)
            moved = element * batch * (m * k + k * n + m * n * (1 if split == 1 else split + 2))
            time = np.maximum(compute, moved / (dram * memory)) + fixed * (1 if split == 1 else 1.5)
            best = np.minimum(best, time if split == 1 else np.where(k / split >= 32, time, np.inf))
    return best


def fit(rows, tiles, splits, gpu, peak, element, floor):
    low = np.log([0.3] * len(tiles) + [2, 0.2, 0.5, floor[0]])
    high = np.log([1.0] * len(tiles) + [80, 8, 0.95, floor[1]])
    half = np.random.default_rng(0).permutation(len(rows))[:min(500, len(rows) // 2)]
    sample = rows[half]

    def loss(x):
        outside = np.sum(np.maximum(0, low - x) + np.maximum(0, x - high))
        inside = np.exp(np.clip(x, low, high))
        drawn = 0.01 * np.sum(np.log(inside[:len(tiles)] / inside[0] / prior) ** 2)
        return outside + drawn + np.mean(np.abs(np.log(predict(sample, inside, tiles, splits, gpu, peak, element) / sample[:, 4])))

    prior = {len(SGEMM): SMALL_TILES, len(TENSOR): TENSOR_SHAPES}.get(len(tiles), SMALL_TILES[[0, 2, 4, 6]][:len(tiles)])
    x = np.log(np.array([*(0.85 * prior)] + [15, 1, 0.8, np.sqrt(floor[0] * floor[1])]))
    for _ in range(4):
        x = minimize(loss, x, method="Nelder-Mead", options={"maxiter": 800, "xatol": 1e-3, "fatol": 1e-5, "adaptive": True}).x
        x = np.clip(x, low, high)
    return np.exp(x), np.delete(rows, half, axis=0)


def report(title, parameters, tiles, held_out, predicted):
    error = np.abs(predicted / held_out[:, 4] - 1)
    print(f"# {title}: {len(held_out)} rows not fitted, mean |error| {100 * error.mean():.1f} %, "
          f"geometric mean {100 * np.exp(np.log(error + 4e-4).mean()):.1f} %")
    for (rows, columns, warps), fraction in zip(tiles, parameters):
        print(f"  - {{rows: {rows}, columns: {columns}, warps: {warps}, efficiency: {fraction:.3f}}}")
    depth, half_warps, memory, fixed = parameters[len(tiles):]
    print(f"  fixed_depth: {depth:.1f}\n  half_warps: {half_warps:.2f}\n  memory: {memory:.2f}\n  # fixed: {fixed * 1e6:.1f} us\n", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, required=True)
    data = arguments.parse_args().data / "kernels"
    single = [(device, "linear", SGEMM, SPLITS) for device in list(GPUS)[:4]]
    batched = [("Tesla V100-PCIE-32GB", "bmm", [(64, 64, 2)], [1]), ("Tesla P100-PCIE-16GB", "bmm", [(64, 128, 4)], [1]),
               ("NVIDIA A100-PCIE-40GB", "bmm", [(128, 128, 8)], [1]),
               ("NVIDIA H100 80GB HBM3", "bmm", [(128, 128, 8), (64, 64, 4), (32, 128, 4), (32, 32, 4)], [1])]
    for device, operator, tiles, splits in single + batched:
        rows = neusight(data / "neusight" / "dataset", operator, device)
        gpu = GPUS[device]
        found, rest = fit(rows, tiles, splits, gpu, gpu[1], 4, (5e-6, 60e-6))
        report(f"{device} {operator}, FP32", found, tiles, rest, predict(rest, found, tiles, splits, gpu, gpu[1], 4))
    for name in ("a100", "h100"):
        rows, gpu = vidur(data / "vidur_mlp" / name), GPUS[name]
        found, rest = fit(rows, TENSOR, SPLITS[:8], gpu, gpu[2], 2, (2e-6, 4e-6))
        report(f"{name}, FP16", found, TENSOR, rest, predict(rest, found, TENSOR, SPLITS[:8], gpu, gpu[2], 2))


if __name__ == "__main__":
    main()
