#!/usr/bin/env python3
"""Fits the tensor-core products of configs/kernel_efficiency/v100.yaml to published kernel times of FP16 on V100.

The equation is that of ops/kernels/gemm.hpp, the loss the mean |ln(predicted / measured)|. Boards of 300 W differ by
16 % at the same shapes: the shape of the curve is of all boards (each less its own median error), its level of the
training step alone. half_warps and memory are A100's: these products, which fill the
GPU, do not tell them. Square products (configs/validation/kernels_square_products.yaml, github.com/zzc0721) are held out.

Usage: tools/derive/v100_tensor_products.py     (needs numpy and scipy)
"""
import numpy as np
from scipy.optimize import minimize

from gemm_profiles import NEUTRAL, SPLITS, TENSOR, TENSOR_SHAPES, Fit, predict

V100 = (80, 15.7e12, 125e12, 898e9)  # SXM2: SMs, FP32 and tensor FLOP/s, DRAM B/s (data sheet)

# us by (rows, columns, depth). GPT of 345 million parameters, 8 sequences of 1,024 tokens, FP16, one V100: kernel
# summary in docs/tools/profiler of PaddlePaddle/PaddleFleetX (examples/gpt/single/run_profiler.py); shapes by the
# number of calls, and by their order in time where one kernel has several.
TRAINING_STEP = {
    (8192, 3072, 1024): 590, (8192, 4096, 1024): 780, (8192, 1024, 4096): 820, (8192, 1024, 1024): 220,
    (8192, 50304, 1024): 9800, (8192, 1024, 3072): 620, (1024, 1024, 8192): 200, (3072, 1024, 8192): 570,
    (1024, 4096, 8192): 740, (4096, 1024, 8192): 730, (8192, 1024, 50304): 8540, (50304, 1024, 8192): 8090}

# TFLOPS of n x 7000 x n. DeepBench's results/train/DeepBench_NV_V100.xlsx, sheet "FP16 ip, Mixed math" (DGX-1, CUDA
# 10.1), and the same shapes on rented boards, 30 calls each, as a diagnosis of May 2026 on GitHub prints them all.
BOARDS = {"DGX-1": {1760: 89.415, 2048: 98.030, 2560: 103.790, 4096: 112.276},
          "SXM2, 300 W": {1760: 82.345, 2048: 81.889, 2560: 88.160, 4096: 94.084}}
HELD_OUT = {1024: 57.30, 2048: 78.23, 4096: 95.73, 8192: 97.36, 10240: 89.37}  # TFLOPS of n x n x n, SXM2


def products(times):
    return np.array([(1, *shape, time * 1e-6) for shape, time in times.items()], float)


def by_rate(rates, columns=None):
    return np.array([(1, n, columns or n, n, 2 * n * n * (columns or n) / rate * 1e-12) for n, rate in rates.items()], float)


def constants(x):
    return {**NEUTRAL, "fixed_depth": x[3], "half_warps": 1, "memory": 0.73, "fixed": 4.7e-6}


def errors(rows, x):
    of = Fit("", rows, V100, V100[2], 2, False, TENSOR, SPLITS[:8], (), ())
    return np.log(predict(rows, [x[0], x[0], *x[:1] * 0.98, *x[1:3]], constants(x), of) / rows[:, 4])


def loss(x):
    x = np.exp(x)
    found = [errors(products(TRAINING_STEP), x)]
    for rates in BOARDS.values():
        error = errors(by_rate(rates, 7000), x)
        found.append(error - np.median(error))
    drawn = np.sum(np.log(x[1:3] / x[0] / [TENSOR_SHAPES[tile] for tile in TENSOR[3:]]) ** 2)
    return np.mean(np.abs(np.concatenate(found))) + 0.01 * drawn + max(0, x[0] - 1)


def main():
    x = np.log([0.761, 0.601, 0.558, 31.1])  # A100's
    random = np.random.default_rng(1)
    for _ in range(8):
        start = np.vstack([x, x + np.diag(random.choice([-0.3, 0.3], len(x)))])
        x = minimize(loss, x, method="Nelder-Mead", options={"maxiter": 2000, "xatol": 1e-3, "fatol": 1e-6,
                                                             "adaptive": True, "initial_simplex": start}).x
    x = np.exp(x)
    print(f"tiles of 256 {x[0]:.3f}, 128 x 128 {0.98 * x[0]:.3f}, 64 x 256 {x[1]:.3f}, 64 x 64 {x[2]:.3f}; "
          f"fixed_depth {x[3]:.0f}")
    sets = {"training step": products(TRAINING_STEP), **{name: by_rate(r, 7000) for name, r in BOARDS.items()},
            "held out": by_rate(HELD_OUT)}
    for name, rows in sets.items():
        print(f"  {name:14}" + "".join(f" {100 * np.expm1(error):+5.1f}" for error in errors(rows, x)) + " %")


if __name__ == "__main__":
    main()
