#!/usr/bin/env python3
"""Fits the matrix-product part of configs/kernel_efficiency/*.yaml to measured products.

The equation is that of ops/kernels/gemm.hpp; the loss is the mean |ln(predicted / measured)| over a random
half of the rows, at most 500 (the others are only reported). Up to how many tiles per SM k is split is no
part of the fit: NeuSight's grids tell it. Prints one YAML block per GPU and kind of product.

Usage: tools/derive/gemm_profiles.py --data ../shared/data     (needs numpy and scipy)
"""
import argparse
import csv
import glob
import gzip
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import numpy as np
from scipy.optimize import minimize

# GPU -> SMs, FP32 FLOP/s, tensor FLOP/s, DRAM B/s at the clocks of the measurements (data sheets).
GPUS = {
    "Tesla V100-PCIE-32GB": (80, 14.13e12, 112e12, 898e9),
    "Tesla P100-PCIE-16GB": (56, 9.34e12, 0, 732e9),
    "NVIDIA A100-PCIE-40GB": (108, 19.49e12, 312e12, 1555e9),
    "NVIDIA H100 80GB HBM3": (132, 66.9e12, 989e12, 3352e9),
    "Tesla T4": (40, 8.141e12, 65.1e12, 320e9),
    "Tesla P4": (20, 5.443e12, 0, 192.2e9),
    "a100": (108, 19.49e12, 312e12, 2039e9),
    "h100": (132, 66.9e12, 989e12, 3352e9),
}
# rows, columns, warps: from the kernel names in the NeuSight files (cuBLAS calls the columns first).
SGEMM = [(128, 128, 8), (64, 128, 4), (64, 64, 2), (32, 128, 4), (128, 32, 4), (32, 64, 4), (32, 32, 4)]
# Small tiles rarely win among NeuSight's large products, so the fit is drawn (weakly) towards their rates relative
# to the largest tile in DLRM's small V100 products (iteration_kernel_traces_v100, gemm_samples_v100).
SMALL_TILES = dict(zip(SGEMM, [1, 0.98, 0.96, 0.89, 0.70, 0.71, 0.59]))
# Those of A100's kernels, with the warps of their blocks (four and more tiles of 32 are "sliced": warps share k).
AMPERE = dict(zip([(128, 128, 8), (64, 128, 4), (64, 64, 2), (32, 128, 8), (128, 32, 8), (32, 64, 8), (32, 32, 4)],
                  SMALL_TILES.values()))
# H100's (sm80_xmma_gemm_*_tilesize*_warpsize* and CUTLASS's 256x128), drawn weakly towards the same order.
HOPPER = {(128, 128, 4): 1, (64, 256, 4): 1, (64, 64, 4): 0.9, (64, 128, 4): 0.9, (128, 64, 4): 0.9, (256, 128, 8): 1,
          (32, 128, 4): 0.8, (32, 64, 2): 0.7}
# All that cuBLAS 12 runs on P100, drawn towards the part of the peak they reach at half a dozen waves and more.
PASCAL = {(128, 32, 4): 1, (64, 64, 2): 0.8, (32, 128, 4): 0.7}
TURING = {tile: SMALL_TILES[tile] for tile in SGEMM[:5]}  # all that cuBLAS 12 runs on T4, but for a few rows
TENSOR = [(128, 256, 8), (256, 128, 8), (128, 128, 4), (64, 256, 4), (64, 64, 4)]
TENSOR_SHAPES = dict(zip(TENSOR, [1, 1, 0.98, 0.85, 0.7]))  # likewise, from A100's products
SPLITS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128]
SHORTEST = 150e-6  # s: below, NeuSight's latencies are those of the host
ALIGNMENT = 16     # bytes
MANY_ROWS = 8192   # rows of A from which long rows cost all that they can
FULL_WARPS = 16    # warps an SM needs at most to reach its full rate


