#!/usr/bin/env python3
"""Fits `core_convolution` of configs/kernel_efficiency/hopper_cublas_13.yaml to calibration/measurements/h100/fp32_convolutions.csv.

Rows are the passes of the convolutions of ResNet-50 and Inception v3 in FP32 and NCHW, 64 images, cuDNN 9.19, on an H100: the kernels of each by Kineto,
medians of alike ones of a step. Each algorithm is fitted to the rows that used it; equations: ops/kernels/core_convolution.hpp and gemm.hpp. Prints
constants, errors, and rows more than a fifth off.

Usage: /usr/bin/python3 tools/derive/hopper_fp32_convolutions.py     (needs numpy and scipy)
"""
import csv
import math
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

ROWS = Path(__file__).resolve().parents[2] / "calibration" / "measurements" / "h100" / "fp32_convolutions.csv"
SMS, FULL_WARPS = 132, 16
PEAK, DRAM, STREAMS = 66.9e12, 3352e9, 0.926
MEMORY, FIXED = 0.90, 5e-6
SPECTRAL, DEPTH = 0.8, 34  # products of 64, 96, 128 and 256 channels alone reach 0.40, 0.48, 0.63 and 0.67 of the peak
FORWARD_TILES = [(256, 64, 4), (128, 32, 4), (32, 32, 2)]


