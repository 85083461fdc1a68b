#!/usr/bin/env python3
"""Fits what blocks of PyTorch's softmax wait for, by the equations of ops/kernels/normalisation.hpp.

Rows of 1,025 elements and more of NeuSight's softmax (FP32, forward), 0.25 ms or more. Fitted are the time of a block's
sum, that of an iteration over a row that is read again from the level-1 cache and, for the level-2 cache, how many times as
long as a vector for each thread of the GPU takes there, the exponent by which waiting and moving overlap, and V100's share of its streaming rate (the other GPUs have all of it), with the call's
time on the host as a constant that is not used: the train part, P100, V100 and A100 40 GB about alike in weight. Of the
test part errors of rows of 0.5 ms or more are printed, also of GPUs that are not in the fit.

Usage: tools/derive/softmax_waits.py --data ../shared/data     (needs numpy and scipy)
"""
import argparse
import csv
import gzip
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

# GPU -> SMs, threads an SM holds, level-1 cache, level-2 cache over copies, bytes/s of level 2 and of what streams
# (configs/gpus, `memory` of configs/kernel_efficiency).
GPUS = {
    "Tesla P100-PCIE-16GB": (56, 2048, 24 << 10, 4 << 20, 1591e9, 732e9 * 0.75),
    "Tesla V100-PCIE-32GB": (80, 2048, 128 << 10, 6 << 20, 2605e9, 900e9 * 0.92),
    "NVIDIA A100-PCIE-40GB": (108, 2048, 192 << 10, (40 << 20) / 1.5, 2924e9, 1555e9 * 0.88),
    "NVIDIA A100 80GB PCIe": (108, 2048, 192 << 10, (40 << 20) / 1.5, 2924e9, 1935e9 * 0.88),
    "Tesla T4": (40, 1024, 64 << 10, 4 << 20, 1270e9, 320e9 * 0.74),
    "Tesla P4": (20, 2048, 24 << 10, 2 << 20, 979e9, 192.2e9 * 0.75),
    "NVIDIA L4": (58, 1536, 128 << 10, 48 << 20, 2270e9, 300e9 * 0.74),
}
V100 = "Tesla V100-PCIE-32GB"
WEIGHTS = {"Tesla P100-PCIE-16GB": 1 / 3, V100: 1 / 2, "NVIDIA A100-PCIE-40GB": 2}
VECTOR, BYTES, SUMS, TOUCHED = 4, 16, 2, 4 / 3


def threads_of(columns):
    half = min(max(columns // VECTOR // 2, 32), 512)
    return 1 << (half - 1).bit_length()


def iterations(columns, threads):
    """Of a block over its row (ilpReduce): to a vector's begin, a vector a thread, an element a thread; the mean of rows
    that begin at a vector and rows that do not."""
    count = []
    for shift in (row * columns % VECTOR for row in range(VECTOR)):
        rest = max(0, columns + shift - threads) if shift else columns
        whole, tail = divmod(rest, VECTOR * threads)
        count.append((shift > 0) + whole - (-tail // threads))
    return np.mean(count)


def missing(touched, cache):
    return 1 - min(1, max(0, 1.5 - touched / cache))


def read(file, shortest):
    """[weight, measured s, moving s, waves of blocks, iterations again in level 1, vectors for all threads from level 2 in
    us], devices"""
    found, devices = [], []
    with gzip.open(file, "rt") as text:
        for row in csv.DictReader(text):
            device, columns, rows, time = row["Device"], int(row["H"]), int(row["B"]), float(row["Latency"]) * 1e-3
            if device not in GPUS or columns <= 1024 or time < shortest:
                continue
            sms, resident, level1, level2, level2_rate, rate = GPUS[device]
            threads = threads_of(columns)
            resident, size = resident // threads, 4 * columns
            missing1 = missing(TOUCHED * min(resident, -(-rows // sms)) * size, level1)
            missing2 = missing(TOUCHED * min(rows, sms * resident) * size, level2)
            again = 2 * iterations(columns, threads)
            vectors = sms * GPUS[device][1] * BYTES / level2_rate * 1e6
            found.append((WEIGHTS.get(device, 0), time, rows * size * (2 + 2 * missing1 * missing2) / rate,
                          max(1, rows / (sms * resident)), again * (1 - missing1),
                          again * missing1 * (1 - missing2) * vectors))
            devices.append(device)
    return np.array(found).T, np.array(devices)


def predict(table, devices, block_sum, level1, level2, overlap, share):
    _, _, moving, waves, again1, again2 = table
    moving = np.where(devices == V100, moving / share, moving)
    waiting = waves * (SUMS * block_sum + again1 * level1 + again2 * level2) * 1e-6
    return (moving**overlap + waiting**overlap) ** (1 / overlap)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, required=True)
    folder = arguments.parse_args().data / "kernels/neusight/dataset"
    train, devices = read(folder / "train/softmax.csv.gz", 2.5e-4)
    test, tested = read(folder / "test/softmax.csv.gz", 5e-4)
    print("fitted:", ", ".join(f"{(devices == name).sum()} rows of {name}" for name in WEIGHTS))

    def loss(x):
        *constants, host = np.abs(x)
        predicted = predict(train, devices, *constants) + host * 1e-6
        return np.average(np.abs(np.log(predicted / train[1])), weights=train[0]) + max(0, 1 - x[3]) + max(0, x[4] - 1)

    random = np.random.default_rng(0)
    best = min((minimize(loss, np.array([1, 0.5, 1.5, 1.5, 0.95, 30]) * random.uniform(0.8, 1.2, 6), method="Nelder-Mead",
                         options={"maxiter": 5000, "maxfev": 5000, "adaptive": True}) for _ in range(6)),
               key=lambda found: found.fun)
    *constants, host = np.abs(best.x)
    print("sum {:.2f} us, iteration again in level 1 {:.2f} us, in level 2 {:.2f} times, overlap {:.2f}, V100's share {:.3f}, "
          "host {:.0f} us, mean |ln| {:.4f}".format(*constants, host, best.fun))
    error = predict(test, tested, *constants) / test[1] - 1
    for name in GPUS:
        of = error[tested == name]
        print(f"  test, {name}: geometric {100 * np.exp(np.log(np.abs(of) + 4e-4).mean()):.1f} %, "
              f"mean {100 * np.abs(of).mean():.1f} %, bias {100 * of.mean():+.1f} %")


if __name__ == "__main__":
    main()