def neusight_table(folder: Path, operator: str, device: str):
    files = glob.glob(f"{folder}/train/collect/{operator}/p2.1.0/{device}.csv.gz") or [f"{folder}/test/{operator}.csv.gz"]
    for file in files:
        with gzip.open(file, "rt") as text:
            yield from (row for row in csv.DictReader(text) if row["Device"] == device)


def most_tiles_to_split(folder: Path, device: str):
    """(tiles per SM that best tell whole products from split ones, share that they tell wrongly), by the grids."""
    seen = []
    for row in neusight_table(folder, "linear", device):
        tile = re.search(r"(\d+)x(\d+)", row["Kernel Name"])  # columns x rows, as cuBLAS calls them
        if tile:
            m, n = int(float(row["M"])), int(float(row["K"]))
            tiles = -(-n // int(tile[1])) * -(-m // int(tile[2]))
            blocks = int(row["Grid x"]) * int(row["Grid y"]) * int(row["Grid z"])
            seen.append((tiles / GPUS[device][0], blocks / tiles > 1.9))
    tiles, split = np.array(sorted(seen)).T
    wrong = np.cumsum(split == 0) + np.sum(split) - np.cumsum(split)
    return tiles[wrong.argmin()], wrong.min() / len(tiles)


def neusight(folder: Path, operator: str, device: str):
    """[batch, rows, columns, depth, seconds]; NeuSight's N is the depth, its K the columns."""
    rows = []
    for row in neusight_table(folder, operator, device):
        if float(row["Latency"]) * 1e-3 >= SHORTEST:
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


def rows_rate(product, constants, element, by_weight):
    """Of the rate of short and aligned rows; by_weight: both operands' rows run along k, as in a linear layer. A sixth
    column of the products, where there is one, says of how many operands they do not; a seventh whether they were timed by events."""
    m, n, k = product.T[1:4]
    other = k if by_weight else n
    aligned = ((k * element) % ALIGNMENT == 0) & ((other * element) % ALIGNMENT == 0)
    rate = np.where(aligned, 1, constants["unaligned"])
    if product.shape[1] > 5:
        rate = rate * np.array([1, constants["one_across_k"], constants["both_across_k"]])[product[:, 5].astype(int)]
    if not by_weight or constants["slowdown"] == 0:
        return rate
    is_long = np.clip((k * element / 1024 - constants["from"]) / (constants["to"] - constants["from"]), 0, 1)
    return rate / (1 + constants["slowdown"] * is_long * np.cbrt(np.minimum(1, m / MANY_ROWS)))


def reread(product, tile, split, sms):
    batch, m, n, k = product.T[:4]
    rows, columns, warps = tile
    down, across = np.ceil(m / rows), np.ceil(n / columns)
    wave = np.maximum(1, np.minimum(down * across, sms * max(1, FULL_WARPS // warps) / split))
    in_wave = np.minimum(across, wave)
    distinct = in_wave * columns + np.minimum(np.ceil(wave / in_wave) * rows, m)
    return batch * down * across / wave * distinct * k


def predict(rows, efficiency, constants, of):
    sms, dram = of.gpu[0], of.gpu[3] * constants["memory"]
    batch, m, n, k = rows.T[:4]
    rate = of.peak / sms
    of_rate = rows_rate(rows, constants, of.element, of.by_weight)
    half_warps = constants["half_warps"]
    best = np.full(len(rows), np.inf)
    for tile, fraction in zip(of.tiles, efficiency):
        tile_rows, tile_columns, warps = tile
        count = batch * np.ceil(m / tile_rows) * np.ceil(n / tile_columns)
        for split in of.splits:
            blocks = np.ceil(count * split / sms)
            resident = np.minimum(blocks * warps, FULL_WARPS)
            full = resident / (resident + half_warps) * (FULL_WARPS + half_warps) / FULL_WARPS
            compute = 2 * blocks * tile_rows * tile_columns * (np.ceil(k / split) / of_rate + constants["fixed_depth"]) / (
                rate * fraction * full)
            if constants["exposed"] > 0:
                compute += constants["exposed"] * of.element * reread(rows, tile, split, sms) / dram
            moved = of.element * batch * (m * k + k * n + m * n * (1 if split == 1 else split + 2))
            time = np.maximum(compute, moved / dram) + constants["fixed"] * (1 if split == 1 else 1.5)
            may_split = (k / split >= 32) & (count <= of.most_tiles_to_split * sms)
            best = np.minimum(best, np.where((split == 1) | may_split, time, np.inf))
    return best + (constants["timing"] * rows[:, 6] if rows.shape[1] > 6 else 0)


# Constant -> (lowest, first guess, highest); rows in KiB, `fixed` by the measurements' floor.
RANGES = {"fixed_depth": (2, 15, 80), "half_warps": (0.2, 1.3, 5), "memory": (0.5, 0.7, 0.95),
          "exposed": (0.005, 0.5, 1), "unaligned": (0.7, 0.95, 1), "slowdown": (0.05, 2, 5), "from": (4, 14, 60),
          "to": (60, 110, 400), "one_across_k": (0.5, 0.8, 1), "both_across_k": (0.3, 0.6, 1), "timing": (2e-7, 1.5e-6, 4e-6)}
NEUTRAL = {"timing": 0, "one_across_k": 1, "both_across_k": 1, "exposed": 0, "unaligned": 1, "slowdown": 0, "from": 0, "to": 1}


@dataclass
class Fit:
    """What is fitted: the kernels' tiles, how k may be split, and which of the constants are free."""
    title: str
    rows: np.ndarray
    gpu: tuple
    peak: float
    element: int
    by_weight: bool
    tiles: list
    splits: list
    floor: tuple
    free: tuple
    given: dict = field(default_factory=dict)
    most_tiles_to_split: float = np.inf
    weights: Callable = lambda rows: None  # of products; None: all alike

    def constants(self, values):
        return {**NEUTRAL, **self.given, **dict(zip(self.free, values))}


def fit(of):
    """(tile efficiencies, constants, rows that were not fitted)"""
    count = len(of.tiles)
    known = of.tiles if isinstance(of.tiles, dict) else {**SMALL_TILES, **TENSOR_SHAPES}
    prior = np.array([known[tile] for tile in of.tiles])
    floor = (of.floor[0], np.sqrt(of.floor[0] * of.floor[1]), of.floor[1])
    ranges = np.log([(0.3, 0.8 * part, 1) for part in prior] + [{**RANGES, "fixed": floor}[key] for key in of.free])
    low, x, high = ranges.T
    fitted = np.random.default_rng(0).permutation(len(of.rows))[:min(500, len(of.rows) // 2)]
    sample = of.rows[fitted]

    def loss(x):
        outside = np.sum(np.maximum(0, low - x) + np.maximum(0, x - high))
        inside = np.exp(np.clip(x, low, high))
        drawn = 0.01 * np.sum(np.log(inside[:count] / inside[0] / prior * prior[0]) ** 2)
        predicted = predict(sample, inside[:count], of.constants(inside[count:]), of)
        return outside + drawn + np.average(np.abs(np.log(predicted / sample[:, 4])), weights=of.weights(sample))

    random = np.random.default_rng(1)
    for _ in range(5):
        start = np.vstack([x, x + np.diag(random.choice([-0.15, 0.15], len(x)))])
        x = minimize(loss, x, method="Nelder-Mead", options={"maxiter": 800, "xatol": 1e-3, "fatol": 1e-5,
                                                             "adaptive": True, "initial_simplex": start}).x
        x = np.clip(x, low, high)
    found = np.exp(x)
    return found[:count], of.constants(found[count:]), np.delete(of.rows, fitted, axis=0)


def report(of):
    efficiency, constants, held_out = fit(of)
    predicted = predict(held_out, efficiency, constants, of)
    error = np.abs(predicted / held_out[:, 4] - 1)
    print(f"# {of.title}: {len(held_out)} rows not fitted, mean |error| {100 * error.mean():.1f} %, "
          f"geometric mean {100 * np.exp(np.log(error + 4e-4).mean()):.1f} %")
    for (rows, columns, warps), fraction in zip(of.tiles, efficiency):
        print(f"  - {{rows: {rows}, columns: {columns}, warps: {warps}, efficiency: {fraction:.3f}}}")
    print("".join(f"  {key}: {constants[key]:.{digits}f}\n" for key, digits in
                  (("fixed_depth", 1), ("half_warps", 2), ("memory", 2), ("exposed", 2), ("unaligned", 3)))
          + f"  long_rows: {{slowdown: {constants['slowdown']:.2f}, from: {constants['from']:.0f} KiB, "
          f"to: {constants['to']:.0f} KiB}}\n  # fixed: {constants['fixed'] * 1e6:.1f} us", flush=True)
    print(f"  most_tiles_to_split: {of.most_tiles_to_split:.2f}\n", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, required=True)
    arguments.add_argument("--only", help="part of a title, e.g. 'P100-PCIE-16GB linear'")
    arguments = arguments.parse_args()
    data = arguments.data / "kernels"
    only = lambda title: not arguments.only or arguments.only in title
    basic = ("fixed_depth", "half_warps", "memory", "fixed")
    v100, p100, a100, h100, t4, p4 = list(GPUS)[:6]
    # Only products of P100, P4 and T4 need more: on the others the same terms gain less than half a per cent. T4's,
    # of 8.1 TFLOPS and 320 GB/s, wait for memory; its long rows are no slower than its power limit explains.
    pascal = ("exposed", "unaligned", "slowdown", "from", "to")
    single = [(v100, "linear", SGEMM, SPLITS, ()), (p100, "linear", PASCAL, SPLITS, pascal),
              (a100, "linear", AMPERE, SPLITS, ()), (h100, "linear", HOPPER, SPLITS, ()),
              (t4, "linear", TURING, SPLITS, pascal[:2]), (p4, "linear", PASCAL, SPLITS, pascal)]
    # V100 splits with any number of tiles. P100's bound is 7, where splits have gained nothing: without it.
    bounded = (a100, h100)
    given = {a100: {"memory": 0.88}}  # of element-wise kernels: none of A100's rows is bound by memory
    batched = [(v100, "bmm", [(64, 64, 2)], [1], ()), (p100, "bmm", [(64, 128, 4)], [1], ()),
               (a100, "bmm", [(128, 128, 8)], [1], ()),
               (h100, "bmm", [(128, 128, 8), (64, 64, 4), (32, 128, 4), (32, 32, 4)], [1], ()),
               (t4, "bmm", [(64, 128, 4), (64, 64, 2), (32, 128, 4)], [1], ()), (p4, "bmm", [(64, 128, 4)], [1], ())]
    for device, operator, tiles, splits, more in single + batched:
        title = f"{device} {operator}, FP32"
        if only(title):
            folder = data / "neusight" / "dataset"
            known = given.get(device, {}) if operator == "linear" else {}
            of = Fit(title, neusight(folder, operator, device), GPUS[device], GPUS[device][1], 4, operator == "linear",
                     tiles, splits, (5e-6, 60e-6), tuple(key for key in basic + more if key not in known), known)
            if operator == "linear":
                tiles_per_sm, wrong = most_tiles_to_split(folder, device)
                print(f"# grids: k is split below {tiles_per_sm:.2f} tiles per SM, but for {100 * wrong:.1f} % of the products")
                if device in bounded:
                    of.most_tiles_to_split = tiles_per_sm
            report(of)
    for name in ("a100", "h100"):
        title = f"{name}, FP16"
        if only(title):
            report(Fit(title, vidur(data / "vidur_mlp" / name), GPUS[name], GPUS[name][2], 2, True, TENSOR, SPLITS[:8],
                       (2e-6, 4e-6), basic))


if __name__ == "__main__":
    main()