class Pass:
    def __init__(self, row):
        self.kind, self.names = row["pass"], row["names"]
        self.batch, self.inputs, self.outputs, self.size, down, across, self.stride = (
            int(row[key]) for key in ("batch", "in", "out", "size", "filter_height", "filter_width", "stride"))
        self.side, self.area = max(down, across), down * across
        height, width = ((self.size + (side - 1) // 2 * 2 * int(row["padded"]) - side) // self.stride + 1 for side in (down, across))
        self.height, self.pixels, self.seconds = height, height * width, float(row["median_us"]) * 1e-6
        self.moved = 4 * (self.batch * (self.inputs * self.size**2 + self.outputs * self.pixels) + self.inputs * self.outputs * self.area)

    def ran(self, *kernels):
        return any(kernel in self.names for kernel in kernels)


def product(of, m, n, k, tiles, efficiency, depth, half_warps, batch=1):
    best = math.inf
    for (rows, columns, warps), part in zip(tiles, efficiency):
        blocks = math.ceil(batch * math.ceil(m / rows) * math.ceil(n / columns) / SMS)
        busy = min(blocks * warps, FULL_WARPS)
        full = busy / (busy + half_warps) * (FULL_WARPS + half_warps) / FULL_WARPS
        best = min(best, max(2 * blocks * rows * columns * (k + depth) / (PEAK / SMS * part * full), of.moved / (DRAM * MEMORY)))
    return best + FIXED


def forward(of, x):
    part = x[3] if of.stride > 1 and of.area > 1 else 1
    return product(of, of.batch * of.pixels, of.outputs, of.inputs * of.area, FORWARD_TILES, x[:3] * part, *x[4:])


def data_gradient(of, x):
    return product(of, of.batch * of.size**2, of.inputs, of.outputs * of.area, [(32, 32, 2)], x[:1], *x[1:])


def scattered(of, x):
    scaled = 8 * of.batch * of.inputs * of.size**2 / (DRAM * STREAMS)
    return scaled + product(of, of.inputs * of.area, of.pixels, of.outputs, [(64, 32, 2)], x[:1], *x[1:], batch=of.batch)


def weight_gradient(of, x):
    copies = 8 * of.batch * (of.inputs * of.size**2 + of.outputs * of.pixels) / (DRAM * STREAMS)
    return copies + product(of, of.inputs * of.area, of.outputs, of.batch * of.pixels, [(32, 32, 2)], x[:1], *x[1:])


def summed(of, x):
    tiles = math.ceil(of.inputs * of.area / 32) * 32 * math.ceil(of.outputs / 32) * 32
    return FIXED + 2 * tiles * of.batch * of.pixels / (PEAK * x[int(of.area > 1)])


def spectral(of, x):
    with_borders = of.size + of.side - 1
    side = 16 if with_borders <= 16 and of.kind == "forward" else 32
    tiles = of.batch * (1 if with_borders <= side else math.ceil(of.height / (side - of.side + 1))**2)
    points = side * (side // 2 + 1)
    depth, channels = (of.inputs, of.outputs) if of.kind == "forward" else (of.outputs, of.inputs)
    moved = 4 * of.batch * (of.inputs * of.size**2 + of.outputs * of.pixels) + 8 * points * (tiles * (of.inputs + of.outputs) + of.inputs * of.outputs)
    turned = 0.6e-9 * of.inputs * of.outputs if of.kind == "forward" else 0
    return FIXED + turned + 8 * points * tiles * (depth + DEPTH) * math.ceil(channels / 32) * 32 / (PEAK * SPECTRAL) + moved / (DRAM * x[0 if with_borders <= side else 1])


# Title, rows, equation, names, first guess, lowest, highest.
GEMM = ["fixed_depth", "half_warps"]
ALGORITHMS = [
    ("forward", lambda of: of.kind == "forward" and of.ran("xmma_fprop") and of.inputs > 3, forward,
     ["256 x 64", "128 x 32", "32 x 32", "strided"] + GEMM, [0.65, 0.55, 0.4, 0.75, 30, 0.5], [0.3, 0.3, 0.2, 0.4, 0, 0], [0.95, 0.95, 0.6, 1, 100, 8]),
    ("data_gradient", lambda of: of.ran("xmma_dgrad") and of.stride == 1, data_gradient, ["32 x 32"] + GEMM, [0.35, 28, 1], [0.2, 0, 0], [0.6, 100, 8]),
    ("scattered", lambda of: of.ran("dgrad_engine"), scattered, ["64 x 32"] + GEMM, [0.5, 40, 1], [0.2, 0, 0], [0.8, 100, 8]),
    ("weight_gradient", lambda of: of.ran("xmma_wgrad"), weight_gradient, ["32 x 32"] + GEMM, [0.5, 20, 4], [0.2, 0, 0], [0.8, 200, 60]),
    ("summed", lambda of: of.ran("wgrad_alg"), summed, ["summed_pixels", "summed"], [0.17, 0.29], [0.05, 0.05], [0.5, 0.5]),
    ("spectral", lambda of: of.ran("fft2d") and of.kind != "weight_gradient" and of.area == 9, spectral,
     ["transforms", "tiled_transforms"], [0.5, 0.4], [0.2, 0.1], [0.9, 0.9]),
]


def main():
    with open(ROWS, encoding="utf-8") as file:
        passes = [Pass(row) for row in csv.DictReader(line for line in file if not line.startswith("#"))]
    for title, used_by, equation, names, start, low, high in ALGORITHMS:
        of, low, high = [row for row in passes if used_by(row)], np.array(low), np.array(high)

        def loss(x, of=of, equation=equation, low=low, high=high):
            if np.any(x < low) or np.any(x > high):
                return 9
            return np.mean([abs(math.log(equation(row, x) / row.seconds)) for row in of])

        random, best = np.random.default_rng(2), None
        for _ in range(6):
            x = np.clip(np.array(start) * np.exp(random.normal(0, 0.2, len(start))), low * 1.001 + 1e-6, high * 0.999)
            found = minimize(loss, x, method="Nelder-Mead", options={"maxiter": 2000, "xatol": 1e-3, "fatol": 1e-5})
            best = found if best is None or found.fun < best.fun else best
        print(f"{title}: {len(of)} rows, mean error {100 * best.fun:.1f} %: " + ", ".join(f"{name} {value:.3f}" for name, value in zip(names, best.x)))
        for row in of:
            error = equation(row, best.x) / row.seconds - 1
            if abs(error) > 0.2:
                print(f"#   {row.kind} {row.inputs} > {row.outputs}, {row.size} pixels, filter of {row.area}, stride {row.stride}: {row.seconds * 1e6:.0f} us, {100 * error:+.0f} %")


if __name__ == "__main__":
    main()
