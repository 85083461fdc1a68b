#!/usr/bin/env python3
"""Fits what blocks of PyTorch's softmax wait for, by the equations of ops/kernels/normalisation.hpp.

Rows of 1,025 elements and more of NeuSight's softmax (FP32, forward), 0.25 ms or more. Fitted are, for each exponent
by which waiting and moving overlap, the time of a block's sum and that of a tail read, with the call's time on the
host as a constant that is not used: the train part, P100, V100 and A100 40 GB about alike in weight. Of the test part
errors of rows of 0.5 ms or more are printed.

Usage: tools/derive/softmax_waits.py --data ../shared/data     (needs numpy and scipy)
"""
import argparse
import csv
import gzip
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

# GPU -> SMs, level-1 cache, level-2 cache over copies, bytes/s of level 2 and of streaming softmax (configs/gpus,
# configs/kernel_efficiency).
GPUS = {
    "Tesla P100-PCIE-16GB": (56, 24 << 10, 4 << 20, 1591e9, 732e9 * 0.75 * 0.95),
    "Tesla V100-PCIE-32GB": (80, 128 << 10, 6 << 20, 2605e9, 900e9 * 0.92 * 0.98),
    "NVIDIA A100-PCIE-40GB": (108, 192 << 10, (40 << 20) / 1.5, 2924e9, 1555e9 * 0.88),
    "NVIDIA A100 80GB PCIe": (108, 192 << 10, (40 << 20) / 1.5, 2924e9, 1935e9 * 0.88),
}
WEIGHTS = {"Tesla P100-PCIE-16GB": 1 / 3, "Tesla V100-PCIE-32GB": 1 / 2, "NVIDIA A100-PCIE-40GB": 2}
VECTOR, PASSES, SUMS, TOUCHED = 4, 3, 2, 4 / 3


def threads_of(columns):
    half = min(max(columns // VECTOR // 2, 32), 512)
    return 1 << (half - 1).bit_length()


def tail_reads(columns, threads):
    rests = [max(0, columns + shift - threads) if shift else columns for shift in (row * columns % VECTOR for row in range(VECTOR))]
    return np.mean([-(-(rest % (VECTOR * threads)) // threads) for rest in rests])


def missing(touched, cache):
    return 1 - min(1, max(0, 1.5 - touched / cache))


def read(file, shortest):
    """[weight, measured s, moving s, level-2 s, waves of blocks, tail reads in all passes], and devices"""
    found, devices = [], []
    with gzip.open(file, "rt") as text:
        for row in csv.DictReader(text):
            device, columns, rows, time = row["Device"], int(row["H"]), int(row["B"]), float(row["Latency"]) * 1e-3
            if device not in GPUS or columns <= 1024 or time < shortest:
                continue
            sms, level1, level2, level2_rate, rate = GPUS[device]
            threads = threads_of(columns)
            resident, size = 2048 // threads, 4 * columns
            missing1 = missing(TOUCHED * min(resident, -(-rows // sms)) * size, level1)
            missing2 = missing(TOUCHED * min(rows, sms * resident) * size, level2)
            found.append((WEIGHTS.get(device, 0), time, rows * size * (2 + 2 * missing1 * missing2) / rate,
                          rows * size * 2 * missing1 * (1 - missing2) / level2_rate, max(1, rows / (sms * resident)),
                          PASSES * tail_reads(columns, threads)))
            devices.append(device)
    return np.array(found).T, np.array(devices)


def predict(table, block_sum, tail, overlap):
    _, _, moving, level2, waves, tails = table
    waiting = waves * (SUMS * block_sum + tails * tail) * 1e-6 + level2
    return (moving**overlap + waiting**overlap) ** (1 / overlap)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, required=True)
    folder = arguments.parse_args().data / "kernels/neusight/dataset"
    train, devices = read(folder / "train/softmax.csv.gz", 2.5e-4)
    test, tested = read(folder / "test/softmax.csv.gz", 5e-4)
    print("fitted:", ", ".join(f"{(devices == name).sum()} rows of {name}" for name in WEIGHTS))
    for overlap in (1, 1.25, 1.5, 1.75, 2):
        def loss(x):
            predicted = predict(train, abs(x[0]), abs(x[1]), overlap) + abs(x[2]) * 1e-6
            return np.average(np.abs(np.log(predicted / train[1])), weights=train[0])

        best = minimize(loss, [1.5, 0.1, 30], method="Nelder-Mead", options={"maxiter": 2000})
        block_sum, tail, host = np.abs(best.x)
        error = np.abs(predict(test, block_sum, tail, overlap) / test[1] - 1)
        shown = ", ".join(f"{name} {100 * np.exp(np.log(error[tested == name] + 4e-4).mean()):.1f} %" for name in GPUS)
        print(f"overlap {overlap}: sum {block_sum:.2f} us, tail read {tail:.3f} us, host {host:.0f} us, mean |ln| {best.fun:.4f}; "
              f"test, geometric: {shown}", flush=True)


if __name__ == "__main__":
    main()
